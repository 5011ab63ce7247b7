// Pictures of every view: wide in both themes and narrow in the dark one, into docs/images; with a directory given, all four
// ways into that. Needs Chromium and the built program.
import { spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { launchChromium } from './chromium.mjs'
import { demoMemory } from './demo-memory.mjs'

const ROOT = resolve(import.meta.dirname, '..')
const IS_PNG = process.argv.includes('--png')
const [given] = process.argv.slice(2).filter((word) => !word.startsWith('--'))
const OUT = resolve(given ?? join(ROOT, 'docs', 'images'))
const SIZES = { wide: { width: 1440, height: 900 }, narrow: { width: 390, height: 844 } }

const demo = demoMemory()
const session = `/s/${encodeURIComponent(demo.staged)}`
const VIEWS = {
  overview: '/?days=90',
  sessions: '/sessions',
  transcript: session,
  subagent: `${session}?seq=19`,
  timeline: `${session}?tab=timeline`,
  files: `${session}?tab=files`,
  context: `${session}?tab=context`,
  cost: `${session}?tab=cost`,
  relatives: `${session}?tab=lineage`,
  signals: `${session}?tab=signals`,
  raw: `${session}?tab=raw`,
  search: '/search?q=calc',
  usage: '/usage?group=week&since=365d',
  patterns: '/patterns',
  tools: '/tools',
  retro: '/retro?since=90d',
  lineage: '/lineage',
  compare: `/compare?a=${encodeURIComponent(demo.staged)}&b=@last`,
  storage: '/storage',
  health: '/health',
}

const server = spawn(
  process.execPath,
  [join(ROOT, 'dist', 'cli.cjs'), 'ui', '--no-open', '--no-watch', '--port', '0'],
  { env: demo.env, stdio: ['ignore', 'pipe', 'inherit'] },
)
const url = await new Promise((done) => server.stdout.once('data', (bytes) => done(String(bytes).trim())))
const browser = await launchChromium()
mkdirSync(OUT, { recursive: true })
try {
  const context = await browser.newContext()
  const page = await context.newPage()
  await page.goto(url)
  const { origin } = new URL(url)
  await page.waitForURL(`${origin}/`)
  const other = await (await context.request.get(`${origin}/api/sessions?limit=2&q=tests`)).json()
  VIEWS.compare = VIEWS.compare.replace(
    '@last',
    encodeURIComponent(other.sessions.at(-1)?.session_uid ?? demo.staged),
  )
  for (const [size, viewport] of Object.entries(SIZES)) {
    await page.setViewportSize(viewport)
    // The repository keeps each picture for good: those that tell the least are not taken for it.
    for (const colorScheme of given || size === 'wide' ? ['light', 'dark'] : ['dark']) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      for (const [name, place] of Object.entries(VIEWS)) {
        await page.goto(origin + place)
        const waiting = page.locator('.loading, .part-loading, .step.pending')
        while ((await waiting.count()) > 0) await page.waitForTimeout(50)
        await page.waitForTimeout(350)
        const path = join(OUT, `${name}-${size}-${colorScheme}.${IS_PNG ? 'png' : 'jpg'}`)
        await page.screenshot(IS_PNG ? { path } : { path, type: 'jpeg', quality: 50 })
      }
    }
  }
} finally {
  await browser.close()
  server.kill()
  demo.remove()
}
process.stderr.write(`pictures are in ${OUT}\n`)
