// What people open the page for, done by a script in Chromium: each job step by step, with the clicks, keys and words it takes
// and how long each step lasts; then how long other questions wait beside the diff of a long file, and how soon the page
// paints. `node bench/web-jobs.mjs`
import { execFileSync, spawn } from 'node:child_process'
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { launchChromium } from '../scripts/chromium.mjs'

const ROOT = resolve(import.meta.dirname, '..')
const CLI = join(ROOT, 'dist', 'cli.cjs')
const HOUR = 3_600_000
const RED = 'FAIL cart\nAssertionError: expected 2 items, got 3\nTests 1 failed | 4 passed'
const LONG_EVENTS = 5000
const EDITS = 400

/** A session as Claude Code writes it. */
class Told {
  constructor(root, repo, number, startAt) {
    this.id = `ffffffff-0000-4000-8000-${String(number).padStart(12, '0')}`
    this.uid = `claude:${this.id}`
    this.repo = repo
    this.path = join(root, `-home-dev-${repo}`, `${this.id}.jsonl`)
    this.at = startAt
    this.count = 0
    this.lines = []
  }

  put(type, content, extra = {}, fields = {}) {
    const usage = { input_tokens: 900, cache_read_input_tokens: 40_000, output_tokens: 700 }
    const model = { id: `msg_${this.id.slice(-6)}_${this.count}`, model: 'claude-opus-5-5', usage }
    this.at += 1500
    this.lines.push(
      JSON.stringify({
        parentUuid: this.count > 0 ? `${this.id}-${this.count}` : null,
        isSidechain: false,
        cwd: `/home/dev/${this.repo}`,
        sessionId: this.id,
        version: '2.1.325',
        type,
        uuid: `${this.id}-${++this.count}`,
        timestamp: new Date(this.at).toISOString(),
        message: { role: type, content, ...(type === 'assistant' ? model : {}), ...extra },
        ...fields,
      }),
    )
    return this
  }

  prompt = (text) => this.put('user', text)
  say = (text) => this.put('assistant', [{ type: 'text', text }], { stop_reason: 'end_turn' })

  call(name, input, answer, isError = false, fields = {}) {
    const id = `toolu_${this.id.slice(-6)}_${this.count}`
    this.put('assistant', [{ type: 'tool_use', id, name, input }])
    const result = { type: 'tool_result', tool_use_id: id, content: answer, is_error: isError }
    return this.put('user', [result], {}, fields)
  }

  edit(path, before, after, original) {
    const input = { file_path: path, old_string: before, new_string: after }
    const fields = original === undefined ? {} : { toolUseResult: { filePath: path, originalFile: original } }
    return this.call('Edit', input, 'The file has been updated', false, fields)
  }

  write() {
    mkdirSync(dirname(this.path), { recursive: true })
    appendFileSync(this.path, `${this.lines.join('\n')}\n`)
    this.lines = []
    return this
  }
}

function writeSessions(root) {
  const now = new Date()
  const month = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 12, 9)
  for (let n = 0; n < 60; n++)
    new Told(root, ['atlas', 'billing', 'infra'][n % 3], n, month + n * HOUR)
      .prompt(`Look at part ${n} of the gateway.`)
      .say('Done.')
      .write()
  const test = { command: 'npm test -- cart' }
  const mended = new Told(root, 'shop', 100, Date.now() - 80 * HOUR)
    .prompt('The cart counts one item too many. Mend it.')
    .call('Bash', test, RED, true)
    .edit('/home/dev/shop/src/cart.ts', 'items.length + 1', 'items.length', 'return items.length + 1\n')
    .call('Bash', test, 'Tests 5 passed')
    .say('Done: the cart counts right, all tests pass.')
    .write()
  const failed = new Told(root, 'shop', 101, Date.now() - 40 * HOUR)
    .prompt('Count the items of the cart.')
    .call('Bash', test, RED, true)
    .say('The tests do not pass.')
    .write()
  const live = new Told(root, 'shop', 102, Date.now() - 30_000).prompt('What is in the cart?').write()
  const long = new Told(root, 'atlas', 103, Date.now() - 30 * HOUR)
  while (long.count < LONG_EVENTS) {
    long.prompt(`Part ${long.count} of it.`)
    for (let n = 0; n < 12; n++) long.call('Bash', { command: `echo ${n}` }, `said ${n}`, n === 5)
    long.say('That part is done.')
  }
  const edited = new Told(root, 'atlas', 104, Date.now() - 20 * HOUR).prompt(
    'Rename everything, line by line.',
  )
  let text = Array.from({ length: 6000 }, (_, n) => `const value${n} = compute(${n})`).join('\n')
  for (let n = 0; n < EDITS; n++) {
    const [before, after] = [`const value${n * 15} = compute(${n * 15})`, `const renamed${n} = other(${n})`]
    edited.edit('/home/dev/atlas/src/values.ts', before, after, text)
    text = text.replace(before, after)
  }
  edited.edit('/home/dev/atlas/README.md', 'one thing', 'another thing').say('Done.')
  return { mended, failed, live, long: long.write(), edited: edited.write() }
}

