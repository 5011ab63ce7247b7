// Where sources stand, as the cache has it.
import type { Cursor, CursorMark } from './batch.ts'
import { type Database, prepared, type Statement } from './database.ts'
import { packText, unpackText } from './packed-text.ts'

const MARK =
  'path, flavor, adapter_version, device, inode, born_at, size, modified_at, companions, missing_at'
const AT_ONCE = 1000
/** Behind every path. */
const LAST = '\u{10ffff}'

/** What tells whether a source changed. */
export function readMark(cache: Database, path: string): CursorMark | undefined {
  const row = prepared(cache, `SELECT ${MARK} FROM sources WHERE path = ?`)
  // As a list: an object costs three times as much.
  row.setReturnArrays(true)
  const found = row.get(path)
  return found && markFrom(found as unknown as MarkRow)
}

/** Of all sources, or those at and below some paths (one twice, if they overlap). Never all at once: there may be a million. */
export function* readMarks(cache: Database, scope?: readonly string[]): Generator<CursorMark> {
  for (const path of scope ?? []) {
    const mark = readMark(cache, path)
    if (mark) yield mark
  }
  const after = cache.prepare(
    `SELECT ${MARK} FROM sources WHERE path > ? AND path < ? ORDER BY path LIMIT ${AT_ONCE}`,
  )
  after.setReturnArrays(true)
  const ranges = scope ? scope.map((path) => [`${path}/`, `${path}0`] as const) : [['', LAST] as const]
  for (const [first, end] of ranges) {
    for (let last: string = first; ; ) {
      const rows = after.all(last, end) as unknown as MarkRow[]
      for (const row of rows) yield markFrom(row)
      if (rows.length < AT_ONCE) break
      last = (rows.at(-1) as MarkRow)[0]
    }
  }
}

/** Of one file, under every name it was read by. */
export function readMarksOf(
  cache: Database,
  { device, inode, bornAt }: Pick<CursorMark, 'device' | 'inode' | 'bornAt'>,
): CursorMark[] {
  const rows = prepared(
    cache,
    `SELECT ${MARK} FROM sources WHERE inode = ? AND born_at = ? AND device = ? ORDER BY path`,
  )
  rows.setReturnArrays(true)
  return (rows.all(inode, bornAt, device) as unknown as MarkRow[]).map(markFrom)
}

/** All that is known of where one source stands. */
export function readCursor(cache: Database, path: string): Cursor | undefined {
  const row = prepared(cache, 'SELECT * FROM sources WHERE path = ?').get(path)
  return row ? cursorFrom(row as Record<string, unknown>) : undefined
}

type MarkRow = [string, string, number, number, number, number, number, number, string, number | null]

function markFrom(row: MarkRow): CursorMark {
  const [path, flavor, adapterVersion, device, inode, bornAt, size, modifiedAt, companions, missingAt] = row
  return {
    path,
    flavor,
    adapterVersion,
    device,
    inode,
    bornAt,
    size,
    modifiedAt,
    companions,
    missingAt,
  }
}

function cursorFrom(row: Record<string, unknown>): Cursor {
  return {
    path: row['path'] as string,
    flavor: row['flavor'] as string,
    adapterVersion: row['adapter_version'] as number,
    device: row['device'] as number,
    inode: row['inode'] as number,
    bornAt: row['born_at'] as number,
    size: row['size'] as number,
    modifiedAt: row['modified_at'] as number,
    headHash: row['head_hash'] as string,
    headLength: row['head_length'] as number,
    tailHash: row['tail_hash'] as string,
    offset: row['offset'] as number,
    state: unpackText(row['state'] as string | Uint8Array),
    companions: row['companions'] as string,
    generation: row['generation'] as number,
    sessionUid: row['session_uid'] as string | null,
    missingAt: row['missing_at'] as number | null,
  }
}

export function saveCursor(cursor: Cursor, insert: Statement): void {
  insert.run(
    cursor.path,
    cursor.flavor,
    cursor.adapterVersion,
    cursor.device,
    cursor.inode,
    cursor.bornAt,
    cursor.size,
    cursor.modifiedAt,
    cursor.headHash,
    cursor.headLength,
    cursor.tailHash,
    cursor.offset,
    packText(cursor.state),
    cursor.companions,
    cursor.generation,
    cursor.sessionUid,
    cursor.missingAt,
  )
}
