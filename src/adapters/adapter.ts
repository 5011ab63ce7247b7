// The contract between one agent's files and the rest of the system. An adapter turns bytes of a source into items;
// it decides nothing about storage. Everything it yields is raw: secrets are removed, and texts shortened, behind it.
import type { Made } from '../event/body.ts'
import type { Edit } from '../event/edits.ts'
import type { Deed, EdgeKind, EndState, EventKind, Mark, Role, SessionFacts, Tokens } from '../model.ts'

/** A file an adapter claims. Other files whose change matters (sidecars) are companions. */
export interface Source {
  /** The file that is read; its identity and the cursor belong to it. */
  path: string
  companions?: string[]
  /** It speaks of many sessions and belongs to none: what becomes of one of them is not what becomes of it. */
  isShared?: boolean
  /** Its bytes are not in the order in which they were written: the adapter's position tells what is new, not theirs. */
  isDatabase?: boolean
  /** Of a database that is not the agent's own on this machine: where that is. Ids that only count sessions do not tell theirs apart. */
  ownRoots?: readonly string[]
  /** The file that is a source in its place until it is there. `read` is told only where one of them was read before. */
  standIn?: string
}

/** Where reading stopped. Opaque to everybody but the adapter; must survive JSON. Keep `state` small. */
export interface Position {
  /** Bytes of the source (as stored on disk, except for compressed files) fully turned into items. */
  offset: number
  state: unknown
}

/** One native block becomes one event. An event that comes again with the same key replaces the first; its place stays. */
export interface EventItem {
  type: 'event'
  /** Native id of the session the event belongs to. */
  session: string
  /** Identifies the event within the session, the same on every read: never an offset if the format has something better. */
  key: string
  /** Key of the parent in the native DAG; null for a root; undefined where the format has no links (then: the event before it in the same source). */
  parentKey?: string | null
  /** With a null `parentKey`: the call it hangs on, or an alias of it, where the record of that call may be still to come. */
  parentCall?: string
  /** Epoch milliseconds; null where the record has no time of its own. */
  ts: number | null
  kind: EventKind
  role: Role
  /** The tool's native name, on calls and on results. */
  tool?: string
  /** Joins a call with its result. */
  callId?: string
  /** What a person reads in a list. Any length: it is redacted, put on one line and cut later. */
  summary: string
  /**
   * What is read and searched: the words of a message, the output of a result; without what the client put around them. The same
   * string as in `payload` where possible. Left out for noise, and on calls, whose `act` is searched.
   */
  said?: string
  /** On calls: what is done. */
  act?: Act
  /** On results: how the call ended. */
  state?: EndState
  mark?: Mark
  /** On results: the whole file as it was before an edit; commits and pull requests that the client saw made. */
  original?: string
  made?: Made
  /** The full native body: every field of the record that says something, without per-copy fields (session id, uuid links, cwd …), so that a copy in a fork has equal bytes. */
  payload: unknown
  isSidechain?: boolean
  /** Sub-agent that acted, for sidechains inside a session. */
  agent?: string
  /** Result facts, where the format has them. */
  exitCode?: number
  durationMs?: number
  /** Files a call reads or changes, for `--touched`. */
  files?: string[]
  /** Id that stays equal when a fork copies the event (if not the key itself). */
  originKey?: string
  /** True when the format itself marks the event as copied from another session. */
  inherited?: boolean
  /** Goes on with the prompt that the event before it began: not a turn of its own. */
  isPart?: boolean
  /** A file that the body should hold is gone: one that was read while it was there stays. */
  isIncomplete?: boolean
}

export interface Act {
  does: Deed
  /** What the call was given: the object in `payload`, or the text there where the format keeps JSON in a string. */
  input?: unknown
  /** The whole command line, of a call that runs one: what a person would type, without the shell that wraps it. */
  command?: string
  cwd?: string
  /** Changes of files, where the format tells them. */
  edits?: readonly Edit[]
}

/** Tokens of one model response (or of one prompt where the agent tells no more). */
export interface UsageItem extends Tokens {
  type: 'usage'
  session: string
  /** The provider's response id, or the finest id there is; equal in every copy. */
  id: string
  /** Key of the event that shows the tokens: the first one of the response, or the one that ends the turn. Where told twice, the earlier event holds. */
  event?: string
  ts: number | null
  model: string | null
  /** `turn` where one record covers several responses. */
  scope: 'response' | 'turn'
  /** How many responses it stands for, where that is not one: a rest of a sum, or a cost, stands for none. */
  responses?: number
  isSidechain?: boolean
  /** True when these tokens are already contained in another session's records: kept, never summed. */
  nested?: boolean
  /** Told again under another id: a record of this one that is there counts nowhere from now on, and none comes of it. */
  isRepetition?: boolean
  /** Told anew by every read of its source: what is told last holds. Otherwise the greatest output does. */
  isLatest?: boolean
  /** Cost the agent itself reported, in millionths of a US cent (1e-8 USD): an integer. */
  reportedCost?: number
}

