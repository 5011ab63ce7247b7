// One page, two engines: the bundle of `recollect ui` over a team server. What it asks for is answered with the documents that a
// memory over the same files has; and in Chromium it shows them, to each role what it may see.
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hasChromium, launchChromium } from '../scripts/chromium.mjs'
import { hashPassword } from '../src/fleet/server/guard.ts'
import { BothEngines, PEOPLE, TEAM } from './setup/both-engines.ts'
import { response, session } from './setup/fleet.ts'
import { HAS_POSTGRES } from './setup/postgres.ts'
import { serve, type WebClient } from './setup/web.ts'

// biome-ignore lint/suspicious/noExplicitAny: documents of either engine, as the page gets them.
type Document = any
const PASSWORD = 'correct horse battery'
let both: BothEngines
let memory: WebClient
const people = new Map<string, never>()
const tokens = new Map<string, string>()

beforeAll(async () => {
  if (!HAS_POSTGRES) return
  both = await BothEngines.start({ people: () => people, hasPasswords: true })
  memory = await (await serve(both.all.memory)).signIn()
  const salt = Buffer.alloc(16, 1)
  const hash = await hashPassword(PASSWORD, salt)
  for (const [person, role] of [
    ['lena', 'lead'],
    ['p1', 'viewer'],
    ['otto', 'auditor'],
  ] as const) {
    people.set(person, { person, team: TEAM, role, salt, hash } as never)
    tokens.set(role, await both.server.token(TEAM, person, role))
  }
}, 120_000)
afterAll(async () => {
  await memory?.server.close()
  await both?.stop()
})

async function there(path: string, role = 'lead'): Promise<Document> {
  const { status, body } = await both.server.ask(tokens.get(role) as string, 'GET', `/api/${path}`)
  expect([status, body], path).toEqual([200, expect.anything()])
  return body
}
const status = async (path: string, role: string): Promise<number> =>
  (await both.server.ask(tokens.get(role) as string, 'GET', `/api/${path}`)).status
const here = async (path: string): Promise<Document> => await memory.json(`/api/${path}`)
const SPAN = 'since=2026-11-10&until=2026-11-16&timezone=UTC'

