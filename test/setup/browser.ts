// The page in a real browser, with everything written down that must not happen: requests that leave the origin, refusals
// of the browser, errors, dialogs.
import type { Browser, Page } from 'playwright-core'
import { describe, expect } from 'vitest'
import { hasChromium, launchChromium } from '../../scripts/chromium.mjs'
import type { ServerOptions } from '../../src/web/server/index.ts'
import { serve, type WebClient } from './web.ts'

const isHere = hasChromium()
/** What does not come at all: a busy machine takes its time. */
const PATIENCE_MS = 120_000

/** Skipped by name, with what to install, where there is no browser. */
export const describeInBrowser = (name: string, tests: () => void): void => {
  describe.skipIf(!isHere)(isHere ? name : `${name} (needs Chromium: apt-get install -y chromium)`, tests)
}

type ContextOptions = NonNullable<Parameters<Browser['newContext']>[0]>

export interface Seen {
  outside: string[]
  violations: string[]
  errors: string[]
  dialogs: string[]
}

export class BrowserSession {
  readonly client: WebClient
  readonly page: Page
  readonly seen: Seen
  readonly #browser: Browser

  private constructor(client: WebClient, browser: Browser, page: Page, seen: Seen) {
    this.client = client
    this.#browser = browser
    this.page = page
    this.seen = seen
  }

  /** Opens the printed address in a new browser, over the memory at `home`. */
  static async open(
    home: string,
    context: ContextOptions = {},
    server: Partial<ServerOptions> = {},
  ): Promise<BrowserSession> {
    const seen: Seen = { outside: [], violations: [], errors: [], dialogs: [] }
    const client = await serve(home, server)
    const browser = await launchChromium()
    const page = await newPage(browser, { viewport: { width: 1280, height: 900 }, ...context })
    await watch(page, client.origin, seen)
    await page.goto(client.server.url)
    // The address leads on by itself.
    await page.waitForURL(`${client.origin}/`)
    return new BrowserSession(client, browser, page, seen)
  }

  async goto(path: string): Promise<void> {
    await this.page.goto(this.client.origin + path)
  }

  /** Everything that the view asked for is there. */
  async settled(): Promise<void> {
    await expect.poll(() => this.page.locator('.step.pending, .loading, .part-loading').count()).toBe(0)
  }

  heading(): Promise<string | null> {
    return this.page.locator('h1').first().textContent()
  }

  async close(): Promise<void> {
    await this.#browser.close()
    await this.client.server.close()
  }
}

export async function newPage(browser: Browser, context: ContextOptions = {}): Promise<Page> {
  const opened = await browser.newContext(context)
  opened.setDefaultTimeout(PATIENCE_MS)
  return await opened.newPage()
}

async function watch(page: Page, origin: string, seen: Seen): Promise<void> {
  await page.exposeFunction('policyRefused', (what: string) => seen.violations.push(what))
  await page.addInitScript(
    `addEventListener('securitypolicyviolation', (event) => policyRefused(event.violatedDirective + ' ' + event.blockedURI))`,
  )
  page.on('request', (request) => {
    const url = request.url()
    if (!url.startsWith(`${origin}/`) && !url.startsWith('blob:')) seen.outside.push(url)
  })
  page.on('pageerror', (error) => seen.errors.push(error.message))
  page.on('console', (message) => {
    // A server that is gone is told by the browser as well; the page tells it itself.
    if (message.type() === 'error' && !/Failed to load resource|net::ERR/.test(message.text()))
      seen.errors.push(message.text())
  })
  page.on('dialog', (dialog) => {
    seen.dialogs.push(dialog.message())
    void dialog.dismiss()
  })
}
