// Two sessions of which one was evicted while it was open which of them copied: files that were restored or copied tell
// nothing by their birth, and as long as one of the two has nothing of its own, an origin that stopped and a fork that is
// still being written look the same. What they share counts once, in the one that was taken for the origin then. When more
// of it comes that the evicted one has counted, or when both have gone on, and the other one first, both are read again.
import { parseStored } from '../errors.ts'
import { type Database, prepared } from './database.ts'
import { markCopies, NOT_ITS_OWN } from './evicted-keys.ts'
import { EvictedSeqs, IS_HELD, keptSeqs, nameOf, type Range } from './evicted-seqs.ts'
import { countAgain, EVIDENCE } from './forks.ts'
import { NO_VERSION } from './pair.ts'

interface Edge {
  child: string
  parent: string
}

interface Cached {
  id: number
  session_uid: string
  evicted_seq: number
  next_seq: number
}

type Written = readonly { session_uid: string }[]

const edgesWith = (memory: Database, evidence: string): Edge[] =>
  memory
    .prepare('SELECT session_uid AS child, parent_uid AS parent FROM edges WHERE evidence = ?')
    .all(evidence) as unknown as Edge[]

const tell = (memory: Database, { child, parent }: Edge, evidence: string): void =>
  void memory
    .prepare('UPDATE edges SET evidence = ? WHERE session_uid = ? AND parent_uid = ?')
    .run(evidence, child, parent)

/** Before sessions are compared: those that were asked for and are here again, both of them, are compared as any others. */
export function reopenKin(cache: Database, memory: Database, written: Written): void {
  const uids = new Set(written.map((one) => one.session_uid))
  const pair = cache.prepare(
    'INSERT INTO shared (first, second) VALUES (min(?1, ?2), max(?1, ?2)) ON CONFLICT DO UPDATE SET is_dirty = 1',
  )
  for (const edge of edgesWith(memory, EVIDENCE.askedFor)) {
    const [child, parent] = [edge.child, edge.parent].map((uid) => cachedOf(cache, uid))
    if (!child || !parent || [child, parent].some((one) => one.evicted_seq > 0 || one.next_seq === 1))
      continue
    if (uids.has(edge.child) && uids.has(edge.parent)) {
      tell(memory, edge, EVIDENCE.soFar)
      pair.run(child.id, parent.id)
      // While only one was here its rows were marked against what was gone of the other.
    } else readAgain(cache, edge)
  }
}

/** After they were. `written`: sessions that something may be new of. */
export function decideOpenKin(cache: Database, memory: Database, written: Written): void {
  const uids = new Set(written.map((one) => one.session_uid))
  const open = edgesWith(memory, EVIDENCE.soFarSinceEvicted)
  const concerned = open.filter(({ child, parent }) => uids.has(child) || uids.has(parent))
  if (concerned.length === 0) return
  const starts = new Starts(cache, memory)
  for (const edge of concerned) {
    const { child, parent } = edge
    const counted = [markCounted(cache, memory, child, parent), markCounted(cache, memory, parent, child)]
    const first = starts.firstOf(child, parent)
    if (counted.includes(true) || first === child) {
      if (!isAllThere(cache, [child, parent])) continue
      tell(memory, edge, EVIDENCE.askedFor)
      readAgain(cache, edge)
    } else if (first === parent) tell(memory, edge, EVIDENCE.sinceEvicted)
  }
}

/** Until they are read again: what has come that the other one counted before it was evicted. Returns whether there is any. */
function markCounted(cache: Database, memory: Database, uid: string, goneUid: string): boolean {
  const [here, gone] = [uid, goneUid].map((one) => cachedOf(cache, one))
  if (!here || !gone || gone.evicted_seq === 0) return false
  const kept = prepared(memory, 'SELECT not_own FROM kept_keys WHERE session_uid = ?').get(goneUid)
  const notOwn = parseStored<Range[]>((kept as { not_own: string } | undefined)?.not_own ?? '[]')
  const seqs = keptSeqs(memory, goneUid, gone.evicted_seq)
  const rows = prepared(
    cache,
    `SELECT id, flags, key FROM events WHERE session = ? AND NOT flags & ${NOT_ITS_OWN}`,
  ).all(here.id) as unknown as { id: number; flags: number; key: Uint8Array }[]
  const counted = rows.filter(({ key }) => {
    const seq = seqs.get(nameOf(key))
    return seq !== undefined && !notOwn.some(([first, last]) => seq >= first && seq <= last)
  })
  markCopies(cache, here.id, counted)
  if (counted.length > 0) countAgain(cache, here.id)
  return counted.length > 0
}

