// Every record that is described becomes the kind it is described as, and counts as known.
import { join } from 'node:path'
import { describe, expect, it, test } from 'vitest'
import { codex } from '../src/adapters/codex/index.ts'
import { collect } from './setup/collect.ts'
import { unpackAgent } from './setup/fixtures.ts'
import {
  asked,
  counted,
  eventsOf,
  item,
  itemsOf,
  type Json,
  jsonl,
  line,
  meta,
  nameOf,
  newHome,
  read,
  THREAD,
  told,
  writeRollout,
} from './setup/rollout.ts'

/** The kind of the last event of a rollout with these records, and the names nobody described. */
function kindOf(...records: Json[]): string {
  const items = itemsOf(writeRollout(newHome(), nameOf(THREAD), jsonl([meta(THREAD), ...records])))
  const unknown = items.flatMap((one) => (one.type === 'unknown' ? [`unknown ${one.name}`] : []))
  return [eventsOf(items).at(-1)?.kind, ...unknown].join(' ')
}

test.each([
  ...[
    'environment_context',
    'user_instructions',
    'turn_aborted',
    'user_shell_command',
    'subagent_notification',
  ],
  ...['skill', 'codex_internal_context', 'goal_context', 'hook_prompt'],
])('a user’s <%s> is the harness speaking', (tag) => {
  expect(kindOf(asked(`<${tag}>x</${tag}>`))).toBe('lifecycle')
})

test('a prompt typed into a running turn is an intervention, the next turn begins with one', () => {
  const started = told('task_started', { turn_id: 'a' })
  const prompt = (text: string) => [asked(text), told('user_message', { message: text })]
  const kindsOf = (records: Json[]) =>
    read([meta(THREAD), ...records])
      .events.filter((event) => event.said)
      .map((event) => event.kind)
  const [one, two] = ['user_msg', 'human_intervention']
  expect(kindsOf([started, ...prompt('go'), ...prompt('not there')])).toEqual([one, two])
  const ended = told('task_complete', { turn_id: 'a' })
  const stopped = told('turn_aborted', { turn_id: 'a', reason: 'interrupted' })
  expect(kindsOf([started, ...prompt('go'), ended, started, ...prompt('on')])).toEqual([one, one])
  expect(kindsOf([started, ...prompt('go'), stopped, ...prompt('on')])).toEqual([one, one])
  // A process that was killed ends no turn; the next one begins another.
  expect(kindsOf([started, ...prompt('go'), started, ...prompt('on')])).toEqual([one, one])
  expect(kindsOf([...prompt('go'), ...prompt('on')])).toEqual([one, one])
})

test('what a person ran with ! is told once', () => {
  const text =
    '<user_shell_command>\n<command>\nls -1\n</command>\n<result>\nExit code: 2\nDuration: 1 seconds\nOutput:\nREADME.md\n</result>\n</user_shell_command>'
  const ran = told('item_completed', {
    item: {
      type: 'CommandExecution',
      id: 'x',
      command: ['bash', '-lc', 'ls -1'],
      source: 'user_shell',
      exit_code: 2,
    },
  })
  const { events } = read([meta(THREAD), asked(text)])
  expect(events.at(-1)).toMatchObject({
    kind: 'lifecycle',
    role: 'user',
    summary: '! ls -1',
    said: 'ls -1\nREADME.md',
    exitCode: 2,
  })
  expect(kindOf(ran, asked(text))).toBe('lifecycle')
  // The item was that of the first.
  const summaries = read([meta(THREAD), ran, asked(text), asked(text)]).events.map((event) => event.summary)
  expect(summaries.filter((summary) => summary === '! ls -1')).toHaveLength(1)
  // It sets nothing off; while the agent works it is an act of the person.
  const running = [told('task_started', { turn_id: 't' }), asked('go')]
  expect(kindOf(...running, asked(text))).toBe('human_intervention')
})

test('instructions are bookkeeping; what the developer says is a message, and no turn', () => {
  expect(kindOf(asked('# AGENTS.md instructions for /w\n\nx'))).toBe('lifecycle')
  const content = [{ type: 'input_text', text: 'x' }]
  const developer = read([meta(THREAD), item({ type: 'message', role: 'developer', content })]).events.at(-1)
  expect(developer).toMatchObject({ kind: 'user_msg', role: 'system', summary: 'developer context: x' })
  expect(developer).not.toHaveProperty('text')
  expect(kindOf(asked('x'))).toBe('user_msg')
})

