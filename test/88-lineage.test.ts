// Lineage over all flavors: trees of the real agents' sessions, forks without a back pointer (also of evicted sessions),
// and the lineage log joined to the sessions it names. What contradicts itself is reported, never followed in circles.

import { appendFileSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { claude } from '../src/adapters/claude/index.ts'
import { lineage as lineageAdapter } from '../src/adapters/lineage/index.ts'
import type { Digest } from '../src/digest/digest.ts'
import { getDigest } from '../src/digest/patterns.ts'
import { type Lineage, lineageOf, nodeOf } from '../src/query/lineage.ts'
import { getSession, listSessions, resolveSession } from '../src/query/sessions.ts'
import { shortIds } from '../src/query/short-ids.ts'
import { forget } from '../src/retention/forget.ts'
import { databasesOf } from '../src/store/databases.ts'
import { openForReading, storePaths } from '../src/store/reading.ts'
import { readOverrides } from '../src/usage/overrides.ts'
import { loadPrices } from '../src/usage/prices.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { type MadeSession, Memory, makeSession, writeLines } from './setup/raw-memory.ts'
import { cli, World } from './setup/sweeping.ts'

const prices = await loadPrices(readOverrides({}, {}))
const native = (uid: string | null): string | null => uid?.slice(uid.indexOf(':') + 1) ?? null
/** `[depth, kind, id, parent]` of each node, in the order of the tree. */
const shapeOf = ({ nodes }: Lineage): unknown[] =>
  nodes.map((node) => [node.depth, node.edge?.kind ?? null, node.session_uid, node.parent_uid])

const withoutSeqs = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (name, one) => (name === 'seqs' ? undefined : one))

interface Expected {
  invocations: { mode: string; session_id: string | null }[]
}

describe('sessions of real agents', () => {
  const worlds: World[] = []
  afterAll(() => {
    for (const world of worlds) world.remove()
  })
  const swept = async (client: string, scenario: string): Promise<{ world: World; expected: Expected }> => {
    const home = join(unpackAgent(client), scenario)
    const world = new World(home)
    worlds.push(world)
    await world.sweep()
    return { world, expected: JSON.parse(readFileSync(join(home, 'expected.json'), 'utf8')) as Expected }
  }

  it.each(['claude', 'codex', 'grok', 'claude-2.1.50'])(
    'of %s: a fork hangs below its origin',
    async (client) => {
      const { world, expected } = await swept(client, 'fork')
      const [origin, ...rest] = expected.invocations.map((one) => one.session_id)
      const forks = [...new Set(rest.filter((id) => id !== origin))]
      expect(forks.length).toBeGreaterThan(0)
      world.read((handle) => {
        const asked = resolveSession(handle, forks[0] as string)
        const found = lineageOf(handle, [asked], prices)
        expect(found.problems).toEqual([])
        expect(found.nodes[0]).toMatchObject({ depth: 0, edge: null, state: 'here' })
        expect(native(found.nodes[0]?.session_uid ?? null)).toBe(origin)
        for (const id of forks) {
          const node = found.nodes.find((one) => native(one.session_uid) === id)
          expect(node).toMatchObject({ depth: 1, edge: { kind: 'interactive_fork' } })
          expect(native(node?.parent_uid ?? null)).toBe(origin)
        }
        const tokens = listSessions(handle, { withSubagents: true }).map(
          ({ cost }) => cost.input_tokens + cost.output_tokens + cost.cache_tokens,
        )
        const total = tokens.reduce((sum, one) => sum + one, 0)
        expect(found.nodes.reduce((sum, node) => sum + node.total_tokens, 0)).toBe(total)
      })
    },
  )

  it.each([
    ['codex', 'subagent'],
    ['codex-codemode', 'subagent_fork'],
    ['grok', 'subagent'],
  ])('of %s: a sub-agent (%s) hangs below the session that started it', async (client, scenario) => {
    const { world, expected } = await swept(client, scenario)
    const main = expected.invocations[0]?.session_id
    world.read((handle) => {
      const found = lineageOf(handle, [resolveSession(handle, main as string)], prices)
      expect(native(found.nodes[0]?.session_uid ?? null)).toBe(main)
      const subs = found.nodes.filter((node) => node.edge?.kind === 'subagent')
      expect(subs.length).toBeGreaterThan(0)
      for (const sub of subs) expect(native(sub.parent_uid)).toBe(main)
    })
  })

  it('tell sub-agents and compactions that stay in one file', async () => {
    const { world } = await swept('claude', 'subagent')
    world.read((handle) => {
      const [session] = listSessions(handle)
      const [node] = lineageOf(handle, [session?.session_uid as string], prices).nodes
      expect(node?.agents.length).toBeGreaterThan(0)
      expect(node?.agents[0]?.events).toBeGreaterThan(0)
    })
    const compacted = await swept('claude', 'compact')
    compacted.world.read((handle) => {
      const [session] = listSessions(handle)
      const [node] = lineageOf(handle, [session?.session_uid as string], prices).nodes
      expect(node?.compactions).toBeGreaterThan(0)
    })
  })

  it('are drawn with the asked one marked, as JSON and as a graph', async () => {
    const { world, expected } = await swept('claude', 'fork')
    const [origin, fork] = expected.invocations.map((one) => one.session_id)
    const text = cli(world.env, 'lineage', fork as string)
    expect(text.code).toBe(0)
    const lines = text.stdout.trimEnd().split('\n')
    expect(lines[0]).toContain(origin?.slice(0, 8))
    expect(lines[0]).not.toContain('◀')
    expect(lines.find((line) => line.includes('◀'))).toMatch(
      new RegExp(`^[└├]─ fork.* → ${fork?.slice(0, 8)}`),
    )
    const { asked, nodes, problems } = JSON.parse(cli(world.env, 'lineage', '--json', fork as string).stdout)
    expect(asked).toBe(`claude:${fork}`)
    expect(nodes.map((node: { session_uid: string }) => node.session_uid)).toContain(asked)
    expect(problems).toEqual([])
    const dot = cli(world.env, 'lineage', '--dot').stdout
    expect(dot).toContain(`"claude:${origin}" -> "claude:${fork}" [label="fork"]`)
  })
})

