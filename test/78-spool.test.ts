// From the spool, or a list of touched paths, into the memory: only what was named is looked at, nothing in the spool is
// believed, and the result is what a sweep of everything gives.
import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { readSpoolState, takeSpool } from '../src/sources/spool.ts'
import { LINES, NUDGED, SPOOL, type SpoolLine } from '../src/sources/spool-files.ts'
import type { SweepReport } from '../src/sweep/report.ts'
import { dumpStore } from './setup/dump.ts'
import { cli, World } from './setup/sweeping.ts'

let world: World
const project = (): string => join(world.home, '.claude', 'projects', '-home-dev-proj')
const id = (n: number): string => `11111111-1111-4111-8111-${String(n).padStart(12, '0')}`

function record(session: string, n: number): string {
  const uuid = `22222222-2222-4222-8222-${session.slice(-4)}${String(n).padStart(8, '0')}`
  const message = { role: 'user', content: `prompt ${n} of ${session}` }
  return `${JSON.stringify({ type: 'user', uuid, parentUuid: null, sessionId: session, timestamp: '2026-11-15T12:00:00.000Z', cwd: '/home/dev/proj', message })}\n`
}

function addSession(n: number, directory = project()): string {
  mkdirSync(directory, { recursive: true })
  const path = join(directory, `${id(n)}.jsonl`)
  writeFileSync(path, record(id(n), 1))
  return path
}

function spool(...lines: (Partial<SpoolLine> | string)[]): void {
  mkdirSync(join(world.memory, SPOOL), { recursive: true })
  for (const line of lines) {
    const full =
      typeof line === 'string'
        ? line
        : JSON.stringify({ at: 1000, event: 'Stop', session: 'x', paths: [], ...line })
    appendFileSync(join(world.memory, SPOOL, LINES), `\n${full}\n`)
  }
}

const hookSweep = async (): Promise<SweepReport> => await world.sweep({ touched: [], trigger: 'hook' })
const uids = (): string[] =>
  world.read(({ memory }) =>
    memory
      .prepare('SELECT session_uid AS uid FROM sessions ORDER BY uid')
      .all()
      .map((row) => (row as { uid: string }).uid),
  )

beforeEach(() => {
  world = new World()
})

