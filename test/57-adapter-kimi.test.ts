// Kimi Code: the contract on the sessions of the real client, and what its format gets readers wrong about.
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { agent } from '../src/adapters/kimi/agent.ts'
import { withReader } from '../src/sweep/tasks.ts'
import { adapterContract } from './contract/adapter.ts'
import { collect } from './setup/collect.ts'
import { KILLED } from './setup/lost.ts'
import { realSessions } from './setup/real-sessions.ts'
import { temporary } from './setup/temporary.ts'

const BEGUN = 'of a response that was cut off, the client counts what its beginning said'

describe('kimi', () =>
  adapterContract({
    adapter: agent,
    clients: ['kimi'],
    queues: /^(?:main|sub|compact)/,
    lost: {
      'kimi/interrupt': {
        'tokens: input 1001 of 0': BEGUN,
        'tokens: cache_read 2001 of 0': BEGUN,
        'tokens: cache_write 301 of 0': BEGUN,
      },
      'kimi/qa_chat': { 'tokens: cache_write 0 of 301': 'the chat protocol has no such number' },
      'kimi/kill_resume': { 'result: toolu_mock0001x0': KILLED },
    },
  }))

describe('sessions of the real client', () => {
  const real = realSessions(agent)

  it('tells each prompt and each answer once, though the client writes them three times', () => {
    const said = real.events('tools').flatMap((event) => (event.role === 'user' ? event.said : []))
    expect(said).toEqual(['The tests of calc.js fail. Find the bug, fix it and run the tests.'])
    const answers = real
      .events('tools')
      .flatMap((event) => (event.kind === 'assistant_msg' ? event.said : []))
    expect(new Set(answers).size).toBe(answers.length)
  })

  it('takes the exit code of a failed command from its words, and leaves them out', () => {
    const failed = real.events('tools').filter((event) => event.state === 'failed')
    expect(failed.map(({ kind, exitCode }) => [kind, exitCode])).toEqual([
      ['error', 1],
      ['error', 1],
    ])
    expect(failed.some((event) => event.said?.includes('Command failed'))).toBe(false)
    const results = real.events('tools').filter((event) => event.role === 'tool' && event.state === 'ok')
    expect(results.map(({ tool, exitCode }) => [tool, exitCode])).toEqual([
      ['Read', undefined],
      ['Bash', 0],
      ['Edit', undefined],
      ['Bash', 0],
    ])
    const deeds = real.events('tools').flatMap((event) => (event.act ? [[event.tool, event.act.does]] : []))
    expect(Object.fromEntries(deeds)).toEqual({ Read: 'read', Bash: 'shell', Edit: 'edit' })
  })

  it('hangs the file of a sub-agent on the call that started it', () => {
    const inside = real.events('subagent').filter((event) => event.isSidechain)
    expect(inside[0]).toMatchObject({ parentKey: null, parentCall: 'agent-0', agent: 'agent-0' })
    const [main = ''] = [...real.of('subagent').positions.keys()].filter((path) => path.includes('/main/'))
    const aliases = [...real.adapter.read({ path: main }, null)].filter((item) => item.type === 'alias')
    const spawn = real.events('subagent').find((event) => event.act?.does === 'spawn')
    expect(aliases).toMatchObject([{ name: 'agent-0', of: spawn?.callId }])
    expect(
      real.events('subagent').filter((event) => event.kind === 'user_msg' && !event.isSidechain),
    ).toHaveLength(1)
    expect([...real.of('subagent').sessions.values()]).toHaveLength(1)
  })

  it('gives what a fork copied the same keys, and names its parent', () => {
    const { edges } = real.of('fork')
    expect(edges.map(({ kind }) => kind)).toEqual(['interactive_fork', 'interactive_fork'])
    expect(new Set(edges.map(({ parent }) => parent)).size).toBe(1)
    const heard = real.events('fork').filter((event) => event.said === 'Start: the codeword is HERON.')
    expect(heard).toHaveLength(3)
    expect(new Set(heard.map(({ key }) => key)).size).toBe(1)
    expect(heard[0]?.key).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-/)
  })

  it('knows retries, an interrupt with the words so far, a failed turn, and a compaction with its tokens', () => {
    expect(real.events('api_retry').filter((event) => event.kind === 'retry')).toHaveLength(2)
    const stopped = real.events('interrupt')
    const words = stopped.findIndex((event) => event.said?.startsWith('This essay is interrupted'))
    // Behind the words, or the session would end with an answer.
    expect(stopped.flatMap((event, at) => (event.mark === 'interrupt' ? at > words : []))).toEqual([true])
    expect(real.events('api_fatal').filter((event) => event.kind === 'error')).toHaveLength(1)
    const [compaction] = real.events('autocompact').filter((event) => event.mark === 'compaction')
    expect(compaction?.said).toMatch(/^AUTOCOMPACT-SUMMARY/)
  })

  it("has the provider's name of the model, and where it was", () => {
    expect([...real.of('tools').usage.values()][0]?.model).toBe('mock-model')
    expect([...real.of('tools').sessions.values()][0]?.facts).toMatchObject({
      cwd: '/home/dev/proj',
      model: 'mock-model',
    })
    expect(agent.resume?.('session_x')).toBe('kimi --session session_x')
  })
})

