// The whole round trip of our own formats: sessions made up at random are recorded through the library and the pipe, swept,
// and asked for; every word, call, result and token has to come back, in order and once.

import { appendFileSync, cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { linesOf } from '../src/event/body.ts'
import { sessionEvents } from '../src/query/events.ts'
import { resolveSession } from '../src/query/ids.ts'
import { lineageOf } from '../src/query/lineage.ts'
import { getSession } from '../src/query/sessions.ts'
import {
  buildSessionTree,
  EntireTranscript,
  RunTranscript,
  readSessionHistory,
  TranscriptWriter,
} from '../src/record/index.ts'
import { Bodies } from '../src/store/bodies.ts'
import { databasesOf } from '../src/store/databases.ts'
import type { Reader } from '../src/store/reader/index.ts'
import { readOverrides } from '../src/usage/overrides.ts'
import { loadPrices } from '../src/usage/prices.ts'
import { amountOf } from './setup/long.ts'
import fc from './setup/properties.ts'
import {
  entireSession,
  lineageLog,
  type Recorded,
  recordEntire,
  recordLineage,
  recordRun,
  recordTurns,
  runSession,
  turnsSession,
  type Way,
} from './setup/recorded.ts'
import { cli, World } from './setup/sweeping.ts'

const prices = await loadPrices(readOverrides({}, {}))
const RUNS = amountOf('ROUND_TRIPS', 8, 40)

function compare(handle: Reader, one: Recorded): void {
  const bodies = new Bodies(handle)
  const events = [...sessionEvents(handle, one.uid)]
  const found = events.map((event) => ({
    said: event.role,
    body: linesOf(bodies.text(event.payload_ref) ?? 'unreadable').raw,
    ts: event.ts,
  }))
  // What belongs to the turn as a whole goes with its first event, behind what is the event's own.
  const told = one.told.map(({ said, body, ts }, n) => ({
    said,
    body: found[n]?.body.startsWith(body.slice(0, -1)) ? found[n].body : body,
    ts: ts ?? found[n]?.ts ?? null,
  }))
  expect(found).toEqual(told)
  expect(bodies.unread.size).toBe(0)
  const sums = databasesOf(handle)
    .memory.prepare(
      `SELECT coalesce(sum(input), 0) AS input, coalesce(sum(output), 0) AS output, coalesce(sum(cache_read), 0) AS read,
       coalesce(sum(cache_write_5m), 0) AS written FROM usage WHERE session_uid = ? AND is_counted`,
    )
    .get(one.uid) as Record<string, number>
  expect([sums['input'], sums['output'], sums['read'], sums['written']]).toEqual(one.tokens)
  expect(getSession(handle, one.uid)?.model).toBe(one.model)
}

/** Records into one world, sweeps it and compares all of it. */
async function roundTrip(
  records: ((world: World) => Promise<Recorded>)[],
  also: (world: World, all: Recorded[]) => void = () => undefined,
): Promise<void> {
  const world = new World()
  try {
    world.configure(`[sources.entire]\nroots = [${JSON.stringify(world.base)}]\n`)
    const all: Recorded[] = []
    for (const record of records) all.push(await record(world))
    const report = await world.sweep()
    expect(report.problems).toEqual([])
    // What a program was writing when it died, and nothing else.
    const reasons = report.sources.flatMap((source) => Object.keys(source.gaps))
    expect(reasons.filter((reason) => reason !== 'not-json' && reason !== 'torn')).toEqual([])
    world.read((handle) => {
      for (const one of all) compare(handle, one)
    })
    also(world, all)
  } finally {
    world.remove()
  }
}

const project = (world: World): string => join(world.base, 'project')
const agents = (world: World): string => join(world.home, '.homeagent')
const flows = (world: World): string => join(world.home, '.devflow')
// A failure is made smaller for so long; then it is told as it is.
const options = { numRuns: RUNS, interruptAfterTimeLimit: 45_000 }

const isWhole = fc.boolean()
/** At once, or by two programs with a sweep when the first has died. */
const wayOf = (isAtOnce: boolean, world: World): Way => (isAtOnce ? 'library' : () => world.sweep())

describe('what the library records comes back', () => {
  it('as Entire-compatible sessions', async () => {
    const sessions = fc.array(fc.tuple(entireSession, isWhole), { minLength: 1, maxLength: 5 })
    const property = fc.asyncProperty(sessions, (all) =>
      roundTrip(
        all.map(
          ([one, isAtOnce]) =>
            (world) =>
              recordEntire(project(world), one, wayOf(isAtOnce, world)),
        ),
      ),
    )
    await fc.assert(property, options)
  })

  it('as turn logs', async () => {
    const sessions = fc.array(fc.tuple(turnsSession, isWhole), { minLength: 1, maxLength: 5 })
    const property = fc.asyncProperty(sessions, (all) =>
      roundTrip(
        all.map(
          ([one, isAtOnce], n) =>
            (world) =>
              recordTurns(agents(world), `s${n}`, one, wayOf(isAtOnce, world)),
        ),
      ),
    )
    await fc.assert(property, options)
  })

  it('as runs', async () => {
    const sessions = fc.array(fc.tuple(runSession, isWhole), { minLength: 1, maxLength: 5 })
    const property = fc.asyncProperty(sessions, (all) =>
      roundTrip(
        all.map(
          ([one, isAtOnce], n) =>
            (world) =>
              recordRun(flows(world), `T${n}`, one, wayOf(isAtOnce, world)),
        ),
      ),
    )
    await fc.assert(property, options)
  })
})

/** The tree as the memory tells it and as the log itself gives it: session, parent and kind of birth. */
async function compareTrees(world: World, directory: string): Promise<void> {
  const log = buildSessionTree(await readSessionHistory(directory))
  const uids = [...log.nodes.keys()].map((id) => `lineage:${id}`)
  const { nodes, problems } = world.read((handle) => lineageOf(handle, uids, prices))
  const isCircle = log.problems.some((problem) => problem.kind === 'cycle')
  expect(problems.some((problem) => problem.kind === 'cycle')).toBe(isCircle)
  // A circle has no beginning: where it is cut is a matter of taste.
  if (isCircle) return
  const found = nodes.map(({ session_uid, parent_uid, edge }) => [
    session_uid,
    parent_uid,
    edge?.kind ?? null,
  ])
  const told = [...log.nodes.values()].map(({ sessionId, parent, birth }) =>
    parent === null
      ? [`lineage:${sessionId}`, null, null]
      : [`lineage:${sessionId}`, `lineage:${parent}`, birth],
  )
  expect(found.sort()).toEqual(told.sort())
}

it('a history of sessions comes back as the tree it is', async () => {
  const property = fc.asyncProperty(lineageLog, async (operations) => {
    const world = new World()
    try {
      const directory = join(world.home, '.ollim-bot')
      await recordLineage(directory, operations, 'library')
      await world.sweep()
      await compareTrees(world, directory)
    } finally {
      world.remove()
    }
  })
  await fc.assert(property, { ...options, numRuns: 3 * RUNS })
})

it('what goes through the pipe comes back, also from the command line', async () => {
  // Long sessions: a process for each is what costs.
  // Where two of them meet, one id may follow itself, and would be one response.
  const idOf = (turn: unknown): unknown => (turn as { id?: unknown } | undefined)?.id
  const some = <T>(one: fc.Arbitrary<T[]>): T[] =>
    fc
      .sample(one, 4)
      .flat()
      .filter((turn, n, all) => idOf(turn) === undefined || idOf(turn) !== idOf(all[n - 1]))
  const [entire, turns, [run]] = [some(entireSession), some(turnsSession), fc.sample(runSession, 1)]
  await roundTrip(
    [
      (world) => recordEntire(project(world), entire, 'pipe'),
      (world) => recordTurns(agents(world), 's', turns, 'pipe'),
      (world) => recordRun(flows(world), 'T', run as never, 'pipe'),
    ],
    (world, all) => {
      for (const { uid, told } of all) {
        const { events } = JSON.parse(cli(world.env, 'show', uid, '--json', '--payload').stdout)
        const bodies = events.map((event: { payload: unknown }) => JSON.stringify(event.payload))
        expect(bodies).toHaveLength(told.length)
        for (const [n, { body }] of told.entries()) expect(bodies[n].startsWith(body.slice(0, -1))).toBe(true)
      }
    },
  )
})

it('sessions that only a history tells of are in the list of trees', async () => {
  const world = new World()
  try {
    const ops = ['save a', 'interactive_fork b', 'swap b', 'swap a', 'swap b', 'clear'].map((words) => {
      const [op, session_id] = words.split(' ')
      return { op, ...(session_id && { session_id }) }
    })
    await recordLineage(join(world.home, '.ollim-bot'), ops as never, 'pipe')
    await world.sweep()
    for (const more of [[], ['--flavor', 'lineage'], ['--since', '2d']]) {
      const { code, stdout } = cli(world.env, 'lineage', '--json', ...more)
      const { nodes, problems } = JSON.parse(stdout)
      expect([code, problems]).toEqual([0, []])
      expect(nodes.map((node: { session_uid: string }) => node.session_uid)).toEqual([
        'lineage:a',
        'lineage:b',
      ])
    }
    expect(JSON.parse(cli(world.env, 'lineage', '--json', '--flavor', 'turns').stdout).nodes).toEqual([])
  } finally {
    world.remove()
  }
})

describe('in one memory', () => {
  const withWorld = async (work: (world: World) => Promise<void>): Promise<void> => {
    const world = new World()
    try {
      await work(world)
    } finally {
      world.remove()
    }
  }
  const bodiesOf = (world: World, uid: string): unknown[] =>
    world.read((handle) => {
      const bodies = new Bodies(handle)
      return [...sessionEvents(handle, uid)].map((event) => bodies.value(event.payload_ref))
    })
  const start = (base: string, runId: string) =>
    RunTranscript.start(base, { runId, flowId: 'review', flush: 'os' })
  const RUN = '2026-01-15-review-pr-123'

  it('runs of one id in two projects are two sessions, a copy of a run is one', () =>
    withWorld(async (world) => {
      const bases = ['a', 'b'].map((name) => join(world.base, name, '.devflow'))
      world.configure(`[sources.run]\nroots = ${JSON.stringify([...bases, join(world.base, 'copy')])}\n`)
      for (const [n, base] of bases.entries()) {
        const run = await start(base, RUN)
        await run.addTurn('user', `asked in ${n}`, 100 + n)
        await run.complete()
        if (n === 0) cpSync(base, join(world.base, 'copy', '.devflow'), { recursive: true })
      }
      const other = await start(bases[0] as string, `${RUN}-2`)
      await other.cancel()
      await world.sweep()
      const { sessions } = JSON.parse(cli(world.env, 'sessions', '--all', '--json').stdout)
      const found = sessions.map((one: { cost: { input_tokens: number } }) => one.cost.input_tokens)
      expect(found.sort()).toEqual([0, 100, 101])
      expect(cli(world.env, 'show', `run:${RUN}`).stderr).toContain('several sessions begin with')
    }))

  it('a run has its own id as a name also where another id begins with it', () =>
    withWorld(async (world) => {
      for (const id of [RUN, `${RUN}-2`, `${RUN}-3`]) await (await start(flows(world), id)).complete()
      await world.sweep()
      for (const typed of [RUN, `run:${RUN}`])
        expect(world.read((handle) => resolveSession(handle, typed))).toMatch(`run:${RUN}@`)
      expect(() => world.read((handle) => resolveSession(handle, RUN.slice(0, -1)))).toThrow('several')
    }))

  it('a run under way costs what it has cost so far, also when it is never ended', () =>
    withWorld(async (world) => {
      const run = await start(flows(world), RUN)
      const cost = async (): Promise<unknown> => {
        await world.sweep()
        return JSON.parse(cli(world.env, 'usage', 'session', '--json').stdout).total.reported_cost_usd
      }
      await run.addTurn('user', 'go', 10)
      await run.addCost(0.5)
      expect(Number(await cost())).toBe(0.5)
      await run.addCost(0.25)
      expect(Number(await cost())).toBe(0.75)
      await run.close()
      const again = await RunTranscript.resume(flows(world), RUN, { flush: 'os' })
      await again.addCost(1)
      await again.complete()
      expect(Number(await cost())).toBe(1.75)
    }))

  it('content that was split off and read stays when its file is lost', () =>
    withWorld(async (world) => {
      world.configure(`[sources.entire]\nroots = [${JSON.stringify(world.base)}]\n`)
      mkdirSync(project(world))
      const transcript = new EntireTranscript({ cwd: project(world), version: '1', flush: 'os' })
      await transcript.user('cut in the middle of a sign: \ud83d')
      await world.sweep()
      const uid = world.read((handle) => resolveSession(handle, '@last'))
      const before = bodiesOf(world, uid)
      expect(before).toEqual([{ type: 'text', text: 'cut in the middle of a sign: \ud83d' }])
      rmSync(join(transcript.directory, 'spill'), { recursive: true })
      const report = await world.sweep({ full: true })
      expect(report.sources[0]?.gaps).toMatchObject({ spill: expect.anything() })
      expect(bodiesOf(world, uid)).toEqual(before)
    }))

  it('a whole project may be a root: packages and git are neither walked through nor complained of', () =>
    withWorld(async (world) => {
      world.configure(`[sources.entire]\nroots = [${JSON.stringify(project(world))}]\n`)
      mkdirSync(join(project(world), 'node_modules', ...Array<string>(20).fill('deep')), { recursive: true })
      mkdirSync(join(project(world), '.git'))
      symlinkSync(world.home, join(project(world), '.git', 'elsewhere'))
      for (const name of ['.', 'node_modules', 'packages/one']) {
        const cwd = join(project(world), name)
        mkdirSync(cwd, { recursive: true })
        await new EntireTranscript({ cwd, version: '1', flush: 'os' }).user(name)
      }
      const report = await world.sweep()
      expect(report.problems).toEqual([])
      const { sessions } = JSON.parse(cli(world.env, 'sessions', '--json').stdout)
      expect(sessions.map((one: { cwd: string }) => one.cwd.slice(project(world).length)).sort()).toEqual([
        '',
        '/packages/one',
      ])
    }))

  it('the model that an agent tells in context.md alone, at its end, is that of its responses', () =>
    withWorld(async (world) => {
      world.configure(`[sources.entire]\nroots = [${JSON.stringify(world.base)}]\n`)
      mkdirSync(project(world))
      const transcript = new EntireTranscript({ cwd: project(world), version: '1', flush: 'os' })
      const usage = { input_tokens: 10, output_tokens: 5 }
      await transcript.user('one')
      await transcript.assistant('two', { usage })
      await transcript.assistant('three', { usage, model: 'another' })
      await world.sweep()
      const models = (): unknown =>
        JSON.parse(cli(world.env, 'usage', 'model', '--json').stdout)
          .rows.map((row: { key: string }) => row.key)
          .sort()
      expect(models()).toEqual(['another', null])
      // Ours repeats what the lines say.
      await transcript.end()
      expect((await world.sweep()).counts.unchanged).toBe(1)
      for (const line of ['- Model: told-1', '**Model:** told-1']) {
        const head = `# Session ${transcript.sessionId}\n\n${line}\n\n## Key Actions\n`
        writeFileSync(join(transcript.directory, 'context.md'), head)
        await world.sweep()
        expect(models()).toEqual(['another', 'told-1'])
      }
      rmSync(join(transcript.directory, 'context.md'))
      symlinkSync(transcript.path, join(transcript.directory, 'context.md'))
      expect((await world.sweep()).problems).toEqual([])
    }))

  it('turns larger than any line of an agent come back', () =>
    withWorld(async (world) => {
      const writer = new TranscriptWriter(agents(world), { flush: 'os' })
      const rows = Array.from({ length: 60_000 }, (_, n) => [n, null])
      const results = [[{ callId: 'a', result: 'x'.repeat(11 << 20) }], [{ callId: 'b', result: rows }]]
      for (const [n, toolResults] of results.entries())
        await writer.append('helper', 's', { turnId: String(n), role: 'tool', ts: 1.7e12 + n, toolResults })
      await writer.close()
      const report = await world.sweep()
      expect(report.sources.map((source) => source.gaps)).toEqual([{}])
      expect(JSON.stringify(bodiesOf(world, 'turns:helper/s'))).toBe(JSON.stringify(results.flat()))
    }))

  it('several writers and a crash in between lose nothing that was acknowledged', () =>
    withWorld(async (world) => {
      const writers = [1, 2, 3].map(() => new TranscriptWriter(agents(world), { flush: 'os' }))
      const said: string[] = []
      const say = async (writer: TranscriptWriter, content: string): Promise<void> => {
        await writer.append('helper', 's', { turnId: content, role: 'user', content, ts: 1.7e12 })
        said.push(content)
      }
      const path = (writers[0] as TranscriptWriter).resolvePath('helper', 's')
      for (const round of [1, 2, 3]) {
        await Promise.all(writers.map((writer, n) => say(writer, `${round}.${n}`)))
        // As a writer leaves it that was killed in the middle of a record; the sweep comes at that moment.
        appendFileSync(path, '{"turnId":"torn","role":"us')
        await world.sweep()
      }
      await say(writers[0] as TranscriptWriter, 'last')
      await world.sweep()
      const bodies = bodiesOf(world, 'turns:helper/s') as { content: string }[]
      expect(bodies.map((body) => body.content).sort()).toEqual(said.sort())
    }))
})
