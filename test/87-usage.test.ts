// Usage reports: each response on its own day in the chosen zone, with the price of that day, counted once.

import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ADAPTERS } from '../src/adapters/index.ts'
import { Config } from '../src/config.ts'
import { TimeZone, weekOf } from '../src/query/timezone.ts'
import { type UsageGroup, type UsageQuestion, type UsageReport, usageReport } from '../src/query/usage.ts'
import { databasesOf } from '../src/store/databases.ts'
import { storePaths } from '../src/store/reading.ts'
import { openStore } from '../src/store/sqlite.ts'
import type { Store } from '../src/store/store.ts'
import { sweep } from '../src/sweep/index.ts'
import { exactUsd, rateOf, unitsOf } from '../src/usage/money.ts'
import { readOverrides } from '../src/usage/overrides.ts'
import { loadPrices } from '../src/usage/prices.ts'
import { filesBelow } from './setup/collect.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { fill, type Response } from './setup/ledger.ts'
import fc from './setup/properties.ts'

function temporaryHome(): string {
  const home = mkdtempSync(join(tmpdir(), 'recollect-usage-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  return home
}

function newStore(home: string): Store {
  const store = openStore(storePaths(home))
  onTestFinished(() => store.close())
  return store
}

type Asked = Partial<Omit<UsageQuestion, 'zone' | 'prices'>> & {
  zone?: string
  prices?: Record<string, unknown>
}

/** Asks twice: of the ledger as a sweep left it midway, and of its sums. Both must say the same. */
async function ask(responses: readonly Response[], asked: Asked = {}): Promise<UsageReport> {
  const store = newStore(temporaryHome())
  const { memory } = databasesOf(store.reader)
  fill(memory, responses)
  const question: UsageQuestion = {
    group: 'day',
    ...asked,
    zone: new TimeZone(asked.zone ?? 'UTC'),
    prices: await loadPrices(readOverrides(asked.prices ?? {}, {})),
  }
  const midway = usageReport(store.reader, question)
  store.ingest.settle(() => ({ repo: null, domain: null }))
  expect(memory.prepare('SELECT count(*) AS count FROM stale_slots').get()).toEqual({ count: 0 })
  expect(usageReport(store.reader, question)).toEqual(midway)
  return midway
}

const counts = ({ rows }: UsageReport) => Object.fromEntries(rows.map((row) => [row.key, row.responses]))

const ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'America/St_Johns',
  'America/Santiago',
  'Africa/Cairo',
  'Asia/Kathmandu',
  'Asia/Kolkata',
  'Australia/Lord_Howe',
  'Pacific/Chatham',
  'Pacific/Kiritimati',
]

describe('days', () => {
  it('are those of the response, not of the start of its session', async () => {
    const night = [{ at: '2026-11-14T23:59:59.999Z' }, { at: '2026-11-15T00:00:00Z' }]
    expect(counts(await ask(night))).toEqual({ '2026-11-14': 1, '2026-11-15': 1 })
  })

  it('begin at midnight of the zone', async () => {
    const at = [
      { at: '2026-11-14T18:14:59.999Z' },
      { at: '2026-11-14T18:15:00Z' },
      { at: '2026-11-15T07:59:00Z' },
    ]
    expect(counts(await ask(at, { zone: 'Asia/Kathmandu' }))).toEqual({ '2026-11-14': 1, '2026-11-15': 2 })
    expect(counts(await ask(at, { zone: 'America/Los_Angeles' }))).toEqual({ '2026-11-14': 3 })
    expect(counts(await ask(at, { zone: 'Pacific/Kiritimati' }))).toEqual({ '2026-11-15': 3 })
  })

  it('have 23 and 25 hours when the clocks change', async () => {
    const everyQuarter = (from: string, days: number): Response[] =>
      Array.from({ length: days * 96 }, (_, i) => ({ at: Date.parse(from) + i * 900_000 }))
    const spring = await ask(everyQuarter('2026-03-28T00:00Z', 3), { zone: 'Europe/Berlin' })
    expect(counts(spring)['2026-03-29']).toBe(92)
    const autumn = await ask(everyQuarter('2026-10-24T00:00Z', 3), { zone: 'Europe/Berlin' })
    expect(counts(autumn)['2026-10-25']).toBe(100)
    // Half an hour, and at a midnight that does not exist.
    const lordHowe = await ask(everyQuarter('2026-04-04T00:00Z', 3), { zone: 'Australia/Lord_Howe' })
    expect(counts(lordHowe)['2026-04-05']).toBe(98)
    const santiago = await ask(everyQuarter('2026-09-05T00:00Z', 3), { zone: 'America/Santiago' })
    expect(counts(santiago)['2026-09-06']).toBe(92)
  })

  it('are what the calendar of any zone says, for any instant', async () => {
    const instant = fc.integer({ min: Date.parse('2024-01-01'), max: Date.parse('2028-01-01') })
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...ZONES),
        fc.array(instant, { minLength: 1, maxLength: 40 }),
        async (zone, all) => {
          const format = new Intl.DateTimeFormat('en-CA', { timeZone: zone, dateStyle: 'short' })
          const expected: Record<string, number> = {}
          for (const at of all) {
            const day = format.format(at)
            expected[day] = (expected[day] ?? 0) + 1
          }
          expect(counts(await askQuickly(all, zone))).toEqual(expected)
        },
      ),
      { numRuns: 60 },
    )
  })

  it('can be found by their date, also where midnight does not exist', () => {
    const day = (date: string) => Date.parse(date) / 86_400_000
    const start = (zone: string, date: string) =>
      new Date(new TimeZone(zone).firstSlotOf(day(date)) * 900_000).toISOString()
    expect(start('Europe/Berlin', '2026-03-29')).toBe('2026-03-28T23:00:00.000Z')
    expect(start('Europe/Berlin', '2026-03-30')).toBe('2026-03-29T22:00:00.000Z')
    expect(start('America/Santiago', '2026-09-06')).toBe('2026-09-06T04:00:00.000Z')
    expect(start('Pacific/Kiritimati', '2026-11-15')).toBe('2026-11-14T10:00:00.000Z')
    expect(start('Asia/Kathmandu', '2026-11-15')).toBe('2026-11-14T18:15:00.000Z')
  })

  it.each([
    ['Europe/Berlin', 'Europe/Berlin'],
    ['America/Santiago', 'America/Santiago'],
    ['Asia/Kathmandu', 'Asia/Kathmandu'],
    ['Etc/UTC', 'UTC'],
    ['No/Where', undefined],
    ['EST5EDT,M3.2.0,M11.1.0', undefined],
  ])("are the system's where none is named: TZ=%s", (set, name) => {
    const before = process.env['TZ']
    process.env['TZ'] = set
    try {
      const own = new TimeZone()
      const expected = name ?? Intl.DateTimeFormat().resolvedOptions().timeZone ?? 'UTC'
      expect(own.name).toBe(expected)
      const slots = [Date.UTC(2024, 0, 1) / 900_000, Date.UTC(2027, 0, 1) / 900_000] as const
      expect(own.offsets(...slots)).toEqual(new TimeZone(expected).offsets(...slots))
    } finally {
      if (before === undefined) delete process.env['TZ']
      else process.env['TZ'] = before
    }
  })

  it('without a known time are kept apart', async () => {
    const report = await ask([
      { at: null, input: 3 },
      { at: '2026-11-15', input: 4 },
    ])
    expect(report.rows.map((row) => [row.key, row.input_tokens])).toEqual([
      [null, 3],
      ['2026-11-15', 4],
    ])
    const later = await ask(
      [
        { at: null, input: 3 },
        { at: '2026-11-15', input: 4 },
      ],
      { untilAt: Date.parse('2027-01-01') },
    )
    expect(later.total.input_tokens).toBe(4)
  })

  // One line of a broken clock must not make every question after it look through all of that time.
  it('of a clock that was wrong by any time are told as they are, and at once', async () => {
    const responses = [
      { at: '2026-11-15', input: 1 },
      { at: '9999-12-31T23:30Z', input: 2 },
      { at: '+275760-09-12', input: 4 },
    ]
    const { rows } = await ask(responses, { zone: 'Europe/Berlin' })
    expect(rows.map((row) => row.key)).toEqual(['+010000-01-01', '+275760-09-12', '2026-11-15'])
    const looks = new TimeZone('Europe/Berlin').offsets(0, 8.64e15 / 900_000)
    expect(looks.length).toBeLessThan(400)
    expect(counts(await ask(responses, { group: 'month' }))).toEqual({
      '2026-11': 1,
      '9999-12': 1,
      '+275760-09': 1,
    })
  })

  it('make ISO weeks, and months', async () => {
    const week = (date: string) => weekOf(Date.parse(date) / 86_400_000)
    expect(
      ['2024-12-30', '2021-01-03', '2021-01-04', '2027-01-01', '2026-11-15', '1969-12-31'].map(week),
    ).toEqual(['2025-W01', '2020-W53', '2021-W01', '2026-W53', '2026-W46', '1970-W01'])
    const at = [{ at: '2026-11-30T23:30Z' }, { at: '2026-12-01T00:30Z' }]
    expect(counts(await ask(at, { group: 'month' }))).toEqual({ '2026-11': 1, '2026-12': 1 })
    expect(counts(await ask(at, { group: 'month', zone: 'Europe/Berlin' }))).toEqual({ '2026-12': 2 })
    expect(counts(await ask(at, { group: 'week' }))).toEqual({ '2026-W49': 2 })
  })
})

