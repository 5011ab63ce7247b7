// What stays of an evicted session's events: the beginnings of their keys, which are hashes. With them an event that is
// read again keeps its number and is not counted a second time; nor is what a fork that is read in later, and carries no
// back pointer, copied from it.
import { parseStored } from '../errors.ts'
import { listsBy } from '../lists.ts'
import { EVENT_KINDS } from '../model.ts'
import { type Database, prepared, rows } from './database.ts'
import { KEY_BYTES, keptSeqs, nameOf, type Range, rangesOf } from './evicted-seqs.ts'
import { ForkStarts } from './fork-start.ts'
import { countAgain, EVIDENCE, FORK_KIND, SINCE_EVICTED } from './forks.ts'
import { FLAG, NO_TURN, NOT_OWN } from './rows.ts'

/** Bounds what an eviction has to write; of a longer session only so much is recognised. */
const MAX_KEYS = 1 << 17
const PROMPT = EVENT_KINDS.indexOf('user_msg')
export const NOT_ITS_OWN = FLAG.inherited | FLAG.copied
const OWN = `NOT flags & ${NOT_ITS_OWN}`

interface Kept {
  session_uid: string
  first_key: Uint8Array
}

/** Runs in the commit that marks the session for eviction: its rows are all still there. */
export function keepKeys(cache: Database, memory: Database, uid: string): void {
  const from = 'FROM cached c JOIN events e ON e.session = c.id WHERE c.session_uid = ?'
  const firstOwn = (which: string) =>
    prepared(cache, `SELECT e.key, e.ts ${from} AND ${OWN} ${which} ORDER BY e.seq LIMIT 1`).get(uid)
  // Of what stands before the first prompt, agents write some anew in each copy.
  const first = (firstOwn(`AND e.kind = ${PROMPT} AND NOT e.flags & ${NO_TURN}`) ?? firstOwn('')) as
    | { key: Uint8Array; ts: number | null }
    | undefined
  // As one value: a row for each of so many would cost several times as much.
  const { keys, firstSeq } = prepared(
    cache,
    `SELECT CAST(group_concat(CAST(substr(key, 1, ${KEY_BYTES}) AS TEXT), '') AS BLOB) AS keys, min(seq) AS firstSeq
     FROM (SELECT e.key, e.seq ${from} ORDER BY e.seq LIMIT ${MAX_KEYS})`,
  ).get(uid) as { keys: Uint8Array | null; firstSeq: number }
  if (keys === null) return
  const before = prepared(
    memory,
    'SELECT first_key, first_at, keys, not_own FROM kept_keys WHERE session_uid = ?',
  ).get(uid) as (Kept & { first_at: number | null; keys: Uint8Array; not_own: string }) | undefined
  // One that was read in again since is there once more, from its first event on.
  const gone = Buffer.alloc(Math.min(firstSeq - 1, MAX_KEYS) * KEY_BYTES)
  gone.set((before?.keys ?? new Uint8Array()).subarray(0, gone.length))
  const all = Buffer.concat([gone, keys]).subarray(0, MAX_KEYS * KEY_BYTES)
  // Which of its events are its own is known best where all of them are here.
  const isNew = !before || before.first_key.length === 0 || firstSeq === 1
  const others = prepared(cache, `SELECT e.seq ${from} AND e.flags & ${NOT_OWN} ORDER BY e.seq`).all(uid)
  const notOwn = [
    ...parseStored<Range[]>(before?.not_own ?? '[]').filter(([, last]) => last < firstSeq),
    ...rangesOf((others as unknown as { seq: number }[]).map(({ seq }) => seq)),
  ]
  prepared(memory, 'INSERT OR REPLACE INTO kept_keys VALUES (?, ?, ?, ?, ?)').run(
    uid,
    // One that only copied has nothing that others could have from it.
    isNew ? (first?.key.subarray(0, KEY_BYTES) ?? new Uint8Array()) : before.first_key,
    isNew ? (first?.ts ?? null) : before.first_at,
    all,
    JSON.stringify(notOwn),
  )
}

interface Session {
  id: number
  session_uid: string
}

