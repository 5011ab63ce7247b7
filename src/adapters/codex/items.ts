// `item_completed` of paginated rollouts (0.147+): turn items, PascalCase. Most repeat a response item; in code mode the
// commands and edits exist only here, because the model's own call is a script.

import { mappedEdits } from '../../event/edits.ts'
import type { EventItem, Item } from '../adapter.ts'
import { edgeItem } from '../kit/facts.ts'
import { isRecord, list, num, str, time } from '../kit/guards.ts'
import { shortHash, wordList } from '../kit/text.ts'
import { commandLine, deedsOf, typedLine } from './acts.ts'
import { forgetRunning } from './background.ts'
import { answer, reasoning, reasoningParts, userPrompt } from './messages.ts'
import type { Output } from './outputs.ts'
import { partsText } from './outputs.ts'
import { eventAt, firstLine, type Spot } from './state.ts'
import { callEvent, callStanding, noteEnd, resultEvent, type ToolCall } from './tools.ts'

type TurnItem = Record<string, unknown>

const QUIET = new Set(
  wordList(`
  HookPrompt Sleep ImageView ImageGeneration WebSearch Extension EnteredReviewMode ExitedReviewMode
  ContextCompaction`),
)

export function itemCompleted(spot: Spot): Item[] {
  const item = spot.payload['item']
  const type = isRecord(item) ? str(item['type']) : undefined
  if (!isRecord(item) || type === undefined)
    return [noted(spot, { type: 'item_completed', item }), unnamed('unnamed')]
  switch (type) {
    case 'UserMessage':
      return userPrompt(spot, 'notice', partsText(item['content']), { content: item['content'] })
    case 'AgentMessage':
      return answer(spot, 'notice', outputTexts(item['content']), str(item['id']), str(item['phase']))
    case 'Reasoning':
      return reasoning(
        spot,
        'notice',
        reasoningParts(item['summary_text'], item['raw_content']),
        str(item['id']),
      )
    case 'CommandExecution':
    case 'FileChange':
    case 'McpToolCall':
    case 'DynamicToolCall':
      return toolEnd(spot, type, item)
    case 'CollabAgentToolCall':
    case 'SubAgentActivity':
      return [...spawnEdges(spot, item), noted(spot, item)]
    case 'Plan':
      return [plan(spot, item)]
    default:
      return QUIET.has(type) ? [noted(spot, item)] : [noted(spot, item), unnamed(type)]
  }
}

const unnamed = (type: string): Item => ({ type: 'unknown', name: `item_completed/${type}` })

/** The same shape as in the response item that follows. */
function outputTexts(content: unknown): unknown[] {
  return list(content).map((part) =>
    isRecord(part) && part['type'] === 'Text' ? { type: 'output_text', text: part['text'] } : part,
  )
}

/** A record that adds nothing to search: kept whole, without text. */
function noted(spot: Spot, item: TurnItem): EventItem {
  const id = str(item['id']) ?? shortHash(JSON.stringify(item))
  return eventAt(spot, {
    origin: `item:${str(item['type'])}:${id}`,
    kind: 'lifecycle',
    role: 'system',
    summary: [item['type'], item['tool'] ?? item['kind'] ?? item['status']].filter(Boolean).join(': '),
    payload: item,
  })
}

function plan(spot: Spot, item: TurnItem): EventItem {
  const text = str(item['text']) ?? ''
  const event: EventItem = {
    ...noted(spot, item),
    role: 'assistant',
    summary: `plan: ${firstLine(text)}`,
  }
  return text ? { ...event, said: text } : event
}

/** Of an item, or of the notice that stood in its place before there were items. */
export function spawnEdges(spot: Spot, item: TurnItem): Item[] {
  const begun = item['new_thread_id']
  const isSpawn = item['tool'] === 'spawn_agent' || item['kind'] === 'started' || begun !== undefined
  if (!isSpawn || spot.inherited) return []
  const children = [...list(item['receiver_thread_ids']), item['agent_thread_id'], begun]
  const evidence = str(item['id']) ?? str(item['call_id']) ?? str(item['event_id'])
  return children.flatMap((child): Item[] =>
    typeof child === 'string' && child !== spot.session
      ? [edgeItem('subagent', child, spot.session, spot.ts, evidence || undefined)]
      : [],
  )
}

/** The end of a command, an edit or a tool: enrichment of the model's call, or, in code mode, the call itself. */
function toolEnd(spot: Spot, type: string, item: TurnItem): Item[] {
  const id = str(item['id']) ?? ''
  const output = endOf(type, item, spanOf(spot.payload))
  const standing = callStanding(spot, id)
  if (standing === 'open') {
    const durationMs = measured(type === 'CommandExecution', output.durationMs)
    noteEnd(spot, id, output.exitCode, durationMs, output.failed || output.stopped)
    return [withFiles(noted(spot, item), filesOf(type, item))]
  }
  if (standing === 'ended') return [noted(spot, item)]
  // A command in the background: its output was answered with "still running", and here is how it ended.
  if (standing === 'answered') {
    const end = resultEvent(spot, id, output, item)
    forgetRunning(spot.state, id)
    return [end]
  }
  const call = callEvent(spot, {
    id,
    ...callOf(type, item),
    ts: time(spot.payload['started_at_ms']) ?? spot.ts,
  })
  // A person's own `!command`.
  if (item['source'] === 'user_shell') {
    call.role = 'user'
    spot.state.shellItems++
  }
  const files = filesOf(type, item)
  withFiles(call, files)
  if (type === 'FileChange') call.summary = `Edit ${files.join(', ')}`
  const { command, changes, arguments: _, ...end } = item
  return [call, resultEvent({ ...spot, part: 'result' }, id, output, end)]
}

