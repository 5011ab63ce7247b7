// The traps of the format, one by one; then reading in any number of steps, and content of any shape.
import { appendFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { EventItem } from '../src/adapters/adapter.ts'
import { grok } from '../src/adapters/grok/index.ts'
import { type Collected, emptyCollection } from './setup/collect.ts'
import {
  agent,
  bare,
  bytes,
  chunk,
  interjection,
  jsonl,
  type Line,
  readOn,
  row,
  SESSION,
  temporaryHome,
  toolCall,
  toolUpdate,
  update,
  user,
  writeSession,
} from './setup/grok-session.ts'

const eventsOf = (read: Collected, session = SESSION): EventItem[] => read.sessions.get(session)?.events ?? []
const kinds = (read: Collected): string[] => eventsOf(read).map((event) => event.kind)

describe('paths', () => {
  it('follow GROK_HOME, else HOME', () => {
    expect(grok.roots({ GROK_HOME: '/g', HOME: '/h' })).toEqual(['/g/sessions'])
    expect(grok.roots({ HOME: '/h' })).toEqual(['/h/.grok/sessions'])
  })

  it('lead to the spine of a session and to nothing else', () => {
    const path = writeSession({
      updates: [],
      chat: [],
      events: [],
      summary: {},
      more: { 'usage.json': '{}' },
    })
    expect(grok.claim(path)?.companions?.map((one) => one.split('/').at(-1))).toEqual([
      'summary.json',
      'events.jsonl',
    ])
    for (const name of [
      'chat_history.jsonl',
      'events.jsonl',
      'summary.json',
      'rewind_points.jsonl',
      'auth.json',
    ]) {
      expect(grok.claim(join(dirname(path), name)), name).toBeNull()
    }
    const old = writeSession({ chat: [] })
    expect(grok.claim(old)?.path).toBe(old)
    expect(grok.claim('/home/dev/.grok/sessions/updates.jsonl')).toBeNull()
    expect(grok.claim('/home/dev/.grok/auth.json')).toBeNull()
    expect(grok.claim('/home/dev/.grok/grok.db')).toBeNull()
  })

  it('tell the working directory: by the summary, by the name, by .cwd where the name is a hash', () => {
    const cwd = (path: string): unknown => readOn(path).sessions.get(SESSION)?.facts.cwd
    expect(cwd(writeSession({ updates: [], summary: { info: { cwd: '/moved' } } }))).toBe('/moved')
    expect(cwd(writeSession({ updates: [] }, { project: encodeURIComponent('/a b/ü') }))).toBe('/a b/ü')
    const hashed = writeSession({ updates: [] }, { project: 'proj-0123456789abcdef' })
    writeFileSync(join(dirname(hashed), '..', '.cwd'), '/very/long/path\n')
    expect(cwd(hashed)).toBe('/very/long/path')
    expect(cwd(writeSession({ updates: [] }, { project: '%E0%A4%A' }))).toBeUndefined()
  })
})

describe('texts', () => {
  it('in many chunks are one event each, and a new stream is a new event', () => {
    const stream = { promptId: 'p', streamStartMs: 1 }
    const path = writeSession({
      updates: [
        update(user('fix ', 0)),
        update(user('it', 0)),
        update(agent('I '), stream),
        update(agent('will.'), stream),
        update(agent('Again.'), { ...stream, streamStartMs: 2 }),
        update(chunk('agent_thought_chunk', 'hm'), stream),
      ],
    })
    const read = readOn(path)
    expect(eventsOf(read).map(({ kind, said }) => [kind, said])).toEqual([
      ['user_msg', 'fix it'],
      ['assistant_msg', 'I will.'],
      ['assistant_msg', 'Again.'],
      ['thinking', 'hm'],
    ])
  })

  it('that still grow are shown, and shown again whole', () => {
    const first = update(agent('one '), { promptId: 'p' })
    const path = writeSession({ updates: [update(user('go', 0)), first] })
    const read = readOn(path)
    const offset = read.positions.get(path)?.offset
    expect(eventsOf(read).map(({ said }) => said)).toEqual(['go', 'one '])
    appendFileSync(path, jsonl([update(agent('two'), { promptId: 'p' })]))
    readOn(path, read)
    expect(eventsOf(read).map(({ said }) => said)).toEqual(['go', 'one two'])
    expect(read.positions.get(path)?.offset).toBe(offset)
    appendFileSync(
      path,
      jsonl([update({ sessionUpdate: 'turn_completed', prompt_id: 'p', stop_reason: 'end_turn' })]),
    )
    readOn(path, read)
    expect(kinds(read)).toEqual(['user_msg', 'assistant_msg', 'completion'])
    expect(read.positions.get(path)?.offset).toBe(readFileSync(path).length - 1)
  })

  it('that are only a picture say so', () => {
    const image = { type: 'image', data: 'AA==', mimeType: 'image/png' }
    const updates = [
      update({ sessionUpdate: 'user_message_chunk', content: image, _meta: { promptIndex: 0 } }),
    ]
    const chat = [{ type: 'user', content: [{ type: 'image', url: 'x' }], prompt_index: 0 }]
    for (const files of [{ updates }, { chat }])
      expect(eventsOf(readOn(writeSession(files)))[0]).toMatchObject({
        kind: 'user_msg',
        summary: '(no text)',
      })
  })

  it('typed by nobody are no prompts', () => {
    const path = writeSession({
      updates: [
        update(
          chunk('user_message_chunk', '<system-reminder>\ntask done', {
            promptIndex: 1,
            hideFromScrollback: true,
          }),
        ),
        update(user('real', 2)),
      ],
    })
    expect(eventsOf(readOn(path)).map(({ kind, said }) => [kind, said])).toEqual([
      ['lifecycle', undefined],
      ['user_msg', 'real'],
    ])
  })
})

describe('tools', () => {
  const bash = (text: string, exit: number, rest: Line = {}): Line => ({
    status: 'completed',
    content: [{ type: 'content', content: { type: 'text', text } }],
    rawOutput: {
      type: 'Bash',
      output: bytes(text),
      output_for_prompt: `exit: ${exit}\n${text}`,
      exit_code: exit,
      ...rest,
    },
  })

  it('stream their output; only the first end is the result', () => {
    const path = writeSession({
      updates: [
        update(toolCall('c1', 'run_terminal_command', { command: 'npm test' })),
        update(toolUpdate('c1', { status: 'in_progress', rawOutput: { type: 'Bash', output: bytes('a') } })),
        update(toolUpdate('c1', { status: 'in_progress', rawOutput: { type: 'Bash', output: bytes('ab') } })),
        update(toolUpdate('c1', bash('abc', 0))),
        update(toolUpdate('c1', bash('abc again', 0))),
      ],
    })
    const read = readOn(path)
    expect(eventsOf(read).map(({ kind, tool, callId, said }) => [kind, tool, callId, said])).toEqual([
      ['test_run', 'run_terminal_command', 'c1', undefined],
      ['tool_result', 'run_terminal_command', 'c1', 'abc'],
    ])
    expect(eventsOf(read)[0]?.act).toMatchObject({ does: 'shell', command: 'npm test' })
    expect(eventsOf(read)[1]).toMatchObject({ exitCode: 0, durationMs: 3000 })
    expect(JSON.stringify(eventsOf(read)[1]?.payload)).not.toContain('97,98')
  })

  it('killed while they ran show what they had printed', () => {
    // As the client writes them: a command that runs has the exit code 0.
    const rawOutput = { type: 'Bash', output: bytes('so far'), exit_code: 0 }
    const partial = update(toolUpdate('c1', { status: 'in_progress', rawOutput }))
    const path = writeSession({ updates: [update(toolCall('c1', 'bash', { command: 'make' })), partial] })
    const read = readOn(path)
    expect(eventsOf(read)[1]).toMatchObject({
      kind: 'tool_result',
      said: 'so far',
      state: 'cut',
      summary: 'unfinished: so far',
    })
    expect(eventsOf(read)[1]?.exitCode).toBeUndefined()
    appendFileSync(path, jsonl([update(toolUpdate('c1', bash('all', 2)))]))
    readOn(path, read)
    expect(eventsOf(read)).toHaveLength(2)
    expect(eventsOf(read)[1]).toMatchObject({
      kind: 'error',
      said: 'all',
      state: 'failed',
      exitCode: 2,
      summary: 'exit 2: all',
    })
  })

  it('may get their input later', () => {
    const path = writeSession({
      updates: [
        update(toolCall('c1', 'search_replace')),
        update(
          toolUpdate('c1', {
            rawInput: { file_path: 'a.ts', new_string: 'x' },
            locations: [{ path: '/p/a.ts' }],
          }),
        ),
      ],
    })
    const read = readOn(path)
    expect(eventsOf(read)).toHaveLength(1)
    expect(eventsOf(read)[0]).toMatchObject({
      kind: 'edit',
      summary: 'search_replace a.ts',
      act: { does: 'edit', edits: [{ path: 'a.ts', before: '', after: 'x' }] },
      files: ['a.ts', '/p/a.ts'],
    })
  })

  it('that failed say so in many ways, though their status is completed', () => {
    const outputs: [Line, string][] = [
      [{ type: 'SearchReplace', NoMatchesFound: { message: 'not found' } }, 'error'],
      [{ type: 'SearchReplace', EditsApplied: { tool_output_for_prompt: 'ok' } }, 'tool_result'],
      [{ type: 'ReadFile', FileNotFound: 'no such file' }, 'error'],
      [{ type: 'GrepSearch', exit_code: 1, content: '' }, 'tool_result'],
      [{ type: 'GrepSearch', exit_code: 2, content: '' }, 'error'],
      [{ type: 'MCP', tool_name: 't', output: { Error: 'bad' }, is_error: true }, 'error'],
      [{ type: 'Text', text: 'fine' }, 'tool_result'],
      [{ type: 'Bash', exit_code: -1, signal: 'SIGKILL' }, 'error'],
    ]
    const path = writeSession({
      updates: outputs.flatMap(([rawOutput], at) => [
        update(toolCall(`c${at}`, 'tool', { at })),
        update(toolUpdate(`c${at}`, { status: 'completed', rawOutput })),
      ]),
    })
    const results = eventsOf(readOn(path)).filter((event) => event.role === 'tool')
    expect(results.map((event) => event.kind)).toEqual(outputs.map(([, kind]) => kind))
  })

  it.each(['before', 'after'])('are called failed by events.jsonl %s their result is read', (order) => {
    const path = writeSession({
      updates: [
        update(toolCall('c1', 'mcp_tool', { q: 1 })),
        update(toolUpdate('c1', { status: 'completed', rawOutput: { type: 'Dynamic', text: 'oops' } })),
      ],
    })
    const failure = { tool_name: 'mcp_tool', outcome: 'error', tool_call_id: 'c1', duration_ms: 5 }
    const read = emptyCollection()
    if (order === 'after') {
      readOn(path, read)
      expect(kinds(read)).toEqual(['tool_call', 'tool_result'])
    }
    writeFileSync(
      join(dirname(path), 'events.jsonl'),
      jsonl([row('tool_completed', order === 'after' ? 1e6 : 0, failure)]),
    )
    readOn(path, read)
    expect(eventsOf(read).find((event) => event.role === 'tool')).toMatchObject({
      kind: 'error',
      said: 'oops',
    })
  })

  it.each([
    ['permission_rejected', 'tool_result', 'refused'],
    ['permission_cancelled', 'tool_result', 'refused'],
    ['followup', 'tool_result', 'refused'],
    ['cancelled', 'tool_result', 'stopped'],
    ['hook_denied', 'error', 'refused'],
    ['invalid_tool', 'error', 'failed'],
  ])('that a person did not want did not fail: %s', (outcome, kind, state) => {
    const events = [row('tool_completed', 1e6, { tool_name: 'x', outcome, tool_call_id: 'c1' })]
    const end = { status: 'completed', rawOutput: { type: 'Dynamic', text: 'not executed' } }
    const updates = [update(toolCall('c1', 'x', { q: 1 })), update(toolUpdate('c1', end))]
    const chat = [
      { type: 'assistant', content: '', tool_calls: [{ id: 'c1', name: 'x', arguments: '{}' }] },
      { type: 'tool_result', tool_call_id: 'c1', content: 'not executed' },
    ]
    for (const files of [{ updates }, { chat }]) {
      const read = readOn(writeSession({ ...files, events }))
      expect(eventsOf(read).find((event) => event.role === 'tool')).toMatchObject({ kind, state })
    }
  })

  it('that failed and are called again are retries', () => {
    const call = (id: string): Line => update(toolCall(id, 'bash', { command: 'make' }))
    const path = writeSession({ updates: [call('a'), update(toolUpdate('a', bash('no', 1))), call('b')] })
    expect(kinds(readOn(path))).toEqual(['tool_call', 'error', 'retry'])
  })

  it('with long output have it in the terminal log, which is never looked for elsewhere', () => {
    const long = (output_file: string): Line[] => [
      update(toolCall('c1', 'bash', { command: 'big' })),
      update(toolUpdate('c1', bash('cut', 0, { truncated: true, output_file }))),
    ]
    const more = { 'terminal/c1.log': 'the whole output', 'secret.log': 'no' }
    const whole = readOn(writeSession({ updates: long('/old/place/terminal/c1.log'), more }))
    expect(eventsOf(whole)[1]).toMatchObject({ said: 'the whole output' })
    const link = writeSession({ updates: long('terminal/c1.log'), more: { 'secret.log': 'no' } })
    mkdirSync(join(dirname(link), 'terminal'))
    symlinkSync('../secret.log', join(dirname(link), 'terminal', 'c1.log'))
    expect(eventsOf(readOn(link))[1]?.said).toBe('cut')
    for (const bad of ['../secret.log', '/x/../../secret.log', 'c2.log', '']) {
      const read = readOn(writeSession({ updates: long(bad), more }))
      expect(eventsOf(read)[1]?.said, bad).toBe('cut')
    }
  })

  it('asked of a person are calls, and their answers results', () => {
    const path = writeSession({
      updates: [
        update(toolCall('c1', 'ask_user_question', { question: 'A or B?' })),
        update(
          toolUpdate('c1', { status: 'completed', rawOutput: { type: 'AskUserQuestion', answer: 'A' } }),
        ),
      ],
    })
    expect(kinds(readOn(path))).toEqual(['tool_call', 'tool_result'])
  })
})

describe('turns', () => {
  const end = row('turn_ended', 2, { outcome: 'completed' })

  it('end by turn_completed; turn_ended then only echoes it', () => {
    const done = update({ sessionUpdate: 'turn_completed', prompt_id: 'p', stop_reason: 'end_turn' })
    const path = writeSession({ updates: [update(user('x', 0)), done], events: [end] })
    expect(kinds(readOn(path))).toEqual(['lifecycle', 'user_msg', 'completion'])
  })

  it('of versions without turn_completed end by turn_ended', () => {
    const events = [
      row('turn_ended', 1, { outcome: 'error' }),
      row('turn_ended', 2, { outcome: 'cancelled' }),
      end,
    ]
    const read = readOn(writeSession({ updates: [bare(user('x'))], events }))
    expect(kinds(read)).toEqual(['user_msg', 'error', 'human_intervention', 'completion'])
    expect(read.usage.size).toBe(0)
  })

  it('report an error once', () => {
    const failed = update({ sessionUpdate: 'retry_state', type: 'failed', message: 'API error 400' })
    const done = {
      sessionUpdate: 'turn_completed',
      prompt_id: 'p',
      stop_reason: 'error',
      agent_result: 'API error 400',
    }
    expect(kinds(readOn(writeSession({ updates: [failed, update(done)] })))).toEqual(['error', 'lifecycle'])
    expect(kinds(readOn(writeSession({ updates: [update(done)] })))).toEqual(['error'])
    const retrying = update({ sessionUpdate: 'retry_state', type: 'retrying', reason: 'Overloaded' })
    expect(eventsOf(readOn(writeSession({ updates: [retrying] })))[0]).toMatchObject({
      kind: 'retry',
      said: 'Overloaded',
    })
  })

  it('are entered by a person: a word in between is no turn, and told once', () => {
    const files = {
      updates: [
        user('fix it', 0),
        agent('working'),
        user(interjection('not that file')),
        agent('another one then'),
        user('never mind the permission'),
        user('now the tests', 1),
      ].map((body) => update(body)),
      events: [row('interjected', 0, { source: 'direct' }), row('interjected', 0, { source: 'queue' })],
    }
    const told = (read: Collected): unknown[] =>
      eventsOf(read)
        .filter((event) => event.kind === 'user_msg' || event.kind === 'human_intervention')
        .map((event) => [event.kind, event.said])
    const expected = [
      ['user_msg', 'fix it'],
      ['human_intervention', 'not that file'],
      ['human_intervention', 'never mind the permission'],
      ['user_msg', 'now the tests'],
      // Nothing tells what became of the second.
      ['human_intervention', undefined],
    ]
    const path = writeSession(files)
    expect(told(readOn(path))).toHaveLength(expected.length)
    expect(told(readOn(path))).toEqual(expect.arrayContaining(expected))
    const late = writeSession({ updates: files.updates })
    const read = readOn(late)
    writeFileSync(join(dirname(late), 'events.jsonl'), jsonl(files.events))
    expect(told(readOn(late, read))).toEqual(expected)
  })

  it('count their small rows; only what a person did stands alone', () => {
    const events = [
      row('turn_started', 1, { turn_number: 0, session_id: SESSION }),
      row('loop_started', 1, { loop_index: 0 }),
      ...Array.from({ length: 5 }, () => row('phase_changed', 2, { phase: 'streaming_text' })),
      row('tool_completed', 3, { outcome: 'success', source: 'workspace' }),
      row('permission_resolved', 3, { tool_name: 'bash', decision: 'allow', wait_ms: 1 }),
      row('permission_resolved', 4, { tool_name: 'bash', decision: 'allow', wait_ms: 4000 }),
      row('permission_resolved', 5, { tool_name: 'bash', decision: 'deny', wait_ms: 4000 }),
      row('interjected', 6, { source: 'direct' }),
      row('mcp_server_failed', 7, { server: 'x' }),
      row('brand_new', 8),
    ]
    const read = readOn(writeSession({ updates: [], events }))
    expect(kinds(read)).toEqual([
      'lifecycle',
      'lifecycle',
      'lifecycle',
      'human_intervention',
      'human_intervention',
      'error',
      'lifecycle',
      'lifecycle',
    ])
    expect(eventsOf(read).at(-1)?.payload).toEqual({
      counts: [
        ['phase streaming_text', 5],
        ['tool_completed (workspace)', 1],
        ['permission allowed', 1],
      ],
    })
    expect([...read.unknown]).toEqual([['events:brand_new', 1]])
  })

  it('taken back are marked, over a step between, and keep their tokens', () => {
    const turn = (text: string, index: number, id: string): Line[] => [
      update(user(text, index)),
      update(agent(`re ${text}`)),
      update({
        sessionUpdate: 'turn_completed',
        prompt_id: id,
        stop_reason: 'end_turn',
        usage: { inputTokens: 1, outputTokens: 2 },
      }),
    ]
    const path = writeSession({
      updates: [...turn('one', 0, 'a'), ...turn('two', 1, 'b'), ...turn('three', 2, 'c')],
    })
    const read = readOn(path)
    appendFileSync(
      path,
      jsonl([
        update({ sessionUpdate: 'rewind_marker', target_prompt_index: 1 }),
        ...turn('two again', 1, 'd'),
      ]),
    )
    readOn(path, read)
    const { superseded } = read.sessions.get(SESSION) ?? { superseded: new Set<string>() }
    const left = eventsOf(read).filter((event) => !superseded.has(event.key))
    expect(left.map((event) => event.said ?? event.kind)).toEqual([
      'one',
      're one',
      'completion',
      'human_intervention',
      'two again',
      're two again',
      'completion',
    ])
    expect([...read.usage.keys()]).toEqual(['a', 'b', 'c', 'd'])
  })
})

it('a model that is changed says what follows', () => {
  const changed = update({ sessionUpdate: 'model_changed', model_id: 'grok-b' })
  const usage = { inputTokens: 3, outputTokens: 2 }
  const done = update({ sessionUpdate: 'turn_completed', prompt_id: 'p', stop_reason: 'end_turn', usage })
  const path = writeSession({ updates: [changed, update(chunk('agent_message_chunk', 'yes')), done] })
  expect([...readOn(path).usage.values()].map(({ model }) => model)).toEqual(['grok-b'])
})

it('a command in the background ends as its call did', () => {
  const at = (secs: number) => ({ secs_since_epoch: secs, nanos_since_epoch: 250_000_000 })
  const task_snapshot = {
    task_id: 't',
    exit_code: 3,
    output: 'boom',
    start_time: at(1000),
    end_time: at(1002),
  }
  const path = writeSession({
    updates: [
      update(toolCall('c', 'run_terminal_command', { command: 'npm test' })),
      update({ sessionUpdate: 'task_backgrounded', task_id: 't', tool_call_id: 'c' }),
    ],
  })
  const read = readOn(path)
  appendFileSync(path, jsonl([update({ sessionUpdate: 'task_completed', task_snapshot })]))
  readOn(path, read)
  expect(eventsOf(read).at(-1)).toMatchObject({ kind: 'error', callId: 'c', exitCode: 3, durationMs: 2000 })
  const finished = update({ sessionUpdate: 'subagent_finished', status: 'completed', duration_ms: 700 })
  expect(eventsOf(readOn(writeSession({ updates: [finished] })))[0]?.durationMs).toBe(700)
})

describe('usage', () => {
  const completed = (usage: Line): Line[] => [
    update({ sessionUpdate: 'turn_completed', prompt_id: 'p', stop_reason: 'end_turn', usage }),
  ]

  it('has cached tokens inside its input, and costs in ticks', () => {
    const usage = {
      inputTokens: 9000,
      cachedReadTokens: 8000,
      cacheCreationTokens: 300,
      outputTokens: 300,
      reasoningTokens: 120,
      costUsdTicks: 12_300_000,
      modelUsage: { 'grok-4.5': {} },
    }
    const item = {
      input: 700,
      cacheRead: 8000,
      cacheWrite5m: 300,
      output: 300,
      reasoning: 120,
      model: 'grok-4.5',
      scope: 'turn',
    }
    const read = readOn(writeSession({ updates: completed(usage) }))
    expect(read.usage.get('p')).toMatchObject({ ...item, reportedCost: 123_000 })
    const partial = readOn(writeSession({ updates: completed({ ...usage, costIsPartial: true }) }))
    expect(partial.usage.get('p')).not.toHaveProperty('reportedCost')
  })

  it('of several models is told apart', () => {
    const part = (input: number, output: number): Line => ({
      inputTokens: input,
      outputTokens: output,
      cachedReadTokens: 0,
    })
    const usage = { ...part(30, 3), modelUsage: { a: part(10, 1), b: part(20, 2) } }
    const read = readOn(writeSession({ updates: completed(usage) }))
    expect(
      [...read.usage.values()].map(({ id, model, input, output }) => [id, model, input, output]),
    ).toEqual([
      ['p:a', 'a', 10, 1],
      ['p:b', 'b', 20, 2],
    ])
    const odd = readOn(writeSession({ updates: completed({ ...usage, inputTokens: 31 }) }))
    expect([...odd.usage.keys()]).toEqual(['p'])
  })

  it('of a turn that ended before any answer is none', () => {
    const usage = { inputTokens: 0, outputTokens: 0, usageIsIncomplete: true, numTurns: 0 }
    expect(readOn(writeSession({ updates: completed(usage) })).usage.size).toBe(0)
  })

  it('that names no model is of the one the prompt was for', () => {
    const prompt = update(chunk('user_message_chunk', 'go', { modelId: 'grok-a' }))
    const usage = { inputTokens: 1, outputTokens: 1 }
    const read = readOn(writeSession({ updates: [prompt, ...completed(usage)] }))
    expect(read.usage.get('p')?.model).toBe('grok-a')
  })

  it('of a sub-agent is already in its parent', () => {
    const path = writeSession({
      updates: completed({ inputTokens: 1, outputTokens: 1 }),
      summary: { session_kind: 'subagent' },
    })
    const read = readOn(path)
    expect(read.usage.get('p')?.nested).toBe(true)
    expect(read.sessions.get(SESSION)?.facts.relation).toBe('subagent')
  })

  it('of a session the agent hides is counted, and the session left out of plain lists', () => {
    const path = writeSession({
      updates: completed({ inputTokens: 1, outputTokens: 1 }),
      summary: { hidden: true },
    })
    const read = readOn(path)
    expect(read.usage.get('p')?.nested).toBeUndefined()
    expect(read.sessions.get(SESSION)?.facts.relation).toBe('subagent')
  })

  it('of a sub-agent stays nested while its summary is broken', () => {
    const path = writeSession({ updates: [], summary: { session_kind: 'subagent' } })
    const read = readOn(path)
    writeFileSync(join(dirname(path), 'summary.json'), '{')
    appendFileSync(path, jsonl(completed({ inputTokens: 1, outputTokens: 1 })))
    readOn(path, read)
    expect(read.usage.get('p')?.nested).toBe(true)
    expect(read.sessions.get(SESSION)?.facts.relation).toBe('subagent')
  })

  it('without updates comes from usage.json, under ids that copies share', () => {
    const turn = {
      endedAt: '2026-11-15T18:29:28.813305465+00:00',
      inputTokens: 10,
      cachedReadTokens: 4,
      outputTokens: 2,
    }
    const more = { 'usage.json': JSON.stringify({ turns: [{ ...turn, primaryModelId: 'm' }] }) }
    const read = readOn(writeSession({ chat: [], more }))
    expect([...read.usage.values()]).toMatchObject([
      { id: `turn@${turn.endedAt}`, input: 6, output: 2, model: 'm' },
    ])
  })
})

describe('lineage', () => {
  it('of a fork: copied events are marked, with equal keys and equal bytes', () => {
    const home = temporaryHome()
    const parent = [
      update(user('go', 0)),
      update(toolCall('c1', 'bash', { command: 'ls' })),
      update(
        toolUpdate('c1', {
          status: 'completed',
          rawOutput: {
            type: 'Bash',
            output: bytes('x'),
            exit_code: 0,
            output_file: `/s/${SESSION}/terminal/c1.log`,
            current_dir: '/a',
          },
        }),
      ),
      update({ sessionUpdate: 'task_backgrounded', task_id: 't', cwd: '/a', output_file: `/s/${SESSION}/t` }),
      update({
        sessionUpdate: 'turn_completed',
        prompt_id: 'p',
        stop_reason: 'end_turn',
        usage: { inputTokens: 5, outputTokens: 6 },
      }),
    ]
    const text = jsonl(parent)
      .replaceAll('"cwd":"/a"', '"cwd":"/b"')
      .replaceAll(`/s/${SESSION}`, '/s/fork')
      .replaceAll(`"sessionId":"${SESSION}"`, '"sessionId":"fork"')
    const copied = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Line)
    const read = readOn(writeSession({ updates: parent }, { home }))
    const summary = { parent_session_id: SESSION, forked_at: '2026-01-01T00:00:00Z' }
    readOn(
      writeSession(
        { updates: [...copied, update(user('on', 1), {}, 'fork')], summary },
        { home, session: 'fork' },
      ),
      read,
    )
    const inFork = eventsOf(read, 'fork')
    expect(inFork.map((event) => event.inherited ?? false)).toEqual([true, true, true, true, true, false])
    expect(inFork.slice(0, 5).map((event) => [event.key, JSON.stringify(event.payload)])).toEqual(
      eventsOf(read).map((event) => [event.key, JSON.stringify(event.payload)]),
    )
    expect([...read.usage.keys()]).toEqual(['p'])
    expect(read.edges).toMatchObject([{ kind: 'interactive_fork', session: 'fork', parent: SESSION }])
    expect(read.sessions.get('fork')?.facts.relation).toBe('fork')
  })

  it('of a sub-agent stands in its parent, once', () => {
    const meta = { child_session_id: 'kid', parent_session_id: SESSION, started_at: '2026-11-15T18:31:29Z' }
    const spawned = update({
      sessionUpdate: 'subagent_spawned',
      child_session_id: 'kid',
      parent_session_id: SESSION,
    })
    const more = {
      'subagents/kid/meta.json': JSON.stringify(meta),
      'subagents/other/meta.json': JSON.stringify({ ...meta, child_session_id: 'other' }),
    }
    const path = writeSession({ updates: [spawned], more })
    const read = readOn(path)
    readOn(path, read)
    expect(read.edges.map((one) => [one.kind, one.session, one.parent])).toEqual([
      ['subagent', 'kid', SESSION],
      ['subagent', 'other', SESSION],
    ])
  })
})

