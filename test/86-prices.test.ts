// Prices: exact to the last digit, dated, and never made up.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { calcPrice, findProvider, type ModelInfo } from '@pydantic/genai-prices'
import { parse as parseToml } from 'smol-toml'
import { describe, expect, it } from 'vitest'
import type { Tokens } from '../src/model.ts'
import { PROMPT_STEPS } from '../src/store/slots.ts'
import { cacheSavings, costOf } from '../src/usage/cost.ts'
import { exactUsd, fromReported, rateOf, shortUsd } from '../src/usage/money.ts'
import { readOverrides } from '../src/usage/overrides.ts'
import { loadPrices, PRICE_LIST, type Rates } from '../src/usage/prices.ts'
import fc from './setup/properties.ts'

const none = readOverrides({}, {})
const packageDirectory = join(import.meta.dirname, '../node_modules', PRICE_LIST.name)
const NOW = Date.parse('2026-11-15T12:00:00Z')
const tokens = (some: Partial<Tokens>): Tokens => ({
  input: 0,
  cacheRead: 0,
  cacheWrite5m: 0,
  cacheWrite1h: 0,
  output: 0,
  reasoning: 0,
  ...some,
})
const fromToml = (text: string) => {
  const { prices = {}, price_aliases = {} } = parseToml(text) as Record<string, Record<string, unknown>>
  return loadPrices(readOverrides(prices, price_aliases))
}

describe('money', () => {
  it('adds tenths without dust', () => {
    const sum = (rateOf(0.1) as bigint) * 1_000_000n + (rateOf(0.2) as bigint) * 1_000_000n
    expect(0.1 + 0.2).not.toBe(0.3)
    expect(exactUsd(sum)).toBe('0.30')
    expect(rateOf('0.30000000000000004')).toBe(rateOf('0.3'))
  })

  it('reads prices in every notation a number can print as', () => {
    expect(rateOf(3)).toBe(3_000_000_000_000n)
    expect(rateOf(1e-7)).toBe(100_000n)
    expect(rateOf('2.5e1')).toBe(25_000_000_000_000n)
    for (const text of ['', '-1', 'NaN', 'Infinity', '1,5', '0x10', '1e999999999', '1e-999999999'])
      expect(rateOf(text), text).toBeUndefined()
  })

  it('shows what it has, rounded only for people', () => {
    expect(exactUsd(1n)).toBe('0.000000000000000001')
    expect(exactUsd(-(10n ** 18n))).toBe('-1.00')
    expect(exactUsd(fromReported(123_456_789))).toBe('1.23456789')
    expect(shortUsd(1_234_567_895n * 10n ** 15n)).toBe('$1,234,567.90')
    expect(shortUsd(5n * 10n ** 15n)).toBe('$0.0050')
    expect(shortUsd(0n)).toBe('$0.00')
    expect(shortUsd(-(25n * 10n ** 17n))).toBe('-$2.50')
  })

  it('of many small responses is the money of their sum', async () => {
    const rates = (await loadPrices(none)).rates('gpt-5.4-mini', NOW, 0) as Rates
    const one = tokens({ input: 7, cacheRead: 3, output: 1 })
    let sum = 0n
    for (let i = 0; i < 1000; i++) sum += costOf(one, rates)
    // 7 × 0.75 + 3 × 0.075 + 1 × 4.5 = 9.975 USD per million.
    expect(exactUsd(sum)).toBe('0.009975')
  })
})

