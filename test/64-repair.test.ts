// Damage to the memory itself, done to real files: `sweep --repair` takes it out and reads it again from what the agents
// still have; what they have not is lost, named, and nothing else is lost with it.
import { closeSync, openSync, readdirSync, rmSync, truncateSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { search } from '../src/query/search.ts'
import { NO_BODY } from '../src/store/references.ts'
import { breakIndex, exchangePages, flipName, overwrite, segmentsOf } from './setup/damage.ts'
import { differences } from './setup/dump.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { runUntil } from './setup/stopping.ts'
import { cli, copyTree, World } from './setup/sweeping.ts'

let world: World
beforeEach(async () => {
  world = new World()
  copyTree(join(unpackAgent('claude'), 'fork'), world.home)
  copyTree(join(unpackAgent('codex'), 'tools'), world.home)
  await world.sweep()
})
afterEach(() => world.remove())

const segments = (): string[] => segmentsOf(world.memory)
const problems = (): string[] => world.verify().problems
const found = (query: string): number => world.read((handle) => search(handle, query).length)

describe('a repair', () => {
  it.each<[string, (path: string) => void]>([
    ['are overwritten', overwrite],
    ['end too early', (path) => truncateSync(path, 30)],
    ['are gone', (path) => rmSync(path)],
  ])('brings back bodies that %s', async (_, damage) => {
    const whole = world.dump()
    for (const path of segments()) damage(path)
    expect(problems()).not.toEqual([])
    const report = await world.sweep({ repair: true })
    expect(report.repaired).toMatchObject({ indexCount: 0 })
    expect(report.repaired?.bodyCount).toBeGreaterThan(10)
    expect(problems()).toEqual([])
    expect(differences(world.dump(), whole)).toEqual([])
    expect((await world.sweep({ repair: true })).repaired).toEqual({
      bodyCount: 0,
      indexCount: 0,
      mended: [],
      salvaged: [],
    })
  })

  it('of a database leaves the damaged file beside it, and nothing else', async () => {
    const before = readdirSync(world.memory)
    const fd = openSync(join(world.memory, 'memory.db'), 'r+')
    writeSync(fd, Buffer.alloc(100), 0, 100, 0)
    closeSync(fd)
    const { repaired } = await world.sweep({ repair: true })
    expect(repaired?.salvaged).toMatchObject([{ file: 'memory.db' }])
    expect(problems()).toEqual([])
    expect(readdirSync(world.memory).filter((name) => !before.includes(name))).toEqual(['damaged'])
  })

  it('of a memory whose own name reads as nothing, because its page is where another table was, keeps its sessions', () => {
    const uids = () => world.dump().sessions.map((one) => one['session_uid'])
    const before = uids()
    exchangePages(world.memory, 'pair', 'ledger_models')
    for (const command of [['verify'], ['evict', '--dry-run'], ['sweep']]) {
      const { code, stderr } = cli(world.env, ...command)
      expect([code, stderr]).toEqual([1, expect.stringContaining('recollect sweep --repair')])
      expect(stderr).not.toMatch(/fault of recollect|constraint/)
    }
    expect(cli(world.env, 'sweep', '--repair').code).toBe(0)
    expect(cli(world.env, 'verify').code).toBe(0)
    expect(uids()).toEqual(before)
  })

  it('of a database whose description of a table names another column keeps its sessions', async () => {
    const whole = world.dump()
    for (const [file, column] of [
      ['cache/cache.db', 'duration_ms'],
      ['memory.db', 'git_branch'],
    ] as const) {
      flipName(join(world.memory, file), column)
      for (const command of [['verify'], ['evict', '--dry-run'], ['sweep']]) {
        const { code, stderr } = cli(world.env, ...command)
        expect([code, stderr]).toEqual([1, expect.stringContaining('recollect sweep --repair')])
        expect(stderr).not.toMatch(/fault of recollect|^ +at /m)
      }
      expect(cli(world.env, 'sweep', '--repair').code).toBe(0)
      expect(cli(world.env, 'verify').code).toBe(0)
      expect(differences(world.dump(), whole)).toEqual([])
    }
  })

  it('reads only what is damaged', async () => {
    const [one] = segments()
    overwrite(one as string)
    const report = await world.sweep({ repair: true })
    expect(report.counts.changed).toBeGreaterThan(0)
    expect(report.counts.unchanged).toBeGreaterThan(0)
    expect(problems()).toEqual([])
  })

  it('makes both full-text indexes again', async () => {
    const whole = world.dump()
    breakIndex(world.memory, 'words')
    const digests = () =>
      world.read(
        ({ memory }) =>
          memory.prepare('SELECT json_group_array(id) AS ids FROM digest_words_docsize').get() as {
            ids: string
          },
      ).ids
    const count = digests()
    expect(JSON.parse(count).length).toBeGreaterThan(1)
    breakIndex(world.memory, 'digest_words')
    expect(problems().length).toBeGreaterThan(1)
    const verify = cli(world.env, 'verify')
    expect([verify.code, verify.stderr]).toEqual([1, expect.stringContaining('recollect sweep --repair')])
    const repair = cli(world.env, 'sweep', '--repair', '--json')
    expect(JSON.parse(repair.stdout)).toMatchObject({ repaired: { bodies: 0, indexes: 2 } })
    expect(problems()).toEqual([])
    expect(differences(world.dump(), whole)).toEqual([])
    expect(digests()).toBe(count)
  })

  it('indexes what no source can tell again by its bodies', async () => {
    const uid = world.read(
      ({ memory }) =>
        memory.prepare("SELECT session_uid AS uid FROM sessions WHERE flavor = 'codex'").get() as {
          uid: string
        },
    ).uid
    const { summary } = world.read(
      ({ cache }) =>
        cache
          .prepare(
            'SELECT summary FROM events WHERE session = (SELECT id FROM cached WHERE session_uid = ?) AND kind = 0 AND role = 0',
          )
          .get(uid) as { summary: string },
    )
    const word = /\b[a-z]{5,}\b/i.exec(summary)?.[0] as string
    rmSync(join(world.home, '.codex'), { recursive: true })
    const before = found(word)
    expect(before).toBeGreaterThan(0)
    breakIndex(world.memory, 'words')
    await world.sweep({ repair: true })
    expect(found(word)).toBe(before)
    expect(problems()).toEqual([])
  })

  it('says what is lost, and loses nothing else', async () => {
    rmSync(join(world.home, '.codex'), { recursive: true })
    for (const path of segments()) overwrite(path)
    await world.sweep({ repair: true })
    expect(problems()).toEqual([])
    const verify = cli(world.env, 'verify')
    expect([verify.code, verify.stdout]).toEqual([0, expect.stringMatching(/\d+ bodies are lost for good/)])
    const { lost } = world.read(
      ({ cache }) =>
        cache
          .prepare(
            `SELECT json_group_array(DISTINCT substr(c.session_uid, 1, 5)) AS lost FROM events e JOIN cached c ON c.id = e.session
             WHERE NOT EXISTS (SELECT 1 FROM payloads p WHERE p.hash = e.payload)`,
          )
          .get() as { lost: string },
    )
    expect(JSON.parse(lost)).toEqual(['codex'])
  })

  it('that is killed has taken out all or nothing, and the next sweep goes on with it', async () => {
    const whole = world.dump()
    for (const path of segments()) overwrite(path)
    breakIndex(world.memory, 'words')
    const untouched = problems()
    expect(untouched.length).toBeGreaterThan(2)
    let left = untouched
    for (let workMs = 60; left.length === untouched.length; workMs += 15) {
      expect(left).toEqual(untouched)
      await runUntil({ PATH: process.env['PATH'] ?? '', ...world.env }, ['sweep', '--repair'], workMs)
      left = problems()
    }
    expect(left.every((problem) => problem.endsWith(NO_BODY))).toBe(true)
    await world.sweep()
    expect(problems()).toEqual([])
    expect(differences(world.dump(), whole)).toEqual([])
  })

  it('is of the whole memory', () => {
    for (const other of ['--dry-run', '--spool', '--flavor=claude'])
      expect(cli(world.env, 'sweep', '--repair', other).code).toBe(2)
  })
})
