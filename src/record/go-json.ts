// JSON as Go's encoding/json (1.22 and later) writes it, for values of the kinds JSON has. Structs are given as Map
// (fields in their order), Go's map[string]any as plain objects (keys sorted by their bytes, at every depth).
import { RecollectError } from '../errors.ts'

/** Go refuses to read deeper than 10,000; who stays far below also catches values that contain themselves. */
const MAX_DEPTH = 1000
/** What helps where a stored file is not what it was. */
export const RESTORE = 'restore the file from a backup, or move it away'
const LONE_SURROGATE = /\p{Surrogate}/u
const ALL_LONE_SURROGATES = /\p{Surrogate}/gu
const ESCAPED_BY_GO = /[<>&\u2028\u2029]/g

/** Encodes as json.MarshalIndent(value, "", indent) does; without `indent`, as json.Marshal. */
export function encodeGo(value: unknown, indent = ''): string {
  return encode(value, indent, '')
}

function encode(value: unknown, indent: string, margin: string): string {
  if (value === null) return 'null'
  if (typeof value === 'string') return encodeString(value)
  if (typeof value === 'boolean') return String(value)
  if (typeof value === 'number' && Number.isFinite(value)) return encodeNumber(value)
  if (typeof value !== 'object')
    throw unsupported(typeof value === 'number' ? String(value) : typeof value, 'value')
  const inner = margin + indent
  if (Array.isArray(value)) {
    return wrap(
      '[',
      ']',
      indent,
      margin,
      Array.from(value, (item) => encode(item, indent, inner)),
    )
  }
  const entries: [string, unknown][] =
    value instanceof Map ? [...value] : Object.entries(value).sort(([a], [b]) => compareBytes(a, b))
  const colon = indent === '' ? ':' : ': '
  const members = entries.map(([key, item]) => encodeString(key) + colon + encode(item, indent, inner))
  return wrap('{', '}', indent, margin, members)
}

function wrap(open: string, close: string, indent: string, margin: string, items: string[]): string {
  if (items.length === 0) return open + close
  if (indent === '') return open + items.join(',') + close
  const line = `\n${margin}${indent}`
  return `${open}${line}${items.join(`,${line}`)}\n${margin}${close}`
}

/** Go took its rule from ECMAScript (exponent below 1e-6 and from 1e21), but keeps the sign of zero. */
function encodeNumber(value: number): string {
  return Object.is(value, -0) ? '-0' : String(value)
}

/** JSON.stringify, plus the escapes for HTML and JavaScript; what is not Unicode becomes the six characters \ufffd. */
function encodeString(text: string): string {
  const quoted = LONE_SURROGATE.test(text)
    ? `"${text
        .split(LONE_SURROGATE)
        .map((part) => JSON.stringify(part).slice(1, -1))
        .join('\\ufffd')}"`
    : JSON.stringify(text)
  return quoted.replace(ESCAPED_BY_GO, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** JavaScript compares UTF-16 units, which puts U+1F600 before U+FF61; Go compares UTF-8 bytes. */
function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}

/** What Go makes of a string it reads: `\ud800` alone is no character and becomes U+FFFD. */
export function wellFormed(text: string): string {
  return LONE_SURROGATE.test(text) ? text.replace(ALL_LONE_SURROGATES, '\ufffd') : text
}

/** As wellFormed, for every string of a parsed JSON value; changes the value in place. */
export function wellFormedDeep(value: unknown, where: string, depth = 0): unknown {
  if (typeof value === 'string') return wellFormed(value)
  if (value === Infinity || value === -Infinity) {
    throw new RecollectError('CORRUPT', 'a number too large for a float64', { where, hint: RESTORE })
  }
  if (typeof value !== 'object' || value === null) return value
  // Refused before the stack overflows: one such file must not keep the others from being listed.
  if (depth >= MAX_DEPTH)
    throw new RecollectError('CORRUPT', `a value nested more than ${MAX_DEPTH} deep`, {
      where,
      hint: RESTORE,
    })
  const container = value as Record<string, unknown>
  for (const key of Object.keys(container)) {
    const item = wellFormedDeep(container[key], where, depth + 1)
    const good = Array.isArray(value) ? key : wellFormed(key)
    if (good !== key) delete container[key]
    if (good !== key || item !== container[key]) setOwn(container, good, item)
  }
  return value
}

/** A copy of a JSON value given by a caller; undefined members are left out, all else JSON has no name for is refused. */
export function copyJson(value: unknown, where: string, depth = 0): unknown {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number' && Number.isFinite(value)) return value
  if (typeof value !== 'object') {
    throw unsupported(typeof value === 'number' ? String(value) : typeof value, where)
  }
  if (depth >= MAX_DEPTH)
    throw unsupported(`value nested ${MAX_DEPTH} deep, or within itself`, where.slice(0, 80))
  if (Array.isArray(value))
    return Array.from(value, (item, at) => copyJson(item, `${where}[${at}]`, depth + 1))
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    throw unsupported(`${prototype.constructor?.name ?? 'class'} object`, where)
  }
  const copy: Record<string, unknown> = {}
  for (const [key, item] of Object.entries(value)) {
    if (item !== undefined) setOwn(copy, key, copyJson(item, `${where}.${key}`, depth + 1))
  }
  return copy
}

/** Assigning to `__proto__` would change the object's prototype instead. */
function setOwn(target: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true })
}

function unsupported(what: string, where: string): RecollectError {
  return new RecollectError('BAD_INPUT', `JSON has no place for a ${what}`, {
    where,
    hint: 'use strings, finite numbers, booleans, null, arrays and plain objects; nothing was written',
  })
}
