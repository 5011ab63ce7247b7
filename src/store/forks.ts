// Sessions that hold the same events: which one was there first, what the other copied, and the edge between them where
// the format itself names no parent. Looked at again only when something came that could turn a pair round.

import { EVENT_KINDS } from '../model.ts'
import { type Database, prepared } from './database.ts'
import { EvictedSeqs, IS_HELD } from './evicted-seqs.ts'
import { ForkStarts } from './fork-start.ts'
import { FLAG, NO_TURN, NOT_OWN } from './rows.ts'

/**
 * Evidence of an edge that was concluded here, not told by the format; `soFar` while one of the two has nothing of its own
 * and nothing else tells which of them copied. When one of them is evicted it can no longer be concluded, so it is kept as
 * told; what was so far stays open until both have gone on (`undecided-forks.ts`), and may have to be read again for that.
 */
export const EVIDENCE = {
  concluded: 'shared prefix',
  soFar: 'shared prefix so far',
  sinceEvicted: 'shared prefix, since evicted',
  soFarSinceEvicted: 'shared prefix so far, since evicted',
  askedFor: 'shared prefix so far, to be read again',
} as const
export const CONCLUDED = `('${EVIDENCE.concluded}', '${EVIDENCE.soFar}')`
export const SINCE_EVICTED = `('${EVIDENCE.sinceEvicted}', '${EVIDENCE.soFarSinceEvicted}', '${EVIDENCE.askedFor}')`

/** How a session came from another that nothing names: parameters ?1 and ?2. */
export const FORK_KIND = `iif((SELECT is_background FROM sessions WHERE session_uid = ?1)
  > (SELECT is_background FROM sessions WHERE session_uid = ?2), 'bg_fork', 'interactive_fork')`

interface Pair {
  first: number
  second: number
}

/** Those with a new common event, and those where one side has got something earlier than all it had of its own. */
const DIRTY_PAIRS = `SELECT first, second FROM shared WHERE is_dirty
  UNION SELECT s.first, s.second FROM cached c JOIN shared s ON s.first = c.id
  WHERE c.is_settled = 0 AND (s.first_at IS NULL OR c.low_at < s.first_at)
  UNION SELECT s.first, s.second FROM cached c JOIN shared s ON s.second = c.id
  WHERE c.is_settled = 0 AND (s.second_at IS NULL OR c.low_at < s.second_at)`

interface Parent {
  id: number
  uid: string
  sharedCount: number
  isOpen: boolean
}

/** Which of a pair the other copied from; `isOpen` while it is so only until the other goes on. */
interface Verdict {
  parent: number
  isOpen: boolean
}

/** Marks the copies of every session whose kinship may have changed. */
export function settleForks(cache: Database, memory: Database): void {
  const dirty = cache.prepare(DIRTY_PAIRS).all() as unknown as Pair[]
  const gone = new EvictedSeqs(cache, memory)
  const kin = new Kin(cache, memory, gone)
  for (const id of new Set(dirty.flatMap((pair) => [pair.first, pair.second]))) kin.settle(id)
  for (const { first, second } of dirty) kin.close(first, second)
  gone.clear()
  // A source read again calls its session `main` again.
  memory
    .prepare(
      `UPDATE sessions SET relation = 'fork' WHERE relation = 'main'
       AND session_uid IN (SELECT session_uid FROM edges WHERE evidence IN ${CONCLUDED} OR evidence IN ${SINCE_EVICTED})`,
    )
    .run()
}

class Kin {
  readonly #cache: Database
  readonly #sql: ReturnType<typeof statements>
  readonly #starts: ForkStarts
  readonly #gone: EvictedSeqs
  readonly #loaded = new Set<number>()

  constructor(cache: Database, memory: Database, gone: EvictedSeqs) {
    this.#cache = cache
    this.#gone = gone
    this.#starts = new ForkStarts(cache, memory)
    this.#sql = statements(cache, memory)
  }

