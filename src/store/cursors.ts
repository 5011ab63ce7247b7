// Where sources stand, as the cache has it.
import type { Cursor, CursorMark } from './batch.ts'
import type { Database, Statement } from './database.ts'
import { packText, unpackText } from './packed.ts'

/** Of all sources, or those at and below some paths, by path: what tells whether they changed. */
export function readMarks(cache: Database, scope?: readonly string[]): Map<string, CursorMark> {
  const columns =
    'path, flavor, adapter_version, device, inode, born_at, size, modified_at, companions, missing_at'
  const where = scope ? 'WHERE path = ? OR (path > ? AND path < ?)' : ''
  const marks = cache.prepare(`SELECT ${columns} FROM sources ${where}`)
  // As lists: for tens of thousands of rows objects cost three times as much.
  marks.setReturnArrays(true)
  const rows = scope ? scope.flatMap((path) => marks.all(path, `${path}/`, `${path}0`)) : marks.all()
  return new Map((rows as unknown as MarkRow[]).map((row) => [row[0], markFrom(row)]))
}

/** All that is known of where one source stands. */
export function readCursor(cache: Database, path: string): Cursor | undefined {
  const row = cache.prepare('SELECT * FROM sources WHERE path = ?').get(path)
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
