// Our own turn logs, runs and lineage logs: written by the real writers, read back whole, in steps, and damaged.
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { Adapter, EdgeItem, EventItem, Item, UsageItem } from '../src/adapters/adapter.ts'
import { lineage } from '../src/adapters/lineage/index.ts'
import { run as runs } from '../src/adapters/run/index.ts'
import { turns } from '../src/adapters/turns/index.ts'
import {
  RunTranscript,
  readSessionHistory,
  SessionHistory,
  type TranscriptEntry,
  TranscriptWriter,
} from '../src/record/index.ts'
import { collect } from './setup/collect.ts'
import fc from './setup/properties.ts'
import { news, readAll, readInSteps, resumed } from './setup/steps.ts'

const base = mkdtempSync(join(tmpdir(), 'recollect-own-'))
afterAll(() => rmSync(base, { recursive: true, force: true }))
let count = 0
const fresh = (): string => join(base, String(count++))

const eventsOf = (items: Item[]) => items.filter((item): item is EventItem => item.type === 'event')
const usageOf = (items: Item[]) => items.filter((item): item is UsageItem => item.type === 'usage')
/** As JSON: what was written, whatever its keys are called. */
const json = (value: unknown): string => JSON.stringify(value)

const text = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }).map((one) => one.toWellFormed()),
  fc.constant('two\nlines'),
)
const value = fc.jsonValue({ maxDepth: 2 }).map((one) => JSON.parse(JSON.stringify(one)) as unknown)
const args = fc.dictionary(fc.string(), value, { maxKeys: 3 })
const tokenCount = fc.nat(1e6)