  settle(id: number): void {
    const uid = this.#uid(id)
    this.#sql.clear.run(id)
    this.#sql.unfold.run(id)
    this.#sql.forget.run(uid)
    this.#sql.unfork.run(uid, uid)
    this.#sql.unlink.run(uid)
    let parent: Parent | undefined
    const parents: number[] = []
    const pairs = this.#sql.pairs.all(id) as unknown as Pair[]
    for (const one of pairs.flatMap(({ first, second }) => [first, second])) this.#load(one)
    for (const pair of pairs) {
      const other = pair.first === id ? pair.second : pair.first
      const { parent: first, isOpen } = this.#parentOf(pair)
      if (first !== other) continue
      parents.push(other)
      const otherUid = this.#uid(other)
      const sharedCount = Number(this.#sql.mark.run(id, other).changes)
      // Which of the two a response counts in may have changed with their order.
      this.#sql.recount.run(uid, otherUid)
      const found = { id: other, uid: otherUid, sharedCount, isOpen }
      if (!parent || this.#isCloser(found, parent)) parent = found
    }
    if (parent) this.#sql.link.run(uid, parent.uid, parent.isOpen ? EVIDENCE.soFar : EVIDENCE.concluded)
    this.#starts.settle(id, uid, parents)
    countAgain(this.#cache, id)
  }

  #load(id: number): void {
    if (this.#loaded.has(id)) return
    this.#loaded.add(id)
    this.#gone.load(id)
  }

  close(first: number, second: number): void {
    this.#sql.close.run(this.#ownStart(first, second), this.#ownStart(second, first), first, second)
  }

  #uid(id: number): string {
    return (this.#sql.uid.get(id) as { session_uid: string }).session_uid
  }

  /** Begin of what a session holds and another does not; what was only noted again under a new name is no news. */
  #ownStart(id: number, other: number): number | null {
    return (this.#sql.ownStart.get(id, other) as { at: number | null }).at
  }

  /** Of several sessions with an equal share, the one the others came from is the origin. */
  #isCloser(a: Parent, b: Parent): boolean {
    if (a.sharedCount !== b.sharedCount) return a.sharedCount > b.sharedCount
    const pair = a.id < b.id ? { first: a.id, second: b.id } : { first: b.id, second: a.id }
    return this.#parentOf(pair).parent === a.id
  }

  /**
   * What the format says counts most; then the times of the same event, where a copy got a new one; then whose file was
   * there when the shared events happened; then who held something of its own first: one that never did is contained in
   * the other.
   */
  #parentOf({ first, second }: Pair): Verdict {
    const [firstUid, secondUid] = [this.#uid(first), this.#uid(second)]
    const say = (isFirst: boolean, isOpen = false): Verdict => ({ parent: isFirst ? first : second, isOpen })
    if (this.#sql.told.get(secondUid, firstUid)) return say(true)
    if (this.#sql.told.get(firstUid, secondUid)) return say(false)
    const times = this.#sql.times.get(first, second) as { a: number; b: number } | undefined
    if (times) return say(times.a < times.b)
    const { at } = this.#sql.lastShared.get(first, second) as { at: number | null }
    const [wasFirst, wasSecond] = [this.#wasThere(firstUid, at), this.#wasThere(secondUid, at)]
    if (wasFirst !== wasSecond) return say(wasFirst)
    const [firstAt, secondAt] = [this.#ownStart(first, second), this.#ownStart(second, first)]
    const earliest = Number.NEGATIVE_INFINITY
    const isOpen = firstAt === null || secondAt === null
    if (firstAt !== secondAt) return say((firstAt ?? earliest) < (secondAt ?? earliest), isOpen)
    return say(firstUid < secondUid, isOpen)
  }

  #wasThere(uid: string, at: number | null): boolean {
    const { born } = this.#sql.born.get(uid) as { born: number | null }
    return at !== null && born !== null && born > 0 && born <= at
  }
}

function statements(cache: Database, memory: Database) {
  return {
    uid: cache.prepare('SELECT session_uid FROM cached WHERE id = ?'),
    pairs: cache.prepare('SELECT first, second FROM shared WHERE first = ?1 OR second = ?1'),
    close: cache.prepare(
      'UPDATE shared SET is_dirty = 0, first_at = ?, second_at = ? WHERE first = ? AND second = ?',
    ),
    clear: cache.prepare(
      `UPDATE events SET flags = flags & ~${FLAG.copied} WHERE session = ? AND flags & ${FLAG.copied}`,
    ),
    mark: cache.prepare(
      `UPDATE events SET flags = flags | ${FLAG.copied} WHERE session = ?1
       AND ${IS_HELD}`,
    ),
    ownStart: cache.prepare(
      `SELECT min(ts) AS at FROM events WHERE session = ?1
       AND NOT ${IS_HELD}
       AND payload NOT IN (SELECT payload FROM events WHERE session = ?2)`,
    ),
    lastShared: cache.prepare(
      `SELECT max(ts) AS at FROM events WHERE session = ?1
       AND ${IS_HELD}`,
    ),
    unfold: cache.prepare('DELETE FROM folds WHERE session = ?'),
    born: cache.prepare('SELECT min(born_at) AS born FROM sources WHERE session_uid = ?'),
    times: cache.prepare(
      `SELECT e.ts AS a, o.ts AS b FROM events e CROSS JOIN keys k ON k.key = e.key AND k.session = ?2
       CROSS JOIN events o ON o.session = k.session AND o.seq = k.seq
       WHERE e.session = ?1 AND e.ts <> o.ts ORDER BY e.seq LIMIT 1`,
    ),
    // A fork of a fork names only the one that it was made from.
    told: memory.prepare(
      `WITH RECURSIVE told AS (SELECT session_uid, parent_uid FROM edges WHERE coalesce(evidence, '') NOT IN ${CONCLUDED}),
       above (uid) AS (SELECT parent_uid FROM told WHERE session_uid = ?1
         UNION SELECT t.parent_uid FROM above a JOIN told t ON t.session_uid = a.uid)
       SELECT 1 FROM above WHERE uid = ?2`,
    ),
    recount: memory.prepare(
      `INSERT OR IGNORE INTO recount SELECT u.response_id FROM usage u WHERE u.session_uid = ?
       AND EXISTS (SELECT 1 FROM usage o WHERE o.session_uid = ? AND o.response_id = u.response_id)`,
    ),
    forget: memory.prepare(
      `INSERT OR IGNORE INTO recount SELECT u.response_id FROM usage u JOIN edges e ON e.session_uid = u.session_uid
       JOIN usage o ON o.session_uid = e.parent_uid AND o.response_id = u.response_id
       WHERE u.session_uid = ? AND e.evidence IN ${CONCLUDED}`,
    ),
    // One that its own file calls a fork stays one.
    unfork: memory.prepare(
      `UPDATE sessions SET relation = 'main' WHERE session_uid = ? AND relation = 'fork'
       AND EXISTS (SELECT 1 FROM edges WHERE session_uid = ? AND evidence IN ${CONCLUDED})
       AND NOT EXISTS (SELECT 1 FROM edges e WHERE e.session_uid = sessions.session_uid AND e.kind = ${FORK_KIND}
         AND e.parent_uid <> '' AND coalesce(e.evidence, '') NOT IN ${CONCLUDED})`,
    ),
    unlink: memory.prepare(`DELETE FROM edges WHERE session_uid = ? AND evidence IN ${CONCLUDED}`),
    link: memory.prepare(
      `INSERT INTO edges (session_uid, kind, parent_uid, evidence) SELECT ?1, ${FORK_KIND}, ?2, ?3
       WHERE NOT EXISTS (SELECT 1 FROM edges WHERE session_uid = ?1 AND parent_uid <> '')`,
    ),
  }
}

/** Counters over what a session said itself; those of evicted events stay as they were. */
export function countAgain(cache: Database, id: number): void {
  const own = `NOT flags & ${NOT_OWN}`
  const kind = (name: (typeof EVENT_KINDS)[number]): number => EVENT_KINDS.indexOf(name)
  prepared(
    cache,
    `UPDATE cached SET
         turn_count = evicted_turns + (SELECT count(*) FROM events WHERE session = ?1 AND kind = ${kind('user_msg')} AND ${own} AND NOT flags & ${NO_TURN}),
         retry_count = evicted_retries + (SELECT count(*) FROM events WHERE session = ?1 AND kind = ${kind('retry')} AND ${own}),
         error_count = evicted_errors + (SELECT count(*) FROM events WHERE session = ?1 AND kind = ${kind('error')} AND ${own}),
         is_settled = 0
       WHERE id = ?1`,
  ).run(id)
}
