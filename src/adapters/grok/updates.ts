// One record of updates.jsonl → items. Runs of text chunks are put together before they come here (parse.ts); tool
// calls and results are shaped in tools.ts. Keys come from the event's number and its time in milliseconds: the number
// alone begins anew whenever a session is resumed.

import type { EndState } from '../../model.ts'
import type { EventItem, Item } from '../adapter.ts'
import { remember } from '../kit/bounded.ts'
import { edgeItem } from '../kit/facts.ts'
import { isRecord, list, num, str, time } from '../kit/guards.ts'
import { firstLine, wordList } from '../kit/text.ts'
import { demoteTurnEnds, endMark, stopKind } from './events.ts'
import { notedStart, type Session, usageItems } from './facts.ts'
import type { State } from './state.ts'
import { withoutCopyFields } from './text.ts'

export interface Update {
  kind: string
  body: Record<string, unknown>
  meta: Record<string, unknown>
  ts: number | null
  key: string
  inherited: boolean
  /** Where its line is. */
  offset: number
  length: number
}

/** Undefined for a record that holds no update. Old lines have no envelope. */
export function parseUpdate(
  session: Session,
  record: Record<string, unknown>,
  ordinal: number,
  place: { offset: number; length: number },
): Update | undefined {
  const params = isRecord(record['params']) ? record['params'] : record
  const body = params['update']
  if (!isRecord(body)) return undefined
  const kind = str(body['sessionUpdate'])
  if (kind === undefined) return undefined
  const meta = isRecord(params['_meta']) ? params['_meta'] : {}
  const ms = num(meta['agentTimestampMs'])
  const ts = time(ms) ?? time(record['timestamp'])
  const id = /^(.*)-(\d+)$/.exec(str(meta['eventId']) ?? '')
  const writer = id?.[1]
  const copied = writer !== undefined && writer !== '' && writer !== session.id
  const early = session.forkedAt !== null && ms !== undefined && ms < session.forkedAt
  return {
    kind,
    body,
    meta,
    ts,
    key: id && ms !== undefined ? `${id[2]}@${ms}` : `#${ordinal}`,
    inherited: copied || early,
    ...place,
  }
}

/** The fields every event of an update shares. */
export function eventOf(
  session: Session,
  update: Update,
  rest: Pick<EventItem, 'kind' | 'role' | 'summary' | 'payload'> & Partial<EventItem>,
): EventItem {
  const event: EventItem = { type: 'event', session: session.id, key: update.key, ts: update.ts, ...rest }
  if (update.inherited) event.inherited = true
  return event
}

const LIFECYCLE = new Set(
  wordList(`
  available_commands_update config_option_update session_info_update usage_update auto_compact_started
  auto_compact_completed auto_compact_cancelled auto_continue_completed background_tasks
  compaction_checkpoint diff_review feedback_request goal_updated hook_annotation hook_execution
  hooks_changed image_compressed image_dropped memory_dream_completed memory_files memory_flush_completed
  memory_flush_started memory_session_saved model_auto_switched model_changed monitor_event
  plugin_updates_installed plugins_changed reasoning_completed relay_sync_status response_completed
  response_started scheduled_task_created scheduled_task_deleted scheduled_task_fired session_recap
  session_recap_unavailable session_summary_generated subagent_progress task_backgrounded workflow_updated`),
)

/** Everything but texts and tools. */
export function* otherUpdate(session: Session, state: State, update: Update): Generator<Item> {
  const { kind, body } = update
  if (kind === 'turn_completed') yield* turnCompleted(session, state, update)
  else if (kind === 'rewind_marker') yield* rewind(session, state, update)
  else if (kind === 'retry_state') yield retryState(session, state, update)
  else if (kind === 'subagent_spawned') yield* subagentSpawned(session, state, update)
  else if (kind === 'plan') {
    const text = list(body['entries'])
      .map((entry) => (isRecord(entry) ? (str(entry['content']) ?? '') : ''))
      .join('\n')
    yield note(session, update, 'lifecycle', `plan: ${firstLine(text)}`, text)
  } else if (kind === 'current_mode_update') {
    yield note(
      session,
      update,
      'lifecycle',
      `mode: ${str(body['currentModeId']) ?? str(body['modeId']) ?? ''}`,
    )
  } else {
    const [event, text] = RESULTS[kind]?.(body) ?? ['lifecycle', '']
    const summary = text === '' ? words(kind) : `${words(kind)}: ${firstLine(text)}`
    const mark = kind === 'auto_compact_completed' ? { mark: 'compaction' as const } : {}
    yield { ...note(session, update, event, summary, text), ...endFacts(state, kind, body), ...mark }
    if (kind === 'model_changed') state.model = str(body['model_id']) ?? state.model
    if (!LIFECYCLE.has(kind) && !RESULTS[kind]) yield { type: 'unknown', name: `updates:${kind}` }
  }
}

