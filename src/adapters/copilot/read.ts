// One event per line, `{type, data, id, parentId, timestamp, agentId?}`. The links are the order of the lines, sub-agents'
// included, so a chain per agent is made here. Calls stand in the answer that makes them; `tool.execution_start` repeats them.
import { basename, dirname, join } from 'node:path'
import type { Tokens } from '../../model.ts'
import type { EventItem, Item, Position, Source, UsageItem } from '../adapter.ts'
import { remember } from '../kit/bounded.ts'
import { textBeside } from '../kit/document.ts'
import { edgeItem, factsItems, usageItem } from '../kit/facts.ts'
import { type Fields, fields, list, num, str, time } from '../kit/guards.ts'
import { readLines } from '../kit/lines.ts'
import { INTERRUPT, type Message, messageEvents, noteEvent } from '../kit/messages.ts'
import { type Part, toolCall } from '../kit/parts.ts'
import { firstLine, wordList, wordSet } from '../kit/text.ts'
import { newThread, recordName, type Thread } from '../kit/thread.ts'
import { namedTokens, tokenCount } from '../kit/tokens.ts'
import type { Tools } from '../kit/tools.ts'

interface State extends Thread {
  /** [agent, key of its latest event]; the main agent is ''. */
  agents: [string, string | null][]
  /** Tokens told before the answer that they belong to. */
  ahead: UsageItem[]
  /** [model, tokens so far, responses]: versions that tell output alone until they tell the sum of all. */
  sums: [string, Tokens, number][]
  hasRecords: boolean
}

/** The others say by their names and arguments what they do. */
const TOOLS: Tools = { create: 'edit', task: 'spawn' }

export function read({ path }: Source, from: Position | null): Iterable<Item> {
  const isFlat = basename(path) !== 'events.jsonl'
  const session = isFlat ? basename(path, '.jsonl') : basename(dirname(path))
  const fresh = (): State => ({ ...newThread(session), agents: [], ahead: [], sums: [], hasRecords: false })
  return readLines(path, from, fresh, (state, { record }) => step(state, record), {
    atEnd: (state) => (isFlat ? [] : workspaceFacts(state, join(dirname(path), 'workspace.yaml'))),
  })
}

function* step(state: State, record: Fields): Generator<Item> {
  const type = str(record['type']) ?? 'no type'
  const data = fields(record['data'])
  const ts = time(record['timestamp'])
  const agent = str(record['agentId']) ?? str(data['parentToolCallId']) ?? ''
  const started = type === 'session.start' ? str(data['sessionId']) : undefined
  if (started) state.session = started
  const name = recordName(state, record, str(record['id']), ts)
  yield* sessionItems(state, type, data, ts)
  // The one it speaks with, where nobody chose one, or chose another meanwhile.
  if (type === 'assistant.message' && agent === '') yield* factsItems(state, { model: str(data['model']) })
  const more: Partial<EventItem> = agent === '' ? {} : { isSidechain: true, agent }
  if (type === 'session.usage_record') {
    yield* usageRecord(state, { type, data, name, ts, more })
    return
  }
  state.last = state.agents.find(([one]) => one === agent)?.[1] ?? null
  const call =
    str(data['parentToolCallId']) ?? (type.startsWith('subagent.') ? str(data['toolCallId']) : undefined)
  if (agent !== '' && state.last === null && call) more.parentCall = call
  // Where the answer told the call, its time begins now.
  const open = BEGINS.has(type) ? state.calls.open.find(([id]) => id === data['toolCallId']) : undefined
  const spoken = spokenIn(type, data, more)
  if (open) open[3] = ts
  else if (spoken) yield* messageEvents(state, { name, ts, more, ...spoken }, TOOLS)
  else yield* notes(state, { type, data, name, ts, more })
  state.agents = state.agents.filter(([one]) => one !== agent)
  remember(state.agents, [agent, state.last])
  if (type === 'assistant.message') yield* answerTokens(state, name, data, ts)
  if (type === 'session.shutdown') yield* totals(state, fields(data['modelMetrics']), ts)
}

/** Fields that differ in a copy, or repeat what stands beside them. */
const LEFT_OUT = wordSet(
  'sessionId content transformedContent toolRequests reasoningText reasoningOpaque reasoningBlocks encryptedContent',
)

const besides = (data: Fields): Fields =>
  Object.fromEntries(Object.entries(data).filter(([name]) => !LEFT_OUT.has(name)))

interface Told {
  type: string
  data: Fields
  name: string
  ts: number | null
  more: Partial<EventItem>
}

type Spoken = Pick<Message, 'speaker' | 'parts' | 'facts' | 'more'>

const BEGINS = wordSet('tool.execution_start tool.user_requested')