describe('the price list', () => {
  it('is the one installed, so its date is true', () => {
    const { version } = JSON.parse(readFileSync(join(packageDirectory, 'package.json'), 'utf8'))
    expect(version).toBe(PRICE_LIST.version)
  })

  it('changes prices only at prompt sizes and times the ledger can tell apart', () => {
    const text = readFileSync(join(packageDirectory, 'dist/index.js'), 'utf8')
    const steps = new Set([...text.matchAll(/\bstart: ([\d.e]+)/g)].map((match) => Number(match[1])))
    expect(steps.size).toBeGreaterThan(0)
    expect([...steps].filter((step) => !PROMPT_STEPS.includes(step))).toEqual([])
    const times = [...text.matchAll(/_time: "\d\d:(\d\d):(\d\d)Z"/g)]
    expect(times.length).toBeGreaterThan(0)
    expect(times.filter((match) => Number(match[1]) % 15 !== 0 || match[2] !== '00')).toEqual([])
  })

  it('agrees with the package for every model with a price, at every size of prompt', async () => {
    const book = await loadPrices(none)
    const models = ['anthropic', 'openai', 'x-ai', 'google', 'deepseek', 'moonshotai', 'minimax', 'mistral']
      .flatMap((id) => findProvider({ providerId: id })?.models ?? [])
      .filter((one) => calcPrice({}, one.id)?.model.id === one.id && isText(one))
    expect(models.length).toBeGreaterThan(150)
    const count = fc.integer({ min: 0, max: 300_000 })
    fc.assert(
      fc.property(
        fc.constantFrom(...models),
        fc.record({ input: count, cacheRead: count, cacheWrite5m: count, output: count }),
        fc.date({ min: new Date('2025-01-01'), max: new Date('2027-06-01'), noInvalidDate: true }),
        (one, some, timestamp) => {
          const used = tokens(some)
          const prompt = used.input + used.cacheRead + used.cacheWrite5m
          const usage = {
            input_tokens: prompt,
            cache_read_tokens: used.cacheRead,
            cache_write_tokens: used.cacheWrite5m,
            output_tokens: used.output,
          }
          const theirs = calcPrice(usage, one.id, { timestamp })?.total_price as number
          const over = PROMPT_STEPS.findLast((step) => prompt > step) ?? 0
          const ours = book.rates(one.id, timestamp.getTime(), over)
          expect(ours, one.id).toBeDefined()
          expect(Number(exactUsd(costOf(used, ours as Rates)))).toBeCloseTo(theirs, 9)
        },
      ),
      { numRuns: 2000 },
    )
  })

  it('has the price of the day: the same tokens in May 2025 and now', async () => {
    const book = await loadPrices(none)
    const million = tokens({ input: 1_000_000, output: 1_000_000 })
    const cost = (date: string) => exactUsd(costOf(million, book.rates('o3', Date.parse(date), 0) as Rates))
    expect(cost('2025-05-15')).toBe('50.00')
    expect(cost('2025-06-09T23:59:59.999Z')).toBe('50.00')
    expect(cost('2025-06-10')).toBe('10.00')
    expect(cost('2026-11-15')).toBe('10.00')
    expect(book.changes(['o3', 'gpt-5.5']).startsAt).toEqual([Date.parse('2025-06-10')])
  })

  it('has the price of the hour where there is one', async () => {
    const book = await loadPrices(none)
    expect(book.changes(['deepseek-chat', 'o3']).byTimeOfDay).toEqual(['deepseek-chat'])
    const night = book.rates('deepseek-chat', Date.parse('2026-11-15T20:00:00Z'), 0) as Rates
    const day = book.rates('deepseek-chat', Date.parse('2026-11-15T12:00:00Z'), 0) as Rates
    expect(night.input).not.toBe(day.input)
  })

  it('prices a whole response by the size of its prompt', async () => {
    const book = await loadPrices(none)
    const small = book.rates('gpt-5.5', NOW, 200_000) as Rates
    const large = book.rates('gpt-5.5', NOW, 271_999) as Rates
    expect([small.input * 2n, small.cacheRead * 2n]).toEqual([large.input, large.cacheRead])
  })

  it('tells cache writes for five minutes from those for an hour, and both from reads', async () => {
    const rates = (await loadPrices(none)).rates('claude-opus-4-7', NOW, 0) as Rates
    const million = (some: Partial<Tokens>) => exactUsd(costOf(tokens(some), rates))
    expect(million({ input: 1_000_000 })).toBe('5.00')
    expect(million({ cacheWrite5m: 1_000_000 })).toBe('6.25')
    expect(million({ cacheWrite1h: 1_000_000 })).toBe('10.00')
    expect(million({ cacheRead: 1_000_000 })).toBe('0.50')
    const mixed = tokens({ cacheRead: 1_000_000, cacheWrite5m: 1_000_000, cacheWrite1h: 1_000_000 })
    // 4.50 saved by the reads; 1.25 and 5.00 paid for the writes.
    expect(exactUsd(cacheSavings(mixed, rates))).toBe('-1.75')
  })

  it('has the premium of fast modes it lists, on every kind of token, and none for those it does not', async () => {
    const book = await loadPrices(none)
    const plain = book.rates('claude-opus-4-6', NOW, 0) as Rates
    const fast = book.rates('claude-opus-4-6-20260205-fast', NOW, 0) as Rates
    for (const [kind, rate] of Object.entries(plain)) expect(fast[kind as keyof Rates], kind).toBe(rate * 6n)
    expect(book.rates('claude-opus-5-fast', NOW, 0)?.output).toBe(rateOf(50))
    expect(book.pricedAs('claude-opus-5-fast')).toBe('anthropic/claude-opus-5-fast')
    expect(book.rates('claude-sonnet-4-5-fast', NOW, 0)).toBeUndefined()
    expect(book.rates('nobody-fast', NOW, 0)).toBeUndefined()
    // What priority costs more, the list does not say.
    expect(book.rates('gpt-5-codex', NOW, 0)).toBeDefined()
    expect(book.rates('gpt-5-codex-priority', NOW, 0)).toBeUndefined()
    // A model that is called so.
    expect(book.rates('grok-4-fast', NOW, 0)?.input).toBe(rateOf(0.2))
  })

  it('knows a model by the names that agents write, and none that nobody lists', async () => {
    const book = await loadPrices(none)
    const as = (...models: string[]) => models.map((model) => book.pricedAs(model))
    expect(
      as('gemini-2.5-pro', 'models/gemini-2.5-pro', 'google/gemini-2.5-pro', 'google-vertex/gemini-2.5-pro'),
    ).toEqual(Array(4).fill('google/gemini-2.5-pro'))
    expect(as('claude-sonnet-4.5', 'claude-sonnet-4-5-20250929', 'anthropic/claude-sonnet-4.5')).toEqual(
      Array(3).fill('anthropic/claude-sonnet-4-5'),
    )
    expect(as('openrouter/anthropic/claude-sonnet-4')).toEqual(['openrouter/anthropic/claude-sonnet-4'])
    // A subscription's router, settings of a person, and an alias: what they cost is not known.
    expect(
      as(
        'github-copilot/gpt-5',
        'custom:Claude-Opus-4.5-0',
        'kimi-code/kimi-for-coding',
        'mock/mock-model',
        'models/',
      ),
    ).toEqual(Array(5).fill(null))
  })

  it('counts reasoning once, inside the output', async () => {
    const rates = (await loadPrices(none)).rates('gpt-5.5', NOW, 0) as Rates
    expect(costOf(tokens({ output: 900, reasoning: 400 }), rates)).toBe(
      costOf(tokens({ output: 900 }), rates),
    )
  })

  it('has no price for what it does not know, instead of zero', async () => {
    const book = await loadPrices(none)
    // The fourth is in the list without any price, the last with one for input alone.
    for (const model of ['', 'claude-mythos-5', 'no/such-model', 'gemma-3', 'text-embedding-3-small']) {
      expect(book.rates(model, NOW, 0), model).toBeUndefined()
    }
    expect(book.pricedAs('claude-mythos-5')).toBeNull()
  })

  it('has none for models that are called like what every object has', async () => {
    const prices = await loadPrices(none)
    for (const model of ['constructor', 'toString', '__proto__', 'hasOwnProperty']) {
      expect(prices.lookUp(model), model).toEqual({ name: model, listed: null })
      expect(prices.rates(model, NOW, 0), model).toBeUndefined()
    }
  })

  it('finds models under the names that logs and gateways give them', async () => {
    const book = await loadPrices(none)
    expect(book.pricedAs('grok-build')).toBe('x-ai/grok-build-0.1')
    expect(book.pricedAs('anthropic/claude-opus-4-8')).toBe('anthropic/claude-opus-4-8')
    expect(book.pricedAs('claude-opus-4-8[1m]')).toBe('anthropic/claude-opus-4-8')
    expect(book.pricedAs('z-ai/glm-4.6')).toBe('openrouter/z-ai/glm-4.6')
    expect(book.pricedAs('us.anthropic.claude-opus-4-8-v1:0')).toMatch(/^aws\/regional\./)
  })
})

