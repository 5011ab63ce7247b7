// What the digest reads: one event as a row, with its body behind a function, so that only the few events whose row
// says too little cost a decompression. Also how to find the readable text in a body of any shape.
import { CHANGED_BY_PERSON, type EventKind, type Role } from '../model.ts'

export interface DigestEvent {
  seq: number
  /** Epoch milliseconds. */
  ts: number | null
  kind: EventKind
  role: Role
  tool: string | null
  /** Joins a call with its result. */
  call: string | null
  summary: string
  isSidechain: boolean
  isInherited: boolean
  isSuperseded: boolean
  /** Of the prompt before it: not a turn of its own. */
  isPart: boolean
  agent: string | null
  exitCode: number | null
  durationMs: number | null
  files: readonly string[]
  /** The redacted body, parsed; undefined when it is gone. */
  payload(): unknown
}

const CALL_KINDS: ReadonlySet<EventKind> = new Set(['tool_call', 'test_run', 'edit', 'retry'])

/** A call of a tool: `retry` is also the kind of a repeated request to the model, which has no tool. */
export const isCall = (event: DigestEvent): boolean =>
  event.tool !== null && event.role !== 'tool' && (CALL_KINDS.has(event.kind) || event.kind === 'decision')

export const isResult = (event: DigestEvent): boolean => event.role === 'tool'

/** Of a result: a person said no. */
export const isRefusal = ({ kind, summary }: Pick<DigestEvent, 'kind' | 'summary'>): boolean =>
  kind === 'human_intervention' && !summary.startsWith(CHANGED_BY_PERSON)

/** What the next process writes for a call that was running when the last one ended: nobody knows what became of it. */
const CUT_OFF = /^\[?tool call interrupted: the session ended/i

export const isCutOff = ({ summary }: Pick<DigestEvent, 'summary'>): boolean => CUT_OFF.test(summary)

/** The process was ended, by nobody who spoke to the agent. */
export const isShutDown = ({ kind, summary }: Pick<DigestEvent, 'kind' | 'summary'>): boolean =>
  kind === 'lifecycle' && summary.startsWith('interrupted by the end of the process')

/** The client's own word that a turn is over. What was inferred from an answer says no more than the answer. */
export const isTurnEnd = ({ kind, summary }: Pick<DigestEvent, 'kind' | 'summary'>): boolean =>
  (kind === 'completion' && /^turn\b/i.test(summary)) ||
  (kind === 'lifecycle' && /^turn took \d/.test(summary))

/** How clients answer a call whose command goes on in the background. */
const GOES_ON = /^(?:command|process|task|shell)\b.{0,120}\b(?:background(?:ed)?|session id)\b/i

export const goesOn = ({ exitCode, summary }: Pick<DigestEvent, 'exitCode' | 'summary'>): boolean =>
  exitCode === null && GOES_ON.test(summary)

/** How adapters tell that somebody stopped the agent. What people type into a running turn may hold the same words further on. */
const STOP =
  /^(?:\[request |turn (?:ended: )?|run |permission for .*: )?(?:interrupted|aborted|cancell?ed|rejected)\b/i

export const isStop = (event: Pick<DigestEvent, 'kind' | 'summary'>): boolean =>
  event.kind === 'human_intervention' && STOP.test(event.summary)

const SHELL = /shell|bash|terminal|command|powershell|(?:^|[._])(?:exec|cmd|run)(?:$|[._])/i

/** Tools of different programs that do the same thing count as one where failures are compared. */
export const toolClass = (tool: string | null): string =>
  tool === null ? '' : SHELL.test(tool) ? 'shell' : tool.toLowerCase()

export const isShell = (tool: string | null): boolean => toolClass(tool) === 'shell'

/** What a call was about: its summary without the tool's name. */
export function subjectOf(event: Pick<DigestEvent, 'tool' | 'summary'>): string {
  const { tool, summary } = event
  if (tool === null || !summary.startsWith(tool)) return summary
  return summary.slice(tool.length).replace(/^:?\s*/, '') || summary
}

/** Where the record of a call keeps what the tool was asked. */
export const ARGUMENTS = ['input', 'arguments', 'rawInput', 'args'] as const
/** Where a body keeps what a person reads, in order of preference. */
const TEXT_FIELDS = [
  'content',
  'text',
  'output',
  'output_text',
  'message',
  'error',
  'stderr',
  'stdout',
  'result',
]
const MAX_DEPTH = 6

/** The readable text of a body; empty when there is none. Parts of a list are joined. */
export function textOf(value: unknown, depth = MAX_DEPTH): string {
  if (typeof value === 'string') return value
  if (depth === 0 || typeof value !== 'object' || value === null) return ''
  if (Array.isArray(value)) {
    return value
      .map((part) => textOf(part, depth - 1))
      .filter((text) => text !== '')
      .join('\n')
  }
  for (const field of TEXT_FIELDS) {
    const text = Object.hasOwn(value, field)
      ? textOf((value as Record<string, unknown>)[field], depth - 1)
      : ''
    if (text !== '') return text
  }
  for (const inner of Object.values(value)) {
    const text = typeof inner === 'object' ? textOf(inner, depth - 1) : ''
    if (text !== '') return text
  }
  return ''
}

/** The whole text behind an event whose row has only its beginning. */
export function fullText(event: DigestEvent): string {
  return textOf(event.payload()) || event.summary
}

/** On one line, in at most `limit` characters. */
export function snippet(text: string, limit: number): string {
  const line = text
    .slice(0, limit * 4)
    .replace(/\s+/gu, ' ')
    .trim()
  return (line.length > limit ? `${line.slice(0, limit - 1)}…` : line).toWellFormed()
}
