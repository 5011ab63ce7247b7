// Cline: what the real client left, and what its format says of things that it did not do here.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { agent } from '../src/adapters/cline/agent.ts'
import { adapterContract } from './contract/adapter.ts'
import { filesBelow } from './setup/collect.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { eventsIn, itemsAs, itemsIn, itemsOf } from './setup/items.ts'

describe('cline', () =>
  adapterContract({
    adapter: agent,
    clients: ['cline'],
    lost: {
      'cline/kill_resume': { 'result: toolu_mock0001x0': 'the client was killed while the tool ran' },
      'cline/qa_chat': { 'tokens: cache_write 0 of 301': 'chat completions have no such number' },
    },
  }))

const scenario = async (name: string) => await itemsIn(agent, filesBelow(`${unpackAgent('cline')}/${name}`))

describe('sessions of the real client', () => {
  it('have outputs alone, with the exit code, and prompts as they were typed', async () => {
    const items = await scenario('tools')
    const events = eventsIn(items)
    const results = events.filter(({ role }) => role === 'tool')
    expect(results.map(({ tool, state, exitCode }) => [tool, state, exitCode])).toEqual([
      ['read_files', 'ok', undefined],
      ['run_commands', 'ok', 0],
      ['run_commands', 'failed', 1],
      ['run_commands', 'failed', 1],
      ['editor', 'ok', undefined],
      ['run_commands', 'ok', 0],
    ])
    expect(results[1]?.said).toBe('README.md\ncalc.js\ntest.js\n')
    expect(results[3]?.said).toMatch(/^\[stderr\]\nnode:assert/)
    expect(results[4]?.said).toMatch(/^Edited \/home\/dev\/proj\/calc.js/)
    const calls = events.filter(({ act }) => act)
    expect(calls.map(({ act, files }) => [act?.does, act?.command, files])).toEqual([
      ['read', undefined, ['/home/dev/proj/calc.js']],
      ['shell', 'ls -1', undefined],
      ['shell', 'node tset.js', undefined],
      ['shell', 'node test.js', undefined],
      ['edit', undefined, ['/home/dev/proj/calc.js']],
      ['shell', 'node test.js', undefined],
    ])
    expect(Object.assign({}, ...itemsAs(items, 'session'))).toMatchObject({
      cwd: '/home/dev/proj',
      gitBranch: 'main',
      model: 'claude-sonnet-4-5',
      agentVersion: '3.0.65',
    })
  })

  it('know their sub-agents, whose tokens are told once', async () => {
    const items = await scenario('subagent')
    const parent = '1794860079342_xarpz'
    expect(itemsAs(items, 'edge')).toMatchObject([
      { kind: 'subagent', parent, session: `${parent}__agent_1794860081084_lh9eqy` },
    ])
    expect(itemsAs(items, 'usage').map(({ session }) => session.length > parent.length)).toEqual([
      false,
      false,
      true,
      true,
    ])
  })

  it('tell errors as such, and of what was cut off no tokens', async () => {
    const items = await scenario('stream_cut')
    expect(eventsIn(items).map(({ kind }) => kind)).toEqual([
      'lifecycle',
      'user_msg',
      'assistant_msg',
      'error',
      'lifecycle',
    ])
    expect(itemsAs(items, 'usage')).toEqual([])
    const stopped = eventsIn(await scenario('interrupt')).at(-1)
    expect(stopped).toMatchObject({ kind: 'human_intervention', mark: 'interrupt' })
    // Killed, it says for ever that it runs.
    expect(eventsIn(await scenario('kill_stream')).at(-1)).toMatchObject({ role: 'tool' })
  })

  it('hold nothing that nobody described', async () => {
    const items = await itemsIn(agent, filesBelow(unpackAgent('cline')))
    expect(itemsAs(items, 'unknown')).toEqual([])
    expect(itemsAs(items, 'gap')).toEqual([])
  })
})

const BASE = Date.UTC(2026, 10, 15, 12)
const message = (id: string, role: string, text: string, second: number, more = {}) => ({
  id,
  role,
  content: [{ type: 'text', text }],
  ts: BASE + second * 1000,
  ...more,
})
const session = async (messages: unknown[], manifest = {}) =>
  await itemsOf(agent, {
    '.cline/data/sessions/s2/s2.json': { session_id: 's2', cwd: '/p', status: 'running', ...manifest },
    '.cline/data/sessions/s2/s2.messages.json': { version: 1, agent: 'lead', sessionId: 's2', messages },
  })

