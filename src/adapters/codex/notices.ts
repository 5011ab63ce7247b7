// `event_msg`: what the client told its screen. Turn boundaries, interrupts, rollbacks and errors exist only here;
// texts are second tellings of response items (or the only ones, after a kill).

import type { EventItem, Item } from '../adapter.ts'
import { isRecord, num, str } from '../kit/guards.ts'
import { shortHash } from '../kit/text.ts'
import { forgetRunning, isRunning } from './background.ts'
import {
  changedFiles,
  durationOf,
  endOf,
  itemCompleted,
  measured,
  readFiles,
  spawnEdges,
  withFiles,
} from './items.ts'
import { limitItems } from './limits.ts'
import { answer, reasoning, userPrompt } from './messages.ts'
import { noteTier } from './meta.ts'
import { resumeAtTurn } from './resumed.ts'
import { eventAt, firstLine, type Spot } from './state.ts'
import { callStanding, noteEnd, resultEvent } from './tools.ts'
import { tokenCount } from './usage.ts'

const QUIET =
  /^(?:context_compacted|entered_review_mode|exited_review_mode|thread_goal_updated|thread_goal_cleared|web_search_(?:begin|end)|image_generation_(?:begin|end)|view_image_tool_call|background_event|deprecation_notice|turn_diff|session_configured|shutdown_complete|item_started|model_reroute|hook_started|hook_completed|collab_\w+|exec_command_(?:begin|output_delta)|patch_apply_begin|mcp_tool_call_begin|dynamic_tool_call_\w+|turn_moderation_metadata|plan_update|guardian_assessment|undo_(?:started|completed))$/

export function notice(spot: Spot): Item[] {
  const { payload, type } = spot
  switch (type) {
    case 'token_count':
      return [...tokenCount(spot), ...limitItems(spot)]
    case 'user_message':
      return toldPrompt(spot)
    case 'agent_message':
      return answer(
        spot,
        'notice',
        [{ type: 'output_text', text: payload['message'] }],
        undefined,
        str(payload['phase']),
      )
    case 'agent_reasoning':
    case 'agent_reasoning_raw_content': {
      const text = str(payload['text'])
      return text ? reasoning(spot, 'notice', [text], undefined) : [noted(spot)]
    }
    case 'item_completed':
      return itemCompleted(spot)
    case 'task_complete':
    case 'turn_complete':
      spot.state.turnPrompts = null
      spot.state.hasTurnEnds = true
      return [taskComplete(spot)]
    case 'turn_aborted':
      spot.state.turnPrompts = null
      return [aborted(spot)]
    case 'thread_rolled_back':
      return rolledBack(spot)
    case 'task_started':
    case 'turn_started':
      spot.state.turnPrompts = 0
      spot.state.hasTurnEnds = true
      spot.state.isStopped = false
      return [...resumeAtTurn(spot), noted(spot)]
    case 'thread_settings_applied':
      noteSettings(spot, payload['thread_settings'])
      return [noted(spot)]
    case 'thread_name_updated':
      return [...named(spot), noted(spot)]
    case 'exec_command_end':
    case 'patch_apply_end':
    case 'mcp_tool_call_end':
      return [toolEnded(spot)]
    case 'sub_agent_activity':
    case 'collab_agent_spawn_end':
      return [...spawnEdges(spot, payload), noted(spot)]
    case 'error':
    case 'stream_error':
    case 'warning':
      return [trouble(spot)]
    default:
      return QUIET.test(type) ? [noted(spot)] : [noted(spot), { type: 'unknown', name: `event_msg/${type}` }]
  }
}

function noted(spot: Spot): EventItem {
  const { thread_id: _, ...payload } = spot.payload
  const id = str(payload['turn_id']) ?? str(payload['call_id']) ?? shortHash(JSON.stringify(payload))
  return eventAt(spot, {
    origin: `${spot.type}:${id}`,
    kind: 'lifecycle',
    role: 'system',
    summary: spot.type.replaceAll('_', ' '),
    payload,
  })
}

function toldPrompt(spot: Spot): Item[] {
  const { type: _, ...body } = spot.payload
  const text = str(body['message'])
  return text === undefined ? [noted(spot)] : userPrompt(spot, 'notice', text, body)
}

