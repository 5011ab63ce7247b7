// The nouns of the read side: what an adapter yields, what the store keeps, what other programs read.
// Session and SessionEvent are a public contract (field names of the coding-session-memory design, §4).

export const SCHEMA_VERSION = 1

export const EVENT_KINDS = [
  'user_msg',
  'assistant_msg',
  'thinking',
  'tool_call',
  'tool_result',
  'error',
  'test_run',
  'edit',
  'retry',
  'human_intervention',
  'decision',
  'lifecycle',
  'completion',
] as const
export type EventKind = (typeof EVENT_KINDS)[number]

/** What a call sets out to do, whatever its tool is called. */
export const DEEDS = ['shell', 'edit', 'read', 'search', 'fetch', 'spawn', 'ask', 'plan', 'other'] as const
export type Deed = (typeof DEEDS)[number]

/**
 * How a call ended. `refused`: a person, or a rule in a person's name, said no; `stopped`: somebody ended it while it ran; `cut`:
 * the program ended first, and nobody knows; `background`: it goes on, and its end comes as a result of its own.
 */
export const END_STATES = ['ok', 'failed', 'refused', 'stopped', 'cut', 'background'] as const
export type EndState = (typeof END_STATES)[number]

/**
 * What an event means to the course of a session beyond its kind. `interrupt`: a person stopped the agent; `shutdown`: its process
 * was ended; `compaction`: the conversation was replaced by an account of it; `denied`: a permission was not given;
 * `changed-by-person`: a person changed what a call proposed, and let it be done; `turn-end`: the client's own word that a turn is
 * over, not one that was inferred from an answer; `hook`: it tells of a hook, beside the conversation; `made`: the client saw a
 * commit or a pull request come of it, and the body names them.
 */
export const MARKS = [
  'interrupt',
  'shutdown',
  'compaction',
  'denied',
  'changed-by-person',
  'turn-end',
  'hook',
  'made',
] as const
export type Mark = (typeof MARKS)[number]

/** In milliseconds: what times are told in. Days of a calendar are not always as long (`query/timezone.ts`). */
export const DAY = 86_400_000

/** As readers see times. */
export const isoTime = (at: number | null | undefined): string | null =>
  at === null || at === undefined ? null : new Date(at).toISOString()

/** Tokens in disjoint counters, as the ledger keeps them; `reasoning` is a part of `output`. */
export interface Tokens {
  /** Without cache reads and writes. */
  input: number
  cacheRead: number
  cacheWrite5m: number
  cacheWrite1h: number
  output: number
  reasoning: number
}

/** What a source tells of the session as a whole. */
export interface SessionFacts {
  cwd?: string
  gitBranch?: string
  /** Remote address of the repository, where the agent wrote it down. */
  gitRemote?: string
  model?: string
  title?: string
  /** A title given by a person beats one made up by a model, whatever their order. */
  titleByPerson?: boolean
  agentVersion?: string
  startedAt?: number
  /** All that is told of when it was, start and end: replaces what was told before. */
  onlyAt?: number
  /** Told by a file that is not the session's own, or not the one that holds now: fills what nobody has told, and changes nothing. */
  isGuess?: boolean
  /** It runs without a terminal of its own. */
  isBackground?: boolean
  /** How it ended, as the program that ran it says itself: holds whatever its events look like. */
  outcome?: Outcome
  /** `subagent` sessions are left out of plain lists. */
  relation?: 'main' | 'subagent' | 'fork'
}

const CALL_KINDS: ReadonlySet<EventKind> = new Set(['tool_call', 'edit', 'test_run', 'retry'])

export const isCallKind = (kind: EventKind): boolean => CALL_KINDS.has(kind)

/** A call of a tool: `retry` is also the kind of a repeated request to the model, which has no tool. */
export const isCall = ({ kind, role, tool }: { kind: EventKind; role: Role; tool: string | null }): boolean =>
  tool !== null && role !== 'tool' && CALL_KINDS.has(kind)

/** Tried again after it failed, an edit is told as a retry. */
export const isEdit = ({ kind, does }: { kind: EventKind; does: Deed | null }): boolean =>
  kind === 'edit' || does === 'edit'

/** What a program told the model in its own name: said like a prompt, and never a turn. */
export const isInstruction = ({ kind, role }: { kind: EventKind; role: Role }): boolean =>
  kind === 'user_msg' && role === 'system'

export type Role = 'user' | 'assistant' | 'system' | 'tool'
export const OUTCOMES = ['success', 'fail', 'abandoned', 'unknown'] as const
export type Outcome = (typeof OUTCOMES)[number]

/** The word people read for an outcome, wherever they read it. Documents hold the values. */
export const OUTCOME_WORDS: Record<Outcome, string> = {
  success: 'success',
  fail: 'failed',
  abandoned: 'abandoned',
  unknown: 'unknown',
}

