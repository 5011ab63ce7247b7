// pi and its fork omp: what the real clients left, and what only their formats tell.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Adapter, EventItem } from '../src/adapters/adapter.ts'
import { agent as omp } from '../src/adapters/omp/agent.ts'
import { agent as pi } from '../src/adapters/pi/agent.ts'
import { withReader } from '../src/sweep/tasks.ts'
import { adapterContract } from './contract/adapter.ts'
import { type Collected, collect } from './setup/collect.ts'
import { type Dump, differences } from './setup/dump.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { begun, KILLED, UNWRITTEN } from './setup/lost.ts'
import { World } from './setup/sweeping.ts'
import { temporary } from './setup/temporary.ts'

const cut = begun(
  'input 2003 of 1002',
  'cache_read 4003 of 2002',
  'cache_write 603 of 302',
  'output 53 of 52',
)
const interrupt = { 'prompt: Write a long essay.': UNWRITTEN }
const killed = { 'result: toolu_mock0001x0': KILLED }

describe('pi', () =>
  adapterContract({
    adapter: pi,
    clients: ['pi', 'pi-0.87'],
    lost: {
      'pi/interrupt': interrupt,
      'pi/kill_tool': killed,
      'pi/stream_cut': cut,
      'pi-0.87/interrupt': interrupt,
      'pi-0.87/kill_tool': killed,
      'pi-0.87/stream_cut': cut,
    },
  }))

describe('omp', () =>
  adapterContract({
    adapter: omp,
    clients: ['omp'],
    lost: {
      'omp/interrupt': begun(
        'input 1001 of 0',
        'cache_read 2001 of 0',
        'cache_write 301 of 0',
        'output 1 of 0',
      ),
      'omp/kill_tool': killed,
      'omp/qa_chat': { 'tokens: cache_write 0 of 301': 'this wire has no number for it' },
    },
  }))

let readers: { pi: Adapter; omp: Adapter }
beforeAll(async () => {
  readers = { pi: await withReader(pi), omp: await withReader(omp) }
})

const scenario = (client: string, name: string): Collected =>
  collect(client === 'omp' ? readers.omp : readers.pi, join(unpackAgent(client), name))

const eventsIn = (all: Collected): EventItem[] => [...all.sessions.values()].flatMap(({ events }) => events)

const NAME = '2026-11-16T20-20-10-132Z_0a1'
const header = { type: 'session', version: 3, id: '0a1', timestamp: '2026-11-16T20:20:10.132Z', cwd: '/w' }

/** A session of our own making: entries of which each follows the one before, unless it says otherwise. */
function made(entries: Record<string, unknown>[], first: Record<string, unknown> = header): Collected {
  let parentId: string | null = null
  const lines = entries.map((entry, at) => {
    const id = `e${at}`
    const line = { id, parentId, timestamp: new Date(1794860420000 + at * 1000).toISOString(), ...entry }
    parentId = id
    return line
  })
  return written([first, ...lines])
}

function written(lines: unknown[]): Collected {
  const home = temporary('pi')
  const file = join(home, '.pi', 'agent', 'sessions', '--w--', `${NAME}.jsonl`)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  return collect(readers.pi, home)
}

const said = (role: string, text: string, more = {}): Record<string, unknown> => ({
  type: 'message',
  message: { role, content: [{ type: 'text', text }], ...more },
})

describe.each(['pi', 'pi-0.87', 'omp'])('what %s left', (client) => {
  it('holds no record that nobody described, and takes back nothing', () => {
    const all = collect(client === 'omp' ? readers.omp : readers.pi, unpackAgent(client))
    expect(all.sessions.size).toBeGreaterThan(9)
    expect([...all.unknown]).toEqual([])
    expect(all.gaps).toEqual([])
    expect([...all.sessions.values()].flatMap(({ superseded }) => [...superseded])).toEqual([])
    for (const { facts } of all.sessions.values())
      expect(facts).toMatchObject({
        cwd: '/home/dev/proj',
        model: 'mock-model',
        startedAt: expect.any(Number),
      })
  })

  it('links every event to one that is there', () => {
    const all = collect(client === 'omp' ? readers.omp : readers.pi, unpackAgent(client))
    for (const { events } of all.sessions.values()) {
      const keys = new Set(events.map(({ key }) => key))
      expect(events.filter(({ parentKey }) => parentKey && !keys.has(parentKey))).toEqual([])
    }
  })

  it('tells how commands ended, and what was changed', () => {
    const events = eventsIn(scenario(client, 'tools'))
    const ends = events.flatMap(({ tool, role, state, exitCode }) =>
      role === 'tool' && tool === 'bash' ? [[state, exitCode]] : [],
    )
    expect(ends).toEqual([
      ['ok', 0],
      ['failed', 1],
      ['failed', 1],
      ['ok', 0],
    ])
    const edit = events.find(({ act }) => act?.does === 'edit')
    expect(JSON.stringify(edit?.act?.edits)).toContain('return a + b;')
    expect(JSON.stringify(edit?.act?.edits)).toContain('return a - b;')
    expect(edit?.files?.[0]).toMatch(/calc\.js$/)
    expect(events.map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(['test_run', 'edit', 'error', 'retry']),
    )
  })
})

