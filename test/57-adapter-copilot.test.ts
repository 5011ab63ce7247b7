// Copilot CLI: the contract on the sessions of the real client, and what its format gets readers wrong about.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Item, Source, UsageItem } from '../src/adapters/adapter.ts'
import { agent } from '../src/adapters/copilot/agent.ts'
import { withReader } from '../src/sweep/tasks.ts'
import { adapterContract } from './contract/adapter.ts'
import { outcome } from './contract/outcome.ts'
import { KILLED } from './setup/lost.ts'
import { realSessions } from './setup/real-sessions.ts'
import { temporary } from './setup/temporary.ts'

describe('copilot', () =>
  adapterContract({
    adapter: agent,
    clients: ['copilot'],
    lost: { 'copilot/kill_tool': { 'result: toolu_mock0001x0': KILLED } },
  }))

describe('sessions of the real client', () => {
  const real = realSessions(agent)

  it('tells a failed command by its exit code, whatever the client calls it', () => {
    const results = real.events('tools').filter((event) => event.role === 'tool')
    expect(results.map(({ state, exitCode, kind }) => [state, exitCode, kind])).toEqual([
      ['ok', undefined, 'tool_result'],
      ['ok', 0, 'tool_result'],
      ['failed', 1, 'error'],
      ['failed', 1, 'error'],
      ['ok', undefined, 'tool_result'],
      ['ok', 0, 'tool_result'],
    ])
    expect(results.at(-1)?.said).toBe('ALL TESTS PASS')
    const calls = real.events('tools').filter((event) => event.act)
    expect(calls.map(({ kind, act }) => [kind, act?.does])).toEqual([
      ['tool_call', 'read'],
      ['tool_call', 'shell'],
      ['tool_call', 'shell'],
      ['test_run', 'shell'],
      ['edit', 'edit'],
      ['retry', 'shell'],
    ])
  })

  it('tells each call once, with the time it took', () => {
    const [call] = real.events('kill_stream').filter((event) => event.act)
    const [result] = real.events('kill_stream').filter((event) => event.role === 'tool')
    expect(result).toMatchObject({ callId: call?.callId, tool: 'bash' })
    expect(result?.durationMs).toBeGreaterThan(0)
  })

  it('hangs a sub-agent on its call, and goes on without it', () => {
    const told = real.events('subagent')
    const inside = told.filter((event) => event.isSidechain)
    const spawn = told.find((event) => event.act?.does === 'spawn')
    expect(inside[0]).toMatchObject({ parentKey: null, parentCall: spawn?.callId, agent: expect.any(String) })
    expect(inside.filter((event) => event.said).map((event) => event.said)).toEqual([
      'SUBTASK-A: count the files in the current directory.',
      'Counting.',
      '3',
      'SUB-RESULT: 3 files.',
    ])
    const keys = new Set(inside.map((event) => event.key))
    for (const event of told) if (!event.isSidechain) expect(keys.has(event.parentKey ?? '')).toBe(false)
    expect(told.filter((event) => event.kind === 'user_msg' && !event.isSidechain)).toHaveLength(1)
    const usage = [...real.of('subagent').usage.values()]
    expect(usage.filter((one) => one.isSidechain)).toHaveLength(2)
  })

  it('says of a call that was under way at a kill that nobody knows', () => {
    const results = real.events('kill_resume').filter((event) => event.role === 'tool')
    expect(results.map(({ state, kind }) => [state, kind])).toEqual([['cut', 'tool_result']])
  })

  it('knows an interrupt, an error, and where it was', () => {
    expect(real.events('interrupt').filter((event) => event.mark === 'interrupt')).toHaveLength(1)
    const [error] = real.events('api_fatal').filter((event) => event.kind === 'error')
    expect(error?.summary).toBe('session error: 400 mock: this request is refused for ever')
    const [id = '', session] = [...real.of('tools').sessions][0] ?? []
    expect(session?.facts).toMatchObject({
      cwd: '/home/dev/proj',
      gitBranch: 'main',
      model: 'claude-sonnet-4.5',
      agentVersion: '1.0.102',
      title: 'The tests of calc.js fail. Find the bug, fix it and run the tests.',
    })
    expect(agent.resume?.(id)).toBe(`copilot --resume=${id}`)
  })

  it('shows the tokens of a response with its answer', () => {
    const [path = ''] = real.of('resume').positions.keys()
    const told = [...real.adapter.read({ path }, null)]
    const answers = real.events('resume').filter((event) => event.kind === 'assistant_msg')
    expect(Object.values(outcome(told).usage)).toMatchObject(answers.map(({ key }) => ({ event: key })))
  })
})

