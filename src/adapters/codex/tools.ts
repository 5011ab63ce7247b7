// Calls and results. One spine: the model's call and the output it was given; what the client adds about the end of a
// tool (exit status, duration) is kept in the state until the output comes.

import type { EndState } from '../../model.ts'
import type { Act, EventItem, Item } from '../adapter.ts'
import { remember } from '../kit/bounded.ts'
import { closeCall, openCall } from '../kit/calls.ts'
import { isRecord, list, str } from '../kit/guards.ts'
import { jsonOr, shortHash } from '../kit/text.ts'
import { type Deeds, deedsOf, filesOf, patchEdits, SCRIPT } from './acts.ts'
import { endedCall, forgetRunning, isPoll, notePoll, runnerOf } from './background.ts'
import { type Output, readOutput } from './outputs.ts'
import { eventAt, firstLine, type Spot, type State } from './state.ts'

const MAX_REMEMBERED = 64

export interface ToolCall {
  id: string
  tool: string
  input: unknown
  payload: unknown
  /** What its summary begins with where it is neither a command nor a patch. */
  text: string
  deeds: Deeds
  ts?: number | null
}

/** `function_call`, `custom_tool_call`, `local_shell_call`, `tool_search_call`, `web_search_call`. */
export function toolCall(spot: Spot): Item[] {
  const { payload, type } = spot
  const { internal_chat_message_metadata_passthrough: _, ...body } = payload
  const raw = payload['arguments'] ?? payload['input'] ?? payload['action']
  const input = parsed(raw)
  if (typeof payload['arguments'] === 'string') body['arguments'] = input
  const id = str(payload['call_id']) ?? str(payload['id']) ?? ''
  const tool = toolName(payload, type)
  const call: ToolCall = {
    id,
    tool,
    input,
    payload: body,
    text: typeof raw === 'string' ? raw : raw === undefined ? '' : searchable(raw),
    deeds: deedsOf(tool, input, raw === payload['arguments'] ? input : raw),
  }
  return [callEvent(spot, call)]
}

