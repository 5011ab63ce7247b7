// Continue: one document per session, without ids and times, forks without a parent.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Adapter, EventItem } from '../src/adapters/adapter.ts'
import { agent } from '../src/adapters/continue/agent.ts'
import { withReader } from '../src/sweep/tasks.ts'
import { adapterContract } from './contract/adapter.ts'
import { type Collected, collect } from './setup/collect.ts'
import { differences } from './setup/dump.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { World } from './setup/sweeping.ts'
import { temporary } from './setup/temporary.ts'

const unwritten = (...differences: string[]): Record<string, string> =>
  Object.fromEntries(differences.map((one) => [one, 'the client writes only when it ends as it should']))
const call = ['call: toolu_mock0001x0', 'result: toolu_mock0001x0']
const firstTokens = [
  'tokens: input 0 of 1001',
  'tokens: cache_read 0 of 2001',
  'tokens: cache_write 0 of 301',
  'tokens: output 0 of 51',
]

describe('continue', () =>
  adapterContract({
    adapter: agent,
    clients: ['continue'],
    scenarios: ['fork', 'qa', 'tools'],
    lost: {
      'continue/api_fatal': unwritten('prompt: This request will be refused.'),
      'continue/api_retry': unwritten('prompt: Say the word recovered.'),
      'continue/kill_resume': unwritten(
        'prompt: Run the slow job.',
        'answer: Starting the slow job.',
        ...call,
        'tokens: input 1002 of 2003',
        'tokens: cache_read 2002 of 4003',
        'tokens: cache_write 302 of 603',
        'tokens: output 52 of 103',
      ),
      'continue/kill_stream': unwritten(
        'prompt: List the files and then write a long essay.',
        'answer: Looking around first.',
        ...call,
        ...firstTokens,
      ),
      'continue/kill_tool': unwritten(
        'prompt: Run the slow job.',
        'answer: Starting the slow job.',
        ...call,
        ...firstTokens,
      ),
      'continue/stream_cut': { 'answer: whole': 'it stands in one text with the half that was cut off' },
      'continue/thinking': Object.fromEntries(
        [
          'thinking: The exports line shows add and mul: two functions. THINK-MAR',
          'thinking: The user wants a count of exports. I should look at the file',
        ].map((one) => [one, 'the client drops what was thought']),
      ),
    },
  }))

let reader: Adapter
beforeAll(async () => {
  reader = await withReader(agent)
})

const scenario = (name: string): Collected => collect(reader, join(unpackAgent('continue'), name))
const eventsIn = (all: Collected): EventItem[] => [...all.sessions.values()].flatMap(({ events }) => events)

function made(document: Record<string, unknown>): Collected {
  const file = join(temporary('continue'), '.continue', 'sessions', 's1.json')
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, JSON.stringify({ sessionId: 's1', ...document }))
  return collect(reader, dirname(file))
}

const said = (role: string, content: unknown, more = {}, beside = {}): Record<string, unknown> => ({
  message: { role, content, ...more },
  contextItems: [],
  ...beside,
})

describe('what it left', () => {
  it('holds nothing that nobody described, and no time but the beginning', () => {
    const all = collect(reader, unpackAgent('continue'))
    expect(all.sessions.size).toBe(10)
    expect([...all.unknown]).toEqual([])
    expect(all.gaps).toEqual([])
    for (const { facts, events } of all.sessions.values()) {
      expect(facts).toMatchObject({ cwd: '/home/dev/proj', model: 'mock-model' })
      expect(facts.title).toBeUndefined()
      expect(new Date(facts.startedAt ?? 0).toISOString()).toMatch(/^2026-11-16/)
      expect(events.every(({ ts }) => ts === null)).toBe(true)
    }
    const starts = new Set([...all.sessions.values()].map(({ facts }) => facts.startedAt))
    expect([...all.usage.values()].filter(({ ts }) => ts === null || !starts.has(ts))).toEqual([])
  })

  it('tells how commands ended, and what was changed', () => {
    const events = eventsIn(scenario('tools'))
    const ends = events.filter(({ role, tool }) => role === 'tool' && tool === 'Bash')
    expect(ends.map(({ state, exitCode }) => [state, exitCode])).toEqual([
      // Done is also what failed and wrote nothing to stderr.
      ['ok', undefined],
      ['failed', 1],
      ['failed', 1],
      ['ok', undefined],
    ])
    expect(ends[1]?.said).toMatch(/^node:internal/)
    const edit = events.find(({ kind }) => kind === 'edit')
    expect(edit?.act?.edits).toMatchObject([{ before: 'return a - b;', after: 'return a + b;' }])
    expect(events.find(({ tool }) => tool === 'Read')?.files).toEqual(['/home/dev/proj/calc.js'])
  })

  it('counts what a fork copied where it was said', () => {
    const all = scenario('fork')
    const forks = [...all.sessions.values()].filter(({ facts }) => facts.relation === 'fork')
    expect(forks).toHaveLength(2)
    for (const { events } of forks)
      expect(events.map(({ inherited }) => !!inherited)).toEqual([true, true, false, false])
    expect([...all.usage.values()].map(({ input }) => input).sort()).toEqual([1001, 1002, 1003])
  })

  it('does not take a session that was gone on with for a fork', () => {
    const [session] = [...scenario('resume').sessions.values()]
    expect(session?.facts.relation).toBeUndefined()
    expect(session?.events.some(({ inherited }) => inherited)).toBe(false)
  })
})