function callOf(type: string, item: TurnItem): Omit<ToolCall, 'id' | 'ts'> {
  if (type === 'CommandExecution') return commandCall(item)
  if (type === 'FileChange') {
    const text = patchText(item)
    const { changes } = item
    const act = { does: 'edit', input: changes, edits: mappedEdits(changes) } as const
    const deeds = { act, command: undefined, patch: text }
    return { tool: 'apply_patch', input: text, payload: { type, changes }, text, deeds }
  }
  const server = str(item['server'])
  const tool = str(item['tool']) ?? type
  const input = item['arguments']
  return {
    tool: server ? `mcp__${server}__${tool}` : tool,
    input,
    payload: { type, server, tool, arguments: input },
    text: typeof input === 'string' ? input : input === undefined ? '' : JSON.stringify(input),
    deeds: server
      ? { act: { does: 'other', input }, command: undefined, patch: undefined }
      : deedsOf(tool, input, input),
  }
}

function commandCall(item: TurnItem): Omit<ToolCall, 'id' | 'ts'> {
  const { type, command, cwd, parsed_cmd, source } = item
  const text = commandLine(command) ?? ''
  const tool = 'exec_command'
  const input = { cmd: text }
  const deeds = deedsOf(tool, input, undefined)
  const path = pathOf(str(cwd))
  deeds.act.command = typedLine(command) ?? text
  if (path) deeds.act.cwd = path
  return { tool, input, payload: { type, command, cwd, parsed_cmd, source }, text, deeds }
}

/** Directories of items are addresses. */
function pathOf(address: string | undefined): string | undefined {
  if (!address?.startsWith('file://')) return address
  try {
    return decodeURIComponent(new URL(address).pathname).replace(/^\/(?=[A-Za-z]:)/, '')
  } catch {
    return address
  }
}

function changesOf(item: TurnItem): [string, unknown][] {
  return isRecord(item['changes']) ? Object.entries(item['changes']) : []
}

export const changedFiles = (item: TurnItem): string[] =>
  changesOf(item).flatMap(([path, change]) => {
    const moved = isRecord(change) ? str(change['move_path']) : undefined
    return moved ? [path, moved] : [path]
  })

function patchText(item: TurnItem): string {
  return changesOf(item)
    .map(([path, change]) => {
      const body = isRecord(change) ? (str(change['unified_diff']) ?? str(change['content']) ?? '') : ''
      return `${path}\n${body}`
    })
    .join('\n')
}

function filesOf(type: string, item: TurnItem): string[] {
  return type === 'FileChange' ? changedFiles(item) : readFiles(item)
}

export function withFiles(event: EventItem, files: string[]): EventItem {
  if (files.length > 0) event.files = files
  return event
}

export const readFiles = (item: TurnItem): string[] =>
  list(item['parsed_cmd']).flatMap((part) => {
    const path = isRecord(part) && part['type'] === 'read' ? str(part['path']) : undefined
    return path ? [path] : []
  })

export function endOf(type: string, item: TurnItem, spanMs: number | undefined): Output {
  const status = str(item['status'])
  const exitCode = num(item['exit_code'])
  const result = item['result'] ?? item['content_items']
  const text =
    str(item['aggregated_output']) ??
    [str(item['stdout']), str(item['stderr'])].filter(Boolean).join('\n') ??
    ''
  const error = isRecord(item['error']) ? str(item['error']['message']) : str(item['error'])
  const told = text || error || (isRecord(result) ? partsText(result['content']) : partsText(result))
  const output: Output = {
    value: undefined,
    text: told,
    body: told,
    said: told,
    failed: status === 'failed' || (exitCode !== undefined && exitCode !== 0) || error !== undefined,
    stopped: status === 'declined',
    refused: status === 'declined',
  }
  if (exitCode !== undefined) output.exitCode = exitCode
  const durationMs = spanMs ?? durationOf(item['duration']) ?? num(item['durationMs'])
  if (durationMs !== undefined) output.durationMs = durationMs
  if (type === 'FileChange' && !told) output.body = status ?? ''
  return output
}

const LEAST_MS = 10

/** A command that was over before Codex began to look at it took, by its word, no time; the times of call and output tell more. */
export function measured(isCommand: boolean, durationMs: number | undefined): number | undefined {
  return isCommand && durationMs !== undefined && durationMs < LEAST_MS ? undefined : durationMs
}

/** From start to end: `duration` of a command counts only its last wait. */
function spanOf(payload: TurnItem): number | undefined {
  const from = num(payload['started_at_ms'])
  const to = num(payload['completed_at_ms'])
  return from !== undefined && to !== undefined && to >= from ? to - from : undefined
}

/** `{secs,nanos}`. */
export function durationOf(duration: unknown): number | undefined {
  if (!isRecord(duration)) return undefined
  const ms = (num(duration['secs']) ?? 0) * 1000 + (num(duration['nanos']) ?? 0) / 1e6
  return Math.round(ms)
}
