// Search among sessions whose events are gone: their digests still say what was asked, answered, run and changed.
import { parseStored } from '../errors.ts'
import type { EventKind } from '../model.ts'
import { toolWord } from '../store/digest-words.ts'
import type { ReadHandle } from '../store/store.ts'
import { type NarrowedFilter, sessionConditions } from './filters.ts'
import type { LineFinder, MatchingLine } from './line.ts'
import { goneOf } from './receipts.ts'

export interface DigestMatch {
  uid: string
  rank: number
}

const WANTED = 300

/** Newest digests first; `rank` as of bm25. */
export function findDigests(
  handle: ReadHandle,
  match: string,
  filter: NarrowedFilter,
  tool: string | undefined,
): DigestMatch[] {
  const words = `{prompt answer work files} : (${match})`
  const query = tool === undefined ? words : `(${words}) AND {tools} : "${toolWord(tool)}"`
  const { where, values } = sessionConditions({ withSubagents: true, ...filter })
  const find = (isGone: string): DigestMatch[] =>
    handle.memory
      .prepare(
        `SELECT t.session_uid AS uid, bm25(digest_words) AS rank FROM digest_words
         CROSS JOIN digest_texts t ON t.id = digest_words.rowid
         CROSS JOIN sessions s ON s.session_uid = t.session_uid
         WHERE digest_words MATCH ? AND ${isGone} AND ${where} ORDER BY digest_words.rowid DESC LIMIT ${WANTED}`,
      )
      .all(query, ...values) as unknown as DigestMatch[]
  const receipt = 'EXISTS (SELECT 1 FROM receipts r WHERE r.session_uid = t.session_uid)'
  const evicted = hasReceipts(handle) ? stillGone(handle, find(receipt)) : []
  if (!isCacheIncomplete(handle)) return evicted
  const isHere = handle.cache.prepare(
    'SELECT 1 FROM cached c WHERE c.session_uid = ? AND EXISTS (SELECT 1 FROM events e WHERE e.session = c.id)',
  )
  const rest = find(`s.event_count > 0 AND NOT ${receipt}`).filter((one) => isHere.get(one.uid) === undefined)
  return [...evicted, ...rest]
}

function stillGone(handle: ReadHandle, found: readonly DigestMatch[]): DigestMatch[] {
  const gone = goneOf(
    handle,
    found.map((one) => one.uid),
  )
  return found.filter((one) => gone.has(one.uid))
}

const hasReceipts = ({ memory }: ReadHandle): boolean =>
  memory.prepare('SELECT 1 FROM receipts LIMIT 1').get() !== undefined

/** The cache can be thrown away; what the agents deleted meanwhile does not come back into it. */
function isCacheIncomplete({ memory, cache }: ReadHandle): boolean {
  if (cache.prepare('SELECT 1 FROM pair WHERE is_whole').get() !== undefined) return false
  const count = (database: ReadHandle['memory'], table: string): number =>
    (database.prepare(`SELECT count(*) AS n FROM ${table}`).get() as { n: number }).n
  return count(cache, 'cached') < count(memory, 'sessions')
}

/** The parts of a digest a match can be shown by, best first. */
interface Shown {
  title?: string
  first_prompt?: string
  last_assistant?: string
  error_snippets?: { sample: string; seqs: number[] }[]
  commands?: { command: string; seqs: number[] }[]
  commits?: { subject: string; seqs: number[] }[]
  files?: { path: string; edits: number; seqs: number[] }[]
  evidence?: Record<string, number[]>
}

export interface DigestPlace {
  kind: EventKind
  /** The event it came from, which is gone; null when the digest names none. */
  seq: number | null
  line: MatchingLine
}

/** Where in a digest the words are. A kind that is not asked for is passed over. */
export function placeInDigest(
  handle: ReadHandle,
  uid: string,
  finder: LineFinder,
  kinds: readonly EventKind[] | undefined,
): DigestPlace | undefined {
  const row = handle.memory.prepare('SELECT digest FROM digests WHERE session_uid = ?').get(uid) as
    | { digest: string }
    | undefined
  if (!row) return undefined
  let best: { kind: EventKind; seq: number | null; text: string } | undefined
  let most = 0
  for (const part of partsOf(parseStored<Shown>(row.digest))) {
    if (kinds && !kinds.includes(part.kind)) continue
    const count = finder.count(part.text)
    if (count > most) [best, most] = [part, count]
  }
  if (best === undefined) return undefined
  return { kind: best.kind, seq: best.seq, line: finder.find(best.text) ?? { text: '', marks: [] } }
}

function* partsOf(digest: Shown): Generator<{ kind: EventKind; seq: number | null; text: string }> {
  const first = (seqs: number[] | undefined): number | null => seqs?.[0] ?? null
  const { evidence } = digest
  if (digest.title) yield { kind: 'user_msg', seq: null, text: digest.title }
  if (digest.first_prompt)
    yield { kind: 'user_msg', seq: first(evidence?.['first_prompt']), text: digest.first_prompt }
  if (digest.last_assistant)
    yield { kind: 'assistant_msg', seq: first(evidence?.['last_assistant']), text: digest.last_assistant }
  for (const one of digest.error_snippets ?? [])
    yield { kind: 'error', seq: first(one.seqs), text: one.sample }
  for (const one of digest.commits ?? []) yield { kind: 'tool_call', seq: first(one.seqs), text: one.subject }
  for (const one of digest.commands ?? [])
    yield { kind: 'tool_call', seq: first(one.seqs), text: one.command }
  for (const one of digest.files ?? [])
    yield { kind: one.edits > 0 ? 'edit' : 'tool_call', seq: first(one.seqs), text: one.path }
}
