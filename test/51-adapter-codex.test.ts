// What Codex says twice, in several ways, or only in old clients: one event each.
import { homedir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { codex } from '../src/adapters/codex/index.ts'
import { readOutput } from '../src/adapters/codex/outputs.ts'
import { collect } from './setup/collect.ts'
import {
  asked,
  item,
  itemsOf,
  type Json,
  jsonl,
  line,
  meta,
  nameOf,
  newHome,
  read,
  said,
  THREAD,
  texts,
  told,
  writeRollout,
} from './setup/rollout.ts'

const PARENT = THREAD
const CHILD = '01999999-9000-7000-8000-000000000002'

test('claims rollouts below sessions and archived_sessions, the index of names, and nothing else', () => {
  const home = '/h/.codex'
  expect(codex.roots({ HOME: '/h' })).toEqual([
    `${home}/archived_sessions`,
    `${home}/sessions`,
    `${home}/session_index.jsonl`,
  ])
  expect(codex.roots({ HOME: '/h', CODEX_HOME: '/c' })).toContain('/c/archived_sessions')
  expect(codex.roots({})).toContain(join(homedir(), '.codex', 'sessions'))
  for (const name of [
    'sessions/2026/01/02/rollout-x.jsonl',
    'archived_sessions/rollout-x.jsonl.zst',
    'sessions/rollout-x.json',
  ])
    expect(codex.claim(`${home}/${name}`)).toEqual({ path: `${home}/${name}` })
  expect(codex.claim(`${home}/session_index.jsonl`)).toMatchObject({ isShared: true })
  for (const name of [
    'auth.json',
    'config.toml',
    'history.jsonl',
    'state_5.sqlite',
    'sessions/notes.jsonl',
    'rollout-x.jsonl',
  ])
    expect(codex.claim(`${home}/${name}`)).toBeNull()
})

test('what is told twice becomes one event, whichever comes first', () => {
  const { events } = read([
    meta(PARENT),
    asked('Do it.'),
    told('user_message', { message: 'Do it.' }),
    told('agent_message', { message: 'Yes.' }),
    said('Yes.'),
    said('Yes.'),
    told('agent_message', { message: 'Yes.' }),
    told('agent_reasoning', { text: 'one' }),
    told('agent_reasoning', { text: 'two' }),
    item({
      type: 'reasoning',
      summary: [
        { type: 'summary_text', text: 'one' },
        { type: 'summary_text', text: 'two' },
      ],
    }),
    told('agent_message', { message: 'Only shown: killed before the item was written.' }),
  ])
  expect(texts(events, 'user_msg')).toEqual(['Do it.'])
  expect(texts(events, 'assistant_msg')).toEqual([
    'Yes.',
    'Yes.',
    'Only shown: killed before the item was written.',
  ])
  expect(texts(events, 'thinking')).toEqual(['one', 'two'])
})

test('an answer that the screen shows without its plan and citations is one event', () => {
  const plan = '<proposed_plan>\n- first\n</proposed_plan>'
  const cited = '<oai-mem-citation>MEMORY.md:1-2</oai-mem-citation>'
  const parts = ['One. ', 'Two.'].map((text) => ({ type: 'output_text', text }))
  const { events } = read([
    meta(PARENT),
    told('item_completed', { item: { type: 'Plan', id: 'p', text: '- first' } }),
    told('agent_message', { message: 'Here it is.\n\nShall I?' }),
    said(`Here it is.\n${plan}\nShall I?`),
    told('agent_message', { message: 'As before.' }),
    said(`As before.${cited}`),
    told('agent_message', { message: 'One. Two.' }),
    item({ type: 'message', role: 'assistant', content: parts }),
    said(plan),
  ])
  expect(texts(events, 'assistant_msg')).toEqual(['Here it is.\n\nShall I?', 'As before.', 'One. Two.', plan])
  expect(texts(events, 'lifecycle')).toContain('- first')
})

test('a prompt with pictures is what was typed', () => {
  const image = { type: 'input_image', image_url: 'data:image/png;base64,AA==' }
  const text = (words: string) => ({ type: 'input_text', text: words })
  const open = '<image name=[Image #1] path="/tmp/a>b.png">'
  const ask = (...content: Json[]) => item({ type: 'message', role: 'user', content })
  const { events } = read([
    meta(PARENT),
    ask(text(open), image, text('</image>'), text('What is [Image #1]?')),
    told('user_message', { message: 'What is [Image #1]?', local_images: ['/tmp/a>b.png'] }),
    ask(text('<image>'), image, text('</image>')),
    told('user_message', { message: '' }),
    ask(text('<image> is a tag, </image> closes it')),
  ])
  const prompts = events.filter((event) => event.kind === 'user_msg')
  expect(prompts.map((event) => [event.summary, event.said])).toEqual([
    ['What is [Image #1]?', 'What is [Image #1]?'],
    ['(no text)', undefined],
    ['<image> is a tag, </image> closes it', '<image> is a tag, </image> closes it'],
  ])
  expect(prompts[0]?.payload).toMatchObject({ content: [text(open), image, {}, {}] })
})

test('a text lost in a kill does not swallow an equal one of a later turn', () => {
  const { events } = read([
    meta(PARENT),
    asked('Go.'),
    told('agent_message', { message: 'Working.' }),
    asked('Go on.'),
    said('Working.'),
  ])
  expect(texts(events, 'assistant_msg')).toEqual(['Working.', 'Working.'])
})

test('context fragments are not prompts', () => {
  const fragments = [
    '<environment_context>\n  <cwd>/w</cwd>\n</environment_context>',
    '<user_instructions>x</user_instructions>',
    '# AGENTS.md instructions for /w\n',
    '<turn_aborted>\nx</turn_aborted>',
    '<user_shell_command>\n</user_shell_command>',
    '<subagent_notification>{}</subagent_notification>',
    '<skill>\n</skill>',
    '<hook_prompt id="1">x</hook_prompt>',
    '<recommended_plugins>\nx</recommended_plugins>',
    '<external_editor>x</external_editor>',
    'Warning: apply_patch was requested via shell. Use the apply_patch tool instead of exec_command.',
    'Warning: The maximum number of unified exec processes you can keep open is 60 and 61 are open.',
    'Warning: Your account was flagged for potentially high-risk cyber activity: x',
  ]
  const { events } = read([meta(PARENT), ...fragments.map(asked), asked('<div> is what I mean')])
  expect(texts(events, 'user_msg')).toEqual(['<div> is what I mean'])
  expect(events.filter((event) => event.kind === 'lifecycle' && event.said !== undefined)).toEqual([])
})

test('exit status in every form it was written', () => {
  const cases: [unknown, Json][] = [
    [
      '{"output":"x\\n","metadata":{"exit_code":2,"duration_seconds":0.5}}',
      { exitCode: 2, durationMs: 500, failed: true, text: 'x\n' },
    ],
    [
      'Exit code: 0\nWall time: 1.5 seconds\nOutput:\nProcess exited with code 9',
      { exitCode: 0, durationMs: 1500, failed: false, body: 'Process exited with code 9' },
    ],
    [
      'Chunk ID: ab\nWall time: 0.1 seconds\nProcess exited with code 1\nOriginal token count: 3\nOutput:\nno',
      { exitCode: 1, failed: true, body: 'no' },
    ],
    [
      'Chunk ID: ab\nWall time: 10.0 seconds\nProcess running with session ID 7\nOutput:\n',
      { failed: false, body: '' },
    ],
    ['failed in sandbox MacosSeatbelt with exit code 3: x', { exitCode: 3, failed: true }],
    [
      'failed in sandbox MacosSeatbelt with execution error: sandbox denied exec error, exit code: 101, stdout: ',
      { exitCode: 101, failed: true },
    ],
    ['failed in sandbox None with execution error: command timed out\nexit code: 1', { failed: true }],
    ['apply_patch verification failed: x', { failed: true }],
    ['aborted by user after 2.0s', { stopped: true }],
    ['exec command rejected by user', { stopped: true }],
    [
      [
        { type: 'input_text', text: 'Script completed\nWall time 0.2 seconds\nOutput:\n' },
        { type: 'input_text', text: 'ok' },
      ],
      { failed: false, body: '\nok' },
    ],
    [
      { content: 'x', success: false },
      { failed: true, text: 'x' },
    ],
    ['plain words', { failed: false, stopped: false, text: 'plain words' }],
    [undefined, { failed: false, text: '' }],
  ]
  for (const [output, expected] of cases) expect(readOutput(output)).toMatchObject(expected)
})

test('a prompt from an editor is what the person asked, told once', () => {
  const asks = (context: string) =>
    `${context}\n\n## Open tabs:\n- a.ts: a.ts\n\n## My request for Codex:\nmend it\n`
  const ide = asks('# Context from my IDE setup:')
  const files = asks('# Files mentioned by the user:')
  const mine = 'Why does it say "\n## My request for Codex:" here?'
  const { events } = read([
    meta(PARENT),
    asked(ide),
    told('user_message', { message: ide }),
    told('user_message', { message: files }),
    asked(files),
    asked(mine),
  ])
  expect(texts(events, 'user_msg')).toEqual(['mend it', 'mend it', mine])
  expect(events[1]).toMatchObject({ summary: 'mend it', payload: { content: [{ text: ide }] } })
})

test('code mode: commands and edits are calls of their own; direct mode: the end enriches the result', () => {
  const completed = (one: Json) =>
    told('item_completed', { item: one, started_at_ms: 1000, completed_at_ms: 1250 })
  const { events } = read([
    meta(PARENT),
    item({ type: 'custom_tool_call', name: 'exec', call_id: 'c1', input: 'await tools.exec_command({})' }),
    completed({
      type: 'CommandExecution',
      id: 'exec-1',
      command: ['/bin/bash', '-lc', 'npm test'],
      status: 'failed',
      aggregated_output: 'bad',
      exit_code: 1,
    }),
    completed({
      type: 'FileChange',
      id: 'exec-2',
      changes: { '/w/a.js': { type: 'update', unified_diff: '-a\n+b' } },
      status: 'completed',
    }),
    item({ type: 'custom_tool_call_output', call_id: 'c1', output: [{ type: 'input_text', text: 'done' }] }),
    item({ type: 'function_call', name: 'exec_command', call_id: 'c2', arguments: '{"cmd":"sleep 9 &"}' }),
    item({
      type: 'function_call_output',
      call_id: 'c2',
      output: 'Chunk ID: x\nProcess running with session ID 1\nOutput:\n',
    }),
    completed({
      type: 'CommandExecution',
      id: 'c2',
      command: ['sleep'],
      status: 'completed',
      aggregated_output: 'late',
      exit_code: 0,
    }),
    item({ type: 'function_call', name: 'exec_command', call_id: 'c3', arguments: '{"cmd":"true"}' }),
    completed({ type: 'CommandExecution', id: 'c3', command: ['true'], status: 'completed', exit_code: 0 }),
    item({ type: 'function_call_output', call_id: 'c3', output: 'ok' }),
  ])
  const shown = events
    .slice(1)
    .map((event) => [event.kind, event.tool, event.callId, event.exitCode, event.durationMs])
  expect(shown).toEqual([
    ['tool_call', 'exec', 'c1', undefined, undefined],
    ['test_run', 'exec_command', 'exec-1', undefined, undefined],
    ['error', 'exec_command', 'exec-1', 1, 250],
    ['edit', 'apply_patch', 'exec-2', undefined, undefined],
    ['tool_result', 'apply_patch', 'exec-2', undefined, 250],
    ['tool_result', 'exec', 'c1', undefined, 30],
    ['tool_call', 'exec_command', 'c2', undefined, undefined],
    ['tool_result', 'exec_command', 'c2', undefined, 10],
    ['tool_result', 'exec_command', 'c2', 0, 250],
    ['tool_call', 'exec_command', 'c3', undefined, undefined],
    ['lifecycle', undefined, undefined, undefined, undefined],
    ['tool_result', 'exec_command', 'c3', 0, 250],
  ])
  expect(events.find((event) => event.callId === 'exec-2')?.files).toEqual(['/w/a.js'])
})

test('flat files and single-JSON files of 2025', () => {
  const flat = [
    {
      id: PARENT,
      timestamp: '2025-08-01T00:00:00.000Z',
      instructions: null,
      git: { branch: 'main', repository_url: 'git@x:y.git' },
    },
    { record_type: 'state' },
    {
      type: 'message',
      role: 'user',
      content: [{ type: 'input_text', text: '<environment_context>\n  <cwd>/old</cwd>' }],
    },
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi.' }] },
    {
      type: 'function_call',
      name: 'shell',
      arguments: '{"command":["bash","-lc","pytest -q"]}',
      call_id: 'c',
    },
    { type: 'function_call_output', call_id: 'c', output: '{"output":"E","metadata":{"exit_code":1}}' },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'No.' }] },
  ]
  const chat = {
    session: { id: CHILD, timestamp: '2025-05-01T00:00:00.000Z', instructions: 'x' },
    items: [
      { role: 'user', content: [{ type: 'text', text: 'Hi.' }] },
      {
        role: 'assistant',
        content: '',
        reasoning: 'hm',
        tool_calls: [
          { id: 't', type: 'function', function: { name: 'shell', arguments: '{"command":["ls"]}' } },
        ],
      },
      { role: 'tool', tool_call_id: 't', content: '{"output":"a","metadata":{"exit_code":0}}' },
      { role: 'assistant', content: 'Done.' },
    ],
  }
  const home = newHome()
  writeRollout(home, nameOf(PARENT), jsonl(flat))
  const document = writeRollout(home, `rollout-2025-05-01-${CHILD}.json`, JSON.stringify(chat, null, 2))
  const found = collect(codex, home)
  const kindsOf = (id: string) => found.sessions.get(id)?.events.map((event) => event.kind)
  expect(kindsOf(PARENT)).toEqual([
    'lifecycle',
    'lifecycle',
    'user_msg',
    'test_run',
    'error',
    'assistant_msg',
    'completion',
  ])
  expect(found.sessions.get(PARENT)?.facts).toMatchObject({
    cwd: '/old',
    gitBranch: 'main',
    gitRemote: 'git@x:y.git',
  })
  expect(kindsOf(CHILD)).toEqual([
    'lifecycle',
    'user_msg',
    'thinking',
    'tool_call',
    'tool_result',
    'assistant_msg',
    'completion',
  ])
  expect([...found.gaps, ...found.unknown]).toEqual([])
  const position = found.positions.get(document) ?? null
  expect([...codex.read({ path: document }, position)]).toEqual([])
  writeRollout(home, `rollout-2025-05-01-${CHILD}.json`, JSON.stringify(chat).slice(0, -9))
  expect(itemsOf(document)).toMatchObject([{ type: 'gap', reason: 'torn', pending: true }])
})

