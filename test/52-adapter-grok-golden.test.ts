// Every session of the real client against what the scripted model really said and which tokens it really returned.
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { EventItem } from '../src/adapters/adapter.ts'
import { grok } from '../src/adapters/grok/index.ts'
import { type Collected, collect, filesBelow } from './setup/collect.ts'
import { unpackAgent } from './setup/fixtures.ts'

interface Response {
  queue: string
  http_status: number
  streamed: string | null
  text: string | null
  thinking: string | null
  seq: number
  tool_calls: { id: string; name: string; input: Record<string, unknown> }[]
  usage: Tokens | null
  error: { error?: { message?: string } } | null
}
interface Tokens {
  input: number
  cache_read: number
  cache_write: number
  output: number
  reasoning: number
}
interface Expected {
  invocations: {
    mode: string
    tui?: boolean
    prompt: string | null
    prompts?: string[]
    served: number[]
    session_id: string
  }[]
  responses: Response[]
}

const CLIENTS = ['grok', 'grok-chat', 'grok-messages', 'grok-tui', 'grok-1.0.5']

// Only what the client itself did not write down.
const KILLED = { tokens: 'usage is written when a turn ends', results: 'the tool was killed with the client' }
const EXCEPTIONS: Record<string, Record<string, string>> = {
  'grok/kill_tool': KILLED,
  'grok/hooks_kill': KILLED,
  'grok-1.0.5/kill_tool': KILLED,
  'grok/kill_resume': KILLED,
  'grok/kill_stream': { tokens: 'usage is written when a turn ends' },
  'grok-tui/bash_mode': { prompts: '/new is a command of the interface and leaves no record' },
  'grok-tui/compact_rename': { prompts: '/rename and /compact of the interface leave no prompt' },
}

/** One aspect of a scenario: what it should be, and what was read. */
type Aspect = (expected: Expected, read: Collected, client: string) => [unknown, unknown]

const own = (read: Collected): EventItem[] =>
  [...read.sessions.values()].flatMap((session) => session.events.filter((event) => !event.inherited))
const ofKind = (read: Collected, ...kinds: string[]): EventItem[] =>
  own(read).filter((event) => kinds.includes(event.kind))
const texts = (events: EventItem[]): string[] => events.map((event) => event.said ?? '').sort()
const spoken = (expected: Expected): Response[] =>
  expected.responses.filter(({ queue }) => /^(?:main|sub)/.test(queue))
const complete = (expected: Expected): Response[] =>
  spoken(expected).filter(({ streamed }) => streamed === 'complete')
const CALLS = ['tool_call', 'edit', 'test_run', 'retry']
const calls = (read: Collected): EventItem[] =>
  ofKind(read, ...CALLS).filter((event) => event.tool !== undefined && event.role === 'assistant')

function sum(responses: Response[], client: string): Record<string, number> {
  const total = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 }
  for (const { usage } of responses) {
    total.input += usage?.input ?? 0
    total.cacheRead += usage?.cache_read ?? 0
    // The other two wires have no number for it.
    total.cacheWrite += client === 'grok-messages' ? (usage?.cache_write ?? 0) : 0
    total.output += usage?.output ?? 0
    total.reasoning += usage?.reasoning ?? 0
  }
  return total
}

const ASPECTS: Record<string, Aspect> = {
  prompts: (expected, read) => {
    const typed = expected.invocations.flatMap(
      ({ prompt, prompts }) => prompts ?? (prompt === null ? [] : [prompt]),
    )
    const handed = spoken(expected)
      .flatMap((response) => response.tool_calls)
      .filter(({ name }) => name === 'spawn_subagent')
      .map(({ input }) => String(input['prompt']))
    return [
      // Commands of the client set nothing off.
      [...typed.filter((text) => !/^(?:!|\/compact\b)/.test(text)), ...handed].sort(),
      texts(ofKind(read, 'user_msg')),
    ]
  },
  texts: (expected, read) => {
    const cut = spoken(expected).filter(({ streamed }) => streamed !== 'complete')
    const found = texts(ofKind(read, 'assistant_msg')).filter((text) => !cut.some((one) => one.text === text))
    return [
      complete(expected)
        .flatMap(({ text }) => (text === null ? [] : [text]))
        .sort(),
      found,
    ]
  },
  thinking: (expected, read) => [
    complete(expected)
      .flatMap(({ thinking }) => (thinking === null ? [] : [thinking]))
      .sort(),
    texts(ofKind(read, 'thinking')),
  ],
  calls: (expected, read) => {
    const wanted = complete(expected).flatMap(({ tool_calls }) =>
      tool_calls.map(({ id, name, input }) => ({ id, name, input })),
    )
    const found = calls(read).map((event) => ({
      id: event.callId,
      name: event.tool,
      input: (event.payload as { rawInput: unknown }).rawInput,
    }))
    const byId = (a: { id: unknown }, b: { id: unknown }): number => (String(a.id) < String(b.id) ? -1 : 1)
    return [wanted.sort(byId), found.sort(byId)]
  },
  results: (_, read) => {
    const results = own(read).filter((event) => event.role === 'tool')
    const answered = results.map((event) => [event.callId, event.tool]).sort()
    return [
      calls(read)
        .concat(ofKind(read, ...CALLS).filter((e) => e.role === 'user'))
        .map((e) => [e.callId, e.tool])
        .sort(),
      answered,
    ]
  },
  errors: (expected, read) => {
    const failures = spoken(expected).filter(({ http_status }) => http_status >= 400)
    const told = ofKind(read, 'error', 'retry').filter((event) => event.tool === undefined)
    const messages = failures.map(({ error }) => error?.error?.message ?? 'no message')
    return [messages, messages.filter((message) => told.some((event) => event.said?.includes(message)))]
  },
  tokens: (expected, read, client) => {
    const records = [...read.usage.values()].filter((usage) => !usage.nested)
    const found = records.map((usage) => ({
      input: usage.input,
      cacheRead: usage.cacheRead,
      cacheWrite: usage.cacheWrite5m,
      output: usage.output,
      reasoning: usage.reasoning,
    }))
    const perRun = expected.invocations.map(({ served }) =>
      sum(
        complete(expected).filter(({ seq }) => served.includes(seq)),
        client,
      ),
    )
    const byOutput = (a: Record<string, number>, b: Record<string, number>): number =>
      (a['output'] ?? 0) - (b['output'] ?? 0)
    // Without the interface one run is one prompt, and one prompt is one record.
    if (!expected.invocations.some(({ tui }) => tui)) {
      return [perRun.filter(({ output }) => (output ?? 0) > 0).sort(byOutput), found.sort(byOutput)]
    }
    const add = (a: Record<string, number>, b: Record<string, number>): Record<string, number> =>
      Object.fromEntries(Object.entries(a).map(([name, value]) => [name, value + (b[name] ?? 0)]))
    return [sum(complete(expected), client), found.reduce(add, sum([], client))]
  },
  lineage: (expected, read) => {
    const ids = [...new Set(expected.invocations.map((run) => run.session_id))]
    const spawned = spoken(expected)
      .flatMap((r) => r.tool_calls)
      .filter(({ name }) => name === 'spawn_subagent').length
    const forks = expected.invocations
      .filter(({ mode }) => mode === 'fork')
      .map((run) => [run.session_id, ids[0]])
    const of = (kind: string): typeof read.edges => read.edges.filter((one) => one.kind === kind)
    const children = of('subagent').map((one) => [one.parent, read.sessions.get(one.session)?.facts.relation])
    return [
      { forks: forks.sort(), children: Array.from({ length: spawned }, () => [ids[0], 'subagent']) },
      {
        forks: of('interactive_fork')
          .map((one) => [one.session, one.parent])
          .sort(),
        children,
      },
    ]
  },
  sanity: (_, read) => [
    { gaps: [], unknown: [] },
    { gaps: read.gaps, unknown: [...read.unknown.keys()] },
  ],
}