function taskComplete(spot: Spot): EventItem {
  // The last message was told before, as an answer.
  const { last_agent_message: _, error, ...payload } = spot.payload
  const event = noted(spot)
  const durationMs = num(payload['duration_ms'])
  if (durationMs !== undefined) event.durationMs = durationMs
  if (!error) return { ...event, payload, kind: 'completion', summary: 'turn complete', mark: 'turn-end' }
  const text = (isRecord(error) ? str(error['message']) : str(error)) ?? 'the turn failed'
  return { ...event, payload: { ...payload, error }, kind: 'error', summary: firstLine(text), said: text }
}

function aborted(spot: Spot): EventItem {
  const reason = str(spot.payload['reason']) ?? 'interrupted'
  // A sub-agent is stopped by the one that started it, and the copy of a running turn ends so where nobody stopped it.
  // A refusal, or a call that was stopped, with the end of its turn is one act.
  const { isSubagent, isStopped } = spot.state
  const isHuman = !isSubagent && !isStopped && (reason === 'interrupted' || reason === 'replaced')
  return {
    ...noted(spot),
    kind: isHuman ? 'human_intervention' : 'lifecycle',
    role: isHuman ? 'user' : 'system',
    summary: `turn aborted: ${reason}`,
    ...(isHuman ? { mark: 'interrupt' } : {}),
  }
}

function rolledBack(spot: Spot): Item[] {
  const { turns } = spot.state
  const count = Math.max(0, Math.trunc(num(spot.payload['num_turns']) ?? 0))
  const event: EventItem = {
    ...noted(spot),
    kind: 'human_intervention',
    role: 'user',
    summary: `rolled back ${count} turn${count === 1 ? '' : 's'}`,
  }
  const sinceKey = count > 0 ? turns[Math.max(0, turns.length - count)] : undefined
  if (sinceKey === undefined) return [event]
  turns.splice(Math.max(0, turns.length - count))
  return [{ type: 'supersede', session: spot.session, sinceKey }, event]
}

function named(spot: Spot): Item[] {
  const title = str(spot.payload['thread_name'])
  return title && !spot.inherited
    ? [{ type: 'session', session: spot.session, title, titleByPerson: true }]
    : []
}

/** Ends of tools as older clients told them; the output follows as a response item. */
function toolEnded(spot: Spot): EventItem {
  const { payload } = spot
  const id = str(payload['call_id']) ?? ''
  const exitCode = num(payload['exit_code'])
  const failed =
    payload['success'] === false || (exitCode !== undefined && exitCode !== 0) || hasFailed(payload['result'])
  const standing = callStanding(spot, id)
  const durationMs = measured(spot.type === 'exec_command_end', durationOf(payload['duration']))
  if (standing === 'open') noteEnd(spot, id, exitCode, durationMs, failed)
  // It went on in the background.
  if (standing === 'answered' && isRunning(spot.state, id)) {
    const end = resultEvent(spot, id, endOf(spot.type, payload, undefined), payload)
    forgetRunning(spot.state, id)
    return end
  }
  return withFiles(noted(spot), [...changedFiles(payload), ...readFiles(payload)])
}

/** What a server's tool gave back, as Rust writes it down. */
function hasFailed(result: unknown): boolean {
  if (!isRecord(result)) return false
  const given = isRecord(result['Ok']) ? result['Ok'] : {}
  return result['Err'] !== undefined || given['isError'] === true || given['is_error'] === true
}

function trouble(spot: Spot): EventItem {
  const text = str(spot.payload['message']) ?? ''
  const isRetry = spot.type === 'stream_error' && /retry|reconnect/i.test(text)
  const event: EventItem = {
    ...noted(spot),
    kind: isRetry ? 'retry' : spot.type === 'warning' ? 'lifecycle' : 'error',
    summary: `${spot.type.replaceAll('_', ' ')}: ${firstLine(text)}`,
  }
  return text ? { ...event, said: text } : event
}

function noteSettings(spot: Spot, settings: unknown): void {
  if (!isRecord(settings)) return
  spot.state.model ??= str(settings['model']) || null
  noteTier(spot, settings)
}
