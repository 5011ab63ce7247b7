// Questions about the files that sessions are read from, and where reading them stands.
import type { Cursor, CursorMark } from '../batch.ts'
import { readCursor, readMark, readMarks, readMarksOf } from '../cursors.ts'
import { firstColumn, row } from '../database.ts'
import type { Databases } from '../databases.ts'

/** What tells whether a source changed. */
const mark = ({ cache }: Databases, path: string): CursorMark | undefined => readMark(cache, path)

/** Of all sources, or those at and below some paths; one of them twice where these overlap. */
const marks = ({ cache }: Databases, scope?: readonly string[]): Iterable<CursorMark> =>
  readMarks(cache, scope)

/** Of a file, under all names it was read by, in the order of these. */
const marksOf = ({ cache }: Databases, file: Pick<CursorMark, 'device' | 'inode' | 'bornAt'>): CursorMark[] =>
  readMarksOf(cache, file)

/** All that is known of where one source stands. */
const cursor = ({ cache }: Databases, path: string): Cursor | undefined => readCursor(cache, path)

export interface SourceState {
  session: string | null
  /** As it was when it was read. */
  size: number
  /** The last event of its session that was evicted; 0 for none. */
  evictedSeq: number
}

const state = ({ cache }: Databases, path: string): SourceState | undefined =>
  row(
    cache,
    `SELECT s.session_uid AS session, s.size, coalesce(c.evicted_seq, 0) AS evictedSeq
     FROM sources s LEFT JOIN cached c USING (session_uid) WHERE s.path = ?`,
    path,
  )

const newestAt = ({ cache }: Databases, untilAt: number): number | null =>
  row<{ at: number | null }>(
    cache,
    'SELECT max(modified_at) AS at FROM sources WHERE modified_at <= ?',
    untilAt,
  )?.at ?? null

const KIN = 'FROM source_sessions w JOIN cached c ON c.id = w.session'

/** Which sources speak of a session. */
const of = ({ cache }: Databases, uid: string): string[] =>
  firstColumn<string>(
    cache,
    `SELECT w.path ${KIN} WHERE c.session_uid = ?1 UNION SELECT path FROM sources WHERE session_uid = ?1`,
    uid,
  )

/** Of which sessions a source speaks. */
const sessionsIn = ({ cache }: Databases, path: string): string[] =>
  firstColumn<string>(
    cache,
    `SELECT c.session_uid AS uid ${KIN} WHERE w.path = ?1 UNION SELECT session_uid FROM sources WHERE path = ?1`,
    path,
  )

export const sourceQuestions = { mark, marks, marksOf, cursor, state, newestAt, of, sessionsIn }
