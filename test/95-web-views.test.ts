// What a reader of the page can see and do, view by view, in Chromium: sub-agents unfold, paper gets all of it, charts have
// tables, the address holds the state, and nothing is told by colour or motion alone.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import type { LineageDocument } from '../src/query/lineage.ts'
import type { Spend } from '../src/query/spend.ts'
import { BrowserSession, describeInBrowser } from './setup/browser.ts'
import { agentRoots, TestMemory } from './setup/memory.ts'
import { serve } from './setup/web.ts'

const ID = 'cccccccc-0000-4000-8000-000000000001'
const TOLD = `claude:${ID}`
/** Two by two pixels. */
const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAFklEQVR4nGP8z8DAwMDAxMDAwMDAAAANHQEDasKb6QAAAABJRU5ErkJggg=='

let base: string
let memory: TestMemory
let web: BrowserSession
let uids: Map<string, string[]>

/** With the browser's own cookie. */
const ask = async <T>(path: string): Promise<T> =>
  (await web.page.evaluate(`fetch('/api/${path}').then(answer => answer.json())`)) as T

const first = (scenario: string): string => uids.get(scenario)?.[0] as string

/** A session of our own with what the packed ones lack: a picture, terminal colours, a gap, and the time of now. */
function writeTold(root: string): void {
  const lines: string[] = []
  const add = (type: 'user' | 'assistant', content: unknown): void => {
    const n = lines.length + 1
    const uuid = (at: number): string => `dddddddd-0000-4000-8000-${String(at).padStart(12, '0')}`
    lines.push(
      JSON.stringify({
        parentUuid: n > 1 ? uuid(n - 1) : null,
        isSidechain: false,
        cwd: '/home/dev/told',
        sessionId: ID,
        version: '2.1.325',
        type,
        uuid: uuid(n),
        timestamp: new Date(Date.now() - 60_000 + n * 1000).toISOString(),
        message: {
          role: type,
          ...(type === 'assistant' ? { id: `msg_${n}`, model: 'claude-opus-5-5' } : {}),
          content,
        },
      }),
    )
  }
  add('user', [
    { type: 'text', text: 'What is wrong on this picture?' },
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
  ])
  add('assistant', [{ type: 'thinking', thinking: 'It may be the colours.', signature: 'x' }])
  add('assistant', [{ type: 'tool_use', id: 'toolu_1', name: 'Bash', input: { command: 'ls --color' } }])
  add('user', [{ type: 'tool_result', tool_use_id: 'toolu_1', content: '\u001b[1;34msrc\u001b[0m plain' }])
  add('assistant', [{ type: 'text', text: 'Nothing **is** wrong.' }])
  lines.splice(3, 0, '{"type":"user","uuid":')
  mkdirSync(join(root, '-home-dev-told'), { recursive: true })
  writeFileSync(join(root, '-home-dev-told', `${ID}.jsonl`), `${lines.join('\n')}\n`)
}

