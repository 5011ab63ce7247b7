// Letta Code's local backend: ids that are not unique, a clock that counts, answers that are written in place.
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Adapter, EventItem } from '../src/adapters/adapter.ts'
import { agent } from '../src/adapters/letta/agent.ts'
import { resumeCommand } from '../src/adapters/resume.ts'
import { withReader } from '../src/sweep/tasks.ts'
import { adapterContract } from './contract/adapter.ts'
import { type Collected, collect } from './setup/collect.ts'
import { type Dump, differences } from './setup/dump.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { KILLED } from './setup/lost.ts'
import { World } from './setup/sweeping.ts'

const named = { 'session: local-conv-1': 'every home has one of this name: its agent goes with it' }
const SCENARIOS = [
  'api_fatal',
  'api_retry',
  'big_unicode_secret',
  'interrupt',
  'kill_stream',
  'kill_tool',
  'qa',
]

describe('letta', () =>
  adapterContract({
    adapter: agent,
    clients: ['letta'],
    // The wire it ran on has no number for what is written to the cache.
    counters: ['input', 'cache_read', 'output'],
    lost: {
      ...Object.fromEntries(
        [...SCENARIOS, 'resume', 'stream_cut', 'subagent', 'tools'].map((name) => [`letta/${name}`, named]),
      ),
      'letta/kill_tool': { ...named, 'result: call_mock0001x0': KILLED },
    },
  }))

let reader: Adapter
beforeAll(async () => {
  reader = await withReader(agent)
})

const scenario = (name: string): Collected => collect(reader, join(unpackAgent('letta'), name))
const eventsIn = (all: Collected): EventItem[] => [...all.sessions.values()].flatMap(({ events }) => events)

describe('what it left', () => {
  it('holds nothing that nobody described; the empty conversation of every agent is no session', () => {
    const home = unpackAgent('letta')
    const all = collect(reader, home)
    expect([...all.unknown]).toEqual([])
    expect(all.gaps).toEqual([])
    expect(all.sessions.size).toBe(readdirSync(home).length + 1)
    for (const [id, { facts }] of all.sessions) {
      expect(id).toMatch(/^(?:local-conv-1|default)@agent-local-[0-9a-f-]{36}$/)
      expect(facts).toMatchObject({ cwd: '/home/dev/proj', startedAt: expect.any(Number) })
    }
  })

  it('has times of answers only: the others come from a counter', () => {
    const events = eventsIn(scenario('tools'))
    expect(new Set(events.filter(({ ts }) => ts === null).map(({ role }) => role))).toEqual(
      new Set(['system', 'user', 'tool']),
    )
    const times = events.flatMap(({ ts }) => ts ?? [])
    expect(new Date(Math.min(...times)).toISOString()).toMatch(/^2026-11-16T20/)
    expect(events.filter(({ role }) => role === 'assistant').every(({ ts }) => ts !== null)).toBe(true)
  })

  it('tells place, branch and version in the words of the client alone, which nobody said', () => {
    const [session] = [...scenario('qa').sessions.values()]
    expect(session?.facts).toMatchObject({ gitBranch: 'main', agentVersion: '0.25.9', model: 'mock-model' })
    expect(session?.events.filter(({ kind }) => kind === 'user_msg').map(({ said }) => said)).toEqual([
      'What is the capital of France? Answer in one word.',
    ])
    expect(session?.events.some(({ said }) => said?.includes('system-reminder'))).toBe(false)
  })

  it('tells how commands ended, without the head that the client puts before their output', () => {
    const ends = eventsIn(scenario('tools')).filter(({ role, tool }) => role === 'tool' && tool === 'Bash')
    expect(ends.map(({ state, exitCode }) => [state, exitCode])).toEqual([
      ['ok', 0],
      ['failed', 1],
      ['failed', 1],
      ['ok', 0],
    ])
    expect(ends.some(({ said }) => said?.startsWith('Exit code'))).toBe(false)
  })

  it('links a sub-agent by what its call came back with', () => {
    const all = scenario('subagent')
    const [edge] = all.edges
    expect(all.edges).toMatchObject([{ kind: 'subagent', evidence: 'call_mock0001x0', at: null }])
    expect(all.sessions.get(edge?.session ?? '')?.facts.relation).toBe('subagent')
    expect(all.sessions.get(edge?.parent ?? '')?.facts.relation).toBeUndefined()
  })

  it('tells a prompt once that the client sent again', () => {
    const kinds = eventsIn(scenario('api_retry')).map(({ kind }) => kind)
    expect(kinds.filter((kind) => kind !== 'lifecycle')).toEqual(['user_msg', 'retry'])
  })

  it.each(['interrupt', 'kill_stream', 'stream_cut'])(
    'does not take the answer of %s for a whole one',
    (name) => {
      const all = scenario(name)
      const [session] = [...all.sessions.values()]
      expect(session?.events.at(-1)).toMatchObject({ mark: 'shutdown', role: 'system' })
      expect(session?.events.at(-2)).toMatchObject({ kind: 'assistant_msg' })
      expect(session?.superseded.has(session.events.at(-1)?.key ?? '')).toBe(false)
    },
  )
})

describe('an answer that was read while it came in', () => {
  const about = {
    agent_id: 'agent-local-1',
    conversation_id: 'local-conv-1',
    created_at: '2026-01-01T00:00:02.000Z',
  }
  const prompt = {
    id: 'ui-msg-1',
    role: 'user',
    content: [{ type: 'text', text: 'go' }],
    timestamp: 1767225601000,
    metadata: about,
  }
  const answer = (text: string, more: Record<string, unknown>): unknown => ({
    id: 'ui-msg-2',
    role: 'assistant',
    content: [{ type: 'text', text }],
    stopReason: 'stop',
    metadata: about,
    ...more,
  })
  const partial = {
    api: 'local',
    provider: 'local',
    model: 'local',
    timestamp: 1767225602000,
    usage: { input: 0, output: 0 },
  }
  const whole = {
    provider: 'p',
    model: 'm',
    responseId: 'r1',
    timestamp: 1794861063160,
    usage: { input: 5, output: 3 },
  }
  const contents = [
    answer('half an', partial),
    answer('half an answer', partial),
    answer('half an answer, and the rest', whole),
  ].map((last) => `${JSON.stringify(prompt)}\n${JSON.stringify(last)}\n`)

  const swept = async (...steps: string[]): Promise<Dump> => {
    const world = new World()
    const file = join(
      world.home,
      '.letta/lc-local-backend/conversations/Y29udmVyc2F0aW9uOmxvY2FsLWNvbnYtMQ/messages.jsonl',
    )
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(join(dirname(file), 'manifest.json'), '{"created_at":"2026-11-16T20:31:00.000Z"}')
    for (const step of steps) {
      writeFileSync(file, step)
      await world.sweep()
    }
    return world.dump()
  }

  it('is told as it ended', async () => {
    const dump = JSON.stringify(await swept(...contents))
    expect(dump).toContain('half an answer, and the rest')
  })

  it('grows in its place', async () => {
    const [first = '', second = ''] = contents
    expect(differences(await swept(first, second), await swept(second))).toEqual([])
  })
})

describe('the command that takes a conversation up again', () => {
  it('names the conversation, or the agent whose own it is', () => {
    const at = '@agent-local-1'
    expect(resumeCommand('letta', `local-conv-1${at}`)).toBe('letta --conversation local-conv-1')
    expect(resumeCommand('letta', `default${at}`)).toBe('letta --agent agent-local-1')
  })
})
