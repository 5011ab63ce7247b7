// Gemini CLI: what the real client left, and what its format says of things that it did not do here.
import { hash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { agent } from '../src/adapters/gemini/agent.ts'
import { adapterContract } from './contract/adapter.ts'
import { filesBelow } from './setup/collect.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { eventsIn, itemsAs, itemsIn, itemsOf } from './setup/items.ts'

const KILLED = 'a message is written without its calls until they have ended: killed before, it stays so'
const STRIPPED = 'the client takes joiners and marks out of an answer'
const killed = { 'call: call_mock0001x0': KILLED, 'result: call_mock0001x0': KILLED }

describe('gemini', () =>
  adapterContract({
    adapter: agent,
    clients: ['gemini'],
    counters: ['input', 'cache_read', 'output'],
    lost: {
      'gemini/big_unicode_secret': {
        'answer: Antwort mit Unicode: Grüße, 世界! Привет мир. مرحبا بالعالم. ह': STRIPPED,
      },
      'gemini/kill_resume': killed,
      'gemini/kill_tool': killed,
    },
  }))

const scenario = async (name: string) => await itemsIn(agent, filesBelow(`${unpackAgent('gemini')}/${name}`))

describe('sessions of the real client', () => {
  it('have each result once, with the output alone and the exit code', async () => {
    const items = await scenario('tools')
    const events = eventsIn(items)
    const results = events.filter(({ role }) => role === 'tool')
    expect(results.map(({ tool, state, exitCode }) => [tool, state, exitCode])).toEqual([
      ['read_file', 'ok', undefined],
      ['run_shell_command', 'ok', 0],
      ['run_shell_command', 'failed', 1],
      ['run_shell_command', 'failed', 1],
      ['replace', 'ok', undefined],
      ['run_shell_command', 'ok', 0],
    ])
    expect(results[1]?.said).toBe('README.md\ncalc.js\ntest.js')
    expect(results[4]?.original).toContain('return a - b;')
    expect(events.filter(({ kind }) => kind === 'edit')[0]?.act?.edits).toMatchObject([
      { before: 'return a - b;', after: 'return a + b;' },
    ])
    expect(events.filter(({ kind }) => kind === 'test_run' || kind === 'retry')).toHaveLength(2)
    expect(itemsAs(items, 'session').find(({ cwd }) => cwd)?.cwd).toBe('/home/dev/proj')
  })

  it('keep times and tokens when they are resumed, and say that they were', async () => {
    const items = await scenario('resume')
    const events = eventsIn(items)
    expect(events.filter(({ role }) => role !== 'system').map(({ kind, ts }) => [kind, ts])).toEqual([
      ['user_msg', Date.parse('2026-11-15T18:55:10.896Z')],
      ['assistant_msg', Date.parse('2026-11-15T18:55:11.117Z')],
      ['user_msg', Date.parse('2026-11-15T18:55:18.336Z')],
      ['assistant_msg', Date.parse('2026-11-15T18:55:18.536Z')],
    ])
    expect(itemsAs(items, 'edge').map(({ kind }) => kind)).toEqual(['resumed'])
    // Every event hangs on the one before it.
    for (const [at, event] of events.entries()) expect(event.parentKey).toBe(events[at - 1]?.key ?? null)
  })

  it('know their sub-agents, and the calls that began them', async () => {
    const items = await scenario('subagent')
    const [child, parent] = ['ce1d3c2a-f67b-46f0-8c6d-099dec4f4a0a', '0f3209b9-d811-42ae-acd2-7be975cb02a8']
    expect(itemsAs(items, 'edge')).toMatchObject([
      { kind: 'subagent', session: child, parent },
      { kind: 'subagent', session: child, parent, evidence: 'invoke_agent__call_mock0001x0' },
    ])
    expect(itemsAs(items, 'session').filter(({ relation }) => relation === 'subagent')).toMatchObject([
      { session: child },
    ])
  })

  it('hold nothing that nobody described', async () => {
    const items = await itemsIn(agent, filesBelow(unpackAgent('gemini')))
    expect(itemsAs(items, 'unknown')).toEqual([])
    expect(itemsAs(items, 'gap')).toEqual([])
  })
})

const CHATS = '.gemini/tmp/proj/chats'
const at = (second: number): string => new Date(Date.UTC(2026, 10, 15, 12, 0, second)).toISOString()
const HEADER = { sessionId: 's1', projectHash: 'h', startTime: at(0), lastUpdated: at(0), kind: 'main' }
const prompt = (id: string, text: string, second: number) => ({
  id,
  timestamp: at(second),
  type: 'user',
  content: [{ text }],
})
const answer = (id: string, text: string, second: number, more = {}) => ({
  id,
  timestamp: at(second),
  type: 'gemini',
  content: text,
  thoughts: [],
  tokens: { input: 10, output: 2, cached: 4, thoughts: 3, tool: 1, total: 16 },
  model: 'gemini-2.5-pro',
  ...more,
})
const call = (id: string, status: string, output: string, second: number) => ({
  id,
  name: 'run_shell_command',
  args: { command: 'sleep 9' },
  status,
  timestamp: at(second),
  result: [{ functionResponse: { id, name: 'run_shell_command', response: { output } } }],
  resultDisplay: output,
})
const MESSAGES = [
  prompt('u1', 'first', 1),
  answer('g1', 'one', 2, { toolCalls: [call('c1', 'success', 'done', 3)] }),
  prompt('u2', 'second', 4),
  answer('g2', 'two', 5, { thoughts: [{ subject: 'Why', description: 'because', timestamp: at(5) }] }),
]
const lines = async (...records: unknown[]) =>
  await itemsOf(agent, { [`${CHATS}/session-2026-11-15T12-00-s1.jsonl`]: [HEADER, ...records] })

describe('what the format says', () => {
  it('a rewind takes back what came after, and what follows hangs on what stays', async () => {
    const items = await lines(...MESSAGES, { $rewindTo: 'u2' }, prompt('u3', 'third', 6))
    expect(itemsAs(items, 'supersede')).toMatchObject([{ sinceKey: 'u2#0' }])
    const [note, third] = eventsIn(items).slice(-2)
    expect(note).toMatchObject({ kind: 'human_intervention', parentKey: 'g1/c1#0' })
    expect(third).toMatchObject({ said: 'third', parentKey: note?.key })
    const all = await lines(...MESSAGES, { $rewindTo: 'nobody' })
    expect(itemsAs(all, 'supersede')).toMatchObject([{ sinceKey: `header ${at(0)}` }])
  })

  it('tokens of thoughts are output, those from the cache and of tools input', async () => {
    const [usage] = itemsAs(await lines(MESSAGES[1]), 'usage')
    expect(usage).toMatchObject({ id: 'gemini:g1', input: 7, cacheRead: 4, output: 5, reasoning: 3 })
  })

  it('a call that a person refused, or stopped, is theirs', async () => {
    const toolCalls = [
      call('c1', 'cancelled', '[Operation Cancelled] Reason: User denied execution.', 3),
      call('c2', 'cancelled', '[Operation Cancelled] User cancelled tool execution.', 4),
      call('c3', 'executing', '', 5),
    ]
    const cancelled = { id: 'i1', timestamp: at(6), type: 'info', content: 'Request cancelled.' }
    const failed = { id: 'i2', timestamp: at(7), type: 'error', content: '[API Error: 500]' }
    const events = eventsIn(await lines(answer('g1', '', 2, { toolCalls }), cancelled, failed))
    const told = events.slice(-4).map(({ kind, mark, state }) => [kind, mark, state])
    expect(told).toEqual([
      ['human_intervention', 'denied', 'refused'],
      ['human_intervention', 'interrupt', 'stopped'],
      ['human_intervention', 'interrupt', undefined],
      ['error', undefined, undefined],
    ])
  })

  it('a command whose output was too large to be kept has its exit code all the same', async () => {
    const output = (code: string): string =>
      `Output too large. Showing first 8 and last 32 characters. For full output see: /t/a.txt\n<untrusted_context>\nOutput: x\n${code}Process Group PGID: 5\n</untrusted_context>`
    const toolCalls = ['', 'Exit Code: 3\n'].map((code, index) => ({
      ...call(`c${index}`, 'success', output(code), 3),
      resultDisplay: '',
    }))
    const results = eventsIn(await lines(answer('g1', '', 2, { toolCalls }))).slice(-2)
    expect(results.map(({ exitCode, state }) => [exitCode, state])).toEqual([
      [0, 'ok'],
      [3, 'failed'],
    ])
  })

  it('what only a history holds was said by nobody; a summary in it is a compaction', async () => {
    const summary = prompt('x1', '<state_snapshot>all of it</state_snapshot>', 8)
    const thanks = { id: 'x2', timestamp: at(8), type: 'gemini', content: [{ text: 'Got it.' }] }
    const items = await lines(...MESSAGES, { $set: { messages: [summary, thanks, MESSAGES[3]] } })
    const events = eventsIn(items).slice(-2)
    expect(events.map(({ kind, mark }) => [kind, mark])).toEqual([
      ['lifecycle', 'compaction'],
      ['lifecycle', undefined],
    ])
  })

  it('what a person typed is told, and what the client made of it is kept', async () => {
    const typed = { ...prompt('u1', 'look at @a.js\n--- a.js ---', 1), displayContent: 'look at @a.js' }
    const [, event] = eventsIn(await lines(typed))
    expect(event?.said).toBe('look at @a.js')
    expect(JSON.stringify(event?.payload)).toContain('--- a.js ---')
  })

  it('records and messages that nobody described are kept, and counted', async () => {
    const items = await lines({ $set: { colour: 'red' } }, { id: 'n1', type: 'poem' }, { what: 1 })
    expect(itemsAs(items, 'unknown').map(({ name }) => name)).toEqual([
      '$set.colour',
      'message poem',
      'record without id',
    ])
    expect(eventsIn(items)).toHaveLength(4)
  })

  it('a title is one, and only of a session of its own', async () => {
    const items = await lines(...MESSAGES, { $set: { summary: 'Two prompts' } })
    expect(itemsAs(items, 'session').find(({ title }) => title)?.title).toBe('Two prompts')
  })
})

describe('a single document, as before 0.40', () => {
  it('tells what the lines tell; its directory is found by its hash', async () => {
    const project = hash('sha256', '/home/dev/proj', 'hex')
    const name = 'session-2025-10-01T12-00-s1'
    const whole = await itemsOf(agent, {
      '.gemini/projects.json': { projects: { '/home/dev/proj': 'proj' } },
      [`.gemini/tmp/${project}/chats/${name}.json`]: { ...HEADER, messages: MESSAGES },
    })
    const told = await lines(...MESSAGES)
    expect(eventsIn(whole)).toEqual(eventsIn(told))
    expect(itemsAs(whole, 'usage')).toEqual(itemsAs(told, 'usage'))
    expect(Object.assign({}, ...itemsAs(whole, 'session'))).toMatchObject({
      session: 's1',
      cwd: '/home/dev/proj',
    })
  })

  it('is not any file of that folder', () => {
    for (const name of ['logs.json', 'chats/other.json', 'shell_history', 'checkpoints/session-1.json'])
      expect(agent.claim(`/home/dev/.gemini/tmp/proj/${name}`)).toBe(null)
    expect(agent.claim('/home/dev/elsewhere/chats/session-1.json')).toBe(null)
  })
})
