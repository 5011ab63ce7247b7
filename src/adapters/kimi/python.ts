// The Kimi CLI in Python, before Kimi Code: `{timestamp, message: {type, payload}}`, deltas merged. From its source (4a550eff); no
// session of the program is here. Forks copy lines as they are, so a line is named by what it holds.
import { createHash } from 'node:crypto'
import { basename, dirname, join } from 'node:path'
import type { EventItem, Item, Position, SweepMemo } from '../adapter.ts'
import { remember } from '../kit/bounded.ts'
import { jsonBeside } from '../kit/document.ts'
import { factsItems, usageItem } from '../kit/facts.ts'
import { type Fields, fields, fieldsIn, isRecord, list, str, time } from '../kit/guards.ts'
import { readLines } from '../kit/lines.ts'
import { messageEvents, noteEvent } from '../kit/messages.ts'
import { type Part, partsOf, toolCall } from '../kit/parts.ts'
import type { Speaker } from '../kit/shapes.ts'
import { contentText, leaves, wordSet } from '../kit/text.ts'
import { newThread, sharedName, type Thread } from '../kit/thread.ts'
import { disjointTokens } from '../kit/tokens.ts'
import { exitCodeIn, toolsBy } from '../kit/tools.ts'

interface State extends Thread {
  /** Key of the first event of the step: it shows the step's tokens. */
  first: string | null
  /** [request, call] that a person was asked about; calls they refused. */
  asked: [string, string][]
  refused: string[]
}

const TOOLS = toolsBy({
  shell: 'Shell',
  edit: 'StrReplaceFile WriteFile',
  read: 'ReadFile',
  plan: 'SetTodoList',
})

export function readPython(path: string, from: Position | null, memo: SweepMemo): Iterable<Item> {
  const folder = dirname(path)
  const fresh = (): State => ({ ...newThread(basename(folder)), first: null, asked: [], refused: [] })
  return readLines(path, from, fresh, (state, { record }) => step(state, record), {
    atEnd: (state) => sessionItems(state, folder, memo),
  })
}

/** The folder's name is the hash of the working directory; which one that is, the list of all of them tells. */
function* sessionItems(state: State, folder: string, memo: SweepMemo): Generator<Item> {
  const home = dirname(dirname(dirname(folder)))
  const { value, gaps } = jsonBeside(join(folder, 'state.json'))
  yield* gaps
  const known = memo.get(`kimi ${home}`, () => list(jsonBeside(join(home, 'kimi.json')).value['work_dirs']))
  const paths = known.flatMap((one) => str(fields(one)['path']) ?? [])
  const hash = basename(dirname(folder)).replace(/^.*_/, '')
  const cwd = paths.find((path) => createHash('md5').update(path).digest('hex') === hash)
  yield* factsItems(state, { cwd, title: str(value['custom_title']) })
}

function* step(state: State, record: Fields): Generator<Item> {
  const ts = time(record['timestamp'])
  const { type, payload } = fields(record['message'])
  if (type === undefined && record['type'] === 'metadata') return
  yield* told(state, str(type) ?? 'no type', fields(payload), { name: sharedName(record), ts, more: {} })
}

interface Spot {
  name: string
  ts: number | null
  more: Partial<EventItem>
}

function* told(state: State, type: string, payload: Fields, spot: Spot): Generator<Item> {
  const say = (speaker: Speaker, parts: Part[], also: Partial<EventItem> = {}): Generator<Item> =>
    messageEvents(state, { ...spot, speaker, parts, more: { ...spot.more, ...also } }, TOOLS)
  switch (type) {
    case 'TurnBegin':
      yield* say('user', partsOf(payload['user_input']))
      return
    case 'SteerInput':
      yield* say('user', partsOf(payload['user_input']), { kind: 'human_intervention' })
      return
    case 'ContentPart': {
      const thought = str(payload['think'])
      const thinking: Part = { is: 'thinking', text: thought ?? '', raw: { think: thought } }
      yield* say('assistant', thought === undefined ? partsOf(payload) : [thinking])
      break
    }
    case 'ToolCall':
      yield* say('assistant', [callPart(payload)])
      break
    case 'ToolResult':
      yield* say('tool', [resultPart(state, payload)])
      return
    case 'SubagentEvent': {
      const call = str(payload['parent_tool_call_id']) ?? str(payload['task_tool_call_id'])
      const agent = str(payload['agent_id']) ?? call ?? 'sub-agent'
      const more: Partial<EventItem> = {
        isSidechain: true,
        agent,
        ...(call && { parentKey: null, parentCall: call }),
      }
      const inner = fields(payload['event'])
      const { last, first } = state
      yield* told(state, str(inner['type']) ?? 'no type', fields(inner['payload']), { ...spot, more })
      Object.assign(state, { last, first })
      return
    }
    default:
      yield* note(state, type, payload, spot)
      return
  }
  if (!spot.more.isSidechain) state.first ??= `${spot.name}#0`
}