describe.skipIf(!HAS_POSTGRES)('what the page asks for', () => {
  it('is a list with the same sessions, facets and costs', async () => {
    const questions = [
      '',
      'repo=calc',
      'outcome=success',
      'has_error=yes',
      'flavor=codex&flavor=grok',
      'sort=tokens',
      'all=1',
      'q=calc',
    ]
    for (const question of questions) {
      const [own, theirs] = [
        await here(`sessions?limit=500&${question}`),
        await there(`sessions?limit=500&${question}`),
      ]
      const facts = ({
        session_uid,
        repo,
        model,
        outcome,
        title,
        error_count,
        cost,
        started_at,
        cost_usd,
      }: Document) => ({
        ...{ session_uid, repo, model, outcome, title, error_count, started_at, cost_usd },
        tokens: [cost.input_tokens, cost.output_tokens, cost.cache_tokens, cost.turns],
      })
      expect(theirs.sessions.map(facts), question).toEqual(own.sessions.map(facts))
      expect([theirs.total, theirs.sessions.length % PEOPLE], question).toEqual([own.total, 0])
      for (const name of ['flavor', 'repo', 'domain', 'model', 'outcome', 'has_error'])
        expect(theirs.facets[name], `${question} ${name}`).toEqual(own.facets[name])
    }
    expect((await there('sessions', 'viewer')).total * PEOPLE).toBe((await there('sessions')).total)
  })

  it('is the same usage, and a retro with the same figures', async () => {
    for (const group of ['day', 'month', 'repo', 'model', 'flavor']) {
      const [own, theirs] = [
        await here(`usage?group=${group}&${SPAN}`),
        await there(`usage?group=${group}&${SPAN}`),
      ]
      // Which models were used is a figure of its own: it is told by model, where each is of five people.
      expect(theirs, group).toEqual(group === 'model' ? own : { ...own, models: [] })
    }
    const csv = await both.server.ask(
      tokens.get('lead') as string,
      'GET',
      `/api/usage.csv?group=repo&${SPAN}`,
    )
    expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    expect(csv.body).toBe((await memory.get(`/api/usage.csv?group=repo&${SPAN}`)).body)
    const [own, theirs] = [await here(`retro?${SPAN}`), await there(`retro?${SPAN}`)]
    expect([theirs.totals.sessions, theirs.totals.total_tokens]).toEqual([
      own.totals.sessions,
      own.totals.total_tokens,
    ])
    expect(theirs.document.figures.length).toBeGreaterThan(4)
    expect(await there('span')).toMatchObject({ last_at: (await here('span')).last_at })
  })

  it('is the same session: digest, lineage, outline, events, hits', async () => {
    const { sessions } = await here('sessions?limit=500&all=1')
    const texts: string[] = []
    for (const { session_uid: uid } of sessions.slice(0, 12)) {
      const at = `sessions/${encodeURIComponent(uid)}`
      const [own, theirs] = [await here(at), await there(at)]
      expect({ ...theirs.digest, tree: null }, uid).toEqual({ ...own.digest, tree: null })
      expect(theirs.verdict?.error ?? null, uid).toEqual(own.verdict?.error ?? null)
      const tree = ({ nodes }: Document): unknown[] =>
        nodes.map((one: Document) => [one.session_uid, one.depth, one.edge?.kind])
      expect(tree(theirs.lineage), uid).toEqual(tree(own.lineage))
      expect(await there(`${at}/outline`, 'auditor'), uid).toEqual(await here(`${at}/outline`))
      const [events, told] = [
        await here(`${at}/events?limit=500&payload=1`),
        await there(`${at}/events?limit=500&payload=1`, 'auditor'),
      ]
      expect(told, uid).toEqual(events)
      texts.push(JSON.stringify(events))
      const found = await there(`${at}/find?q=4711`, 'auditor')
      expect(found.seqs.length > 0, uid).toBe(
        /4711/.test(JSON.stringify(told.events.map((one: Document) => [one.summary, one.told]))),
      )
    }
    expect(texts.join('')).toContain('4711')
  }, 60_000)

  it('is the same failures, and where they were met for those who may know', async () => {
    const facts = ({ tool, sample, count, sessions }: Document): unknown => ({
      tool,
      sample,
      count,
      sessions,
    })
    const own = (await here('patterns?limit=100')).patterns.filter((one: Document) => one.kind === 'error')
    const theirs = await there('patterns?limit=100')
    expect(theirs.patterns.map(facts)).toEqual(own.map(facts))
    expect(theirs.patterns[0].evidence.length).toBeGreaterThan(0)
    const figures = await there('patterns?limit=100', 'viewer')
    expect(figures.patterns[0]).toMatchObject({ sample: '', evidence: [], mends: [] })
    expect(figures.names).toEqual({})
  })

  it('is found by words of digests', async () => {
    const found = await there('search/page?q=4711')
    expect(found.total).toBeGreaterThan(0)
    expect(found.sessions[0]).toMatchObject({ holds: 'all_in_event' })
    expect((await there('search/page?q=4711', 'viewer')).total * PEOPLE).toBe(found.total)
  })
})

describe.skipIf(!HAS_POSTGRES)('a role', () => {
  it('is answered what it may see, and nothing of what a server does not hold', async () => {
    const [{ session_uid: mine }] = (await there('sessions', 'viewer')).sessions
    const at = `sessions/${encodeURIComponent(mine)}`
    const other = (await there('sessions')).sessions.find(
      (one: Document) => one.user !== (both as Document).user && one.session_uid !== mine,
    )
    expect(await status(at, 'viewer')).toBe(200)
    expect(await status(`sessions/${encodeURIComponent(other.session_uid)}`, 'viewer')).toBe(404)
    for (const side of ['outline', 'events', 'find?q=a'])
      for (const role of ['viewer', 'lead'])
        expect(await status(`${at}/${side}`, role), `${role} ${side}`).toBe(403)
    expect(await status('lineage?related=1', 'viewer')).toBe(403)
    for (const path of [
      'storage',
      'doctor',
      'health',
      'live',
      'status',
      'compare',
      '__proto__',
      'sessions/a/b/c',
    ])
      expect(await status(path, 'auditor'), path).toBe(404)
    for (const path of [
      'usage?repo=calc',
      'sessions?touched=a',
      'search/page?q=a&how=literal',
      'usage?group=session',
      'retro?since=never',
      'sessions/%E0%A4%A',
    ])
      expect(await status(path, 'lead'), path).toBe(400)
    expect((await fetch(`${both.server.url}/api/sessions`)).status).toBe(401)
    const authorization = `Bearer ${both.token}`
    const foreign = await fetch(`${both.server.url}/api/sessions`, {
      headers: { authorization, 'sec-fetch-site': 'cross-site' },
    })
    expect([
      foreign.status,
      (await fetch(`${both.server.url}/api/sessions`, { method: 'POST', headers: { authorization } })).status,
    ]).toEqual([403, 405])
    expect(await both.server.ask(await both.server.token(TEAM, 'p0'), 'GET', '/api/sessions')).toMatchObject({
      status: 403,
    })
  })

  it('that reads text is in the audit log once for each look, before the first byte', async () => {
    const [{ session_uid: uid }] = (await there('sessions', 'viewer')).sessions
    const readings = async (): Promise<Document[]> =>
      (
        await both.server.ask(await both.server.token(TEAM, 'root', 'admin'), 'GET', '/v1/audit')
      ).body.entries.filter((one: Document) => one.session_uid === uid && one.what === 'text')
    const before = (await readings()).length
    const token = await both.server.token(TEAM, 'new-auditor', 'auditor')
    for (const side of ['outline', 'events', 'events?from=2', 'find?q=a'])
      expect(
        (await both.server.ask(token, 'GET', `/api/sessions/${encodeURIComponent(uid)}/${side}`)).status,
      ).toBe(200)
    expect((await readings()).length - before).toBe(1)
    expect((await readings())[0].reader).toBe('new-auditor')
    // The session's id is in no line of the log.
    expect(both.server.log.join('\n')).not.toContain(encodeURIComponent(uid))
  })
})