/** How sure a verdict is, in words. */
export const sureness = (confidence: number): string =>
  confidence >= 0.95 ? 'certain' : confidence >= 0.75 ? 'likely' : confidence >= 0.6 ? 'a guess' : 'open'

/** A session counts as running while its last event is not older. */
export const LIVE_MS = 10 * 60_000

/** Whether it may still go on: it did not come to an end, and was heard of just now. Times as in a session, or epoch milliseconds. */
export function isRunning(
  { outcome, ended_at }: { outcome: Outcome; ended_at: string | number | null },
  now: number,
): boolean {
  const at = typeof ended_at === 'string' ? Date.parse(ended_at) : ended_at
  return (outcome === 'abandoned' || outcome === 'unknown') && at !== null && now - at < LIVE_MS
}

/** Where a title is from: a person named it so, its agent did, or what it was made of. */
export const TITLE_SOURCES = [
  'person',
  'agent',
  'prompt',
  'plan',
  'commit',
  'pull_request',
  'branch',
  'none',
] as const
export type TitleSource = (typeof TITLE_SOURCES)[number]

/** The words for what came of one call. */
export const CALL_WORDS = { ok: 'ok', failed: 'failed', open: 'no result' } as const

export const EDGE_KINDS = [
  'created',
  'compacted',
  'swapped',
  'cleared',
  'interactive_fork',
  'bg_fork',
  'resumed',
  'subagent',
  'handoff',
] as const
export type EdgeKind = (typeof EDGE_KINDS)[number]

/** What somebody decided, written down beside the session: an event that no transcript holds. */
export interface Decision {
  /** Made where it was written; sorts by time. */
  id: string
  session_uid: string
  /** Of its own range, so that it never shifts the numbers of the transcript's events. */
  seq: number
  ts: string
  text: string
  tags: string[]
  author: string
}

/** Decisions are numbered from here on. */
export const FIRST_DECISION_SEQ = 1_000_000_001

/** What somebody wrote beside a session, for whoever looks at it again. */
export interface Note {
  /** Of the session's notes. */
  number: number
  ts: string
  text: string
  author: string
}

/** Tags are told apart in any case, and typed behind flags: small letters, as one writes them with # or without. */
export const spelledTag = (tag: string): string => tag.trim().replace(/^#/, '').toLowerCase().normalize('NFC')

/** One conversation, as readers see it. Times are ISO 8601 UTC. */
export interface Session {
  session_uid: string
  flavor: string
  native_session_id: string
  repo: string | null
  domain: string | null
  cwd: string | null
  git_branch: string | null
  model: string | null
  title: string | null
  /** Who named it so, or what the name was made of; null where it has none. */
  title_source: TitleSource | null
  /** Whether it is a conversation beside the work (a title made, a warm-up, nothing asked): left out of plain lists. */
  is_helper: boolean
  started_at: string | null
  ended_at: string | null
  outcome: Outcome
  error_count: number
  cost: SessionCost
  task_ref: string | null
  source_path: string | null
  source_bytes: number
  schema_version: number
  ingested_at: string | null
  analyzed_at: string | null
  evicted_at: string | null
  /** True when the agent's own file is gone: what is remembered here is all there is. */
  is_sole_copy: boolean
  /** Secrets removed, by rule. */
  redactions: Record<string, number>
  /** Oldest first. */
  decisions: Decision[]
  /** When somebody marked it; null where nobody has. */
  starred_at: string | null
  /** What somebody filed it under, by the alphabet. */
  tags: string[]
  /** Oldest first. */
  notes: Note[]
  /** Name of the machine it was on; like the next two null until the first sweep that knows of them. */
  host: string | null
  /** By which that machine is known whatever it is called. */
  host_id: string | null
  /** Whose session it is: a pseudonym, unless `identity.user` says otherwise. */
  user: string | null
}

export interface SessionCost {
  input_tokens: number
  output_tokens: number
  cache_tokens: number
  wall_clock_s: number
  turns: number
  retries: number
  /** Dollars as an exact decimal, where prices were asked for; null when none is known. */
  usd?: string | null
}

/** One normalized step of a session, as readers see it. */
export interface SessionEvent {
  session_uid: string
  seq: number
  parent_seq: number | null
  ts: string | null
  kind: EventKind
  role: Role
  tool: string | null
  summary: string
  payload_ref: string | null
  tokens: number
  is_sidechain: boolean
  /** Copied from another session (a fork's prefix): counted there. */
  is_inherited: boolean
  /** Taken back later by a rewind, rollback or retraction. */
  is_superseded: boolean
  agent: string | null
  exit_code: number | null
  duration_ms: number | null
  /** Of a call: what it sets out to do. */
  does: Deed | null
  /** Of a result: how its call ended. */
  state: EndState | null
  mark: Mark | null
}

export const sessionUid = (flavor: string, nativeId: string): string => `${flavor}:${nativeId}`
