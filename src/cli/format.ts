// Numbers and foreign text as people read them.

export function formatBytes(bytes: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB']
  const power = bytes < 1000 ? 0 : Math.min(4, Math.floor(Math.log10(bytes) / 3))
  return `${(bytes / 1000 ** power).toFixed(power === 0 ? 0 : 1)} ${units[power]}`
}

/** Titles and file names are foreign text: they may hold anything a terminal would obey. */
export const printable = (text: string): string => text.replace(/[\p{Cc}\p{Cf}]/gu, '?')
