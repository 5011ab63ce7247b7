// Questions of the full-text search: which events, decisions and digests hold some words, and what is shown of them.
// `match` is what `parseQuery` (store/words.ts) makes of what was typed.
import { EVENT_KINDS, type EventKind } from '../../model.ts'
import { row, rows } from '../database.ts'
import type { Databases } from '../databases.ts'
import { toolWord } from '../digest-words.ts'
import { conversationOrder } from '../order.ts'
import { NO_TURN } from '../rows.ts'
import { type Candidate, findCandidates } from './candidates.ts'
import { blobRef } from './events.ts'
import { type NarrowedFilter, sessionConditions, touching } from './filters.ts'
import { idsOf, uidsOf } from './numbers.ts'
import { findWritten } from './search-written.ts'
import { receiptsOf } from './storage.ts'
import { eventCount, frequency, vocabulary } from './vocabulary.ts'

/** By which events that are copies of each other are known. */
function keys({ cache }: Databases, ids: readonly number[]): Map<number, string> {
  const found = rows<{ id: number; key: string }>(
    cache,
    'SELECT e.id, hex(e.key) AS key FROM json_each(?) j CROSS JOIN events e ON e.id = j.value',
    JSON.stringify(ids),
  )
  return new Map(found.map(({ id, key }) => [id, key]))
}

const IS_TALK = `NOT flags & ${NO_TURN} AND kind NOT IN (${(['thinking', 'lifecycle', 'completion'] as const)
  .map((kind) => EVENT_KINDS.indexOf(kind))
  .join(', ')})`

/** What kind of thing was said or done after an event; undefined for the last one. */
function kindAfter({ cache }: Databases, { session, seq }: Candidate): EventKind | undefined {
  const order = conversationOrder(cache, session)
  const found = order.isByNumber
    ? row<{ kind: number }>(
        cache,
        `SELECT kind FROM events WHERE session = ? AND seq > ? AND ${IS_TALK} ORDER BY seq LIMIT 1`,
        session,
        seq,
      )
    : row<{ kind: number }>(
        cache,
        `SELECT kind FROM json_each(?2) j CROSS JOIN events e ON e.session = ?1 AND e.seq = j.value
         WHERE ${IS_TALK} ORDER BY j.key LIMIT 1`,
        session,
        JSON.stringify(order.seqs(order.placeOf(seq) + 1, Number.MAX_SAFE_INTEGER)),
      )
  return found && EVENT_KINDS[found.kind]
}

export interface FoundEvent {
  tool: string | null
  summary: string
  payloadRef: string
}

/** Undefined when it went since it was found. */
function event({ cache }: Databases, id: number): FoundEvent | undefined {
  const found = row<{ tool: string | null; summary: string; payload: Uint8Array }>(
    cache,
    'SELECT tool, summary, payload FROM events WHERE id = ?',
    id,
  )
  return found && { tool: found.tool, summary: found.summary, payloadRef: blobRef(found.payload) }
}

export interface DigestMatch {
  uid: string
  /** As of bm25. */
  rank: number
}

const WANTED = 300
const HAS_RECEIPT = 'EXISTS (SELECT 1 FROM receipts r WHERE r.session_uid = t.session_uid)'

/** Digests of sessions whose events are gone, the newest first. */
function digests(
  databases: Databases,
  match: string,
  filter: NarrowedFilter,
  tool: string | undefined,
): DigestMatch[] {
  const words = `{prompt answer work files} : (${match})`
  const query = tool === undefined ? words : `(${words}) AND {tools} : "${toolWord(tool)}"`
  const { where, values } = sessionConditions({ withSubagents: true, ...filter })
  const find = (isGone: string): DigestMatch[] =>
    rows(
      databases.memory,
      `SELECT t.session_uid AS uid, bm25(digest_words) AS rank FROM digest_words
       CROSS JOIN digest_texts t ON t.id = digest_words.rowid
       CROSS JOIN sessions s ON s.session_uid = t.session_uid
       WHERE digest_words MATCH ? AND ${isGone} AND ${where} ORDER BY digest_words.rowid DESC LIMIT ${WANTED}`,
      query,
      ...values,
    )
  const evicted = hasReceipts(databases) ? stillGone(databases, find(HAS_RECEIPT)) : []
  if (!isCacheIncomplete(databases)) return evicted
  const isHere = (uid: string): boolean =>
    row(
      databases.cache,
      'SELECT 1 FROM cached c WHERE c.session_uid = ? AND EXISTS (SELECT 1 FROM events e WHERE e.session = c.id)',
      uid,
    ) !== undefined
  return [...evicted, ...find(`s.event_count > 0 AND NOT ${HAS_RECEIPT}`).filter((one) => !isHere(one.uid))]
}

function stillGone(databases: Databases, found: readonly DigestMatch[]): DigestMatch[] {
  const receipts = receiptsOf(
    databases,
    found.map((one) => one.uid),
  )
  const gone = new Set(receipts.filter((one) => !one.is_restored).map((one) => one.session_uid))
  return found.filter((one) => gone.has(one.uid))
}

const hasReceipts = ({ memory }: Databases): boolean =>
  row(memory, 'SELECT 1 FROM receipts LIMIT 1') !== undefined

/** The cache can be thrown away; what the agents deleted meanwhile does not come back into it. */
function isCacheIncomplete({ memory, cache }: Databases): boolean {
  if (row(cache, 'SELECT 1 FROM pair WHERE is_whole') !== undefined) return false
  const cached = row<{ n: number }>(cache, 'SELECT count(*) AS n FROM cached')?.n ?? 0
  return cached < (row<{ n: number }>(memory, 'SELECT count(*) AS n FROM sessions')?.n ?? 0)
}

export const searchQuestions = {
  frequency,
  eventCount,
  vocabulary,
  touching,
  candidates: findCandidates,
  written: findWritten,
  digests,
  keys,
  kindAfter,
  event,
  uidsOf,
  idsOf,
}
