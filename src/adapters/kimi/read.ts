// Everything is written two or three times in different vocabularies. What is told is `context.*`, with `usage.record` for
// tokens. Every agent of a session has a file of its own; lines of one file are not in the order of their times.
import { basename, dirname, join } from 'node:path'
import type { EventItem, Item, Position, Source, SweepMemo, UsageItem } from '../adapter.ts'
import { remember } from '../kit/bounded.ts'
import { jsonBeside } from '../kit/document.ts'
import { edgeItem, factsItems, usageItem } from '../kit/facts.ts'
import { type Fields, fields, num, str, time } from '../kit/guards.ts'
import { readLines } from '../kit/lines.ts'
import { newMemo } from '../kit/memo.ts'
import { compaction, INTERRUPT, messageEvents, noteEvent } from '../kit/messages.ts'
import { type Part, partsOf, toolCall } from '../kit/parts.ts'
import { speakerOf } from '../kit/shapes.ts'
import { contentText, leaves, wordSet } from '../kit/text.ts'
import { newThread, recordName, sharedName, type Thread } from '../kit/thread.ts'
import { disjointTokens } from '../kit/tokens.ts'
import { exitCodeIn, toolsBy } from '../kit/tools.ts'
import { readPython } from './python.ts'

interface State extends Thread {
  /** The agent whose file it is; the session's own is `main`. */
  agent: string
  /** What the provider calls the model of the latest request; records of usage have the name in the settings. */
  model: [alias: string, model: string] | null
  /** Tokens told before the first event of their answer. */
  ahead: UsageItem | null
  /** Keys of the latest prompts, for an undo; ids of calls that were not allowed. */
  prompts: string[]
  refused: string[]
  isSteered: boolean
  isForkTold: boolean
}

const TOOLS = toolsBy({
  shell: 'Bash',
  edit: 'Edit Write',
  read: 'Read',
  search: 'Glob Grep WebSearch',
  fetch: 'FetchURL',
  spawn: 'Agent AgentSwarm',
  ask: 'AskUserQuestion',
  plan: 'TodoList',
})

export function read({ path }: Source, from: Position | null, memo: SweepMemo = newMemo()): Iterable<Item> {
  if (basename(dirname(dirname(path))) !== 'agents') return readPython(path, from, memo)
  const home = dirname(dirname(dirname(path)))
  const agent = basename(dirname(path))
  const fresh = (): State => ({
    ...newThread(basename(home)),
    agent,
    model: null,
    ahead: null,
    prompts: [],
    refused: [],
    isSteered: false,
    isForkTold: false,
  })
  const atEnd = (state: State): Iterable<Item> => (agent === 'main' ? sessionItems(state, home) : [])
  return readLines(
    path,
    from,
    fresh,
    function* (state, { record, offset }) {
      // First, that it is a fork: what it copied is told by the next line.
      if (offset === 0) yield* atEnd(state)
      yield* step(state, record)
    },
    { atEnd },
  )
}

/** What stands beside the agents' files. A title that the client made up of an id says nothing. */
function* sessionItems(state: State, home: string): Generator<Item> {
  const { value, gaps } = jsonBeside(join(home, 'state.json'))
  yield* gaps
  const parent = str(value['forkedFrom'])
  const createdAt = time(value['createdAt'])
  const isNamed = value['isCustomTitle'] === true
  yield* factsItems(state, {
    cwd: str(value['cwd']),
    startedAt: createdAt ?? undefined,
    title: isNamed || value['titleKind'] !== 'replaceable' ? str(value['title']) : undefined,
    titleByPerson: isNamed || undefined,
    relation: parent ? 'fork' : undefined,
  })
  if (!parent || state.isForkTold) return
  state.isForkTold = true
  yield edgeItem('interactive_fork', state.session, parent, createdAt)
}

interface Told {
  type: string
  record: Fields
  ts: number | null
  more: Partial<EventItem>
}

function* step(state: State, record: Fields): Generator<Item> {
  const type = str(record['type']) ?? 'no type'
  if (REPEATED.test(type)) return
  const ts = time(record['time'] ?? record['created_at'])
  const isSide = state.agent !== 'main'
  const more: Partial<EventItem> = isSide ? { isSidechain: true, agent: state.agent } : {}
  // The file of the agent that called it knows which call that was.
  if (isSide && state.last === null) more.parentCall = state.agent
  const told = { type, record, ts, more }
  switch (type) {
    case 'context.append_message':
      yield* message(state, told)
      return
    case 'context.append_loop_event':
      yield* loopEvent(state, told, fields(record['event']))
      return
    case 'usage.record':
      yield* tokens(state, record, ts, isSide)
      return
    default:
      yield* note(state, told)
  }
}

