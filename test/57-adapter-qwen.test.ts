// Qwen Code: what the real client left, and what its format says of things that it did not do here.
import { describe, expect, it } from 'vitest'
import { agent } from '../src/adapters/qwen/agent.ts'
import { adapterContract } from './contract/adapter.ts'
import { filesBelow } from './setup/collect.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { eventsIn, itemsAs, itemsIn, itemsOf } from './setup/items.ts'

const killed = { 'result: call_mock0001x0': 'the client was killed while the tool ran' }

describe('qwen', () =>
  adapterContract({
    adapter: agent,
    clients: ['qwen'],
    counters: ['input', 'cache_read', 'output'],
    lost: {
      'qwen/kill_resume': killed,
      'qwen/kill_tool': killed,
      'qwen/stream_cut': {
        'answer: whole': 'the client writes it behind the half that came before, as one text',
      },
    },
  }))

const scenario = async (name: string) => await itemsIn(agent, filesBelow(`${unpackAgent('qwen')}/${name}`))

describe('sessions of the real client', () => {
  it('have outputs alone, with the exit code', async () => {
    const items = await scenario('tools')
    const results = eventsIn(items).filter(({ role }) => role === 'tool')
    expect(results.map(({ tool, state, exitCode }) => [tool, state, exitCode])).toEqual([
      ['read_file', 'ok', undefined],
      ['run_shell_command', 'ok', 0],
      ['run_shell_command', 'failed', 1],
      ['run_shell_command', 'failed', 1],
      ['edit', 'ok', undefined],
      ['run_shell_command', 'ok', 0],
    ])
    expect(results[1]?.said).toBe('README.md\ncalc.js\ntest.js')
    expect(results[4]?.original).toContain('return a - b;')
    const facts = Object.assign({}, ...itemsAs(items, 'session'))
    expect(facts).toMatchObject({ cwd: '/home/dev/proj', gitBranch: 'main', model: 'qwen3-coder-plus' })
  })

  it('hold what a sub-agent did, behind the call that began it, and its end', async () => {
    const items = await scenario('subagent')
    const events = eventsIn(items)
    expect(new Set(events.map(({ session }) => session)).size).toBe(1)
    const own = events.filter(({ isSidechain }) => isSidechain)
    expect(own[0]).toMatchObject({ parentKey: null, parentCall: 'call_mock0001x0', kind: 'user_msg' })
    expect(own.map(({ agent: name }) => name)).toEqual(Array(5).fill('general-purpose-call_mock0001x0'))
    expect(own.find(({ role }) => role === 'tool')).toMatchObject({ said: '3', exitCode: 0, durationMs: 181 })
    const ends = events.filter(({ role, callId }) => role === 'tool' && callId === 'call_mock0001x0')
    expect(ends.map(({ state }) => state)).toEqual(['background', 'ok'])
    expect(ends[1]?.said).toBe('SUB-RESULT: 3 files.')
    expect(events.filter(({ kind, role }) => kind === 'user_msg' && role === 'user')).toHaveLength(2)
    expect(itemsAs(items, 'usage').map(({ model, isSidechain }) => [model, isSidechain])).toEqual(
      [undefined, undefined, undefined, true, true].map((one) => ['qwen3-coder-plus', one]),
    )
  })

  it('know what they were forked from, and copies are copies', async () => {
    const items = await scenario('fork')
    const origin = '23669c3e-9f78-4c8d-b0e2-dd2a26e7e5aa'
    const edges = itemsAs(items, 'edge')
    expect(edges).toHaveLength(4)
    for (const edge of edges) expect(edge).toMatchObject({ kind: 'interactive_fork', parent: origin })
    expect(edges.map(({ at }) => at)).toContain(Date.parse('2026-11-15T18:56:19.551Z'))
    const copied = eventsIn(items).filter(({ inherited }) => inherited)
    expect(copied).toHaveLength(10)
    expect(new Set(itemsAs(items, 'usage').map(({ id }) => id)).size).toBe(4)
  })

  it('name a request that was refused', async () => {
    const errors = eventsIn(await scenario('api_fatal')).filter(({ kind }) => kind === 'error')
    expect(errors.map(({ summary }) => summary)).toEqual(['400 mock: this request is refused for ever'])
  })

  it('hold nothing that nobody described, and hang together', async () => {
    const items = await itemsIn(agent, filesBelow(unpackAgent('qwen')))
    expect(itemsAs(items, 'unknown')).toEqual([])
    expect(itemsAs(items, 'gap')).toEqual([])
    const events = eventsIn(items)
    const keys = new Set(events.map(({ session, key }) => `${session} ${key}`))
    for (const { session, parentKey } of events)
      if (parentKey) expect(keys).toContain(`${session} ${parentKey}`)
  })
})

let clock = Date.UTC(2026, 10, 15, 12)
const SESSION = '00000000-0000-4000-8000-000000000001'
function record(uuid: string, parentUuid: string | null, type: string, more = {}): Record<string, unknown> {
  clock += 1000
  const base = { uuid, parentUuid, sessionId: SESSION, timestamp: new Date(clock).toISOString(), type }
  return { ...base, cwd: '/p', version: '0.24.4', gitBranch: 'main', ...more }
}
const prompt = (uuid: string, parent: string | null, text: string, more = {}) =>
  record(uuid, parent, 'user', {
    provenance: 'real_user',
    message: { role: 'user', parts: [{ text }] },
    ...more,
  })
const system = (uuid: string, parent: string | null, subtype: string, systemPayload = {}) =>
  record(uuid, parent, 'system', { subtype, systemPayload })
