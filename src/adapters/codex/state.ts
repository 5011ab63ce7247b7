// What the reader carries from line to line, and the spot a line stands at: its key, its time, whether it was copied.
// The state is plain, bounded JSON, because it lives in the cursor between two sweeps.
import type { EventItem, SweepMemo } from '../adapter.ts'
import { type CallBook, newCallBook } from '../kit/calls.ts'
import { shortHash } from '../kit/text.ts'
import type { Closing } from './ending.ts'
import type { FlatTimes } from './flat-times.ts'
import { newResponse, type ResponseState } from './response.ts'
import type { Totals } from './usage.ts'

/** Facts of a tool's end that arrive apart from its output: [call id, exit code, duration, failed]. */
type EndFacts = [string, number | null, number | null, boolean]

export interface State {
  session: string | null
  /** Only in files whose lines have no times. */
  flat: FlatTimes | null
  /** Records read so far. */
  count: number
  /** The greatest ordinal so far. */
  lastOrdinal: number
  /** Copied parent lines: being read, over, or none. */
  copy: 'none' | 'reading' | 'over'
  /** Ordinal where the copied lines end, where the file says so. */
  copyEnd: number | null
  /** Time of the latest copied line. */
  copyAt: number | null
  /** The threads the copied lines come from, youngest first. */
  ancestors: string[]
  /** The turn the latest line named. */
  turn: string | null
  isSubagent: boolean
  /** Begun by `codex exec`; see resumed.ts. */
  isExec: boolean
  /** The thread's own prompts so far. */
  promptCount: number
  isResumed: boolean
  hasCwd: boolean
  model: string | null
  /** Of what serves it, where it is not the usual one. */
  tier: string | null
  toldModel: string | null
  /** Hash of the latest turn context: some versions repeat it before each request. */
  toldContext: string | null
  /** Keys of the prompts, for rollbacks. */
  turns: string[]
  /** Texts seen in one vocabulary and not yet in the other. */
  twins: string[]
  book: CallBook
  /** [call id, tool, whether it told the end] of calls whose output has been read. */
  answered: [string, string, boolean][]
  /** [session, call id] of commands that go on in the background; see background.ts. */
  running: [string, string][]
  /** [call id, id of the call that began the command]. */
  polls: [string, string][]
  ends: EndFacts[]
  /** Prompts in the turn that runs; null while none does, or no line says so (before 0.100). */
  turnPrompts: number | null
  /** Commands of a person told as items, whose message is still to come. */
  shellItems: number
  /** The next agent message starts a turn. */
  triggersTurn: boolean
  totals: Totals | null
  /** How often the running totals began anew. */
  resets: number
  /** The latest response has a usage record: the count that follows says nothing new. */
  isRecorded: boolean
  /** What came before stands in another file, and none of it in this one. */
  isContinued: boolean
  /** The model has said something of its own. */
  hasOutput: boolean
  /** See response.ts. */
  response: ResponseState
  /** [limit, what was last told of it]. */
  limits: [string, string][]
  /** The client tells itself when turns end. */
  hasTurnEnds: boolean
  /** Commands and edits are told as items too, also those of scripts (0.147+). */
  hasItems: boolean
  /** See ending.ts. */
  closing: Closing | null
  /** A person stopped the turn, and that was told. */
  isStopped: boolean
}

export const newState = (): State => ({
  session: null,
  flat: null,
  count: 0,
  lastOrdinal: -1,
  copy: 'none',
  copyEnd: null,
  copyAt: null,
  ancestors: [],
  turn: null,
  isSubagent: false,
  isExec: false,
  promptCount: 0,
  isResumed: false,
  hasCwd: false,
  model: null,
  tier: null,
  toldModel: null,
  toldContext: null,
  turns: [],
  twins: [],
  book: newCallBook(),
  answered: [],
  running: [],
  polls: [],
  ends: [],
  turnPrompts: null,
  shellItems: 0,
  triggersTurn: false,
  totals: null,
  resets: 0,
  isRecorded: false,
  isContinued: false,
  hasOutput: false,
  response: newResponse(),
  limits: [],
  hasTurnEnds: false,
  hasItems: false,
  closing: null,
  isStopped: false,
})

/** One record of a rollout, ready to become items. */
export interface Spot {
  state: State
  session: string
  type: string
  payload: Record<string, unknown>
  /** `metadata` beside the payload (0.150+). */
  metadata: Record<string, unknown>
  /** Undefined where the line has none, or one that was used before. */
  ordinal: number | undefined
  /** Qualifies keys of a file whose ordinals overlap with those of another file of the thread. */
  segment: string | undefined
  ts: number | null
  inherited: boolean
  path: string
  memo: SweepMemo
  /** The thread was reverted and has a newer file, which knows better what holds of it now. */
  goesOnElsewhere: boolean
  /** Tells apart several events of one line. */
  part?: string
}

/** Milliseconds since 1970 in a version 7 uuid. */
export function birthOf(id: string | null | undefined): number | undefined {
  return id && /^[0-9a-f]{8}-[0-9a-f]{4}-7/i.test(id)
    ? Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
    : undefined
}

type Told = Omit<EventItem, 'type' | 'session' | 'key' | 'ts' | 'originKey'> & {
  /** What stays equal when the line is copied: the native id, else a hash of the content. */
  origin: string
  ts?: number | null
}

/** The event of a line. Lines without an ordinal are named by their number and content, which survive a move to the archive and compression. */
export function eventAt(spot: Spot, told: Told): EventItem {
  const { origin, ts, ...rest } = told
  const { part } = spot
  const line =
    spot.ordinal !== undefined
      ? `o${spot.ordinal}${spot.segment ? `@${spot.segment}` : ''}`
      : `l${spot.state.count}-${shortHash(origin).slice(0, 8)}`
  const event: EventItem = {
    type: 'event',
    session: spot.session,
    key: part ? `${line}/${part}` : line,
    ts: ts === undefined ? spot.ts : ts,
    ...rest,
    originKey: part ? `${origin}/${part}` : origin,
  }
  if (spot.inherited) event.inherited = true
  else if (rest.role === 'assistant') {
    spot.state.hasOutput = true
    spot.state.isStopped = false
  }
  return event
}

const LONGEST_SUMMARY = 2000

/** The first line that says something. A line without end is cut between two words, never inside one. */
export function firstLine(text: string): string {
  let start = 0
  while (start < text.length && text.charCodeAt(start) <= 32) start++
  const newline = text.indexOf('\n', start)
  const line = text.slice(start, newline === -1 ? undefined : newline).trimEnd()
  if (line.length <= LONGEST_SUMMARY) return line
  const cut = line.lastIndexOf(' ', LONGEST_SUMMARY)
  return cut > 0 ? `${line.slice(0, cut)} …` : `(a line of ${line.length} characters)`
}