describeInBrowser('the views', () => {
  beforeAll(async () => {
    const agents = agentRoots(['claude-2.1.200', 'grok-1.0.5', 'codex-0.45'])
    uids = agents.uids
    base = mkdtempSync(join(tmpdir(), 'recollect-told-'))
    const root = join(base, '.claude', 'projects')
    writeTold(root)
    agents.roots['claude']?.push(root)
    memory = new TestMemory(agents.roots)
    await memory.sweep()
    web = await BrowserSession.open(memory.home, {}, { env: { RECOLLECT_HOME: memory.home, HOME: base } })
  })

  afterAll(async () => {
    await web.close()
    memory.remove()
    rmSync(base, { recursive: true, force: true })
  })

  afterEach(() => {
    expect(web.seen).toEqual({ outside: [], violations: [], errors: [], dialogs: [] })
  })

  it('unfolds a sub-agent with a session of its own in place, loaded when asked, kept in the address', async () => {
    const uid = first('grok-1.0.5/subagent')
    const { nodes } = await ask<LineageDocument>(`sessions/${uid}/lineage`)
    const child = nodes.find((node) => node.parent_uid === uid)?.session_uid as string
    const asked: string[] = []
    web.page.on('request', (request) => asked.push(decodeURIComponent(request.url())))
    await web.goto(`/s/${uid}`)
    const head = web.page.locator('.agent-head').first()
    await head.waitFor()
    expect(asked.some((url) => url.includes(`${child}/outline`))).toBe(false)
    await head.getByRole('button').click()
    const task = web.page.locator('.slot.nested .said.task').first()
    await task.waitFor()
    expect(asked.some((url) => url.includes(`${child}/outline`))).toBe(true)
    expect(new URL(web.page.url()).searchParams.get('agents')).toBe(child)
    await web.page.reload()
    await task.waitFor()
    // It stands after the call that started it, before what was said at the end.
    const texts = await web.page.locator('.slot').evaluateAll((slots) => slots.map((slot) => slot.className))
    expect(texts.findIndex((name) => name.includes('nested'))).toBeGreaterThan(1)
    await web.page.locator('.agent-head button').first().click()
    await expect.poll(() => web.page.locator('.slot.nested .said').count()).toBe(0)
  })

  it('nests sub-agents that work inside the session below the call that started them', async () => {
    await web.goto(`/s/${first('claude-2.1.200/subagent')}`)
    const head = web.page.locator('.agent-head').first()
    await head.waitFor()
    const before = head.locator('xpath=../preceding-sibling::*[1]')
    await expect.poll(() => before.textContent()).toMatch(/Agent|Task/)
    await web.page.locator('.slot.nested .said.task').first().waitFor()
    // What an agent asked of another one is no landmark of the person's.
    const counted = (what: string): Promise<number> => web.page.locator(what).count()
    await expect.poll(async () => (await counted('.said.prompt')) - (await counted('.rail li'))).toBe(0)
    await head.getByRole('button').click()
    await expect.poll(() => web.page.locator('.slot.nested .said').count()).toBe(0)
  })

  it('shows pictures, terminal colours, folded thinking, gaps and what was taken out', async () => {
    await web.goto(`/s/${TOLD}`)
    const picture = web.page.locator('img.picture')
    await expect.poll(() => web.page.evaluate('document.querySelector("img.picture")?.naturalWidth')).toBe(2)
    expect(await picture.getAttribute('src')).toMatch(/^blob:/)
    const thought = web.page.locator('details.thought')
    expect(await thought.getAttribute('open')).toBeNull()
    await web.page.locator('.call summary').click()
    const coloured = web.page.locator('.terminal span', { hasText: 'src' }).first()
    await coloured.waitFor()
    await expect.poll(() => web.page.locator('.terminal').textContent()).toBe('src plain')
    await web.page.locator('.warnings', { hasText: '1 gap' }).waitFor()
    await web.goto(`/s/${first('claude-2.1.200/big_unicode_secret')}`)
    await web.page.locator('.warnings', { hasText: 'taken out' }).waitFor()
    await web.page.locator('.redacted').first().waitFor({ state: 'attached' })
  })

  it('prints all of a transcript, not only what is in view', async () => {
    await web.goto(`/s/${first('claude-2.1.200/big_unicode_secret')}`)
    // All of it was drawn once the end is in view.
    await web.page.locator('.slot .step:not(.pending)').first().waitFor()
    await web.page.keyboard.press('End')
    await expect
      .poll(() =>
        web.page.evaluate(
          "(el => el.scrollTop + el.clientHeight >= el.scrollHeight - 1 && !el.querySelector('.pending'))(document.querySelector('.scroller'))",
        ),
      )
      .toBe(true)
    await web.page.evaluate(
      'window.print = () => { window.onPaper = [document.querySelectorAll(".printed .step").length, document.querySelectorAll(".printed details:not([open])").length]; dispatchEvent(new Event("afterprint")) }',
    )
    const rows = await web.page.evaluate(
      'Number(document.querySelector(".canvas").lastElementChild.dataset.index) + 1',
    )
    await web.page.getByRole('button', { name: 'print' }).click()
    await expect.poll(() => web.page.evaluate('window.onPaper')).toEqual([rows, 0])
    await web.page.locator('.scroller').waitFor()
    await web.page.evaluate('window.onPaper = undefined')
    await web.page.keyboard.press('Control+p')
    await expect.poll(() => web.page.evaluate('window.onPaper')).toEqual([rows, 0])
    await web.page.emulateMedia({ media: 'print', colorScheme: 'dark' })
    try {
      expect(await web.page.locator('.top').isVisible()).toBe(false)
      // Ink is dark and paper is not, whatever the screen is. As painted: the token itself names both.
      const painted = await web.page.evaluate(`(() => {
        const probe = document.body.appendChild(document.createElement('p'))
        probe.style.background = 'var(--sunken)'
        const { backgroundColor } = getComputedStyle(probe)
        probe.remove()
        return backgroundColor
      })()`)
      expect(painted).toBe('rgb(243, 241, 236)')
    } finally {
      await web.page.emulateMedia({ media: null, colorScheme: null })
    }
  })

  it('marks compactions where the context shrank', async () => {
    const uid = [...memory.digests().values()].find((one) => one.compactions.length > 0)?.session_uid
    const { compactions } = await ask<Spend>(`sessions/${uid}/spend`)
    await web.goto(`/s/${uid}?tab=context`)
    const marks = web.page.locator('.area-mark')
    await expect.poll(() => marks.count()).toBe(compactions.length)
    expect(await marks.first().textContent()).toContain('compact')
  })

  it('zooms the timeline by its small map, by buttons and by keys, and leads to the step', async () => {
    await web.goto(`/s/${first('claude-2.1.200/tools')}?tab=timeline`)
    const span = web.page.locator('.zoom .muted')
    await span.waitFor()
    const whole = await span.textContent()
    // The verdict above grows as its parts arrive, and moves what is to be dragged.
    await web.settled()
    const map = web.page.locator('.mini-map svg')
    const { width = 0 } = (await map.boundingBox()) ?? {}
    await map.hover({ position: { x: width * 0.25, y: 20 } })
    await web.page.mouse.down()
    await map.hover({ position: { x: width * 0.5, y: 20 } })
    await web.page.mouse.up()
    await expect.poll(() => span.textContent()).not.toBe(whole)
    const zoomed = await span.textContent()
    await web.page.getByLabel('zoom in').click()
    await expect.poll(() => span.textContent()).not.toBe(zoomed)
    await web.page.getByRole('button', { name: 'all', exact: true }).click()
    await expect.poll(() => span.textContent()).toBe(whole)
    await web.page.locator('canvas').focus()
    await web.page.keyboard.press('+')
    await expect.poll(() => span.textContent()).not.toBe(whole)
    // Painted in the colours of the legend: a colour that a canvas cannot read comes out black.
    const painted = (await web.page.evaluate(`(() => {
      const canvas = document.querySelector('canvas')
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
      const seen = new Set()
      for (let i = 0; i < data.length; i += 4) seen.add('rgb(' + data.slice(i, i + 3).join(', ') + ')')
      return ['model', 'tool'].map((kind) => seen.has(getComputedStyle(document.querySelector('.swatch.span-' + kind)).backgroundColor))
    })()`)) as boolean[]
    expect(painted).toEqual([true, true])
    const lanes = await web.page.locator('.lane-names li').allTextContents()
    expect(lanes.slice(0, 2)).toEqual(['waiting for you', 'main agent'])
    expect(lanes.length).toBeGreaterThan(3)
    await web.page.getByRole('table', { name: 'Longest steps' }).getByRole('link').first().click()
    await web.page.locator('.slot.target').waitFor()
  })

  it('gives sub-agents lanes, inside and outside of the session', async () => {
    for (const scenario of ['grok-1.0.5/subagent', 'claude-2.1.200/subagent']) {
      await web.goto(`/s/${first(scenario)}?tab=timeline`)
      await web.page.locator('.lane-names li', { hasText: 'sub-agent' }).first().waitFor()
    }
  })

  it('steps through the edits of a file, and back by the address', async () => {
    const uid = first('claude-2.1.200/tools')
    await web.goto(`/s/${uid}?tab=files`)
    const state = web.page.locator('.step-slider')
    const files = web.page.locator('.file-list li a')
    await files.first().waitFor()
    const many = (await files.allTextContents()).findIndex((text) => /[2-9]\d* edits/.test(text))
    await files.nth(Math.max(0, many)).click()
    await state.getByText(/edit \d+ of \d+/).waitFor()
    await web.page.locator('.file-steps .diff').waitFor()
    const [, last] = /of (\d+)/.exec((await state.textContent()) ?? '') as unknown as [string, string]
    const diff = await web.page.locator('.file-steps .diff').textContent()
    if (Number(last) > 1) {
      await web.page.getByLabel('previous edit').click()
      await state.getByText(`edit ${Number(last) - 1} of ${last}`).waitFor()
      await expect.poll(() => web.page.locator('.file-steps .diff').textContent()).not.toBe(diff)
      await expect.poll(() => new URL(web.page.url()).searchParams.get('step')).toBe(String(Number(last) - 2))
      await web.page.getByRole('slider').press('ArrowRight')
      await state.getByText(`edit ${last} of ${last}`).waitFor()
    }
    expect(diff).toContain('+')
    await web.page.getByRole('link', { name: 'sessions that touched it' }).click()
    await web.page.locator('.chip', { hasText: 'touched' }).waitFor()
    await expect.poll(() => web.page.locator(`[data-uid="${uid}"]`).count()).toBe(1)
    await web.page.goBack()
    await state.waitFor()
  })

  it('goes back and forth through tabs, filters and orders', async () => {
    const uid = first('claude-2.1.200/tools')
    await web.goto(`/s/${uid}`)
    await web.page.locator('.said').first().waitFor()
    await web.page.getByRole('link', { name: 'Cost' }).click()
    await web.page.getByText('Cost per turn').first().waitFor()
    await web.page.goBack()
    await web.page.locator('.said').first().waitFor()
    await web.page.goForward()
    await web.page.getByText('Cost per turn').first().waitFor()
    await web.page.getByRole('link', { name: 'Signals' }).click()
    await web.page
      .locator('.list a, .card a')
      .filter({ hasText: /^#\d+$/ })
      .first()
      .click()
    await web.page.locator('.slot.target').waitFor()
    await web.goto('/sessions')
    await web.page.locator('.row-title').first().waitFor()
    for (let i = 0; i < 20; i++) await web.page.keyboard.press('j')
    const chosen = web.page.locator('.row.chosen[style*="top: 988px"]')
    await chosen.waitFor()
    await web.page.keyboard.press('Enter')
    await web.page.locator('.session-head h1').waitFor()
    await web.page.goBack()
    // The list is found as it was left.
    await chosen.waitFor()
    await expect
      .poll(() => web.page.locator('.session-list').evaluate((list) => list.scrollTop))
      .toBeGreaterThan(0)
    await web.page.getByLabel('order').selectOption('cost')
    await web.page.waitForURL('**sort=cost')
    await web.page.goBack()
    await expect.poll(() => web.page.getByLabel('order').inputValue()).toBe('recent')
  })

  it('has a table beside each chart, with rows in it', async () => {
    const context = `/s/${first('claude-2.1.200/tools')}?tab=context`
    for (const path of ['/?days=365', '/usage?since=', '/usage?since=9999d', context]) {
      await web.goto(path)
      const charts = web.page.locator('.chart')
      await charts.first().waitFor()
      for (const chart of await charts.all()) {
        expect(await chart.locator('svg').count(), path).toBeGreaterThan(0)
        await chart.locator('summary').click()
        expect(await chart.locator('tbody tr').count(), path).toBeGreaterThan(0)
        expect(await chart.locator('table').isVisible()).toBe(true)
      }
      // And no drawing of figures without one; sparklines and bars stand beside their numbers.
      const loose = web.page.locator('svg[role=img]:not(.spark):not(.share-bar)')
      for (const drawing of await loose.all())
        expect(
          await drawing.locator('xpath=ancestor::*[contains(@class,"chart")]').count(),
          path,
        ).toBeGreaterThan(0)
    }
    await web.goto(`/s/${first('claude-2.1.200/tools')}?tab=cost`)
    await web.page.getByRole('table', { name: 'Cost per turn' }).locator('tbody tr').first().waitFor()
  })

  it('tells by words and signs what it tells by colour', async () => {
    await web.goto('/sessions')
    await web.page.locator('.row-title').first().waitFor()
    for (const badge of await web.page.locator('.row .badge').allTextContents())
      expect(badge.trim()).toMatch(/^\S+ (success|failed|abandoned|unknown)( so far)?$/)
    await web.page.locator('svg.spark').first().waitFor()
    await web.goto(`/s/${first('claude-2.1.200/tools')}`)
    await web.page.locator('.verdict').first().waitFor()
    await web.page.locator('.line.removed').first().waitFor()
    for (const verdict of await web.page.locator('.verdict').allTextContents())
      expect(verdict.trim()).toMatch(/^(✓ ok|✕ (failed|exit \d+)|… no answer)/)
    expect(await web.page.locator('.line.added').first().textContent()).toMatch(/^\s*\d*\s*\+/)
    expect(await web.page.locator('.line.removed').first().textContent()).toMatch(/^\s*\d*\s*[-−]/)
  })

  it('keeps still when motion is not wanted', async () => {
    const moving = async (): Promise<number> =>
      Number(
        await web.page.evaluate('document.getAnimations().filter(a => a.playState === "running").length'),
      )
    await web.goto('/')
    await web.page.locator('.live-dot').first().waitFor()
    await expect.poll(moving).toBeGreaterThan(0)
    await web.page.emulateMedia({ reducedMotion: 'reduce' })
    await expect.poll(moving).toBe(0)
    await web.page.emulateMedia({ reducedMotion: null })
  })

  it('calls sessions by what they are about, also where they are counted', async () => {
    await web.goto('/usage?group=session&since=')
    const links = web.page.locator('td:first-child .clip-line')
    const { rows } = await ask<{ rows: { key: string; name: string }[] }>('usage?group=session')
    const names = rows.map((row) => row.name.trim().replace(/\s+/g, ' ').slice(0, 160)).filter(Boolean)
    expect(names.length).toBeGreaterThan(3)
    await expect.poll(() => links.allTextContents()).toEqual(expect.arrayContaining(names))
  })

  it('keeps the figures of an axis in the picture, however small the sums', async () => {
    const { rows } = await ask<{ rows: { key: string; cost_usd: string | null }[] }>('usage?group=session')
    const cheap = rows.find(({ cost_usd: cost }) => Number(cost) > 0 && Number(cost) < 0.02)
    await web.goto(`/s/${encodeURIComponent(cheap?.key ?? '')}?tab=cost`)
    await web.page.locator('svg .axis text').first().waitFor()
    const cut = await web.page.evaluate(
      `[...document.querySelectorAll('svg .axis text')].filter((text) => text.getBBox().x < 0).length`,
    )
    expect(cut).toBe(0)
  })

  it('says what to do where there is nothing to show', async () => {
    const said = async (place: string): Promise<string> => {
      await web.goto(place)
      const shown = web.page.locator('.empty, .transcript-main [role=note]').first()
      return (await shown.textContent()) ?? ''
    }
    expect(await said('/search?q=-colours')).toContain('Which word must be there?')
    expect(await said('/usage?since=someday')).toContain('someday is no time')
    expect(await said(`/s/${encodeURIComponent(TOLD)}?seq=99999`)).toContain('no event #99999')
    expect(await said('/s/nothing-like-it')).toContain('All sessions')
    // What can be copied can be typed.
    expect(await web.page.locator('.problem .command code').textContent()).toBe('recollect sessions')
    await web.page.getByRole('link', { name: 'All sessions' }).click()
    await web.page.locator('.row').first().waitFor()
  })

  it('has nothing left to read where all was read', async () => {
    await web.goto('/health')
    const left = web.page.getByRole('table', { name: 'What was read' }).locator('tbody td:nth-child(4)')
    await expect.poll(async () => new Set(await left.allInnerTexts())).toEqual(new Set(['0 B']))
  })

  it('says what runs now, what fills the disk and what needs attention, with doctor’s findings', async () => {
    await web.goto('/')
    await web.page
      .locator('.latest li', { has: web.page.locator('.live-dot') })
      .getByText('What is wrong on this picture?')
      .waitFor()
    const storage = web.page.locator('.card', { hasText: 'Durable memory' })
    await expect.poll(() => storage.locator('.share-bar').count()).toBe(2)
    const notices = web.page.locator('.notices')
    await notices.getByText(/could not be read/).waitFor()
    await web.goto('/health')
    const doctor = web.page.locator('.card', { hasText: 'Doctor' })
    await doctor.getByText('source.gaps').waitFor()
    await expect.poll(() => doctor.locator('.findings li').count()).toBeGreaterThan(4)
  })
})

describeInBrowser('sessions whose raw was evicted', () => {
  it('are listed, told as such with their receipts, and keep what their digests know', async () => {
    const { roots, uids: known } = agentRoots(['codex-0.45'])
    const caps = '[session_memory.retention]\nraw_soft_cap_bytes = "1KiB"\nraw_hard_cap_bytes = "1GiB"\n'
    const small = new TestMemory(roots, caps)
    await small.sweep()
    const open = await BrowserSession.open(small.home)
    try {
      await open.goto('/storage')
      const receipts = open.page.locator('.card', {
        has: open.page.getByRole('heading', { name: 'Receipts' }),
      })
      await receipts.locator('tbody tr').first().waitFor()
      const uid = known.get('codex-0.45/tools')?.[0]
      await open.goto(`/s/${uid}`)
      await open.page.getByText('The events of this session are not in the cache').waitFor()
      await open.page.locator('.warnings', { hasText: 'were evicted' }).waitFor()
      await open.page.getByRole('link', { name: 'see what is kept' }).click()
      await open.page.getByRole('heading', { name: 'Signals' }).waitFor()
      await open.goto('/search?q=calc')
      await open.page.getByText('raw evicted: found in its digest').first().waitFor()
      expect(open.seen.errors).toEqual([])
    } finally {
      await open.close()
      small.remove()
    }
  })
})

describeInBrowser('a server that was started again', () => {
  it('is told from one that is gone, with what to do; the page goes on once it is let in', async () => {
    const { roots } = agentRoots(['codex-0.45'])
    const small = new TestMemory(roots)
    await small.sweep()
    const open = await BrowserSession.open(small.home)
    try {
      await open.goto('/sessions?sort=cost')
      await open.page.locator('.row-title').first().waitFor()
      await open.client.server.close()
      await open.page.getByText('The server does not answer.').waitFor()
      const again = await serve(small.home, { port: open.client.server.port })
      await open.page.getByText('does not know this browser any more').waitFor()
      expect(await open.page.locator('.offline').textContent()).toContain(
        'open the address that recollect ui printed',
      )
      await open.page.getByText('The server does not answer.').waitFor({ state: 'detached' })
      // What was read stays on screen.
      expect(await open.page.locator('.row-title').count()).toBeGreaterThan(0)
      const other = await open.page.context().newPage()
      await other.goto(again.server.url)
      await open.page.locator('.offline').waitFor({ state: 'detached' })
      await open.page.locator('.row-title').first().waitFor()
      expect(open.page.url()).toContain('sort=cost')
      await again.server.close()
    } finally {
      await open.close()
      small.remove()
    }
  })
})
