// What digests add to a cold sweep, by samples of its threads, and what eviction costs. `--sessions 0` measures eviction alone;
// DIR holds real transcripts, one folder for each agent, named as under `[sources]`, in the place of generated ones.
//   npm run bench:digest [-- --sessions 3000 --rounds 1 --evicted 1000 --kept 2000 --corpora DIR]
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DatabaseSync } from '@photostructure/sqlite'
import { generate } from './corpus.mjs'
import { measure, median, option, pathOption, say, sourcesBelow } from './measure.mjs'

const sessions = option('--sessions', 3000)
const rounds = option('--rounds', 1)
const evicted = option('--evicted', 1000)
const kept = option('--kept', 2000)
const corpora = pathOption('--corpora')
const cli = fileURLToPath(new URL('../dist/cli.cjs', import.meta.url))
const root = mkdtempSync(join(tmpdir(), 'recollect-bench-'))
process.on('exit', () => rmSync(root, { recursive: true, force: true }))

/** Where digests are made: at the end of a sweep, and for long sessions while its writer has to wait. */
const DIGESTS = new Set(['analyze', 'useIdleTime'])

say('machine', `${cpus().length} cores, Node ${process.version}`)
const home = join(root, 'home')
if (sessions > 0) {
  mkdirSync(home)
  if (corpora) say('real transcripts', readdirSync(corpora).join(', '))
  else {
    const made = generate(home, { sessions })
    say('corpus', `${made.files.length} sessions, ${(made.bytes / 1e6).toFixed(0)} MB`)
  }
  const shares = Array.from({ length: rounds }, () => `${(shareOfDigests() * 100).toFixed(1)} %`)
  say('digests add to a cold sweep (target 12 %)', shares.join(', '))
}

/** In samples of both threads, V8's own helpers not included. */
function shareOfDigests() {
  const [memory, profiles] = [join(root, 'memory'), join(root, 'profiles')]
  mkdirSync(memory, { mode: 0o700 })
  if (corpora) writeFileSync(join(memory, 'config.toml'), sourcesBelow(corpora))
  measure(['--cpu-prof', `--cpu-prof-dir=${profiles}`, cli, 'sweep'], { home, memory })
  let [all, digests] = [0, 0]
  for (const name of readdirSync(profiles)) {
    const { nodes, samples, timeDeltas } = JSON.parse(readFileSync(join(profiles, name), 'utf8'))
    const byId = new Map(nodes.map((node) => [node.id, node]))
    const within = new Set()
    const mark = (node, isWithin) => {
      const isDigest = isWithin || DIGESTS.has(node.callFrame.functionName)
      if (isDigest) within.add(node.id)
      for (const child of node.children ?? []) mark(byId.get(child), isDigest)
    }
    mark(nodes[0], false)
    samples.forEach((id, at) => {
      if (byId.get(id).callFrame.functionName === '(idle)') return
      all += timeDeltas[at]
      if (within.has(id)) digests += timeDeltas[at]
    })
  }
  for (const path of [memory, profiles]) rmSync(path, { recursive: true })
  return digests / (all - digests)
}

/** A memory with nothing in it. */
function newMemory() {
  const memory = join(root, 'memory')
  mkdirSync(memory, { mode: 0o700 })
  measure([cli, 'sweep'], { memory })
  return memory
}

function change(memory, statements) {
  const database = new DatabaseSync(join(memory, 'memory.db'))
  database.exec(statements)
  database.close()
}

// Another home for what is to go. Sessions are evicted by age (the oldest have lain there too long), by budget (the cap is
// what was left after that, in whole megabytes, as people write caps) and by age again with those that go spread among
// those that stay.
const old = { home: join(root, 'old'), memory: newMemory() }
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