test('errors, interrupts and names', () => {
  const { events, items } = read([
    meta(PARENT),
    told('turn_aborted', { reason: 'interrupted' }),
    told('turn_aborted', { reason: 'budget_limited' }),
    told('task_complete', { turn_id: 't', error: { message: 'refused' } }),
    told('task_complete', { turn_id: 'u', last_agent_message: 'x' }),
    told('stream_error', { message: 'stream lost; retrying 1/5' }),
    told('error', { message: 'boom' }),
    told('thread_name_updated', { thread_name: 'My name' }),
    told('from_the_future', { x: 1 }),
    line('also_new', {}),
  ])
  expect(events.slice(1).map((event) => [event.kind, event.said])).toEqual([
    ['human_intervention', undefined],
    ['lifecycle', undefined],
    ['error', 'refused'],
    ['completion', undefined],
    ['retry', 'stream lost; retrying 1/5'],
    ['error', 'boom'],
    ['lifecycle', undefined],
    ['lifecycle', undefined],
    ['lifecycle', undefined],
  ])
  expect(items.filter((one) => one.type === 'unknown')).toEqual([
    { type: 'unknown', name: 'event_msg/from_the_future' },
    { type: 'unknown', name: 'also_new' },
  ])
  expect(items).toContainEqual({ type: 'session', session: PARENT, title: 'My name', titleByPerson: true })
})