function spokenIn(type: string, data: Fields, more: Partial<EventItem>): Spoken | undefined {
  switch (type) {
    case 'user.message': {
      const said = { parts: textParts(data, 'text'), facts: besides(data) }
      return { speaker: 'user', ...said, more: { ...more, ...whoSaid(data, more) } }
    }
    case 'assistant.message': {
      const said = str(data['content']) ? textParts(data, 'text') : []
      const calls = list(data['toolRequests']).map((request) => callPart(fields(request)))
      const parts = [...textParts(data, 'thinking', 'reasoningText'), ...said, ...calls]
      return { speaker: 'assistant', parts, facts: besides(data) }
    }
    case 'assistant.reasoning':
      return { speaker: 'assistant', parts: textParts(data, 'thinking') }
    case 'tool.execution_start':
    case 'tool.user_requested':
      return { speaker: 'assistant', parts: [callPart(data)] }
    case 'tool.execution_complete':
      return { speaker: 'tool', parts: [resultPart(data)] }
    default:
      return undefined
  }
}

/** Words of a person start a turn, or steer one that runs; everything else that is put in their place is no prompt. */
function whoSaid(data: Fields, { isSidechain }: Partial<EventItem>): Partial<EventItem> {
  if (isSidechain) return {}
  const source = str(data['source'])
  if ((source && source !== 'user') || data['isAutopilotContinuation'] === true) return { role: 'system' }
  return data['delivery'] === 'steering' ? { kind: 'human_intervention' } : {}
}

function textParts(data: Fields, is: 'text' | 'thinking', field = 'content'): Part[] {
  const text = str(data[field])
  return text === undefined ? [] : [{ is, text, raw: { [field]: text } }]
}

const callPart = (raw: Fields): Part =>
  toolCall(raw['toolCallId'], str(raw['name']) ?? raw['toolName'], raw['arguments'], raw)

/** The client's own last line of a shell's output. */
const TRAILER = /\n?<shellId: \S+ completed with exit code (-?\d+)>\s*$/
const REFUSALS = new Set(['denied', 'rejected'])

function resultPart(data: Fields): Part {
  const { toolTelemetry, ...raw } = data
  const error = fields(data['error'])
  const said = str(error['message']) ?? str(fields(data['result'])['content'])
  const written = TRAILER.exec(said?.slice(-200) ?? '')?.[1]
  const exitCode =
    num(fields(data['shellExecution'])['exitCode']) ?? (written === undefined ? undefined : Number(written))
  // Written when the session is taken up again: nobody knows what came of the call.
  const isCut = error['code'] === 'interrupted'
  return {
    is: 'result',
    id: str(data['toolCallId']),
    text: said?.replace(TRAILER, ''),
    failed: !isCut && (data['success'] === false || (exitCode ?? 0) !== 0),
    isRefused: REFUSALS.has(str(error['code']) ?? ''),
    state: isCut ? 'cut' : undefined,
    exitCode,
    raw,
  }
}

const QUIET = wordSet(`
  assistant.turn_start assistant.turn_end external_tool.requested factory.run_settled hook.end hook.start permission.completed
  permission.requested session.auto_mode_resolved session.autopilot_objective_changed session.binary_asset
  session.canvas.recorded session.canvas.removed session.compaction_start session.context_changed session.context_cleared
  session.handoff session.info session.mode_changed session.mode_notice_delivered session.model_change
  session.permissions_changed session.plan_changed session.remote_steerable_changed session.resume session.schedule_cancelled
  session.schedule_created session.schedule_rearmed session.session_limits_changed session.shutdown session.start
  session.truncation session.usage_checkpoint session.warning session.workspace_file_changed skill.invoked subagent.completed
  subagent.configured subagent.deselected subagent.selected subagent.started system.message system.notification
  tool_search.activated`)

const LOUD: Record<string, (data: Fields) => Partial<EventItem>> = {
  abort: ({ reason }) => {
    const summary = `stopped: ${str(reason) ?? 'no reason given'}`
    return reason === 'autopilot_credit_limit' ? { summary } : { ...INTERRUPT, summary }
  },
  'session.error': () => ({ kind: 'error' }),
  'subagent.failed': () => ({ kind: 'error' }),
  'session.task_complete': ({ summary }) => ({
    kind: 'completion',
    ...(str(summary) && { said: `${summary}` }),
  }),
  'session.compaction_complete': ({ success, summaryContent }) => {
    if (success === false) return { kind: 'error' }
    return { mark: 'compaction', ...(str(summaryContent) && { said: `${summaryContent}` }) }
  },
}

const WORDS = wordList('message error summaryContent summary content agentDisplayName newModel hookType name')