/** Made from the documented records: no client here left them. */
describe('records that no session here has', () => {
  const at = (second: number) => ({ agentId: 'main', time: 1_794_859_000_000 + second * 1000 })
  const said = (second: number, id: string, text: string) => ({
    type: 'context.append_message',
    message: { id, role: 'user', content: [{ type: 'text', text }], origin: { kind: 'user' } },
    ...at(second),
  })
  const loop = (second: number, event: Record<string, unknown>) => ({
    type: 'context.append_loop_event',
    event,
    ...at(second),
  })
  const lines = [
    said(1, 'msg_1', 'first'),
    said(2, 'msg_2', 'second'),
    loop(3, {
      type: 'tool.call',
      uuid: '11111111-1111-4111-8111-111111111111',
      toolCallId: 'c1',
      name: 'Write',
      args: { path: '/a', content: 'x' },
    }),
    {
      type: 'permission.record_approval_result',
      toolCallId: 'c1',
      result: { decision: 'rejected' },
      ...at(4),
    },
    loop(5, {
      type: 'tool.result',
      parentUuid: '11111111-1111-4111-8111-111111111111',
      toolCallId: 'c1',
      result: { output: 'The user said no.', isError: true },
    }),
    { type: 'turn.steer', input: [], ...at(6) },
    said(7, 'msg_3', 'do it otherwise'),
    { type: 'context.undo', count: 1, ...at(8) },
    { type: 'what.tomorrow_brings', ...at(9) },
  ]

  it('are understood', async () => {
    const folder = join(temporary('kimi'), 'sessions', 'wd_a', 'session_a', 'agents', 'main')
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'wire.jsonl'), lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    const { sessions, unknown } = collect(await withReader(agent), join(folder, '..', '..', '..', '..'))
    const session = sessions.get('session_a')
    const told = session?.events
      .filter((event) => event.said)
      .map(({ kind, state, mark, said }) => [kind, state, mark, said])
    expect(told).toEqual([
      ['user_msg', undefined, undefined, 'first'],
      ['user_msg', undefined, undefined, 'second'],
      ['human_intervention', 'refused', 'denied', 'The user said no.'],
      ['human_intervention', undefined, undefined, 'do it otherwise'],
    ])
    const second = session?.events.find((event) => event.said === 'second')
    expect(session?.superseded.has(second?.key ?? '')).toBe(true)
    expect(session?.superseded.has(session.events[0]?.key ?? '')).toBe(false)
    expect([...unknown]).toEqual([['record what.tomorrow_brings', 1]])
  })
})

