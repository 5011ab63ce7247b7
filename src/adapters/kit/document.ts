// Whole JSON documents, which their clients write anew as they grow: read as a whole whenever they changed, with the same
// keys again. Small files beside a session are read here too.
import { hash } from 'node:crypto'
import { RecollectError } from '../../errors.ts'
import { gunzip } from '../../files/gzip.ts'
import { hasMoreValues } from '../../files/jsonl.ts'
import { readWhole, sizeOf } from '../../files/reading.ts'
import type { GapItem, Item, Position } from '../adapter.ts'
import { nameOf, unreadable } from './companions.ts'
import { isRecord } from './guards.ts'
import { OWN_LIMITS, stepSafely } from './lines.ts'

const STEP_ITEMS = 200

/**
 * The items of a document. `tell` is called with what the file holds, from the beginning each time; give every event its
 * `parentKey`. `mark` is anything else that what is told depends on, such as the text of a file beside it.
 */
export function* readDocument(
  path: string,
  from: Position | null,
  tell: (document: unknown) => Iterable<Item>,
  mark = '',
): Generator<Item> {
  const bytes = bytesOf(path)
  if (typeof bytes === 'string') {
    yield tornGap(bytes, sizeOf(path))
    return
  }
  const { length } = bytes
  const read = hash('sha1', `${hash('sha1', bytes, 'hex')} ${mark}`, 'base64')
  if (length === 0 || (isRecord(from?.state) && from.state['read'] === read)) return
  const document = parsed(bytes)
  if (typeof document === 'string') {
    yield tornGap(document, length)
    return
  }
  let count = 0
  const line = { record: {}, offset: 0, length }
  for (const item of stepSafely(null, line, () => tell(document.value))) {
    yield item
    if (++count % STEP_ITEMS === 0) yield { type: 'position', position: { offset: 0, state: { read: '' } } }
  }
  yield { type: 'position', position: { offset: length, state: { read } } }
}

const DETAILS = {
  torn: 'not a whole JSON document',
  oversize: 'a document of more bytes or values than are read',
} as const

const torn = (reason: string, detail: string, length: number): GapItem => ({
  type: 'gap',
  reason,
  detail,
  offset: 0,
  length,
  pending: true,
})

/** Why a document, or one that begins at `offset` of several, is not read. */
export const tornGap = (reason: keyof typeof DETAILS, length: number, offset = 0): GapItem => ({
  ...torn(reason, DETAILS[reason], length),
  offset,
})

/** What a file holds, as it is told to `readDocument`; a word where that is nothing whole. */
export function documentIn(path: string): { value: object } | keyof typeof DETAILS {
  const bytes = bytesOf(path)
  return typeof bytes === 'string' ? bytes : parsed(bytes)
}

/** Unfolded where the name says that it is folded. */
function bytesOf(path: string): Buffer | keyof typeof DETAILS {
  try {
    const bytes = readWhole(path, OWN_LIMITS.maxLineBytes)
    return path.endsWith('.gz') ? gunzip(bytes, path, OWN_LIMITS.maxLineBytes) : bytes
  } catch (error) {
    if (error instanceof RecollectError && error.code === 'TOO_LARGE') return 'oversize'
    if (error instanceof RecollectError && error.code === 'CORRUPT') return 'torn'
    throw error
  }
}

function parsed(bytes: Buffer): { value: object } | keyof typeof DETAILS {
  if (hasMoreValues(bytes, OWN_LIMITS.maxValues)) return 'oversize'
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8').replace(/^\uFEFF/, ''))
    return typeof value === 'object' && value !== null ? { value } : 'torn'
  } catch {
    return 'torn'
  }
}

const MAX_BESIDE_BYTES = 4 << 20

/**
 * The object in a small file beside a session: empty where there is none, or none yet. A gap says what keeps it from being
 * read; that never stops the session itself.
 */
export function jsonBeside(
  path: string,
  limit = MAX_BESIDE_BYTES,
): { value: Record<string, unknown>; gaps: GapItem[] } {
  const { text, gaps } = textBeside(path, limit)
  if (text === undefined) return { value: {}, gaps }
  try {
    const value: unknown = JSON.parse(text)
    if (isRecord(value)) return { value, gaps }
  } catch {
    // Named below, together with JSON that is no object.
  }
  const gap = torn('companion', 'no JSON object', Buffer.byteLength(text))
  return { value: {}, gaps: [{ ...gap, file: nameOf(path) }] }
}

/** The text in one; undefined where there is none. */
export function textBeside(
  path: string,
  limit = MAX_BESIDE_BYTES,
): { text: string | undefined; gaps: GapItem[] } {
  try {
    const text = readWhole(path, limit).toString('utf8')
    return { text: text.replace(/^\uFEFF/, ''), gaps: [] }
  } catch (error) {
    const isThere = !(error instanceof RecollectError && error.code === 'NOT_FOUND')
    return { text: undefined, gaps: isThere ? [unreadable(path, error)] : [] }
  }
}