describe('what the format says', () => {
  it('a fork copies messages, and says of whom', async () => {
    const forkedAt = new Date(BASE + 5000).toISOString()
    const metrics = { inputTokens: 10, outputTokens: 2, cacheReadTokens: 3, cacheWriteTokens: 4, cost: 0.01 }
    const items = await session(
      [
        message('m1', 'user', '<user_input mode="act">first</user_input>', 1),
        message('m2', 'assistant', 'one', 2, { metrics, modelInfo: { id: 'm' } }),
        message('m3', 'user', '<user_input mode="plan"><mode_notice>x</mode_notice>\nmine</user_input>', 9),
      ],
      { metadata: { fork: { forkedFromSessionId: 's1', forkedAt } } },
    )
    expect(itemsAs(items, 'edge')).toMatchObject([
      { kind: 'interactive_fork', session: 's2', parent: 's1', at: BASE + 5000 },
    ])
    expect(eventsIn(items).map(({ said, inherited }) => [said, inherited])).toEqual([
      ['first', true],
      ['one', true],
      ['mine', undefined],
    ])
    expect(itemsAs(items, 'usage')).toMatchObject([
      { id: 'cline:m2', input: 3, cacheRead: 3, cacheWrite5m: 4, output: 2, reportedCost: 1_000_000 },
    ])
  })

  it('a summary of what was said is a compaction, and nobody said it', async () => {
    const metadata = { kind: 'compaction_summary', displayRole: 'system' }
    const items = await session([message('m1', 'user', 'all of it', 1, { metadata })])
    expect(eventsIn(items)).toMatchObject([{ kind: 'lifecycle', mark: 'compaction' }])
  })

  it('a call that nobody let it make is refused, and has no exit code', async () => {
    const words = 'requires approval in a TTY session -- NOT a tool or system failure. Clarify with user.'
    const call = { type: 'tool_use', id: 't1', name: 'run_commands', input: { commands: ['rm a'] } }
    const content = JSON.stringify({ error: `Tool "run_commands" ${words}` })
    const result = { type: 'tool_result', tool_use_id: 't1', name: 'run_commands', content, is_error: true }
    const items = await session([
      { id: 'm1', role: 'assistant', content: [call], ts: BASE },
      { id: 'm2', role: 'user', content: [result], ts: BASE + 1000 },
    ])
    const [, end] = eventsIn(items)
    expect([end?.state, end?.mark, end?.exitCode]).toEqual(['refused', 'denied', undefined])
  })

  it('several commands of one call have one result: the first that failed decides', async () => {
    const content = [
      { query: 'a', result: 'fine', success: true },
      {
        query: 'b',
        result: '[Command exited with code 3]\nbad',
        error: 'Command exited with code 3',
        success: false,
      },
    ]
    const call = { type: 'tool_use', id: 't1', name: 'run_commands', input: { commands: ['a', 'b'] } }
    const result = { type: 'tool_result', tool_use_id: 't1', name: 'run_commands', content }
    const items = await session([
      { id: 'm1', role: 'assistant', content: [call], ts: BASE },
      { id: 'm2', role: 'user', content: [result], ts: BASE + 1000 },
    ])
    expect(eventsIn(items)).toMatchObject([
      { act: { command: 'a\nb' } },
      { exitCode: 3, state: 'failed', durationMs: 1000 },
    ])
  })
})

const TASK = 'User/globalStorage/rooveterinaryinc.roo-cline/tasks/task-1'
const shown = (second: number, type: 'ask' | 'say', what: string, text: string, more = {}) => ({
  ts: BASE + second * 1000,
  type,
  [type]: what,
  text,
  ...more,
})
const requested = (more = {}) =>
  JSON.stringify({
    request: 'x',
    tokensIn: 10,
    tokensOut: 2,
    cacheReads: 3,
    cacheWrites: 4,
    cost: 0.02,
    ...more,
  })