describe('records', () => {
  test.each([
    'world_state',
    'inter_agent_communication',
    'inter_agent_communication_metadata',
    'security_risk_score',
    'compacted',
  ])('%s is bookkeeping', (type) => expect(kindOf(line(type, { message: 'x' }))).toBe('lifecycle'))

  test.each(['compaction', 'context_compaction', 'compaction_summary', 'ghost_snapshot', 'additional_tools'])(
    'response_item/%s is bookkeeping',
    (type) => expect(kindOf(item({ type }))).toBe('lifecycle'),
  )

  test.each([
    ['task_started', {}, 'lifecycle'],
    ['turn_started', {}, 'lifecycle'],
    ['task_complete', {}, 'completion'],
    ['turn_complete', {}, 'completion'],
    ['task_complete', { error: { message: 'no' } }, 'error'],
    ['turn_aborted', { reason: 'interrupted' }, 'human_intervention'],
    ['turn_aborted', { reason: 'review_ended' }, 'lifecycle'],
    ['turn_aborted', { reason: 'budget_limited' }, 'lifecycle'],
    ['thread_rolled_back', { num_turns: 1 }, 'human_intervention'],
    ['error', { message: 'no' }, 'error'],
    ['guardian_assessment', {}, 'lifecycle'],
    ['plan_update', {}, 'lifecycle'],
    ['context_compacted', {}, 'lifecycle'],
    ['thread_goal_updated', {}, 'lifecycle'],
    ['thread_settings_applied', {}, 'lifecycle'],
    ['entered_review_mode', {}, 'lifecycle'],
    ['exited_review_mode', {}, 'lifecycle'],
    ['web_search_end', {}, 'lifecycle'],
    ['image_generation_end', {}, 'lifecycle'],
    ['sub_agent_activity', {}, 'lifecycle'],
    ['collab_agent_spawn_end', {}, 'lifecycle'],
    ['exec_command_end', { call_id: 'c', exit_code: 1 }, 'lifecycle'],
    ['not_heard_of', {}, 'lifecycle unknown event_msg/not_heard_of'],
  ])('event_msg/%s %o is %s', (type, more, kind) => {
    expect(kindOf(told(type, more))).toBe(kind)
  })

  const wrapped = (turnItem: Json): Json => told('item_completed', { item: turnItem })
  test.each([
    'HookPrompt',
    'SubAgentActivity',
    'WebSearch',
    'ImageView',
    'Extension',
    'ImageGeneration',
    'EnteredReviewMode',
    'ExitedReviewMode',
    'ContextCompaction',
    'CollabAgentToolCall',
  ])('item %s is bookkeeping', (type) => expect(kindOf(wrapped({ type, id: 'i' }))).toBe('lifecycle'))

  test('items: a plan is bookkeeping, a refused command a person’s no, a failed one an error', () => {
    expect(kindOf(wrapped({ type: 'Plan', id: 'i', text: 'x' }))).toBe('lifecycle')
    const command = { type: 'CommandExecution', id: 'i', command: ['ls'] }
    expect(kindOf(wrapped({ ...command, status: 'declined' }))).toBe('human_intervention')
    expect(kindOf(wrapped({ ...command, status: 'failed', exit_code: 2 }))).toBe('error')
    expect(kindOf(wrapped({ ...command, status: 'completed', exit_code: 0 }))).toBe('tool_result')
  })
})