/** Told by `context.*`, or counts of what the context holds. */
const REPEATED =
  /^(?:turn\.prompt|agent\.(?:message\.appended|turn\.(?:started|ended))|prompt\.(?:accepted|completed|aborted)|token_counting\..*|context\.update_token_count)$/

function* message(state: State, { record, ts, more }: Told): Generator<Item> {
  const { id, origin, content, role, ...facts } = fields(record['message'])
  const kind = str(fields(origin)['kind'])
  const name = sharedName([str(id) ?? record, ts])
  const speaker =
    kind === 'injection' || kind === 'compaction_summary' ? 'system' : (speakerOf(role) ?? 'system')
  const who: Partial<EventItem> = {}
  if (speaker === 'user' && kind === 'user') {
    if (state.isSteered) who.kind = 'human_intervention'
    else remember(state.prompts, `${name}#0`)
    state.isSteered = false
  } else if (speaker === 'user' && !more.isSidechain) who.role = 'system'
  const about = { facts: { ...facts, origin }, more: { ...more, ...who } }
  yield* messageEvents(state, { name, ts, speaker, parts: partsOf(content), ...about })
}

function* loopEvent(state: State, told: Told, event: Fields): Generator<Item> {
  const { ts, more } = told
  const { uuid, parentUuid, turnId, stepUuid, ...raw } = event
  const name = str(uuid) ?? sharedName([str(parentUuid) ?? event, ts])
  const type = str(event['type'])
  if (type === 'step.begin') return
  if (type === 'content.part' || type === 'tool.call') {
    const parts = [answerPart(event, raw)]
    yield* messageEvents(state, { name, ts, speaker: 'assistant', parts, more }, TOOLS)
    yield* shown(state, `${name}#0`)
  } else if (type === 'tool.result') {
    yield* messageEvents(state, { name, ts, speaker: 'tool', parts: [resultPart(state, event, raw)], more })
  } else {
    const summary = `${type ?? 'event'}: ${str(event['finishReason']) ?? ''}`
    yield noteEvent(state, { name: `${name}:end`, ts, summary, payload: raw, ...more })
    if (type !== 'step.end') yield { type: 'unknown', name: `loop event ${type ?? 'without type'}` }
  }
}

function answerPart(event: Fields, raw: Fields): Part {
  const { toolCallId, name, args: input } = event
  if (event['type'] === 'tool.call') return toolCall(toolCallId, name, input, raw)
  const part = fields(event['part'])
  const { encrypted, ...shown } = part
  if (part['type'] === 'think') return { is: 'thinking', text: str(part['think']) ?? '', raw: shown }
  return partsOf(part)[0] as Part
}

function resultPart(state: State, event: Fields, raw: Fields): Part {
  const result = fields(event['result'])
  const id = str(event['toolCallId'])
  const text = contentText(result['output']) ?? leaves(result['output']) ?? ''
  const failed = result['isError'] === true
  const isShell = state.calls.open.some(([open, tool]) => open === id && tool === 'Bash')
  const goesOn = !failed && isShell && BEGUN.every((line) => line.test(text))
  // Whatever does not end with 0 is an error that ends with this line.
  const exitCode = failed ? exitCodeIn(text, EXIT) : 0
  return {
    is: 'result',
    id,
    text: text.replace(EXIT, '').trimEnd(),
    failed,
    isRefused: state.refused.includes(id ?? ''),
    state: goesOn ? 'background' : undefined,
    exitCode: isShell && !goesOn ? exitCode : undefined,
    durationMs: num(result['durationMs']),
    raw,
  }
}

const EXIT = /Command failed with exit code: (-?\d+)\.\s*$/
/** A command that was sent to the background, or taken there. */
const BEGUN = [/^task_id: /m, /^next_step: /m]