const parsed = (value: unknown): unknown =>
  typeof value === 'string' && /^\s*[{[]/.test(value) ? jsonOr(value) : value

function toolName(payload: Record<string, unknown>, type: string): string {
  const name = str(payload['name'])
  if (name === undefined) return type.replace(/_call$/, '')
  const namespace = str(payload['namespace'])
  return namespace?.startsWith('mcp') && !name.startsWith('mcp')
    ? `${namespace.replace(/(?<!_)_+$/, '')}__${name}`
    : name
}

/** The strings inside a small structure such as a query. */
function searchable(value: unknown): string {
  if (typeof value === 'string') return value
  const inner = isRecord(value) ? Object.values(value) : list(value)
  return inner.map(searchable).filter(Boolean).join(' ')
}

export function callEvent(spot: Spot, call: ToolCall): EventItem {
  const { act, command, patch } = call.deeds
  const ts = call.ts === undefined ? spot.ts : call.ts
  const isScript = call.tool === SCRIPT && typeof call.input === 'string'
  // Commands and patches of a script have calls of their own where the thread is told in items.
  const counts = !isScript || !spot.state.hasItems
  const edits = counts && patch !== undefined
  const kind = openCall(spot.state.book, {
    id: call.id,
    tool: call.tool,
    input: call.input,
    ts,
    edits,
    command: counts ? command : undefined,
  })
  notePoll(spot.state, call.id, call.tool, call.input)
  const files = counts ? filesOf(call.input, patch) : []
  const text = isScript ? call.text : (patch ?? command ?? call.text)
  const event = eventAt(spot, {
    origin: `call:${call.id || shortHash(call.tool + call.text)}`,
    kind,
    role: 'assistant',
    tool: call.tool,
    summary: edits && !isScript ? `Edit ${files.join(', ')}` : `${call.tool}: ${firstLine(text)}`,
    act: isScript ? scriptAct(act, counts, edits ? patch : undefined) : act,
    payload: call.payload,
    ts,
  })
  if (call.id) event.callId = call.id
  if (files.length > 0) event.files = files
  return event
}

/** A deed is told once: where an item tells it, the script beside it only names the command. */
function scriptAct(act: Act, counts: boolean, patch: string | undefined): Act {
  if (!counts) return { ...act, does: 'other' }
  return patch === undefined ? act : { ...act, edits: patchEdits(patch) }
}

/** `*_output`: the result the model was given. */
export function toolOutput(spot: Spot): Item[] {
  const { internal_chat_message_metadata_passthrough: __, ...body } = spot.payload
  const id = str(spot.payload['call_id']) ?? ''
  const output = readOutput(spot.payload['output'] ?? spot.payload['tools'])
  if (spot.type === 'tool_search_output') {
    const names = toolNames(spot.payload['tools'])
    output.text = names.join('\n')
    output.said = output.text
    output.body = `${names.length} tools`
    body['tools'] = names
  } else if (body['output'] !== undefined) body['output'] = output.value
  const at = spot.state.ends.findIndex((end) => end[0] === id)
  const facts = spot.state.ends[at]
  if (facts) {
    spot.state.ends.splice(at, 1)
    if (output.exitCode === undefined && facts[1] !== null) output.exitCode = facts[1]
    if (facts[2] !== null) output.durationMs = facts[2]
    output.failed ||= facts[3]
  }
  if (output.printedExit !== undefined && !spot.state.hasItems) {
    output.exitCode = output.printedExit
    output.failed = output.printedExit !== 0
  }
  // Whoever asks for more of a command has got an answer; it is the command that goes on.
  if (isPoll(spot.state, id)) delete output.session
  const event = resultEvent(spot, id, output, body)
  remember(spot.state.answered, [id, event.tool ?? '', output.exitCode !== undefined], MAX_REMEMBERED)
  const ended = endedCall(spot.state, id, output)
  if (ended === undefined) return [event]
  // How long the command took nobody says.
  const { durationMs: _, ...told } = output
  const end = resultEvent({ ...spot, part: 'result' }, ended, told, body)
  forgetRunning(spot.state, ended)
  return [event, end]
}

/** Names of the tools in a list of declarations, which run to tens of kilobytes. */
export function toolNames(tools: unknown): string[] {
  return list(tools).flatMap((tool) => {
    const name = isRecord(tool) ? (str(tool['name']) ?? str(tool['type'])) : undefined
    if (!isRecord(tool) || name === undefined) return []
    const inner = toolNames(tool['tools'])
    return inner.length > 0 ? inner.map((one) => `${name}.${one}`) : [name]
  })
}

export function resultEvent(spot: Spot, id: string, output: Output, payload: unknown): EventItem {
  const closed = closeCall(spot.state.book, id, output.failed, spot.ts)
  const line = firstLine(output.body)
  // All that was running is stopped at once, by one person.
  const isIntervention = output.stopped && !spot.state.isStopped
  if (output.stopped) spot.state.isStopped = true
  const event = eventAt(spot, {
    origin: `result:${id || shortHash(output.text)}`,
    kind: isIntervention ? 'human_intervention' : output.failed || output.stopped ? 'error' : 'tool_result',
    role: 'tool',
    summary: output.exitCode ? `exit ${output.exitCode}: ${line}` : line || 'done',
    state: stateOf(output),
    payload,
  })
  const tool = closed?.tool ?? answerTo(spot.state, id)?.[1]
  if (tool) event.tool = tool
  if (id) event.callId = id
  if (output.said) event.said = output.said
  const exitCode = output.exitCode ?? output.printedExit
  if (exitCode !== undefined) event.exitCode = exitCode
  if (output.refused) event.mark = 'denied'
  else if (isIntervention) event.mark = 'interrupt'
  const durationMs = output.durationMs ?? closed?.durationMs
  if (durationMs !== undefined) event.durationMs = durationMs
  return event
}

function stateOf(output: Output): EndState {
  if (output.refused) return 'refused'
  if (output.stopped) return 'stopped'
  if (output.failed || output.printedExit) return 'failed'
  return output.session !== undefined && output.exitCode === undefined ? 'background' : 'ok'
}

/** What is known of a call that has got its output. A command in the background may go on long after the others are forgotten. */
function answerTo(state: State, id: string): State['answered'][number] | undefined {
  const isCall = (entry: readonly unknown[]): boolean => entry[0] === id
  const runner = runnerOf(state, id)
  return state.answered.findLast(isCall) ?? (runner === undefined ? undefined : [id, runner, false])
}

/** Whether a call waits for its output, has got it without or with its end, or was never made by the model itself. */
export function callStanding(spot: Spot, id: string): 'open' | 'answered' | 'ended' | 'unknown' {
  if (spot.state.book.open.some((entry) => entry[0] === id)) return 'open'
  const answer = answerTo(spot.state, id)
  return answer === undefined ? 'unknown' : answer[2] ? 'ended' : 'answered'
}

export function noteEnd(
  spot: Spot,
  id: string,
  exitCode: number | undefined,
  durationMs: number | undefined,
  failed: boolean,
): void {
  remember(spot.state.ends, [id, exitCode ?? null, durationMs ?? null, failed], MAX_REMEMBERED)
}
