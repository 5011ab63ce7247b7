// Where in a digest words were found: of sessions whose events are gone, it still says what was asked, answered, run and
// changed.
import { parseStored } from '../errors.ts'
import type { EventKind } from '../model.ts'
import type { Reader } from '../store/reader/index.ts'
import type { Finder, MatchingLine } from './line.ts'

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
  handle: Reader,
  uid: string,
  finder: Finder,
  kinds: readonly EventKind[] | undefined,
): DigestPlace | undefined {
  const stored = handle.digests.of(uid)
  if (stored === undefined) return undefined
  let best: { kind: EventKind; seq: number | null; text: string } | undefined
  let most = 0
  for (const part of partsOf(parseStored<Shown>(stored))) {
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