function* tokens(state: State, record: Fields, ts: number | null, isSidechain: boolean): Generator<Item> {
  const usage = fields(record['usage'])
  const counts = ['inputOther', 'inputCacheRead', 'inputCacheCreation', 'output'].map(
    (name) => num(usage[name]) ?? 0,
  )
  const [input, cacheRead, cacheWrite, output] = counts
  const alias = str(record['model'])
  const item = usageItem(state, disjointTokens({ input, cacheRead, cacheWrite, output }), {
    // A copy has the same, and no id.
    id: `kimi:${ts}:${counts.join(':')}`,
    ts,
    model: (alias === state.model?.[0] ? state.model?.[1] : alias) ?? null,
    isSidechain: isSidechain || undefined,
  })
  state.ahead = item
  yield item
}

function* shown(state: State, event: string): Generator<Item> {
  if (state.ahead) yield { ...state.ahead, event }
  state.ahead = null
}

const QUIET = wordSet(`
  config.update context.clear cron.add cron.cursor cron.delete file_history.checkpoint file_history.tracked forked
  full_compaction.begin full_compaction.cancel full_compaction.complete goal.clear goal.create goal.update interaction.request
  interaction.resolved interruptionReminder.recorded llm.request llm.tools_snapshot mcp.tools_discovered metadata
  micro_compaction.apply permission.record_approval_result permission.set_mode plan.revision plan_mode.cancel plan_mode.enter
  plan_mode.exit plugin.session_start profile.bind runtime.set_binding staleGuard.cleared staleGuard.recorded subagent.completed
  subagent.spawned subagent.started swarm_mode.enter swarm_mode.exit task.started task.terminated task.waitDelivered
  tools.register_user_tool tools.reset_active_tools tools.set_active_tools tools.unregister_user_tool tools.update_store
  turn.cancel turn.steer turn.step.interrupted`)

/** What is more than a note. Keys that are uuids are counted once, also where a fork copied them. */
function loud(type: string, record: Fields): Partial<EventItem> | undefined {
  const { reason, error, errorMessage, summary } = record
  switch (type) {
    case 'turn.ended':
      if (reason === 'completed') return { kind: 'completion', mark: 'turn-end', summary: 'turn ended' }
      if (reason === 'failed')
        return { kind: 'error', summary: str(fields(error)['message']) ?? 'turn failed' }
      // Told here, and not with `turn.cancel`: the words that were cut off stand between the two.
      return { ...INTERRUPT, summary: `stopped: ${str(reason) ?? ''}` }
    case 'turn.step.retrying':
      return { kind: 'retry', summary: `retry: ${str(errorMessage) ?? ''}` }
    case 'context.apply_compaction':
      return compaction(str(summary))
    case 'context.undo':
      return { kind: 'human_intervention', role: 'user', summary: 'undo' }
    default:
      return undefined
  }
}

function* note(state: State, { type, record, ts, more }: Told): Generator<Item> {
  const { agentId, time: at, ...payload } = record
  const told = loud(type, record)
  yield* learn(state, type, record)
  const name = told ? sharedName(record) : recordName(state, record, undefined, ts)
  yield noteEvent(state, { name, ts, summary: type.replace(/[._]/g, ' '), payload, ...more, ...told })
  if (type === 'context.apply_compaction') yield* shown(state, name)
  if (!told && !QUIET.has(type)) yield { type: 'unknown', name: `record ${type}` }
}

function* learn(state: State, type: string, record: Fields): Generator<Item> {
  const call = str(record['parentToolCallId'])
  if (type === 'llm.request') {
    const [alias, model] = [str(record['modelAlias']), str(record['model'])]
    if (alias && model) state.model = [alias, model]
    if (state.agent === 'main') yield* factsItems(state, { model })
  } else if (type === 'turn.steer') state.isSteered = true
  else if (type === 'permission.record_approval_result') {
    const decision = str(fields(record['result'])['decision'])
    if (decision === 'rejected' || decision === 'denied')
      remember(state.refused, str(record['toolCallId']) ?? '')
  } else if (type === 'subagent.spawned' && call)
    yield { type: 'alias', session: state.session, name: str(record['subagentId']) ?? '', of: call }
  else if (type === 'context.undo') {
    const count = Math.max(1, Math.trunc(num(record['count']) ?? 1))
    const sinceKey = state.prompts.at(-count)
    if (sinceKey) yield { type: 'supersede', session: state.session, sinceKey }
    state.prompts = state.prompts.slice(0, -count)
  }
}
