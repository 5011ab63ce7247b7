// Every view as axe sees it, light and dark, wide and narrow: names, contrast, order, landmarks.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { AxeResults } from 'axe-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { BrowserSession, describeInBrowser } from './setup/browser.ts'
import { IS_LONG } from './setup/long.ts'
import { agentRoots, TestMemory } from './setup/memory.ts'
import { temporary } from './setup/temporary.ts'
import { ToldSession } from './setup/told-session.ts'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

let memory: TestMemory
let tools: string

/** `rules`: only those; else all. */
async function violations(web: BrowserSession, rules?: string[]): Promise<string[]> {
  await web.page.evaluate(AXE)
  const options = { resultTypes: ['violations'], ...(rules && { runOnly: rules }) }
  const results = (await web.page.evaluate(`axe.run(document, ${JSON.stringify(options)})`)) as AxeResults
  return results.violations.map(
    (one) =>
      `${one.id}: ${one.nodes
        .map((node) => `${node.target.join(' ')} ${node.failureSummary}`)
        .slice(0, 3)
        .join(' | ')}`,
  )
}

const EDITED = 'claude:abababab-0000-4000-8000-000000000001'

/** Words that changed within a line, twice in one file. */
function tellOfEdits(root: string): void {
  const id = EDITED.slice('claude:'.length)
  const told = new ToldSession(join(root, '-home-dev-shop', `${id}.jsonl`), { id, startAt: Date.now() - 9e6 })
  told.prompt('Count the items.')
  told.edit('/home/dev/shop/src/cart.ts', 'return items.length', 'return items.size')
  told.edit('/home/dev/shop/src/cart.ts', 'const items = []', 'const items = new Set()').say('Done.')
}

describeInBrowser('access', () => {
  beforeAll(async () => {
    const { roots, uids } = agentRoots(['claude-2.1.200', 'grok-1.0.5'])
    tools = uids.get('claude-2.1.200/tools')?.[0] as string
    const root = temporary('access')
    tellOfEdits(root)
    memory = new TestMemory({ ...roots, claude: [...(roots['claude'] ?? []), root] })
    await memory.sweep()
  })

  afterAll(() => memory.remove())

  // With every change each colour scheme and each width once.
  it.each([...(IS_LONG ? ([['light', 1280]] as const) : []), ['dark', 1280], ['light', 360]] as const)(
    'has nothing to complain of, %s at %i pixels',
    async (colorScheme, width) => {
      const web = await BrowserSession.open(memory.home, { colorScheme, viewport: { width, height: 900 } })
      try {
        const tabs = ['transcript', 'timeline', 'files', 'context', 'cost', 'lineage', 'signals', 'raw']
        const views = [
          '/',
          '/sessions',
          '/search?q=calc',
          '/search?q=zzqqxx',
          '/usage',
          '/patterns',
          '/tools',
          '/retro?since=400d',
          '/lineage',
          '/storage',
          '/health',
          '/nowhere',
          '/s/nothing',
        ]
        const found: Record<string, string[]> = {}
        for (const path of [
          ...views,
          `/compare?a=${tools}&b=${tools}`,
          ...tabs.map((tab) => `/s/${tools}?tab=${tab}`),
          `/s/${EDITED}?seq=2`,
          `/s/${EDITED}?tab=files`,
          ...['note', 'handoff', 'forget'].map((act) => `/s/${tools}?act=${act}`),
        ]) {
          await web.goto(path)
          await web.page
            .locator('main :is(.card, .row-title, .hits, .scroller, .figures, .files, .empty)')
            .first()
            .waitFor()
          if (path.includes('act=')) await web.page.locator('dialog[open]').waitFor()
          await web.settled()
          // The menu of a session as it is when it is open.
          await web.page.evaluate(
            "for (const menu of document.querySelectorAll('details.menu')) menu.open = true",
          )
          // Dark pages differ in their colours only.
          const list = await violations(
            web,
            colorScheme === 'dark' && !IS_LONG ? ['color-contrast', 'link-in-text-block'] : undefined,
          )
          // Nothing may be wider than the window.
          const wide = await web.page.evaluate('document.documentElement.scrollWidth - innerWidth')
          if (Number(wide) > 0) list.push(`wider than the window by ${wide} pixels`)
          if (list.length > 0) found[path] = list
        }
        // What keys open.
        await web.goto('/')
        for (const [key, name] of [
          ['Control+k', 'go to'],
          ['?', 'Keys'],
        ] as const) {
          await web.page.keyboard.press(key)
          await web.page.getByRole('dialog', { name }).waitFor()
          const list = await violations(web)
          if (list.length > 0) found[name] = list
          await web.page.keyboard.press('Escape')
        }
        expect(found).toEqual({})
      } finally {
        await web.close()
      }
    },
  )
})
