// A tree of records, each with its parent, whose bodies are Gemini's. A sub-agent's file belongs to the session that
// began it. Telemetry stands in the chain, and repeats what was counted: it is kept, and never counted.
import { basename, dirname } from 'node:path'
import type { Mark } from '../../model.ts'
import type { Item, Position, Source } from '../adapter.ts'
import { readSession } from '../gemini/read.ts'
import { remember } from '../kit/bounded.ts'
import { jsonBeside } from '../kit/document.ts'
import { edgeItem, factsItems, usageItem } from '../kit/facts.ts'
import { type Fields, fields, isRecord, num, str, time } from '../kit/guards.ts'
import { readLines } from '../kit/lines.ts'
import { newMemo } from '../kit/memo.ts'
import { type Message, messageEvents } from '../kit/messages.ts'
import { otherPart, type Part, partsOf, type ResultPart } from '../kit/parts.ts'
import { hashOf, leaves, wordList } from '../kit/text.ts'
import { newThread, recordName, type Thread } from '../kit/thread.ts'
import { disjointTokens, tokenCount } from '../kit/tokens.ts'
import { exitCodeIn, toolsBy } from '../kit/tools.ts'

/** A message without what is particular to its type. */
type Frame = Omit<Message, 'speaker' | 'parts'>
type Other = Extract<Part, { is: 'other' }>

const TOOLS = toolsBy({
  shell: 'run_shell_command',
  edit: 'edit write_file notebook_edit',
  read: 'read_file list_directory read_mcp_resource',
  search: 'glob grep_search web_search tool_search',
  fetch: 'web_fetch',
  spawn: 'agent create_sub_session',
  ask: 'ask_user_question',
  plan: 'todo_write enter_plan_mode exit_plan_mode',
})

interface State extends Thread {
  isFresh: boolean
  /** The session it was forked from, until something of its own was said. */
  origin: string | null
  /** [parent, key] of the latest prompts: a rewind goes back to the parent of one. */
  prompts: [string, string][]
  /** What the sidecar said when the lines were read. */
  born: Birth
}

export function read({ path }: Source, from: Position | null, memo = newMemo()): Iterable<Item> {
  if (path.endsWith('.json')) return readSession(path, from, memo, 'qwen')
  const isSubagent = basename(path).startsWith('agent-')
  const session = isSubagent ? basename(dirname(path)) : basename(path, '.jsonl')
  const born = isSubagent ? memo.get(`birth of ${path}`, () => birthOf(path)) : {}
  const fresh = (): State => ({ ...newThread(session), isFresh: true, origin: null, prompts: [], born })
  // Told again, once the sidecar says what it did not say before: the lines themselves do not.
  const isNews = from !== null && hashOf((from.state as State).born) !== hashOf(born)
  return readLines(path, isNews ? null : from, fresh, (state, { record }) => step(state, record, born))
}

interface Birth {
  call?: string | undefined
  model?: string | undefined
}

/** What the sidecar of a sub-agent says: the call that began it (the file's name ends in it, too), and its model. */
function birthOf(path: string): Birth {
  const { value } = jsonBeside(`${path.slice(0, -'.jsonl'.length)}.meta.json`)
  const call = str(value['toolUseId']) ?? /-((?:call|toolu)_\w+)\.jsonl$/.exec(basename(path))?.[1]
  return { call, model: str(value['model']) }
}

function* step(state: State, record: Fields, born: Birth): Generator<Item> {
  const ts = time(record['timestamp'])
  const name = recordName(state, record, str(record['uuid']), ts)
  if (state.isFresh) state.session = str(record['sessionId']) || state.session
  state.isFresh = false
  yield* told(state, record, ts)
  const parent = record['parentUuid'] === undefined ? undefined : (str(record['parentUuid']) ?? null)
  const message: Frame = { name, ts, parent, more: more(record, parent, born.call) }
  const { type } = record
  if (type === 'user') yield* asked(state, record, message)
  else if (type === 'assistant') yield* answered(state, record, message)
  else if (type === 'tool_result') yield* returned(state, record, message)
  else yield* noted(state, record, message)
}