describe('calls', () => {
  const called = (name: string, input: unknown): Json =>
    item({ type: 'function_call', name, call_id: 'c', arguments: JSON.stringify(input) })
  test.each([
    ['update_plan', {}, 'tool_call'],
    ['request_user_input', {}, 'tool_call'],
    ['request_permissions', {}, 'tool_call'],
    ['apply_patch', { input: '*** Begin Patch' }, 'edit'],
    ['shell', { command: ['apply_patch', '*** Begin Patch'] }, 'edit'],
    ['exec_command', { cmd: 'cd /w && apply_patch <<X' }, 'edit'],
    ['shell_command', { command: 'npm test' }, 'test_run'],
    ['exec_command', { cmd: 'pytest -q' }, 'test_run'],
    ['shell', { command: ['bash', '-lc', 'cargo test'] }, 'test_run'],
    ['exec_command', { cmd: 'ls' }, 'tool_call'],
  ])('%s %o is %s', (name, input, kind) => expect(kindOf(called(name, input))).toBe(kind))

  test('of other shapes', () => {
    const action = { type: 'exec', command: ['npm', 'test'] }
    expect(kindOf(item({ type: 'local_shell_call', call_id: 'c', action }))).toBe('test_run')
    expect(kindOf(item({ type: 'custom_tool_call', name: 'apply_patch', call_id: 'c', input: 'x' }))).toBe(
      'edit',
    )
    for (const type of ['web_search_call', 'tool_search_call', 'image_generation_call'])
      expect(kindOf(item({ type })), type).toBe('tool_call')
  })

  test.each([
    ['aborted by user', 'human_intervention'],
    ['exec command rejected by user', 'human_intervention'],
    ['patch rejected by user', 'human_intervention'],
    ['request_user_input was cancelled before receiving a response', 'human_intervention'],
    ['patch rejected: writing outside of the project; rejected by user approval settings', 'error'],
    ['`rm -rf /` rejected: blocked by policy', 'error'],
    ['rejected by configuration', 'error'],
    ['automatic approval review denied the action', 'error'],
    ['`rm` is no command that was rejected', 'tool_result'],
    ['Exit code: 1\nWall time: 1 seconds\nOutput:\nx', 'error'],
    ['Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 3\nOutput:\nx', 'error'],
    ['Chunk ID: 1\nWall time: 0.1 seconds\nProcess running with session ID 5\nOutput:\nx', 'tool_result'],
    ['{"output":"x","metadata":{"exit_code":2}}', 'error'],
    ['{"output":"Success","metadata":{"exit_code":0}}', 'tool_result'],
    ['err: "tool call error: timed out"', 'error'],
    ['err: "user rejected MCP tool call"', 'human_intervention'],
    ['Wall time: 0.1 seconds\nOutput:\ntool call error: timed out', 'error'],
    ['Wall time: 0.1 seconds\nOutput:\nuser cancelled MCP tool call', 'human_intervention'],
    ['Wall time: 0.1 seconds\nOutput:\n[{"type":"text","text":"x"}]', 'tool_result'],
  ])('answered by %j are %s', (output, kind) => {
    expect(
      kindOf(
        called('exec_command', { cmd: 'ls' }),
        item({ type: 'function_call_output', call_id: 'c', output }),
      ),
    ).toBe(kind)
  })
})

test.each([
  [{ Ok: { content: [], isError: true } }, 'error'],
  [{ Ok: { content: [], is_error: true } }, 'error'],
  [{ Err: 'no such tool' }, 'error'],
  [{ Ok: { content: [], isError: false } }, 'tool_result'],
  [{ Ok: { content: [] } }, 'tool_result'],
])('a server’s tool that gave back %j: %s', (result, kind) => {
  const call_id = 'c'
  const ended = told('mcp_tool_call_end', { call_id, duration: { secs: 2, nanos: 5e6 }, result })
  const { events } = read([
    meta(THREAD),
    item({ type: 'function_call', name: 'get', namespace: 'mcp__web__', call_id, arguments: '{}' }),
    ended,
    item({ type: 'function_call_output', call_id, output: 'whatever it said' }),
  ])
  expect(events.at(-1)).toMatchObject({ kind, tool: 'mcp__web__get', durationMs: 2005 })
})

test('a message from another agent is news, or a sub-agent’s task; never an answer', () => {
  const letter = (content: string, trigger_turn: boolean) => ({
    author: '/root',
    recipient: '/root/a',
    content,
    trigger_turn,
  })
  const records = [
    line('inter_agent_communication', letter('do it', true)),
    item({
      type: 'message',
      role: 'assistant',
      content: [{ type: 'output_text', text: JSON.stringify(letter('and that', true)) }],
    }),
    line('inter_agent_communication', letter('by the way', false)),
    item({
      type: 'message',
      role: 'assistant',
      content: [{ type: 'output_text', text: '{"trigger_turn":1}' }],
    }),
  ]
  const told = (more: Json) =>
    read([meta(THREAD, more), ...records])
      .events.slice(1)
      .filter((event) => event.kind !== 'completion')
      .map((event) => [event.kind, event.said])
  const answer = ['assistant_msg', '{"trigger_turn":1}']
  expect(told({ thread_source: 'subagent' })).toEqual([
    ['user_msg', 'do it'],
    ['user_msg', 'and that'],
    ['lifecycle', 'by the way'],
    answer,
  ])
  expect(told({}).map(([kind]) => kind)).toEqual(['lifecycle', 'lifecycle', 'lifecycle', answer[0]])
  const text = 'Message Type: NEW_TASK\nTask name: /root/a\nSender: /root\nPayload:\nFind it.\nNow.'
  const content = [{ type: 'input_text', text }]
  const [, task] = read([meta(THREAD), item({ type: 'agent_message', author: '/root', content })]).events
  expect(task).toMatchObject({ summary: '/root: Find it.', said: 'Find it.\nNow.' })
  const sealed = [
    { type: 'input_text', text: text.slice(0, -'Find it.\nNow.'.length) },
    { type: 'encrypted_content' },
  ]
  const [, hidden] = read([
    meta(THREAD),
    item({ type: 'agent_message', author: '/root', content: sealed }),
  ]).events
  expect(hidden?.summary).toBe('/root: /root/a')
  // A heading without an end is read in one go.
  const endless = [{ type: 'input_text', text: `Message Type: X\n${'A: b: c: d: e: f\n'.repeat(40)}` }]
  const [, long] = read([meta(THREAD), item({ type: 'agent_message', content: endless })]).events
  expect(long?.summary).toBe('an agent: Message Type: X')
})

