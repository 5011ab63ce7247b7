// Nothing scrolls sideways but code and tables in their own boxes: every view, every tab of a session, at eight widths.
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { BrowserSession, describeInBrowser } from './setup/browser.ts'
import { agentRoots, TestMemory } from './setup/memory.ts'
import { temporary } from './setup/temporary.ts'
import { ToldSession } from './setup/told-session.ts'

const WIDTHS = [360, 390, 600, 768, 1000, 1440, 2560, 3840]
const TABS = ['transcript', 'timeline', 'files', 'context', 'cost', 'lineage', 'signals', 'raw']

let memory: TestMemory
let web: BrowserSession
let uid: string

const LONG = 'claude:ddddddd1-0000-4000-8000-000000000001'

/** What failed and what mended it, in words that no line holds. */
function tellOfLongWords(root: string, n: number): void {
  const id = `ddddddd${n}-0000-4000-8000-000000000001`
  const told = new ToldSession(join(root, '-home-dev-long', `${id}.jsonl`), {
    id,
    startAt: Date.now() - n * 9e6,
  })
  const long = `${'AndOn'.repeat(30)}.ts`
  told.prompt(`Mend ${long}.`)
  told.call('Bash', { command: `npm test -- ${long}` }, `FAIL ${long}\nError: ${long} is wrong`, {
    isError: true,
  })
  told.edit(`/home/dev/shop/src/${long}`, 'one', 'two')
  told.call('Bash', { command: `npm test -- ${long}` }, 'Tests 5 passed').say('Done.')
}

describeInBrowser('widths', () => {
  beforeAll(async () => {
    const { roots, uids } = agentRoots(['claude-2.1.200', 'codex-0.45'])
    uid = uids.get('claude-2.1.200/tools')?.[0] as string
    const root = temporary('widths')
    for (const n of [1, 2]) tellOfLongWords(root, n)
    memory = new TestMemory({ ...roots, claude: [...(roots['claude'] ?? []), root] })
    await memory.sweep()
    web = await BrowserSession.open(memory.home)
  })

  afterAll(async () => {
    await web.close()
    memory.remove()
  })

  it('hold every view', async () => {
    const views = [
      '/',
      '/sessions',
      '/search?q=calc',
      '/usage',
      '/usage?group=session',
      '/patterns?mended=yes',
      '/tools',
    ]
    const more = ['/retro?since=400d', '/lineage', '/storage', '/health', '/nowhere']
    const wide: string[] = []
    for (const path of [
      ...views,
      ...more,
      `/compare?a=${uid}&b=${uid}`,
      ...[uid, LONG].flatMap((one) => TABS.map((tab) => `/s/${one}?tab=${tab}`)),
    ]) {
      await web.goto(path)
      await web.page
        .locator('main :is(.card, .row-title, .hits, .scroller, .figures, .empty, .lineage)')
        .first()
        .waitFor()
      await web.settled()
      for (const width of WIDTHS) {
        await web.page.setViewportSize({ width, height: 900 })
        // Drawings learn of their width after it was laid out.
        await web.page.evaluate(
          'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))',
        )
        const by = Number(await web.page.evaluate('document.documentElement.scrollWidth - innerWidth'))
        if (by > 0) wide.push(`${path} at ${width}: by ${by} pixels`)
      }
    }
    expect(wide).toEqual([])
  })
})
