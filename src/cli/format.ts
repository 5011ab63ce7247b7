// Numbers and times as people read them; times in the time zone of the machine.

export { formatAge, formatBytes, formatCount, plural } from '../figures.ts'

/** 12ms, 0.2s, 8.4s, 1m05s, 1h21m, 3d04h. */
export function formatDuration(ms: number): string {
  if (ms < 100) return `${Math.round(ms)}ms`
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)}s`
  const two = (value: number): string => String(Math.floor(value)).padStart(2, '0')
  const seconds = Math.round(ms / 1000)
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m${two(seconds % 60)}s`
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)}h${two((seconds % 3600) / 60)}m`
  return `${Math.floor(seconds / 86_400)}d${two((seconds % 86_400) / 3600)}h`
}

const two = (value: number): string => String(value).padStart(2, '0')

/** `2026-11-15 18:45` */
export function formatTime(time: string | number | null): string {
  if (time === null) return 'unknown time'
  const at = new Date(time)
  return `${formatDay(time)} ${two(at.getHours())}:${two(at.getMinutes())}`
}

/** `2026-11-15` */
export function formatDay(time: string | number): string {
  const at = new Date(time)
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`
}

/** `18:45:02` */
export function formatClock(time: string | number): string {
  const at = new Date(time)
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`
}

/** Titles and file names are foreign text: they may hold anything a terminal would obey. */
export const printable = (text: string): string => text.replace(/[\p{Cc}\p{Cf}]/gu, '?')
