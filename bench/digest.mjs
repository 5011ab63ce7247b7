// What digests add to a cold sweep, and what eviction costs. The same sources are swept with and without digests, in turns;
// a trigger that calls every session analyzed keeps them from being made.
//   npm run bench:digest [-- --sessions 3000 --rounds 1 --evicted 1000 --kept 0]
import { appendFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DatabaseSync } from '@photostructure/sqlite'
import { generate } from './corpus.mjs'
import { measure, option, say } from './measure.mjs'

const sessions = option('--sessions', 3000)
const rounds = option('--rounds', 1)
const evicted = option('--evicted', 1000)
const kept = option('--kept', 0)
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
const made = generate(home, { sessions })
say('corpus', `${made.files.length} sessions, ${(made.bytes / 1e6).toFixed(0)} MB`)
function sweepOf(statements) {
  const memory = newMemory(statements)
  const cost = measure([cli, 'sweep'], { home, memory })
  const database = new DatabaseSync(join(memory, 'memory.db'))
  const { count } = database.prepare('SELECT count(*) AS count FROM digests').get()
  database.close()
  return { ...cost, text: `${cost.cpu.toFixed(2)} s CPU, ${count} digests` }
}
const costs = Array.from({ length: rounds }, () => [sweepOf(''), sweepOf(NO_DIGESTS)])
const middle = (which) => costs.map((pair) => pair[which]).sort((a, b) => a.cpu - b.cpu)[rounds >> 1]
const [cold, without] = [middle(0), middle(1)]
say('cold sweep, with digests', cold.text)
say('cold sweep, without', without.text)
say('  digests add (target 25 %)', `${((cold.cpu / without.cpu - 1) * 100).toFixed(1)} %`)

// Another home for what is to go: as many sessions as asked, all of them too old, but those that are pinned.
const gone = { home: join(root, 'old'), memory: newMemory('') }
const old = generate(gone.home, { sessions: evicted + kept, seed: 2, withGiant: false })
const swept = JSON.parse(measure([cli, 'sweep', '--json'], gone).stdout)
change(
  gone.memory,
  `INSERT INTO pins SELECT session_uid, 0 FROM (SELECT session_uid, row_number() OVER (ORDER BY session_uid) AS at FROM sessions)
   WHERE at * ${kept} / ${evicted + kept} > (at - 1) * ${kept} / ${evicted + kept}`,
)
const nothing = measure([cli, 'evict', '--json'], gone)
appendFileSync(join(gone.memory, 'config.toml'), '[session_memory.retention]\nraw_max_age_days = 0\n')
const evict = measure([cli, 'evict', '--json'], gone)
const report = JSON.parse(evict.stdout)
say(
  'evicted',
  `${report.steps.length} of ${evicted + kept} sessions (${(old.bytes / 1e6).toFixed(0)} MB of sources, ${swept.new_events} events)`,
)
say(
  '  cache before, after',
  `${(report.usage_before_bytes / 1e6).toFixed(0)} MB, ${(report.usage_after_bytes / 1e6).toFixed(0)} MB`,
)
say('  eviction (target 2 for 1,000)', `${(evict.cpu - nothing.cpu).toFixed(2)} s CPU`)
