// What must agree within a memory besides SQLite's own pages: each rule finds rows that do not, and says how they are mended.
// `verify` counts them and a repair mends them, by the same list, so that one never calls sound what the other does not.
import { type Database, transaction } from './database.ts'
import { countAgain } from './forks.ts'
import { unpackText } from './packed-text.ts'
import { NO_VERSION } from './pair.ts'
import { FLAG } from './rows.ts'

interface Rule {
  what: string
  /** Rows that break it: a FROM clause with its conditions. */
  broken: string
  mend: readonly string[]
  /** Where it names its session by number: that of one whose eviction was cut off is passed over, as half of its rows are gone. */
  session?: 'e.session' | 'c.id'
}

export interface Broken {
  what: string
  count: number
}

const DIGEST_AGAIN = (broken: string): string =>
  `UPDATE sessions SET analyzed_at = NULL WHERE evicted_at IS NULL AND session_uid IN (SELECT session_uid FROM ${broken})`

/** A column that holds JSON, and what stands for one that is none: a value, or nothing where the whole row goes. */
function json(table: string, column: string, instead?: string): Rule {
  const broken = `${table} WHERE ${column} IS NOT NULL AND NOT json_valid(${column})`
  const mend =
    instead === undefined
      ? `DELETE FROM ${broken}`
      : `UPDATE ${table} SET ${instead} WHERE NOT json_valid(${column})`
  const isOfDigest = ['digests', 'failures', 'signals'].includes(table)
  return {
    what: `${table} whose ${column} cannot be understood`,
    broken,
    mend: isOfDigest ? [DIGEST_AGAIN(broken), mend] : [mend],
  }
}

const WITHOUT_SESSION =
  'digests d WHERE NOT EXISTS (SELECT 1 FROM sessions s WHERE s.session_uid = d.session_uid)'

const IN_MEMORY: readonly Rule[] = [
  json('digests', 'digest'),
  json('digests', 'earlier', 'earlier = NULL, earlier_seq = 0'),
  json('failures', 'seqs'),
  json('failures', 'resolved_by'),
  json('signals', 'seqs'),
  json('sessions', 'redactions', "redactions = '{}'"),
  json('decisions', 'tags', "tags = '[]'"),
  json('events_log', 'detail', "detail = '{}'"),
  json('copied', 'seqs'),
  json('copied', 'origin_seqs'),
  json('kept_keys', 'not_own', "not_own = '[]'"),
  json('model_prices', 'listed'),
  {
    what: 'responses in the ledger without a session',
    broken: 'ledger l WHERE NOT EXISTS (SELECT 1 FROM ledger_sessions s WHERE s.number = l.session)',
    mend: ['DELETE FROM ledger WHERE session NOT IN (SELECT number FROM ledger_sessions)'],
  },
  {
    what: 'responses in the ledger whose model is missing',
    broken:
      'ledger l WHERE model IS NOT NULL AND NOT EXISTS (SELECT 1 FROM ledger_models m WHERE m.number = l.model)',
    mend: ['UPDATE ledger SET model = NULL WHERE model NOT IN (SELECT number FROM ledger_models)'],
  },
  {
    what: 'digests without a session',
    broken: WITHOUT_SESSION,
    mend: [
      `INSERT INTO sessions (session_uid, flavor, native_session_id, repo, domain, outcome, started_at, ended_at,
         schema_version, discovered_at, ingested_at, analyzed_at)
       SELECT session_uid, flavor, substr(session_uid, length(flavor) + 2), repo, domain, outcome, started_at, ended_at,
         1, made_at, made_at, made_at FROM ${WITHOUT_SESSION}`,
    ],
  },
  {
    what: 'sessions that lost their digest',
    broken: `sessions s WHERE analyzed_at IS NOT NULL AND evicted_at IS NULL
      AND NOT EXISTS (SELECT 1 FROM digests d WHERE d.session_uid = s.session_uid)`,
    mend: [
      `UPDATE sessions AS s SET analyzed_at = NULL WHERE analyzed_at IS NOT NULL AND evicted_at IS NULL
       AND NOT EXISTS (SELECT 1 FROM digests d WHERE d.session_uid = s.session_uid)`,
    ],
  },
]

