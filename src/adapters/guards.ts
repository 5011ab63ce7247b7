// Narrowing of foreign JSON. Everything an adapter reads may have any type: these are the only doors from `unknown`.

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function str(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** Finite numbers only. */
export function num(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

export function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

// Seconds and milliseconds cannot be confused in our time: as seconds this is the year 5138, as milliseconds 1973.
const FIRST_MILLISECONDS = 1e11
/** The last moment a Date can hold. */
const LAST_MILLISECONDS = 8.64e15

/** Epoch milliseconds of an ISO string or of a number of seconds or milliseconds. */
export function time(value: unknown): number | null {
  if (typeof value === 'string') {
    const parsed = Date.parse(value)
    return Number.isNaN(parsed) ? null : parsed
  }
  const number = num(value)
  if (number === undefined || number <= 0 || number > LAST_MILLISECONDS) return null
  return Math.round(number < FIRST_MILLISECONDS ? number * 1000 : number)
}
