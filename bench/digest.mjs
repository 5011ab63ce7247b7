// What digests add to a cold sweep, and what eviction costs. The share of digests is measured by letting a sweep that has
// nothing else to do make all of them again, under other rules.
//   npm run bench:digest [-- --sessions 3000 --evicted 1000]
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DatabaseSync } from '@photostructure/sqlite'
import { generate } from './corpus.mjs'
import { measure, median, option, say } from './measure.mjs'

const sessions = option('--sessions', 3000)
const evicted = option('--evicted', 1000)
const cli = fileURLToPath(new URL('../dist/cli.cjs', import.meta.url))
const root = mkdtempSync(join(tmpdir(), 'recollect-bench-'))
process.on('exit', () => rmSync(root, { recursive: true, force: true }))

say('machine', `${cpus().length} cores, Node ${process.version}`)
const at = { home: join(root, 'home'), memory: join(root, 'memory') }
const made = generate(at.home, { sessions })
say('corpus', `${made.files.length} sessions, ${(made.bytes / 1e6).toFixed(0)} MB`)
mkdirSync(at.memory, { mode: 0o700 })
const cold = measure([cli, 'sweep'], at)
const idle = median(3, () => measure([cli, 'sweep'], at))
const config = join(at.memory, 'config.toml')
let round = 0
const again = median(3, () => {
  // From the first event on, as in a cold sweep, not from where the last digest stopped.
  const cache = new DatabaseSync(join(at.memory, 'cache', 'cache.db'))
  cache.exec('DELETE FROM folds')
  cache.close()
  writeFileSync(config, `[digest.buckets]\ninfra = ["round${++round}"]\n`)
  return measure([cli, 'sweep'], at)
})
const digests = again.cpu - idle.cpu
const rest = cold.cpu - digests
say('cold sweep', `${cold.cpu.toFixed(2)} s CPU`)
say('all digests', `${digests.toFixed(2)} s CPU`)
say('  digests add (target 25 %)', `${((digests / rest) * 100).toFixed(1)} %`)

// Another home for what is to go: as many sessions as asked, then all of them are too old.
const gone = { home: join(root, 'old'), memory: join(root, 'old-memory') }
const old = generate(gone.home, { sessions: evicted, seed: 2, withGiant: false })
mkdirSync(gone.memory, { mode: 0o700 })
measure([cli, 'sweep'], gone)
const nothing = measure([cli, 'evict', '--json'], gone)
appendFileSync(join(gone.memory, 'config.toml'), '[session_memory.retention]\nraw_max_age_days = 0\n')
const evict = measure([cli, 'evict', '--json'], gone)
const report = JSON.parse(evict.stdout)
say('evicted', `${report.steps.length} sessions, ${(old.bytes / 1e6).toFixed(0)} MB of sources`)
say(
  '  cache before, after',
  `${(report.usage_before_bytes / 1e6).toFixed(0)} MB, ${(report.usage_after_bytes / 1e6).toFixed(0)} MB`,
)
say('  eviction (target 2)', `${(evict.cpu - nothing.cpu).toFixed(2)} s CPU`)