describe('forks without a back pointer', () => {
  let memory: Memory
  beforeEach(() => {
    memory = new Memory()
  })
  afterEach(() => memory.remove())

  const home = (): string => memory.env['HOME'] as string
  const treeOf = (one: MadeSession): Lineage =>
    memory.with((store) => lineageOf(store.reader, [one.uid], prices))
  const turnsOf = (one: MadeSession): number =>
    memory.with((store) => getSession(store.reader, one.uid)?.cost.turns ?? -1)
  const evictAll = (made: MadeSession[]): void =>
    memory.with((store) => {
      store.archive.evict(
        made.map((one) => ({ uid: one.uid, reason: 'soft_cap', bytes: 1 })),
        Date.now(),
      )
    })

  it('make one tree with a fork of a fork', async () => {
    const origin = makeSession(home(), 6)
    const fork = makeSession(home(), 3, origin.lines.slice(0, 8))
    const second = makeSession(home(), 2, fork.lines)
    for (const one of [origin, fork, second]) writeLines(one)
    await memory.sweep()
    expect(shapeOf(treeOf(second))).toEqual([
      [0, null, origin.uid, null],
      [1, 'interactive_fork', fork.uid, origin.uid],
      [2, 'interactive_fork', second.uid, fork.uid],
    ])
    expect([turnsOf(origin), turnsOf(fork), turnsOf(second)]).toEqual([6, 3, 2])
  })

  it('keep their place when the origin, and then all of them, are evicted', async () => {
    const origin = makeSession(home(), 6)
    const fork = makeSession(home(), 3, origin.lines.slice(0, 8))
    for (const one of [origin, fork]) writeLines(one)
    await memory.sweep()
    const before = shapeOf(treeOf(fork))
    evictAll([origin])
    expect(shapeOf(treeOf(fork))).toEqual(before)
    expect(nodeOf(treeOf(fork).nodes, origin.uid)?.state).toBe('evicted')
    evictAll([fork])
    expect(shapeOf(treeOf(fork))).toEqual(before)
    writeLines(makeSession(home(), 1))
    await memory.sweep()
    expect(shapeOf(treeOf(fork))).toEqual(before)
  })

  it('are found when they come after their origin was evicted, and count nothing twice', async () => {
    const origin = makeSession(home(), 6)
    const fork = makeSession(home(), 3, origin.lines.slice(0, 16))
    const second = makeSession(home(), 2, fork.lines)
    writeLines(origin)
    await memory.sweep()
    evictAll([origin])
    writeLines(fork, 0, 20)
    await memory.sweep()
    writeLines(fork, 20)
    await memory.sweep()
    expect(shapeOf(treeOf(fork))).toEqual([
      [0, null, origin.uid, null],
      [1, 'interactive_fork', fork.uid, origin.uid],
    ])
    expect([turnsOf(origin), turnsOf(fork)]).toEqual([6, 3])
    evictAll([fork])
    writeLines(second)
    await memory.sweep()
    expect(shapeOf(treeOf(second)).at(-1)).toEqual([2, 'interactive_fork', second.uid, fork.uid])
    expect(turnsOf(second)).toBe(2)
    const tokens = memory.with((store) => {
      const sql = 'SELECT count(*) AS n FROM usage WHERE is_counted'
      return (databasesOf(store.reader).memory.prepare(sql).get() as { n: number }).n
    })
    expect(tokens).toBe(2 * (6 + 3 + 2))
    // Everything read again from the beginning says the same.
    const shape = shapeOf(treeOf(second))
    await memory.sweep({ full: true })
    expect(shapeOf(treeOf(second))).toEqual(shape)
    expect([turnsOf(origin), turnsOf(fork), turnsOf(second)]).toEqual([6, 3, 2])
  })

  it('do not make a session that went on after its eviction forget the turns it had', async () => {
    const origin = makeSession(home(), 6)
    writeLines(origin, 0, 16)
    await memory.sweep()
    evictAll([origin])
    writeLines(origin, 16)
    const fork = makeSession(home(), 3, origin.lines)
    writeLines(fork)
    await memory.sweep()
    expect([turnsOf(origin), turnsOf(fork)]).toEqual([6, 3])
  })

  it('that were evicted before their origin was read count what is theirs once it is', async () => {
    const outside = join(memory.root, 'not-yet')
    mkdirSync(outside)
    const origin = makeSession(home(), 6)
    // Which file was there when the common events happened tells who is the fork: this one is, the others come after.
    writeFileSync(join(outside, 'origin.jsonl'), '')
    const now = Date.now() + 5
    const timed = (made: MadeSession): MadeSession => ({
      ...made,
      lines: made.lines.map((line, at) =>
        JSON.stringify({ ...JSON.parse(line), timestamp: new Date(now + at).toISOString() }),
      ),
    })
    const first = timed(origin)
    writeLines({ ...first, path: join(outside, 'origin.jsonl') })
    const forks = [
      timed(makeSession(home(), 3, first.lines.slice(0, 16))),
      timed(makeSession(home(), 2, first.lines)),
    ]
    while (Date.now() <= now + 100) await new Promise((done) => setTimeout(done, 20))
    const digestOf = (one: MadeSession): Digest => memory.with((store) => getDigest(store.reader, one.uid))
    const told = (one: MadeSession) => {
      const { cost, price, event_count, kind_counts, tool_histogram, files, metrics, recounted } =
        digestOf(one)
      // When its own part began is known by its responses only.
      const { active_s: _, wall_clock_s: __, ...counted } = metrics
      const { wall_clock_s: ___, ...spent } = cost
      return { spent, price, event_count, kind_counts, tool_histogram, files, counted, recounted }
    }
    const timesOf = (one: MadeSession): number[] => {
      const { started_at, ended_at, cost, metrics } = digestOf(one)
      const [from, to] = [Date.parse(started_at), Date.parse(ended_at)]
      expect([cost.wall_clock_s, metrics.wall_clock_s]).toEqual(Array(2).fill((to - from) / 1000))
      return [from - now, to - now]
    }
    for (const one of forks) writeLines(one)
    await memory.sweep()
    evictAll(forks)
    const frozen = forks.map(digestOf)
    expect(frozen[0]?.recounted).toBeNull()
    renameSync(join(outside, 'origin.jsonl'), origin.path)
    await memory.sweep()
    expect(shapeOf(treeOf(origin)).map((row) => (row as unknown[]).slice(2))).toEqual([
      [origin.uid, null],
      ...forks.map((one) => [one.uid, origin.uid]).sort(),
    ])
    expect([turnsOf(origin), ...forks.map(turnsOf)]).toEqual([6, 3, 2])
    for (const [at, one] of forks.entries()) {
      const copied = (frozen[at]?.event_count ?? 0) - digestOf(one).event_count
      expect(digestOf(one).recounted).toEqual({ origin_uid: origin.uid, copied_events: copied })
      expect(copied).toBe([16, 8][at])
    }
    const corrected = forks.map(told)
    const copiedLines = [16, first.lines.length]
    for (const [at, one] of forks.entries())
      expect(timesOf(one)[0]).toBeGreaterThanOrEqual(copiedLines[at] as number)
    // Nothing is taken out a second time, and what is read in whole says the same.
    await memory.sweep()
    expect(forks.map(told)).toEqual(corrected)
    await memory.sweep({ full: true })
    const anew = (one: MadeSession) => ({ ...told(one), recounted: null })
    expect(forks.map(anew).map(withoutSeqs)).toEqual(
      corrected.map((one) => withoutSeqs({ ...one, recounted: null })),
    )
    expect(forks.map((one) => timesOf(one)[0])).toEqual(copiedLines)
  })

  it('lose a forgotten origin', async () => {
    const origin = makeSession(home(), 6)
    writeLines(origin)
    await memory.sweep()
    evictAll([origin])
    memory.with((store) => {
      forget({ store, paths: storePaths(memory.home) }, origin.uid)
    })
    const fork = makeSession(home(), 3, origin.lines.slice(0, 16))
    writeLines(fork)
    await memory.sweep()
    expect(shapeOf(treeOf(fork))).toEqual([[0, null, fork.uid, null]])
  })
})