describe('forks', () => {
  it.each(['pi', 'pi-0.87'])('of %s are told apart from what they copied', (client) => {
    const all = scenario(client, 'fork')
    const [first, ...forks] = [...all.sessions.entries()].sort(([a], [b]) => (a < b ? -1 : 1))
    const edges = forks.map(([session]) => ({ kind: 'interactive_fork', session, parent: first?.[0] }))
    expect(all.edges.map(({ kind, session, parent }) => ({ kind, session, parent }))).toEqual(edges)
    for (const [, { facts, events }] of forks) {
      expect(facts.relation).toBe('fork')
      const own = events.filter(({ inherited, kind }) => !inherited && kind !== 'lifecycle')
      expect(own.map(({ kind }) => kind)).toEqual(['user_msg', 'assistant_msg'])
    }
    expect(first?.[1].events.some(({ inherited }) => inherited)).toBe(false)
  })

  it('that copy nothing only follow another session', () => {
    const all = made([said('user', 'go')], {
      ...header,
      parentSession: `/s/${NAME.replace('0a1', '0a0')}.jsonl`,
    })
    expect(all.edges).toMatchObject([{ kind: 'swapped', session: '0a1', parent: '0a0' }])
    expect(all.sessions.get('0a1')?.facts.relation).toBeUndefined()
  })
})

describe('sub-agents of omp', () => {
  it('are sessions of their own, linked to the one in whose folder they lie', () => {
    const all = scenario('omp', 'subagent')
    expect(all.edges).toMatchObject([{ kind: 'subagent' }])
    const [edge] = all.edges
    expect(all.sessions.get(edge?.session ?? '')?.facts.relation).toBe('subagent')
    expect(all.sessions.get(edge?.parent ?? '')?.events.length).toBeGreaterThan(5)
  })

  it('are stopped by no person, if the program ends before them', () => {
    const file = join(temporary('omp'), '.omp', 'agent', 'sessions', '-w', NAME, 'Counter.jsonl')
    mkdirSync(dirname(file), { recursive: true })
    const message = { role: 'assistant', content: [], stopReason: 'aborted', errorMessage: 'was aborted' }
    const entry = { type: 'message', id: 'e1', parentId: null, message }
    writeFileSync(file, `${JSON.stringify(header)}\n${JSON.stringify(entry)}\n`)
    const [last] = eventsIn(collect(readers.omp, dirname(file))).slice(-1)
    expect([last?.kind, last?.role, last?.mark, last?.said]).toEqual([
      'error',
      'system',
      undefined,
      'was aborted',
    ])
  })
})

describe('tools of omp', () => {
  it('that are written to and read like files change and read none', () => {
    const call = (name: string, path: string): unknown => ({
      type: 'toolCall',
      id: path,
      name,
      arguments: { path, content: '{}' },
    })
    const content = [
      call('write', 'xd://mcp__recollect_search'),
      call('read', 'agent://Counter'),
      call('write', 'a.md'),
    ]
    const file = join(temporary('omp'), '.omp', 'agent', 'sessions', '-w', `${NAME}.jsonl`)
    mkdirSync(dirname(file), { recursive: true })
    const entry = { type: 'message', id: 'e1', parentId: null, message: { role: 'assistant', content } }
    writeFileSync(file, `${JSON.stringify(header)}\n${JSON.stringify(entry)}\n`)
    const calls = eventsIn(collect(readers.omp, dirname(file))).filter(({ act }) => act)
    expect(calls.map(({ kind, act, files }) => [kind, act?.does, files])).toEqual([
      ['tool_call', 'other', undefined],
      ['tool_call', 'other', undefined],
      ['edit', 'edit', ['a.md']],
    ])
  })
})