test('a sub-agent is known though its own file is gone', () => {
  const child = '01999999-9000-7000-8000-000000000002'
  for (const one of [
    told('sub_agent_activity', { event_id: 'c', kind: 'started', agent_thread_id: child }),
    told('collab_agent_spawn_end', { call_id: 'c', sender_thread_id: THREAD, new_thread_id: child }),
  ])
    expect(read([meta(THREAD), one]).items).toContainEqual(
      expect.objectContaining({
        type: 'edge',
        kind: 'subagent',
        session: child,
        parent: THREAD,
        evidence: 'c',
      }),
    )
  expect(
    read([meta(THREAD), told('sub_agent_activity', { kind: 'finished', agent_thread_id: child })]).items,
  ).not.toContainEqual(expect.objectContaining({ type: 'edge' }))
})

test.each([
  [1, 80],
  [320, 320],
])('a command that took %i ms by the client’s word took %i', (span, durationMs) => {
  const at = Date.parse('2026-01-02T03:04:05Z')
  const stamped = (record: Json, ms: number): Json => ({
    ...record,
    timestamp: new Date(at + ms).toISOString(),
  })
  const call = item({
    type: 'function_call',
    name: 'exec_command',
    call_id: 'c',
    arguments: '{"cmd":"npm t"}',
  })
  const ended = told('item_completed', {
    started_at_ms: at + 70 - span,
    completed_at_ms: at + 70,
    item: { type: 'CommandExecution', id: 'c', exit_code: 0, duration: { secs: 0, nanos: 7000 } },
  })
  const output = 'Chunk ID: 1\nWall time: 0.0000 seconds\nProcess exited with code 0\nOutput:\nx'
  const given = item({ type: 'function_call_output', call_id: 'c', output })
  const { events } = read([meta(THREAD), stamped(call, 0), stamped(ended, 70), stamped(given, 80)])
  expect(events.at(-1)?.durationMs).toBe(durationMs)
})

test('what was declined is a failure, whatever the output says', () => {
  const declined = { type: 'FileChange', id: 'c', status: 'declined', changes: {} }
  const { events } = read([
    meta(THREAD),
    item({ type: 'custom_tool_call', name: 'apply_patch', call_id: 'c', input: '*** Begin Patch' }),
    told('item_completed', { item: declined }),
    item({ type: 'custom_tool_call_output', call_id: 'c', output: 'This action was too risky.' }),
  ])
  expect(events.at(-1)?.kind).toBe('error')
})

test('what a command read is told with its end, where its call only has the words', () => {
  const parsed_cmd = [{ type: 'read', cmd: 'cat a.ts', name: 'a.ts', path: 'src/a.ts' }, { type: 'unknown' }]
  const call = item({
    type: 'function_call',
    name: 'exec_command',
    call_id: 'c',
    arguments: '{"cmd":"cat a"}',
  })
  const completed = { type: 'CommandExecution', id: 'c', parsed_cmd, exit_code: 0 }
  for (const one of [
    told('item_completed', { item: completed }),
    told('exec_command_end', { call_id: 'c', parsed_cmd, exit_code: 0 }),
  ])
    expect(read([meta(THREAD), call, one]).events.at(-1)?.files).toEqual(['src/a.ts'])
})