const cachedOf = (cache: Database, uid: string): Cached | undefined =>
  prepared(cache, 'SELECT id, session_uid, evicted_seq, next_seq FROM cached WHERE session_uid = ?').get(
    uid,
  ) as Cached | undefined

/** Which of two sessions first held something that the other does not. */
class Starts {
  readonly #cache: Database
  readonly #memory: Database
  readonly #sql: ReturnType<typeof statements>

  constructor(cache: Database, memory: Database) {
    this.#cache = cache
    this.#memory = memory
    this.#sql = statements(cache, memory)
  }

  /** The one that went on first; null while one has not, or where that is gone and nothing tells its time. */
  firstOf(uid: string, otherUid: string): string | null {
    const [one, other] = [uid, otherUid].map((each) => cachedOf(this.#cache, each))
    if (!one || !other) return null
    const isGone = this.#hasGone(one, other) || this.#hasGone(other, one)
    const [at, otherAt] = isGone
      ? [this.#spent(uid, otherUid), this.#spent(otherUid, uid)]
      : [this.#own(one, other), this.#own(other, one)]
    if (at === null || otherAt === null) return null
    return at < otherAt ? uid : otherUid
  }

  #own(one: Cached, other: Cached): number | null {
    const gone = new EvictedSeqs(this.#cache, this.#memory)
    try {
      gone.load(other.id)
      return (this.#sql.own.get(one.id, other.id) as { at: number | null }).at
    } finally {
      gone.clear()
    }
  }

  #spent(uid: string, otherUid: string): number | null {
    return (this.#sql.spent.get(uid, otherUid) as { at: number | null }).at
  }

  /** Whether something of its own was evicted. */
  #hasGone(one: Cached, other: Cached): boolean {
    const theirs = keptSeqs(this.#memory, other.session_uid, other.evicted_seq)
    const rows = this.#sql.keys.all(other.id) as unknown as { key: Uint8Array }[]
    const here = new Set(rows.map(({ key }) => nameOf(key)))
    return [...keptSeqs(this.#memory, one.session_uid, one.evicted_seq).keys()].some(
      (name) => !theirs.has(name) && !here.has(name),
    )
  }
}

function statements(cache: Database, memory: Database) {
  // Made where it is missing: a statement over it cannot be prepared before.
  new EvictedSeqs(cache, memory)
  return {
    own: cache.prepare(`SELECT min(ts) AS at FROM events WHERE session = ?1 AND NOT ${IS_HELD}
      AND payload NOT IN (SELECT payload FROM events WHERE session = ?2)`),
    keys: cache.prepare('SELECT key FROM events WHERE session = ?'),
    // What a session spent outlives its events.
    spent: memory.prepare(
      `SELECT min(ts) AS at FROM usage u WHERE session_uid = ?1
       AND NOT EXISTS (SELECT 1 FROM usage o WHERE o.session_uid = ?2 AND o.response_id = u.response_id)`,
    ),
  }
}

const SOURCES = `FROM sources WHERE session_uid = ?1
  OR path IN (SELECT w.path FROM source_sessions w JOIN cached c ON c.id = w.session WHERE c.session_uid = ?1)`

/** What cannot be read again stays as it was counted: once. */
function isAllThere(cache: Database, uids: readonly string[]): boolean {
  const missing = cache.prepare(`SELECT count(*) > 0 AND count(missing_at) = 0 AS isThere ${SOURCES}`)
  return uids.every((uid) => (missing.get(uid) as { isThere: number }).isThere === 1)
}

function readAgain(cache: Database, { child, parent }: Edge): void {
  const mark = cache.prepare(`UPDATE sources SET adapter_version = ?2 WHERE path IN (SELECT path ${SOURCES})`)
  for (const uid of [child, parent]) mark.run(uid, NO_VERSION)
}
