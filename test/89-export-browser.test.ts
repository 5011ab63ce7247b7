// An exported page in a real browser: it needs nothing from anywhere, runs nothing, and its timeline leads to the events.
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { launchChromium } from '../scripts/chromium.mjs'
import { describeInBrowser } from './setup/browser.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { cli, World } from './setup/sweeping.ts'

describeInBrowser('an exported page', () => {
  const world = new World()
  let browser: Browser
  beforeAll(async () => {
    cpSync(join(unpackAgent('claude'), 'tools'), world.home, { recursive: true })
    await world.sweep()
    browser = await launchChromium()
  })
  afterAll(async () => {
    await browser.close()
    world.remove()
  })

  it('opens from a file, asks nobody, and its timeline leads to the events', async () => {
    const path = join(world.base, 'session.html')
    writeFileSync(path, cli(world.env, 'export', '@last', '--format', 'html').stdout)
    expect(readFileSync(path, 'utf8')).not.toMatch(/<script|\bsrc=|https?:\/\/(?!www\.w3\.org)/)
    const page = await browser.newPage()
    const asked: string[] = []
    const wrong: string[] = []
    page.on('request', (request) => asked.push(request.url()))
    page.on('console', (message) => wrong.push(message.text()))
    page.on('pageerror', (error) => wrong.push(error.message))
    await page.goto(pathToFileURL(path).href)
    expect(asked).toEqual([pathToFileURL(path).href])
    expect(wrong).toEqual([])
    const marks = page.locator('figure.timeline a')
    expect(await marks.count()).toBeGreaterThan(5)
    expect(await page.locator('figure.timeline rect.error').count()).toBeGreaterThan(0)
    for (const target of await marks.evaluateAll((all) => all.map((one) => one.getAttribute('href') ?? '')))
      expect(await page.locator(`[id="${target.slice(1)}"]`).count(), target).toBe(1)
    const first = (await marks.first().getAttribute('href')) as string
    await marks.first().click()
    expect(new URL(page.url()).hash).toBe(first)
    expect(await page.locator('article').count()).toBeGreaterThan(5)
  })
})
