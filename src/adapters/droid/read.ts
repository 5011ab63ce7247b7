// Messages of the Messages API, one per line. Tokens stand in the settings beside them, as one sum of the session.
import { basename } from 'node:path'
import {
  disjointTokens,
  type EventItem,
  exitCodeIn,
  type Fields,
  factsItems,
  fields,
  firstLine,
  type Item,
  jsonBeside,
  type Line,
  messageEvents,
  newThread,
  noteEvent,
  type Part,
  type Position,
  partsOf,
  readLines,
  recordName,
  type Source,
  speakerOf,
  str,
  type Thread,
  time,
  toolsBy,
  usageItem,
} from '../kit/index.ts'

interface State extends Thread {
  /** Until this message everything is a copy of the parent's. */
  copiedTo: string | null
  /** Responses that the file holds, and the time of its latest record: the sum of tokens has neither. */
  responses: number
  at: number | null
}

const TOOLS = toolsBy({
  shell: 'Execute',
  edit: 'ApplyPatch Create Edit MultiEdit',
  read: 'LS Read',
  search: 'Glob Grep WebSearch',
  fetch: 'FetchUrl',
  spawn: 'Task',
  ask: 'AskUser',
  plan: 'TodoWrite',
})

export function read({ path }: Source, from: Position | null): Iterable<Item> {
  const fresh = (): State => ({
    ...newThread(basename(path).slice(0, -6)),
    copiedTo: null,
    responses: 0,
    at: null,
  })
  return readLines(path, from, fresh, step, { atEnd: (state) => settings(state, path) })
}

function* step(state: State, { record }: Line): Generator<Item> {
  const ts = time(record['timestamp'])
  state.at = ts ?? state.at
  switch (record['type']) {
    case 'session_start':
      yield* start(state, record)
      return
    case 'message':
      yield* message(state, record, ts)
      return
    default:
      yield* note(state, record, ts)
  }
}

function* start(state: State, record: Fields): Generator<Item> {
  const [session, parent, caller] = [
    str(record['id']),
    str(record['parent']),
    str(record['callingSessionId']),
  ]
  if (session) state.session = session
  const { id, cwd, hostId, owner, parent: from, ...payload } = record
  yield* factsItems(state, {
    cwd: str(cwd),
    title: str(record['sessionTitle']) ?? str(record['title']),
    titleByPerson: record['isSessionTitleManuallySet'] === true || undefined,
    relation: caller ? 'subagent' : parent ? 'fork' : undefined,
  })
  yield noteEvent(state, { name: 'start', ts: null, kind: 'lifecycle', summary: 'session start', payload })
  if (caller) {
    const evidence = str(record['callingToolUseId'])
    yield {
      type: 'edge',
      kind: 'subagent',
      session: state.session,
      parent: caller,
      at: null,
      ...(evidence && { evidence }),
    }
  } else if (parent) {
    state.copiedTo = str(record['forkedAtMessageId']) ?? null
    yield { type: 'edge', kind: 'interactive_fork', session: state.session, parent, at: null }
  }
}

function* message(state: State, record: Fields, ts: number | null): Generator<Item> {
  const { role, content, visibility, ...facts } = fields(record['message'])
  const id = str(record['id'])
  const name = recordName(state, record, id, ts)
  const more: Partial<EventItem> = state.copiedTo === null ? {} : { inherited: true }
  const parts = partsOf(content).map((part) => (part.is === 'result' ? resultPart(part) : part))
  const isResult = parts.some((part) => part.is === 'result')
  const speaker = isResult ? 'tool' : visibility === 'llm_only' ? 'system' : (speakerOf(role) ?? 'system')
  if (speaker === 'assistant' && state.copiedTo === null) state.responses++
  // What only the person sees is the client's word that a request failed.
  if (speaker === 'user' && visibility !== undefined) {
    more.kind = 'error'
    more.role = 'system'
  }
  yield* messageEvents(
    state,
    {
      name,
      ts,
      speaker,
      parts,
      parent: str(record['parentId']) ?? null,
      facts: { ...facts, visibility },
      more,
    },
    TOOLS,
  )
  if (id !== undefined && id === state.copiedTo) state.copiedTo = null
}

const FAILED = /^Error: Command failed \(exit code: (-?\d+)\)\n?/
const ENDED = /\[Process exited with code (-?\d+)\]\s*$/

/** The client writes how a command ended above or below its output. */
function resultPart(part: Part & { is: 'result' }): Part {
  const text = part.text ?? ''
  const exitCode = exitCodeIn(text, FAILED) ?? exitCodeIn(text.slice(-200), ENDED)
  if (exitCode === undefined) return part
  const end = text.lastIndexOf('[Process exited with code ')
  const output = text
    .slice(0, end === -1 ? undefined : end)
    .replace(FAILED, '')
    .trimEnd()
  return { ...part, text: output, exitCode, failed: part.failed || exitCode !== 0 }
}

function* note(state: State, record: Fields, ts: number | null): Generator<Item> {
  const { type, id, timestamp, systemInfo, ...payload } = record
  const turn = str(record['turnId'])
  const name =
    turn && type === 'agent_turn_outcome' ? `${turn}:outcome` : recordName(state, record, str(id), ts)
  const about = { name, ts, payload: { type, ...payload } }
  const summaryText = str(record['summaryText']) ?? str(record['summary'])
  const reason = str(record['reason'])
  if (type === 'agent_turn_outcome' && reason === 'completed')
    yield noteEvent(state, { ...about, kind: 'completion', mark: 'turn-end', summary: 'turn ended' })
  else if (type === 'compaction_state') {
    const summary = `compaction: ${firstLine(summaryText ?? '')}`
    yield noteEvent(state, {
      ...about,
      kind: 'lifecycle',
      mark: 'compaction',
      summary,
      ...(summaryText && { said: summaryText }),
    })
  } else {
    const summary = [str(type)?.replaceAll('_', ' ') ?? 'no type', reason].filter(Boolean).join(': ')
    yield noteEvent(state, { ...about, kind: 'lifecycle', summary })
    if (type !== 'agent_turn_outcome' && type !== 'todo_state')
      yield { type: 'unknown', name: `record ${str(type) ?? 'without type'}` }
  }
}

/** Exact, with compactions, also after a kill; a fork begins at zero, and a sub-agent has its own. Per response there is nothing. */
function* settings(state: State, path: string): Generator<Item> {
  const { value, gaps } = jsonBeside(path.replace(/jsonl$/i, 'settings.json'))
  yield* gaps
  const model = str(value['model'])
  yield* factsItems(state, { model })
  const usage = fields(value['tokenUsage'])
  const tokens = disjointTokens({
    input: usage['inputTokens'],
    cacheRead: usage['cacheReadTokens'],
    cacheWrite: usage['cacheCreationTokens'],
    output: usage['outputTokens'],
  })
  if (!Object.values(tokens).some((count) => count > 0)) return
  const id = `droid:${state.session}`
  yield usageItem(state, tokens, {
    id,
    ts: state.at,
    model: model ?? null,
    scope: 'turn',
    responses: state.responses,
    isLatest: true,
  })
}