describe('a lineage log', () => {
  let memory: Memory
  let log: string
  beforeEach(() => {
    memory = new Memory()
    log = join(memory.env['HOME'] as string, '.ollim-bot')
    mkdirSync(log, { recursive: true })
  })
  afterEach(() => memory.remove())
  const write = (...lines: [id: string, event: string, parent: string | null][]): void => {
    for (const [at, [session_id, event, parent_session_id]] of lines.entries()) {
      const timestamp = new Date(Date.UTC(2026, 8, 1) + at * 1000).toISOString()
      const line = JSON.stringify({ session_id, event, timestamp, parent_session_id })
      appendFileSync(join(log, 'session_history.jsonl'), `${line}\n`)
    }
  }
  const sweep = async (): Promise<void> => {
    await memory.sweep({ adapters: [claude, lineageAdapter] })
  }
  const treeOf = (uid: string): Lineage => memory.with((store) => lineageOf(store.reader, [uid], prices))

  it('goes on when the session it speaks of first is forgotten', async () => {
    write(['one', 'created', null])
    await sweep()
    memory.with((store) =>
      store.archive.evict([{ uid: 'lineage:one', reason: 'forgotten', bytes: 0 }], Date.now()),
    )
    write(['two', 'created', null], ['three', 'compacted', 'two'])
    await sweep()
    const uids = memory.rows('SELECT session_uid FROM sessions').map((row) => row['session_uid'])
    expect(uids.toSorted()).toEqual(['lineage:three', 'lineage:two'])
    expect(
      treeOf('lineage:three')
        .nodes.map((node) => node.session_uid)
        .toSorted(),
    ).toEqual(uids.toSorted())
  })

  it('is joined to the sessions it names, by id or by uid', async () => {
    const home = memory.env['HOME'] as string
    const [main, compacted, fork] = [makeSession(home, 2), makeSession(home, 2), makeSession(home, 1)]
    for (const one of [main, compacted, fork]) writeLines(one)
    const id = (one: MadeSession): string => native(one.uid) as string
    write(
      [id(main), 'created', null],
      [id(compacted), 'compacted', id(main)],
      [fork.uid, 'bg_fork', id(compacted)],
      ['gone-before-us', 'interactive_fork', id(compacted)],
      [id(fork), 'swapped', id(compacted)],
      [id(main), 'cleared', null],
    )
    await sweep()
    const found = treeOf(fork.uid)
    expect(found.problems).toEqual([])
    expect(shapeOf(found)).toEqual([
      [0, null, main.uid, null],
      [1, 'compacted', compacted.uid, main.uid],
      [2, 'bg_fork', fork.uid, compacted.uid],
      [2, 'interactive_fork', 'lineage:gone-before-us', compacted.uid],
    ])
    const node = nodeOf(found.nodes, fork.uid)
    expect(node?.logged_as.toSorted()).toEqual([`lineage:${fork.uid}`, `lineage:${id(fork)}`].sort())
    expect(node?.edge).toMatchObject({ source: 'logged', at: '2026-09-01T00:00:02.000Z' })
    expect(node?.other_edges).toEqual([
      expect.objectContaining({ kind: 'swapped', parent_uid: compacted.uid }),
    ])
    expect(
      nodeOf(found.nodes, main.uid)
        ?.other_edges.map((one) => one.kind)
        .sort(),
    ).toEqual(['cleared', 'created'])
    expect(nodeOf(found.nodes, 'lineage:gone-before-us')?.state).toBe('named')
    expect(nodeOf(found.nodes, `lineage:${id(main)}`)?.session_uid).toBe(main.uid)
    expect(shapeOf(treeOf(`lineage:${id(main)}`))).toEqual(shapeOf(found))
    memory.with((store) => {
      const handle = store.reader
      expect(resolveSession(handle, id(main))).toBe(main.uid)
      expect(resolveSession(handle, id(main).slice(0, 10))).toBe(main.uid)
      const short = shortIds(handle, [main.uid, 'lineage:gone-before-us', 'lineage:nowhere'])
      expect(short.get(main.uid)).toBe(id(main).slice(0, 8))
      expect(short.get('lineage:gone-before-us')).toBe('gone-bef')
      expect(short.get('lineage:nowhere')).toBe('lineage:nowhere')
    })
    const text = cli(memory.env, 'lineage', main.uid)
    expect(text.stdout).toContain('ended by clear')
    expect(text.stdout).toContain('[only named, never read]')
  })

  it('that goes in circles gives a tree and says so', async () => {
    write(['a', 'compacted', 'c'], ['b', 'compacted', 'a'], ['c', 'compacted', 'b'], ['d', 'bg_fork', 'd'])
    await sweep()
    const found = treeOf('lineage:b')
    expect(found.problems).toEqual([expect.objectContaining({ kind: 'cycle', session_uid: 'lineage:a' })])
    expect(shapeOf(found)).toEqual([
      [0, null, 'lineage:a', null],
      [1, 'compacted', 'lineage:b', 'lineage:a'],
      [2, 'compacted', 'lineage:c', 'lineage:b'],
    ])
    expect(treeOf('lineage:d').problems).toEqual([expect.objectContaining({ kind: 'cycle' })])
    const run = cli(memory.env, 'lineage', 'lineage:b')
    expect(run.code).toBe(4)
    expect(run.stderr).toContain('warning: cycle')
  })

  it('that gives a session two parents keeps the first and says so', async () => {
    write(
      ['a', 'created', null],
      ['b', 'created', null],
      ['c', 'bg_fork', 'a'],
      ['c', 'interactive_fork', 'b'],
    )
    await sweep()
    const found = treeOf('lineage:c')
    expect(nodeOf(found.nodes, 'lineage:c')?.parent_uid).toBe('lineage:a')
    expect(found.problems).toEqual([expect.objectContaining({ kind: 'several_parents' })])
  })

  it('may be of any length', async () => {
    const names = Array.from({ length: 3000 }, (_, at) => `s${String(at).padStart(5, '0')}`)
    write(
      ...names.map((name, at): [string, string, string | null] => [name, 'compacted', names[at - 1] ?? null]),
    )
    await sweep()
    const { nodes, problems } = treeOf('lineage:s01500')
    expect(problems).toEqual([])
    expect(nodes.map((node) => node.depth)).toEqual(names.map((_, at) => at))
    const run = cli(memory.env, 'lineage', 's01500')
    expect(run.code).toBe(0)
    expect(Math.max(...run.stdout.split('\n').map((line) => line.length))).toBeLessThan(200)
  })

  it('whose sessions were evicted and whose cache is gone still gives its tree', async () => {
    const home = memory.env['HOME'] as string
    const [main, next] = [makeSession(home, 2), makeSession(home, 2)]
    for (const one of [main, next]) writeLines(one)
    write(
      [native(main.uid) as string, 'created', null],
      [native(next.uid) as string, 'compacted', native(main.uid)],
    )
    await sweep()
    memory.with((store) => store.archive.evict([{ uid: main.uid, reason: 'age', bytes: 1 }], Date.now()))
    rmSync(memory.cache, { recursive: true })
    const handle = openForReading(storePaths(memory.home))
    const found = lineageOf(handle, [next.uid], prices)
    handle.close()
    expect(shapeOf(found)).toEqual([
      [0, null, main.uid, null],
      [1, 'compacted', next.uid, main.uid],
    ])
    expect(found.nodes[0]?.state).toBe('evicted')
  })
})