/** One store for many zones is enough where only days are asked. */
async function askQuickly(all: number[], zone: string): Promise<UsageReport> {
  const store = newStore(temporaryHome())
  fill(
    databasesOf(store.reader).memory,
    all.map((at) => ({ at })),
  )
  return usageReport(store.reader, {
    group: 'day',
    zone: new TimeZone(zone),
    prices: await loadPrices(readOverrides({}, {})),
  })
}

describe('money', () => {
  it('is that of the day: the same tokens before and after a price changed', async () => {
    const report = await ask([
      { at: '2025-05-15', input: 1_000_000 },
      { at: '2025-06-09T23:59Z', input: 1_000_000 },
      { at: '2025-06-10T00:01Z', input: 1_000_000 },
      { at: '2026-11-15', input: 1_000_000 },
    ])
    expect(report.rows.map((row) => row.cost_usd)).toEqual(['10.00', '10.00', '2.00', '2.00'])
    expect(report.total.cost_usd).toBe('24.00')
    expect(report.prices.date).toMatch(/^\d{4}-\d\d-\d\d$/)
  })

  it('follows the price also inside one month, model or session', async () => {
    const two = [
      { at: '2025-06-09T12:00Z', input: 1_000_000 },
      { at: '2025-06-11T12:00Z', input: 1_000_000 },
    ]
    for (const group of ['month', 'model', 'session', 'repo'] as UsageGroup[])
      expect(
        (await ask(two, { group })).rows.map((row) => row.cost_usd),
        group,
      ).toEqual(['12.00'])
  })

  it('follows the size of each prompt, and of no sum of prompts', async () => {
    const model = 'gpt-5.5'
    const at = '2026-11-15'
    const report = await ask(
      [
        { at, model, input: 271_999, session: 'a:1' },
        { at, model, input: 1999, cacheRead: 270_001, session: 'a:2' },
        { at, model, input: 400_000, scope: 'turn', session: 'a:3' },
      ],
      { group: 'session' },
    )
    const cost = Object.fromEntries(report.rows.map((row) => [row.key, row.cost_usd]))
    expect(cost).toEqual({
      'a:1': exactUsd(271_999n * (rateOf(5) as bigint)),
      'a:2': exactUsd(1999n * (rateOf(10) as bigint) + 270_001n * (rateOf(1) as bigint)),
      'a:3': '2.00',
    })
  })

  it('follows the time of day where the price does', async () => {
    const model = 'deepseek-chat'
    const report = await ask(
      [
        { at: '2026-11-15T16:29:59.999Z', model, input: 1_000_000, session: 'a:1' },
        { at: '2026-11-15T16:30:00Z', model, input: 1_000_000, session: 'a:2' },
      ],
      { group: 'session' },
    )
    expect(new Set(report.rows.map((row) => row.cost_usd)).size).toBe(2)
  })

  it('of rows adds up to the total, to the last digit', async () => {
    const token = fc.integer({ min: 0, max: 100_003 })
    const response = fc.record({
      at: fc.integer({ min: Date.parse('2025-05-01'), max: Date.parse('2026-12-01') }),
      model: fc.constantFrom(
        'o3',
        'gpt-5.4-mini',
        'deepseek-chat',
        'claude-opus-4-7',
        'gpt-5.5',
        'unheard-of',
      ),
      input: token,
      cacheRead: token,
      cacheWrite5m: token,
      cacheWrite1h: token,
      output: token,
    })
    const groups: UsageGroup[] = ['day', 'week', 'month', 'session', 'model', 'repo', 'domain', 'flavor']
    await fc.assert(
      fc.asyncProperty(fc.array(response, { minLength: 1, maxLength: 20 }), async (all) => {
        const totals = new Set<string>()
        const store = newStore(temporaryHome())
        fill(databasesOf(store.reader).memory, all)
        const prices = await loadPrices(readOverrides({}, {}))
        for (const group of groups) {
          const report = usageReport(store.reader, { group, zone: new TimeZone('UTC'), prices })
          for (const name of ['cost_usd', 'cache_savings_usd'] as const) {
            const sum = report.rows.reduce((units, row) => units + unitsOf(row[name] ?? '0.0'), 0n)
            expect(exactUsd(sum)).toBe(report.total[name] ?? '0.00')
          }
          totals.add(JSON.stringify(report.total))
        }
        expect(totals.size).toBe(1)
      }),
      { numRuns: 25 },
    )
  })

  it('is unknown for unknown models: never zero, always named', async () => {
    const report = await ask(
      [
        { at: '2026-11-14', model: 'unheard-of', input: 70, output: 7 },
        { at: '2026-11-15', model: null, input: 5 },
        { at: '2026-11-15', input: 1_000_000 },
      ],
      {},
    )
    expect(report.rows.map((row) => [row.cost_usd, row.cache_savings_usd, row.unpriced_responses])).toEqual([
      [null, null, 1],
      ['2.00', '0.00', 1],
    ])
    expect(report.total).toMatchObject({ cost_usd: '2.00', unpriced_responses: 2 })
    expect(report.models).toEqual([
      { model: 'o3', priced_as: 'openai/o3', responses: 1, total_tokens: 1_000_000 },
      { model: 'unheard-of', priced_as: null, responses: 1, total_tokens: 77 },
      { model: null, priced_as: null, responses: 1, total_tokens: 5 },
    ])
  })

  it('is made anew from the same ledger when prices are given', async () => {
    const all = [
      { at: '2026-11-14', model: 'unheard-of', input: 1_000_000, output: 1_000_000 },
      { at: '2026-11-15', model: 'unheard-of', input: 1_000_000, cacheRead: 1_000_000 },
    ]
    expect((await ask(all)).total.cost_usd).toBeNull()
    const prices = { 'unheard-of': { input: 0.1, output: 0.2, cache_read: '0.01' } }
    expect((await ask(all, { prices })).total.cost_usd).toBe('0.41')
    const since = { 'unheard-of': [{ input: 0.1, output: 0.2, since: '2026-11-15' }] }
    const partly = await ask(all, { prices: since })
    expect(partly.rows.map((row) => row.cost_usd)).toEqual([null, '0.20'])
  })

  it('tells what caching saved, and what the agent itself reported', async () => {
    const { total } = await ask([
      {
        at: '2026-11-15',
        model: 'claude-opus-4-7',
        cacheRead: 1_000_000,
        cacheWrite5m: 100_000,
        cacheWrite1h: 100_000,
        reportedCost: 123_456_789,
      },
      { at: '2026-11-15', model: 'claude-opus-4-7', output: 1 },
    ])
    // 4.50 less 0.125 and 0.50 extra for the writes.
    expect(total.cache_savings_usd).toBe('3.875')
    expect(total).toMatchObject({
      reported_cost_usd: '1.23456789',
      reported_responses: 1,
      cost_usd: '2.125025',
    })
  })
})