describe('turns', () => {
  const entry: fc.Arbitrary<TranscriptEntry> = fc.record(
    {
      turnId: fc.oneof(fc.uuid(), fc.constantFrom('1', '2', '__proto__')),
      role: fc.constantFrom('user', 'assistant', 'tool', 'system'),
      content: text,
      toolCalls: fc.array(
        fc.record({ id: fc.uuid(), name: fc.constantFrom('write_file', 'bash', 'search'), args }),
        { maxLength: 3 },
      ),
      toolResults: fc.array(
        fc.record({ callId: fc.uuid(), result: value, error: text }, { requiredKeys: ['callId', 'result'] }),
        { maxLength: 3 },
      ),
      metadata: fc.record(
        {
          model: fc.constantFrom('m-1', 'm-2'),
          tokens: fc.record({ prompt: tokenCount, completion: tokenCount }),
          runId: fc.uuid(),
          provider: fc.constant('p'),
        },
        { requiredKeys: [] },
      ),
      ts: fc.integer({ min: 1.7e12, max: 1.7e12 + 5 }),
    },
    { requiredKeys: ['turnId', 'role', 'ts'] },
  )
  const log = (directory: string) => join(directory, 'agents', 'helper', 'sessions', 's1.jsonl')
  const write = async (entries: TranscriptEntry[]): Promise<string> => {
    const directory = fresh()
    const writer = new TranscriptWriter(directory, { flush: 'os' })
    await Promise.all(entries.map((one) => writer.append('helper', 's1', one)))
    await writer.close()
    return directory
  }

  /** What a reader must find of an entry, in order. */
  const expected = (one: TranscriptEntry): string[] => {
    const parts = [...(one.toolCalls ?? []), ...(one.toolResults ?? [])]
    const kinds = { user: 'user_msg', assistant: 'assistant_msg', tool: 'tool_result', system: 'lifecycle' }
    return [
      ...(one.content || parts.length === 0 ? [`${kinds[one.role]} ${json(one.content ?? null)}`] : []),
      ...(one.toolCalls ?? []).map((call) => `call ${call.id} ${call.name} ${json(call.args)}`),
      ...(one.toolResults ?? []).map(
        (result) =>
          `${result.error === undefined ? 'tool_result' : 'error'} ${result.callId} ${json(result.result)}`,
      ),
    ]
  }
  const found = (event: EventItem): string => {
    const payload = event.payload as Record<string, unknown>
    if (payload['args'] !== undefined) return `call ${event.callId} ${event.tool} ${json(payload['args'])}`
    if (event.callId !== undefined) return `${event.kind} ${event.callId} ${json(payload['result'])}`
    return `${event.kind} ${json(payload['content'] ?? null)}`
  }

  test('every turn, call, result and token comes back, in order and once', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(entry, { minLength: 1, maxLength: 12 }), async (entries) => {
        const directory = await write(entries)
        const read = collect(turns, directory)
        expect([...read.sessions.keys()]).toEqual(['helper/s1'])
        // `collect` keeps one event per key, so this also says that no two events share one.
        expect(read.sessions.get('helper/s1')?.events.map(found)).toEqual(entries.flatMap(expected))
        const tokens = entries.flatMap((one) => one.metadata?.tokens ?? [])
        const read2 = [...read.usage.values()].map((one) => ({ prompt: one.input, completion: one.output }))
        expect(read2).toEqual(tokens)
        expect(read.gaps).toEqual([])
        const payloads = read.sessions.get('helper/s1')?.events.map((event) => json(event.payload)) ?? []
        for (const id of entries.flatMap((one) => one.metadata?.runId ?? []))
          expect(payloads.some((payload) => payload.includes(id))).toBe(true)
      }),
      { numRuns: 60 },
    )
  })

  test('calls get their kind from what they do, results their tool from their call', async () => {
    const call = (id: string, name: string, input: Record<string, unknown>) => ({ id, name, args: input })
    const directory = await write([
      { turnId: '1', role: 'user', content: 'fix it', ts: 1.7e12 },
      {
        turnId: '2',
        role: 'assistant',
        ts: 1.7e12 + 1000,
        toolCalls: [
          call('a', 'bash', { command: 'npm test' }),
          call('b', 'write_file', { path: 'src/a.ts', text: 'new' }),
          call('c', 'search', { query: 'needle' }),
        ],
      },
      {
        turnId: '3',
        role: 'tool',
        ts: 1.7e12 + 4000,
        toolResults: [{ callId: 'c', result: {}, error: 'no index' }],
      },
      {
        turnId: '4',
        role: 'assistant',
        ts: 1.7e12 + 5000,
        toolCalls: [call('d', 'search', { query: 'needle' })],
      },
    ])
    const events = eventsOf(readAll(turns, log(directory)))
    expect(
      events.map(({ kind, tool, summary, files, durationMs }) => ({
        kind,
        tool,
        summary,
        files,
        durationMs,
      })),
    ).toEqual([
      { kind: 'user_msg', summary: 'fix it' },
      { kind: 'test_run', tool: 'bash', summary: 'bash: npm test' },
      { kind: 'edit', tool: 'write_file', summary: 'write_file src/a.ts', files: ['src/a.ts'] },
      { kind: 'tool_call', tool: 'search', summary: 'search: needle' },
      { kind: 'error', tool: 'search', summary: 'no index', durationMs: 3000 },
      { kind: 'retry', tool: 'search', summary: 'search: needle' },
    ])
    expect(events[2]?.act).toEqual({
      does: 'edit',
      input: { path: 'src/a.ts', text: 'new' },
      edits: [{ path: 'src/a.ts', before: '', after: 'new', isWhole: true }],
    })
  })

  test('times are understood in every unit', async () => {
    const at = Date.UTC(2026, 0, 1, 12, 0, 0, 500)
    const times = [at / 1000, at, at * 1000 + 7, at * 1e6, 0, -1, 1e300]
    const directory = await write(
      times.map((ts, n) => ({ turnId: String(n), role: 'user', content: 'x', ts })),
    )
    expect(eventsOf(readAll(turns, log(directory))).map((event) => event.ts)).toEqual(
      times.map((_, n) => (n < 4 ? at : null)),
    )
  })

  test('a call keeps its own fields, whatever they are called', async () => {
    const call = { id: 'a', name: 'bash', args: {}, metadata: 'mine' }
    const directory = await write([
      { turnId: '1', role: 'assistant', ts: 1.7e12, toolCalls: [call], metadata: { model: 'm' } },
    ])
    const [event] = eventsOf(readAll(turns, log(directory)))
    expect(event?.payload).toEqual({ ...call, metadata_: { model: 'm' } })
  })

  test('reading in steps gives what reading at once gives', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(entry, { minLength: 1, maxLength: 8 }),
        fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 5 }),
        async (entries, cuts) => {
          const path = log(await write(entries))
          const bytes = readFileSync(path)
          const whole = news(readAll(turns, path))
          expect(readInSteps(turns, path, bytes, cuts)).toEqual(whole)
          for (const items of resumed(turns, path)) expect(items).toEqual(whole)
        },
      ),
      { numRuns: 30 },
    )
  })

  test('a damaged line is a gap, an unknown role an unknown, and the rest is read', async () => {
    const directory = await write([{ turnId: '1', role: 'user', content: 'one', ts: 1000 }])
    appendFileSync(
      log(directory),
      '{"turnId":"2","ro\n{"other":1}\n{"turnId":"3","role":"judge","content":"guilty","ts":1}\n',
    )
    const read = collect(turns, directory)
    expect(read.gaps.map((gap) => gap.reason)).toEqual(['not-json', 'schema'])
    expect([...read.unknown]).toEqual([['role judge', 1]])
    expect(read.sessions.get('helper/s1')?.events.map((event) => event.said)).toEqual(['one', 'guilty'])
  })

  test('only sessions below agents/<agent>/sessions are claimed', () => {
    expect(turns.claim('/h/agents/a/sessions/s.jsonl')).toEqual({
      path: '/h/agents/a/sessions/s.jsonl',
    })
    for (const path of [
      '/h/agents/a/s.jsonl',
      '/h/agents/a/sessions/s.json',
      '/h/a/sessions/s.jsonl',
      '/h/agents/a/sessions/.s.jsonl',
    ])
      expect(turns.claim(path)).toBeNull()
    expect(turns.roots({ HOME: '/h' })).toEqual(['/h/.homeagent/agents'])
  })
})