type Result = (body: Record<string, unknown>) => [EventItem['kind'], string]

const RESULTS: Record<string, Result | undefined> = Object.assign(Object.create(null), {
  auto_recovery_started: (body: Record<string, unknown>) => ['retry', messageOf(body)],
  auto_recovery_exhausted: (body: Record<string, unknown>) => ['error', messageOf(body)],
  auto_compact_failed: (body: Record<string, unknown>) => ['error', messageOf(body)],
  subagent_finished: (body: Record<string, unknown>) =>
    body['status'] === 'completed'
      ? ['completion', str(body['output']) ?? '']
      : [
          body['status'] === 'failed' ? 'error' : 'lifecycle',
          str(body['error']) ?? str(body['output']) ?? '',
        ],
  task_completed: (body: Record<string, unknown>) => {
    const task = isRecord(body['task_snapshot']) ? body['task_snapshot'] : {}
    // Whoever stopped it meant to.
    const isKilled = task['signal'] && task['explicitly_killed'] !== true
    return [num(task['exit_code']) || isKilled ? 'error' : 'completion', str(task['output']) ?? '']
  },
})

/** How a sub-agent, or a command in the background, ended; and which call had begun it. */
function endFacts(
  state: State,
  kind: string,
  body: Record<string, unknown>,
): Pick<EventItem, 'callId' | 'exitCode' | 'durationMs' | 'state'> {
  const facts: ReturnType<typeof endFacts> = {}
  const task = isRecord(body['task_snapshot']) ? body['task_snapshot'] : {}
  const id = str(body['task_id']) ?? str(task['task_id'])
  const call = str(body['tool_call_id'])
  if (kind === 'task_backgrounded' && id && call) remember(state.tasks, [id, call], 64)
  if (kind === 'subagent_finished' || kind === 'task_completed') {
    const callId = state.tasks.find(([one]) => one === id)?.[1]
    const exitCode = num(task['exit_code'])
    const [from, to] = [systemTime(task['start_time']), systemTime(task['end_time'])]
    const durationMs =
      num(body['duration_ms']) ?? (from && to && to >= from ? Math.round(to - from) : undefined)
    const end = kind === 'task_completed' ? taskEnd(task) : AGENT_ENDS.get(body['status'])
    if (callId !== undefined) facts.callId = callId
    if (end !== undefined) facts.state = end
    if (exitCode !== undefined) facts.exitCode = exitCode
    if (durationMs !== undefined) facts.durationMs = durationMs
  }
  return facts
}

const AGENT_ENDS = new Map<unknown, EndState>([
  ['completed', 'ok'],
  ['failed', 'failed'],
  ['cancelled', 'stopped'],
])

function taskEnd(task: Record<string, unknown>): EndState {
  if (task['explicitly_killed'] === true) return 'stopped'
  return num(task['exit_code']) || task['signal'] ? 'failed' : 'ok'
}

/** Milliseconds of a moment as Rust writes it down. */
function systemTime(value: unknown): number | undefined {
  const seconds = isRecord(value) ? num(value['secs_since_epoch']) : undefined
  const nanos = isRecord(value) ? num(value['nanos_since_epoch']) : undefined
  return seconds === undefined ? undefined : seconds * 1000 + (nanos ?? 0) / 1e6
}

const words = (kind: string): string => kind.replaceAll('_', ' ')

function messageOf(body: Record<string, unknown>): string {
  return str(body['message']) ?? str(body['reason']) ?? str(body['error']) ?? ''
}

