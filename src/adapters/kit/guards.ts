// Narrowing of foreign JSON. Everything an adapter reads may have any type: these are the only doors from `unknown`.

export type Fields = Record<string, unknown>

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The object that a value is, or an empty one. */
export function fields(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {}
}

/** The object that a short text holds, or an empty one. */
export function fieldsIn(text: unknown): Record<string, unknown> {
  try {
    return typeof text === 'string' ? fields(JSON.parse(text)) : {}
  } catch {
    return {}
  }
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

// The units of time cannot be confused in our time: what is 1973 in one of them is the year 5138 in the next.
const FIRST_MILLISECONDS = 1e11
const FIRST_MICROSECONDS = 1e14
const FIRST_NANOSECONDS = 1e17
const LAST_NANOSECONDS = 1e20

/** Epoch milliseconds of an ISO string or of a number of seconds, milli-, micro- or nanoseconds. */
export function time(value: unknown): number | null {
  if (typeof value === 'string') {
    const parsed = Date.parse(value)
    return Number.isNaN(parsed) ? null : parsed
  }
  const number = num(value)
  if (number === undefined || number <= 0 || number >= LAST_NANOSECONDS) return null
  if (number < FIRST_MILLISECONDS) return Math.round(number * 1000)
  if (number < FIRST_MICROSECONDS) return Math.round(number)
  return Math.floor(number / (number < FIRST_NANOSECONDS ? 1000 : 1_000_000))
}
