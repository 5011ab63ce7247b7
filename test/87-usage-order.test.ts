// The dearest sessions are found by sums in SQL: they must be those that pricing every session to the last digit finds.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { dearestSessions, listByCost } from '../src/query/cost-order.ts'
import { shortIds } from '../src/query/short-ids.ts'
import { TimeZone } from '../src/query/timezone.ts'
import { type UsageQuestion, usageReport } from '../src/query/usage.ts'
import { databasesOf } from '../src/store/databases.ts'
import { storePaths } from '../src/store/reading.ts'
import { openStore } from '../src/store/sqlite.ts'
import type { Store } from '../src/store/store.ts'
import { readOverrides } from '../src/usage/overrides.ts'
import { loadPrices } from '../src/usage/prices.ts'
import { fill, type Response } from './setup/ledger.ts'
import fc from './setup/properties.ts'

/** A price that changed (of the list, and our own), one by the hour, one by the prompt, two that nobody knows. */
const MODELS = [
  'o3',
  'gpt-5.5',
  'deepseek-chat',
  'claude-opus-4-7',
  'gemini-2.5-pro',
  'mine',
  'unheard-of',
  null,
]
const OWN = {
  mine: [
    { input: 1, output: 2 },
    { input: 30, output: 60, since: '2026-06-01' },
  ],
}
const prices = await loadPrices(readOverrides(OWN, {}))
/** Without prices that changed. */
const listed = await loadPrices(readOverrides({}, {}))

async function withStore(work: (store: Store) => void | Promise<void>): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), 'recollect-order-'))
  const store = openStore(storePaths(home))
  try {
    await work(store)
  } finally {
    store.close()
    rmSync(home, { recursive: true, force: true })
  }
}

const token = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 400_000 }))
const response: fc.Arbitrary<Response> = fc.record({
  session: fc.integer({ min: 1, max: 9 }).map((n) => `${n % 2 ? 'a' : 'b'}:${n}`),
  at: fc.oneof(
    fc.constant(null),
    fc.integer({ min: Date.parse('2025-05-01'), max: Date.parse('2026-12-01') }),
  ),
  model: fc.constantFrom(...MODELS),
  input: token,
  cacheRead: token,
  output: token,
  reasoning: token,
})

describe('the dearest sessions', () => {
  it('are the first of all, whatever prices depend on; total and models are those of all', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(response, { minLength: 1, maxLength: 40 }),
        fc.integer({ min: 1, max: 10 }),
        fc.constantFrom<Partial<UsageQuestion>>(
          {},
          { flavor: 'a' },
          { model: 'mine' },
          { sinceAt: Date.parse('2026-06-15') },
        ),
        (responses, limit, narrowed) =>
          withStore((store) => {
            const handle = store.reader
            fill(databasesOf(handle).memory, responses)
            const question: UsageQuestion = {
              group: 'session',
              zone: new TimeZone('UTC'),
              prices,
              ...narrowed,
            }
            const { rows, ...rest } = usageReport(handle, question)
            expect(dearestSessions(handle, question, limit)).toEqual({ ...rest, rows: rows.slice(0, limit) })
          }),
      ),
      { numRuns: 60 },
    )
  })

  it('are listed before those that used nothing, which are listed only where there is room', async () => {
    await withStore((store) => {
      const handle = store.reader
      fill(databasesOf(handle).memory, [
        { session: 'a:1', at: '2026-11-15', input: 5 },
        { session: 'a:2', at: '2026-11-15', input: 9 },
        { session: 'a:3', at: '2026-11-15', input: 7, isCounted: false },
      ])
      databasesOf(handle).memory.exec('UPDATE sessions SET event_count = 1')
      const uids = (limit?: number): string[] =>
        listByCost(handle, prices, limit === undefined ? {} : { limit }).map((one) => one.session_uid)
      expect([uids(1), uids(2), uids(3), uids()]).toEqual([
        ['a:2'],
        ['a:2', 'a:1'],
        ['a:2', 'a:1', 'a:3'],
        ['a:2', 'a:1', 'a:3'],
      ])
    })
  })
})

describe('a response without a time', () => {
  it('has the price of today, and leaves those before a change of price theirs', async () => {
    await withStore((store) => {
      const handle = store.reader
      fill(databasesOf(handle).memory, [
        { at: '2026-01-01', model: 'mine', input: 1_000_000 },
        { at: null, model: 'mine', input: 1_000_000 },
      ])
      const { total } = usageReport(handle, { group: 'model', zone: new TimeZone('UTC'), prices })
      expect(total.cost_usd).toBe('31.00')
    })
  })
})

it.each([
  ['in its first quarter of an hour', '2026-01-05T00:05:00Z'],
  ['without a time', null],
])('a model that is cheaper by night is ordered as it is priced: %s', async (_, at) => {
  await withStore((store) => {
    const handle = store.reader
    // By night the first costs half as much; with the same price for both it would be the dearer one.
    fill(databasesOf(handle).memory, [
      { session: 'a:1', at, model: 'deepseek-chat', input: 1_000_000 },
      { session: 'b:2', at: '2026-01-05T12:00:00Z', model: 'deepseek-chat', input: 750_000 },
      { session: 'c:3', at, model: 'unheard-of', input: 1 },
    ])
    const question: UsageQuestion = { group: 'session', zone: new TimeZone('UTC'), prices: listed }
    const { rows } = usageReport(handle, question)
    for (const limit of [1, 2, 3])
      expect(dearestSessions(handle, question, limit).rows).toEqual(rows.slice(0, limit))
  })
})

describe('short ids', () => {
  it('of many at once are those of each alone', async () => {
    await withStore((store) => {
      const { memory } = databasesOf(store.reader)
      const insert = memory.prepare(
        `INSERT OR IGNORE INTO sessions (session_uid, flavor, native_session_id, schema_version, discovered_at)
         VALUES (?, ?, ?, 1, 0)`,
      )
      const id = fc.oneof(
        fc.string({ unit: fc.constantFrom('a', 'b', '-', 'é', '世'), minLength: 1, maxLength: 14 }),
        fc.uuid(),
      )
      const flavors = ['claude', 'codex', 'lineage']
      for (const [at, native] of fc.sample(id, { numRuns: 900, seed: 4 }).entries())
        for (const flavor of at % 9 === 0 ? flavors : [flavors[at % 3] as string])
          insert.run(`${flavor}:${native}`, flavor, native)
      const rows = memory.prepare('SELECT session_uid AS uid FROM sessions').all() as unknown as {
        uid: string
      }[]
      const uids = [...rows.map((row) => row.uid), 'codex:nowhere']
      expect(uids.length).toBeGreaterThan(501)
      const alone = new Map(uids.flatMap((uid) => [...shortIds(store.reader, [uid])]))
      expect(shortIds(store.reader, uids)).toEqual(alone)
      expect(new Set(alone.values()).size).toBe(uids.length)
    })
  })
})
