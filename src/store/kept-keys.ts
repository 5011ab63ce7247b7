// What stays of an evicted session's events: the beginnings of their keys, which are hashes. With them a fork that is
// read in later, and carries no back pointer, is still known as one, and what it copied is not counted a second time.
import { type Database, prepared } from './database.ts'
import { countAgain, SINCE_EVICTED } from './forks.ts'
import { FLAG } from './rows.ts'

const KEY_BYTES = 8
/** Bounds what an eviction has to write; of a longer session only so much of a copy is recognised. */
const MAX_KEYS = 16_384
const OWN = `NOT flags & ${FLAG.inherited | FLAG.copied}`

interface Kept {
  session_uid: string
  first_key: Uint8Array
  first_at: number | null
}

const nameOf = (key: Uint8Array): string => Buffer.from(key).toString('latin1', 0, KEY_BYTES)

/** Runs in the commit that marks the session for eviction: its rows are all still there. */
export function keepKeys(cache: Database, memory: Database, uid: string): void {
  const from = 'FROM cached c JOIN events e ON e.session = c.id WHERE c.session_uid = ?'
  const first = prepared(cache, `SELECT e.key, e.ts ${from} AND ${OWN} ORDER BY e.seq LIMIT 1`).get(uid) as
    | { key: Uint8Array; ts: number | null }
    | undefined
  // One that only copied has nothing that others could have from it.
  if (!first) return
  // As one text: a row for each of so many would cost several times as much.
  const { hex } = prepared(
    cache,
    `SELECT group_concat(hex(substr(key, 1, ${KEY_BYTES})), '') AS hex FROM (SELECT e.key ${from} ORDER BY e.seq LIMIT ${MAX_KEYS})`,
  ).get(uid) as { hex: string }
  const keys = Buffer.from(hex, 'hex')
  const before = prepared(
    memory,
    'SELECT first_key, first_at, keys FROM kept_keys WHERE session_uid = ?',
  ).get(uid) as (Kept & { keys: Uint8Array }) | undefined
  const all = Buffer.concat([before?.keys ?? new Uint8Array(), keys]).subarray(0, MAX_KEYS * KEY_BYTES)
  prepared(memory, 'INSERT OR REPLACE INTO kept_keys VALUES (?, ?, ?, ?)').run(
    uid,
    before?.first_key ?? first.key.subarray(0, KEY_BYTES),
    before ? before.first_at : first.ts,
    all,
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
     OR EXISTS (SELECT 1 FROM edges WHERE session_uid = ?1 AND evidence = ?2))`,
  )
  const events = cache.prepare('SELECT id, key FROM events WHERE session = ? ORDER BY seq')
  for (const session of written) {
    if (!isConcerned.get(session.session_uid, SINCE_EVICTED)) continue
    const rows = events.all(session.id) as unknown as { id: number; key: Uint8Array }[]
    // The origin of the last part that was copied is the one it was forked from.
    const last = rows.findLast((row) => gone.has(nameOf(row.key)))
    const origin = last && (gone.get(nameOf(last.key)) as Kept)
    if (!origin || origin.session_uid === session.session_uid) continue
    if (isOlder(cache, session.session_uid, origin)) link(memory, origin.session_uid, session.session_uid)
    else {
      link(memory, session.session_uid, origin.session_uid)
      markCopies(cache, memory, rows, origin.session_uid)
      countAgain(cache, session.id)
    }
  }
}

/** By the key of the first event that was their own. One that was read in again is compared as any other. */
function evicted(cache: Database, memory: Database): Map<string, Kept> {
  const kept = memory.prepare('SELECT session_uid, first_key, first_at FROM kept_keys').all()
  const isHere = cache.prepare(
    'SELECT 1 FROM cached WHERE session_uid = ? AND evicted_seq = 0 AND next_seq > 1',
  )
  return new Map(
    (kept as unknown as Kept[])
      .filter((one) => !isHere.get(one.session_uid))
      .map((one) => [nameOf(one.first_key), one]),
  )
}

/** Its file was there when the first of the common events happened, and that of the evicted session was not. */
function isOlder(cache: Database, uid: string, origin: Kept): boolean {
  const born = cache.prepare('SELECT min(born_at) AS born FROM sources WHERE session_uid = ?')
  const wasThere = (one: string): boolean => {
    const { born: at } = born.get(one) as { born: number | null }
    return at !== null && at > 0 && origin.first_at !== null && at <= origin.first_at
  }
  return wasThere(uid) && !wasThere(origin.session_uid)
}

function link(memory: Database, uid: string, parentUid: string): void {
  memory
    .prepare(
      `INSERT OR IGNORE INTO edges (session_uid, kind, parent_uid, evidence) SELECT ?1, 'interactive_fork', ?2, ?3
       WHERE NOT EXISTS (SELECT 1 FROM edges WHERE session_uid = ?1 AND parent_uid <> '')`,
    )
    .run(uid, parentUid, SINCE_EVICTED)
  memory.prepare("UPDATE sessions SET relation = 'fork' WHERE session_uid = ? AND relation = 'main'").run(uid)
  memory
    .prepare(
      `INSERT OR IGNORE INTO recount SELECT u.response_id FROM usage u WHERE u.session_uid = ?
       AND EXISTS (SELECT 1 FROM usage o WHERE o.session_uid = ? AND o.response_id = u.response_id)`,
    )
    .run(uid, parentUid)
}

function markCopies(
  cache: Database,
  memory: Database,
  rows: readonly { id: number; key: Uint8Array }[],
  originUid: string,
): void {
  const { keys } = memory.prepare('SELECT keys FROM kept_keys WHERE session_uid = ?').get(originUid) as {
    keys: Uint8Array
  }
  const known = new Set<string>()
  for (let at = 0; at < keys.length; at += KEY_BYTES) known.add(nameOf(keys.subarray(at)))
  const mark = cache.prepare(`UPDATE events SET flags = flags | ${FLAG.inherited} WHERE id = ?`)
  for (const { id, key } of rows) if (known.has(nameOf(key))) mark.run(id)
}
