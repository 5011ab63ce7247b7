// What must not go unasked: sessions that only we still have, whatever makes them old, and what a wrong clock would drop.

import { spawnSync } from 'node:child_process'
import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ADAPTERS } from '../src/adapters/index.ts'
import { sessionEvents } from '../src/query/events.ts'
import type { RetentionEvent } from '../src/retention/apply.ts'
import { allocatedBytes } from '../src/retention/usage.ts'
import { readSpoolState } from '../src/sources/spool.ts'
import { databasesOf } from '../src/store/databases.ts'
import { compact } from '../src/store/erase.ts'
import { isHere as hasProgram } from './setup/programs.ts'
import { type MadeSession, Memory, makeSession, writeLines } from './setup/raw-memory.ts'
import { cli, cliPath } from './setup/sweeping.ts'

const DAY = 86_400_000
let memory: Memory
beforeEach(() => {
  memory = new Memory()
})
afterEach(() => {
  vi.useRealTimers()
  memory.remove()
})

const isHere = (one: MadeSession): boolean =>
  memory.with((store) => [...sessionEvents(store.reader, one.uid)].length > 0)
const sweep = (onEvent?: (event: RetentionEvent) => void) =>
  memory.sweep({ adapters: ADAPTERS, ...(onEvent ? { onEvent } : {}) })

/** A cap as a share of what the sessions occupy, without ballast and what lies idle. */
const capAt = (share: number): void => {
  memory.with((store) => compact(databasesOf(store.reader).cache))
  rmSync(join(memory.cache, 'ballast'), { force: true })
  memory.caps({ raw_soft_cap_bytes: Math.floor(allocatedBytes(memory.cache) * share) })
}

/** Six sessions, all analyzed; the first two are deleted by their agent. */
async function twoOfSix(): Promise<{ sole: MadeSession[]; again: MadeSession[]; made: MadeSession[] }> {
  const made = await memory.fill(6, 24)
  await sweep()
  memory.analyze(made)
  const [sole, again] = [made.slice(0, 2), made.slice(2)]
  for (const one of sole) rmSync(one.path)
  return { sole, again, made }
}