describe('the ledger', () => {
  it('counts no copy, and nothing twice that a parent already holds', async () => {
    const at = '2026-11-15'
    const { total } = await ask([
      { at, input: 1 },
      { at, input: 10, isCounted: false },
      { at, input: 100, isNested: true, session: 'b:2' },
    ])
    expect(total).toMatchObject({ responses: 1, input_tokens: 1 })
  })

  it('answers by session, model, repository, domain and flavor, dearest first, and for a part of it', async () => {
    const at = '2026-11-15T12:00Z'
    const all: Response[] = [
      { at, session: 'a:1', input: 1000 },
      { at, session: 'b:2', input: 5000 },
      { at: '2026-11-16T12:00Z', session: 'b:2', input: 7, model: 'gpt-5.5' },
    ]
    const keys = async (asked: Asked) => (await ask(all, asked)).rows.map((row) => row.key)
    expect(await keys({ group: 'session' })).toEqual(['b:2', 'a:1'])
    expect(await keys({ group: 'model' })).toEqual(['o3', 'gpt-5.5'])
    expect(await keys({ group: 'repo' })).toEqual(['repo-b', 'repo-a'])
    expect(await keys({ group: 'domain' })).toEqual([null, 'home'])
    expect(await keys({ group: 'flavor' })).toEqual(['b', 'a'])
    const input = async (asked: Asked) => (await ask(all, asked)).total.input_tokens
    expect(await input({ flavor: 'a' })).toBe(1000)
    expect(await input({ repo: 'repo-b' })).toBe(5007)
    expect(await input({ domain: 'home' })).toBe(1000)
    expect(await input({ model: 'gpt-5.5' })).toBe(7)
    expect(await input({ sinceAt: Date.parse('2026-11-16') })).toBe(7)
    expect(await input({ untilAt: Date.parse('2026-11-16') })).toBe(6000)
    expect(await input({ sinceAt: Date.parse('2030-01-01') })).toBe(0)
  })

  it('and its sums stay the same thing while files come one by one', async () => {
    const source = join(unpackAgent('claude'), 'fork', '.claude')
    const home = temporaryHome()
    const agent = temporaryHome()
    const config = new Config({ env: { RECOLLECT_HOME: home } })
    const sums = 'sum(input) AS input, sum(cache_read) AS cacheRead, sum(output) AS output'
    const files = filesBelow(source)
      .filter((path) => path.endsWith('.jsonl'))
      .reverse()
    expect(files.length).toBeGreaterThan(1)
    for (const path of files) {
      const target = join(agent, '.claude', path.slice(source.length))
      mkdirSync(dirname(target), { recursive: true })
      copyFileSync(path, target)
      await sweep({ config, adapters: ADAPTERS, env: { HOME: agent } })
      const store = openStore(storePaths(home))
      try {
        const { memory } = databasesOf(store.reader)
        expect(memory.prepare(`SELECT ${sums}, sum(responses) AS count FROM usage_slots`).get()).toEqual(
          memory
            .prepare(`SELECT ${sums}, count(*) AS count FROM usage WHERE is_counted AND NOT is_nested`)
            .get(),
        )
        expect(memory.prepare('SELECT count(*) AS count FROM stale_slots').get()).toEqual({ count: 0 })
      } finally {
        store.close()
      }
    }
  })
})

