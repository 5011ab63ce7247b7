// Search over 20,000 generated sessions (1 GB): the time of a query in a process that is already running, of a filtered
// one beside it, and of the whole program beside bare Node and the query.
//   npm run bench:search [-- --sessions 20000 --scale 0.085 --memory DIR]
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openMemory, searchSessions, storePaths } from '../dist/index.js'
import { generate } from './corpus.mjs'

const option = (name, fallback) => {
  const at = process.argv.indexOf(name)
  return at === -1 ? fallback : process.argv[at + 1]
}
const sessions = Number(option('--sessions', 20_000))
const cli = fileURLToPath(new URL('../dist/cli.cjs', import.meta.url))
const root = mkdtempSync(join(tmpdir(), 'recollect-bench-'))
process.on('exit', () => rmSync(root, { recursive: true, force: true }))
/** A memory that is kept can be measured again without sweeping. */
const memory = option('--memory', join(root, 'memory'))
const clean = { ...process.env, HOME: join(root, 'home'), RECOLLECT_HOME: memory }
delete clean.NODE_EXTRA_CA_CERTS

const say = (what, text) => console.log(`${what.padEnd(36)} ${text}`)
const quantile = (times, share) =>
  times.toSorted((a, b) => a - b)[Math.min(times.length - 1, Math.floor(times.length * share))]
const ms = (time) => `${time.toFixed(1)} ms`

say('machine', `${cpus().length} cores, Node ${process.version}`)
if (!existsSync(memory)) {
  const made = generate(join(root, 'home'), { sessions, scale: Number(option('--scale', 0.085)) })
  say('corpus', `${made.files.length} sessions, ${(made.bytes / 1e6).toFixed(0)} MB`)
  const swept = spawnSync(process.execPath, [cli, 'sweep'], { env: clean, encoding: 'utf8' })
  if (swept.status !== 0) throw new Error(swept.stderr)
}

const handle = openMemory(storePaths(memory))
const count = (sql) => handle.cache.prepare(sql).get().n
say(
  'memory',
  `${count('SELECT count(*) AS n FROM cached')} sessions, ${count('SELECT count(*) AS n FROM events')} events`,
)

/** Words of the corpus by how often they stand in it, so that rare and common ones are asked for alike. */
function queries() {
  handle.cache.exec('CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab(main, words, row)')
  const words = []
  for (const [least, most, take] of [
    [3, 50, 20],
    [50, 500, 20],
    [500, 5000, 20],
    [5000, 50_000, 20],
    [50_000, 1e9, 10],
  ]) {
    const rows = handle.cache
      .prepare(
        "SELECT term FROM temp.vocabulary WHERE doc BETWEEN ? AND ? AND term GLOB '[a-z][a-z][a-z]*' ORDER BY term",
      )
      .all(least, most)
    const step = Math.max(1, Math.floor(rows.length / take))
    words.push(
      ...rows
        .filter((_, at) => at % step === 0)
        .slice(0, take)
        .map((row) => row.term),
    )
  }
  const pick = (at) => words[(at * 37) % words.length]
  return words.map((word, at) => [word, pick(at + 1), pick(at + 2)].slice(0, 1 + (at % 3)).join(' '))
}

const asked = queries()
const [newest] = handle.memory.prepare('SELECT max(started_at) AS at FROM sessions').all()
const [somewhere] = handle.memory.prepare('SELECT repo FROM sessions WHERE repo IS NOT NULL LIMIT 1').all()
const [any] = handle.memory.prepare('SELECT session_uid AS uid FROM sessions LIMIT 1').all()
const FILTERS = {
  'no filter': {},
  'one repository': { repo: somewhere.repo },
  flavor: { flavor: 'claude' },
  'prompts only': { kinds: ['user_msg'] },
  'one tool': { tool: 'Bash' },
  'last tenth of the time': { sinceAt: newest.at - 0.1 * sessions * 3_600_000 },
  outcome: { outcome: 'abandoned' },
  'a file': { touched: 'part7/parseLine3.ts' },
  'all but one session': { excludeSession: any.uid },
}

// On a machine with other work the CPU's time says more than the clock's.
const busy = Object.fromEntries(Object.keys(FILTERS).map((name) => [name, []]))
const times = Object.fromEntries(Object.keys(FILTERS).map((name) => [name, []]))
for (let round = 0; round < 3; round++)
  for (const query of asked)
    for (const [name, options] of Object.entries(FILTERS)) {
      const from = performance.now()
      const busyFrom = process.cpuUsage()
      searchSessions(handle, query, options)
      times[name].push(performance.now() - from)
      const { user, system } = process.cpuUsage(busyFrom)
      busy[name].push((user + system) / 1000)
    }
const figures = (name, share) =>
  `${ms(quantile(times[name], share))}, ${ms(quantile(busy[name], share))} of CPU`
say('queries', `${asked.length} of 1 to 3 words, three times each`)
say('in process, p50 (target 15 ms)', figures('no filter', 0.5))
say('in process, p95 (target 60 ms)', figures('no filter', 0.95))
for (const name of Object.keys(FILTERS).slice(1)) {
  const ratio = (share) => `${(quantile(busy[name], share) / quantile(busy['no filter'], share)).toFixed(2)}x`
  say(`  ${name} (target 1.5x)`, `CPU p50 ${ratio(0.5)}, p95 ${ratio(0.95)}; ${figures(name, 0.95)}`)
}

/** CPU and wall time of a process in milliseconds, over so many runs: GNU time counts in hundredths of a second. */
function costOf(args, runs) {
  const words = [process.execPath, ...args].map((word) => `'${word}'`).join(' ')
  const script = Array(runs).fill(`${words} > /dev/null`).join(' && ')
  const child = spawnSync('/usr/bin/time', ['-f', '%U %S %e', 'sh', '-c', script], {
    env: clean,
    encoding: 'utf8',
  })
  if (child.status !== 0) throw new Error(`${args.join(' ')}: ${child.stderr}`)
  const [user, system, wall] = child.stderr.trim().split('\n').at(-1).split(' ').map(Number)
  return { cpu: (1000 * (user + system)) / runs, wall: (1000 * wall) / runs }
}
const bare = costOf(['-e', '0'], 30)
const ratios = { cpu: [], wall: [] }
const wholes = []
for (const query of asked.filter((_, at) => at % 9 === 0)) {
  const own = (list) =>
    quantile(
      list['no filter'].filter((_, at) => asked[at % asked.length] === query),
      0.5,
    )
  const whole = costOf([cli, 'search', query], 8)
  wholes.push(whole.cpu)
  ratios.cpu.push(whole.cpu / (bare.cpu + own(busy)))
  ratios.wall.push(whole.wall / (bare.wall + own(times)))
}
say('bare Node', `${ms(bare.cpu)} of CPU`)
say('whole program', `p50 ${ms(quantile(wholes, 0.5))} of CPU`)
for (const [name, list] of Object.entries(ratios))
  say(
    `  over Node and the query, ${name === 'cpu' ? 'CPU' : 'clock'}`,
    `p50 ${quantile(list, 0.5).toFixed(2)}x, worst ${Math.max(...list).toFixed(2)}x (target 2x)`,
  )
handle.close()