const unpacked = (): { name: string; client: string; directory: string }[] =>
  CLIENTS.flatMap((client) => {
    const directory = unpackAgent(client)
    return readdirSync(directory)
      .sort()
      .map((scenario) => ({ name: `${client}/${scenario}`, client, directory: join(directory, scenario) }))
  })
const scenarios = unpacked()

describe.each(scenarios)('$name', ({ name, client, directory }) => {
  const expected = JSON.parse(readFileSync(join(directory, 'expected.json'), 'utf8')) as Expected
  const read = collect(grok, directory)

  it.each(Object.keys(ASPECTS))('%s', (aspect) => {
    const [wanted, found] = (ASPECTS[aspect] as Aspect)(expected, read, client)
    if (EXCEPTIONS[name]?.[aspect]) expect(found, 'the exception is no longer needed').not.toEqual(wanted)
    else expect(found).toEqual(wanted)
  })

  it('every session has its facts', () => {
    expect(read.sessions.size).toBe(
      filesBelow(directory).filter((path) => path.endsWith('summary.json')).length,
    )
    for (const session of read.sessions.values()) {
      expect(session.facts).toMatchObject({ cwd: '/home/dev/proj', gitBranch: 'main', model: 'grok-4.6' })
      expect(session.facts.title).toBeTruthy()
      expect(session.facts.startedAt).toBeGreaterThan(0)
    }
  })
})

it('every exception names a scenario that exists', () => {
  const names = scenarios.map(({ name }) => name)
  expect(Object.keys(EXCEPTIONS).filter((name) => !names.includes(name))).toEqual([])
})

// The same sessions without updates.jsonl, as versions before it left them: the conversation must still be whole.
const COMPACTED = 'compaction writes the file anew without what it summed up'
const FROM_CHAT: Record<string, Record<string, string>> = {
  'grok/autocompact': { texts: COMPACTED, calls: COMPACTED },
  'grok/hooks_kill': { results: KILLED.results },
  'grok/kill_tool': { results: KILLED.results },
  'grok-1.0.5/kill_tool': { results: KILLED.results },
  'grok-1.0.5/compact': { texts: COMPACTED },
  'grok-tui/bash_mode': { prompts: 'a command typed behind ! stands there with its output' },
  'grok-tui/compact_rename': { prompts: 'commands are no part of the conversation', texts: COMPACTED },
  'grok-tui/rewind': { prompts: 'what was taken back is gone', texts: 'what was taken back is gone' },
}

describe.each(unpacked())('$name, from chat_history alone', ({ name, client, directory }) => {
  const expected = JSON.parse(readFileSync(join(directory, 'expected.json'), 'utf8')) as Expected
  for (const path of filesBelow(directory)) if (path.endsWith('updates.jsonl')) rmSync(path)
  const read = collect(grok, directory)
  const seen = new Set<string>()
  // A fork's copies are not marked here, but have the keys of their originals.
  for (const session of read.sessions.values()) {
    session.events = session.events.filter((event) => !seen.has(event.key) && seen.add(event.key))
  }

  it.each(['prompts', 'texts', 'thinking', 'calls', 'results', 'sanity'])('%s', (aspect) => {
    const [wanted, found] = (ASPECTS[aspect] as Aspect)(expected, read, client)
    if (FROM_CHAT[name]?.[aspect]) expect(found, 'the exception is no longer needed').not.toEqual(wanted)
    else expect(found).toEqual(wanted)
  })
})
