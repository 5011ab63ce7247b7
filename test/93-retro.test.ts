// The weekly account: its days, its figures against other ways to count them, its evidence (each must exist), and its
// three forms, which hold hostile text without obeying it.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { launchChromium } from '../scripts/chromium.mjs'
import { Config } from '../src/config.ts'
import { decide } from '../src/decide.ts'
import { sessionEvents } from '../src/query/events.ts'
import { listSessions } from '../src/query/sessions.ts'
import { TimeZone } from '../src/query/timezone.ts'
import { usageReport } from '../src/query/usage.ts'
import { retroDocument } from '../src/retro/document.ts'
import { toHtml } from '../src/retro/html.ts'
import { retroReport } from '../src/retro/index.ts'
import { toMarkdown } from '../src/retro/markdown.ts'
import { before, labelOf, type Period, periodOf, startOf } from '../src/retro/period.ts'
import type { RetroReport } from '../src/retro/report.ts'
import { openStore } from '../src/store/sqlite.ts'
import { readOverrides } from '../src/usage/overrides.ts'
import { loadPrices } from '../src/usage/prices.ts'
import { describeInBrowser } from './setup/browser.ts'
import { agentRoots } from './setup/memory.ts'
import { cli, World } from './setup/sweeping.ts'

const prices = await loadPrices(readOverrides({}, {}))
const utc = new TimeZone('UTC')
const day = (date: string): number => Date.parse(date) / 86_400_000
const days = (first: string, last: string): Period => ({ firstDay: day(first), endDay: day(last) + 1 })

/** In the page: how bright its ink and its paper are, and by how much it is too wide. */
const LOOK = `(() => {
  const brightness = (colour) => colour.match(/\\d+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0) / 3
  const { color } = getComputedStyle(document.querySelector('h1'))
  const { backgroundColor } = getComputedStyle(document.querySelector('section'))
  const { scrollWidth, clientWidth } = document.documentElement
  return [brightness(color), brightness(backgroundColor), scrollWidth - clientWidth]
})()`

describe('the days', () => {
  const now = Date.parse('2026-11-16T01:00:00Z')
  it('are the last seven unless told', () => {
    expect(periodOf({}, utc, now)).toEqual(days('2026-11-10', '2026-11-16'))
    expect(periodOf({ week: true }, utc, now)).toEqual(days('2026-11-10', '2026-11-16'))
    // An hour after midnight in London it is still yesterday in New York.
    expect(periodOf({}, new TimeZone('America/New_York'), now)).toEqual(days('2026-11-09', '2026-11-15'))
    expect(periodOf({ month: true }, utc, now)).toEqual(days('2026-10-18', '2026-11-16'))
  })
  it.each([
    [{ week: '2026-W46' }, '2026-11-09', '2026-11-15'],
    [{ week: '2026-W53' }, '2026-12-28', '2027-01-03'],
    [{ week: '2025-W01' }, '2024-12-30', '2025-01-05'],
    [{ month: '2028-02' }, '2028-02-01', '2028-02-29'],
    [{ since: '2026-11-01', until: '2026-11-01' }, '2026-11-01', '2026-11-01'],
    [{ since: '30d' }, '2026-10-17', '2026-11-16'],
    [{ until: '2026-11-07' }, '2026-11-01', '2026-11-07'],
  ])('are as asked for: %j', (wish, first, last) => {
    expect(periodOf(wish, utc, now)).toEqual(days(first, last))
  })
  it.each([
    { week: '2025-W53' },
    { week: 'soon' },
    { month: '2026-13' },
    { since: 'x' },
    { since: '2026-02-30' },
    { since: '2026-11-02', until: '2026-11-01' },
  ])('that cannot be are refused: %j', (wish) => {
    expect(() => periodOf(wish, utc, now)).toThrow(
      expect.objectContaining({ code: 'USAGE', hint: expect.any(String) }),
    )
  })
  it('have a name, and as many days before them', () => {
    const week = days('2026-11-09', '2026-11-15')
    expect(labelOf(week)).toBe('2026-W46, 2026-11-09 to 2026-11-15')
    expect(before(week)).toEqual(days('2026-11-02', '2026-11-08'))
    // The clocks went back on the first of November: the week has an hour more.
    const zone = new TimeZone('America/New_York')
    const { firstDay, endDay } = days('2026-10-26', '2026-11-01')
    expect(startOf(endDay, zone) - startOf(firstDay, zone)).toBe((7 * 24 + 1) * 3_600_000)
  })
})

const HOSTILE = '<script>alert("x")</script> `| [a](b) ![c](d) *e* \u202e\u0007'

