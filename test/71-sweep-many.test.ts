// Very many small files: they are planned and read in slices, with the same result, and memory does not grow with them.
import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ADAPTERS } from '../src/adapters/index.ts'
import { Config } from '../src/config.ts'
import { openStore } from '../src/store/sqlite.ts'
import { Gone } from '../src/sweep/gone.ts'
import { plans } from '../src/sweep/plan.ts'
import { newReport } from '../src/sweep/report.ts'
import { differences } from './setup/dump.ts'
import { World } from './setup/sweeping.ts'

const idOf = (at: number): string => `${at.toString(16).padStart(8, '0')}-4444-4444-8444-444444444444`

function homeOf(count: number): World {
  const world = new World()
  const directory = join(world.home, '.claude', 'projects', '-w')
  mkdirSync(directory, { recursive: true })
  for (let at = 0; at < count; at++) writeFileSync(pathOf(world, at), lineOf(at))
  return world
}

const pathOf = (world: World, at: number): string =>
  join(world.home, '.claude', 'projects', '-w', `${idOf(at)}.jsonl`)

const lineOf = (at: number): string =>
  `${JSON.stringify({
    type: 'user',
    uuid: `u${at}`,
    parentUuid: null,
    sessionId: idOf(at),
    timestamp: '2026-11-01T00:00:00.000Z',
    message: { role: 'user', content: `hello ${at}` },
  })}\n`

it('slices give what one sweep gives; what moved, is gone or came back is seen across them', async () => {
  const world = homeOf(50)
  const first = await world.sweep({ slice: 7 })
  expect([first.counts.new, first.sourceCount, first.sessions.size]).toEqual([50, 50, 50])
  const whole = new World(world.home)
  await whole.sweep()
  expect(differences(world.dump().events, whole.dump().events)).toEqual([])
  expect((await world.sweep({ slice: 7 })).counts).toMatchObject({ new: 0, unchanged: 50, missing: 0 })
  const kept = readFileSync(pathOf(world, 3))
  rmSync(pathOf(world, 3))
  rmSync(pathOf(world, 40))
  expect((await world.sweep({ slice: 7 })).counts).toMatchObject({ unchanged: 48, missing: 2 })
  writeFileSync(pathOf(world, 3), kept)
  expect((await world.sweep({ slice: 7 })).counts).toMatchObject({ unchanged: 48, changed: 1, missing: 0 })
  const elsewhere = join(world.home, '.claude', 'projects', '-v')
  mkdirSync(elsewhere)
  renameSync(pathOf(world, 45), join(elsewhere, `${idOf(45)}.jsonl`))
  expect((await world.sweep({ slice: 7 })).counts).toMatchObject({ moved: 1, new: 0, missing: 0 })
  expect(world.verify().problems).toEqual([])
})

it('plans 5,000 sources a slice at a time', () => {
  const world = homeOf(5000)
  const nothing = { mark: () => undefined, marks: () => [], marksOf: () => [], cursor: () => undefined }
  const report = newReport(true)
  const scope = { isFull: true, seen: [], named: [] }
  const options = { config: new Config({ env: world.env }), adapters: ADAPTERS, env: world.env }
  const store = openStore(world.paths)
  const gone = new Gone(store.read())
  const sizes: number[] = []
  for (const one of plans(nothing, options, scope, gone, report, 1000)) sizes.push(one.tasks.length)
  store.close()
  expect(sizes).toEqual([1000, 1000, 1000, 1000, 1000, 0])
  expect(report.counts.new).toBe(5000)
})

it('counts problems, and keeps the first thousand', async () => {
  const world = homeOf(1)
  for (let at = 1; at <= 1200; at++) symlinkSync(pathOf(world, 0), pathOf(world, at))
  const report = await world.sweep()
  expect([report.problemCount, report.problems.length]).toEqual([1200, 1000])
})