describe('a sweep that hooks set off', () => {
  it('looks at everything the first time, then only at the folders they named', async () => {
    addSession(1)
    expect(await hookSweep()).toMatchObject({ isFull: true })
    addSession(2)
    const elsewhere = addSession(3, `${project()}-other`)
    spool({ paths: [elsewhere] })
    const report = await hookSweep()
    expect(report).toMatchObject({ isFull: false, counts: { new: 1, unchanged: 0 }, problems: [] })
    expect(uids()).toEqual([`claude:${id(1)}`, `claude:${id(3)}`])
    expect(await world.sweep()).toMatchObject({ isFull: true, counts: { new: 1 } })
  })

  it('also reads what sub-agents wrote beside the session', async () => {
    const path = addSession(1)
    await hookSweep()
    const directory = join(project(), id(1), 'subagents')
    mkdirSync(directory, { recursive: true })
    writeFileSync(
      join(directory, 'agent-abc.jsonl'),
      record(id(1), 7).replace('"type"', '"isSidechain":true,"agentId":"abc","type"'),
    )
    spool({ paths: [path] })
    expect(await hookSweep()).toMatchObject({ isFull: false, counts: { new: 1 } })
  })

  it('looks at everything when a line is torn, names nothing, or there is none', async () => {
    addSession(1)
    await hookSweep()
    for (const lines of [['{"at":1,"ev'], [{ paths: [] }], ['null'], ['{"at":"x","paths":"y"}'], []]) {
      spool(...lines)
      expect(await hookSweep()).toMatchObject({ isFull: true })
    }
  })

  it.each([
    ['after a day', -90_000_000],
    ['after a time that is still to come', 90_000_000],
  ])('does so again %s', async (_, shift) => {
    const path = addSession(1)
    await hookSweep()
    const state = join(world.memory, SPOOL, 'state.json')
    const { fullAt } = readSpoolState(world.memory)
    writeFileSync(
      state,
      readFileSync(state, 'utf8').replace(`"fullAt":${fullAt}`, `"fullAt":${fullAt + shift}`),
    )
    spool({ paths: [path] })
    expect(await hookSweep()).toMatchObject({ isFull: true })
    spool({ paths: [path] })
    expect(await hookSweep()).toMatchObject({ isFull: false })
  })

  it('reads a transcript outside the roots if it is one, and nothing else that a line names', async () => {
    await hookSweep()
    const outside = join(world.base, 'elsewhere', 'projects', 'p')
    const path = addSession(1, outside)
    writeFileSync(join(world.base, 'secret.jsonl'), record(id(2), 1))
    mkdirSync(join(outside, `${id(4)}.jsonl`))
    symlinkSync(join(world.base, 'secret.jsonl'), join(outside, `${id(3)}.jsonl`))
    const hostile = [
      join(world.base, 'secret.jsonl'),
      join(outside, `${id(3)}.jsonl`),
      join(outside, `${id(4)}.jsonl`),
      'relative/projects/p/x.jsonl',
      `${outside}/../p/${id(1)}.jsonl`,
      `${outside}/a\u0000b.jsonl`,
      '/etc/passwd',
      '/dev/zero',
    ]
    spool({ paths: [path, ...hostile] })
    const report = await hookSweep()
    expect(uids()).toEqual([`claude:${id(1)}`])
    expect(report.problems.map((one) => one.path).sort()).toEqual([...hostile].sort())
    // Not below a root, and yet not gone.
    expect(await world.sweep()).toMatchObject({ counts: { missing: 0 } })
    appendFileSync(path, record(id(1), 2))
    spool({ paths: [path] })
    expect(await hookSweep()).toMatchObject({ isFull: false, counts: { appended: 1 } })
  })

  it('finds a root by any of its names', async () => {
    addSession(1)
    await hookSweep()
    const link = join(world.base, 'link')
    symlinkSync(world.home, link)
    appendFileSync(join(project(), `${id(1)}.jsonl`), record(id(1), 2))
    spool({ paths: [join(link, '.claude', 'projects', '-home-dev-proj', `${id(1)}.jsonl`)] })
    expect(await hookSweep()).toMatchObject({ counts: { appended: 1, new: 0 } })
  })

  it('clears the spool only when it has committed, and takes up what a killed one left', async () => {
    const path = addSession(1)
    await hookSweep()
    appendFileSync(path, record(id(1), 2))
    spool({ paths: [path] })
    renameSync(join(world.memory, SPOOL, LINES), join(world.memory, SPOOL, 'taken-1-2.jsonl'))
    writeFileSync(join(world.memory, SPOOL, NUDGED), '')
    const abort = new AbortController()
    abort.abort()
    await world.sweep({ touched: [], trigger: 'hook', signal: abort.signal })
    expect(readdirSync(join(world.memory, SPOOL)).sort()).toEqual(['state.json', 'taken-1-2.jsonl'])
    expect(await hookSweep()).toMatchObject({ isFull: false })
    expect(readdirSync(join(world.memory, SPOOL))).toEqual(['state.json'])
  })

  it('keeps a bounded number of what killed sweeps left, and looks at everything until one has ended', () => {
    spool({ paths: [] })
    const directory = join(world.memory, SPOOL)
    for (let n = 0; n < 300; n++) writeFileSync(join(directory, `taken-${n}-1.jsonl`), record(id(n), 1))
    for (let round = 0; round < 3; round++) {
      spool({ paths: ['/x'] })
      expect(takeSpool(world.memory).isVague).toBe(true)
      expect(readdirSync(directory).length).toBeLessThan(70)
    }
    takeSpool(world.memory).finish()
    expect(readdirSync(directory)).toEqual([])
  })

  it('looks at everything where a directory is in the way of hooks, and names it unless it is empty', async () => {
    addSession(1)
    const inTheWay = join(world.memory, SPOOL, LINES)
    mkdirSync(inTheWay, { recursive: true })
    expect(await hookSweep()).toMatchObject({ isFull: true, problems: [] })
    expect(readdirSync(join(world.memory, SPOOL))).toEqual(['state.json'])
    expect(await hookSweep()).toMatchObject({ isFull: true, problems: [] })
    mkdirSync(join(inTheWay, 'precious'), { recursive: true })
    for (let round = 0; round < 2; round++) {
      const { isFull, problems } = await hookSweep()
      expect([isFull, problems]).toEqual([
        true,
        [expect.objectContaining({ path: inTheWay, code: 'NOT_A_FILE' })],
      ])
    }
    expect(existsSync(join(inTheWay, 'precious'))).toBe(true)
    rmSync(inTheWay, { recursive: true })
    execFileSync('mkfifo', [inTheWay])
    expect(await hookSweep()).toMatchObject({ isFull: true, problems: [] })
    expect(readdirSync(join(world.memory, SPOOL))).toEqual(['state.json'])
  })

  it('leaves the spool to others when it looks at one flavor only', async () => {
    await world.sweep()
    spool({ paths: [addSession(1)] })
    expect(cli(world.env, 'sweep', '--flavor', 'grok').code).toBe(0)
    expect(existsSync(join(world.memory, SPOOL, LINES))).toBe(true)
  })

  it('remembers when each agent last told something', async () => {
    const path = addSession(1)
    spool({ at: 5000, event: 'SessionEnd', session: id(1), paths: [path] }, { at: 4000, paths: [path] })
    await hookSweep()
    expect(readSpoolState(world.memory).fired).toEqual({
      claude: { at: 5000, event: 'SessionEnd', session: id(1) },
    })
  })
})

