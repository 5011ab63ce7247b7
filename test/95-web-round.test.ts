// What the page promises beside what the other tests hold: nothing is told before all have answered, figures agree, what is
// worked out does not hold up what is asked, states and switches, tools, retro, comparison, the list beside. In Chromium.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Route } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { launchChromium } from '../scripts/chromium.mjs'
import type { Digest } from '../src/digest/digest.ts'
import type { Lineage } from '../src/query/lineage.ts'
import type { Spend } from '../src/query/spend.ts'
import type { ToolRow } from '../src/query/tools.ts'
import { BrowserSession, describeInBrowser, newPage } from './setup/browser.ts'
import { agentRoots, TestMemory } from './setup/memory.ts'
import { cliPath, temporary } from './setup/sweeping.ts'
import { ToldSession } from './setup/told-session.ts'

const HOUR = 3_600_000
const TEST = 'npm test -- cart'
const RED = 'FAIL cart\nAssertionError: expected 2 items, got 3\nTests 1 failed | 4 passed'
/** More sessions than a mend names. */
const MENDED = 13

let base: string
let memory: TestMemory
let web: BrowserSession
let mended: ToldSession[]
let running: ToldSession
let idle: ToldSession
let long: ToldSession

const at = (root: string, number: number, startAt: number, cwd = '/home/dev/shop'): ToldSession => {
  const id = `9999${String(number).padStart(4, '0')}-0000-4000-8000-000000000001`
  return new ToldSession(join(root, '-home-dev-shop', `${id}.jsonl`), { id, startAt, cwd })
}
const ask = async <T>(path: string): Promise<T> =>
  (await web.page.evaluate(`fetch('/api/${path}').then(answer => answer.json())`)) as T
const param = (name: string): string | null => new URL(web.page.url()).searchParams.get(name)
const open = async (uid: string, rest = ''): Promise<void> => {
  await web.goto(`/s/${encodeURIComponent(uid)}${rest}`)
  await web.page.locator('.verdict-card').waitFor()
}

function writeSessions(root: string): void {
  mended = Array.from({ length: MENDED }, (_, n) =>
    at(root, n, Date.now() - (30 + n) * HOUR)
      .prompt('The cart counts one item too many. Mend it.')
      .think('Perhaps it is the loop.')
      .call('Bash', { command: TEST }, RED, { isError: true })
      .edit('/home/dev/shop/src/cart.ts', 'items.length + 1', 'items.length')
      .call('Bash', { command: TEST }, 'Tests 5 passed')
      .call('Read', { file_path: '/nowhere' }, 'File does not exist.', { isError: true })
      .say('## Done\n\n| what | how |\n|---|---|\n| `cart.ts` | **counts** right |\n\nAll tests pass.'),
  )
  running = at(root, 80, Date.now() - 5000).prompt('What is in the cart?')
  long = at(root, 82, Date.now() - 6 * HOUR, '/home/dev/long').prompt('Count to forty.')
  for (let n = 0; n < 40; n++) long.call('Bash', { command: `echo ${n}` }, `said ${n}`)
  long.say('Done.')
  idle = at(root, 81, Date.now() - 5 * 60_000).prompt('What is in the other cart?')
}

