// Files that grow while they are swept: whatever the steps, the memory ends up the same as after one sweep of the whole.
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { ADAPTERS } from '../src/adapters/index.ts'
import { EntireTranscript, SessionHistory, TranscriptWriter } from '../src/record/index.ts'
import { FLAG } from '../src/store/rows.ts'
import { filesBelow } from './setup/collect.ts'
import { type Dump, differences, isRepetition, loose } from './setup/dump.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { growingTree, randomFrom } from './setup/growing.ts'
import { IS_LONG } from './setup/long.ts'
import { temporary, World } from './setup/sweeping.ts'

/** Many steps where it matters which session came first, fewer elsewhere. */
const stepsOf = (scenario: string): number => (/fork|rewind|subagent|compact/.test(scenario) ? 20 : 5)
/** Of all the scenarios of several clients at once. */
const STEPS_TOGETHER = 5

/**
 * Where several files make up a session, the order in which events were first seen may differ; where the format has no
 * links, parents follow that order. Then both must only be sound.
 */
function comparable(dump: Dump): Dump {
  const fileCount = new Map<unknown, number>()
  for (const { session_uid: uid } of dump.sources) fileCount.set(uid, (fileCount.get(uid) ?? 0) + 1)
  const events: Dump['events'] = {}
  for (const [uid, rows] of Object.entries(dump.events)) {
    expectSound(rows)
    const isLoose = uid.startsWith('grok:')
    const isOne = (fileCount.get(uid) ?? 0) <= 1
    // What stood in until a better file told it is there only if there was a sweep before.
    const told = Object.entries(rows).filter(([, row]) => !((row['flags'] as number) & FLAG.repeated))
    events[uid] = Object.fromEntries(
      told.map(([key, row]) => [key, isLoose ? loose(row) : isOne ? row : { ...row, seq: null }]),
    )
  }
  const sessions = dump.sessions.map(({ event_count: _, ...row }) => row)
  const usage = dump.usage.filter((row) => !isRepetition(row))
  return { ...dump, events, sessions, usage }
}

/** Numbers without a hole, parents that are there and no circle. */
function expectSound(rows: Record<string, Record<string, unknown>>): void {
  const seqs = Object.values(rows).map((row) => row['seq'] as number)
  expect(seqs.sort((a, b) => a - b)).toEqual(seqs.map((_, at) => at + 1))
  const sound = new Set<string | null>([null])
  for (const start of Object.keys(rows)) {
    const seen = new Set<string>()
    let key: string | null = start
    for (; !sound.has(key); key = rows[key as string]?.['parent'] as string | null) {
      // Not asked of every event: an expectation takes longer than a look.
      if (seen.has(key as string) || rows[key as string] === undefined)
        expect.fail(`a circle of parents, or one that is not there: ${key}`)
      seen.add(key as string)
    }
    for (const one of seen) sound.add(one)
  }
}

/** Where agents' files lie below a home, or below one of several in a directory; of the others, where they say. */
const PLACES: Record<string, string> = {
  claude: '.claude/projects',
  codex: '.codex',
  grok: '.grok/sessions',
  entire: 'project',
}

/** A world that looks for the files of all the homes in `from`, and for formats which have no home of their own. */
function newWorld(from: string): World {
  const world = new World()
  const homes = ['', ...readdirSync(from)]
  const placesOf = ({ flavor, roots }: (typeof ADAPTERS)[number]): string[] => {
    const known = PLACES[flavor]
    return known === undefined ? roots({ HOME: '/' }).map((root) => relative('/', root)) : [known]
  }
  world.configure(
    ADAPTERS.map((adapter) => {
      const roots = homes.flatMap((home) => placesOf(adapter).map((place) => join(home, place)))
      const here = roots.filter((root) => existsSync(join(from, root))).map((root) => join(world.home, root))
      return `[sources.${adapter.flavor}]\nroots = ${JSON.stringify(here)}\n`
    }).join(''),
  )
  return world
}

async function sweepAtOnce(home: string): Promise<Dump> {
  const world = newWorld(home)
  growingTree(home, world.home, () => 0).grow(1)
  await world.sweep()
  const dump = world.dump()
  world.remove()
  return dump
}

