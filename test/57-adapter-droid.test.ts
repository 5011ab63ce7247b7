// Droid: the contract on the sessions of the real client, and what its format gets readers wrong about.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { agent } from '../src/adapters/droid/agent.ts'
import { withReader } from '../src/sweep/tasks.ts'
import { adapterContract } from './contract/adapter.ts'
import { collect } from './setup/collect.ts'
import { KILLED } from './setup/lost.ts'
import { realSessions } from './setup/real-sessions.ts'
import { temporary } from './setup/temporary.ts'

describe('droid', () =>
  adapterContract({
    adapter: agent,
    clients: ['droid'],
    queues: /^(?:main|sub|compact)/,
    lost: {
      'droid/kill_tool': { 'result: toolu_mock0001x0': KILLED },
      'droid/autocompact': {
        'answer: <summary>AUTOCOMPACT-SUMMARY: step one is done, step two is ':
          'the client keeps the summary without its tags',
      },
    },
  }))

describe('sessions of the real client', () => {
  const real = realSessions(agent)

  it('takes neither reminders nor errors for prompts', () => {
    const prompts = (scenario: string) =>
      real.events(scenario).filter((event) => event.kind === 'user_msg' && event.role === 'user')
    for (const scenario of ['tools', 'api_fatal', 'thinking']) expect(prompts(scenario)).toHaveLength(1)
    expect(prompts('autocompact')).toHaveLength(2)
    const [error] = real.events('api_fatal').filter((event) => event.kind === 'error')
    expect(error).toMatchObject({ role: 'system', summary: expect.stringMatching(/^BYOK Error: 400 /) })
  })

  it('takes exit codes from the words around an output, and leaves the words out', () => {
    const results = real.events('tools').filter((event) => event.role === 'tool' && event.tool === 'Execute')
    expect(results.map(({ kind, state, exitCode }) => [kind, state, exitCode])).toEqual([
      ['tool_result', 'ok', 0],
      ['error', 'failed', 1],
      ['error', 'failed', 1],
      ['tool_result', 'ok', 0],
    ])
    expect(results.map(({ said }) => said?.split('\n')[0])).toEqual([
      'README.md',
      'node:internal/modules/cjs/loader:1210',
      'node:assert:90',
      'ALL TESTS PASS',
    ])
    const deeds = real.events('tools').flatMap((event) => (event.act ? [[event.tool, event.act.does]] : []))
    expect(Object.fromEntries(deeds)).toEqual({ Read: 'read', Execute: 'shell', Edit: 'edit' })
  })

  it('has one sum of tokens for a session, and says so', () => {
    const usage = [...real.of('tools').usage.values()]
    expect(usage).toMatchObject([{ scope: 'turn', responses: 6, input: 6021, output: 321, isLatest: true }])
    expect(real.events('api_fatal').length).toBeGreaterThan(0)
    expect(real.of('api_fatal').usage.size).toBe(0)
  })

  it('knows what a fork copied', () => {
    const { sessions, edges, usage } = real.of('fork')
    expect(edges.map(({ kind, parent }) => [kind, parent])).toEqual([
      ['interactive_fork', '9d7cbc52-ad52-4353-abb1-bbffa28aa7d1'],
      ['interactive_fork', '9d7cbc52-ad52-4353-abb1-bbffa28aa7d1'],
    ])
    const fork = sessions.get('185921a4-9d45-42e1-bfcc-50c0a63f28e7')
    const said = fork?.events.flatMap(({ said, inherited }) => (said ? [[said, inherited === true]] : []))
    expect(said).toEqual([
      ['Start: the codeword is HERON.', true],
      ['Noted: HERON.', true],
      ['Fork A: say the codeword with A.', false],
      ['HERON-A', false],
    ])
    expect([...usage.values()].map((one) => one.responses)).toEqual([1, 2, 1])
  })

  it('knows a compaction, the end of a turn, and where it was', () => {
    const [compaction] = real.events('autocompact').filter((event) => event.mark === 'compaction')
    expect(compaction?.said).toMatch(/^AUTOCOMPACT-SUMMARY/)
    expect(real.events('qa').filter((event) => event.mark === 'turn-end')).toHaveLength(1)
    expect(real.events('kill_tool').filter((event) => event.mark === 'turn-end')).toHaveLength(0)
    const [session] = [...real.of('qa').sessions.values()]
    expect(session?.facts).toMatchObject({ cwd: '/home/dev/proj', model: 'custom:mock-0' })
  })
})

/** Made from what others wrote of the format: no client here left them. */
describe('records that no session here has', () => {
  const ID = '0f3b1c9e-1111-4222-8333-444455556666'
  const PARENT = '0f3b1c9e-1111-4222-8333-444455557777'
  const lines = [
    {
      type: 'session_start',
      id: ID,
      title: 't',
      cwd: '/w',
      callingSessionId: PARENT,
      callingToolUseId: 'call-1',
    },
    { type: 'todo_state', timestamp: '2026-01-15T10:00:00Z', todos: '1. [pending] a' },
    { type: 'compaction_state', timestamp: '2026-01-15T10:00:01Z', summary: 'so far' },
    { type: 'what_tomorrow_brings', timestamp: '2026-01-15T10:00:02Z' },
  ]

  it('are understood', async () => {
    // Older versions have no folder for the working directory.
    const folder = join(temporary('droid'), '.factory', 'sessions')
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, `${ID}.jsonl`), lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    const { sessions, edges, unknown } = collect(await withReader(agent), folder)
    expect(edges).toMatchObject([{ kind: 'subagent', session: ID, parent: PARENT, evidence: 'call-1' }])
    expect(sessions.get(ID)?.facts.relation).toBe('subagent')
    expect(sessions.get(ID)?.events.map(({ mark, said }) => [mark, said])).toContainEqual([
      'compaction',
      'so far',
    ])
    expect([...unknown]).toEqual([['record what_tomorrow_brings', 1]])
  })
})