describeInBrowser('the second round', () => {
  beforeAll(async () => {
    const { roots } = agentRoots(['codex-0.45', 'claude-2.1.200', 'grok-1.0.5'])
    base = mkdtempSync(join(tmpdir(), 'recollect-round-'))
    const root = join(base, '.claude', 'projects')
    writeSessions(root)
    memory = new TestMemory(
      { ...roots, claude: [...(roots['claude'] ?? []), root] },
      '[ui]\neditor = "idea://open?file={path}&line={line}"\n',
    )
    await memory.sweep()
    const context = { permissions: ['clipboard-read', 'clipboard-write'], timezoneId: 'UTC' }
    web = await BrowserSession.open(memory.home, context)
  })

  afterAll(async () => {
    await web?.close()
    memory?.remove()
    rmSync(base, { recursive: true, force: true })
  })

  afterEach(() => {
    expect(web.seen).toEqual({ outside: [], violations: [], errors: [], dialogs: [] })
  })

  it('says that nothing needs attention when doctor, health and storage have said so, and not before', async () => {
    /** What each of them answers where it has nothing to say. */
    const silent: Record<string, object> = {
      doctor: { findings: [] },
      health: { gap_count: 0, flavors: [], undigested: 0, log: [] },
      storage: { plan: { steps: [] } },
      overview: { unpriced: [], sole_copies: 0 },
    }
    const answers = new Map<string, (route: Route) => Promise<void>>()
    for (const [name, nothing] of Object.entries(silent))
      await web.page.route(new RegExp(`/api/${name}(\\?|$)`), async (route) => {
        const other = answers.get(name)
        if (other) return await other(route)
        const response = await route.fetch()
        await route.fulfill({ response, json: { ...(await response.json()), ...nothing } })
      })
    const card = web.page.locator('.card', { hasText: 'Needs attention' })
    const words = card.getByText('Nothing: every byte was read')
    await web.goto('/')
    await words.waitFor()
    for (const [name, subject] of [
      ['doctor', 'what doctor found'],
      ['health', 'how much of the logs was understood'],
      ['storage', 'what is stored'],
    ] as const) {
      let release = (): void => {}
      const held = new Promise<void>((done) => {
        release = done
      })
      answers.set(name, async (route) => {
        await held
        await route.fulfill({ status: 500, json: { error: { code: 'IO', message: 'the disk said no' } } })
      })
      await web.goto('/')
      await card.getByText(`reading ${subject}`).waitFor()
      expect(await words.count(), `${name} loads`).toBe(0)
      release()
      await card.getByText(`${subject} could not be read: the disk said no`).waitFor()
      expect(await words.count(), `${name} failed`).toBe(0)
      answers.delete(name)
    }
    await web.page.unrouteAll()
  })

  it('says of the dearest sessions, too, that something of them has no price', async () => {
    await web.page.route(/\/api\/overview/, async (route) => {
      const response = await route.fetch()
      const json = (await response.json()) as { dearest: object[] }
      const dearest = json.dearest.map((one) => ({ ...one, cost_usd: '4.20', unpriced_responses: 2 }))
      await route.fulfill({ response, json: { ...json, dearest } })
    })
    await web.goto('/')
    const card = web.page.locator('.card', { hasText: 'Most expensive sessions' })
    await card.getByText('≥ $4.20').first().waitFor()
    await web.page.unrouteAll()
  })

  it('counts a compaction once, wherever it is told', async () => {
    const compacted = [...memory.digests().values()].filter((one) => one.compactions.length > 0)
    expect(compacted.length).toBeGreaterThan(0)
    for (const { session_uid: uid, compactions } of compacted) {
      expect(new Set(compactions).size).toBe(compactions.length)
      const path = `sessions/${encodeURIComponent(uid)}`
      const { digest } = await ask<{ digest: Digest }>(path)
      expect(digest.markers.compactions).toBe(compactions.length)
      expect((await ask<Spend>(`${path}/spend`)).compactions).toHaveLength(compactions.length)
      const { nodes } = await ask<Lineage>(`${path}/lineage`)
      const told = nodes.find((one) => one.session_uid === uid)
      expect(JSON.stringify(told)).toContain(`"compactions":${compactions.length}`)
    }
  })

  it('says of how many sessions it shows the first, of what mended an error', async () => {
    await web.goto('/patterns')
    const cure = web.page.locator('.pattern', { hasText: 'expected 2 items, got 3' }).locator('.cure').first()
    await cure.waitFor()
    const text = (await cure.textContent()) ?? ''
    const [, sessions] = /in (\d+) sessions/.exec(text) ?? []
    expect(Number(sessions)).toBe(MENDED)
    const shown = await cure.locator('.places a').count()
    expect(text).toContain(`and ${MENDED - shown} more`)
  })

  it('keeps its switches in the address', async () => {
    await open((mended[0] as ToldSession).uid)
    const thoughts = web.page.locator('.thought')
    await thoughts.first().waitFor()
    await web.page.getByLabel('thinking').uncheck()
    await thoughts.first().waitFor({ state: 'detached' })
    expect(param('thinking')).toBe('0')
    await web.page.getByLabel('housekeeping').check()
    expect(param('all')).toBe('1')
    await web.page.reload()
    await web.page.locator('.said.prompt').first().waitFor()
    expect(await thoughts.count()).toBe(0)
    expect(await web.page.getByLabel('housekeeping').isChecked()).toBe(true)
  })

  it('sorts money by a click on a heading, both ways, and keeps that in the address', async () => {
    await web.goto('/usage?group=session')
    const table = web.page.locator('.table-scroll[aria-label="Usage by session"]')
    const costs = async (): Promise<number[]> =>
      (await table.locator('tbody td:nth-child(2)').allTextContents()).map((one) =>
        Number(one.replace(/[^\d.]/g, '')),
      )
    const heading = table.getByRole('columnheader', { name: 'Cost' })
    await heading.getByRole('link').click()
    await expect.poll(() => heading.getAttribute('aria-sort')).toBe('descending')
    const falling = await costs()
    expect(falling.length).toBeGreaterThan(MENDED)
    expect(falling).toEqual(falling.toSorted((a, b) => b - a))
    await heading.getByRole('link').click()
    await expect.poll(() => heading.getAttribute('aria-sort')).toBe('ascending')
    await web.page.reload()
    await heading.waitFor()
    expect(await costs()).toEqual(falling.toSorted((a, b) => a - b))
  })

  it('goes back to the error before by a key', async () => {
    await open((mended[0] as ToldSession).uid)
    await web.page.locator('.slot .step:not(.pending)').first().waitFor()
    const errors: string[] = []
    for (const key of ['e', 'e', 'E']) {
      const before = param('seq')
      await web.page.keyboard.press(key)
      await expect.poll(() => param('seq')).not.toBe(before)
      errors.push(param('seq') as string)
    }
    expect(errors[2]).toBe(errors[0])
    expect(errors[1]).not.toBe(errors[0])
  })

  it('tells one that runs from one in which nothing was heard for a while', async () => {
    running.think('Let me see.')
    await memory.sweep()
    await open(running.uid)
    await web.page.locator('.badge.live-running', { hasText: 'running' }).waitFor()
    await open(idle.uid)
    await web.page.locator('.badge.live-idle', { hasText: 'idle' }).waitFor()
    await web.goto('/sessions')
    const row = web.page.locator(`[data-uid="${running.uid}"] .row-outcome`)
    await row.waitFor()
    expect(await row.textContent()).not.toContain('success')
  })

  it('follows the end for whoever scrolled there, and leaves whoever scrolled away', async () => {
    await open(long.uid)
    await web.page.locator('.slot .step:not(.pending)').first().waitFor()
    const scroller = web.page.locator('.scroller')
    await scroller.hover()
    const left = (): Promise<number> =>
      scroller.evaluate((one) => Math.round(one.scrollHeight - one.scrollTop - one.clientHeight))
    const roll = (by: number) => async (): Promise<number> => {
      await web.page.mouse.wheel(0, by)
      return await left()
    }
    await expect.poll(roll(100_000)).toBeLessThan(5)
    long.call('Bash', { command: 'echo 41' }, 'more').say('Said at the end.')
    await memory.sweep()
    await web.page.locator('.slot', { hasText: 'Said at the end.' }).waitFor()
    await expect.poll(left).toBeLessThan(5)
    await expect.poll(roll(-1000)).toBeGreaterThan(900)
    long.say('Said while one reads above.')
    await memory.sweep()
    await web.page.locator('button.fresh', { hasText: '1 new' }).waitFor()
    expect(await left()).toBeGreaterThan(900)
  })

  it('says what was answered without the signs of Markdown, where there is room for a few lines', async () => {
    await open((mended[0] as ToldSession).uid)
    const answer = web.page.locator('.verdict-fact', { hasText: 'Last answer' }).locator('.few-lines')
    expect(await answer.textContent()).toBe('Done · what · how · cart.ts · counts right · All tests pass.')
  })

  it('opens files in the editor that was chosen, and copies the address of an event', async () => {
    const { uid } = mended[0] as ToldSession
    await open(uid, '?tab=files')
    const link = web.page.getByRole('link', { name: /open in the editor/ }).first()
    await expect
      .poll(() => link.getAttribute('href'))
      .toMatch(/^idea:\/\/open\?file=\/home\/dev\/shop\/src\/cart\.ts&line=\d+$/)
    await open(uid)
    const slot = web.page.locator('.slot', { hasText: 'Mend it.' }).first()
    await slot.hover()
    await slot.getByRole('button', { name: 'copy link' }).click()
    const copied = (): Promise<unknown> => web.page.evaluate('navigator.clipboard.readText()')
    await expect.poll(copied).toMatch(/\/s\/claude%3A9999.*[?&]seq=\d+/)
    await web.page.goto((await copied()) as string)
    await web.page.locator('.slot.target', { hasText: 'Mend it.' }).waitFor()
    await web.page.locator('.menu > summary').click()
    expect(await web.page.locator('.menu a[href*="/export?format="]').count()).toBeGreaterThan(1)
  })

  it('compares tools and files in columns that stand below each other', async () => {
    const [a, b] = [(mended[0] as ToldSession).uid, running.uid]
    await web.goto(`/compare?a=${encodeURIComponent(a)}&b=${encodeURIComponent(b)}`)
    const row = (table: string, name: string): Promise<string[]> =>
      web.page
        .getByRole('table', { name: table })
        .locator('tr', { hasText: name })
        .locator('td')
        .allTextContents()
    await expect.poll(() => row('Tools of both', 'Bash')).toEqual(['Bash', '2', '0', 'only first'])
    expect(await row('Files of both', 'cart.ts')).toEqual([
      expect.stringContaining('src/cart.ts'),
      '1',
      '0',
      'only first',
    ])
    const columns = (await web.page.evaluate(`[...document.querySelectorAll('.sides table')].map((table) =>
      [...table.querySelectorAll('th')].map((one) => Math.round(one.getBoundingClientRect().left - table.getBoundingClientRect().left)).join(' '))`)) as string[]
    expect(columns.length).toBeGreaterThan(2)
    expect(new Set(columns).size).toBe(1)
  })

  it('counts tools as their answers tell it, with the most frequent error', async () => {
    const { tools } = await ask<{ tools: ToolRow[] }>('tools?repo=shop&timezone=UTC')
    const told = (name: string): unknown => {
      const { calls, sessions, errors, worst } = tools.find((one) => one.tool === name) as ToolRow
      return [calls, sessions, errors, worst?.sample.split('\n')[0] ?? null]
    }
    expect(told('Bash')).toEqual([
      2 * MENDED,
      MENDED,
      MENDED,
      expect.stringContaining('expected 2 items, got 3'),
    ])
    expect(told('Read')).toEqual([MENDED, MENDED, MENDED, 'File does not exist.'])
    expect(told('Edit')).toEqual([MENDED, MENDED, 0, null])
    await web.goto('/tools?repo=shop')
    const bash = web.page.getByRole('table', { name: 'Tools' }).locator('tr', { hasText: 'Bash' })
    await expect
      .poll(() => bash.textContent())
      .toMatch(new RegExp(`Bash${2 * MENDED}${MENDED}${MENDED}50 %.*expected 2 items`))
    await bash.getByRole('link', { name: 'Bash' }).click()
    await expect.poll(() => web.page.locator('h1 .total').textContent()).toMatch(/^\d+$/)
    expect(param('tool')).toBe('Bash')
  })

  it('tells of a week what was done and what mended what, with links to where', async () => {
    await web.goto('/retro?since=7d')
    const sessions = web.page.locator('.figure', { hasText: 'Sessions' }).locator('.value')
    await expect.poll(async () => Number(await sessions.textContent())).toBeGreaterThanOrEqual(MENDED)
    const line = web.page.locator('.retro-line', { hasText: 'expected 2 items, got 3' })
    await line.getByRole('link').first().click()
    await web.page.locator('.slot.target', { hasText: 'cart.ts' }).waitFor()
  })

  it('leads from the hits of a search that it does not list to the first of them', async () => {
    await web.goto('/search?q=said')
    await web.page.locator('.hit-group', { hasText: 'Count to forty.' }).getByText('find them in').click()
    await web.page.locator('.slot.target', { hasText: 'said 0' }).waitFor()
    await expect.poll(() => web.page.locator('.find-state').textContent()).toMatch(/^1 of \d+/)
  })

  it('names in the list of errors what mended each, as the verdict does', async () => {
    const { uid } = mended[0] as ToldSession
    await open(uid, '?tab=signals')
    const error = web.page.locator('.error-kind', { hasText: 'expected 2 items, got 3' })
    expect(await error.locator('.mended-by').textContent()).toMatch(/✓ fixed by edit .*cart\.ts/)
    await error.getByRole('link', { name: /cart\.ts/ }).click()
    await web.page.locator('.slot.target', { hasText: 'cart.ts' }).waitFor()
  })

  it('lists the keys so that they can be read on a telephone, too', async () => {
    await web.page.setViewportSize({ width: 360, height: 700 })
    try {
      await web.goto('/tools')
      await web.page.getByRole('button', { name: 'keys' }).click()
      const texts = web.page.locator('.keys dd')
      const widths = await texts.evaluateAll((all) => all.map((one) => one.getBoundingClientRect().width))
      expect(Math.min(...widths)).toBeGreaterThan(120)
    } finally {
      await web.page.setViewportSize({ width: 1280, height: 900 })
    }
  })

  it('shows a session in the list beside it, however far down it stands', async () => {
    const { sessions } = await ask<{ sessions: { session_uid: string }[] }>('sessions?limit=200')
    expect(sessions.length).toBeGreaterThan(30)
    const { session_uid: uid } = sessions.at(-1) as { session_uid: string }
    await web.page.setViewportSize({ width: 2000, height: 500 })
    try {
      await open(uid)
      const row = web.page.locator(`.beside .row.chosen[data-uid="${uid}"]`)
      await row.waitFor()
      const isInSight = async (): Promise<boolean> => {
        const [inner, outer] = [
          await row.boundingBox(),
          await web.page.locator('.beside .session-list').boundingBox(),
        ]
        if (inner === null || outer === null) return false
        return inner.y >= outer.y && inner.y + inner.height <= outer.y + outer.height
      }
      await expect.poll(isInSight).toBe(true)
    } finally {
      await web.page.setViewportSize({ width: 1280, height: 900 })
    }
  })

  it('shows the list beside a session where there is room for both', async () => {
    const { uid } = mended[3] as ToldSession
    await web.page.setViewportSize({ width: 2000, height: 900 })
    try {
      await web.goto('/sessions?repo=shop')
      await web.page.locator(`[data-uid="${uid}"] .row-link`).click()
      await web.page.locator('.verdict-card').waitFor()
      const beside = web.page.locator('.beside .row')
      await beside.first().waitFor()
      await web.page.locator(`.beside .row.chosen[data-uid="${uid}"]`).waitFor()
      await beside.nth(2).locator('a').click()
      await expect.poll(() => web.page.url()).not.toContain(encodeURIComponent(uid))
      await web.page.locator('.said.prompt').first().waitFor()
      await web.page.setViewportSize({ width: 1280, height: 900 })
      await beside.first().waitFor({ state: 'detached' })
    } finally {
      await web.page.setViewportSize({ width: 1280, height: 900 })
    }
  })
})

