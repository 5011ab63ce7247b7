// The page's server under 50 clients at 20,000 sessions, beside a bare Hono route in the same run; the page's weight, and how
// soon it paints in Chromium. `node bench/web.mjs [--sessions 20000] [--clients 50] [--requests 40]`
import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import { serve } from '@hono/node-server'
import { DatabaseSync } from '@photostructure/sqlite'
import { Hono } from 'hono'
import { hasChromium, launchChromium } from '../scripts/chromium.mjs'

const ROOT = resolve(import.meta.dirname, '..')
const flag = (name, fallback) => {
  const at = process.argv.indexOf(`--${name}`)
  return at === -1 ? fallback : Number(process.argv[at + 1])
}
const SESSIONS = flag('sessions', 20_000)
const CLIENTS = flag('clients', 50)
const REQUESTS = flag('requests', 40)

if (process.argv[2] === 'bare') {
  const app = new Hono().get('/', (context) => context.json({ ok: true }))
  serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) =>
    console.log(`http://127.0.0.1:${port}/`),
  )
} else await main()

async function main() {
  const base = mkdtempSync(join(tmpdir(), 'recollect-bench-web-'))
  const children = []
  try {
    const { env, uid } = makeMemory(base)
    const bare = await start(children, [join(ROOT, 'bench', 'web.mjs'), 'bare'], process.env)
    const cli = join(ROOT, 'dist', 'cli.cjs')
    const url = await start(children, [cli, 'ui', '--no-open', '--no-watch', '--port', '0'], env)
    const opened = await fetch(url, { redirect: 'manual' })
    const cookie = opened.headers.get('set-cookie').split(';')[0]
    const { origin } = new URL(url)
    const paths = {
      'list of sessions': '/api/sessions?limit=100',
      'list, narrowed': '/api/sessions?q=proj&outcome=success&sort=cost',
      overview: '/api/overview?days=90&timezone=UTC',
      'one session': `/api/sessions/${encodeURIComponent(uid)}`,
      'window of events': `/api/sessions/${encodeURIComponent(uid)}/events?limit=50`,
      search: '/api/search?q=calc*',
      lineage: '/api/lineage?related=1&limit=200',
      storage: '/api/storage',
      health: '/api/health',
    }
    console.log(`${SESSIONS} sessions, ${CLIENTS} clients, ${REQUESTS} requests each; times in ms\n`)
    await firstAnswers(children, origin, cookie, paths)
    row('', 'p50', 'p95', 'per second', 'p50 ÷ bare')
    const floor = await measure(bare, {})
    show('bare Hono route', floor, floor)
    for (const [name, path] of Object.entries(paths)) {
      show(name, await measure(origin + path, { cookie }), floor)
      // Both in the same minutes: a busy machine slows both.
    }
    show('bare Hono route, again', await measure(bare, {}), floor)
    weigh()
    if (hasChromium()) await paint(children, cli, env)
  } finally {
    for (const child of children) child.kill()
    rmSync(base, { recursive: true, force: true })
  }
}

/** A real sweep of test sessions; then their rows of the durable memory again and again, under other ids. */
function makeMemory(base) {
  execFileSync('tar', ['-xzf', join(ROOT, 'test/fixtures/agents/claude-2.1.200.tgz'), '-C', base])
  const home = join(base, 'memory')
  mkdirSync(home)
  const client = join(base, 'claude-2.1.200')
  const roots = readdirSync(client).map((name) => join(client, name, '.claude/projects'))
  writeFileSync(join(home, 'config.toml'), `[sources.claude]\nroots = ${JSON.stringify(roots)}\n`)
  const env = { PATH: process.env.PATH, HOME: join(base, 'nobody'), RECOLLECT_HOME: home }
  execFileSync(process.execPath, [join(ROOT, 'dist', 'cli.cjs'), 'sweep'], { env, stdio: 'ignore' })
  const database = new DatabaseSync(join(home, 'memory.db'))
  const { uid } = database
    .prepare('SELECT session_uid AS uid FROM sessions ORDER BY event_count DESC LIMIT 1')
    .get()
  const { count } = database.prepare('SELECT count(*) AS count FROM sessions').get()
  const times = Math.ceil(SESSIONS / count) - 1
  database.exec('BEGIN')
  // The ledger knows sessions by numbers: those of a copy follow on those before it.
  const { most } = database.prepare('SELECT max(number) AS most FROM ledger_sessions').get()
  for (const table of ['sessions', 'digests', 'ledger_sessions', 'ledger', 'usage_slots', 'edges'])
    copyRows(database, table, times, most)
  database.exec('COMMIT')
  database.close()
  return { env, uid }
}

