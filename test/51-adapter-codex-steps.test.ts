// Reading in any number of steps gives what reading at once gives; and nothing a file may hold makes the reader throw.
import { appendFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Item, Position } from '../src/adapters/adapter.ts'
import { codex } from '../src/adapters/codex/index.ts'
import { filesBelow } from './setup/collect.ts'
import { unpackAgent } from './setup/fixtures.ts'
import fc from './setup/properties.ts'
import { eventsOf, itemsOf, jsonl, newHome, writeRollout, zstdFrame } from './setup/rollout.ts'
import { held } from './setup/steps.ts'

const THREAD = '01999999-0000-7000-8000-000000000001'
const NAME = `rollout-2026-01-02T03-04-05-${THREAD}.jsonl`

const SCENARIOS = [
  'codex/tools',
  'codex-codemode/subagent_fork',
  'codex-codemode/compact_auto',
  'codex-0.80/compact_auto',
  'codex-0.45/tools',
]
const unpacked = new Map<string, string>()

function rolloutsOf(scenario: string): string[] {
  const [client = '', name = ''] = scenario.split('/')
  const directory = unpacked.get(client) ?? unpackAgent(client)
  unpacked.set(client, directory)
  expect(readdirSync(directory)).toContain(name)
  return filesBelow(join(directory, name)).filter((path) => codex.claim(path))
}

const ROLLOUTS = SCENARIOS.flatMap(rolloutsOf)

/** Items and the last position, as a sweep that stores the cursor as JSON would get them. */
function step(path: string, from: Position | null): { items: Item[]; position: Position | null } {
  const items: Item[] = []
  let position = from
  for (const item of codex.read({ path }, from)) {
    if (item.type === 'position') position = JSON.parse(JSON.stringify(item.position)) as Position
    else if (!(item.type === 'gap' && item.pending)) items.push(structuredClone(item))
  }
  return { items, position }
}

test('cut at random bytes', () => {
  const home = newHome()
  let run = 0
  fc.assert(
    fc.property(
      fc.constantFrom(...ROLLOUTS),
      fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 6 }),
      (rollout, fractions) => {
        const bytes = readFileSync(rollout)
        const cuts = [...fractions.map((one) => Math.floor(one * bytes.length)), bytes.length].sort(
          (a, b) => a - b,
        )
        const path = writeRollout(home, `${++run}/${NAME}`, '')
        const items: Item[] = []
        let position: Position | null = null
        let written = 0
        for (const cut of cuts) {
          appendFileSync(path, bytes.subarray(written, cut))
          written = cut
          const read = step(path, position)
          items.push(...read.items)
          position = read.position
        }
        expect(held(items)).toEqual(held(step(path, null).items))
      },
    ),
    { numRuns: 40 },
  )
})

test('stopped after any line, plain and compressed', () => {
  const home = newHome()
  for (const [at, rollout] of ROLLOUTS.entries()) {
    const folded = writeRollout(home, `${at}/${NAME}.zst`, zstdFrame(readFileSync(rollout)))
    for (const path of [rollout, folded]) {
      const whole = step(path, null).items
      const before: Item[] = []
      let lineCount = 0
      for (const item of codex.read({ path }, null)) {
        if (item.type !== 'position') before.push(structuredClone(item))
        else if (lineCount++ % 7 === 3) {
          const stopped = JSON.parse(JSON.stringify(item.position)) as Position
          expect([...before, ...step(path, stopped).items]).toEqual(whole)
        }
      }
      expect(lineCount).toBeGreaterThan(20)
    }
  }
})

const RECORDS = ROLLOUTS.flatMap((path) => readFileSync(path, 'utf8').split('\n').filter(Boolean))

/** Record types of which a telling may be the second one, or a count that did not move. */
const MAY_BE_SILENT =
  /"type":"(?:message|reasoning|user_message|agent_message|agent_reasoning|item_completed|token_count|turn_context)"|"record_type"/

/** Replaces one random value inside a record. */
function mutated(line: string, seed: number, value: unknown): unknown {
  const record = JSON.parse(line) as unknown
  const spots: [Record<string, unknown>, string][] = []
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    for (const key of Object.keys(node)) {
      spots.push([node as Record<string, unknown>, key])
      visit((node as Record<string, unknown>)[key])
    }
  }
  visit(record)
  const spot = spots[seed % spots.length]
  if (spot)
    Object.defineProperty(spot[0], spot[1], { value, enumerable: true, writable: true, configurable: true })
  return record
}

const odd = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    [],
    {},
    '',
    0,
    -1,
    1e308,
    true,
    [null],
    [[]],
    JSON.parse('{"__proto__":{"x":1}}'),
  ),
  fc.jsonValue(),
)

test('mutated records never throw, and none is lost', () => {
  const path = writeRollout(newHome(), NAME, '')
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.constantFrom(...RECORDS), fc.nat(), odd), { minLength: 1, maxLength: 12 }),
      (changes) => {
        const records = changes.map(([line, seed, value]) => mutated(line, seed, value))
        writeFileSync(path, jsonl(records))
        const items = itemsOf(path)
        const events = eventsOf(items)
        expect(new Set(events.map((event) => `${event.session} ${event.key}`)).size).toBe(events.length)
        const unsound = events.filter(
          (event) => typeof event.summary !== 'string' || JSON.stringify(event.payload) === undefined,
        )
        expect(unsound).toEqual([])
        for (const record of records) {
          writeFileSync(path, jsonl([record]))
          if (!MAY_BE_SILENT.test(JSON.stringify(record))) expect(itemsOf(path).length).toBeGreaterThan(0)
        }
      },
    ),
    { numRuns: 200 },
  )
})
