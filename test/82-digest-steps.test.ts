// A digest that goes on from what was kept of earlier events is, byte for byte, the one made from all of them at once;
// and what is kept stays small however long the session gets.

import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ADAPTERS } from '../src/adapters/index.ts'
import { Config } from '../src/config.ts'
import { Gatherer } from '../src/digest/facts.ts'
import { digestChanged } from '../src/digest/index.ts'
import type { Told } from '../src/event/body.ts'
import { DEEDS, END_STATES, EVENT_KINDS, MARKS } from '../src/model.ts'
import { databasesOf } from '../src/store/databases.ts'
import { openStore } from '../src/store/sqlite.ts'
import { newReport } from '../src/sweep/report.ts'
import { Telling } from '../src/sweep/telling.ts'
import { type Made, Script } from './setup/digest-events.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { growingTree, randomFrom } from './setup/growing.ts'
import fc from './setup/properties.ts'
import { scenariosIn, World } from './setup/sweeping.ts'

const BUCKETS = { infra: ['mcp*'] }

/** The facts as text; maps as lists, so that their order counts as well. */
const shown = (gatherer: Gatherer): string =>
  JSON.stringify(gatherer.finish(), (_, value: unknown) => (value instanceof Map ? [...value] : value))

const event: fc.Arbitrary<Made> = fc.record(
  {
    kind: fc.constantFrom(...EVENT_KINDS),
    role: fc.constantFrom('user', 'assistant', 'tool', 'system'),
    tool: fc.constantFrom(null, 'shell', 'patch', 'mcp__x'),
    call: fc.oneof(
      fc.constant(null),
      fc.integer({ min: 0, max: 30 }).map((id) => `call${id}`),
    ),
    summary: fc.constantFrom('shell: make', 'shell: npm test', 'shell: git commit', 'long…'),
    does: fc.constantFrom(null, ...DEEDS),
    state: fc.constantFrom(null, ...END_STATES),
    mark: fc.constantFrom(null, ...MARKS),
    hasMore: fc.boolean(),
    ts: fc.oneof(fc.constant(null), fc.integer({ min: 0, max: 4_000_000 })),
    isSidechain: fc.boolean(),
    isInherited: fc.integer({ min: 0, max: 9 }).map((one) => one === 0),
    isSuperseded: fc.integer({ min: 0, max: 9 }).map((one) => one === 0),
    agent: fc.constantFrom(null, 'a', 'b'),
    exitCode: fc.constantFrom(null, 0, 1),
    files: fc.subarray(['a.ts', 'b.ts', 'c.ts']),
    body: fc.constantFrom<Told[]>(
      { said: '[main 1a2b3c4] Say why\nhttps://example.org/a/pull/7' },
      { said: 'TypeError: x is not a function' },
      { said: 'I could not do it. 2 failed' },
      { command: 'cd a\ngit commit' },
      { made: { commits: ['1a2b3c4'], pullRequests: ['https://example.org/a/pull/7'] } },
    ),
  },
  { requiredKeys: ['kind', 'role'] },
)

/** Calls with their results, so that most steps end. */
const working: fc.Arbitrary<Made[]> = fc
  .record({
    kind: fc.constantFrom('tool_call', 'edit', 'test_run', 'retry'),
    command: fc.constantFrom('make', 'npm test', 'git push', 'ls'),
    fails: fc.boolean(),
    isSidechain: fc.boolean(),
    call: fc.integer({ min: 100, max: 1_000_000 }).map(String),
  })
  .map(({ kind, command, fails, isSidechain, call }) => [
    {
      kind,
      role: 'assistant',
      tool: 'shell',
      call,
      isSidechain,
      summary: `shell: ${command}`,
      does: kind === 'edit' ? 'edit' : 'shell',
      files: kind === 'edit' ? ['a.ts'] : [],
    },
    {
      kind: fails ? 'error' : 'tool_result',
      role: 'tool',
      tool: 'shell',
      call,
      isSidechain,
      exitCode: fails ? 1 : 0,
      summary: 'done',
    },
  ])

const SEED = Number(process.env['RECOLLECT_TEST_SEED'] ?? 7)

