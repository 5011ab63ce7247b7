// The page in Chromium, on a memory of sessions that the real agents wrote.
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { BrowserSession, describeInBrowser } from './setup/browser.ts'
import { agentRoots, TestMemory } from './setup/memory.ts'
import { serve } from './setup/web.ts'

const VIEWS: [path: string, heading: string, shows: string][] = [
  ['/', 'Overview', 'Cost per day'],
  ['/sessions', 'Sessions', 'Had errors'],
  ['/search?q=calc', 'Search', 'hits in'],
  ['/usage', 'Usage', 'Saved by caching'],
  ['/patterns', 'Patterns', 'sessions'],
  ['/lineage', 'Lineage', 'forked'],
  ['/compare', 'Compare', 'Choose two sessions'],
  ['/storage', 'Storage', 'What eviction would do now'],
  ['/health', 'Health', 'Understood'],
]

const TABS: [tab: string, shows: string][] = [
  ['transcript', 'prompt'],
  ['timeline', 'Longest steps'],
  ['files', 'edit by edit'],
  ['context', 'tokens given to the model'],
  ['cost', 'Cost per turn'],
  ['lineage', 'this one'],
  ['signals', 'Commands'],
  ['raw', 'Records'],
]

let memory: TestMemory
let web: BrowserSession
let tools: string
/** A session that the tests let grow, in a place of its own. */
let growing: string