function* notes(state: State, { type, data, name, ts, more }: Told): Generator<Item> {
  const { sessionId, ...payload } = data
  const word = WORDS.map((one) => str(data[one])).find(Boolean)
  const summary = [type.replace(/[._]/g, ' '), word && firstLine(word)].filter(Boolean).join(': ')
  const loud = Object.hasOwn(LOUD, type) ? LOUD[type]?.(data) : undefined
  const all = { name, ts, summary, payload: { type, ...payload }, ...more, ...loud }
  yield noteEvent(state, all)
  if (!loud && !QUIET.has(type)) yield { type: 'unknown', name: `event ${type}` }
}

function* sessionItems(state: State, type: string, data: Fields, ts: number | null): Generator<Item> {
  if (type !== 'session.start' && type !== 'session.resume' && type !== 'session.context_changed') return
  const place = type === 'session.context_changed' ? data : fields(data['context'])
  const [host, repository] = [str(place['repositoryHost']), str(place['repository'])]
  yield* factsItems(state, {
    startedAt: (type === 'session.start' ? (time(data['startTime']) ?? ts) : null) ?? undefined,
    cwd: str(place['cwd']),
    gitBranch: str(place['branch']),
    gitRemote: host && repository ? `https://${host}/${repository}` : undefined,
    model: str(data['selectedModel']),
    agentVersion: str(data['copilotVersion']),
  })
  // A run of its own that the client starts when a session ends.
  const parent = str(data['detachedFromSpawningParentSessionId'])
  if (!parent) return
  yield { type: 'session', session: state.session, relation: 'subagent' }
  yield edgeItem('subagent', state.session, parent, ts)
}

/** Its name: the first prompt, unless a person gave it another. */
function* workspaceFacts(state: State, path: string): Generator<Item> {
  const { text = '', gaps } = textBeside(path)
  yield* gaps
  const written = /^name: (.+)$/m.exec(text)?.[1]?.trim() ?? ''
  // Of YAML's ways to write a text only those on one line.
  const quoted = /^(['"])(.*)\1$/.exec(written)
  const title = quoted
    ? quoted[2]?.replaceAll(quoted[1] === "'" ? "''" : '\\"', quoted[1] as string)
    : written
  if (!/^[|>&*!]/.test(written))
    yield* factsItems(state, { title, titleByPerson: /^user_named: true\s*$/m.test(text) || undefined })
}

// Tokens: one record per response, before its answer, in 1.0. It names the session that paid, which a copy keeps.

const tokensOf = (usage: Fields): Tokens => namedTokens(usage, { inputHasCache: true })

function* usageRecord(state: State, { data, name, ts, more }: Told): Generator<Item> {
  const usage = fields(data['usage'])
  state.hasRecords = true
  const paid = fields(usage['accounting'])
  const call = str(usage['apiCallId']) ?? str(paid['usageId'])
  const item = usageItem(state, tokensOf(usage), {
    id: `copilot:${str(paid['sourceSessionId']) ?? state.session}:${call ?? name}`,
    ts,
    model: str(usage['model']) ?? null,
    isSidechain: more.isSidechain,
  })
  if (call) remember(state.ahead, { ...item, event: call }, 8)
  yield item
}

function* answerTokens(state: State, name: string, data: Fields, ts: number | null): Generator<Item> {
  const told = state.ahead.find(({ event }) => event === data['apiCallId'])
  state.ahead = state.ahead.filter((one) => one !== told)
  if (told) yield { ...told, event: `${name}#0` }
  if (state.hasRecords || num(data['outputTokens']) === undefined) return
  const model = str(data['model']) ?? state.told.model ?? ''
  const [, sum, count] = state.sums.find(([one]) => one === model) ?? [model, tokensOf({}), 0]
  const output = sum.output + tokenCount(data['outputTokens'])
  yield total(state, [model, { ...sum, output }, count + 1], ts)
}

/** Before there were records: only output until the session ends, then the sum of all of it, resumed or not. */
function* totals(state: State, models: Fields, ts: number | null): Generator<Item> {
  if (state.hasRecords) return
  for (const [model, metrics] of Object.entries(models)) {
    const { usage, requests } = fields(metrics)
    yield total(state, [model, tokensOf(fields(usage)), tokenCount(fields(requests)['count'])], ts)
  }
}

function total(state: State, sum: State['sums'][number], ts: number | null): UsageItem {
  const [model, tokens, responses] = sum
  state.sums = state.sums.filter(([one]) => one !== model)
  remember(state.sums, sum)
  const id = `copilot:${state.session}:${model}`
  return usageItem(state, tokens, { id, ts, model: model || null, scope: 'turn', responses, isLatest: true })
}