const SHOWN = [
  shown(0, 'say', 'text', 'Fix the test'),
  shown(1, 'say', 'api_req_started', requested()),
  shown(2, 'say', 'reasoning', 'Let me look'),
  shown(3, 'say', 'text', 'I look.'),
  shown(4, 'say', 'text', 'half', { partial: true }),
  shown(5, 'ask', 'tool', JSON.stringify({ tool: 'readFile', path: 'a.js', content: 'x' })),
  shown(6, 'ask', 'command', 'npm test'),
  shown(7, 'say', 'command_output', '1 failing'),
  shown(8, 'say', 'user_feedback', 'use bun'),
  shown(9, 'ask', 'followup', JSON.stringify({ question: 'Which?' })),
  shown(10, 'say', 'user_feedback', 'this one'),
  shown(11, 'say', 'api_req_retry_delayed', 'wait'),
  shown(12, 'say', 'diff_error', 'no match'),
  shown(13, 'say', 'condense_context', ''),
  shown(14, 'say', 'completion_result', 'Done.'),
  shown(15, 'ask', 'completion_result', ''),
  shown(16, 'say', 'user_feedback', 'now the other'),
  shown(17, 'say', 'api_req_started', requested({ cancelReason: 'user_cancelled', tokensIn: 1 })),
  shown(18, 'say', 'song', 'la'),
]
const HISTORY = { id: 'task-1', workspace: '/p', parentTaskId: 'task-0', tokensIn: 999 }

describe('tasks of an extension', () => {
  it('are told as the editor showed them', async () => {
    const items = await itemsOf(agent, {
      [`${TASK}/ui_messages.json`]: JSON.stringify(SHOWN),
      [`${TASK}/history_item.json`]: HISTORY,
      [`${TASK}/task_metadata.json`]: { model_usage: [{ ts: BASE, model_id: 'claude-sonnet-4-5' }] },
    })
    expect(eventsIn(items).map(({ kind, mark }) => (mark ? `${kind} ${mark}` : kind))).toEqual([
      'user_msg',
      'lifecycle',
      'thinking',
      'assistant_msg',
      'tool_call',
      'test_run',
      'tool_result',
      'human_intervention',
      'decision',
      'user_msg',
      'retry',
      'error',
      'lifecycle compaction',
      'completion',
      'lifecycle',
      'user_msg',
      'human_intervention interrupt',
      'lifecycle',
    ])
    expect(itemsAs(items, 'unknown')).toEqual([{ type: 'unknown', name: 'shown song' }])
    expect(itemsAs(items, 'edge')).toMatchObject([{ kind: 'subagent', session: 'task-1', parent: 'task-0' }])
    expect(Object.assign({}, ...itemsAs(items, 'session'))).toMatchObject({
      cwd: '/p',
      model: 'claude-sonnet-4-5',
      startedAt: BASE,
    })
    expect(
      itemsAs(items, 'usage').map(({ input, cacheRead, output, model }) => [input, cacheRead, output, model]),
    ).toEqual([
      [10, 3, 2, 'claude-sonnet-4-5'],
      [1, 3, 2, 'claude-sonnet-4-5'],
    ])
    const result = eventsIn(items).find(({ role }) => role === 'tool')
    expect(result).toMatchObject({ tool: 'command', said: '1 failing' })
  })

  it('know where they were begun by the list of all tasks', async () => {
    const items = await itemsOf(agent, {
      [`${TASK}/ui_messages.json`]: JSON.stringify([shown(0, 'say', 'task', 'Fix it')]),
      [`${TASK}/../../state/taskHistory.json`]: JSON.stringify([
        { id: 'task-1', cwdOnTaskInitialization: '/q' },
      ]),
    })
    expect(itemsAs(items, 'session')).toMatchObject([{ cwd: '/q' }])
  })

  adapterContract({
    adapter: agent,
    make: (home) => {
      mkdirSync(join(home, TASK), { recursive: true })
      writeFileSync(join(home, TASK, 'ui_messages.json'), JSON.stringify(SHOWN))
      writeFileSync(join(home, TASK, 'history_item.json'), JSON.stringify(HISTORY))
    },
  })

  it('are looked for where editors keep them', () => {
    const roots = agent.roots({ HOME: '/home/dev' })
    const settings = process.platform === 'darwin' ? 'Library/Application Support' : '.config'
    expect(roots).toContain(`/home/dev/${settings}/Code/User/globalStorage/saoudrizwan.claude-dev/tasks`)
    expect(roots).toContain('/home/dev/.vscode-server/data/User/globalStorage/kilocode.kilo-code/tasks')
    expect(agent.claim('/home/dev/other/ui_messages.json')).toBe(null)
    expect(agent.claim('/home/dev/.cline/data/sessions/s2/s2.json')).toBe(null)
  })
})