describe('run', () => {
  /** The format sorts the keys of maps. */
  const sorted = (one: unknown): string =>
    JSON.stringify(one, (_, inner) =>
      typeof inner === 'object' && inner !== null && !Array.isArray(inner)
        ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
        : inner,
    )
  type Step =
    | { do: 'turn'; role: 'system' | 'user' | 'assistant' | 'tool_result'; content: string; tokens: number }
    | { do: 'call'; name: string; input: Record<string, unknown> | null; output: string; error: string }
    | { do: 'cost'; usd: number }
  const step: fc.Arbitrary<Step> = fc.oneof(
    fc.record({
      do: fc.constant('turn' as const),
      role: fc.constantFrom('system' as const, 'user' as const, 'assistant' as const, 'tool_result' as const),
      content: text,
      tokens: tokenCount,
    }),
    fc.record({
      do: fc.constant('call' as const),
      name: fc.constantFrom('edit_file', 'bash', 'read_file'),
      input: fc.option(args),
      output: text,
      error: fc.oneof(fc.constant(''), text),
    }),
    fc.record({ do: fc.constant('cost' as const), usd: fc.nat(1000).map((cents) => cents / 100) }),
  )
  const start = (directory: string, flow = 'review') =>
    RunTranscript.start(directory, {
      runId: { flow, identifier: 'TK421', date: '2026-01-15' },
      input: { ticket: 'TK-421' },
      flush: 'os',
    })
  const play = async (run: RunTranscript, steps: Step[]): Promise<void> => {
    for (const one of steps) {
      if (one.do === 'cost') await run.addCost(one.usd)
      else if (one.do === 'turn')
        await run.addTurn(one.role, one.content, one.role === 'tool_result' ? 0 : one.tokens)
      else if (run.transcript.turns.at(-1)?.role === 'assistant')
        await run.addToolCall(one.name, one.input, one.output, { error: one.error })
    }
  }
  /** What a reader must find, in order. */
  const expected = (run: RunTranscript): string[] =>
    run.transcript.turns.flatMap((turn) => [
      `${turn.role} ${json(turn.content)}`,
      ...(turn.toolCalls ?? []).flatMap((call) => [
        `call ${call.name} ${sorted(call.input)}`,
        `${call.error === undefined ? 'tool_result' : 'error'} ${json([call.output, call.error])}`,
      ]),
    ])
  const found = (event: EventItem): string => {
    const payload = event.payload as Record<string, unknown>
    if (event.key.endsWith('/result')) return `${event.kind} ${json([payload['output'], payload['error']])}`
    if (event.callId !== undefined) return `call ${event.tool} ${sorted(payload['input'])}`
    return `${payload['role']} ${json(payload['content'])}`
  }
  const sessionOf = (run: RunTranscript): string =>
    `${run.runId}@${Date.parse(run.transcript.metadata.startedAt).toString(36)}`
  const END = { complete: 'completion', fail: 'error', cancel: 'human_intervention' } as const

  test('a run comes back whole, under way and ended, with equal keys', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 8 }),
        fc.array(step, { maxLength: 8 }),
        fc.constantFrom('complete' as const, 'fail' as const, 'cancel' as const),
        async (first, second, end) => {
          const directory = fresh()
          const run = await start(directory)
          await play(run, first)
          const half = collect(runs, directory)
          expect(half.sourceCount).toBe(1)
          const events = (read: typeof half) => read.sessions.get(sessionOf(run))?.events ?? []
          expect(events(half).slice(1).map(found)).toEqual(expected(run))

          await play(run, second)
          const before = expected(run)
          await (end === 'fail' ? run.fail(new Error('broke')) : run[end]())
          const whole = collect(runs, directory)
          expect(whole.sourceCount).toBe(1)
          expect(events(whole).slice(1, -1).map(found)).toEqual(before)
          expect(events(whole).at(-1)?.kind).toBe(END[end])
          expect(events(whole).slice(0, events(half).length)).toEqual(events(half))
          for (const [id, usage] of half.usage)
            if (!id.endsWith(':cost')) expect(whole.usage.get(id)).toEqual(usage)

          const { totalTokensIn, totalTokensOut, totalCost } = run.transcript.metadata
          const sum = (field: 'input' | 'output') =>
            [...whole.usage.values()].reduce((all, one) => all + one[field], 0)
          expect([sum('input'), sum('output')]).toEqual([totalTokensIn, totalTokensOut])
          const cost = [...whole.usage.values()].reduce((all, one) => all + (one.reportedCost ?? 0), 0)
          expect(cost).toBe(Math.round(totalCost * 1e8))
        },
      ),
      { numRuns: 40 },
    )
  })

  test('a large run is read from its gzip, which then is the source', async () => {
    const directory = fresh()
    const run = await start(directory)
    await run.addTurn('user', `needle ${'x'.repeat(120_000)}`, 7)
    const path = await run.complete()
    expect(path.endsWith('.gz')).toBe(true)
    const source = runs.claim(path)
    expect(source?.companions).toHaveLength(2)
    const items = readAll(runs, path)
    expect(eventsOf(items).map((event) => event.kind)).toEqual(['lifecycle', 'user_msg', 'completion'])
    expect(eventsOf(items)[1]?.said).toHaveLength(120_007)
    // The stored transcript hides what a crash left beside it.
    writeFileSync(join(dirname(path), 'transcript.json'), '{}')
    expect(runs.claim(join(dirname(path), 'transcript.json'))).toBeNull()
  })

  test('a killed run is read from its journal; a damaged line in it is a gap', async () => {
    const directory = fresh()
    const run = await start(directory)
    await run.addTurn('user', 'one', 5)
    await run.close()
    appendFileSync(join(run.directory, 'transcript.partial.jsonl'), '{"type":"turn","turn":{"id":2,"ro')
    const read = collect(runs, directory)
    expect(read.sessions.get(sessionOf(run))?.events.map((event) => event.key)).toEqual(['start', 't1'])
    expect(read.gaps.map((gap) => gap.reason)).toEqual(['torn'])
  })

  test('nothing is read again until a file of the run changes', async () => {
    const directory = fresh()
    const run = await start(directory)
    await run.addTurn('user', 'one')
    const path = join(run.directory, 'transcript.json')
    const position = readAll(runs, path).find((item) => item.type === 'position')?.position ?? null
    expect(readAll(runs, path, position)).toEqual([])
    await run.addTurn('assistant', 'two')
    expect(eventsOf(readAll(runs, path, position)).map((event) => event.key)).toEqual(['start', 't1', 't2'])
    await run.close()
  })

  test('foreign content never throws: it is a gap or an unknown', async () => {
    const path = join(fresh(), 'runs', '2026-01-01-a-b', 'transcript.json')
    mkdirSync(dirname(path), { recursive: true })
    for (const content of [
      '',
      '{',
      '[]',
      '{"turns":5}',
      '{"turns":[{"id":1.5}]}',
      '{"metadata":{"startedAt":"x"}}',
    ]) {
      writeFileSync(path, content)
      expect(readAll(runs, path).map((item) => item.type)).toEqual(['gap', 'position'])
    }
    const turn = { id: 1, role: 'judge', content: 'guilty', timestamp: '2026-01-01T00:00:00Z' }
    writeFileSync(
      path,
      json({ metadata: { status: 'paused', flowId: 'f' }, turns: [turn, { ...turn, role: 'user' }] }),
    )
    const items = readAll(runs, path)
    expect(items.filter((item) => item.type === 'unknown').map((item) => item.name)).toEqual([
      'role judge',
      'status paused',
    ])
    expect(eventsOf(items).map((event) => event.key)).toEqual(['start', 't1', 't1~1', 'end'])
  })

  test('the project is told only where the path tells it', async () => {
    const project = fresh()
    const facts = async (directory: string) => {
      const run = await start(directory)
      await run.close()
      return readAll(runs, join(run.directory, 'transcript.json')).find((item) => item.type === 'session')
    }
    expect(await facts(join(project, '.devflow'))).toMatchObject({ cwd: project })
    expect(await facts(join(project, 'devflow'))).not.toHaveProperty('cwd')
    const shared = await facts(join(process.env['HOME'] as string, '.devflow'))
    expect(shared).not.toHaveProperty('cwd')
    expect(shared).toMatchObject({ session: expect.not.stringContaining('@') })
    expect(runs.roots({ HOME: '/h' })).toEqual(['/h/.devflow/runs'])
  })
})

