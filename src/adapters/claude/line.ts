// What one line of a transcript is to the rest of the adapter: its place in the DAG, its keys, and the carry-over that
// makes reading in steps equal to reading at once. Owns the names of events; not what they mean.
import type { EventItem, Item } from '../adapter.ts'
import { remember } from '../kit/bounded.ts'
import { type CallBook, newCallBook } from '../kit/calls.ts'
import { isRecord, str, time } from '../kit/guards.ts'
import { printed, shortHash, wordList } from '../kit/text.ts'
import type { Draft } from '../kit/tools.ts'
import type { Closing } from './closing.ts'
import type { Place } from './paths.ts'
import type { Queued } from './queue.ts'
import type { Task } from './tasks.ts'

/** Carry-over between lines. Lists are bounded: the oldest entries go first. Foreign ids are values, never property names. */
export interface State {
  session: string
  calls: CallBook
  /** [uuid, index of its last event], only for lines that gave more than one. */
  wide: [string, number][]
  /** [hash of a delegated prompt, key of the call], for sub-agents written into the main file. */
  spawns: [string, string][]
  /** The prompts and commands on the present branch. */
  prompts: Prompted[]
  /** A marker said that the next prompt starts from an earlier point. */
  rewound?: boolean
  /** [key, times seen] of records without a uuid. */
  repeats: [string, number][]
  /** [leaf uuid, title] of summaries whose leaf has not been seen in this file. */
  titles: [string, string][]
  /** The latest uuids, for summaries that follow their leaf. */
  recent: string[]
  /** See queue.ts. */
  queue: Queued[]
  /** See tasks.ts. */
  tasks: Task[]
  /** The command that may turn out to be a prompt. See commands.ts. */
  command?: EventItem
  /** The answer that may be the last of its turn. See closing.ts. */
  closing?: Closing
  /** A process wrote its last line; a later one began; and that was told. See resumed.ts. */
  hasEnded?: boolean
  isQueuedAgain?: boolean
  isResumed?: boolean
  /** The session that this one was forked from, until the first line of its own. */
  origin?: string
  /** [id, key of the first line] of the answer that the present lines belong to, where its id says too little. */
  answer?: [string, string]
  /** Where the first line of this file was written; lines from elsewhere say so. */
  cwd?: string
  facts: {
    cwd?: string
    gitBranch?: string
    model?: string
    version?: string
    startedAt?: number
    relation?: string
    isBackground?: boolean
  }
}

export type Prompted = [uuid: string, parentOrNone: string, ts: number | null, isCommand?: true]

export function newState(session: string): State {
  return {
    session,
    calls: newCallBook(),
    wide: [],
    spawns: [],
    prompts: [],
    repeats: [],
    titles: [],
    recent: [],
    queue: [],
    tasks: [],
    facts: {},
  }
}

/** What an event hangs on. */
export type Parent = Pick<EventItem, 'parentKey' | 'parentCall'>

/** What stays the same for a whole file. */
export interface Reader {
  place: Place
  /** The call that started this sub-agent, or none. */
  spawnedBy(): Parent
  /** Whether the main transcript holds this record too (files that repeat it). */
  isCopy(uuid: string): boolean
}

export interface Line {
  reader: Reader
  state: State
  record: Record<string, unknown>
  type: string
  /** Bytes of the line in the file. */
  bytes: number
  /** Name of the line: its events are `<key>#0`, `<key>#1` … */
  key: string
  uuid: string | undefined
  ts: number | null
  isSidechain: boolean
  /** It belongs to the conversation itself. */
  isOnMain: boolean
  /** A person typed a command; found with the line's drafts. */
  isCommand: boolean
  /** The main transcript holds this record too; it is told there. */
  isCopy: boolean
  /** Items other than events and usage; they come before this line's events. */
  items: Item[]
}

/** An event before it is placed: key, time, session and branch come from its line. */
export type { Draft }

export function openLine(reader: Reader, state: State, record: Record<string, unknown>, bytes: number): Line {
  const type = str(record['type']) ?? '(none)'
  const uuid = str(record['uuid']) || undefined
  const snapshot = record['snapshot']
  const aside = reader.place.kind !== 'main' || record['isSidechain'] === true
  const isCopy = uuid !== undefined && reader.isCopy(uuid)
  const isSidechain = aside && !isCopy
  return {
    reader,
    state,
    record,
    type,
    bytes,
    key: uuid ?? looseKey(state, reader.place, type, record),
    uuid,
    ts: time(record['timestamp']) ?? (isRecord(snapshot) ? time(snapshot['timestamp']) : null),
    isSidechain,
    isOnMain: reader.place.kind === 'main' && !isSidechain,
    isCommand: false,
    isCopy,
    items: [],
  }
}