export const NO_BODY = 'events without a payload'

const WITHOUT_BODY = `events e WHERE NOT flags & ${FLAG.bodyLost} AND NOT EXISTS (SELECT 1 FROM payloads p WHERE p.hash = e.payload)`
const NO_KEY = `events e WHERE NOT EXISTS
  (SELECT 1 FROM keys k WHERE k.key = e.key AND k.session = e.session AND k.seq = e.seq)`
const NO_PARENT = `events e JOIN cached c ON c.id = e.session WHERE parent_seq > c.evicted_seq
  AND NOT EXISTS (SELECT 1 FROM events p WHERE p.session = e.session AND p.seq = e.parent_seq)`
const NO_EVENT = 'words_docsize d WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.id = d.id)'
/** A key stands for the event that has it; of two events with one key the first stays. */
const KEYS_AGAIN = [
  'DELETE FROM keys',
  'INSERT OR IGNORE INTO keys SELECT key, session, seq FROM events ORDER BY key, session, seq',
  `DELETE FROM events WHERE id IN (SELECT e.id FROM ${NO_KEY})`,
]

const IN_CACHE: readonly Rule[] = [
  {
    what: 'events without a session',
    broken: 'events e WHERE NOT EXISTS (SELECT 1 FROM cached c WHERE c.id = e.session)',
    mend: [
      ...[
        'events',
        'keys',
        'touched',
        'findings',
        'source_sessions',
        'names',
        'borrowed',
        'payloads',
        'spent',
      ].map((table) => `DELETE FROM ${table} WHERE session NOT IN (SELECT id FROM cached)`),
    ],
  },
  { what: 'events that are not found by their key', broken: NO_KEY, mend: KEYS_AGAIN },
  {
    what: 'keys without an event',
    broken: `keys k WHERE NOT EXISTS
      (SELECT 1 FROM events e WHERE e.session = k.session AND e.seq = k.seq AND e.key = k.key)`,
    mend: KEYS_AGAIN,
  },
  {
    what: 'events whose parent is missing',
    broken: NO_PARENT,
    session: 'e.session',
    mend: [`UPDATE events SET parent_seq = NULL WHERE id IN (SELECT e.id FROM ${NO_PARENT})`],
  },
  // Bodies are taken out and read again by the repair of payloads.
  { what: NO_BODY, broken: WITHOUT_BODY, session: 'e.session', mend: [] },
  {
    what: 'entries of the full-text index without an event',
    broken: NO_EVENT,
    mend: [`DELETE FROM words WHERE rowid IN (SELECT d.id FROM ${NO_EVENT})`],
  },
  {
    what: 'sessions numbered past their end',
    broken: 'cached c WHERE EXISTS (SELECT 1 FROM events e WHERE e.session = c.id AND e.seq >= c.next_seq)',
    mend: [
      'UPDATE cached AS c SET next_seq = max(next_seq, 1 + coalesce((SELECT max(seq) FROM events e WHERE e.session = c.id), 0))',
    ],
  },
]

const MISCOUNTED = `cached c WHERE event_count - evicted_count <> (SELECT count(*) FROM events e WHERE e.session = c.id AND NOT e.flags & ${FLAG.repeated})`
const IS_MISCOUNTED = 'sessions whose events are counted wrong'
const COUNTS: Rule = { what: IS_MISCOUNTED, broken: MISCOUNTED, session: 'c.id', mend: [] }

const NO_POSITION = 'sources whose position cannot be understood'