describe('facts gathered in steps', () => {
  it('are those gathered at once, whatever the events and wherever it stopped', () => {
    const lists = fc.array(
      fc.oneof(
        event.map((one) => [one]),
        working,
      ),
      { maxLength: 120 },
    )
    fc.assert(
      fc.property(lists, fc.infiniteStream(fc.integer({ min: 0, max: 12 })), (made, stops) => {
        const script = new Script()
        for (const one of made.flat()) script.add(one)
        const whole = new Gatherer()
        let steps = new Gatherer()
        for (const one of script.events) {
          whole.add(one)
          steps.add(one)
          if (stops.next().value === 0) steps = new Gatherer(steps.save())
        }
        expect(shown(steps)).toBe(shown(whole))
      }),
      { numRuns: 400 },
    )
  })

  it('also in a session far beyond every limit, in a state that stops growing', () => {
    const random = randomFrom(SEED)
    const some = (count: number): number => Math.floor(random() ** 2 * count)
    const whole = new Gatherer()
    let steps = new Gatherer()
    const sizes: number[] = []
    const feed = (script: Script, base: number): void => {
      for (const one of script.events) {
        const moved = { ...one, seq: base + one.seq, ts: (one.ts ?? 0) + base * 10_000 * some(9) }
        whole.add(moved)
        steps.add(moved)
      }
    }
    for (let at = 0; at < 3000; at++) {
      const script = new Script()
      const name = `part${some(5000)}`
      const made = { call: `${at}`, agent: name, isSidechain: at % 5 === 0 }
      if (at % 3 === 0) script.prompt(`do ${name}`)
      script.run(
        `make ${name} # ${'x'.repeat(80)}`,
        some(3),
        `error: cannot make the part called ${name}`,
        made,
      )
      script.add({
        kind: 'edit',
        role: 'assistant',
        tool: `tool${some(2000)}`,
        call: `lost${at}`,
        summary: 'edit',
        files: [`src/${name}.ts`],
      })
      script
        .run(`git commit -m ${name}`, 0, `[main abc${at % 10}${1000 + at}] ${name}`)
        .test(`test ${name}`, some(2), '')
      script.add({ mark: 'compaction' }).interrupt()
      feed(script, at * 20)
      if (at % 50 !== 0) continue
      const state = steps.save()
      sizes.push(state.length)
      steps = new Gatherer(state)
    }
    expect(shown(steps)).toBe(shown(whole))
    const half = Math.max(...sizes.slice(0, sizes.length / 2))
    console.log(`largest state: ${Math.round(Math.max(...sizes) / 1000)} KB`)
    expect(Math.max(...sizes)).toBeLessThan(half * 1.2)
    expect(half).toBeLessThan(600_000)
  })
})

/** Digests every session again from what is kept, and keeps it from the first event on. */
function digestInSteps(world: World): number {
  const store = openStore(world.paths)
  try {
    const { memory, cache } = databasesOf(store.reader)
    memory.exec('UPDATE sessions SET analyzed_at = NULL')
    const resumed = cache.prepare('SELECT count(*) AS count FROM folds').get() as { count: number }
    digestChanged(store, { buckets: BUCKETS, keepFrom: 1 })
    return resumed.count
  } finally {
    store.close()
  }
}

function digestWhole(world: World): void {
  const store = openStore(world.paths)
  try {
    databasesOf(store.reader).cache.exec('DELETE FROM folds')
    databasesOf(store.reader).memory.exec('UPDATE sessions SET analyzed_at = NULL')
    digestChanged(store, { buckets: BUCKETS })
  } finally {
    store.close()
  }
}

const digests = (world: World): Record<string, string> =>
  world.read(({ memory }) => {
    const rows = memory.prepare('SELECT session_uid, digest FROM digests ORDER BY session_uid').all()
    return Object.fromEntries(
      (rows as unknown as { session_uid: string; digest: string }[]).map((row) => [
        row.session_uid,
        row.digest,
      ]),
    )
  })

/** What was added to the sums response by response is what summing up the ledger gives. */
function expectSumsOfLedger(world: World): void {
  const store = openStore(world.paths)
  const { memory } = databasesOf(store.reader)
  const sums = (): unknown => memory.prepare('SELECT * FROM usage_slots').all()
  const added = sums()
  memory.exec('INSERT INTO stale_slots SELECT DISTINCT session_uid FROM usage')
  store.ingest.settle(() => ({ repo: null, domain: null }))
  expect(added).toEqual(sums())
  store.close()
}

/** Where events are taken back, shared, or come from several files; and plain work. */
const TELLING = /^(?:fork|rewind|subagent|compact|tools|resume|interrupt|revert)/