describe('the account', () => {
  let world: World
  let period: Period
  const report = (of: Period, filter: { flavor?: string; repo?: string } = {}): RetroReport =>
    world.read((handle) => retroReport(handle, { period: of, zone: utc, prices, ...filter }))
  beforeAll(async () => {
    world = new World()
    const { roots } = agentRoots(['claude', 'codex', 'grok'])
    const sources = Object.entries(roots).map(
      ([flavor, list]) => `[sources.${flavor}]\nroots = ${JSON.stringify(list)}\n`,
    )
    world.configure(sources.join(''))
    await world.sweep()
    const uid = world.read((handle) => listSessions(handle, { limit: 1 })[0]?.session_uid as string)
    decide({ config: new Config({ env: world.env }), session: uid, text: HOSTILE, author: 'ada' })
    const ends = world.read((handle) => listSessions(handle).map((one) => Date.parse(one.ended_at as string)))
    // From the first session to the decision, which was made just now.
    period = { firstDay: utc.dayAt(Math.min(...ends)), endDay: utc.dayAt(Date.now()) + 1 }
  })
  afterAll(() => world.remove())

  it('counts what the sessions, the ledger and the events say', () => {
    const found = report(period)
    world.read((handle) => {
      const main = listSessions(handle)
      expect(found.totals.sessions).toBe(main.length)
      expect(found.totals.turns).toBe(main.reduce((sum, one) => sum + one.cost.turns, 0))
      const usage = usageReport(handle, { group: 'day', zone: utc, prices })
      expect(found.totals).toMatchObject({
        total_tokens: usage.total.total_tokens,
        cost_usd: usage.total.cost_usd,
      })
      const all = listSessions(handle, { withSubagents: true }).flatMap((one) => [
        ...sessionEvents(handle, one.session_uid),
      ])
      const own = all.filter((event) => !event.is_inherited && !event.is_superseded)
      expect(found.totals.errors).toBe(own.filter((event) => event.kind === 'error').length)
      expect(found.totals.edits).toBe(own.filter((event) => event.kind === 'edit').length)
      expect(found.totals.test_runs).toBeGreaterThan(0)
      for (const outcome of ['success', 'fail', 'abandoned', 'unknown'] as const)
        expect(found.outcomes[outcome].count).toBe(main.filter((one) => one.outcome === outcome).length)
    })
    const sum = (all: { sessions: number }[]): number => all.reduce((total, one) => total + one.sessions, 0)
    for (const shares of [found.days, found.flavors, found.repos])
      expect(sum(shares)).toBe(found.totals.sessions)
    const tokens = found.days.reduce((total, one) => total + one.total_tokens, 0)
    expect(tokens).toBe(found.totals.total_tokens)
    expect(found.undigested).toBe(0)
  })

  it('names what kept failing, and what mended it', () => {
    const failure = report(period).failures.find((one) => one.sample.includes('should be 5'))
    expect(failure).toMatchObject({ is_old: false, mended_by: { steps: expect.anything() } })
    expect(failure?.sessions).toBeGreaterThan(1)
    expect(failure?.mended_by?.steps.map((step) => step.what).join()).toContain('calc.js')
  })

  it('points to events that exist', () => {
    const refs: string[] = JSON.stringify(report(period)).match(/[a-z]+:[0-9a-f-]{36}#\d+/g) ?? []
    expect(refs.length).toBeGreaterThan(20)
    world.read((handle) => {
      for (const ref of new Set(refs)) {
        const [uid, seq] = ref.split('#') as [string, string]
        const events = [...sessionEvents(handle, uid, { seqs: [Number(seq)] })]
        expect(events, ref).toHaveLength(1)
      }
    })
  })

  it('compares with the days before', () => {
    const later = { firstDay: period.endDay, endDay: period.endDay * 2 - period.firstDay }
    const found = report(later)
    expect(found.previous_totals).toEqual(report(period).totals)
    expect(found.totals).toMatchObject({ sessions: 0, total_tokens: 0, cost_usd: null })
    const document = retroDocument(found, (ref) => ref)
    expect(document.figures[0]).toEqual({ label: 'sessions', value: '0', change: '−100 %' })
    expect(document.figures.find((one) => one.label.startsWith('cost'))?.value).toBe('$0.00')
    const unpriced = { ...found, totals: { ...found.totals, total_tokens: 5, unpriced_responses: 1 } }
    const { figures } = retroDocument(unpriced, (ref) => ref)
    expect(figures.find((one) => one.label.startsWith('cost'))?.value).toBe('?')
    for (const render of [toHtml, toMarkdown]) expect(render(document)).not.toMatch(/NaN|undefined|Infinity/)
  })

  it('keeps to what was asked for', () => {
    const all = report(period)
    const one = report(period, { flavor: 'codex' })
    expect(one.flavors.map((share) => share.key)).toEqual(['codex'])
    expect(one.totals.sessions).toBe(all.flavors.find((share) => share.key === 'codex')?.sessions)
    expect(JSON.stringify(one)).not.toContain('claude:')
    expect(report(period, { repo: 'nowhere' }).totals.sessions).toBe(0)
  })

  it('holds hostile text without obeying it', () => {
    const document = retroDocument(report(period), (ref) => ref)
    const html = toHtml(document)
    expect(html).toContain('&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;')
    expect(html).not.toMatch(/<script|\son\w+=|javascript:|\u202e|\u0007/i)
    expect(html.match(/<[^>]*\b(?:src|href|action|xlink:href)=/g)).toBeNull()
    expect(html).not.toMatch(/url\(|@import/)
    expect(html).toContain(`content="default-src 'none'; style-src 'unsafe-inline'"`)
    const markdown = toMarkdown(document)
    expect(markdown).toContain('\\<script\\>alert("x")\\</script\\> \\`\\| \\[a\\](b) \\!\\[c\\](d) \\*e\\*')
    const rows = markdown.split('\n').filter((line) => line.startsWith('| ') && line.includes('ada'))
    expect(rows).toHaveLength(1)
    expect(rows[0]?.match(/(?<!\\)\|/g)).toHaveLength(5)
  })

  it('has words for every chart', () => {
    const html = toHtml(retroDocument(report(period), (ref) => ref))
    const charts = html.match(/<svg[^>]*>/g) ?? []
    expect(charts).toHaveLength(3)
    for (const chart of charts) expect(chart).toMatch(/role="img" aria-label="[^"]+: /)
    for (const section of html.split('<section>').slice(1))
      if (section.includes('<svg')) expect(section).toContain('<table>')
    for (const [, x, width] of html.matchAll(
      /<rect class="part [a-z]*" x="([\d.]+)" y="0" width="([\d.]+)"/g,
    ))
      expect(Number(x) + Number(width)).toBeLessThanOrEqual(560)
  })

  describeInBrowser('in a browser', () => {
    it('is dark on a dark screen, light on paper, and as wide as a telephone without its tables running out', async () => {
      const browser = await launchChromium()
      try {
        const page = await browser.newPage({ viewport: { width: 390, height: 800 }, colorScheme: 'dark' })
        await page.setContent(toHtml(retroDocument(report(period), (ref) => ref)))
        const look = async (): Promise<[ink: number, paper: number, overflow: number]> =>
          (await page.evaluate(LOOK)) as [number, number, number]
        const [ink, paper, overflow] = await look()
        expect(ink - paper).toBeGreaterThan(128)
        expect(overflow).toBe(0)
        // No column is so narrow that a word stands letter below letter.
        const widths = await page
          .locator('td:first-child')
          .evaluateAll((cells) => cells.map((one) => one.clientWidth))
        expect(Math.min(...widths)).toBeGreaterThan(80)
        await page.emulateMedia({ media: 'print', colorScheme: 'dark' })
        const [printed, sheet] = await look()
        expect(sheet - printed).toBeGreaterThan(128)
      } finally {
        await browser.close()
      }
    })
  })

  it('is the same after eviction', () => {
    const earlier = report(period)
    const store = openStore(world.paths)
    const uids = listSessions(store.reader, { withSubagents: true }).map((one) => one.session_uid)
    store.archive.evict(
      uids.map((uid) => ({ uid, reason: 'age' as const, bytes: 1 })),
      Date.now(),
    )
    store.close()
    expect(report(period)).toEqual(earlier)
  })

  it('is printed in each form', () => {
    const since = new Date(period.firstDay * 86_400_000).toISOString().slice(0, 10)
    const run = (...args: string[]) => cli(world.env, 'retro', '--since', since, '--timezone', 'UTC', ...args)
    const text = run()
    expect(text.code).toBe(0)
    expect(text.stdout).toMatch(/What kept failing[\s\S]*should be 5[\s\S]*most expensive/)
    expect(text.stdout).not.toMatch(/\u202e|\u0007/)
    expect(JSON.parse(run('--json').stdout)).toEqual(report(period))
    expect(run('--format', 'md').stdout).toMatch(/^# Retrospective\n/)
    expect(run('--format', 'html').stdout).toMatch(/^<!doctype html>\n[\s\S]*<\/html>\n$/)
    for (const wrong of [
      ['--format', 'pdf'],
      ['--week', '2026-W99'],
      ['--month'],
      ['--flavor', 'nobody'],
      ['--timezone', 'Mars'],
    ])
      expect(run(...wrong).code, wrong.join(' ')).toBe(2)
  })
})

it('is described', () => {
  const page = readFileSync(join(import.meta.dirname, '..', 'docs', 'retro.md'), 'utf8')
  const source = readFileSync(join(import.meta.dirname, '..', 'src', 'retro', 'report.ts'), 'utf8')
  const body = source.slice(source.indexOf('export interface RetroReport'))
  for (const [, field] of body.matchAll(/^ {2}([a-z_]+):/gm)) expect(page).toContain(`\`${field}\``)
})
