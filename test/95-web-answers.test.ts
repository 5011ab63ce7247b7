// What the page says of what it knows, and what it does not: loading, failed and empty are told apart, search tells how much
// there is, usage answers where the money went, all tabs share one stream. In Chromium.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page, Route } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { BrowserSession, describeInBrowser } from './setup/browser.ts'
import { TestMemory } from './setup/memory.ts'

const DAY = 86_400_000
/** More than a page of the search shows at once. */
const SESSIONS = 52

let base: string
let memory: TestMemory
let web: BrowserSession

interface Written {
  number: number
  startAt: number
  repo: string
  model: string
  prompt: string
}

const uidOf = (number: number): string => `aaaaaaaa-0000-4000-8000-${String(number).padStart(12, '0')}`

/** A session of Claude Code: a prompt, an answer that cost something. */
function write(root: string, { number, startAt, repo, model, prompt }: Written): void {
  const id = uidOf(number)
  const line = (n: number, type: 'user' | 'assistant', content: unknown, more = {}): string =>
    JSON.stringify({
      parentUuid: n > 1 ? `${id}-${n - 1}` : null,
      isSidechain: false,
      cwd: `/home/dev/${repo}`,
      sessionId: id,
      version: '2.1.325',
      type,
      uuid: `${id}-${n}`,
      timestamp: new Date(startAt + n * 1000).toISOString(),
      message: { role: type, content, ...more },
    })
  const usage = { input_tokens: 1000, cache_read_input_tokens: 50_000, output_tokens: 2000 }
  const lines = [
    line(1, 'user', prompt),
    line(2, 'assistant', [{ type: 'text', text: 'Done.' }], { id: `msg_${number}`, model, usage }),
  ]
  mkdirSync(join(root, `-home-dev-${repo}`), { recursive: true })
  writeFileSync(join(root, `-home-dev-${repo}`, `${id}.jsonl`), `${lines.join('\n')}\n`)
}

/** The middle of the month before this one. */
function lastMonth(): Date {
  const now = new Date()
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 15, 12))
}

const month = lastMonth().toISOString().slice(0, 7)
const text = (selector: string): Promise<string | null> => web.page.locator(selector).first().textContent()

/** Answers of some questions are held back or refused until the test is done with them. */
async function answering(path: string, how: (route: Route) => Promise<void>, work: () => Promise<void>) {
  const pattern = `**/api/${path}`
  await web.page.route(pattern, how)
  try {
    await work()
  } finally {
    await web.page.unroute(pattern)
  }
}
const refused = (route: Route): Promise<void> =>
  route.fulfill({
    status: 500,
    contentType: 'application/json',
    body: JSON.stringify({
      error: { code: 'IO', message: 'the disk said no', where: 'memory.db', hint: 'look' },
    }),
  })