describe('facts', () => {
  it('are the last ones written, and a broken summary is named and waited for', () => {
    const path = writeSession({ updates: [], summary: { generated_title: 'a', current_model_id: 'm' } })
    const read = readOn(path)
    const summary = join(dirname(path), 'summary.json')
    writeFileSync(summary, '{"generated_title": "b", "title_is_')
    readOn(path, read)
    expect(read.gaps).toMatchObject([{ reason: 'companion', pending: true }])
    writeFileSync(summary, '{"generated_title": "b", "title_is_manual": true, "git_remotes": ["git@h:r"]}')
    readOn(path, read)
    expect(read.sessions.get(SESSION)?.facts).toMatchObject({
      title: 'b',
      titleByPerson: true,
      model: 'm',
      gitRemote: 'git@h:r',
    })
  })

  it('a killed session takes its prompt from the history of prompts until it tells it itself', () => {
    const path = writeSession({ updates: [] })
    const line = (session: string, prompt: string): Line => ({
      timestamp: '2026-11-15T18:29:42.3Z',
      session_id: session,
      prompt,
      is_bash: false,
    })
    writeFileSync(
      join(dirname(path), '..', 'prompt_history.jsonl'),
      jsonl([line('other', 'no'), line(SESSION, 'lost?')]),
    )
    const read = readOn(path)
    expect(eventsOf(read)).toMatchObject([{ kind: 'user_msg', said: 'lost?' }])
    appendFileSync(path, jsonl([update(user('lost?', 0)), update(agent('no'))]))
    readOn(path, read)
    const { superseded } = read.sessions.get(SESSION) ?? { superseded: new Set<string>() }
    expect(
      eventsOf(read)
        .filter((event) => !superseded.has(event.key))
        .map((event) => event.said),
    ).toEqual(['lost?', 'no'])
  })

  it('unknown records are kept and counted by name', () => {
    const path = writeSession({
      updates: [update({ sessionUpdate: 'brand_new', a: 1 }), { method: 'odd', x: 1 }],
    })
    const read = readOn(path)
    expect(eventsOf(read).map((event) => event.kind)).toEqual(['lifecycle', 'lifecycle'])
    expect([...read.unknown.keys()].sort()).toEqual(['updates:brand_new', 'updates:odd'])
    expect(eventsOf(read)[0]?.payload).toEqual({ update: 'brand_new', a: 1 })
  })

  it('a torn last line is named, then read', () => {
    const path = writeSession({ updates: [update(user('x', 0))] })
    const torn = jsonl([update(agent('answer'))])
    appendFileSync(path, torn.slice(0, 50))
    const read = readOn(path)
    expect(read.gaps).toMatchObject([{ reason: 'torn', pending: true }])
    appendFileSync(path, torn.slice(50))
    readOn(path, read)
    expect(eventsOf(read).map((event) => event.said)).toEqual(['x', 'answer'])
  })
})

