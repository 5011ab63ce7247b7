// A session of 50,000 events: opened at once, scrolled to its end, searched; only what is in view exists.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { BrowserSession, describeInBrowser } from './setup/browser.ts'
import { writeLargeSession } from './setup/large-session.ts'
import { TestMemory } from './setup/memory.ts'

const EVENTS = 50_000
const ID = 'bbbbbbbb-0000-4000-8000-000000000001'
let base: string
let memory: TestMemory
let web: BrowserSession
let prompts: number

describeInBrowser('a session of 50,000 events', () => {
  beforeAll(async () => {
    base = mkdtempSync(join(tmpdir(), 'recollect-large-'))
    const root = join(base, '.claude', 'projects')
    prompts = writeLargeSession(join(root, '-home-dev-large', `${ID}.jsonl`), ID, EVENTS)
    memory = new TestMemory({ claude: [root] })
    await memory.sweep()
    web = await BrowserSession.open(memory.home)
  })

  afterAll(async () => {
    await web?.close()
    memory?.remove()
    rmSync(base, { recursive: true, force: true })
  })

  const drawn = (): Promise<number> => web.page.locator('.slot').count()

  it('opens with a window of it', async () => {
    await web.goto(`/s/claude:${ID}`)
    await web.page.locator('.said.prompt').first().waitFor()
    const [paint, prompt] = (await web.page.evaluate(
      '[performance.getEntriesByName("first-contentful-paint")[0].startTime, performance.now()]',
    )) as [number, number]
    console.log(`first paint after ${paint.toFixed(0)} ms, first prompt at ${prompt.toFixed(0)} ms`)
    expect(await web.page.locator('.toolbar').textContent()).toContain('50,0')
    expect(await drawn()).toBeLessThan(100)
  })

  it('scrolls to its end and back', async () => {
    const from = Date.now()
    // Rows in between are measured as they come by, so the end moves until it is reached.
    await expect
      .poll(async () => {
        await web.page.evaluate(
          '(el => { el.scrollTop = el.scrollHeight })(document.querySelector(".scroller"))',
        )
        return web.page.locator('.slot').last().textContent()
      })
      .toContain(`Part ${prompts} is done.`)
    console.log(`end on screen after ${Date.now() - from} ms`)
    expect(await drawn()).toBeLessThan(100)
  })

  it('scrolls smoothly: what a frame takes does not depend on where it is', async () => {
    const frames = (await web.page.evaluate(`new Promise(async done => {
      const scroller = document.querySelector('.scroller')
      scroller.scrollTop = 0
      const times = []
      for (let i = 0; i < 120; i++) {
        const from = performance.now()
        scroller.scrollTop += 400
        await new Promise(requestAnimationFrame)
        times.push(performance.now() - from)
      }
      done(times.sort((a, b) => a - b))
    })`)) as number[]
    const at = (share: number): string => (frames[Math.floor(frames.length * share)] as number).toFixed(0)
    console.log(`frames of 400 pixels: ${at(0.5)} ms (median), ${at(0.95)} ms (95 %)`)
    expect(await drawn()).toBeLessThan(100)
  })

  it('jumps to any event, and finds a word in it', async () => {
    await web.goto(`/s/claude:${ID}?seq=25000`)
    await web.page.locator('.slot.target').waitFor()
    const from = Date.now()
    await web.page.fill('#find', 'needle40001')
    await web.page.keyboard.press('Enter')
    await web.page.getByText('1 of 1').waitFor()
    console.log(`found after ${Date.now() - from} ms`)
    await web.page.locator('.slot.target', { hasText: 'needle40001' }).waitFor()
  })

  it('draws its timeline', async () => {
    await web.goto(`/s/claude:${ID}?tab=timeline`)
    await web.page.getByRole('heading', { name: 'Longest steps' }).waitFor()
    expect(web.seen.errors).toEqual([])
  })
})