/** What a job takes: clicks, keys pressed, words typed, and each step from the first touch until what was wanted is there. */
class Job {
  static all = []

  constructor(name, page) {
    Object.assign(this, { name, page, clicks: 0, keys: 0, words: 0, steps: [] })
    Job.all.push(this)
  }

  async step(what, act, until) {
    const from = performance.now()
    await act()
    await until.waitFor()
    this.steps.push([what, performance.now() - from])
  }

  click = async (locator) => {
    this.clicks++
    await locator.click()
  }

  press = async (...keys) => {
    for (const key of keys) {
      this.keys++
      await this.page.keyboard.press(key)
    }
  }

  type = async (text) => {
    this.words++
    await this.page.keyboard.type(text)
  }

  tell() {
    const [what, longest] = this.steps.reduce((a, b) => (b[1] > a[1] ? b : a))
    const total = this.steps.reduce((sum, [, ms]) => sum + ms, 0)
    const row = [this.name, this.steps.length, this.clicks, this.keys, this.words]
    console.log(`| ${[...row, Math.round(total), `${what}: ${Math.round(longest)}`].join(' | ')} |`)
  }
}

async function jobs(page, origin, told) {
  const home = async () => {
    await page.goto(`${origin}/`)
    await page.locator('.figures').waitFor()
  }
  const link = (name) => page.getByRole('link', { name, exact: true })
  await home()
  let job = new Job('find the session in which X was fixed', page)
  await job.step('search', () => job.press('g', 'f'), page.locator('.search-box'))
  await job.step('words', () => job.type('cart items expected'), page.locator('.hit-group').first())
  const hit = page.locator('.hit-group', { hasText: 'one item too many' })
  await job.step(
    'open',
    () => job.click(hit.locator('h2 a')),
    page.locator('.verdict-card', { hasText: 'fixed by' }),
  )

  await home()
  job = new Job('last month’s spend by repository', page)
  await job.step('usage', () => job.press('g', 'u'), page.locator('.figures'))
  const repos = page
    .getByRole('region', { name: 'Usage by repository' })
    .or(page.locator('[aria-label^="Usage by repo"]'))
  await job.step('month', () => job.click(link('Last month')), page.locator('.table-scroll tfoot'))
  if ((await repos.count()) === 0)
    await job.step('by repository', () => job.click(link('Repository')), repos.first())

  await home()
  job = new Job('why this failed', page)
  await job.step('sessions', () => job.press('g', 's'), page.locator('.row-title').first())
  const row = page.locator(`[data-uid="${told.failed.uid}"] .row-link`)
  await job.step('open', () => job.click(row), page.locator('.verdict-fact', { hasText: 'Deciding error' }))
  const deciding = page.locator('.verdict-fact', { hasText: 'Deciding error' })
  const event = deciding.getByRole('link', { name: /^event/ })
  await job.step(
    'the error',
    () => job.click(event),
    page.locator('.slot.target', { hasText: 'AssertionError' }),
  )

  await page.goto(`${origin}/s/${encodeURIComponent(told.failed.uid)}`)
  await deciding.waitFor()
  job = new Job('what mended it last time', page)
  await job.step('see how', () => job.click(link('see how')), page.locator('.slot.target'))

  await home()
  job = new Job('follow a live session', page)
  const running = page.locator('.card', { hasText: 'Where you left off' }).locator('li a').first()
  await job.step('open', () => job.click(running), page.locator('.said.prompt').first())
  const more = () => told.live.say('Two things. Done.').write()
  await job.step('what is new', more, page.locator('.slot', { hasText: 'Two things. Done.' }))

  await page.goto(`${origin}/s/${encodeURIComponent(told.long.uid)}`)
  await page.locator('.slot .step:not(.pending)').first().waitFor()
  job = new Job(`read ${LONG_EVENTS.toLocaleString('en')} events by keyboard`, page)
  await job.step('next event', () => job.press('j', 'j', 'j'), page.locator('.slot.target'))
  await job.step('next prompt', () => job.press('J'), page.locator('.slot.target .said.prompt'))
  await job.step('next error', () => job.press('e'), page.locator('.slot.target .verdict.failed'))
  const end = page.locator('.slot .said', { hasText: 'That part is done.' }).last()
  await job.step('a page', () => job.press('PageDown', ' '), page.locator('.slot .step').first())
  await job.step('the end', () => job.press('End'), end)

  await page.goto(`${origin}/s/${encodeURIComponent(told.edited.uid)}`)
  await page.locator('.verdict-card').waitFor()
  job = new Job(`the diff of one file over a session of ${EDITS} edits`, page)
  await job.step('files', () => job.click(link('Files')), page.locator('.file-card').first())
  const card = page.locator('.file-card', { hasText: 'values.ts' })
  const lines = card.locator('.line.added').first()
  const unfold = async () => {
    if (!(await card.evaluate((one) => one.open))) await job.click(card.locator('summary'))
  }
  await job.step('unfold', unfold, lines)
}