describe('chat_history', () => {
  it('of the first layout is a list of OpenAI messages', () => {
    const call = {
      id: 'c1',
      type: 'function',
      function: { name: 'bash', arguments: '{"command":"npm test"}' },
    }
    const path = writeSession({
      summary: { chat_format_version: 0 },
      chat: [
        { role: 'system', content: 'You are' },
        { role: 'user', content: '<user_info>\nOS</user_info>' },
        { role: 'user', content: 'fix it' },
        { role: 'assistant', content: 'ok', reasoning_content: 'let me think', tool_calls: [call] },
        { role: 'tool', tool_call_id: 'c1', content: 'exit: 1\nboom' },
        { role: 'user', content: 'fix it' },
      ],
    })
    const read = readOn(path)
    expect(eventsOf(read).map(({ kind, said }) => [kind, said])).toEqual([
      ['lifecycle', undefined],
      ['lifecycle', undefined],
      ['user_msg', 'fix it'],
      ['thinking', 'let me think'],
      ['assistant_msg', 'ok'],
      ['test_run', undefined],
      ['error', 'boom'],
      ['user_msg', 'fix it'],
    ])
    expect(eventsOf(read)[6]).toMatchObject({
      tool: 'bash',
      exitCode: 1,
      summary: 'exit 1: boom',
      callId: 'c1',
    })
    expect(eventsOf(read).every((event) => event.ts === null)).toBe(true)
  })

  it('of the second tells what a person typed, and takes its times from the history of prompts', () => {
    const content = (text: string): Line[] => [{ type: 'text', text }]
    const chat = [
      { type: 'user', content: content('<user_query>\nhi\n</user_query>'), prompt_index: 0 },
      { type: 'user', content: content('stop that'), synthetic_reason: 'interjection' },
      { type: 'user', content: content('<x>'), synthetic_reason: 'auto_continue' },
      {
        type: 'reasoning',
        id: 'r1',
        summary: [{ type: 'summary_text', text: 'why' }],
        encrypted_content: 'xxxx',
      },
      {
        type: 'backend_tool_call',
        kind: { tool_type: 'web_search', action: { query: 'q' }, id: 'ws', status: 'completed' },
      },
      { type: 'user', content: content('next'), prompt_index: 1, prior_turn_interrupt: 'mid_turn_abort' },
    ]
    const path = writeSession({ chat, summary: { parent_session_id: 'p', inherited_prefix_len: 2 } })
    const line = { timestamp: '2026-11-15T18:29:42.342231532Z', session_id: SESSION, prompt: 'hi' }
    writeFileSync(join(dirname(path), '..', 'prompt_history.jsonl'), jsonl([line]))
    const read = readOn(path)
    expect(eventsOf(read).map(({ kind, said }) => [kind, said])).toEqual([
      ['user_msg', 'hi'],
      ['human_intervention', 'stop that'],
      ['lifecycle', undefined],
      ['thinking', 'why'],
      ['tool_call', undefined],
      ['human_intervention', undefined],
      ['user_msg', 'next'],
    ])
    expect(eventsOf(read)[4]?.act).toEqual({ does: 'search', input: { query: 'q' } })
    expect(eventsOf(read)[5]?.mark).toBe('interrupt')
    expect(eventsOf(read)[0]?.ts).toBe(Date.parse(line.timestamp))
    expect(eventsOf(read).map((event) => event.inherited ?? false)).toEqual([
      true,
      true,
      false,
      false,
      false,
      false,
      false,
    ])
    expect(JSON.stringify(eventsOf(read))).not.toContain('xxxx')
  })

  it('names the files of its calls', () => {
    const call = { id: 'c', name: 'search_replace', arguments: '{"file_path":"src/a.ts","new_string":"x"}' }
    const read = readOn(writeSession({ chat: [{ type: 'assistant', content: '', tool_calls: [call] }] }))
    expect(eventsOf(read)[0]).toMatchObject({ kind: 'edit', files: ['src/a.ts'] })
  })

  it('written anew by a compaction gives the same keys to what is left', () => {
    const kept = [
      { type: 'assistant', content: 'done', tool_calls: [] },
      { type: 'tool_result', tool_call_id: 'c9', content: 'y' },
    ]
    const prompt = { type: 'user', content: '<user_query>go</user_query>' }
    const path = writeSession({
      chat: [{ ...prompt, prompt_index: 0 }, { type: 'assistant', content: 'first' }, ...kept],
    })
    const before = eventsOf(readOn(path)).map((event) => event.key)
    writeFileSync(
      path,
      jsonl([{ type: 'user', content: 'sum', synthetic_reason: 'compaction_meta' }, prompt, ...kept]),
    )
    const after = eventsOf(readOn(path)).map((event) => event.key)
    expect(before).toEqual([after[1], expect.any(String), after[2], after[3]])
  })
})