function more(record: Fields, parent: unknown, call: string | undefined): NonNullable<Message['more']> {
  const agent = record['isSidechain'] === true ? str(record['agentId']) : undefined
  return {
    ...(record['isSidechain'] === true && { isSidechain: true }),
    ...(agent && { agent }),
    ...(agent && parent === null && call && { parentCall: call }),
    ...(isRecord(record['forkedFrom']) && { inherited: true }),
  }
}

function* told(state: State, record: Fields, ts: number | null): Generator<Item> {
  const { session } = state
  const forked = isRecord(record['forkedFrom']) ? str(record['forkedFrom']['sessionId']) : undefined
  if (forked && state.told.relation !== 'fork') {
    state.origin = forked
    yield edgeItem('interactive_fork', session, forked, null)
  } else if (!forked && state.origin !== null) {
    // The times of what it copied are its origin's.
    yield edgeItem('interactive_fork', session, state.origin, ts)
    state.origin = null
  }
  const facts = factsItems(state, {
    ...(forked && { relation: 'fork' }),
    startedAt: forked ? undefined : (ts ?? undefined),
    cwd: str(record['cwd']),
    gitBranch: str(record['gitBranch']),
    agentVersion: str(record['version']),
    model: str(record['model']),
  })
  // A sub-agent's file is not the session's own.
  for (const item of facts) yield record['isSidechain'] === true ? { ...item, isGuess: true } : item
}

const partsIn = (record: Fields): Part[] => partsOf(fields(record['message'])['parts'])

/** What stands in a record beside what is told of it anyway. */
function restOf(record: Fields): Fields {
  const { uuid, parentUuid, sessionId, timestamp, cwd, version, gitBranch, forkedFrom, message, ...rest } =
    record
  return rest
}

const BY_PERSON: ReadonlySet<unknown> = new Set([undefined, 'mid_turn_user_message', 'realtime_message'])

function* asked(state: State, record: Fields, message: Frame): Generator<Item> {
  const { subtype, provenance, systemPayload } = record
  const parts = partsIn(record)
  const text = parts.map((part) => (part.is === 'text' ? part.text : '')).join('\n')
  const ended = subtype === 'notification' ? taskEnd(text) : undefined
  const isPerson = BY_PERSON.has(subtype) && (provenance ?? 'real_user') === 'real_user'
  if (isPerson && !record['isSidechain'])
    remember(state.prompts, [str(record['parentUuid']) ?? '', `${message.name}#0`])
  const typed = isRecord(systemPayload) && isPerson ? str(systemPayload['displayText']) : undefined
  const told = parts.map(asTold)
  // Said while the agent was at work.
  const steered = subtype === 'mid_turn_user_message' ? ({ kind: 'human_intervention' } as const) : {}
  yield* messageEvents(
    state,
    {
      ...message,
      speaker: ended ? 'tool' : isPerson ? 'user' : 'system',
      parts: ended ? [ended] : typed ? [{ is: 'text', text: typed, raw: { text: typed } }] : told,
      facts: { ...restOf(record), ...(typed && { message: record['message'] }) },
      more: { ...message.more, ...steered },
    },
    TOOLS,
  )
}

const REMINDER = 'reminder of the client'
const CLIENTS_OWN = { kind: 'lifecycle', role: 'system' } as const
/** Before a prompt, as a part of its own, may stand what the client tells the model. */
const asTold = (part: Part, at: number, { length }: readonly Part[]): Part =>
  part.is === 'text' && at < length - 1 && /^\s*<system-reminder>/.test(part.text)
    ? otherPart(REMINDER, part.raw, { summary: REMINDER, more: CLIENTS_OWN })
    : part