describe('a document that is written anew', () => {
  it('gives the same memory as the last one alone', async () => {
    const home = join(unpackAgent('continue'), 'tools')
    const [path = ''] = [...collect(reader, home).positions.keys()]
    const whole = JSON.parse(readFileSync(path, 'utf8'))
    const swept = async (...lengths: number[]): Promise<unknown> => {
      const world = new World()
      const file = join(world.home, '.continue', 'sessions', basename(path))
      mkdirSync(dirname(file), { recursive: true })
      for (const length of lengths) {
        writeFileSync(
          file,
          JSON.stringify({ ...whole, usage: undefined, history: whole.history.slice(0, length) }),
        )
        await world.sweep()
      }
      return world.dump()
    }
    expect(differences(await swept(1, 2, 4, 7), await swept(7))).toEqual([])
  })

  it('is dated as soon as the index knows it', async () => {
    const world = new World()
    const folder = join(world.home, '.continue', 'sessions')
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 's1.json'), JSON.stringify({ sessionId: 's1', history: [said('user', 'go')] }))
    await world.sweep()
    expect(JSON.stringify(world.dump())).not.toContain('1794859609523')
    writeFileSync(
      join(folder, 'sessions.json'),
      JSON.stringify([{ sessionId: 's1', dateCreated: '1794859609523' }]),
    )
    await world.sweep()
    expect(JSON.stringify(world.dump())).toContain('1794859609523')
  })
})

describe('tokens', () => {
  it('of OpenAI hold what was cached, those of Anthropic do not', () => {
    const usage = (details: Record<string, number>): Record<string, unknown> => ({
      usage: {
        prompt_tokens: 100,
        completion_tokens: 7,
        prompt_tokens_details: details,
        model: 'm',
        cost_cents: 2,
      },
    })
    const all = made({
      history: [
        said('assistant', 'one', usage({ cached_tokens: 40 })),
        said('assistant', 'two', usage({ cached_tokens: 40, cache_read_tokens: 40, cache_write_tokens: 5 })),
      ],
    })
    expect([...all.usage.values()]).toMatchObject([
      { input: 60, cacheRead: 40, cacheWrite5m: 0, output: 7, reportedCost: 2_000_000 },
      { input: 100, cacheRead: 40, cacheWrite5m: 5, output: 7 },
    ])
  })
})

describe('what the extensions write', () => {
  it('is understood as their types describe it', () => {
    const wanted = {
      id: 'c1',
      type: 'function',
      function: { name: 'run_terminal_command', arguments: '{"command":"ls"}' },
    }
    const all = made({
      title: 'A name',
      workspaceDirectory: 'file:///home/dev/my%20proj',
      history: [
        said('user', [
          { type: 'text', text: 'go' },
          { type: 'imageUrl', imageUrl: { url: 'data:' } },
        ]),
        said('thinking', 'hm', { signature: 'x' }),
        said(
          'assistant',
          '',
          { toolCalls: [wanted] },
          { toolCallState: { toolCallId: 'c1', status: 'canceled' } },
        ),
        said('assistant', 'done', {}, { conversationSummary: 'what was' }),
        said('oracle', 'hm'),
      ],
    })
    const [session] = [...all.sessions.values()]
    expect(session?.facts).toMatchObject({ title: 'A name', cwd: '/home/dev/my proj' })
    expect(session?.events.map(({ kind, state, mark }) => [kind, state, mark])).toEqual([
      ['user_msg', undefined, undefined],
      ['lifecycle', undefined, undefined],
      ['thinking', undefined, undefined],
      ['tool_call', undefined, undefined],
      ['human_intervention', 'refused', 'denied'],
      ['lifecycle', undefined, 'compaction'],
      ['assistant_msg', undefined, undefined],
      ['lifecycle', undefined, undefined],
    ])
    expect([...all.unknown.keys()]).toEqual(['role oracle'])
  })
})