describe('an only copy', () => {
  it('stays while anything that can be read again is left', async () => {
    const { sole, again } = await twoOfSix()
    capAt(0.7)
    const events: string[] = []
    const { steps } = await memory.retain({ onEvent: (event) => events.push(event.name) })
    expect(steps.length).toBeGreaterThan(0)
    for (const step of steps) expect(again.map((one) => one.uid)).toContain(step.uid)
    expect(sole.map(isHere)).toEqual([true, true])
    expect(events).toEqual([])
  })

  it('is known as one although its file went after the last sweep', async () => {
    const { sole, again } = await twoOfSix()
    // No sweep has seen it yet.
    memory.caps({ raw_soft_cap_bytes: 1, raw_hard_cap_bytes: '1GiB' })
    const dry = JSON.parse(cli(memory.env, 'evict', '--dry-run', '--json').stdout)
    expect(dry.steps.map((step: { session_uid: string }) => step.session_uid)).toEqual(
      [...again, ...sole].map((one) => one.uid),
    )
    expect(dry.steps.map((step: { is_sole_copy: boolean }) => step.is_sole_copy)).toEqual([
      ...again.map(() => false),
      ...sole.map(() => true),
    ])
  })

  it('is one also where only one of its files is gone', async () => {
    const home = memory.env['HOME'] as string
    const [one, other] = [makeSession(home, 4), makeSession(home, 4)]
    writeLines(one, 0, 8)
    writeLines(other)
    const second = { ...one, path: one.path.replace(`${join('projects', '-w')}`, join('projects', '-v')) }
    mkdirSync(dirname(second.path), { recursive: true })
    writeLines(second, 8)
    await sweep()
    memory.analyze([one, other])
    rmSync(one.path)
    memory.caps({ raw_max_age_days: 0 })
    const { steps } = await memory.retain({ now: Date.now() + 1000 })
    expect(steps.map((step) => step.uid)).toEqual([other.uid])
  })

  it('goes by age only where its owner says so', async () => {
    const { sole, again } = await twoOfSix()
    await sweep()
    const now = Date.now() + 60 * DAY
    memory.caps({ raw_max_age_days: 45 })
    const first = await memory.retain({ now })
    expect(first.steps.map((step) => step.uid).sort()).toEqual(again.map((one) => one.uid).sort())
    expect(sole.map(isHere)).toEqual([true, true])
    memory.caps({ raw_max_age_days: 45, sole_copies: 'age' })
    const second = await memory.retain({ now, isAsked: true })
    expect(second.steps.map((step) => [step.uid, step.reason, step.isSoleCopy]).sort()).toEqual(
      sole.map((one) => [one.uid, 'age', true]).sort(),
    )
  })

  it('goes for room when nothing else is left: said by the first sweep, done by one a day later', async () => {
    const { sole } = await twoOfSix()
    memory.caps({ raw_soft_cap_bytes: 1, raw_hard_cap_bytes: '1GiB' })
    const events: RetentionEvent[] = []
    expect((await sweep((event) => events.push(event))).retention?.steps).toHaveLength(4)
    expect(events.map((event) => event.name)).toEqual(['session_memory.only_copies'])
    expect(events[0]?.bytes).toBeGreaterThan(10_000)
    expect(sole.map(isHere)).toEqual([true, true])
    // Nor by the next one, a minute later.
    expect((await sweep()).retention?.steps).toEqual([])
    expect((await memory.retain({ now: Date.now() + 23 * 3_600_000 })).steps).toEqual([])
    const { steps } = await memory.retain({ now: Date.now() + 25 * 3_600_000 })
    expect(steps.map((step) => step.uid).sort()).toEqual(sole.map((one) => one.uid).sort())
    expect(
      memory.rows("SELECT count(*) AS n FROM events_log WHERE name = 'session_memory.only_copies'"),
    ).toEqual([{ n: 1 }])
  })

  it('goes at once above the hard cap, and that is said before', async () => {
    const { sole } = await twoOfSix()
    memory.caps({ raw_soft_cap_bytes: 1, raw_hard_cap_bytes: 1 })
    const seen: [string, boolean][] = []
    await sweep((event) => seen.push([event.name, isHere(sole[0] as MadeSession)]))
    expect(seen[0]).toEqual(['session_memory.only_copies', true])
    expect(sole.map(isHere)).toEqual([false, false])
  })

  it('is named by evict --dry-run, with title, date and size, and said to be the only copy', async () => {
    const [one] = (await twoOfSix()).sole as [MadeSession]
    const title = { type: 'custom-title', customTitle: 'Mend the parser', sessionId: one.uid.slice(7) }
    writeLines(one)
    appendFileSync(one.path, `${JSON.stringify(title)}\n`)
    await sweep()
    rmSync(one.path)
    memory.caps({ raw_soft_cap_bytes: 1, raw_hard_cap_bytes: '1GiB' })
    const { stdout } = cli(memory.env, 'evict', '--dry-run')
    const line = stdout.split('\n').find((text) => text.includes(one.uid))
    expect(line).toMatch(/ {2}2026-\d\d-\d\d, [\d.]+ KB, only copy {2}"Mend the parser"$/)
    expect(stdout.match(/only copy {2}"/g)).toHaveLength(2)
    expect(stdout).toContain('2 only copies among them')
    const { steps } = JSON.parse(cli(memory.env, 'evict', '--dry-run', '--json').stdout)
    expect(steps.find((step: { session_uid: string }) => step.session_uid === one.uid)).toMatchObject({
      title: 'Mend the parser',
      last_at: expect.stringMatching(/^2026-/),
      is_sole_copy: true,
    })
  })
})

describe('the age of a session', () => {
  it('does not begin anew because its file was touched and read again', async () => {
    const [touched, used] = (await memory.fill(2, 2)) as [MadeSession, MadeSession]
    await sweep()
    // 44 days later one goes on, and all is read again by a newer program.
    const later = Date.now() + 44 * DAY
    vi.useFakeTimers({ toFake: ['Date'], now: later })
    for (const one of [touched, used]) utimesSync(one.path, new Date(later), new Date(later))
    const last = JSON.parse(used.lines.at(-1) as string)
    const more = { ...last, uuid: 'a'.repeat(36), timestamp: new Date(later).toISOString() }
    appendFileSync(used.path, `${JSON.stringify(more)}\n`)
    await memory.sweep({ adapters: ADAPTERS, full: true })
    memory.analyze([touched, used])
    const at = async (days: number): Promise<string[]> =>
      (await memory.retain({ now: later + days * DAY })).steps.map((step) => step.uid)
    // What was asked for again stays for a week.
    expect(await at(6)).toEqual([])
    expect(await at(8)).toEqual([touched.uid])
    expect(await at(44)).toEqual([])
    expect(await at(46)).toEqual([used.uid])
  })
})

describe('a clock ten years ahead', () => {
  it('for one sweep, or several, makes nothing old', async () => {
    const made = await memory.fill(3, 2)
    await sweep()
    const before = readSpoolState(memory.home).clockAt
    expect(before).toBeGreaterThan(0)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3653 * DAY })
    for (let time = 0; time < 2; time++) {
      const events: RetentionEvent[] = []
      const { retention } = await sweep((event) => events.push(event))
      expect(retention?.steps).toEqual([])
      expect(events).toMatchObject([{ name: 'session_memory.clock_ahead', bytes: expect.any(Number) }])
      expect(readSpoolState(memory.home).clockAt).toBe(before)
      vi.setSystemTime(Date.now() + 60_000)
    }
    expect(made.map(isHere)).toEqual([true, true, true])
    vi.useRealTimers()
    await sweep()
    expect(made.map(isHere)).toEqual([true, true, true])
    expect(readSpoolState(memory.home).clockAt).toBeGreaterThan(before)
  })

  it('is believed once a file bears that time, and keeps the budget all the while', async () => {
    const made = await memory.fill(6, 24)
    memory.analyze(made)
    capAt(0.7)
    const now = Date.now() + 3653 * DAY
    const { steps } = await memory.retain({ now, lastSweepAt: Date.now() })
    expect(new Set(steps.map((step) => step.reason))).toEqual(new Set(['soft_cap']))
    expect(made.map(isHere)).toContain(true)
    vi.useFakeTimers({ toFake: ['Date'], now })
    memory.caps({})
    const newer = makeSession(memory.env['HOME'] as string, 2)
    writeLines(newer)
    utimesSync(newer.path, new Date(), new Date())
    const done = await sweep()
    expect(done.retention?.steps.length).toBeGreaterThan(0)
    expect(made.map(isHere)).not.toContain(true)
  })
})