/** Looks at sessions that are new, and at those it linked before: reading one again calls its copies its own. */
export function linkToEvicted(cache: Database, memory: Database, written: readonly Session[]): void {
  const gone = evicted(cache, memory)
  if (gone.size === 0) return
  const isConcerned = memory.prepare(
    `SELECT 1 FROM sessions s WHERE session_uid = ?1 AND (ingested_at IS NULL
     OR EXISTS (SELECT 1 FROM edges WHERE session_uid = ?1 AND evidence IN ${SINCE_EVICTED}))`,
  )
  const events = cache.prepare(
    'SELECT id, seq, ts, kind, flags, key FROM events WHERE session = ? ORDER BY seq',
  )
  const parent = memory.prepare(
    `SELECT parent_uid AS uid FROM edges WHERE session_uid = ? AND evidence IN ${SINCE_EVICTED} AND parent_uid <> ''`,
  )
  const starts = new ForkStarts(cache, memory)
  for (const session of written) {
    if (!isConcerned.get(session.session_uid)) continue
    const rows = events.all(session.id) as unknown as EventRow[]
    // The origin of the last part that was copied is the one it was forked from. One that is known already may share
    // nothing with what is here: the part was evicted that tells it.
    const known = parent.get(session.session_uid) as { uid: string } | undefined
    let origin = known && [...gone.values()].flat().find((one) => one.session_uid === known.uid)
    for (const row of rows)
      for (const other of gone.get(nameOf(row.key)) ?? []) {
        if (other.session_uid === session.session_uid) continue
        const shared = sharedWith(memory, rows, other.session_uid)
        if (olderOf(cache, session.session_uid, other.session_uid, shared) !== session.session_uid)
          origin = other
        else adopt(memory, other.session_uid, session.session_uid, shared)
      }
    if (!origin) continue
    const shared = sharedWith(memory, rows, origin.session_uid)
    const isOpen = olderOf(cache, session.session_uid, origin.session_uid, shared) === null
    link(memory, session.session_uid, origin.session_uid, isOpen)
    starts.note(session.id, session.session_uid, ownStart(rows, shared))
    markCopies(cache, session.id, shared)
    countAgain(cache, session.id)
  }
}

function ownStart(rows: readonly EventRow[], shared: readonly Shared[]): number | null {
  const copied = new Set(shared.map(({ id }) => id))
  const own = rows.filter((row) => row.ts !== null && !(row.flags & NOT_ITS_OWN || copied.has(row.id)))
  return own.reduce<number | null>(
    (at, row) => Math.min(at ?? Number.POSITIVE_INFINITY, row.ts as number),
    null,
  )
}

interface EventRow {
  id: number
  seq: number
  ts: number | null
  kind: number
  flags: number
  key: Uint8Array
}

/** An event that a session here holds and one that is gone held, with its seq there. */
type Shared = EventRow & { goneSeq: number }

/** By the key of the first prompt that was their own. One that was read in again is compared as any other. */
function evicted(cache: Database, memory: Database): Map<string, Kept[]> {
  const kept = rows<Kept>(memory, 'SELECT session_uid, first_key FROM kept_keys')
  const isHere = cache.prepare(
    'SELECT 1 FROM cached WHERE session_uid = ? AND evicted_seq = 0 AND next_seq > 1',
  )
  const gone = kept.filter((one) => !isHere.get(one.session_uid))
  return listsBy(gone, (one) => nameOf(one.first_key))
}

function sharedWith(memory: Database, rows: readonly EventRow[], goneUid: string): Shared[] {
  const seqs = keptSeqs(memory, goneUid)
  return rows.flatMap((row) => {
    const goneSeq = seqs.get(nameOf(row.key))
    return goneSeq === undefined ? [] : [{ ...row, goneSeq }]
  })
}

/** The one whose file was there when the last of the common events happened, while the other's was not; null where that tells nothing. */
function olderOf(cache: Database, uid: string, goneUid: string, shared: readonly Shared[]): string | null {
  const last = shared.reduce((at, row) => Math.max(at, row.ts ?? 0), 0)
  const born = cache.prepare('SELECT min(born_at) AS born FROM sources WHERE session_uid = ?')
  const wasThere = (one: string): boolean => {
    const { born: at } = born.get(one) as { born: number | null }
    return at !== null && at > 0 && at <= last
  }
  const [isUid, isGone] = [wasThere(uid), wasThere(goneUid)]
  return isUid === isGone ? null : isUid ? uid : goneUid
}

