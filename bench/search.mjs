// Search over 20,000 generated sessions (1 GB): the time of a query in a process that is already running, of a filtered
// one beside it, and of the whole program beside bare Node and the query, in turns; then of other commands.
//   npm run bench:search [-- --sessions 20000 --scale 0.085 --memory DIR]
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DatabaseSync } from '@photostructure/sqlite'
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
const open = (path) => new DatabaseSync(join(memory, path), { readOnly: true })
const [remembered, cache] = [open('memory.db'), open('cache/cache.db')]
const count = (sql) => cache.prepare(sql).get().n
say(
  'memory',
  `${count('SELECT count(*) AS n FROM cached')} sessions, ${count('SELECT count(*) AS n FROM events')} events`,
)

/** Words of the corpus by how often they stand in it, so that rare and common ones are asked for alike. */
function queries() {
  cache.exec('CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab(main, words, row)')
  const words = []
  for (const [least, most, take] of [
    [3, 50, 20],
    [50, 500, 20],
    [500, 5000, 20],
    [5000, 50_000, 20],
    [50_000, 1e9, 10],
  ]) {
    const rows = cache
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
const [newest] = remembered.prepare('SELECT max(started_at) AS at FROM sessions').all()
const [somewhere] = remembered.prepare('SELECT repo FROM sessions WHERE repo IS NOT NULL LIMIT 1').all()
const [any] = remembered.prepare('SELECT session_uid AS uid FROM sessions LIMIT 1').all()
const FILTERS = {
  'no filter': {},
  'one repository': { repo: somewhere.repo },
  flavor: { flavor: 'claude' },
  'prompts only': { kinds: ['user_msg'] },
  'one tool': { tool: 'Bash' },
  'last tenth of the time': { sinceAt: newest.at - 0.1 * sessions * 3_600_000 },
  outcome: { outcome: 'abandoned' },
  'a file': { touched: 'part7/parseLine3.ts' },
  'a file name of many': { touched: 'parseLine3.ts' },
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

/** CPU and wall time of a program in milliseconds. Bash tells them to the millisecond: four runs are timed as one. */
const TOGETHER = 4
function costOf(args, more = {}) {
  const words = [process.execPath, ...args].map((word) => `'${word}'`).join(' ')
  const runs = Array(TOGETHER).fill(`${words} > "$OUT" || exit 1`).join('\n')
  const child = spawnSync('/bin/bash', ['-c', `TIMEFORMAT='%3U %3S %3R'; time { ${runs}\n}`], {
    env: { ...clean, LC_ALL: 'C.UTF-8', OUT: join(root, 'out'), ...more },
    encoding: 'utf8',
  })
  if (child.status !== 0) throw new Error(`${args.join(' ')}: ${child.stderr}`)
  const [user, system, wall] = child.stderr.trim().split('\n').at(-1).split(' ').map(Number)
  return { cpu: (1000 * (user + system)) / TOGETHER, wall: (1000 * wall) / TOGETHER }
}
const middle = (costs, what) =>
  quantile(
    costs.map((cost) => cost[what]),
    0.5,
  )

const ROUNDS = 7
const bare = []
const wholes = []
const compared = { kept: { cpu: [], wall: [] }, 'not kept': { cpu: [], wall: [] } }
for (const query of asked.filter((_, at) => at % 9 === 0)) {
  const own = (list) =>
    quantile(
      list['no filter'].filter((_, at) => asked[at % asked.length] === query),
      0.5,
    )
  const costs = { node: [], kept: [], 'not kept': [] }
  for (let round = 0; round < ROUNDS; round++) {
    costs.node.push(costOf(['-e', '0']))
    costs.kept.push(costOf([cli, 'search', query]))
    costs['not kept'].push(costOf([cli, 'search', query], { NODE_DISABLE_COMPILE_CACHE: '1' }))
  }
  bare.push(...costs.node)
  wholes.push(...costs.kept)
  for (const [name, ratios] of Object.entries(compared)) {
    ratios.cpu.push(middle(costs[name], 'cpu') / (middle(costs.node, 'cpu') + own(busy)))
    ratios.wall.push(middle(costs[name], 'wall') / (middle(costs.node, 'wall') + own(times)))
  }
}
const both = (costs) => `${ms(middle(costs, 'cpu'))} of CPU, ${ms(middle(costs, 'wall'))} by the clock`
say('bare Node', both(bare))
say('whole program', both(wholes))
for (const [name, ratios] of Object.entries(compared))
  for (const [what, list] of Object.entries(ratios))
    say(
      `  over Node and the query, ${what === 'cpu' ? 'CPU' : 'clock'}`,
      `p50 ${quantile(list, 0.5).toFixed(2)}x, worst ${Math.max(...list).toFixed(2)}x (target 2x), compiled code ${name}`,
    )

const OTHERS = [
  'sessions --limit 20',
  'show @last',
  'digest @last',
  'lineage @last',
  'patterns',
  'usage',
  'status',
]
for (const line of OTHERS) {
  const costs = { node: [], command: [] }
  for (let round = 0; round < ROUNDS; round++) {
    costs.node.push(costOf(['-e', '0']))
    costs.command.push(costOf([cli, ...line.split(' ')]))
  }
  say(`${line}, over bare Node`, `${ms(middle(costs.command, 'cpu') - middle(costs.node, 'cpu'))} of CPU`)
}
handle.close()