describe('forget', () => {
  it('says what would go, and does nothing, where nobody can be asked', async () => {
    const { sole, again } = await twoOfSix()
    const [gone, other] = [sole[0] as MadeSession, again[0] as MadeSession]
    const refused = cli(memory.env, 'forget', gone.uid)
    expect(refused.code).toBe(2)
    expect(refused.stdout).toMatch(`would forget ${gone.uid}  2026-`)
    expect(refused.stdout).toMatch(
      /96 events[\s\S]*raw: [\d.]+ KB; and its digest, tokens, lineage\n {2}only copy/,
    )
    expect(refused.stderr).toContain(`nothing was removed\ntry: recollect forget ${gone.uid} --yes`)
    expect(cli(memory.env, 'forget', other.uid).stdout).toContain(`own file stays: ${other.path}`)
    const document = JSON.parse(cli(memory.env, 'forget', gone.uid, '--json').stdout)
    expect(document).toMatchObject({
      session_uid: gone.uid,
      forgotten: false,
      would_go: { events: 96, is_sole_copy: true, is_pinned: false, decisions: 0 },
    })
    expect([gone, other].map(isHere)).toEqual([true, true])
  })

  it.skipIf(!hasProgram('script')).each([
    ['n', false],
    ['', false],
    ['y', true],
  ])('asks on a terminal (script): %j', async (answer, isGone) => {
    const [one] = (await memory.fill(1, 2)) as [MadeSession]
    const typed = `"${process.execPath}" "${cliPath}" forget ${one.uid}`
    const { stdout } = spawnSync('script', ['-qec', typed, '/dev/null'], {
      env: { ...memory.env, PATH: process.env['PATH'] ?? '', SHELL: '/bin/sh', TERM: 'dumb' },
      input: `${answer}\n`,
      encoding: 'utf8',
    })
    expect(stdout).toContain('Forget it, for good? [y/N]')
    expect(stdout.includes('is forgotten')).toBe(isGone)
    expect(isHere(one)).toBe(!isGone)
  })

  it('leaves no model behind that nothing else used', async () => {
    const home = memory.env['HOME'] as string
    const [one, other] = [makeSession(home, 2), makeSession(home, 2)]
    const [own, shared] = ['claude-opus-4-5-qzwxvown', 'claude-opus-4-5-qzwxvshared']
    const named = (line: string, model: string): string => line.replace('"model":"m"', `"model":"${model}"`)
    one.lines = one.lines.map((line, at) => named(line, at < 4 ? own : shared))
    other.lines = other.lines.map((line) => named(line, shared))
    for (const made of [one, other]) writeLines(made)
    await sweep()
    const found = (name: string): boolean =>
      readdirSync(memory.home, { recursive: true, withFileTypes: true }).some(
        (entry) => entry.isFile() && readFileSync(join(entry.parentPath, entry.name)).includes(name),
      )
    expect([found(own), found(shared)]).toEqual([true, true])
    expect(memory.rows('SELECT name FROM model_prices')).not.toEqual([])
    expect(cli(memory.env, 'forget', one.uid, '--yes').code).toBe(0)
    expect([found(own), found(shared)]).toEqual([false, true])
    expect(memory.rows('SELECT model FROM ledger_models')).toEqual([{ model: shared }])
    // And prices are known again after the next analysis.
    const more = makeSession(home, 1)
    more.lines = more.lines.map((line) => named(line, shared))
    writeLines(more)
    await sweep()
    expect(memory.rows('SELECT name FROM model_prices')).toHaveLength(1)
    expect(memory.problems()).toEqual([])
  })
})