describe('a command that goes on in the background', () => {
  const called = (call_id: string, name: string, input: unknown): Json =>
    item({ type: 'function_call', name, call_id, arguments: JSON.stringify(input) })
  const gave = (call_id: string, state: string): Json =>
    item({
      type: 'function_call_output',
      call_id,
      output: `Chunk ID: 1\nWall time: 9.0 seconds\n${state}\nOutput:\nx`,
    })
  const begun = [
    called('c1', 'exec_command', { cmd: 'npm test' }),
    gave('c1', 'Process running with session ID 5'),
  ]
  const polled = [
    called('c2', 'write_stdin', { session_id: 5, chars: '' }),
    gave('c2', 'Process running with session ID 5'),
    called('c3', 'write_stdin', { session_id: 5, chars: '' }),
  ]
  const last = gave('c3', 'Process exited with code 1')
  const results = (...records: Json[]) =>
    read([meta(THREAD), ...records])
      .events.filter((event) => event.role === 'tool')
      .map((event) => [event.callId, event.tool, event.kind, event.exitCode, event.state, event.said])
  const waits = [
    ['c1', 'exec_command', 'tool_result', undefined, 'background', 'x'],
    ['c2', 'write_stdin', 'tool_result', undefined, 'ok', 'x'],
  ]
  const asked = ['c3', 'write_stdin', 'error', 1, 'failed', 'x']

  test('ends when the one who asks for more is told so', () => {
    expect(results(...begun, ...polled, last)).toEqual([
      ...waits,
      asked,
      ['c1', 'exec_command', 'error', 1, 'failed', 'x'],
    ])
  })

  test('ends once, where an item or a notice tells it too', () => {
    const end = { exit_code: 1, aggregated_output: 'y', duration: { secs: 9, nanos: 0 } }
    const completed = { type: 'CommandExecution', id: 'c1', status: 'failed', ...end }
    const told2 = told('exec_command_end', { call_id: 'c1', ...end })
    for (const one of [told('item_completed', { item: completed }), told2])
      expect(results(...begun, ...polled, one, last)).toEqual([
        ...waits,
        ['c1', 'exec_command', 'error', 1, 'failed', 'y'],
        asked,
      ])
  })

  test('ends though much was answered meanwhile', () => {
    const others = Array.from({ length: 100 }, (_, at) => [
      called(`x${at}`, 'exec_command', { cmd: 'ls' }),
      gave(`x${at}`, 'Process exited with code 0'),
    ]).flat()
    const completed = { type: 'CommandExecution', id: 'c1', status: 'failed', exit_code: 1 }
    const item = told('item_completed', { item: completed })
    const told2 = ['c1', 'exec_command', 'error', 1, 'failed']
    expect(results(...begun, ...others, item).at(-1)).toEqual([...told2, undefined])
    expect(results(...begun, ...others, ...polled, last).at(-1)).toEqual([...told2, 'x'])
  })

  test('that had ended before its item came has one result', () => {
    const completed = { type: 'CommandExecution', id: 'c1', status: 'completed', exit_code: 0 }
    const done = [called('c1', 'exec_command', { cmd: 'ls' }), gave('c1', 'Process exited with code 0')]
    expect(results(...done, told('item_completed', { item: completed }))).toHaveLength(1)
  })
})

describe('tokens', () => {
  it('written to the cache are inside the input, and told apart', () => {
    const used = {
      input_tokens: 100,
      cached_input_tokens: 30,
      cache_write_input_tokens: 50,
      output_tokens: 9,
      reasoning_output_tokens: 4,
    }
    const { usage } = read([meta(THREAD), line('token_usage_record', { response_id: 'r', usage: used })])
    expect(usage).toMatchObject([{ input: 20, cacheRead: 30, cacheWrite5m: 50, output: 9, reasoning: 4 }])
  })

  it('of a new process count from nothing, also where the counts happen to be the same', () => {
    const count = counted([10, 0, 1, 11], [10, 0, 1, 11])
    const { usage } = read([meta(THREAD), count, count, told('token_count', { info: null }), count])
    expect(new Set(usage.map((one) => one.id)).size).toBe(2)
  })
})

test.each<Json>([
  { thread_source: 'memory_consolidation' },
  { thread_source: 'subagent' },
  { source: { subagent: 'review' } },
  { source: { internal: 'guardian' } },
])('a thread with %o is none of the person’s own', (more) => {
  const { items } = read([meta(THREAD, more)])
  expect(items.find((one) => one.type === 'session')).toMatchObject({ relation: 'subagent' })
})

test('nobody stopped a sub-agent: whoever started it did, or the client ended a turn that it copied', () => {
  const { events } = read([
    meta(THREAD, { source: { subagent: { thread_spawn: { parent_thread_id: 'p', depth: 1 } } } }),
    told('turn_aborted', { reason: 'interrupted' }),
  ])
  expect(events.at(-1)).toMatchObject({
    kind: 'lifecycle',
    role: 'system',
    summary: 'turn aborted: interrupted',
  })
  const real = collect(codex, join(unpackAgent('codex-codemode'), 'subagent_fork'))
  const kinds = [...real.sessions.values()].flatMap((session) => session.events.map((event) => event.kind))
  expect(kinds).toContain('user_msg')
  expect(kinds).not.toContain('human_intervention')
})