async function sweepInSteps(home: string, steps: number, seed: number): Promise<Dump> {
  const world = newWorld(home)
  const tree = growingTree(home, world.home, randomFrom(seed))
  for (let step = 0; step < steps; step++) {
    await world.sweep()
    tree.grow((step + 1) / steps)
  }
  await world.sweep()
  const dump = world.dump()
  expect((await world.sweep()).counts).toMatchObject({ new: 0, appended: 0, changed: 0, missing: 0 })
  expect(differences(world.dump(), dump)).toEqual([])
  expect(world.verify().problems).toEqual([])
  world.remove()
  return dump
}

const CLIENTS = readdirSync(join(import.meta.dirname, 'fixtures', 'agents'))
  .filter((name) => name.endsWith('.tgz'))
  .map((name) => name.slice(0, -'.tgz'.length))

async function expectSame(home: string, steps: number): Promise<void> {
  const seed = Number(process.env['RECOLLECT_TEST_SEED'] ?? 7)
  const whole = comparable(await sweepAtOnce(home))
  expect(whole.sessions).not.toEqual([])
  expect(differences(comparable(await sweepInSteps(home, steps, seed)), whole), `seed ${seed}`).toEqual([])
}

/** The homes of some clients, each with answers of its own: the server that stood in for the model counted anew in each. */
function unpackApart(clients: readonly string[]): string {
  const together = temporary('clients')
  for (const client of clients) {
    const directory = unpackAgent(client)
    for (const path of filesBelow(directory).filter((file) => /\.jsonl?$/.test(file))) {
      const [scenario] = relative(directory, path).split(sep)
      writeFileSync(
        path,
        readFileSync(path, 'latin1').replaceAll('_mock', `_${client}_${scenario}`),
        'latin1',
      )
    }
    for (const scenario of readdirSync(directory))
      renameSync(join(directory, scenario), join(together, `${client}-${scenario}`))
  }
  return together
}

/** Versions of one client, and all clients on the kit. */
const groupOf = (client: string): string => /^(?:claude|codex|grok)/.exec(client)?.[0] ?? 'kit'

// A memory of each scenario is for the long run: one of many tells the same, with many sessions that grow at a time.
if (!IS_LONG)
  test.each([...new Set(CLIENTS.map(groupOf))])('%s', async (group) => {
    const clients = CLIENTS.filter((client) => groupOf(client) === group)
    await expectSame(unpackApart(clients), STEPS_TOGETHER)
  })
else
  describe.each(CLIENTS)('%s', (client) => {
    const directory = unpackAgent(client)
    test.each(readdirSync(directory).sort())('%s', async (scenario) => {
      await expectSame(join(directory, scenario), stepsOf(scenario))
    })
  })

describe('our own formats', () => {
  let home: string
  beforeAll(async () => {
    home = temporary('own')
    mkdirSync(join(home, 'project'))
    const turns = new TranscriptWriter(join(home, '.homeagent'), { flush: 'os' })
    const history = new SessionHistory(join(home, '.ollim-bot'), { flush: 'os' })
    const entire = new EntireTranscript({ cwd: join(home, 'project'), version: '1', flush: 'os' })
    for (let at = 0; at < 30; at++) {
      const call = { id: `c${at}`, name: 'bash', args: { command: `ls ${at}` } }
      await turns.append('helper', `s${at % 2}`, {
        turnId: `t${at}`,
        role: at % 2 ? 'user' : 'assistant',
        content: `turn ${at}`,
        ...(at % 3 ? {} : { toolCalls: [call], toolResults: [{ callId: call.id, result: 'ok' }] }),
        metadata: { model: 'm', tokens: { prompt: at, completion: 2 } },
        ts: 1_794_000_000_000 + at,
      })
      await history.log({
        session_id: `session-${at}`,
        event: at === 0 ? 'created' : 'compacted',
        parent_session_id: at === 0 ? null : `session-${at - 1}`,
      })
      if (at % 2) await entire.user(`prompt ${at}`)
      else await entire.assistant([{ type: 'text', text: `answer ${at}` }])
    }
    await turns.close()
    await history.idle()
    await entire.close()
  })

  test.each(IS_LONG ? [1, 2, 3, 4, 5] : [1])('seed %i', async (seed) => {
    const whole = await sweepAtOnce(home)
    expect(new Set(whole.sources.map((one) => one['flavor']))).toEqual(
      new Set(['turns', 'lineage', 'entire']),
    )
    expect(differences(comparable(await sweepInSteps(home, 12, seed)), comparable(whole))).toEqual([])
  })
})
