// CPU time of the hook handler over bare Node, each in a fresh process and in turns: with the input of an agent, where it
// starts a sweep and where one is already about to begin, and with 100 MB of it. Usage: npm run bench:hook [-- --count 25]
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'

const { values } = parseArgs({ options: { count: { type: 'string' } } })
const count = Number(values.count ?? 25)
const base = mkdtempSync(join(tmpdir(), 'recollect-bench-'))
const meter = join(base, 'meter.cjs')
// Loaded into each process that is measured; a few microseconds.
writeFileSync(
  meter,
  `process.on('exit', () => { const { user, system } = process.cpuUsage()
require('node:fs').writeFileSync(process.env.METER, String((user + system) / 1000)) })`,
)
const empty = join(base, 'empty.cjs')
writeFileSync(empty, '')
const handler = resolve(import.meta.dirname, '..', 'dist', 'recollect-hook.cjs')
const input = JSON.stringify({
  hook_event_name: 'Stop',
  session_id: '11111111-1111-4111-8111-111111111111',
  transcript_path: '/nowhere/projects/p/11111111-1111-4111-8111-111111111111.jsonl',
  last_assistant_message: 'x'.repeat(2000),
})

async function cpuMs(script, home, bytes = 0) {
  const env = { PATH: process.env.PATH, HOME: base, RECOLLECT_HOME: home, METER: join(base, 'cpu') }
  const child = spawn(process.execPath, ['--require', meter, script], {
    env,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  child.stdin.on('error', () => {})
  child.stdin.write(input)
  const block = Buffer.alloc(1 << 20, 'x')
  const pump = () => {
    for (; bytes > 0; bytes -= block.length)
      if (!child.stdin.write(block)) {
        bytes -= block.length
        return child.stdin.once('drain', pump)
      }
    child.stdin.end()
  }
  pump()
  await new Promise((done) => child.once('close', done))
  child.stdin.destroy()
  return Number(readFileSync(join(base, 'cpu'), 'utf8'))
}

/** A memory in which a sweep is about to begin. */
const nudged = join(base, 'nudged')
mkdirSync(join(nudged, 'spool'), { recursive: true })
const cases = {
  'bare Node': () => cpuMs(empty, nudged),
  'a sweep is about to begin': () => cpuMs(handler, nudged),
  'it starts a sweep': (n) => cpuMs(handler, join(base, `m${n}`)),
  '100 MB of input': () => cpuMs(handler, nudged, 100 << 20),
}
const times = Object.fromEntries(Object.keys(cases).map((name) => [name, []]))
try {
  for (let n = 0; n < count; n++) {
    writeFileSync(join(nudged, 'spool', 'nudged'), '')
    for (const name in cases) times[name].push(await cases[name](n))
  }
} finally {
  // The sweeps that were started wait a second, find nothing and end.
  await new Promise((done) => setTimeout(done, 8000))
  rmSync(base, { recursive: true, force: true })
}
for (const list of Object.values(times)) list.sort((a, b) => a - b)
const median = (list) => list[Math.floor(list.length / 2)]
for (const [name, list] of Object.entries(times)) {
  const over =
    name === 'bare Node' ? '' : `, ${(median(list) - median(times['bare Node'])).toFixed(1)} over bare Node`
  console.log(
    `${name.padEnd(26)} ${list[0].toFixed(0)} / ${median(list).toFixed(0)} ms of CPU (least, median)${over}`,
  )
}