/** Made from the source of the program (MoonshotAI/kimi-cli at 4a550eff): no session of it is here. */
describe('the Kimi CLI in Python', () => {
  const ID = '0f3b1c9e-1111-4222-8333-444455556666'
  const call = (id: string, name: string, input: object) => ({
    type: 'function',
    id,
    function: { name, arguments: JSON.stringify(input) },
  })
  const result = (id: string, value: object) => ({
    tool_call_id: id,
    return_value: { message: '', ...value },
  })
  const inner = (type: string, payload: object) => ({
    parent_tool_call_id: 'c3',
    agent_id: 'a1',
    event: { type, payload },
  })
  const usage = (output: number, message_id: string) => ({
    message_id,
    token_usage: { input_other: 10, output, input_cache_read: 3, input_cache_creation: 2 },
  })
  const MESSAGES: [type: string, payload: object][] = [
    ['TurnBegin', { user_input: 'fix it' }],
    ['StepBegin', { n: 1 }],
    ['ContentPart', { type: 'think', think: 'hm', encrypted: null }],
    ['ContentPart', { type: 'text', text: 'I run it.' }],
    ['ToolCall', call('c1', 'Shell', { command: 'npm test' })],
    ['StatusUpdate', usage(5, 'm1')],
    [
      'ToolResult',
      result('c1', { is_error: true, output: '1 failing', message: 'Command failed with exit code: 1.' }),
    ],
    ['StepRetry', { n: 2, error_type: 'APIStatusError' }],
    [
      'ToolCall',
      call('c2', 'StrReplaceFile', { path: '/w/a', edit: [{ old: 'x', new: 'y', replace_all: true }] }),
    ],
    ['ApprovalRequest', { id: 'r1', tool_call_id: 'c2', sender: 's', action: 'edit', description: '' }],
    ['ApprovalResponse', { request_id: 'r1', response: 'reject' }],
    ['ToolResult', result('c2', { is_error: true, output: '', message: 'Rejected by the user.' })],
    ['SteerInput', { user_input: [{ type: 'text', text: 'ask another' }] }],
    ['ToolCall', call('c3', 'Agent', { prompt: 'look' })],
    ['SubagentEvent', inner('ContentPart', { type: 'text', text: 'I looked.' })],
    ['SubagentEvent', inner('StatusUpdate', usage(7, 'm2'))],
    ['ToolResult', result('c3', { is_error: false, output: [{ type: 'text', text: 'seen' }] })],
    ['CompactionBegin', {}],
    ['CompactionEnd', {}],
    ['TurnEnd', {}],
    ['OfTomorrow', {}],
  ]

  function makeHome(home: string): void {
    const hash = createHash('md5').update('/w').digest('hex')
    const folder = join(home, '.kimi', 'sessions', hash, ID)
    mkdirSync(folder, { recursive: true })
    writeFileSync(
      join(home, '.kimi', 'kimi.json'),
      JSON.stringify({ work_dirs: [{ path: '/v' }, { path: '/w' }] }),
    )
    writeFileSync(join(folder, 'state.json'), JSON.stringify({ version: 1, custom_title: 'Mine' }))
    const lines = MESSAGES.map(([type, payload], at) => ({
      timestamp: 1_784_000_000.25 + at,
      message: { type, payload },
    }))
    const text = [{ type: 'metadata', protocol_version: '1.9' }, ...lines].map((line) => JSON.stringify(line))
    writeFileSync(join(folder, 'wire.jsonl'), `${text.join('\n')}\n`)
  }

  adapterContract({ adapter: agent, make: makeHome })

  it('is told as what came after it', async () => {
    const home = temporary('kimi')
    makeHome(home)
    const { sessions, usage: counted, unknown } = collect(await withReader(agent), home)
    const session = sessions.get(ID)
    expect(session?.facts).toMatchObject({ cwd: '/w', title: 'Mine' })
    const told = session?.events.filter((event) => event.said || event.act || event.mark)
    expect(told?.map(({ kind, said, act, mark }) => [kind, said ?? act?.does ?? mark])).toEqual([
      ['user_msg', 'fix it'],
      ['thinking', 'hm'],
      ['assistant_msg', 'I run it.'],
      ['test_run', 'shell'],
      ['error', '1 failing'],
      ['edit', 'edit'],
      ['human_intervention', 'Rejected by the user.'],
      ['human_intervention', 'ask another'],
      ['tool_call', 'spawn'],
      ['assistant_msg', 'I looked.'],
      ['tool_result', 'seen'],
      ['lifecycle', 'compaction'],
      ['completion', 'turn-end'],
    ])
    const by = (said: string) => told?.find((event) => event.said === said)
    expect(by('1 failing')).toMatchObject({ exitCode: 1, state: 'failed', tool: 'Shell' })
    expect(by('I looked.')).toMatchObject({ isSidechain: true, agent: 'a1', parentCall: 'c3' })
    expect(told?.find((event) => event.act?.does === 'edit')?.act?.edits).toEqual([
      { path: '/w/a', before: 'x', after: 'y', isAll: true },
    ])
    expect(
      [...counted.values()].map(({ id, input, cacheRead, output }) => [id, input, cacheRead, output]),
    ).toEqual([
      ['m1', 10, 3, 5],
      ['m2', 10, 3, 7],
    ])
    expect(counted.get('m1')?.event).toBe(told?.[1]?.key)
    expect([...unknown]).toEqual([['message OfTomorrow', 1]])
  })
})
