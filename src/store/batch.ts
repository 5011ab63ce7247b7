// What the reader hands to the store: one source's items up to a position, redacted, shortened and ready to be written.
import type { Deed, EdgeKind, EndState, EventKind, Mark, Role, SessionFacts, Tokens } from '../model.ts'

/** Where a source stands: who it is, how much of it is understood, and what its adapter needs to go on. */
export interface Cursor {
  path: string
  flavor: string
  adapterVersion: number
  /** Identity of the file: device, inode, time of birth. */
  device: number
  inode: number
  bornAt: number
  size: number
  modifiedAt: number
  /** Hash of the first bytes, and of the bytes just before `offset`: an append leaves both as they are. */
  headHash: string
  headLength: number
  tailHash: string
  offset: number
  /** The adapter's carry-over and the reader's own, as JSON. */
  state: string
  /** Sizes and times of the companions, as one text. */
  companions: string
  /** Raised each time the file had to be read again from the beginning. */
  generation: number
  sessionUid: string | null
  /** When the file was found to be gone; null while it is there. */
  missingAt: number | null
}

/** What tells whether a source changed at all: all that a sweep with nothing to do looks at. */
export type CursorMark = Pick<
  Cursor,
  | 'path'
  | 'flavor'
  | 'adapterVersion'
  | 'device'
  | 'inode'
  | 'bornAt'
  | 'size'
  | 'modifiedAt'
  | 'companions'
  | 'missingAt'
>

/**
 * The hashes of one event, packed: views into a batch's `ids`, which crosses from thread to thread without a copy.
 * The key is global for ids that are unique everywhere, else salted with the session. A parent that is only known by its
 * call stands there as the call's hash with zeros behind it.
 */
export const ID_LAYOUT = { key: [0, 12], parentKey: [12, 24], payload: [24, 40], call: [40, 48] } as const
export const ID_BYTES = 48

export interface PreparedEvent {
  sessionUid: string
  /** `key`: the id's parent; `before`: the event before it in the same source; `root`: none. */
  link: 'key' | 'before' | 'root'
  hasCall: boolean
  ts: number | null
  kind: EventKind
  role: Role
  tool: string | null
  summary: string
  isSidechain: boolean
  isInherited: boolean
  /** Of the prompt before it. */
  isPart: boolean
  /** The body lacks what it had while another file was there. */
  isIncomplete: boolean
  /** Its command has more lines than the summary shows. */
  hasMore: boolean
  agent: string | null
  exitCode: number | null
  durationMs: number | null
  does: Deed | null
  state: EndState | null
  mark: Mark | null
  files: string[]
  /** Place of the payload's bytes in the batch's `payloads`. */
  payloadAt: number
  payloadLength: number
  /** Redactions in it by rule; null for none. */
  findings: Record<string, number> | null
  /** Place of what the full-text index gets in the batch's `texts`, and the heading it goes under. */
  textAt: number
  textLength: number
  heading: 'prompt' | 'answer' | 'work'
}

export interface PreparedUsage extends Tokens {
  sessionUid: string
  responseId: string
  ts: number | null
  model: string | null
  scope: 'response' | 'turn'
  responses: number
  isSidechain: boolean
  isNested: boolean
  /** Counts nowhere if it is there, and is not written if it is not. */
  isRepetition?: boolean
  /** Replaces what is there. */
  isLatest?: boolean
  reportedCost: number | null
  /** Hash of the key of the event that shows them. */
  event: Uint8Array | null
}

/** How much of an allowance was used at a moment. */
export interface PreparedLimit {
  sessionUid: string
  name: string
  at: number
  usedPercent: number | null
  left: string | null
  windowMinutes: number | null
  resetsAt: number | null
  plan: string | null
}

export interface PreparedFacts extends SessionFacts {
  sessionUid: string
  taskRef?: string
  taskRefRank?: number
}

export interface PreparedTitle {
  sessionUid: string
  title: string | null
}

/** Stands for a call, or for another name: hashes as long as an id's `call`. */
export interface PreparedName {
  sessionUid: string
  name: Uint8Array
  target: Uint8Array
  isGuess: boolean
}

export interface PreparedEdge {
  sessionUid: string
  parentUid: string | null
  kind: EdgeKind
  at: number | null
  evidence: string | null
}

export interface PreparedSupersede {
  sessionUid: string
  keys: Uint8Array[]
  /** …or the main-chain events of this source from this one to the place of the item. */
  sinceKey: Uint8Array | null
  /** The keys are told again by other events, and count nowhere. */
  isRepetition: boolean
  toldAs: EventKind | null
  /** How many events of the batch come before it. */
  eventCount: number
}

export interface PreparedGap {
  offset: number
  length: number
  reason: string
  detail: string
  /** The companion that holds the bytes; absent for the source itself. */
  file?: string
  /** The bytes may become a record yet: named until the next read. */
  isPending: boolean
}

export interface Batch {
  /** The cursor after this batch. */
  cursor: Cursor
  /** First batch of a read from the beginning (what was noted of the source before is void), or of one that goes on. */
  start: 'fresh' | 'resumed' | 'later'
  fromOffset: number
  events: PreparedEvent[]
  /** ID_BYTES per event, in the same order. */
  ids: Uint8Array
  payloads: Uint8Array
  /** UTF-8, made ready for the index. */
  texts: Uint8Array
  usage: PreparedUsage[]
  limits: PreparedLimit[]
  facts: PreparedFacts[]
  titles: PreparedTitle[]
  names: PreparedName[]
  edges: PreparedEdge[]
  supersedes: PreparedSupersede[]
  gaps: PreparedGap[]
  unknown: Record<string, number>
  /** Redactions in facts, by session and rule. */
  findings: Record<string, Record<string, number>>
  /** The source's own session was forgotten: of the batch only its cursor is written. */
  isForgotten?: boolean
}

export const payloadOf = ({ payloadAt, payloadLength }: PreparedEvent, batch: Batch): Uint8Array =>
  batch.payloads.subarray(payloadAt, payloadAt + payloadLength)