describe('recollect usage', () => {
  const cli = join(import.meta.dirname, '../dist/cli.cjs')
  const run = (home: string, ...args: string[]) =>
    execFileSync(process.execPath, [cli, 'usage', ...args], {
      env: { ...process.env, RECOLLECT_HOME: home, TZ: 'Europe/Berlin', COLUMNS: '80' },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  const some = (): string => {
    const home = temporaryHome()
    const store = openStore(storePaths(home))
    fill(databasesOf(store.reader).memory, [
      { at: '2026-11-14T22:59Z', input: 1_234_567, session: 'a:0123456789-0123456789-0123456789-0123456789' },
      {
        at: '2026-11-14T23:00Z',
        model: 'unheard-of-model-with-a-very-long-name-that-does-not-fit',
        output: 999_999_999,
      },
      {
        at: '2026-11-15T23:00Z',
        cacheRead: 88_400_000_000,
        output: 5_000_000_000,
        reportedCost: 999_999_999_999,
      },
    ])
    store.close()
    return home
  }

  it('prints a table of 80 columns with a total, the date of the prices and every unpriced model', () => {
    const home = some()
    for (const group of ['day', 'week', 'month', 'session', 'model', 'repo', 'domain', 'flavor']) {
      const lines = run(home, group).trimEnd().split('\n')
      const table = lines.slice(0, lines.indexOf(''))
      expect(Math.max(...table.map((line) => line.length)), group).toBeLessThanOrEqual(80)
      expect(table[0]).toContain(group.toUpperCase())
      expect(table.at(-1)).toMatch(/^total .*at least \$84,\d{3}\.\d\d/)
      expect(lines.join('\n')).toMatch(/days in Europe\/Berlin; list prices of \d{4}-\d\d-\d\d/)
      expect(lines.join('\n')).toContain(
        'no price known for unheard-of-model-with-a-very-long-name-that-does-not-fit',
      )
    }
  })

  it('takes dates as days of the zone, the last one included', () => {
    const home = some()
    const days = (...args: string[]) =>
      (JSON.parse(run(home, 'day', '--json', ...args)) as UsageReport).rows.map((row) => row.key)
    expect(days()).toEqual(['2026-11-14', '2026-11-15', '2026-11-16'])
    expect(days('--since', '2026-11-15', '--until', '2026-11-15')).toEqual(['2026-11-15'])
    expect(days('--until', '2026-11-15', '--timezone', 'UTC')).toEqual(['2026-11-14', '2026-11-15'])
    expect(days('--since', '2026-11-15T23:00Z')).toEqual(['2026-11-16'])
    expect(days('--since', '2026-11-15', '--timezone', 'Asia/Kolkata')).toEqual(['2026-11-15', '2026-11-16'])
  })

  it('uses the prices of config.toml', () => {
    const home = some()
    writeFileSync(
      join(home, 'config.toml'),
      '[price_aliases]\n"unheard-of-model-with-a-very-long-name-that-does-not-fit" = "mine"\n[prices.mine]\ninput = 1\noutput = 0.000001\n',
    )
    const report = JSON.parse(
      run(home, 'model', '--json', '--model', 'unheard-of-model-with-a-very-long-name-that-does-not-fit'),
    )
    expect(report.total).toMatchObject({ cost_usd: '0.000999999999', unpriced_responses: 0 })
  })

  it('says so when there is nothing, and refuses what it does not understand', () => {
    const home = some()
    expect(run(home, '--since', '2030-01-01')).toContain('no usage')
    for (const [args, message] of [
      [['dya'], 'did you mean day?'],
      [['--timezone', 'Mars/Base'], 'no time zone Mars/Base'],
      [['--since', '2026-13-01'], 'is no time'],
    ] as [string[], string][]) {
      let failed: { status: number; stderr: string } | undefined
      try {
        run(home, ...args)
      } catch (error) {
        failed = error as { status: number; stderr: string }
      }
      expect(failed?.status).toBe(2)
      expect(failed?.stderr).toContain(message)
    }
    expect(readdirSync(home)).toContain('memory.db')
  })
})
