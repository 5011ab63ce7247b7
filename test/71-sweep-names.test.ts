// Names that people give to sessions in a file beside all of them: seen where no session's own file changed, in any order,
// and never more than a name.
import { appendFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { search } from '../src/query/search.ts'
import { openStore } from '../src/store/sqlite.ts'
import fc from './setup/properties.ts'
import { jsonl, nameOf, THREAD, writeRollout } from './setup/rollout.ts'
import { World } from './setup/sweeping.ts'

const OTHER = '01999999-0000-7000-8000-000000000002'
const worlds: World[] = []
afterEach(() => {
  for (const world of worlds.splice(0)) world.remove()
})

function newWorld(): World {
  const world = new World()
  worlds.push(world)
  mkdirSync(home(world), { recursive: true })
  return world
}

const home = (world: World): string => join(world.home, '.codex')
const index = (world: World): string => join(home(world), 'session_index.jsonl')
const name = (id: string, thread_name: unknown) => ({ id, thread_name, updated_at: '2026-01-02T03:04:05Z' })
const call = (world: World, ...names: unknown[]): void => appendFileSync(index(world), jsonl(names))

function rollout(world: World, thread: string): void {
  const timestamp = '2026-01-02T03:04:05Z'
  const meta = { id: thread, timestamp, cwd: '/w', originator: 'x', cli_version: '0.166.0', source: 'cli' }
  const records = [
    { timestamp, type: 'session_meta', payload: meta },
    { timestamp, type: 'event_msg', payload: { type: 'user_message', message: 'go' } },
  ]
  writeRollout(home(world), nameOf(thread), jsonl(records))
}

const titles = (world: World): unknown =>
  world.read(({ memory }) =>
    Object.fromEntries(
      (memory.prepare('SELECT native_session_id, title, title_by_person FROM sessions').all() as never[]).map(
        (row) => Object.values(row).slice(0, 2) as [string, string],
      ),
    ),
  )

describe('the index of thread names', () => {
  test('renames a session whose own file did not change; the last line counts', async () => {
    const world = newWorld()
    rollout(world, THREAD)
    rollout(world, OTHER)
    await world.sweep()
    expect(titles(world)).toEqual({ [THREAD]: null, [OTHER]: null })
    call(world, name(THREAD, 'first'), name(OTHER, 'other'), name(THREAD, ' second '))
    const report = await world.sweep()
    expect(report.roots.map((root) => root.path)).not.toContain(index(world))
    expect(report.counts).toMatchObject({ new: 1, unchanged: 2, appended: 0, changed: 0 })
    expect(titles(world)).toEqual({ [THREAD]: 'second', [OTHER]: 'other' })
    call(world, name(THREAD, 'third'))
    expect((await world.sweep()).counts).toMatchObject({ appended: 1, unchanged: 2 })
    expect(titles(world)).toEqual({ [THREAD]: 'third', [OTHER]: 'other' })
    expect((await world.sweep()).counts).toMatchObject({ appended: 0, unchanged: 3 })
    // Taken back, by the person who gave it.
    call(world, name(THREAD, ''))
    await world.sweep()
    expect(titles(world)).toEqual({ [THREAD]: null, [OTHER]: 'other' })
    expect(world.verify().problems).toEqual([])
  })

  test('brings no session into being, and is the source of none', async () => {
    const world = newWorld()
    call(world, name(THREAD, 'nobody'))
    await world.sweep()
    expect(titles(world)).toEqual({})
    rollout(world, THREAD)
    await world.sweep()
    expect(titles(world)).toEqual({ [THREAD]: 'nobody' })
    const [own] = world.read(({ memory }) =>
      memory.prepare('SELECT source_path, source_bytes FROM sessions').all(),
    ) as { source_path: string; source_bytes: number }[]
    expect(own?.source_path).toContain('rollout-')
    const [file] = world.read(({ cache }) =>
      cache.prepare("SELECT size FROM sources WHERE path LIKE '%rollout%'").all(),
    ) as { size: number }[]
    expect(own?.source_bytes).toBe(file?.size)
  })

  test.each([
    ['torn', (path: string) => appendFileSync(path, `{"id":"${THREAD}","thread_na`)],
    [
      'other lines',
      (path: string) => appendFileSync(path, jsonl([{ id: THREAD }, name(THREAD, 3), [], { x: 1 }])),
    ],
    ['no JSON at all', (path: string) => writeFileSync(path, '\0\0\0\n')],
    ['gone', (path: string) => rmSync(path)],
  ])('changes nothing where it is damaged: %s', async (_, damage) => {
    const world = newWorld()
    rollout(world, THREAD)
    call(world, name(THREAD, 'mine'))
    await world.sweep()
    damage(index(world))
    await world.sweep()
    expect(titles(world)).toEqual({ [THREAD]: 'mine' })
    expect(world.verify().problems).toEqual([])
  })

  test('gives the same names in any order of sweeps', async () => {
    const steps = fc.shuffledSubarray(['a', 'b', 'x', 'y', 'z'], { minLength: 5 })
    await fc.assert(
      fc.asyncProperty(
        steps,
        fc.array(fc.boolean(), { minLength: 5, maxLength: 5 }),
        async (order, sweeps) => {
          const world = newWorld()
          const last = order.filter((step) => 'xyz'.includes(step)).at(-1)
          for (const [at, step] of order.entries()) {
            if (step === 'a') rollout(world, THREAD)
            else if (step === 'b') rollout(world, OTHER)
            else call(world, name(THREAD, step), name(OTHER, `${step} too`))
            if (sweeps[at]) await world.sweep()
          }
          await world.sweep()
          expect(titles(world)).toEqual({ [THREAD]: last, [OTHER]: `${last} too` })
          world.remove()
        },
      ),
      { numRuns: 12 },
    )
  })

  test('is told in digests, also where the events are gone, and says nothing of what was forgotten', async () => {
    const world = newWorld()
    rollout(world, THREAD)
    rollout(world, OTHER)
    await world.sweep()
    const store = openStore(world.paths)
    store.archive.evict([{ uid: `codex:${THREAD}`, reason: 'age', bytes: 1 }], Date.now())
    store.archive.evict([{ uid: `codex:${OTHER}`, reason: 'forgotten', bytes: 1 }], Date.now())
    store.close()
    call(world, name(THREAD, 'zebra crossing'), name(OTHER, 'secret'))
    await world.sweep()
    expect(titles(world)).toEqual({ [THREAD]: 'zebra crossing' })
    const found = world.read((handle) => {
      const [row] = handle.memory.prepare('SELECT digest FROM digests').all() as { digest: string }[]
      return {
        title: (JSON.parse(row?.digest ?? '{}') as { title?: string }).title,
        hits: search(handle, 'zebra').map((one) => one.session_uid),
      }
    })
    expect(found).toEqual({ title: 'zebra crossing', hits: [`codex:${THREAD}`] })
  })
})