describe('digests of sessions that grow while they are swept', () => {
  it.each(['claude', 'codex', 'grok', 'claude-1.0', 'codex-0.80', 'grok-1.0.5'])(
    '%s: the same in steps as at once',
    async (client) => {
      const directory = unpackAgent(client)
      let resumed = 0
      const scenarios = scenariosIn(directory).filter((name) => TELLING.test(name))
      for (const [at, scenario] of scenarios.entries()) {
        const random = randomFrom(at + 4 + SEED)
        const world = new World()
        const tree = growingTree(join(directory, scenario), world.home, random)
        for (const share of [0.1, 0.3, 0.5, 0.7, 1]) {
          tree.grow(share)
          await world.sweep()
          resumed += digestInSteps(world)
        }
        expectSumsOfLedger(world)
        const inSteps = digests(world)
        digestWhole(world)
        expect(digests(world), scenario).toEqual(inSteps)
        world.remove()
      }
      expect(resumed).toBeGreaterThan(5)
    },
  )
})

describe('what was kept', () => {
  const PROJECT = '.claude/projects/-p'
  const SESSION = '11111111-0000-4000-8000-000000000000'
  const uuid = (at: number): string => `${String(at).padStart(8, '0')}-0000-4000-8000-00000000000a`
  const line = (at: number, more: object = {}): string =>
    `${JSON.stringify({ type: 'user', uuid: uuid(at), parentUuid: at === 0 ? null : uuid(at - 1), sessionId: SESSION, cwd: '/p', timestamp: new Date(Date.UTC(2026, 0, 1) + at * 1000).toISOString(), message: { role: 'user', content: `prompt ${at}` }, ...more })}\n`

  function longSession(): { world: World; path: string } {
    const world = new World()
    const path = join(world.home, PROJECT, `${SESSION}.jsonl`)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, Array.from({ length: 400 }, (_, at) => line(at)).join(''))
    return { world, path }
  }
  const kept = (world: World): unknown =>
    world.read(({ cache }) =>
      cache
        .prepare('SELECT last_seq FROM folds')
        .all()
        .map((row) => ({ ...row })),
    )
  const countOf = (world: World): number =>
    (JSON.parse(Object.values(digests(world))[0] as string) as { event_count: number }).event_count

  it('is gone on from: the events before are not looked at again', async () => {
    const { world, path } = longSession()
    await world.sweep()
    expect(kept(world)).toEqual([{ last_seq: 400 }])
    // Were they read again, the count would show it.
    const store = openStore(world.paths)
    databasesOf(store.reader).cache.exec('UPDATE events SET flags = 4 WHERE seq BETWEEN 2 AND 100')
    store.close()
    appendFileSync(path, line(400))
    await world.sweep()
    expect(countOf(world)).toBe(401)
    world.remove()
  })

  it('can be made while others are still read, of what is wholly written', async () => {
    const { world, path } = longSession()
    writeFileSync(path.replace('1111-', '2222-'), line(500, { sessionId: 'short' }))
    await world.sweep()
    const before = digests(world)
    const uids = Object.keys(before)
    expect(uids).toHaveLength(2)
    const store = openStore(world.paths)
    const { memory, cache } = databasesOf(store.reader)
    cache.exec('DELETE FROM folds')
    memory.exec('UPDATE sessions SET analyzed_at = NULL')
    memory.exec('DELETE FROM digests')
    const telling = new Telling(
      store,
      { config: new Config({ env: world.env }), adapters: ADAPTERS },
      newReport(true),
    )
    const settled = (): void => {
      telling.add(uids)
      expect(telling.hasNews).toBe(true)
      telling.settle()
      expect(telling.hasNews).toBe(false)
    }
    settled()
    telling.withdraw(new Set(uids))
    expect(await telling.next()).toBe(false)
    expect(digests(world)).toEqual({})
    settled()
    while (await telling.next());
    expect(kept(world)).toEqual([{ last_seq: 400 }])
    expect(digests(world)).toEqual(before)
    store.close()
    world.remove()
  })

  it('is thrown away when an event before changes', async () => {
    const { world, path } = longSession()
    await world.sweep()
    const text = readFileSync(path, 'utf8')
    writeFileSync(path, text.replace('"prompt 0"', '"prompt 0, mended"'))
    await world.sweep()
    expect(kept(world)).toEqual([{ last_seq: 400 }])
    expect(Object.values(digests(world))[0]).toContain('"first_prompt":"prompt 0, mended"')
    world.remove()
  })

  it('leaves with the session when that is evicted', async () => {
    const { world } = longSession()
    await world.sweep()
    const store = openStore(world.paths)
    store.archive.evict([{ uid: `claude:${SESSION}`, reason: 'age', bytes: 1 }], Date.now())
    store.close()
    expect(kept(world)).toEqual([])
    const raw = readFileSync(join(world.paths.cacheDirectory, 'cache.db'), 'latin1')
    expect(raw).not.toContain('prompt 399')
    world.remove()
  })
})
