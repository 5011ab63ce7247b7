// Digests in Tier 2. What a kill leaves: before the commit nothing, and `analyzed_at < ingested_at` says to do it again;
// after it the digest and its watermark together. A digest whose events are gone is touched again only to take out what
// it counted and another session turned out to have had first.
import { type Database, prepared, transaction } from './database.ts'
import { DigestWords, indexOldDigests } from './digest-words.ts'
import { packText, unpackText } from './packed-text.ts'
import { FLAG } from './rows.ts'
import type { DigestRow, Fold } from './store.ts'

/**
 * Whether a session with a digest had more events than so many, and none of those is later: the cache was deleted, and the
 * agent no longer has all of the session's files. Such a digest stays, and so do the counters made with it.
 */
export function knowingMore(cache: Database, memory: Database): (uid: string, eventCount: number) => boolean {
  const more = prepared(
    memory,
    `SELECT 1 FROM digests d JOIN sessions s USING (session_uid)
     WHERE d.session_uid = ?1 AND d.ended_at >= s.ended_at AND s.event_count > ?2`,
  )
  // Memories of before counted these as well.
  const repeated = prepared(
    cache,
    `SELECT count(*) AS count FROM events WHERE session = (SELECT id FROM cached WHERE session_uid = ?)
     AND flags & ${FLAG.repeated}`,
  )
  return (uid, eventCount) => {
    if (more.get(uid, eventCount) === undefined) return false
    const { count } = repeated.get(uid) as { count: number }
    return count === 0 || more.get(uid, eventCount + count) !== undefined
  }
}

const AT_ONCE = 10_000

/** Why a digest has to be made: its session has other events, or only what is told of them has changed; else other rules. */
interface Due {
  uid: string
  at: number
  isChanged: 0 | 1
  isCorrected: 0 | 1
}

// One by one: put together otherwise, every digest there is would be looked at. A digest whose events are gone is only told
// anew what it counted in vain, and what its failures are called by now.
const DUE = `SELECT session_uid AS uid, 1 AS isChanged, 0 AS isCorrected FROM sessions
    WHERE (analyzed_at IS NULL OR analyzed_at < ingested_at) AND ?1 IS NOT NULL
  UNION ALL SELECT session_uid, 0, 0 FROM digests WHERE rule_version < ?1
  UNION ALL SELECT session_uid, 0, 0 FROM digests WHERE rule_version > ?1
  UNION ALL SELECT session_uid, 0, 1 FROM copied JOIN digests USING (session_uid) WHERE NOT is_told
  UNION ALL SELECT session_uid, 0, 1 FROM failures
    WHERE (fingerprint < ?2 OR fingerprint > ?2 || '~') AND sample NOT LIKE '%…'`
const ACTIVE_AT = 'coalesce(s.ended_at, s.started_at, 0)'

/**
 * In pieces, because there may be a million; at least one, which may be empty. What was active longest ago is analyzed
 * first: in that order it may have to go.
 */
export function* undigested(
  cache: Database,
  memory: Database,
  ruleVersion: string,
  fingerprintPrefix: string,
): Generator<string[]> {
  indexOldDigests(memory)
  const page = memory.prepare(
    `SELECT uid, ${ACTIVE_AT} AS at, isChanged, isCorrected FROM (${DUE}) LEFT JOIN sessions s ON s.session_uid = uid
     WHERE (${ACTIVE_AT}, uid) > (?3, ?4) ORDER BY 2, 1 LIMIT ${AT_ONCE}`,
  )
  const here = cache.prepare(
    'SELECT event_count FROM cached c WHERE session_uid = ? AND EXISTS (SELECT 1 FROM events WHERE session = c.id)',
  )
  const knowsMore = knowingMore(cache, memory)
  const canBeMade = ({ uid, isChanged }: Due): boolean => {
    const row = here.get(uid) as { event_count: number } | undefined
    return row !== undefined && (isChanged === 1 || !knowsMore(uid, row.event_count))
  }
  let last = { at: Number.MIN_SAFE_INTEGER, uid: '' }
  for (let isMore = true; isMore; ) {
    const rows = page.all(ruleVersion, fingerprintPrefix, last.at, last.uid) as unknown as Due[]
    isMore = rows.length === AT_ONCE
    const due = eachOnce(rows)
    // There may be more rows of the last one.
    if (isMore && due.length > 1) due.pop()
    last = due.at(-1) ?? last
    yield due.filter((one) => one.isCorrected === 1 || canBeMade(one)).map(({ uid }) => uid)
  }
}