/** The origin of a session that is gone. If another was taken for it, what that one had too was never counted. */
function adopt(memory: Database, uid: string, originUid: string, shared: readonly Shared[]): void {
  const before = memory
    .prepare("SELECT parent_uid, evidence FROM edges WHERE session_uid = ? AND parent_uid <> ''")
    .get(uid) as { parent_uid: string; evidence: string | null } | undefined
  if (before && (!SINCE_EVICTED.includes(`'${before.evidence}'`) || before.parent_uid === originUid)) return
  const known = new Set(before && sharedWith(memory, shared, before.parent_uid).map((row) => row.seq))
  const more = shared.filter((row) => !known.has(row.seq))
  if (more.length === 0) return
  if (before)
    memory.prepare('DELETE FROM edges WHERE session_uid = ? AND parent_uid = ?').run(uid, before.parent_uid)
  link(memory, uid, originUid, false)
  noteCopied(memory, uid, originUid, more)
  noteStart(memory, uid, originUid, shared)
}

/** Its own events are gone: of when they began its responses tell most, else the end of what it copied. */
function noteStart(memory: Database, uid: string, originUid: string, shared: readonly Shared[]): void {
  const last = shared.reduce((at, row) => Math.max(at, row.ts ?? 0), 0)
  memory
    .prepare(
      `UPDATE sessions SET started_at = own.at, own_at = own.at FROM (SELECT coalesce(min(u.ts), ?3) AS at FROM usage u
       WHERE u.session_uid = ?1 AND u.ts >= ?3
       AND NOT EXISTS (SELECT 1 FROM usage o WHERE o.session_uid = ?2 AND o.response_id = u.response_id)) AS own
       WHERE session_uid = ?1 AND own.at > coalesce(own_at, 0)`,
    )
    .run(uid, originUid, last)
}

function link(memory: Database, uid: string, parentUid: string, isOpen: boolean): void {
  memory
    .prepare(
      `INSERT OR IGNORE INTO edges (session_uid, kind, parent_uid, evidence) SELECT ?1, ${FORK_KIND}, ?2, ?3
       WHERE NOT EXISTS (SELECT 1 FROM edges WHERE session_uid = ?1 AND parent_uid <> '')`,
    )
    .run(uid, parentUid, isOpen ? EVIDENCE.soFarSinceEvicted : EVIDENCE.sinceEvicted)
  memory.prepare("UPDATE sessions SET relation = 'fork' WHERE session_uid = ? AND relation = 'main'").run(uid)
  memory
    .prepare(
      `INSERT OR IGNORE INTO recount SELECT u.response_id FROM usage u WHERE u.session_uid = ?
       AND EXISTS (SELECT 1 FROM usage o WHERE o.session_uid = ? AND o.response_id = u.response_id)`,
    )
    .run(uid, parentUid)
}

export function markCopies(
  cache: Database,
  session: number,
  shared: readonly Pick<EventRow, 'id' | 'flags'>[],
): void {
  const news = shared.filter(({ flags }) => !(flags & FLAG.inherited))
  if (news.length === 0) return
  const mark = cache.prepare(`UPDATE events SET flags = flags | ${FLAG.inherited} WHERE id = ?`)
  for (const { id } of news) mark.run(id)
  // What was gathered of them counts them as its own.
  prepared(cache, 'DELETE FROM folds WHERE session = ?').run(session)
}

/** What a session that is gone counted as its own, and was not. Its counters are put right here, its digest when digests are made. */
function noteCopied(memory: Database, uid: string, originUid: string, shared: readonly Shared[]): void {
  const own = shared.filter(({ flags }) => !(flags & (FLAG.inherited | FLAG.superseded)))
  const count = (kind: (typeof EVENT_KINDS)[number], without = 0): number =>
    own.filter((row) => row.kind === EVENT_KINDS.indexOf(kind) && !(row.flags & without)).length
  const counts = [count('user_msg', NO_TURN), count('retry'), count('error')]
  memory
    .prepare(
      `INSERT OR REPLACE INTO copied (session_uid, origin_uid, seqs, origin_seqs, turns, retries, errors)
       VALUES (?, ?, ?, ?, ?, ?, ?)`,
    )
    .run(
      uid,
      originUid,
      JSON.stringify(rangesOf(own.map((row) => row.goneSeq))),
      JSON.stringify(rangesOf(own.map((row) => row.seq))),
      ...counts,
    )
  memory
    .prepare(
      `UPDATE sessions SET turn_count = turn_count - ?, retry_count = retry_count - ?, error_count = error_count - ?
       WHERE session_uid = ?`,
    )
    .run(...counts, uid)
}
