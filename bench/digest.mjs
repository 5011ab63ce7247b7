// What digests add to a cold sweep, and what eviction costs. The same sources are swept with and without digests, in turns;
// a trigger that calls every session analyzed keeps them from being made. `--sessions 0` measures eviction alone.
//   npm run bench:digest [-- --sessions 3000 --rounds 1 --evicted 1000 --kept 2000]
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DatabaseSync } from '@photostructure/sqlite'
import { generate } from './corpus.mjs'
import { measure, median, option, say } from './measure.mjs'

const sessions = option('--sessions', 3000)
const rounds = option('--rounds', 1)
const evicted = option('--evicted', 1000)
const kept = option('--kept', 2000)
const cli = fileURLToPath(new URL('../dist/cli.cjs', import.meta.url))
const root = mkdtempSync(join(tmpdir(), 'recollect-bench-'))
process.on('exit', () => rmSync(root, { recursive: true, force: true }))

/** A memory with nothing in it, changed as the statements say. */
function newMemory(statements) {
  const memory = join(root, 'memory')
  rmSync(memory, { recursive: true, force: true })
  mkdirSync(memory, { mode: 0o700 })
  measure([cli, 'sweep'], { memory })
  change(memory, statements)
  return memory
}

function change(memory, statements) {
  const database = new DatabaseSync(join(memory, 'memory.db'))
  database.exec(statements)
  database.close()
}

const NO_DIGESTS = `CREATE TRIGGER no_digests AFTER UPDATE OF ingested_at ON sessions
  BEGIN UPDATE sessions SET analyzed_at = NEW.ingested_at WHERE session_uid = NEW.session_uid; END`

say('machine', `${cpus().length} cores, Node ${process.version}`)
const home = join(root, 'home')
if (sessions > 0) {
  const made = generate(home, { sessions })
  say('corpus', `${made.files.length} sessions, ${(made.bytes / 1e6).toFixed(0)} MB`)
}
function sweepOf(statements) {
  const memory = newMemory(statements)
  const cost = measure([cli, 'sweep'], { home, memory })
  const database = new DatabaseSync(join(memory, 'memory.db'))
  const { count } = database.prepare('SELECT count(*) AS count FROM digests').get()
  database.close()
  return { ...cost, text: `${cost.cpu.toFixed(2)} s CPU, ${count} digests` }
}
if (sessions > 0) {
  const costs = Array.from({ length: rounds }, () => [sweepOf(''), sweepOf(NO_DIGESTS)])
  const middle = (which) => costs.map((pair) => pair[which]).sort((a, b) => a.cpu - b.cpu)[rounds >> 1]
  const [cold, without] = [middle(0), middle(1)]
  say('cold sweep, with digests', cold.text)
  say('cold sweep, without', without.text)
  say('  digests add (target 25 %)', `${((cold.cpu / without.cpu - 1) * 100).toFixed(1)} %`)
}

// Another home for what is to go. Sessions are evicted by age (the oldest have lain there too long), by budget (the cap is
// what was left after that, in whole megabytes, as people write caps) and by age again with those that go spread among
// those that stay.
const old = { home: join(root, 'old'), memory: newMemory('') }
const sources = generate(old.home, { sessions: evicted + kept, seed: 2, withGiant: false })
const swept = JSON.parse(measure([cli, 'sweep', '--json'], old).stdout)
say(
  'to evict from',
  `${evicted + kept} sessions (${(sources.bytes / 1e6).toFixed(0)} MB of sources, ${swept.new_events} events)`,
)
const nothing = median(rounds, () => measure([cli, 'evict', '--json'], old))
const ageing = (which) => `UPDATE sessions SET ingested_at = 1 WHERE session_uid IN (${which})`
const OLDEST = `SELECT session_uid FROM sessions ORDER BY coalesce(ended_at, started_at), session_uid LIMIT ${evicted}`
const SPREAD = `SELECT session_uid FROM
  (SELECT session_uid, row_number() OVER (ORDER BY coalesce(ended_at, started_at)) AS at FROM sessions)
  WHERE at * ${evicted} / ${evicted + kept} > (at - 1) * ${evicted} / ${evicted + kept}`

function evictFrom(statements, settings = '') {
  const memory = join(root, 'trial')
  return median(rounds, () => {
    rmSync(memory, { recursive: true, force: true })
    cpSync(old.memory, memory, { recursive: true })
    change(memory, statements)
    appendFileSync(join(memory, 'config.toml'), `[session_memory.retention]\n${settings}\n`)
    return measure([cli, 'evict', '--json'], { ...old, memory })
  })
}

function tellEviction(what, cost) {
  const { steps, usage_before_bytes: before, usage_after_bytes: after } = JSON.parse(cost.stdout)
  say(
    `${what} (target 2 s)`,
    `${steps.length} sessions, ${(before / 1e6).toFixed(0)} to ${(after / 1e6).toFixed(0)} MB: ${(cost.cpu - nothing.cpu).toFixed(2)} s CPU`,
  )
  return after
}

const left = tellEviction('  evicted by age', evictFrom(ageing(OLDEST)))
if (kept > 0) {
  tellEviction('  evicted by budget', evictFrom('', `raw_soft_cap_bytes = ${Math.ceil(left / 1e6) * 1e6}`))
  tellEviction('  evicted by age, spread', evictFrom(ageing(SPREAD)))
}