/** Before 1.0: one file per session, no records of usage. Made from the documented format. */
describe('flat files', () => {
  const ID = '0f3b1c9e-1111-4222-8333-444455556666'
  const metrics = (inputTokens: number, outputTokens: number, count: number) => ({
    'gpt-5': {
      requests: { count, cost: 1 },
      usage: { inputTokens, outputTokens, cacheReadTokens: 50, cacheWriteTokens: 0 },
    },
  })
  const lines: [type: string, data: Record<string, unknown>][] = [
    ['session.start', { sessionId: ID, version: 1, copilotVersion: '0.0.353' }],
    ['user.message', { content: 'first', transformedContent: '<date/>first' }],
    [
      'assistant.message',
      { messageId: 'm1', content: 'one', model: 'gpt-5', toolRequests: [], outputTokens: 7 },
    ],
    ['session.shutdown', { shutdownType: 'routine', modelMetrics: metrics(150, 8, 1) }],
    ['session.resume', { resumeTime: '2026-01-15T10:00:00.000Z' }],
    ['user.message', { content: 'go on', source: 'skill-pdf' }],
    ['user.message', { content: 'faster', delivery: 'steering' }],
    ['assistant.message', { messageId: 'm2', content: 'two', toolRequests: [], outputTokens: 5 }],
    ['session.shutdown', { shutdownType: 'routine', modelMetrics: metrics(350, 13, 2) }],
    // 1.0.102, begun with `--plan`.
    ['session.mode_notice_delivered', {}],
    ['session.snapshot_of_tomorrow', { what: 'nobody knows' }],
  ]

  async function flat(count: number): Promise<Item[]> {
    const folder = join(temporary('flat'), '.copilot', 'session-state')
    mkdirSync(folder, { recursive: true })
    const text = lines.slice(0, count).map(([type, data], at) =>
      JSON.stringify({
        type,
        data,
        id: `e${at}`,
        parentId: null,
        timestamp: `2026-01-15T09:00:${10 + at}.000Z`,
      }),
    )
    const path = join(folder, `${ID}.jsonl`)
    writeFileSync(path, `${text.join('\n')}\n`)
    return [...(await withReader(agent)).read(agent.claim(path) as Source, null)]
  }

  it('counts the last total, and output alone until there is one', async () => {
    const counted = async (count: number) => {
      const [usage, ...others] = Object.values(outcome(await flat(count)).usage) as UsageItem[]
      expect(others).toEqual([])
      return [usage?.input, usage?.cacheRead, usage?.output, usage?.responses, usage?.scope]
    }
    expect(await counted(3)).toEqual([0, 0, 7, 1, 'turn'])
    expect(await counted(4)).toEqual([100, 50, 8, 1, 'turn'])
    expect(await counted(8)).toEqual([100, 50, 13, 2, 'turn'])
    expect(await counted(9)).toEqual([300, 50, 13, 2, 'turn'])
  })

  it('takes only a person for a person, and keeps what it does not know', async () => {
    const items = await flat(lines.length)
    const told = items.filter((item) => item.type === 'event')
    expect(new Set(told.map((event) => event.session))).toEqual(new Set([ID]))
    expect(outcome(items).facts[ID]).toMatchObject({ model: 'gpt-5', agentVersion: '0.0.353' })
    expect(told.filter((event) => event.role === 'user').map(({ kind, said }) => [kind, said])).toEqual([
      ['user_msg', 'first'],
      ['human_intervention', 'faster'],
    ])
    expect(items.filter((item) => item.type === 'unknown')).toEqual([
      { type: 'unknown', name: 'event session.snapshot_of_tomorrow' },
    ])
    expect(told.at(-1)?.payload).toMatchObject({ what: 'nobody knows' })
  })
})
