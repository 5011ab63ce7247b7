// A session as a person reads it, for the formats that are read: each call with its result, sub-agents where they were
// started, and records of the program itself together, so that they do not bury what was said.
import { grouped } from '../figures.ts'
import { CALL_WORDS, isInstruction, OUTCOME_WORDS, type SessionEvent } from '../model.ts'
import type { Entry } from '../query/transcript.ts'
import type { ExportSource } from './source.ts'

export type Chapter =
  | Extract<Entry, { type: 'event' }>
  /** Everything up to the matching `end` is the sub-agent's. */
  | { type: 'agent'; name: string; sessionUid: string; eventCount: number }
  | { type: 'end' }
  /** Several in a row. */
  | { type: 'notes'; events: SessionEvent[] }

/** More than this are told in several pieces: memory does not grow with a session. */
const MAX_NOTES = 200

const isNote = (event: SessionEvent): boolean =>
  event.kind === 'lifecycle' || event.kind === 'completion' || isInstruction(event)

export function* storyOf(source: ExportSource): Generator<Chapter> {
  let open = 0
  let notes: SessionEvent[] = []
  function* close(depth: number): Generator<Chapter> {
    if (notes.length > 0) yield { type: 'notes', events: notes }
    notes = []
    for (; open > depth; open--) yield { type: 'end' }
  }
  for (const entry of source.entries()) {
    if (entry.type === 'agent') {
      yield* close(entry.depth - 1)
      const { name, sessionUid, eventCount } = entry
      yield { type: 'agent', name, sessionUid, eventCount }
      open = entry.depth
      continue
    }
    if (entry.depth < open || !isNote(entry.event) || notes.length === MAX_NOTES)
      yield* close(Math.min(open, entry.depth))
    if (isNote(entry.event)) notes.push(entry.event)
    else yield entry
  }
  yield* close(0)
}

/** What a session was about, on one line. */
export function titleOf(source: ExportSource): string {
  const { title, session_uid } = source.session
  const text = (title || source.digest?.first_prompt || session_uid).replace(/\s+/gu, ' ').trim()
  return text.length > 120 ? `${text.slice(0, 119).trimEnd()}…` : text
}

/** What is known of a session, for its head. */
export function factLines({ session, agentVersion }: ExportSource): [name: string, value: string][] {
  const { cost } = session
  const redacted = Object.entries(session.redactions).map(([rule, times]) => `${rule} ×${times}`)
  const facts: [string, string | null][] = [
    ['Session', session.session_uid],
    ['Agent', [session.flavor, agentVersion].filter(Boolean).join(' ')],
    ['Model', session.model],
    ['Repository', session.repo],
    ['Branch', session.git_branch],
    ['Directory', session.cwd],
    ['Started', timeText(session.started_at)],
    ['Ended', timeText(session.ended_at)],
    ['Outcome', session.outcome === 'unknown' ? null : OUTCOME_WORDS[session.outcome]],
    [
      'Tokens',
      `${grouped(cost.input_tokens)} in, ${grouped(cost.output_tokens)} out, ${grouped(cost.cache_tokens)} cache`,
    ],
    ['Turns', grouped(cost.turns)],
    ['Redacted', redacted.join(', ')],
  ]
  return facts.filter((fact): fact is [string, string] => fact[1] !== null && fact[1] !== '')
}

/** Whoever reads it may be elsewhere. */
const timeText = (iso: string | null): string | null =>
  iso === null ? null : `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`

/** What came of a call, in a few words. */
export function outcomeOf(event: SessionEvent, result: SessionEvent | null): string {
  const parts: string[] = []
  if (event.kind === 'retry') parts.push('again')
  if (!result) parts.push(CALL_WORDS.open)
  else if (result.exit_code !== null) parts.push(`exit ${result.exit_code}`)
  else if (result.kind === 'error') parts.push(CALL_WORDS.failed)
  const took = result?.duration_ms
  if (took !== undefined && took !== null)
    parts.push(took < 1000 ? `${took} ms` : `${(took / 1000).toFixed(1)} s`)
  return parts.join(', ')
}

/** What sets an event apart from the rest. */
export function marksOf(event: SessionEvent): string {
  const marks = [event.is_inherited ? 'inherited' : '', event.is_superseded ? 'taken back' : ''].filter(
    Boolean,
  )
  return marks.length === 0 ? '' : ` (${marks.join(', ')})`
}