describe('branches', () => {
  it('that a person left are taken back, and count', () => {
    const usage = { input: 5, output: 3, cacheRead: 0, cacheWrite: 0 }
    const all = made([
      said('user', 'one'),
      said('assistant', 'left', { usage, responseId: 'r1' }),
      { type: 'branch_summary', fromId: 'e1', parentId: 'e0', summary: 'tried one thing' },
      said('assistant', 'taken', { usage, responseId: 'r2' }),
    ])
    const session = all.sessions.get('0a1')
    expect([...(session?.superseded ?? [])]).toEqual(['e1#0'])
    expect(all.usage.size).toBe(2)
    expect(session?.events.find(({ key }) => key === 'e2#0')?.said).toBe('tried one thing')
  })

  it('from before the first prompt take back all of it', () => {
    const all = made([said('user', 'one'), { ...said('user', 'another'), parentId: null }])
    expect([...(all.sessions.get('0a1')?.superseded ?? [])]).toEqual(['e0#0'])
  })
})

it('files that were named with a prompt are no words of it', () => {
  const files = '<file name="/w/a.png"></file>\n<file name="/w/b.txt">\ntwo\nlines\n</file>\n'
  const texts = [`${files}What is it?`, files, 'See <file name="a">x</file>\nhere']
  const told = eventsIn(made(texts.map((text) => said('user', text)))).filter(({ role }) => role === 'user')
  expect(told.map((event) => event.said)).toEqual(['What is it?', files, texts[2]])
})

describe('errors and interrupts', () => {
  it('of 0.87 are told one by one, with what followed', () => {
    const kinds = eventsIn(scenario('pi-0.87', 'api_retry')).map(({ kind }) => kind)
    expect(kinds.filter((kind) => kind !== 'lifecycle')).toEqual([
      'user_msg',
      'error',
      'retry',
      'error',
      'retry',
      'assistant_msg',
    ])
  })

  it('leave what was said until then', () => {
    const events = eventsIn(scenario('omp', 'interrupt'))
    expect(events.at(-2)).toMatchObject({ kind: 'assistant_msg', said: expect.stringMatching(/^This essay/) })
    expect(events.at(-1)).toMatchObject({ kind: 'human_intervention', mark: 'interrupt', role: 'user' })
  })

  it('of a tool that was stopped are no failure of the tool', () => {
    const call = { type: 'toolCall', id: 'c1', name: 'bash', arguments: { command: 'sleep 9' } }
    const result = { role: 'toolResult', toolCallId: 'c1', toolName: 'bash', isError: true }
    const all = made([
      { type: 'message', message: { role: 'assistant', content: [call], stopReason: 'toolUse' } },
      { type: 'message', message: { ...result, content: [{ type: 'text', text: 'x\n\nCommand aborted' }] } },
    ])
    expect(eventsIn(all).at(-1)).toMatchObject({ state: 'stopped', callId: 'c1', tool: 'bash' })
  })

  it('of the program are told by the client', () => {
    const data = { reason: 'SIGTERM', kind: 'signal' }
    const all = made([said('user', 'go'), { type: 'custom', customType: 'session_exit', data }])
    expect(eventsIn(all).at(-1)).toMatchObject({ kind: 'lifecycle', mark: 'shutdown' })
  })
})