const ENDS = { completed: 'ok', failed: 'failed', cancelled: 'stopped', stopped: 'stopped' } as const

/** A notice says how something ended that went on in the background: a result of the call that began it. */
function taskEnd(text: string): Part | undefined {
  const between = (tag: string): string | undefined => {
    const [from, to] = [text.indexOf(`<${tag}>`), text.lastIndexOf(`</${tag}>`)]
    return from === -1 || to <= from ? undefined : text.slice(from + tag.length + 2, to)
  }
  const id = between('tool-use-id')
  const status = between('status') ?? ''
  if (!id || !Object.hasOwn(ENDS, status)) return undefined
  const state = ENDS[status as keyof typeof ENDS]
  const durationMs = num(Number(between('duration_ms')))
  const said = between('result') ?? between('summary') ?? text
  return { is: 'result', id, text: said, failed: state === 'failed', state, durationMs, raw: { text } }
}

function* answered(state: State, record: Fields, message: Frame): Generator<Item> {
  const parts = partsIn(record).filter((part) => !(part.is === 'text' && part.text === ''))
  const { usageMetadata, ...facts } = restOf(record)
  yield* messageEvents(state, { ...message, speaker: 'assistant', parts, facts }, TOOLS)
  if (!isRecord(usageMetadata)) return
  const [input, output, reasoning, total] = [
    'promptTokenCount',
    'candidatesTokenCount',
    'thoughtsTokenCount',
    'totalTokenCount',
  ].map((name) => tokenCount(usageMetadata[name])) as [number, number, number, number]
  const { name, ts } = message
  const counts = { input, output, reasoning, cacheRead: usageMetadata['cachedContentTokenCount'] }
  // By the wire: one protocol counts thoughts beside the answer, the other among it. The total tells which.
  const overlaps = { inputHasCache: true, outputLacksReasoning: total >= input + output + reasoning }
  yield usageItem(state, disjointTokens(counts, overlaps), {
    id: `qwen:${name}`,
    ts,
    model: str(record['model']) ?? state.born.model ?? null,
    event: `${name}#0`,
    isSidechain: message.more?.isSidechain,
  })
}

function* returned(state: State, record: Fields, message: Frame): Generator<Item> {
  const outcome = fields(record['toolCallResult'])
  const parts = partsIn(record).map((part) => (part.is === 'result' ? resultPart(part, outcome) : part))
  yield* messageEvents(state, { ...message, speaker: 'tool', parts, facts: restOf(record) }, TOOLS)
}

function resultPart(part: ResultPart, outcome: Fields): Part {
  const { status } = outcome
  const shown = fields(outcome['resultDisplay'])
  const isShell = shown['type'] === 'shell_result'
  const given = fields(fields(part.raw['functionResponse'])['response'])
  const text = str(given['output']) ?? str(given['error']) ?? part.text ?? ''
  // In files of sub-agents nothing but the words is left.
  const isCommand = isShell || text.startsWith('Command: ')
  const exitCode = isCommand
    ? (num(shown['exitCode']) ?? exitCodeIn(text.slice(-400), /^Exit Code: (\d+)$/m))
    : undefined
  const isRefused = status === 'cancelled' && /did not allow|denied/.test(text)
  const isStopped = status === 'cancelled' && !isRefused
  return {
    ...part,
    text: (isShell ? str(shown['output']) : undefined) ?? (isCommand ? outputIn(text) : text),
    failed: status === 'error' || part.failed || (exitCode ?? 0) !== 0,
    isRefused,
    state: isStopped ? 'stopped' : shown['status'] === 'background' ? 'background' : undefined,
    exitCode,
    durationMs: num(outcome['durationMs']),
    original: shown['truncatedForSession'] === true ? undefined : str(shown['originalContent']),
  }
}