describe("the user's own prices", () => {
  it('go before the list from their day on, and price what the list lacks', async () => {
    const book = await fromToml(`
      [prices."claude-mythos-5"]
      input = 0.1
      output = "0.2"
      [[prices."o3"]]
      input = 1
      output = 2
      since = 2026-11-01
      [[prices."o3"]]
      input = 3
      output = 4
      cache_read = 0.5
      cache_write_5m = 3.75
      since = "2026-11-10"`)
    const input = (model: string, date: string) => (book.rates(model, Date.parse(date), 0) as Rates).input
    expect(input('claude-mythos-5', '2020-01-01')).toBe(rateOf('0.1'))
    expect(input('o3', '2026-10-31T23:59:59Z')).toBe(rateOf(2))
    expect(input('o3', '2026-11-01')).toBe(rateOf(1))
    expect(input('o3', '2026-11-10')).toBe(rateOf(3))
    const { cacheRead, cacheWrite5m, cacheWrite1h } = book.rates('o3', NOW, 0) as Rates
    expect([cacheRead, cacheWrite5m, cacheWrite1h]).toEqual([rateOf(0.5), rateOf(3.75), rateOf(3.75)])
    expect(book.pricedAs('o3')).toBe('config.toml')
    expect(book.changes(['o3']).startsAt.length).toBe(3)
  })

  it('may be zero, when the user says so', async () => {
    const book = await fromToml('[prices.local]\ninput = 0\noutput = 0')
    expect(costOf(tokens({ input: 5, output: 5 }), book.rates('local', NOW, 0) as Rates)).toBe(0n)
  })

  it('follow aliases to the list and to other own prices', async () => {
    const book = await fromToml(
      '[price_aliases]\n"gpt-6.1-sol" = "gpt-6-sol"\nmine = "house"\n[prices.house]\ninput = 9\noutput = 9',
    )
    expect(book.pricedAs('gpt-6.1-sol')).toBe('openai/gpt-6-sol')
    expect((book.rates('mine', NOW, 0) as Rates).input).toBe(rateOf(9))
  })

  it('are refused where they cannot be meant', async () => {
    const wrong = {
      '[prices]\nm = 3': 'prices."m"',
      '[prices]\nm = []': 'prices."m"',
      '[prices]\nm = [[1, 2]]': 'prices."m"',
      '[prices]\nm = 2026-11-01': 'prices."m"',
      '[prices.m]\ninput = 1': 'prices."m".output',
      '[prices.m]\ninput = -1\noutput = 1': 'prices."m".input',
      '[prices.m]\ninput = 1\noutput = 1\ncache = 1': 'prices."m".cache',
      '[prices.m]\ninput = 1\noutput = 1\nsince = 2026-11-01T10:00:00Z': 'prices."m".since',
      '[price_aliases]\nm = 1': 'price_aliases."m"',
    }
    for (const [toml, where] of Object.entries(wrong)) {
      await expect((async () => fromToml(toml))(), toml).rejects.toMatchObject({ code: 'BAD_CONFIG', where })
    }
  })
})

const isText = (model: ModelInfo): boolean => {
  const all = Array.isArray(model.prices) ? model.prices.map((one) => one.prices) : [model.prices]
  return all.every((one) => 'input_mtok' in one && 'output_mtok' in one)
}
