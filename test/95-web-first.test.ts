// The first run, over a memory of nothing: it is explained, the demo is one click away, and reading in shows how far it is.
import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { launchChromium } from '../scripts/chromium.mjs'
import { SweepLock } from '../src/store/sweep-lock.ts'
import { describeInBrowser, newPage } from './setup/browser.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { cliPath, temporary } from './setup/sweeping.ts'
import { serve } from './setup/web.ts'

let browser: Browser
let ui: ChildProcess
let page: Page
let origin: string

describeInBrowser('the first run', () => {
  beforeAll(async () => {
    const packed = unpackAgent('codex-0.45')
    const env = {
      PATH: process.env['PATH'],
      HOME: join(packed, readdirSync(packed)[0] as string),
      RECOLLECT_HOME: temporary('first'),
      TMPDIR: temporary('first-tmp'),
    }
    ui = spawn(process.execPath, [cliPath, 'ui', '--no-open', '--no-watch', '--port', '0'], {
      env,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const url = await new Promise<string>((done) =>
      ui.stdout?.once('data', (bytes: Buffer) => done(bytes.toString().trim())),
    )
    origin = new URL(url).origin
    browser = await launchChromium()
    page = await newPage(browser)
    await page.goto(url)
    await page.waitForURL(`${origin}/`)
  })

  afterAll(async () => {
    await browser?.close()
    const ended = new Promise((done) => ui.once('close', done))
    ui.kill()
    await ended
  })

  it('explains itself, with what would be read', async () => {
    await page.getByRole('heading', { name: 'Nothing is remembered yet' }).waitFor()
    await page.getByText('Found here: codex').waitFor()
    await page.getByText('Where it looks').click()
    expect(await page.locator('.first-run li', { hasText: 'has files' }).count()).toBeGreaterThan(0)
  })

  it('shows the demo in a page of its own, and leaves this memory alone', async () => {
    await page.getByRole('button', { name: 'Look around in the demo' }).click()
    await page.locator('.figures').waitFor()
    expect(new URL(page.url()).origin).not.toBe(origin)
    // Both pages have a cookie: the one does not lock the other out.
    await page.goto(`${origin}/sessions`)
    await page.getByRole('heading', { name: 'Nothing is remembered yet' }).waitFor()
  })

  it('reads in what is there, and fills the view one is in', async () => {
    await page.getByRole('button', { name: 'Sweep now' }).click()
    await page.locator('.row-title').first().waitFor()
  })

  it('shows how far a sweep is, in every tab', async () => {
    const home = temporary('first-progress')
    let end = (): void => {}
    const ended = new Promise<void>((done) => {
      end = done
    })
    const runSweep = async (): Promise<{ code: number; output: string }> => {
      const lock = new SweepLock(home)
      lock.tell({ doneBytes: 5_000_000, totalBytes: 9_000_000, doneSources: 3, totalSources: 11 })
      await ended
      lock.free()
      return { code: 0, output: '' }
    }
    const client = await serve(home, { runSweep })
    const context = await browser.newContext()
    try {
      const [first, second] = [await context.newPage(), await context.newPage()]
      await first.goto(client.server.url)
      await first.waitForURL(`${client.origin}/`)
      await second.goto(`${client.origin}/usage`)
      await second.getByRole('heading', { name: 'Nothing is remembered yet' }).waitFor()
      await first.locator('.first-run').getByRole('button', { name: 'Sweep now' }).click()
      for (const tab of [first, second])
        await tab.getByText('3 of 11 files, 5.0 MB of 9.0 MB').first().waitFor()
      end()
      await second.getByRole('button', { name: 'Sweep now' }).first().waitFor()
    } finally {
      await context.close()
      await client.server.close()
    }
  })
})