const EDITS = 250

describeInBrowser('the diff of a long file', () => {
  it('is put together while other questions are answered', async () => {
    const home = temporary('round-diff')
    const root = join(temporary('round-diff-root'), '.claude', 'projects')
    const edited = at(root, 1, Date.now() - 20 * HOUR).prompt('Rename everything.')
    let text = Array.from({ length: 5000 }, (_, n) => `const value${n} = compute(${n})`).join('\n')
    for (let n = 0; n < EDITS; n++) {
      const [before, after] = [`const value${n * 15} = compute(${n * 15})`, `const renamed${n} = other(${n})`]
      edited.edit('/home/dev/shop/src/values.ts', before, after, text)
      text = text.replace(before, after)
    }
    edited.say('Done.')
    writeFileSync(join(home, 'config.toml'), `[sources.claude]\nroots = ${JSON.stringify([root])}\n`)
    const env = { PATH: process.env['PATH'], HOME: temporary('round-diff-home'), RECOLLECT_HOME: home }
    expect(spawnSync(process.execPath, [cliPath, 'sweep'], { env }).status).toBe(0)
    const words = [cliPath, 'ui', '--no-open', '--no-watch', '--port', '0']
    const ui: ChildProcess = spawn(process.execPath, words, { env, stdio: ['ignore', 'pipe', 'ignore'] })
    const browser = await launchChromium()
    try {
      const url = await new Promise<string>((done) =>
        ui.stdout?.once('data', (bytes: Buffer) => done(bytes.toString().trim())),
      )
      const page = await newPage(browser)
      await page.goto(url)
      await page.waitForURL(`${new URL(url).origin}/`)
      const session = `/api/sessions/${encodeURIComponent(edited.uid)}`
      const [waits, took] = (await page.evaluate(`(async () => {
        const asked = (path) => fetch(path).then(async (answer) => [answer.status, (await answer.text()).length])
        const others = ['/api/sessions?limit=100', '/api/status', '/api/search?q=rename', '${session}']
        for (const path of others) await asked(path)
        const began = performance.now()
        let took
        const diff = asked('${session}/changes?file=src/values.ts').then(([status]) => {
          took = performance.now() - began
          return status
        })
        const waits = []
        while (took === undefined) {
          const from = performance.now()
          await asked(others[waits.length % others.length])
          if (took === undefined) waits.push(performance.now() - from)
        }
        if ((await diff) !== 200) throw new Error('no diff')
        return [waits.sort((a, b) => a - b), took]
      })()`)) as [number[], number]
      const p95 = waits[Math.floor(waits.length * 0.95)] ?? Number.POSITIVE_INFINITY
      console.log(
        `${waits.length} answers in the ${took.toFixed(0)} ms of the diff, p95 ${p95.toFixed(1)} ms`,
      )
      // On the event loop none of them would have been there before it.
      expect(waits.length).toBeGreaterThan(10)
    } finally {
      await browser.close()
      const ended = new Promise((done) => ui.once('close', done))
      ui.kill()
      await ended
    }
  })
})
