// Every record that is described becomes the kind it is described as, and counts as known.
import { describe, expect, it } from 'vitest'
import {
  type Files,
  type Line,
  readOn,
  row,
  SESSION,
  toolCall,
  update,
  user,
  writeSession,
} from './setup/grok-session.ts'

/** Kinds of the events, and the names nobody described. */
function told(files: Files): string {
  const read = readOn(writeSession(files))
  const events = read.sessions.get(SESSION)?.events ?? []
  return [
    ...events.map((event) => event.kind),
    ...[...read.unknown.keys()].map((name) => `unknown ${name}`),
  ].join(' ')
}

describe('updates', () => {
  it.each<[string, Line, string]>([
    ['retry_state', { type: 'retrying' }, 'retry'],
    ['retry_state', { type: 'exhausted' }, 'error'],
    ['auto_recovery_started', {}, 'retry'],
    ['auto_recovery_exhausted', {}, 'error'],
    ['auto_compact_failed', {}, 'error'],
    ['rewind_marker', { target_prompt_index: 0 }, 'human_intervention'],
    ['plan', { entries: [] }, 'lifecycle'],
    ['current_mode_update', { currentModeId: 'plan' }, 'lifecycle'],
    ['turn_completed', { stop_reason: 'end_turn' }, 'completion'],
    ['turn_completed', { stop_reason: 'error' }, 'error'],
    ['turn_completed', { stop_reason: 'refusal' }, 'error'],
    ['turn_completed', { stop_reason: 'cancelled' }, 'human_intervention'],
    ['turn_completed', { stop_reason: 'max_tokens' }, 'lifecycle'],
    ['task_completed', { task_snapshot: { exit_code: 0 } }, 'completion'],
    ['task_completed', { task_snapshot: { exit_code: 1 } }, 'error'],
    ['task_completed', { task_snapshot: { exit_code: null, signal: 'SIGSEGV' } }, 'error'],
    ['task_completed', { task_snapshot: { signal: 'SIGKILL', explicitly_killed: true } }, 'completion'],
    ['subagent_finished', { status: 'completed' }, 'completion'],
    ['subagent_finished', { status: 'failed' }, 'error'],
    ['not_heard_of', {}, 'lifecycle unknown updates:not_heard_of'],
  ])('%s %o is %s', (sessionUpdate, more, kind) => {
    expect(told({ updates: [update({ sessionUpdate, ...more })] })).toBe(kind)
  })

  it.each(
    `available_commands_update config_option_update session_info_update usage_update compaction_checkpoint auto_compact_started
     auto_compact_completed auto_compact_cancelled auto_continue_completed subagent_spawned subagent_progress task_backgrounded
     hook_execution hook_annotation session_summary_generated session_recap model_changed model_auto_switched diff_review
     feedback_request monitor_event goal_updated workflow_updated image_compressed image_dropped response_started
     reasoning_completed response_completed background_tasks`.split(/\s+/),
  )('%s is bookkeeping', (sessionUpdate) => {
    expect(told({ updates: [update({ sessionUpdate })] })).toBe('lifecycle')
  })

  it.each([
    ['search_replace', 'edit'],
    ['write', 'edit'],
    ['image_edit', 'edit'],
    ['read_file', 'tool_call'],
    ...['run_terminal_command', 'run_terminal_cmd', 'bash'].map((name) => [name, 'test_run']),
  ])('a call of %s is %s', (name, kind) => {
    const own = { 'x.ai/tool': { name } }
    expect(told({ updates: [update({ ...toolCall('c', name, { command: 'npm test' }), _meta: own })] })).toBe(
      kind,
    )
  })
})

describe('rows of events.jsonl', () => {
  it.each<[string, Line, string]>([
    ['turn_started', {}, 'lifecycle'],
    ['turn_ended', { outcome: 'completed' }, 'completion'],
    ['turn_ended', { outcome: 'cancelled' }, 'human_intervention'],
    ['turn_ended', { outcome: 'error' }, 'error'],
    ['interjected', {}, 'human_intervention'],
    ['permission_resolved', { decision: 'deny', wait_ms: 5 }, 'human_intervention'],
    ['permission_resolved', { decision: 'followup', wait_ms: 5 }, 'human_intervention'],
    ['permission_resolved', { decision: 'allow', wait_ms: 5000 }, 'lifecycle'],
    ['permission_resolved', { decision: 'allow', wait_ms: 5 }, 'lifecycle'],
    ['tool_completed', { outcome: 'error', source: 'workspace' }, 'lifecycle'],
    ['yolo_toggled', {}, 'lifecycle'],
    ['mcp_server_failed', {}, 'error'],
    ['not_heard_of', {}, 'lifecycle unknown events:not_heard_of'],
  ])('%s %o is %s', (type, more, kind) => {
    expect(told({ updates: [], events: [row(type, 1, more)] })).toBe(kind)
  })
})

describe('items of chat_history.jsonl', () => {
  const said = (more: Line): Files => ({
    chat: [{ type: 'user', content: [{ type: 'text', text: 'x' }], ...more }],
  })
  it.each(
    `compaction_meta system_reminder project_instructions auto_continue auto_recovery agent_message task_completed
     subagent_completed notification_drain goal_summary goal_classifier_nudge scheduler_fired stop_hook_feedback
     working_directory_switch unknown`.split(/\s+/),
  )('a user’s %s was not typed', (synthetic_reason) => {
    expect(told(said({ synthetic_reason }))).toBe('lifecycle')
  })

  it('typed into a turn, after a stopped one, or plainly', () => {
    expect(told(said({ synthetic_reason: 'interjection' }))).toBe('human_intervention')
    expect(told(said({ prompt_index: 0, prior_turn_interrupt: 'mid_turn_abort' }))).toBe(
      'human_intervention user_msg',
    )
    expect(told(said({ prompt_index: 0 }))).toBe('user_msg')
  })
})

it('who stops a turn is a person, and in a sub-agent nobody', () => {
  const endOf = (kind: string, files: Files) => {
    const read = readOn(writeSession({ summary: { session_kind: kind }, ...files }))
    const end = read.sessions.get(SESSION)?.events.find((event) => event.summary === 'turn ended: cancelled')
    return [end?.kind, end?.role]
  }
  const asked = update(user('go', 0))
  const told: Files = {
    updates: [asked, update({ sessionUpdate: 'turn_completed', prompt_id: 'p', stop_reason: 'cancelled' })],
  }
  const noted: Files = { updates: [asked], events: [row('turn_ended', 2, { outcome: 'cancelled' })] }
  for (const files of [told, noted]) {
    expect(endOf('headless', files)).toEqual(['human_intervention', 'user'])
    expect(endOf('subagent', files)).toEqual(['lifecycle', 'system'])
  }
})