describe('lineage', () => {
  const id = fc.constantFrom('a', 'b', 'c', 'd', 'é')
  const action = fc.oneof(
    fc.record({ do: fc.constantFrom('saveSessionId' as const, 'swap' as const), id }),
    fc.record({ do: fc.constantFrom('interactiveFork' as const, 'backgroundFork' as const), id }),
    fc.constant({ do: 'clear' as const, id: '' }),
  )
  const record = async (actions: { do: string; id: string }[]): Promise<string> => {
    const directory = fresh()
    let second = 0
    const now = () => new Date(Date.UTC(2026, 1, 17, 11, 38, second++))
    const history = new SessionHistory(directory, { flush: 'os', now })
    for (const one of actions) {
      if (one.do === 'clear') await history.clear()
      else await history[one.do as 'swap'](one.id)
    }
    return directory
  }
  const logOf = (directory: string) => join(directory, 'session_history.jsonl')

  test('every logged birth and death is an edge between sessions that are told', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 1, maxLength: 12 }), async (actions) => {
        const directory = await record(actions)
        const logged = await readSessionHistory(directory)
        const read = existsSync(logOf(directory)) ? collect(lineage, directory) : undefined
        const edges = (read?.edges ?? []).map(({ kind, session, parent, at }: EdgeItem) => ({
          kind,
          session,
          parent,
          at,
        }))
        expect(edges).toEqual(
          logged.map((event) => ({
            kind: event.event,
            session: event.session_id,
            parent: event.parent_session_id,
            at: Date.parse(event.timestamp),
          })),
        )
        for (const { session, parent } of edges) {
          expect(read?.sessions.has(session)).toBe(true)
          if (parent !== null) expect(read?.sessions.has(parent)).toBe(true)
        }
        expect([...(read?.sessions.values() ?? [])].flatMap((one) => one.events)).toEqual([])
      }),
      { numRuns: 40 },
    )
  })

  test('kinds that ollim-bot has added are background sessions, under their own name', () => {
    const path = logOf(fresh())
    mkdirSync(dirname(path))
    const line = (session_id: string, event: string, parent_session_id: string | null) =>
      json({ session_id, event, timestamp: '2026-03-01T10:00:00.123456-08:00', parent_session_id })
    writeFileSync(path, `${line('a', 'isolated_bg', null)}\n${line('b', 'persistent_bg', 'a')}\n`)
    const items = readAll(lineage, path).filter((item) => item.type !== 'position')
    const at = Date.UTC(2026, 2, 1, 18, 0, 0, 123)
    expect(items).toEqual([
      { type: 'session', session: 'a', startedAt: at },
      { type: 'edge', kind: 'bg_fork', session: 'a', parent: null, at, evidence: 'isolated_bg' },
      { type: 'session', session: 'a' },
      { type: 'session', session: 'b', relation: 'fork', startedAt: at },
      { type: 'edge', kind: 'bg_fork', session: 'b', parent: 'a', at, evidence: 'persistent_bg' },
    ])
  })

  test('kinds and fields nobody described are kept; damage is a gap; steps make no difference', () => {
    const path = logOf(fresh())
    mkdirSync(dirname(path))
    const lines = [
      '{"session_id": "a", "event": "created", "timestamp": "2026-02-17T18:46:00-08:00", "parent_session_id": null}',
      '{"session_id": "b", "event": "merged", "timestamp": "2026-02-17T18:47:00-08:00", "parent_session_id": "a"}',
      '{"session_id": "c", "event": "compacted", "timestamp": "2026-02-17T18:48:00-08:00", "parent_session_id": "a", "why": "full"}',
      '{"session_id": 5, "event": "created"}',
      '{"session_id": "d", "eve',
    ]
    writeFileSync(path, `${lines.join('\n')}\n`)
    const bytes = readFileSync(path)
    const whole = news(readAll(lineage, path))
    expect(whole.filter((item) => item.type === 'edge').map((item) => item.kind)).toEqual([
      'created',
      'compacted',
    ])
    expect(whole.filter((item) => item.type === 'unknown').map((item) => item.name)).toEqual(['merged'])
    expect(eventsOf(whole).map((event) => event.summary)).toEqual(['merged from a', 'compacted from a'])
    expect(whole.filter((item) => item.type === 'gap').map((item) => item.reason)).toEqual([
      'schema',
      'not-json',
    ])
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 5 }), (cuts) => {
        expect(readInSteps(lineage, path, bytes, cuts)).toEqual(whole)
      }),
      { numRuns: 20 },
    )
    expect(lineage.claim(join(base, 'sessions.json'))).toBeNull()
    expect(lineage.roots({ HOME: '/h' })).toEqual(['/h/.ollim-bot'])
  })
})

