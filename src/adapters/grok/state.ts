// What reading carries from one record to the next. It lives in the cursor, so every list here has a bound.
import { type CallBook, newCallBook } from '../kit/calls.ts'
import type { CallEnd } from './tools.ts'

/** A call that waits for its result: id, key of its event, whether its input is known. */
export type OpenCall = [id: string, key: string, hasInput: boolean]

/** A result that does not tell by itself whether the tool failed, and where its line is. */
export interface DoubtfulResult {
  id: string
  key: string
  offset: number
  length: number
  tool: string
  durationMs: number | null
}

/** Small rows of events.jsonl counted together: key, time of the first, [what, how often]. */
export interface Activity {
  key: string
  ts: number | null
  counts: [string, number][]
}

/** Where a session comes from, as its summary tells. */
export interface Origin {
  parent: string | null
  /** Records older than this were copied from the parent. */
  forkedAt: number | null
  /** Items at the beginning of chat_history.jsonl that were copied. */
  inheritedCount: number
  isSubagent: boolean
  isFork: boolean
}

export interface State {
  origin: Origin | null
  /** Records of the spine read so far; names those without an id. */
  ordinal: number
  book: CallBook
  openCalls: OpenCall[]
  /** Calls that have their result: what follows for them is repetition. */
  closedCalls: string[]
  doubtful: DoubtfulResult[]
  /** Calls of which events.jsonl says how they ended and whose result is still to come. */
  endedCalls: [string, CallEnd][]
  /** Index and first key of each prompt that is still in force. */
  prompts: [number, string][]
  /** True once a prompt carried its index: from then on unmarked text was typed into a running turn. */
  indexed: boolean
  /** True once the session itself told of a prompt. */
  hasPrompt: boolean
  /** See standin.ts. */
  standIn: StandIn
  /** [task, id of the call that began it] of commands that go on in the background. */
  tasks: [string, string][]
  model: string | null
  /** The model that the session was last said to have. */
  toldModel: string | null
  /** Key of what the model said last in the running turn. */
  answer: string | null
  /** Message of the last failure, so that the end of the turn does not report it a second time. */
  lastError: string
  /** Sub-agents whose notes were told of. */
  children: string[]
  /** Key, time and body of turn_ended rows that wait to see whether the session has turn_completed. */
  turnEnds: [string, number | null, unknown][]
  hasTurnCompleted: boolean
  /** See interjections.ts. */
  interjections: Interjections
  /** Keys of prompts taken from prompt_history.jsonl because the session itself had none. */
  borrowed: string[]
  eventsOffset: number
  eventsOrdinal: number
  activity: Activity | null
  chat: ChatState
  resume: ResumeState
}

export interface Interjections {
  /** Key, time and body of rows whose text has not come yet, oldest first. */
  rows: [string, number | null, unknown][]
  /** Texts whose row has not come yet. */
  textCount: number
}

export interface StandIn {
  /** What only the chat holds has been told, or there is nothing of it. */
  isOver: boolean
  /** Something that the updates will tell may have been told by the chat. */
  hasTold: boolean
}

/** See resumed.ts. */
export interface ResumeState {
  /** Of the latest event. */
  number: number
  /** The latest update ended a turn. */
  follows: boolean
  hasTurn: boolean
  hasTasks: boolean
  isTold: boolean
}

export interface ChatState {
  /** Key of the present prompt. */
  prompt: string
  /** Hashes of the prompts so far, with how often. */
  prompts: [string, number][]
  /** Hashes of texts seen since the last prompt, with how often. */
  seen: [string, number][]
  /** Time of the last prompt found in prompt_history.jsonl. */
  lastAt: number
}

export const newState = (): State => ({
  origin: null,
  ordinal: 0,
  book: newCallBook(),
  openCalls: [],
  closedCalls: [],
  doubtful: [],
  endedCalls: [],
  prompts: [],
  indexed: false,
  hasPrompt: false,
  standIn: { isOver: false, hasTold: false },
  tasks: [],
  model: null,
  toldModel: null,
  answer: null,
  lastError: '',
  children: [],
  turnEnds: [],
  hasTurnCompleted: false,
  interjections: { rows: [], textCount: 0 },
  borrowed: [],
  eventsOffset: 0,
  eventsOrdinal: 0,
  activity: null,
  chat: { prompt: '', prompts: [], seen: [], lastAt: 0 },
  resume: { number: 0, follows: false, hasTurn: false, hasTasks: false, isTold: false },
})
