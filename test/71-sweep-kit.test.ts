// Sessions of agents on the kit, swept while they grow, in any order and in several numbers of steps: the memory is the one
// that a single sweep makes.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ADAPTERS } from '../src/adapters/index.ts'
import { FLAG, ROLES } from '../src/store/rows.ts'
import { filesBelow } from './setup/collect.ts'
import { type Dump, differences } from './setup/dump.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { randomFrom } from './setup/growing.ts'
import { IS_LONG, seedOf } from './setup/long.ts'
import { World } from './setup/sweeping.ts'

const CLIENTS = [
  'cline',
  'continue',
  'copilot',
  'droid',
  'gemini',
  'goose',
  'kilo',
  'kimi',
  'letta',
  'omp',
  'opencode',
  'pi',
  'pi-0.87',
  'qwen',
]
/** Where several files, or several runs, make up what is known. */
const CHOSEN = /^(?:fork|resume|subagent|kill_resume)$/
const STEPS = IS_LONG ? [1, 2, 3, 5, 8] : [2, 5]

type Tree = ReadonlyMap<string, Buffer>

const treeOf = (home: string): Tree =>
  new Map(
    filesBelow(home)
      .filter((path) => !path.endsWith('expected.json'))
      .map((path) => [relative(home, path), readFileSync(path)]),
  )

/** A log grows at its end, and so does that of a database, of which any beginning is what it was once. */
const isGrowing = (name: string): boolean =>
  name.endsWith('-wal') || (name.endsWith('.jsonl') && ADAPTERS.some(({ claim }) => claim(name, true)))

/** How much of a file is there: of one that is written anew as a whole, nothing or all. */
function* growth(files: Tree, steps: number, random: () => number): Generator<[name: string, bytes: Buffer]> {
  for (let step = 1; step <= steps; step++)
    for (const [name, bytes] of [...files].sort(() => random() - 0.5)) {
      if (isGrowing(name)) yield [name, bytes.subarray(0, Math.ceil((bytes.length * step) / steps))]
      else if (step === steps || random() < 0.5) yield [name, bytes]
    }
}

async function swept(contents: Iterable<[string, Buffer]>, isTime: () => boolean): Promise<Dump> {
  const world = new World()
  try {
    for (const [name, bytes] of contents) {
      const path = join(world.home, name)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, bytes)
      if (isTime()) await world.sweep()
    }
    await world.sweep()
    expect(world.verify().problems).toEqual([])
    return settled(world.dump())
  } finally {
    world.remove()
  }
}

/**
 * Which of two files was read first decides the numbers of events, and nothing else. In a database the end of a call comes
 * between rows that are known: it is numbered when it is read, behind its call, and moves no other.
 */
function settled(dump: Dump): Dump {
  const files = new Map<unknown, number>()
  for (const { session_uid: uid } of dump.sources) files.set(uid, (files.get(uid) ?? 0) + 1)
  const inDatabases = new Set(
    dump.sources.filter(({ path }) => /\.db$/.test(String(path))).map(({ flavor }) => String(flavor)),
  )
  const events = Object.entries(dump.events).map(([uid, rows]) => {
    const isInDatabase = inDatabases.has(uid.slice(0, uid.indexOf(':')))
    let place = 0
    const placed = Object.entries(rows).map(([key, row]) => {
      if ((files.get(uid) ?? 0) > 1) return [key, { ...row, seq: null }] as const
      if (!isInDatabase) return [key, row] as const
      const isEnd = row['role'] === ROLES.indexOf('tool')
      if (isEnd) expect(row['seq']).toBeGreaterThan(rows[row['parent'] as string]?.['seq'] as number)
      return [key, { ...row, seq: isEnd ? null : place++ }] as const
    })
    return [uid, Object.fromEntries(placed.filter(([, row]) => !((row['flags'] as number) & FLAG.repeated)))]
  })
  return { ...dump, events: Object.fromEntries(events) as Dump['events'] }
}

it.each([
  // The origin is first taken for a copy of its own forks, one of which names its origin late.
  ['kimi', 'fork', 5, 1979770809],
  // Of two calls made at once the first ends after the second was read.
  ['kilo', 'tools', 8, 1979751229],
])('%s, %s in %i steps, seed %i', async (client, scenario, steps, seed) => {
  const files = treeOf(join(unpackAgent(client), scenario))
  const random = randomFrom(seed)
  const inSteps = await swept(growth(files, steps, random), () => random() < 0.4)
  expect(differences(inSteps, await swept(files, () => false))).toEqual([])
})

describe.each(CLIENTS)('%s', (client) => {
  it('swept in steps and in any order', async () => {
    const all = unpackAgent(client)
    const scenarios = readdirSync(all).filter((name) => IS_LONG || CHOSEN.test(name))
    const seed = seedOf(9)
    for (const scenario of scenarios) {
      const files = treeOf(join(all, scenario))
      const atOnce = await swept(files, () => false)
      for (const steps of STEPS) {
        const random = randomFrom(seed + steps)
        const inSteps = await swept(growth(files, steps, random), () => random() < 0.4)
        expect(differences(inSteps, atOnce), `${scenario} in ${steps} steps, seed ${seed}`).toEqual([])
      }
    }
  })
})