describe('the weight of the page', () => {
  it('stays below 120 kB, compressed, and holds nothing of the server', () => {
    const directory = join(import.meta.dirname, '..', 'dist', 'page')
    const files = readdirSync(directory).map((name) => readFileSync(join(directory, name)))
    const bytes = files.reduce((sum, file) => sum + gzipSync(file).length, 0)
    expect(bytes).toBeLessThan(120_000)
    expect(readFileSync(join(directory, 'page.js'), 'utf8')).not.toMatch(/from\s*["'`]node:|sqlite/i)
  })
})

describe('the look of the page', () => {
  it('names its spaces, its sizes of type and its corners, as docs/design-system.md has them', () => {
    const directory = join(import.meta.dirname, '..', 'src', 'web', 'page')
    const literal =
      /^\s*(?:(?:padding|margin|gap|row-gap|column-gap)[\w-]*:.*(?<![\d.])0?\.?[1-9][\d.]*rem|font-size:\s*[\d.]+rem|border-radius:.*\b(?!999px)\d+px)/
    const found = ['style.css', 'session.css'].flatMap((name) =>
      readFileSync(join(directory, name), 'utf8')
        .split('\n')
        .filter((line) => literal.test(line))
        .map((line) => `${name}: ${line.trim()}`),
    )
    // Room that belongs to one thing: the link beside a step, the button in the corner, the foot of the page.
    expect(found.filter((line) => !/(?:8\.5|4\.5|3)rem/.test(line))).toEqual([])
  })
})

describeInBrowser('the page', () => {
  beforeAll(async () => {
    const { roots, uids } = agentRoots(['claude-2.1.200', 'grok-1.0.5', 'codex-0.121'])
    tools = uids.get('claude-2.1.200/tools')?.[0] as string
    growing = join(mkdtempSync(join(tmpdir(), 'recollect-growing-')), '.claude', 'projects')
    roots['claude']?.push(growing)
    memory = new TestMemory(roots)
    await memory.sweep()
    web = await BrowserSession.open(memory.home)
  })

  afterAll(async () => {
    await web.close()
    memory.remove()
    rmSync(join(growing, '..', '..'), { recursive: true, force: true })
  })

  afterEach(() => {
    expect(web.seen).toEqual({ outside: [], violations: [], errors: [], dialogs: [] })
  })

  it.each(VIEWS)('shows %s', async (path, heading, shows) => {
    await web.goto(path)
    await web.page.getByText(shows).first().waitFor()
    expect(await web.heading()).toContain(heading)
  })

  it.each(TABS)('shows a session as %s', async (tab, shows) => {
    await web.goto(`/s/${tools}?tab=${tab}`)
    await web.page.getByText(shows).first().waitFor()
  })

  it('shows prompts, calls with their answers, and changes as what went and what came', async () => {
    await web.goto(`/s/${tools}`)
    const call = web.page.locator('.call', { hasText: 'calc.js' }).filter({ hasText: 'edit' }).first()
    await call.locator('.line.added').first().waitFor()
    expect(await call.locator('.line.removed').first().textContent()).toContain('return a - b;')
    expect(await call.locator('.line.added').first().textContent()).toContain('return a + b;')
    expect(await web.page.locator('.said.prompt').count()).toBeGreaterThan(0)
    expect(await web.page.locator('.verdict.failed').count()).toBeGreaterThan(0)
  })

  it('narrows by facets and words, keeps them in the address, and goes back', async () => {
    await web.goto('/sessions')
    const total = web.page.locator('h1 .total')
    await expect.poll(() => total.textContent()).toMatch(/\d/)
    const all = Number(await total.textContent())
    const facet = web.page.locator('.facets a').first()
    const count = Number(await facet.locator('.facet-count').textContent())
    await facet.click()
    await expect.poll(() => total.textContent()).toBe(String(count))
    expect(count).toBeLessThan(all)
    const narrowed = web.page.url()
    await web.page.goBack()
    await expect.poll(() => total.textContent()).toBe(String(all))
    // The address alone leads to the same list.
    await web.page.goto(narrowed)
    await expect.poll(() => total.textContent()).toBe(String(count))
    await web.page.fill('#filter', tools.slice(-12))
    await expect.poll(() => total.textContent()).toBe('1')
    expect(web.page.url()).toContain(`q=${tools.slice(-12)}`)
  })

  it('can be used with the keyboard alone', async () => {
    await web.goto('/sessions')
    await web.page.locator('.row-title').first().waitFor()
    const titles = await web.page.locator('.row-title').allTextContents()
    for (const key of ['j', 'j', 'j', 'k']) await web.page.keyboard.press(key)
    await expect.poll(() => web.page.locator('.row.chosen .row-title').textContent()).toBe(titles[1])
    const focused = (what: string): Promise<unknown> => web.page.evaluate(`document.activeElement.${what}`)
    await web.page.keyboard.press('/')
    await expect.poll(() => focused('id')).toBe('filter')
    await web.page.keyboard.press('Escape')
    await expect.poll(() => focused('id')).toBe('')
    await web.page.keyboard.press('Enter')
    await web.page.locator('.session-head h1').waitFor()
    expect(web.page.url()).toContain('/s/')
    await web.page.keyboard.press('?')
    await web.page.locator('dialog[open]', { hasText: 'next and previous error' }).waitFor()
    await web.page.keyboard.press('Escape')
    await web.page.locator('dialog[open]').waitFor({ state: 'detached' })
    await web.page.keyboard.press('g')
    await web.page.keyboard.press('u')
    await expect.poll(() => web.heading()).toContain('Usage')
    await web.page.keyboard.press('Tab')
    await expect.poll(() => focused('textContent')).toContain('Skip')
  })

  it('opens an event by its address, and finds text inside a session', async () => {
    await web.goto(`/s/${tools}?find=calc`)
    await web.page
      .locator('.find-state')
      .getByText(/of \d+/)
      .waitFor()
    await web.page.getByLabel('next hit').click()
    await web.page.locator('.slot.target').waitFor()
    const seq = new URL(web.page.url()).searchParams.get('seq') as string
    await web.goto(`/s/${tools}?seq=${seq}`)
    const target = web.page.locator('.slot.target')
    await target.waitFor()
    await expect.poll(async () => (await target.boundingBox())?.y ?? -1).toBeGreaterThan(0)
  })

  it('grows on screen while a session runs', async () => {
    const id = 'aaaaaaaa-0000-4000-8000-000000000001'
    const file = join(growing, '-home-dev-proj', `${id}.jsonl`)
    const line = (n: number, words: string): string =>
      `${JSON.stringify({ parentUuid: n > 1 ? `u${n - 1}` : null, isSidechain: false, cwd: '/home/dev/proj', sessionId: id, version: '2.1.325', type: 'user', uuid: `u${n}`, timestamp: new Date().toISOString(), message: { role: 'user', content: words } })}\n`
    mkdirSync(join(growing, '-home-dev-proj'), { recursive: true })
    await web.goto('/sessions')
    await web.page.locator('.row-title').first().waitFor()
    writeFileSync(file, line(1, 'First words, live.'))
    await memory.sweep()
    const row = web.page.locator(`[data-uid="claude:${id}"]`)
    await row.getByText('First words, live.').waitFor()
    await row.getByText('1 event', { exact: true }).waitFor()
    appendFileSync(file, line(2, 'Second words.'))
    await memory.sweep()
    await row.getByText('2 events').waitFor()
    await row.click()
    await web.page.locator('.said.prompt').getByText('Second words.').waitFor()
    appendFileSync(file, line(3, 'Third words, seen without a reload.'))
    await memory.sweep()
    await web.page.locator('.said.prompt').getByText('Third words, seen without a reload.').waitFor()
  })

  it('pins a session', async () => {
    await web.goto(`/s/${tools}`)
    await web.page.getByRole('button', { name: 'pin', exact: true }).click()
    await web.page.getByRole('button', { name: 'pinned: unpin' }).waitFor()
    await web.goto('/storage')
    await web.page.getByRole('button', { name: 'unpin' }).click()
    await web.page.getByText('No session is pinned.').waitFor()
  })

  it('compares two sessions', async () => {
    await web.goto(`/compare?a=${tools}`)
    const { sessions } = (await web.page.evaluate(
      `fetch('/api/sessions?limit=8&q=Run').then(answer => answer.json())`,
    )) as { sessions: unknown[] }
    await web.page.getByLabel('find the second session').fill('Run')
    const picks = web.page.locator('.picks button')
    // Until then those of the question before stand there.
    await expect.poll(() => picks.count()).toBe(sessions.length)
    await picks.first().click()
    await web.page.getByRole('heading', { name: 'Figures' }).waitFor()
    expect(new URL(web.page.url()).searchParams.get('b')).toBeTruthy()
  })

  it('says when the server is gone, and comes back with it', async () => {
    const copy = join(mkdtempSync(join(tmpdir(), 'recollect-copy-')), 'memory')
    cpSync(memory.home, copy, { recursive: true })
    const other = await BrowserSession.open(copy)
    try {
      await other.goto('/sessions')
      await other.page.locator('.row-title').first().waitFor()
      await other.client.server.close()
      await other.page.getByText('The server does not answer.').waitFor()
      expect(await other.page.locator('.row-title').count()).toBeGreaterThan(0)
      const again = await serve(copy, { port: other.client.server.port })
      // Another server knows other cookies: its own address lets this browser in again.
      await other.page.goto(again.server.url)
      await other.page.locator('.figures').waitFor()
      await again.server.close()
    } finally {
      await other.close()
      rmSync(join(copy, '..'), { recursive: true, force: true })
    }
  })
})

describeInBrowser('the page without a memory', () => {
  it('says so with the next step, and fills when it is taken', async () => {
    const { roots } = agentRoots(['codex-0.45'])
    const empty = new TestMemory(roots)
    const runSweep = async (): Promise<{ code: number; output: string }> => {
      await empty.sweep()
      return { code: 0, output: '' }
    }
    const web = await BrowserSession.open(empty.home, {}, { runSweep })
    try {
      for (const path of ['/', '/sessions', '/storage', '/health', '/lineage', '/patterns', '/usage']) {
        await web.goto(path)
        await web.page.getByText('Nothing is remembered yet').first().waitFor()
      }
      // No room is kept for what the list could be narrowed by.
      await web.goto('/sessions')
      await web.page.getByText('Nothing is remembered yet').first().waitFor()
      expect((await web.page.locator('.session-list').boundingBox())?.x).toBeLessThan(100)
      await web.goto('/usage')
      await web.page.getByRole('button', { name: 'Sweep now' }).first().click()
      await web.page.getByText('Saved by caching').waitFor()
      expect(web.seen.errors).toEqual([])
    } finally {
      await web.close()
      empty.remove()
    }
  })

  it('or with a damaged one says what is wrong and what to do', async () => {
    const broken = new TestMemory({})
    writeFileSync(broken.paths.memoryPath, 'this is no database, though it may have been one')
    const web = await BrowserSession.open(broken.home)
    try {
      await web.goto('/sessions')
      await web.page.getByText('The memory cannot be read').waitFor()
      expect(await web.page.locator('.problem').textContent()).toContain('CORRUPT')
      expect(web.seen.errors).toEqual([])
    } finally {
      await web.close()
      broken.remove()
    }
  })
})