function note(
  session: Session,
  update: Update,
  kind: EventItem['kind'],
  summary: string,
  text = '',
): EventItem {
  const event = eventOf(session, update, {
    kind,
    role: 'system',
    summary,
    payload: { update: update.kind, ...(withoutCopyFields(update.body) as object) },
  })
  if (text !== '') event.said = text
  return event
}

/** Enough to know a message again; the cursor stays small. */
const beginning = (message: string): string => message.slice(0, 500)

function* turnCompleted(session: Session, state: State, update: Update): Generator<Item> {
  const { body } = update
  const reason = str(body['stop_reason']) ?? 'unknown'
  const message = str(body['agent_result']) ?? ''
  const reported = reason === 'error' && message !== '' && beginning(message) === state.lastError
  state.lastError = ''
  const kinds: Record<string, EventItem['kind']> = {
    end_turn: 'completion',
    error: reported ? 'lifecycle' : 'error',
    refusal: 'error',
    cancelled: stopKind(session),
  }
  const kind = Object.hasOwn(kinds, reason) ? (kinds[reason] as EventItem['kind']) : 'lifecycle'
  const summary = `turn ended: ${reason}${message === '' ? '' : `: ${firstLine(message)}`}`
  const event = note(session, update, kind, summary, reported ? '' : message)
  if (kind === 'human_intervention') event.role = 'user'
  const mark = endMark(kind)
  if (mark) event.mark = mark
  const { cancellationCategory, cancelTrigger } = update.meta
  if (cancellationCategory || cancelTrigger)
    event.payload = { ...(event.payload as object), cancellationCategory, cancelTrigger }
  const elapsed = num(body['elapsed_ms'])
  if (elapsed !== undefined) event.durationMs = elapsed
  yield event
  const id = str(body['prompt_id']) || `${session.id}:${update.key}`
  const place = { ts: update.ts, event: state.answer ?? update.key }
  yield* usageItems(session, id, place, body['usage'], state.model)
  state.answer = null
  yield* demoteTurnEnds(session, state)
}

/** The file only grows: what is taken back stays in it, and so do its tokens. */
function* rewind(session: Session, state: State, update: Update): Generator<Item> {
  const target = num(update.body['target_prompt_index'])
  const first = target === undefined ? undefined : state.prompts.find(([index]) => index >= target)
  if (first && target !== undefined) {
    yield { type: 'supersede', session: session.id, sinceKey: first[1] }
    state.prompts = state.prompts.filter(([index]) => index < target)
  }
  yield { ...note(session, update, 'human_intervention', `rewound to prompt ${target ?? '?'}`), role: 'user' }
}

function retryState(session: Session, state: State, update: Update): EventItem {
  const type = str(update.body['type']) ?? ''
  const message = messageOf(update.body)
  if (type === 'retrying') return note(session, update, 'retry', `retrying: ${firstLine(message)}`, message)
  const failed = type === 'failed' || type === 'exhausted'
  if (failed) state.lastError = beginning(message)
  return note(
    session,
    update,
    failed ? 'error' : 'lifecycle',
    `request ${type}: ${firstLine(message)}`,
    message,
  )
}

function* subagentSpawned(session: Session, state: State, update: Update): Generator<Item> {
  const { body } = update
  const description = str(body['description']) ?? ''
  yield note(session, update, 'lifecycle', `sub-agent started: ${description}`)
  const child = str(body['child_session_id']) ?? str(body['subagent_id'])
  if (!child) return
  // Notes that come later tell it again: the earlier of both moments counts, whichever is read first.
  const noted = notedStart(session, child)
  if (noted !== undefined && !state.children.includes(child)) remember(state.children, child, 256)
  const at = Math.min(update.ts ?? Number.POSITIVE_INFINITY, noted ?? Number.POSITIVE_INFINITY)
  // In a fork's copy the line still names the session that really started it.
  const parent = str(body['parent_session_id']) || session.id
  yield edgeItem('subagent', child, parent, Number.isFinite(at) ? at : null, update.key)
  const before = str(body['resumed_from'])
  if (before && before !== child) yield edgeItem('resumed', child, before, update.ts, update.key)
}