const lines = async (...records: unknown[]) =>
  await itemsOf(agent, { [`.qwen/projects/-p/chats/${SESSION}.jsonl`]: records })

describe('what the format says', () => {
  it('a rewind takes back what hung on the same parent', async () => {
    const items = await lines(
      prompt('u1', null, 'first'),
      system('s1', 'u1', 'attribution_snapshot'),
      prompt('u2', 's1', 'second'),
      system('r1', 's1', 'rewind', { truncatedCount: 1 }),
      prompt('u3', 'r1', 'third'),
    )
    expect(itemsAs(items, 'supersede')).toMatchObject([{ sinceKey: 'u2#0' }])
    expect(eventsIn(items).at(-1)).toMatchObject({ parentKey: 'r1#0', said: 'third' })
  })

  it('what the client says is not what a person says', async () => {
    const items = await lines(
      prompt('u1', null, 'typed and more', {
        systemPayload: { displayText: 'typed', hookContext: 'and more' },
      }),
      prompt('u2', 'u1', 'go on', { provenance: 'goal_runtime' }),
      prompt('u3', 'u2', 'at noon', { provenance: 'system', subtype: 'cron' }),
      prompt('u4', 'u3', 'stop that', { provenance: undefined, subtype: 'mid_turn_user_message' }),
    )
    expect(eventsIn(items).map(({ kind, said }) => [kind, said])).toEqual([
      ['user_msg', 'typed'],
      ['lifecycle', undefined],
      ['lifecycle', undefined],
      ['human_intervention', 'stop that'],
    ])
  })

  it('a reminder before a prompt is not a word of a person, one within it is', async () => {
    const reminder = '<system-reminder>\n1 background agent was restored.\n</system-reminder>\n\n'
    const items = await lines(
      prompt('u1', null, '', { message: { role: 'user', parts: [{ text: reminder }, { text: 'go on' }] } }),
      prompt('u2', 'u1', '<system-reminder>of mine</system-reminder>'),
      system('s1', 'u2', 'agent_session_ready', { callId: 'c', subagentSessionReady: true }),
    )
    expect(eventsIn(items).map(({ kind, role, said }) => [kind, role, said])).toEqual([
      ['lifecycle', 'system', undefined],
      ['user_msg', 'user', 'go on'],
      ['user_msg', 'user', '<system-reminder>of mine</system-reminder>'],
      ['lifecycle', 'system', undefined],
    ])
    expect(itemsAs(items, 'unknown')).toEqual([])
  })

  it('names a compression, a title, another session, the end of a turn', async () => {
    const items = await lines(
      system('s1', null, 'parent_session', { parentSessionId: 'above' }),
      system('s2', 's1', 'custom_title', { customTitle: 'Ours', titleSource: 'manual' }),
      system('s3', 's2', 'chat_compression', { info: {}, compressedHistory: [] }),
      system('s4', 's3', 'agent_retry', { attempt: 2 }),
      system('s5', 's4', 'turn_result', { state: 'cancelled' }),
      system('s6', 's5', 'turn_result', { state: 'completed' }),
      system('s7', 's6', 'weather'),
    )
    expect(itemsAs(items, 'edge')).toMatchObject([{ kind: 'subagent', parent: 'above' }])
    expect(Object.assign({}, ...itemsAs(items, 'session'))).toMatchObject({
      title: 'Ours',
      titleByPerson: true,
    })
    expect(
      eventsIn(items)
        .slice(2)
        .map(({ kind, mark }) => [kind, mark]),
    ).toEqual([
      ['lifecycle', 'compaction'],
      ['retry', undefined],
      ['human_intervention', 'interrupt'],
      ['lifecycle', 'turn-end'],
      ['lifecycle', undefined],
    ])
    expect(itemsAs(items, 'unknown')).toEqual([{ type: 'unknown', name: 'system weather' }])
  })

  it('thoughts are counted among the answer, or beside it, as the total says', async () => {
    const answer = (uuid: string, totalTokenCount: number) =>
      record(uuid, null, 'assistant', {
        message: { role: 'model', parts: [{ text: 'x' }] },
        usageMetadata: {
          promptTokenCount: 100,
          candidatesTokenCount: 20,
          thoughtsTokenCount: 5,
          cachedContentTokenCount: 60,
          totalTokenCount,
        },
      })
    const usage = itemsAs(await lines(answer('a1', 120), answer('a2', 125)), 'usage')
    expect(
      usage.map(({ input, cacheRead, output, reasoning }) => [input, cacheRead, output, reasoning]),
    ).toEqual([
      [40, 60, 20, 5],
      [40, 60, 25, 5],
    ])
  })

  it('single documents of the first versions are read as those of the client it comes from', async () => {
    const items = await itemsOf(agent, {
      '.qwen/tmp/abc/chats/session-2025-09-01T12-00-s1.json': {
        sessionId: 's1',
        projectHash: 'abc',
        startTime: '2025-09-01T12:00:00Z',
        messages: [
          { id: 'u1', timestamp: '2025-09-01T12:00:01Z', type: 'user', content: 'hello' },
          { id: 'a1', timestamp: '2025-09-01T12:00:02Z', type: 'qwen', content: 'hi', model: 'qwen3' },
        ],
      },
    })
    expect(eventsIn(items).map(({ kind, said }) => [kind, said])).toEqual([
      ['lifecycle', undefined],
      ['user_msg', 'hello'],
      ['assistant_msg', 'hi'],
    ])
    expect(itemsAs(items, 'unknown')).toEqual([])
  })
})