/** Of what the model is told of a command, the output. */
function outputIn(text: string): string {
  const [from, to] = [text.indexOf('\nOutput: '), text.lastIndexOf('\nError: ')]
  const output = from === -1 || to <= from ? text : text.slice(from + '\nOutput: '.length, to)
  return output === '(empty)' ? '' : output
}

const lifecycle = (summary: string, mark?: Mark): Partial<Other> => ({ summary, ...(mark && { mark }) })
const SUBTYPES: Readonly<Record<string, (payload: Fields) => Partial<Other>>> = {
  ...Object.fromEntries(
    wordList(`
      attribution_snapshot at_command session_source agent_bootstrap agent_launch_prompt agent_session_ready
      file_history_snapshot user_text_elements session_artifact_event session_artifact_snapshot branch_checkpoint
      goal_state goal_runtime parent_session session_model custom_title`).map((name) => [
      name,
      () => lifecycle(name.replaceAll('_', ' ')),
    ]),
  ),
  chat_compression: () => lifecycle('conversation compressed', 'compaction'),
  slash_command: (payload) => lifecycle(str(payload['rawCommand']) ?? 'command'),
  agent_retry: (payload) => ({ kind: 'retry', summary: `attempt ${num(payload['attempt']) ?? '?'}` }),
  rewind: () => ({ kind: 'human_intervention', summary: 'rewound' }),
  turn_result: ({ state, error }) =>
    state === 'cancelled'
      ? { kind: 'human_intervention', mark: 'interrupt', summary: 'turn cancelled' }
      : state === 'error'
        ? { kind: 'error', summary: leaves(error) ?? 'turn failed' }
        : lifecycle('turn ended', 'turn-end'),
  ui_telemetry: ({ uiEvent }) => telemetry(fields(uiEvent)),
}

function telemetry(event: Fields): Partial<Other> {
  const name = str(event['event.name']) ?? 'telemetry'
  // What it does beside the conversation (memories) is nobody's failure.
  const isBeside = str(event['subagent_type'])?.startsWith('managed-') === true
  if (name.endsWith('.api_error') && !isBeside)
    return { kind: 'error', summary: str(event['error_message']) ?? 'request failed' }
  return lifecycle(name)
}

function* noted(state: State, record: Fields, message: Frame): Generator<Item> {
  const subtype = str(record['subtype']) ?? ''
  const payload = fields(record['systemPayload'])
  const isKnown = record['type'] === 'system' && Object.hasOwn(SUBTYPES, subtype)
  const name = `${str(record['type']) ?? 'no type'} ${subtype}`.trim()
  yield* consequences(state, subtype, payload, message)
  const raw = isRecord(record['message']) ? { ...restOf(record), message: record['message'] } : restOf(record)
  const part = otherPart(name, raw, { isKnown, ...(isKnown && SUBTYPES[subtype]?.(payload)) })
  const speaker = subtype === 'rewind' || part.mark === 'interrupt' ? 'user' : 'system'
  yield* messageEvents(state, { ...message, speaker, parts: [part] }, TOOLS)
}

/** What a record says of the session, or of what was said before. */
function* consequences(
  state: State,
  subtype: string,
  payload: Fields,
  { parent, ts }: Frame,
): Generator<Item> {
  const { session } = state
  const above = subtype === 'parent_session' ? str(payload['parentSessionId']) : undefined
  if (above) yield edgeItem('subagent', session, above, ts)
  const title = subtype === 'custom_title' ? str(payload['customTitle']) : undefined
  yield* factsItems(state, {
    ...(above && { relation: 'subagent' }),
    title,
    titleByPerson: title === undefined ? undefined : payload['titleSource'] !== 'auto',
    model: subtype === 'session_model' ? str(payload['modelId']) : undefined,
  })
  if (subtype !== 'rewind') return
  const at = state.prompts.findIndex((entry) => entry[0] === (parent ?? ''))
  const [gone] = at === -1 ? [] : state.prompts.splice(at)
  if (gone) yield { type: 'supersede', session, sinceKey: gone[1] }
}