function callPart(raw: Fields): Part {
  const { name, arguments: input } = fields(raw['function'])
  const edits = name === 'StrReplaceFile' ? editsOf(str(input) ?? '') : []
  const act = edits.length > 0 ? { act: { edits } } : {}
  return { ...toolCall(raw['id'], name, input, raw), ...act }
}

function editsOf(text: string): { path: string; before: string; after: string; isAll: boolean }[] {
  const given = fieldsIn(text)
  const path = str(given['path']) ?? ''
  return (isRecord(given['edit']) ? [given['edit']] : list(given['edit'])).map((one) => {
    const { old, new: after, replace_all } = fields(one)
    return { path, before: str(old) ?? '', after: str(after) ?? '', isAll: replace_all === true }
  })
}

function resultPart(state: State, raw: Fields): Part {
  const id = str(raw['tool_call_id'])
  const { is_error, output, message } = fields(raw['return_value'] ?? raw['result'])
  const words = contentText(output) ?? leaves(output) ?? ''
  const failed = is_error === true
  const isShell = state.calls.open.some(([open, tool]) => open === id && tool === 'Shell')
  const exitCode = isShell && failed ? exitCodeIn(str(message) ?? '') : undefined
  const text = words || str(message)
  const isRefused = state.refused.includes(id ?? '')
  return { is: 'result', id, text, failed, isRefused, exitCode, raw }
}

const QUIET = wordSet(`
  ApprovalRequest ApprovalRequestResolved ApprovalResponse BtwBegin BtwEnd CompactionBegin HookRequest HookResolved HookTriggered
  MCPLoadingBegin MCPLoadingEnd Notification PlanDisplay QuestionRequest StepBegin StepInterrupted ToolCallRequest`)

function* note(state: State, type: string, payload: Fields, { name, ts, more }: Spot): Generator<Item> {
  if (type === 'StatusUpdate') {
    yield* tokens(state, payload, { name, ts, more })
    return
  }
  if (type === 'StepBegin') state.first = null
  if (type === 'ApprovalRequest')
    remember(state.asked, [str(payload['id']) ?? '', str(payload['tool_call_id']) ?? ''])
  const call = state.asked.find(([request]) => request === payload['request_id'])?.[1]
  if (call && payload['response'] === 'reject') remember(state.refused, call)
  const loud: Record<string, Partial<EventItem>> = {
    TurnEnd: { kind: 'completion', mark: 'turn-end', summary: 'turn ended' },
    StepRetry: { kind: 'retry', summary: `retry: ${str(payload['error_type']) ?? ''}` },
    CompactionEnd: { mark: 'compaction', summary: 'compaction' },
  }
  const known = Object.hasOwn(loud, type) ? loud[type] : undefined
  yield noteEvent(state, { name, ts, summary: type, payload: { type, ...payload }, ...more, ...known })
  if (!known && !QUIET.has(type)) yield { type: 'unknown', name: `message ${type}` }
}

function* tokens(state: State, payload: Fields, { name, ts, more }: Spot): Generator<Item> {
  const usage = fields(payload['token_usage'])
  if (Object.keys(usage).length === 0) return
  const counts = {
    input: usage['input_other'],
    cacheRead: usage['input_cache_read'],
    cacheWrite: usage['input_cache_creation'],
    output: usage['output'],
  }
  yield usageItem(state, disjointTokens(counts), {
    id: str(payload['message_id']) ?? `kimi:${name}`,
    ts,
    isSidechain: more.isSidechain,
    event: (!more.isSidechain && state.first) || undefined,
  })
}