test('records of any shape never make a reader throw', () => {
  const cases: [Adapter, string][] = [
    [turns, join(fresh(), 'agents', 'a', 'sessions', 's.jsonl')],
    [lineage, join(fresh(), 'session_history.jsonl')],
  ]
  const field = fc.constantFrom(
    'turnId',
    'role',
    'content',
    'toolCalls',
    'toolResults',
    'metadata',
    'ts',
    'session_id',
    'event',
    'timestamp',
    'parent_session_id',
    '__proto__',
  )
  const odd = fc.oneof(
    value,
    fc.constantFrom('user', 'assistant', 'created', 1e30, -1),
    fc.array(
      fc.dictionary(
        fc.constantFrom('id', 'name', 'args', 'callId', 'result', 'error', 'tokens', 'prompt'),
        value,
      ),
      { maxLength: 2 },
    ),
  )
  for (const [adapter, path] of cases) {
    mkdirSync(dirname(path), { recursive: true })
    fc.assert(
      fc.property(
        fc.array(fc.array(fc.tuple(field, odd), { maxLength: 6 }), { minLength: 1, maxLength: 5 }),
        (records) => {
          const lines = records.map(
            (pairs) => `{${pairs.map(([name, one]) => `${json(name)}:${json(one)}`).join(',')}}`,
          )
          writeFileSync(path, `${lines.join('\n')}\n`)
          const items = readAll(adapter, path)
          expect(items.filter((item) => item.type === 'position')).toHaveLength(lines.length)
          expect(usageOf(items).every((one) => one.input >= 0 && one.output >= 0)).toBe(true)
          const spoken = items.filter(
            (item) => item.type === 'event' || item.type === 'gap' || item.type === 'edge',
          )
          expect(spoken.length).toBeGreaterThanOrEqual(lines.length)
        },
      ),
      { numRuns: 150 },
    )
  }
})