/** Other questions, one after the other: alone, and while the diff of the long file is put together again and again. */
async function beside(origin, cookie, told) {
  const ask = async (path) => {
    const from = performance.now()
    const answer = await fetch(`${origin}/api/${path}`, { headers: { cookie } })
    await answer.arrayBuffer()
    return performance.now() - from
  }
  const uid = encodeURIComponent(told.edited.uid)
  const others = [
    'sessions?limit=100',
    'overview?days=90&timezone=UTC',
    `sessions/${uid}`,
    'search?q=cart',
    'storage',
  ]
  const round = async () => {
    const times = []
    for (let n = 0; n < 40; n++) for (const path of others) times.push(await ask(path))
    times.sort((a, b) => a - b)
    return { p50: times[Math.floor(times.length * 0.5)], p95: times[Math.floor(times.length * 0.95)] }
  }
  await round()
  console.log('\n| other questions | p50 ms | p95 ms | diffs meanwhile |\n|---|---|---|---|')
  for (let turn = 0; turn < 3; turn++) {
    const alone = await round()
    console.log(`| alone | ${alone.p50.toFixed(1)} | ${alone.p95.toFixed(1)} | |`)
    let [isOver, diffs] = [false, 0]
    // Two sessions in turn: the thread keeps one, so that each question is worked out anew.
    const asking = (async () => {
      for (; !isOver; diffs++) {
        await ask(`sessions/${uid}/changes?file=${encodeURIComponent('src/values.ts')}`)
        await ask(`sessions/${encodeURIComponent(told.mended.uid)}/changes?limit=1`)
      }
    })()
    const busy = await round()
    isOver = true
    await asking
    console.log(`| beside the diff | ${busy.p50.toFixed(1)} | ${busy.p95.toFixed(1)} | ${diffs} |`)
  }
}

async function paint(page, origin) {
  const times = []
  for (let n = 0; n < 7; n++) {
    await page.goto(`${origin}/`)
    await page.locator('.figures').waitFor()
    times.push(await page.evaluate('performance.getEntriesByName("first-contentful-paint")[0].startTime'))
  }
  times.sort((a, b) => a - b)
  console.log(`\nfirst contentful paint of the overview: ${times.map(Math.round).join(', ')} ms`)
}

const base = mkdtempSync(join(tmpdir(), 'recollect-bench-jobs-'))
const home = join(base, 'memory')
const root = join(base, '.claude', 'projects')
mkdirSync(home, { recursive: true, mode: 0o700 })
const told = writeSessions(root)
writeFileSync(join(home, 'config.toml'), `[sources.claude]\nroots = ${JSON.stringify([root])}\n`)
const env = { PATH: process.env.PATH, HOME: base, RECOLLECT_HOME: home }
execFileSync(process.execPath, [CLI, 'sweep'], { env, stdio: 'ignore' })
const server = spawn(process.execPath, [CLI, 'ui', '--no-open', '--port', '0'], {
  env,
  stdio: ['ignore', 'pipe', 'inherit'],
})
const browser = await launchChromium()
try {
  const url = await new Promise((done) =>
    server.stdout.once('data', (bytes) => done(/http\S+/.exec(String(bytes))?.[0])),
  )
  const context = await browser.newContext({ timezoneId: 'UTC' })
  context.setDefaultTimeout(120_000)
  const page = await context.newPage()
  const { origin } = new URL(url)
  await page.goto(url)
  await page.waitForURL(`${origin}/`)
  await jobs(page, origin, told)
  console.log(
    '| job | steps | clicks | keys | texts | ms in all | longest step, ms |\n|---|---|---|---|---|---|---|',
  )
  for (const job of Job.all) job.tell()
  const [cookie] = await context.cookies()
  await beside(origin, `${cookie.name}=${cookie.value}`, told)
  await paint(page, origin)
} finally {
  await browser.close()
  server.kill()
  await new Promise((done) => server.once('close', done))
  rmSync(base, { recursive: true, force: true })
}