/** Their paths. */
function withoutPosition(cache: Database): string[] {
  const rows = cache.prepare('SELECT path, state FROM sources').all() as unknown as {
    path: string
    state: string | Uint8Array
  }[]
  return rows.filter(({ state }) => !isUnderstood(state)).map(({ path }) => path)
}

function isUnderstood(state: string | Uint8Array): boolean {
  try {
    JSON.parse(unpackText(state))
    return true
  } catch {
    return false
  }
}

const countOf = (database: Database, from: string): number =>
  (database.prepare(`SELECT count(*) AS n FROM ${from}`).get() as { n: number }).n

const countAll = (database: Database, rules: readonly Rule[], passedOver: readonly number[] = []): Broken[] =>
  rules.map(({ what, broken, session }) => {
    const rest = session && passedOver.length > 0 ? ` AND ${session} NOT IN (${passedOver.join()})` : ''
    return { what, count: countOf(database, broken + rest) }
  })

/** Only what is broken. `leaving`: sessions whose eviction is not finished. */
export function brokenReferences(cache: Database, memory: Database, leaving: readonly number[]): Broken[] {
  return [
    ...countAll(memory, IN_MEMORY),
    ...countAll(cache, [...IN_CACHE, COUNTS], leaving),
    { what: NO_POSITION, count: withoutPosition(cache).length },
  ].filter(({ count }) => count > 0)
}

/** Returns what was broken. */
export const mendMemory = (memory: Database): Broken[] => transaction(memory, () => mendBy(memory, IN_MEMORY))

/** The same. Sources are read again, since events may be missing; what they cannot tell again stays. */
export const mendCache = (cache: Database): Broken[] => transaction(cache, () => mendEvents(cache))

function mendEvents(cache: Database): Broken[] {
  const mended = mendBy(cache, IN_CACHE)
  const miscounted = cache.prepare(`SELECT id FROM ${MISCOUNTED}`).all() as unknown as { id: number }[]
  const recount = cache.prepare(
    `UPDATE cached SET event_count = evicted_count
     + (SELECT count(*) FROM events WHERE session = ?1 AND NOT flags & ${FLAG.repeated}) WHERE id = ?1`,
  )
  for (const { id } of miscounted) {
    recount.run(id)
    countAgain(cache, id)
  }
  if (miscounted.length > 0) mended.push({ what: IS_MISCOUNTED, count: miscounted.length })
  const lost = withoutPosition(cache)
  const startAgain = cache.prepare("UPDATE sources SET state = 'null' WHERE path = ?")
  for (const path of lost) startAgain.run(path)
  if (lost.length > 0) mended.push({ what: NO_POSITION, count: lost.length })
  // How far digests have come is kept packed, and made again at little cost.
  cache.exec('DELETE FROM folds')
  if (mended.length === 0) return mended
  cache.exec(' UPDATE cached SET is_settled = 0; UPDATE shared SET is_dirty = 1')
  cache.prepare('UPDATE sources SET adapter_version = ?').run(NO_VERSION)
  return mended
}

function mendBy(database: Database, rules: readonly Rule[]): Broken[] {
  const mended: Broken[] = []
  for (const { what, broken, mend } of rules) {
    const count = mend.length === 0 ? 0 : countOf(database, broken)
    if (count === 0) continue
    for (const sql of mend) database.exec(sql)
    mended.push({ what, count })
  }
  return mended
}

/** Marks events whose body no source had any more: from then on it is known to be lost. Returns how many. */
export function markLostBodies(cache: Database): number {
  return Number(
    cache
      .prepare(
        `UPDATE events SET flags = flags | ${FLAG.bodyLost} WHERE id IN (SELECT id FROM ${WITHOUT_BODY})`,
      )
      .run().changes,
  )
}

export const countLostBodies = (cache: Database): number =>
  countOf(
    cache,
    `events e WHERE flags & ${FLAG.bodyLost} AND NOT EXISTS (SELECT 1 FROM payloads p WHERE p.hash = e.payload)`,
  )