/** Records without a uuid are named by their content; equal ones are counted. Their session id is part of the content,
 * so two sessions never share such a name by accident. */
function looseKey(state: State, place: Place, type: string, record: Record<string, unknown>): string {
  const own = str(record['hash']) ?? str(record['shapeHash'])
  const id = type.startsWith('api-request') ? (str(record['id']) ?? own) : undefined
  const content = id === undefined ? printed(record) : `${state.session}\0${id}`
  const whole = place.kind === 'main' ? content : `${place.agent}\0${content}`
  const name = `${type}:${shortHash(whole)}`
  const at = state.repeats.findIndex((entry) => entry[0] === name)
  const [known] = at === -1 ? [] : state.repeats.splice(at, 1)
  const count = known ? known[1] + 1 : 0
  remember(state.repeats, [name, count])
  return `${name}:${count}`
}

/** Key of the last event of a line: what its children hang on. Lines of one event need no memory. */
function lastKey(state: State, uuid: string): string {
  return `${uuid}#${lastIndex(state, uuid)}`
}

export function lastIndex(state: State, uuid: string): number {
  return state.wide.find((entry) => entry[0] === uuid)?.[1] ?? 0
}

function parentOf(line: Line, drafts: Draft[]): Parent {
  if (line.uuid === undefined) return {}
  // A compaction cuts the chain on purpose; the full history goes on over the cut.
  const parent = str(line.record['parentUuid']) || str(line.record['logicalParentUuid'])
  if (parent) return { parentKey: lastKey(line.state, parent) }
  if (!line.isSidechain) return { parentKey: null }
  if (line.reader.place.kind !== 'main') return line.reader.spawnedBy()
  const said = drafts[0]?.said
  const hash = said === undefined ? undefined : shortHash(said)
  return { parentKey: line.state.spawns.findLast((entry) => entry[0] === hash)?.[1] ?? null }
}

/** Places the drafts: several events of one line hang on each other. */
export function* place(line: Line, drafts: Draft[]): Generator<EventItem> {
  const { state, record, uuid } = line
  const forkedFrom = isRecord(record['forkedFrom']) ? str(record['forkedFrom']['messageUuid']) : undefined
  const agent = line.isSidechain ? (str(record['agentId']) ?? line.reader.place.agent) : undefined
  const cwd = str(record['cwd'])
  if (cwd !== undefined) state.cwd ??= cwd
  const elsewhere = cwd === state.cwd ? undefined : cwd
  let parent = parentOf(line, drafts)
  let hasPrompt = line.isCommand
  for (const [index, draft] of drafts.entries()) {
    const key = `${line.key}#${index}`
    const event: EventItem = { type: 'event', session: state.session, key, ts: line.ts, ...draft, ...parent }
    if (event.said === '') delete event.said
    if (line.isSidechain) event.isSidechain = true
    if (agent !== undefined) event.agent = agent
    if (elsewhere !== undefined) event.payload = { ...draft.payload, cwd: elsewhere }
    if (index > 0 && hasPrompt && draft.kind === 'user_msg') event.isPart = true
    hasPrompt ||= draft.kind === 'user_msg'
    if (forkedFrom !== undefined) {
      event.originKey = `${forkedFrom}#${index}`
      event.inherited = true
    }
    yield event
    parent = { parentKey: key }
  }
  if (uuid !== undefined && drafts.length > 1) remember(state.wide, [uuid, drafts.length - 1])
}

// Which session, which place in the chain, which machine: all of it changes when a line is copied into a fork.
const PER_COPY = new Set(
  wordList(`
  uuid parentUuid logicalParentUuid sessionId session_id forkedFrom sessionKind timestamp cwd version
  gitBranch userType entrypoint slug isSidechain agentId requestId requestRef promptId
  sourceToolAssistantUUID`),
)

/** The fields of a record that say something, without `leftOut`. */
export function bare(record: Record<string, unknown>, ...leftOut: string[]): Record<string, unknown> {
  const kept: Record<string, unknown> = {}
  for (const name in record) {
    const value = record[name]
    if (value === null || value === false || PER_COPY.has(name) || leftOut.includes(name)) continue
    // Assigned, this name would set the prototype.
    if (name === '__proto__') Object.defineProperty(kept, name, { value, enumerable: true })
    else kept[name] = value
  }
  return kept
}