describe.skipIf(!HAS_POSTGRES || !hasChromium())('the page over a team server, in Chromium', () => {
  let browser: Browser
  const wrong: string[] = []
  beforeAll(async () => {
    browser = await launchChromium()
    const evil = '<img src=x onerror=alert(1)>'
    const pushed = session('claude:evil', evil, {
      level: 'digest',
      digest: { title: evil },
      facts: { repo: evil, started_at: Date.now() - 60_000, ended_at: Date.now() },
      ledger: [response('evil', 1)],
    })
    expect((await both.server.put(await both.server.token(TEAM, 'mallory'), pushed)).status).toBe(200)
  })
  afterAll(() => browser?.close())

  async function signIn(person: string): Promise<Page> {
    const page = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage()
    page.on('console', (one) => one.type() === 'error' && wrong.push(one.text()))
    page.on('pageerror', (one) => wrong.push(String(one)))
    page.on('dialog', (one) => {
      wrong.push(one.message())
      void one.dismiss()
    })
    page.on('request', (one) => one.url().startsWith(both.server.url) || wrong.push(one.url()))
    await page.goto(both.server.url)
    await page.fill('input[name=name]', person)
    await page.fill('input[name=password]', PASSWORD)
    await page.click('button')
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    return page
  }
  const views = (page: Page): Promise<string[]> => page.locator('.top nav a').allTextContents()

  it('shows a lead all views that a server answers, and each view its answer', async () => {
    const page = await signIn('lena')
    expect(await views(page)).toEqual([
      'Overview',
      'Sessions',
      'Search',
      'Usage',
      'Patterns',
      'Retro',
      'Lineage',
    ])
    await page.getByText('People').first().waitFor()
    for (const [name, text] of [
      ['Sessions', 'success'],
      ['Usage', 'By repository'],
      ['Patterns', 'Seen in'],
      ['Retro', 'Day by day'],
      ['Lineage', 'sub-agent'],
    ] as const) {
      await page.locator('.top nav').getByRole('link', { name }).click()
      await page.getByText(text).first().waitFor()
      expect(await page.locator('.problem').count(), name).toBe(0)
    }
    await page.goto(`${both.server.url}/search?q=4711`)
    await page.locator('.hit-group a').first().click()
    await page.getByText('Asked').first().waitFor()
    expect(await page.locator('.tabs a').allTextContents()).toEqual([
      expect.stringMatching(/^Signals/),
      'Lineage',
    ])
    expect(await page.getByText('pin', { exact: true }).count()).toBe(0)
    expect(wrong).toEqual([])
    await page.getByRole('button', { name: /Sign out/ }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  }, 60_000)

  it('shows an auditor the transcript, a viewer neither it nor trees, and nobody a foreign name as markup', async () => {
    const page = await signIn('otto')
    const [{ session_uid: uid }] = (await there('sessions?repo=calc')).sessions
    await page.goto(`${both.server.url}/s/${encodeURIComponent(uid)}?tab=transcript`)
    await page.locator('.transcript').getByText(/./).first().waitFor()
    // A list that nobody asked for yet: others are kept for some seconds.
    await page.goto(`${both.server.url}/sessions?since=30d`)
    await page.getByText('<img src=x onerror=alert(1)>').first().waitFor()
    const viewer = await signIn('p1')
    expect(await views(viewer)).toEqual(['Overview', 'Sessions', 'Search', 'Usage', 'Patterns', 'Retro'])
    expect(wrong).toEqual([])
  }, 60_000)
})
