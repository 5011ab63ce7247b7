// Two sessions of which one was evicted while it was open which of them copied: files that were restored or copied tell
// nothing by their birth, and as long as one of the two has nothing of its own, an origin that stopped and a fork that is
// still being written look the same. What they share counts once, in the one that was taken for the origin then. When more
// of it comes that the evicted one has counted, or when both have gone on, and the other one first, both are read again.
import { parseStored } from '../errors.ts'
import { type Database, prepared } from './database.ts'
import { countAgain, EVIDENCE } from './forks.ts'
import { GoneKeys, IS_HELD, keptSeqs, nameOf, type Range } from './gone-keys.ts'
import { markCopies, NOT_ITS_OWN } from './kept-keys.ts'
import { NO_VERSION } from './pair.ts'

interface Edge {
  child: string
  parent: string
}

interface Cached {
  id: number
  session_uid: string
  evicted_seq: number
}

/** `written`: sessions that something may be new of. */
export function decideOpenKin(
  cache: Database,
  memory: Database,
  written: readonly { session_uid: string }[],
): void {
  const uids = new Set(written.map((one) => one.session_uid))
  const open = memory
    .prepare('SELECT session_uid AS child, parent_uid AS parent FROM edges WHERE evidence = ?')
    .all(EVIDENCE.soFarSinceEvicted) as unknown as Edge[]
  const concerned = open.filter(({ child, parent }) => uids.has(child) || uids.has(parent))
  if (concerned.length === 0) return
  const starts = new Starts(cache, memory)
  const confirm = memory.prepare('UPDATE edges SET evidence = ? WHERE session_uid = ? AND parent_uid = ?')
  for (const { child, parent } of concerned) {
    const isCounted = markCounted(cache, memory, child, parent) || markCounted(cache, memory, parent, child)
    const [childAt, parentAt] = [starts.of(child, parent), starts.of(parent, child)]
    const isDecided = childAt !== null && parentAt !== null
    if (isCounted || (isDecided && childAt < parentAt)) {
      if (!isAllThere(cache, [child, parent])) continue
      takeBack(memory, child, parent)
      for (const uid of [child, parent]) readAgain(cache, uid)
    } else if (isDecided) confirm.run(EVIDENCE.sinceEvicted, child, parent)
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
  prepared(cache, 'SELECT id, session_uid, evicted_seq FROM cached WHERE session_uid = ?').get(uid) as
    | Cached
    | undefined

/** When a session first held something that another does not. */
class Starts {
  readonly #cache: Database
  readonly #memory: Database
  readonly #sql: ReturnType<typeof statements>

  constructor(cache: Database, memory: Database) {
    this.#cache = cache
    this.#memory = memory
    this.#sql = statements(cache, memory)
  }

  /** Null where it has nothing, or where that is gone and nothing tells its time. */
  of(uid: string, otherUid: string): number | null {
    const [one, other] = [uid, otherUid].map((each) => cachedOf(this.#cache, each))
    if (!one || !other) return null
    const gone = new GoneKeys(this.#cache, this.#memory)
    try {
      gone.load(other.id)
      const { at } = this.#sql.own.get(one.id, other.id) as { at: number | null }
      if (!this.#hasGone(one, other)) return at
    } finally {
      gone.clear()
    }
    const { at } = this.#sql.spent.get(uid, otherUid) as { at: number | null }
    return at
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
  new GoneKeys(cache, memory)
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

const readAgain = (cache: Database, uid: string): void =>
  void cache
    .prepare(`UPDATE sources SET adapter_version = ?2 WHERE path IN (SELECT path ${SOURCES})`)
    .run(uid, NO_VERSION)

function takeBack(memory: Database, child: string, parent: string): void {
  memory.prepare('DELETE FROM edges WHERE session_uid = ? AND parent_uid = ?').run(child, parent)
  memory
    .prepare("UPDATE sessions SET relation = 'main' WHERE session_uid = ? AND relation = 'fork'")
    .run(child)
}