describeInBrowser('answers', () => {
  beforeAll(async () => {
    base = mkdtempSync(join(tmpdir(), 'recollect-answers-'))
    const root = join(base, '.claude', 'projects')
    for (let number = 1; number <= SESSIONS; number++)
      write(root, {
        number,
        startAt: lastMonth().getTime() + number * 60_000,
        repo: number % 4 === 0 ? 'billing' : 'atlas',
        model: number % 2 === 0 ? 'claude-opus-5-5' : 'claude-sonnet-4-6',
        prompt: `Please look for the walrus, number ${number}.`,
      })
    // Of another year, and of just now.
    const old = Date.now() - 500 * DAY
    write(root, {
      number: 90,
      startAt: old,
      repo: 'atlas',
      model: 'claude-opus-4-8',
      prompt: 'An old question.',
    })
    const fresh = { number: 91, startAt: Date.now() - 60_000, repo: 'notes', model: 'claude-opus-5-5' }
    write(root, { ...fresh, prompt: 'Something of right now.' })
    memory = new TestMemory({ claude: [root] })
    await memory.sweep()
    web = await BrowserSession.open(
      memory.home,
      { timezoneId: 'UTC' },
      { env: { RECOLLECT_HOME: memory.home, HOME: base } },
    )
  })

  afterAll(async () => {
    await web.close()
    memory.remove()
    rmSync(base, { recursive: true, force: true })
  })

  afterEach(() => {
    expect(web.seen).toEqual({ outside: [], violations: [], errors: [], dialogs: [] })
  })

  it('say "nothing needs attention" only when all who could object have answered', async () => {
    const card = web.page.locator('.card', { hasText: 'Needs attention' })
    await answering('doctor', refused, async () => {
      await web.goto('/')
      await card.getByText('what doctor found could not be read: the disk said no').waitFor()
      expect(await card.textContent()).not.toContain('every byte was read')
    })
    await card.getByRole('button', { name: 'try again' }).click()
    await card.locator('.part-problem').waitFor({ state: 'detached' })
  })

  it.each([
    ['/', 'overview*', 'The figures of this span could not be read'],
    ['/sessions', 'sessions?*', 'The list of sessions could not be read'],
    ['/search?q=walrus', 'search/page*', 'The search could not be read'],
    ['/usage', 'usage?*', 'Tokens and cost could not be read'],
    ['/patterns', 'patterns*', 'What keeps failing could not be read'],
    ['/tools', 'tools*', 'What the tools did could not be read'],
    ['/retro', 'retro*', 'The account of these days could not be read'],
    ['/lineage', 'lineage*', 'The lineage could not be read'],
    ['/storage', 'storage', 'What is stored could not be read'],
    ['/health', 'health', 'How much of the logs was understood could not be read'],
  ])('of %s load, fail with what and why, and are asked for again', async (path, asked, words) => {
    let release = (): void => {}
    const held = new Promise<void>((done) => {
      release = done
    })
    await answering(
      asked,
      async (route) => {
        await held
        await refused(route)
      },
      async () => {
        await web.goto(path)
        await web.page.locator('.loading').first().waitFor({ state: 'attached' })
        expect(await web.page.locator('.empty').count()).toBe(0)
        release()
        const problem = web.page.locator('.problem', { hasText: words }).first()
        await problem.waitFor()
        expect(await problem.textContent()).toContain('the disk said no')
      },
    )
    await web.page.locator('.problem').getByRole('button', { name: 'Try again' }).first().click()
    await web.page.locator('.problem').first().waitFor({ state: 'detached' })
  })

  it('of a search tell all there is, and more of it is shown when asked for', async () => {
    await web.goto('/search?q=walrus')
    const status = web.page.locator('.main-column [role=status]')
    await expect
      .poll(() => status.textContent())
      .toBe(`${SESSIONS} hits in ${SESSIONS} sessions, the first 40 below`)
    expect(await web.page.locator('.hit-group').count()).toBe(40)
    await web.page.getByRole('button', { name: `Show 12 more of ${SESSIONS}` }).click()
    await expect.poll(() => web.page.locator('.hit-group').count()).toBe(SESSIONS)
    await expect.poll(() => status.textContent()).toBe(`${SESSIONS} hits in ${SESSIONS} sessions`)
  })

  it('are narrowed by several values of a facet, and sorted', async () => {
    await web.goto('/search?q=walrus')
    const total = web.page.locator('.main-column [role=status] strong').last()
    await web.page.locator('.facets a', { hasText: 'billing' }).click()
    await expect.poll(() => total.textContent()).toBe('13')
    await web.page.locator('.facets a', { hasText: 'atlas' }).click()
    await expect.poll(() => new URL(web.page.url()).searchParams.getAll('repo')).toEqual(['billing', 'atlas'])
    await expect.poll(() => total.textContent()).toBe(String(SESSIONS))
    await web.page.getByLabel('order').selectOption('recent')
    await expect.poll(() => text('.hit-text')).toContain(`number ${SESSIONS}.`)
    await web.goto('/sessions?repo=billing&repo=notes')
    await expect.poll(() => text('h1 .total')).toBe('14')
  })

  it('to one question are never shown under another', async () => {
    await web.goto('/search?q=walrus')
    await web.page.locator('.hit-group').first().waitFor()
    let release = (): void => {}
    const held = new Promise<void>((done) => {
      release = done
    })
    await answering(
      'search/page*',
      async (route) => {
        await held
        await route.continue()
      },
      async () => {
        await web.page.locator('.search-box').fill('nothing at all')
        await web.page.locator('.loading').first().waitFor({ state: 'attached' })
        expect(await web.page.locator('.hit-group').count()).toBe(0)
        release()
        await web.page.getByText('Nothing found for nothing at all').waitFor()
      },
    )
  })

  it('say how they were found, in the words of the command line', async () => {
    await web.goto('/search?q=wlarus')
    await web.page.getByText('nothing holds wlarus: these hold walrus').waitFor()
    await web.goto(`/search?q=${encodeURIComponent('where did you look for the walrus')}`)
    await web.page.getByText('not looked for:').waitFor()
    await web.goto('/search?q=walr')
    await web.page.getByText('these hold words that begin so').waitFor()
  })

  it('about outcomes come with what they rest on; what was heard of just now is not over', async () => {
    await web.goto('/sessions')
    const fresh = web.page.locator(`[data-uid="claude:${uidOf(91)}"]`)
    await fresh.waitFor()
    expect(await fresh.locator('.row-outcome').textContent()).toMatch(/success so far\s*says it is done/)
    const other = web.page.locator(`[data-uid="claude:${uidOf(SESSIONS)}"] .row-outcome`)
    expect(await other.textContent()).not.toContain('so far')
    expect(await other.locator('.badge').getAttribute('title')).toContain('says it is done')
  })

  it('have dates with their year, also where there is little room', async () => {
    const years = new Date(Date.now() - 500 * DAY).getFullYear()
    await web.goto('/sessions?q=old')
    await expect.poll(() => text('.row-when')).toContain(String(years))
    await web.goto('/sessions?q=right+now')
    await expect.poll(() => text('.row-when')).toContain(String(new Date().getFullYear()))
    await web.page.setViewportSize({ width: 390, height: 844 })
    try {
      await expect.poll(() => text('.row-meta')).toContain(String(new Date().getFullYear()))
      expect(await web.page.locator('.row-meta time').first().isVisible()).toBe(true)
    } finally {
      await web.page.setViewportSize({ width: 1280, height: 900 })
    }
  })

  it('about money lead from last month to a repository, a model, a session and its turns', async () => {
    await web.goto('/usage')
    await web.page.getByRole('link', { name: 'Last month', exact: true }).click()
    const table = web.page.locator('.table-scroll[aria-label^="Usage by"]')
    await table.locator('tfoot').waitFor()
    const responses = table.locator('tfoot td').nth(3)
    await expect.poll(() => responses.textContent()).toBe(String(SESSIONS))
    // Every day of the month has its place, also those without a response.
    const days = new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)), 0)).getUTCDate()
    const shown = web.page.locator('.chart table tbody tr')
    await expect.poll(() => shown.count()).toBe(days)
    await table.getByRole('link', { name: 'atlas', exact: true }).click()
    await expect.poll(() => responses.textContent()).toBe('39')
    await table.getByRole('link', { name: 'claude-opus-5-5', exact: true }).click()
    await expect.poll(() => table.locator('tbody tr').count()).toBe(13)
    await table.getByRole('link', { name: 'Session', exact: true }).click()
    const first = table.locator('tbody a').first()
    await expect.poll(() => first.textContent()).toContain('number 10.')
    await first.click()
    await web.page.getByRole('heading', { name: 'Cost per turn' }).waitFor()
  })

  it('about money end where they are told to, and can be taken along', async () => {
    const ask = (path: string): Promise<string> =>
      web.page.evaluate(`fetch('/api/${path}').then(answer => answer.text())`) as Promise<string>
    const csv = await ask(`usage.csv?group=session&since=${month}-01&until=${month}-28&timezone=UTC`)
    const [head = '', ...rows] = csv.trim().split('\r\n')
    expect(head.split(',').slice(0, 3)).toEqual(['key', 'name', 'responses'])
    expect(rows).toHaveLength(SESSIONS)
    expect(rows.every((row) => row.split('"').length % 2 === 1)).toBe(true)
    const none = JSON.parse(await ask(`usage?group=day&since=${month}-16&until=${month}-17&timezone=UTC`))
    expect(none.rows).toEqual([])
  })

  it('are found from anywhere: sessions, views and actions', async () => {
    await web.goto('/storage')
    await web.page.keyboard.press('Control+k')
    const input = web.page.locator('.palette input')
    // Escape goes away at once, also from words that were typed.
    await input.fill('nothing')
    await web.page.keyboard.press('Escape')
    await input.waitFor({ state: 'detached' })
    await web.page.keyboard.press('Control+k')
    await input.fill('usg')
    await web.page.keyboard.press('Enter')
    await expect.poll(() => web.heading()).toContain('Usage')
    await web.page.keyboard.press('Control+k')
    await input.fill('right now')
    await web.page.locator('.palette [role=option]', { hasText: 'Something of right now.' }).waitFor()
    await web.page.keyboard.press('Enter')
    await web.page.locator('.session-head h1', { hasText: 'Something of right now.' }).waitFor()
    await web.page.keyboard.press('Control+k')
    await input.fill('dark')
    await web.page.keyboard.press('Enter')
    const ground = (): Promise<unknown> =>
      web.page.evaluate('getComputedStyle(document.documentElement).backgroundColor')
    await expect.poll(ground).toBe('rgb(19, 22, 21)')
    await web.page.reload()
    await expect.poll(ground).toBe('rgb(19, 22, 21)')
    await web.page.getByLabel(/colours: dark/).click()
    await web.page.getByLabel(/colours: system/).waitFor()
  })

  it('reach twelve tabs, each of them live, over one stream', async () => {
    const streams: Page[] = []
    const context = web.page.context()
    const tabs = [web.page]
    context.on('request', (request) => {
      if (request.url().endsWith('/api/live')) streams.push(request.frame().page())
    })
    await web.goto('/sessions')
    const more = await Promise.all(Array.from({ length: 11 }, () => context.newPage()))
    tabs.push(...more)
    await Promise.all(more.map((tab) => tab.goto(`${web.client.origin}/sessions`)))
    for (const tab of more) await tab.locator('.row-title').first().waitFor()
    expect(new Set(streams).size).toBe(1)
    // The one that listens is closed: another takes over, and all of them learn of what is new.
    await (streams[0] as Page).close()
    const others = tabs.filter((tab) => !tab.isClosed())
    await expect.poll(() => new Set(streams).size).toBe(2)
    write(join(base, '.claude', 'projects'), {
      number: 92,
      startAt: Date.now(),
      repo: 'notes',
      model: 'claude-opus-5-5',
      prompt: 'Seen by everybody.',
    })
    await memory.sweep()
    for (const tab of others) await tab.locator('.row-title', { hasText: 'Seen by everybody.' }).waitFor()
    for (const tab of others) await tab.close()
  })
})