describe('entries that the scenarios do not have', () => {
  it('are understood as they are documented', () => {
    const all = made([
      { type: 'session_info', name: 'My name' },
      { type: 'compaction', summary: 'what was', tokensBefore: 9, usage: { input: 7, output: 2 } },
      { type: 'message', message: { role: 'bashExecution', command: 'ls', output: 'a\nb', exitCode: 2 } },
      { type: 'custom_message', customType: 'ext', content: 'told', display: true },
      { type: 'usage', kind: 'cache_warm', model: 'm-1', usage: { input: 0, output: 0, cacheRead: 50 } },
    ])
    const session = all.sessions.get('0a1')
    expect(session?.facts).toMatchObject({ title: 'My name', titleByPerson: true })
    expect(
      session?.events
        .slice(2)
        .map(({ kind, role, mark, said, exitCode }) => [kind, role, mark, said, exitCode]),
    ).toEqual([
      ['lifecycle', 'system', 'compaction', 'what was', undefined],
      ['lifecycle', 'user', undefined, '! ls', undefined],
      ['lifecycle', 'system', undefined, 'a\nb', 2],
      ['lifecycle', 'system', undefined, 'told', undefined],
      ['lifecycle', 'system', undefined, undefined, undefined],
    ])
    expect([...all.usage.values()]).toMatchObject([
      { input: 7, output: 2 },
      { cacheRead: 50, model: 'm-1' },
    ])
    expect([...all.unknown]).toEqual([])
  })

  it('and that nobody described are kept and counted', () => {
    const all = made([{ type: 'holograms', what: 1 }, said('oracle', 'hm')])
    expect(Object.fromEntries(all.unknown)).toEqual({ 'entry holograms': 1, 'message oracle': 1 })
    expect(eventsIn(all)).toHaveLength(3)
  })

  it('without ids, as version 1 wrote them, follow one another', () => {
    const all = written([
      { type: 'session', id: '0a1', timestamp: header.timestamp, cwd: '/w', modelId: 'm-1' },
      { ...said('user', 'go'), timestamp: '2026-11-16T20:20:11.000Z' },
      { ...said('assistant', 'done', { model: 'm-1' }), timestamp: '2026-11-16T20:20:12.000Z' },
    ])
    const events = eventsIn(all)
    expect(events.map(({ kind }) => kind)).toEqual(['lifecycle', 'user_msg', 'assistant_msg'])
    expect(events.slice(1).map(({ parentKey }) => parentKey)).toEqual(
      events.slice(0, 2).map(({ key }) => key),
    )
  })
})

describe('tokens', () => {
  it('written to the cache for an hour are a part of what was written', () => {
    const usage = {
      input: 5,
      output: 3,
      cacheRead: 2,
      cacheWrite: 10,
      cacheWrite1h: 4,
      cost: { total: 0.25 },
    }
    const all = made([said('assistant', 'done', { usage, responseId: 'r1', model: 'm-1' })])
    expect([...all.usage.values()]).toMatchObject([
      {
        input: 5,
        cacheRead: 2,
        cacheWrite5m: 6,
        cacheWrite1h: 4,
        output: 3,
        reportedCost: 25_000_000,
        model: 'm-1',
      },
    ])
  })

  it('of two responses that a server gave one name are two', () => {
    const usage = { input: 5, output: 3 }
    const all = made([
      said('assistant', 'one', { usage, responseId: 'chatcmpl-7', timestamp: 1 }),
      said('assistant', 'two', { usage, responseId: 'chatcmpl-7', timestamp: 2 }),
    ])
    expect(all.usage.size).toBe(2)
  })
})

describe('the title of omp, written anew in its place', () => {
  it('is the title after the next sweep, and all else is as if it had stood there from the beginning', async () => {
    const home = join(unpackAgent('omp'), 'qa')
    const [path] = [...collect(readers.omp, home).positions.keys()] as [string]
    const text = readFileSync(path, 'utf8')
    const [line = ''] = text.split('\n', 1)
    const slot = JSON.stringify({ ...JSON.parse(line), title: 'A new name', source: 'user', pad: '' })
    const padded = slot.replace('"pad":""', `"pad":"${' '.repeat(line.length - slot.length)}"`)
    expect(padded).toHaveLength(line.length)
    const renamed = padded + text.slice(line.length)
    const sweptWith = async (...contents: string[]): Promise<Dump> => {
      const world = new World()
      const file = join(world.home, path.slice(home.length))
      mkdirSync(dirname(file), { recursive: true })
      for (const content of contents) {
        writeFileSync(file, content)
        await world.sweep()
      }
      return world.dump()
    }
    const dump = await sweptWith(text, renamed)
    expect(JSON.stringify(dump)).toContain('A new name')
    // A title that was made up while there was no other is kept beside it.
    const isMadeUp = (line: string): boolean => line.startsWith('/sessions/0/made_')
    expect(differences(dump, await sweptWith(renamed)).filter((line) => !isMadeUp(line))).toEqual([])
  })
})
