// Cold sweep, idle sweep and the cost of one appended line, beside the floor "read and JSON.parse every line" measured in
// the same run. Prints ratios; absolute times are noise on a shared machine.
//   npm run bench:ingest [-- --sessions 3000 --idle-sources 20000 --corpora DIR]
// DIR holds real transcripts, one folder for each agent, named as under `[sources]`; they are measured too.
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { generate } from './corpus.mjs'
import { measure, option, pathOption, say, sourcesBelow } from './measure.mjs'

const sessions = option('--sessions', 3000)
const idleSources = option('--idle-sources', 20_000)
const cli = fileURLToPath(new URL('../dist/cli.cjs', import.meta.url))
const root = mkdtempSync(join(tmpdir(), 'recollect-bench-'))
process.on('exit', () => rmSync(root, { recursive: true, force: true }))

const bytesBelow = (path) =>
  readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0)

const floorProgram = `
  import { readFileSync } from 'node:fs'
  for (const path of readFileSync(0, 'utf8').trim().split('\\n')) {
    const bytes = readFileSync(path)
    let start = 0
    for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, start)) {
      try {
        JSON.parse(bytes.toString('utf8', start, at))
      } catch {}
      start = at + 1
    }
  }`

function floorOf(files) {
  const list = join(root, 'files.txt')
  writeFileSync(list, files.join('\n'))
  return measure(
    [
      '--input-type=module',
      '-e',
      floorProgram.replace('readFileSync(0,', `readFileSync(${JSON.stringify(list)},`),
    ],
    {},
  )
}

const ratio = (a, b) => `${(a / b).toFixed(2)}x`

say('machine', `${cpus().length} cores, Node ${process.version}`)
const home = join(root, 'home')
const made = generate(home, { sessions })
say('corpus', `${made.files.length} sessions, ${(made.bytes / 1e6).toFixed(0)} MB`)

/** A sweep into an empty memory, beside the floor of the same files. */
function coldSweep({ files, bytes }, at) {
  const floor = floorOf(files)
  const cold = measure([cli, 'sweep'], at)
  say('floor: read + JSON.parse', `${floor.wall.toFixed(2)} s wall, ${floor.cpu.toFixed(2)} s CPU`)
  say(
    'cold sweep',
    `${cold.wall.toFixed(2)} s wall, ${cold.cpu.toFixed(2)} s CPU, peak ${(cold.rss / 1e6).toFixed(0)} MB`,
  )
  say('  wall / floor (target 4.5)', ratio(cold.wall, floor.wall))
  say('  CPU / floor (target 8)', ratio(cold.cpu, floor.cpu))
  say('  store / source bytes (target 0.35)', ratio(bytesBelow(at.memory), bytes))
}

const empty = measure(['-e', '0'], {})
const corpora = pathOption('--corpora')
if (corpora) {
  const files = readdirSync(corpora, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.jsonl'))
    .map((entry) => join(entry.parentPath, entry.name))
  const bytes = files.reduce((sum, path) => sum + statSync(path).size, 0)
  const at = { home: join(root, 'nobody'), memory: join(root, 'memory-of-corpora') }
  for (const path of Object.values(at)) mkdirSync(path, { mode: 0o700 })
  writeFileSync(join(at.memory, 'config.toml'), sourcesBelow(corpora))
  say('real transcripts', `${files.length} files, ${(bytes / 1e6).toFixed(0)} MB`)
  coldSweep({ files, bytes }, at)
}

const generated = { home, memory: join(root, 'memory') }
coldSweep(made, generated)
const again = measure([cli, 'sweep'], generated)
say('sweep again, nothing changed', `${again.cpu.toFixed(2)} s CPU`)

/** The price of one line appended to a session of the given size, over a sweep that finds nothing new. */
function appendCost(bytes, name) {
  const place = join(root, name)
  const one = join(place, 'home/.claude/projects/-home-dev-p')
  mkdirSync(one, { recursive: true })
  const lines = readFileSync(made.files[0], 'utf8').slice(0, Math.min(bytes, 87e6)).split('\n').slice(0, -1)
  const path = join(one, made.files[0].split('/').at(-1))
  writeFileSync(path, '')
  for (let size = 0; size < bytes; ) {
    const block = `${lines.join('\n')}\n`
    appendFileSync(path, block)
    size += block.length
  }
  const at = { home: join(place, 'home'), memory: join(place, 'memory') }
  measure([cli, 'sweep'], at)
  const costs = []
  for (let round = 0; round < 5; round++) {
    const idle = measure([cli, 'sweep'], at)
    appendFileSync(
      path,
      `${lines[0].replace(/"uuid":"[0-9a-f]{8}/, `"uuid":"${String(10000000 + round)}`)}\n`,
    )
    costs.push(measure([cli, 'sweep'], at).cpu - idle.cpu + empty.cpu)
  }
  return costs.sort((a, b) => a - b)[2]
}
const small = appendCost(100e3, 'small')
const large = appendCost(100e6, 'large')
say('one line more, 100 KB session', `${(small * 1000).toFixed(0)} ms CPU, process included`)
say('one line more, 100 MB session', `${(large * 1000).toFixed(0)} ms CPU: ${ratio(large, small)} (target 2)`)

const many = join(root, 'many')
for (let index = 0; index < idleSources; index++) {
  const folder = join(many, 'home/.claude/projects', `-p-${index % 400}`)
  mkdirSync(folder, { recursive: true })
  const id = `${String(index).padStart(8, '0')}-0000-4000-a000-000000000000`
  writeFileSync(
    join(folder, `${id}.jsonl`),
    `${JSON.stringify({ type: 'user', uuid: id, parentUuid: null, sessionId: id, cwd: '/p', timestamp: '2026-01-01T00:00:00Z', message: { role: 'user', content: `prompt ${index}` } })}\n`,
  )
}
const idleAt = { home: join(many, 'home'), memory: join(many, 'memory') }
measure([cli, 'sweep'], idleAt)
const idle = measure([cli, 'sweep'], idleAt)
say(
  `idle sweep over ${idleSources} sources`,
  `${(idle.cpu - empty.cpu).toFixed(2)} s CPU over bare Node (target 0.3)`,
)