function copyRows(database, table, times, most) {
  const columns = database
    .prepare(`PRAGMA table_info(${table})`)
    .all()
    .map(({ name }) => name)
  const value = (name) => {
    if (name === 'parent_uid') return "CASE parent_uid WHEN '' THEN '' ELSE parent_uid || '-' || n END"
    if (name === 'session_uid' || name === 'native_session_id' || name === 'response_id')
      return `${name} || '-' || n`
    // A day earlier each time, over two years.
    if (['started_at', 'ended_at', 'ts', 'at'].includes(name)) return `${name} - (n % 730) * 86400000`
    if (name === 'number' || name === 'session') return `${name} + n * ${most}`
    if (name === 'slot') return `${name} - (n % 730) * 96`
    return name
  }
  database.exec(`WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${times})
    INSERT INTO ${table} (${columns.join(', ')}) SELECT ${columns.map(value).join(', ')} FROM ${table}, numbers`)
}

function start(children, args, env) {
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'ignore'] })
  children.push(child)
  return new Promise((done) => child.stdout.once('data', (bytes) => done(String(bytes).trim())))
}

async function measure(url, headers) {
  const times = []
  const began = performance.now()
  const client = async () => {
    for (let i = 0; i < REQUESTS; i++) {
      const from = performance.now()
      const answer = await fetch(url, { headers })
      await answer.arrayBuffer()
      if (!answer.ok) throw new Error(`${url}: ${answer.status}`)
      times.push(performance.now() - from)
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  times.sort((a, b) => a - b)
  const seconds = (performance.now() - began) / 1000
  return {
    p50: times[Math.floor(times.length / 2)],
    p95: times[Math.floor(times.length * 0.95)],
    rate: times.length / seconds,
  }
}

/** Each question once, alone, before anything is kept: the processor's time says what it costs, the clock also who else ran. */
async function firstAnswers(children, origin, cookie, paths) {
  const { pid } = children.at(-1)
  row('first answer', 'ms', 'CPU ms', 'kB')
  for (const [name, path] of Object.entries(paths)) {
    const [from, spent] = [performance.now(), cpuOf(pid)]
    const { length } = await (await fetch(origin + path, { headers: { cookie } })).text()
    row(name, Math.round(performance.now() - from), cpuOf(pid) - spent, Math.round(length / 1000))
  }
  console.log()
}

/** Of a process, in milliseconds: Linux counts it in hundredths of a second. */
function cpuOf(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}

function row(...cells) {
  console.log(
    cells.map((cell, i) => (i === 0 ? String(cell).padEnd(24) : String(cell).padStart(11))).join(''),
  )
}

function show(name, { p50, p95, rate }, floor) {
  row(name, p50.toFixed(1), p95.toFixed(1), Math.round(rate), (p50 / floor.p50).toFixed(1))
}

function weigh() {
  const directory = join(ROOT, 'dist', 'page')
  console.log('\npage, compressed:')
  let total = 0
  for (const name of readdirSync(directory)) {
    const size = gzipSync(readFileSync(join(directory, name))).length
    total += size
    row(`  ${name}`, `${(size / 1000).toFixed(1)} kB`)
  }
  row('  all', `${(total / 1000).toFixed(1)} kB`)
}

async function paint(children, cli, env) {
  const url = await start(children, [cli, 'ui', '--no-open', '--no-watch', '--port', '0'], env)
  const browser = await launchChromium()
  try {
    const page = await browser.newPage()
    await page.goto(url)
    await page.locator('.figures').waitFor()
    const times = []
    for (let i = 0; i < 5; i++) {
      await page.reload()
      await page.locator('.figures').waitFor()
      times.push(await page.evaluate('performance.getEntriesByName("first-contentful-paint")[0].startTime'))
    }
    times.sort((a, b) => a - b)
    console.log(`\nfirst contentful paint of the overview: ${times[2].toFixed(0)} ms (median of 5)`)
  } finally {
    await browser.close()
  }
}