/** Rows of one session stand together. */
function eachOnce(rows: readonly Due[]): Due[] {
  const due: Due[] = []
  for (const row of rows) {
    const before = due.at(-1)
    if (before?.uid !== row.uid) due.push({ ...row })
    else {
      before.isChanged = before.isChanged || row.isChanged
      before.isCorrected = before.isCorrected || row.isCorrected
    }
  }
  return due
}

/** Where the digest of a session can go on; undefined when it has to begin again. */
export function foldOf(cache: Database, session: number): Fold | undefined {
  // Asked for each session of a sweep.
  const row = prepared(
    cache,
    `SELECT rules, first_seq AS firstSeq, last_seq AS lastSeq, state FROM folds WHERE session = ?1
     AND first_seq = (SELECT min(seq) FROM events WHERE session = ?1)`,
  ).get(session) as (Omit<Fold, 'state'> & { state: string | Uint8Array }) | undefined
  return row && { ...row, state: unpackText(row.state) }
}

export function writeDigests(cache: Database, memory: Database, rows: readonly DigestRow[]): void {
  if (rows.length === 0) return
  keepFolds(cache, rows)
  const sql = statements(memory)
  const words = new DigestWords(memory)
  const now = Date.now()
  transaction(memory, () => {
    for (const row of rows) {
      const { sessionUid: uid } = row
      sql.digest.run(
        uid,
        row.flavor,
        row.repo,
        row.domain,
        row.outcome,
        row.startedAt,
        row.endedAt,
        row.ruleVersion,
        now,
        row.digest,
        row.earlierSeq,
        row.earlier,
      )
      words.put(uid, row.digest)
      sql.clearFailures.run(uid)
      for (const one of row.failures)
        sql.failure.run(
          uid,
          one.fingerprint,
          one.tool,
          one.sample,
          one.count,
          one.firstAt,
          one.lastAt,
          one.seqs,
          one.resolvedBy,
        )
      sql.clearSignals.run(uid)
      for (const one of row.signals) sql.signal.run(uid, one.signal, one.subject, one.count, one.seqs)
      sql.analyzed.run(row.outcome, row.madeTitle, row.madeSource, row.helper, now, uid)
      sql.recounted.run(uid)
    }
  })
}

/** Each stands for itself: one without its digest is as good. */
function keepFolds(cache: Database, rows: readonly DigestRow[]): void {
  const kept = rows.flatMap(({ sessionUid, fold }) => (fold ? [{ sessionUid, fold }] : []))
  if (kept.length === 0) return
  transaction(cache, () => {
    for (const { sessionUid, fold } of kept) keepFold(cache, sessionUid, fold)
  })
}

/** In the transaction that is open, if one is. */
export function keepFold(cache: Database, uid: string, { rules, firstSeq, lastSeq, state }: Fold): void {
  prepared(
    cache,
    'INSERT OR REPLACE INTO folds VALUES ((SELECT id FROM cached WHERE session_uid = ?), ?, ?, ?, ?)',
  ).run(uid, rules, firstSeq, lastSeq, packText(state))
}

function statements(memory: Database) {
  return {
    digest: memory.prepare('INSERT OR REPLACE INTO digests VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)'),
    clearFailures: memory.prepare('DELETE FROM failures WHERE session_uid = ?'),
    failure: memory.prepare('INSERT INTO failures VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)'),
    clearSignals: memory.prepare('DELETE FROM signals WHERE session_uid = ?'),
    signal: memory.prepare('INSERT INTO signals VALUES (?, ?, ?, ?, ?)'),
    recounted: memory.prepare('UPDATE copied SET is_told = 1 WHERE session_uid = ?'),
    // Not before the time of ingestion, whatever the clock did meanwhile. A title of its own, also one that came late, needs no other.
    analyzed: memory.prepare(
      `UPDATE sessions SET outcome = ?, made_title = iif(coalesce(title, '') = '', coalesce(?, made_title), NULL),
       made_source = iif(coalesce(title, '') = '', coalesce(?, made_source), NULL), helper = ?,
       analyzed_at = max(?, coalesce(ingested_at, 0)) WHERE session_uid = ?`,
    ),
  }
}