describe('a sweep of touched paths', () => {
  const touch = async (...touched: string[]): Promise<SweepReport> => await world.sweep({ touched })

  it('looks at a file alone, at a new folder whole, and upwards for whose companion a file is', async () => {
    const path = addSession(1)
    addSession(2)
    await world.sweep()
    appendFileSync(path, record(id(1), 2))
    expect(await touch(path)).toMatchObject({ counts: { appended: 1, unchanged: 0 } })
    addSession(3, `${project()}-new`)
    expect(await touch(`${project()}-new`)).toMatchObject({ counts: { new: 1 } })
    const results = join(project(), id(1), 'tool-results')
    mkdirSync(results, { recursive: true })
    writeFileSync(join(results, 'x.txt'), 'output')
    expect(await touch(join(results, 'x.txt'))).toMatchObject({ counts: { new: 0, unchanged: 2 } })
  })

  it('sees files and folders that go, come back and are renamed', async () => {
    const path = addSession(1)
    addSession(2)
    await world.sweep()
    rmSync(path)
    expect(await touch(path)).toMatchObject({ counts: { missing: 1 } })
    addSession(1)
    expect(await touch(path)).toMatchObject({ counts: { changed: 1, missing: 0 } })
    renameSync(project(), `${project()}-renamed`)
    expect(await touch(project(), `${project()}-renamed`)).toMatchObject({
      counts: { moved: 2, missing: 0, new: 0 },
    })
    rmSync(`${project()}-renamed`, { recursive: true })
    expect(await touch(`${project()}-renamed`)).toMatchObject({ counts: { missing: 2 } })
  })

  it('gives the memory that a sweep of everything gives', async () => {
    const other = new World(world.home)
    for (let step = 0; step < 6; step++) {
      const paths = [addSession(step), join(project(), `${id(0)}.jsonl`)]
      appendFileSync(paths[1] as string, record(id(0), step + 10))
      await world.sweep(step === 0 ? {} : { touched: paths })
      await other.sweep()
    }
    expect(world.dump()).toEqual(dumpStore(other.paths, world.base))
    other.remove()
  })
})