/** How much of an allowance was used when somebody looked. Yield it only when it changed: it is kept for good. */
export interface LimitItem {
  type: 'limit'
  session: string
  /** What the provider calls it; the same in every session that draws on it. */
  name: string
  at: number | null
  /** Null where nothing is counted but what is left. */
  usedPercent: number | null
  /** What is left of it, in the provider's own words. */
  left?: string
  /** Length of the window in which it is counted, and when that ends. */
  windowMinutes?: number
  resetsAt?: number
  plan?: string
}

/** What is known of the session as a whole. Later items win field by field; undefined says nothing. */
export interface SessionItem extends SessionFacts {
  type: 'session'
  session: string
}

/** The name a person gave to a session, told by a file that is not the session's own; null: taken back. No news where the session is not known. */
export interface TitleItem {
  type: 'title'
  session: string
  title: string | null
}

/** A name that stands for a call, or for another name: what a `parentCall` may say where only another source knows the call. */
export interface AliasItem {
  type: 'alias'
  session: string
  name: string
  of: string
  /** Holds only until something else is told of the name. */
  isGuess?: boolean
}

export interface EdgeItem {
  type: 'edge'
  kind: EdgeKind
  /** Native ids; `parent` null for births without one. */
  session: string
  parent: string | null
  at: number | null
  /** Call id or event key in the parent that shows it. */
  evidence?: string
}

/** Events that the conversation later took back (rewind, rollback, retraction). They are kept, and marked. */
export interface SupersedeItem {
  type: 'supersede'
  session: string
  /** Exactly these… */
  keys?: string[]
  /** …or all events of this source from this key (inclusive) to here. */
  sinceKey?: string
  /** The keys were not taken back but told again, better, by other events: they count nowhere. */
  isRepetition?: boolean
  /** What the keys were told as: of an event that is gone by now, nothing else tells what it counted as. */
  toldAs?: EventKind
}

/** Bytes that could not be understood. */
export interface GapItem {
  type: 'gap'
  reason: string
  detail: string
  offset: number
  length: number
  /** Name of the companion that holds the bytes, where it is not the source itself. */
  file?: string
  /** The bytes may still become a record (an unfinished last line): the position stays before them. */
  pending?: boolean
}

/** A record type nobody has described: kept as a lifecycle event and counted by name. */
export interface UnknownItem {
  type: 'unknown'
  name: string
}

/** Everything before this is complete (`state` may change in place afterwards, so it is serialised at once): the engine may commit here and resume from here. Yield often (each line, or each few). */
export interface PositionItem {
  type: 'position'
  position: Position
}

export type Item =
  | EventItem
  | UsageItem
  | LimitItem
  | SessionItem
  | TitleItem
  | AliasItem
  | EdgeItem
  | SupersedeItem
  | GapItem
  | UnknownItem
  | PositionItem

export type Environment = Record<string, string | undefined>

/** What one sweep knows of files beside a source, so that many sources can ask about one file. Begins empty with every sweep. */
export interface SweepMemo {
  /** What was made under this name before, or else made now. */
  get<T>(name: string, make: () => T): T
}

/** Items from a position on (null: the beginning) to the present end. Reading in any number of steps yields the same items as reading at once. */
export type Read = (source: Source, from: Position | null, memo?: SweepMemo) => Iterable<Item>

/** An agent's files, without how they are read. */
export interface Located {
  readonly flavor: string
  /** Raised when the same bytes give other items: sources of this flavor are then read again. */
  readonly version: number
  /** Directories to look in, and single files beside them, whether or not they exist. */
  roots(env: Environment): string[]
  /**
   * The source a file is (or belongs to), or null. Looks at the path, never opens credential files. Below a root, which
   * somebody may have copied to anywhere, the name of the file is enough; elsewhere the folders have to be the agent's own.
   */
  claim(path: string, isBelowRoot?: boolean): Source | null
  /** The directory whose working tree the agent put at `cwd`, where the path itself says so: trees are removed, sessions stay. */
  treeOwner?(cwd: string): string | undefined
}

export interface Adapter extends Located {
  read: Read
}

/** One whose reader is loaded when there is something to read. */
export interface LazyAdapter extends Located {
  load(): Promise<{ read: Read }>
}

export type AnyAdapter = Adapter | LazyAdapter
