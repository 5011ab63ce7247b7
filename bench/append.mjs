// How long one acknowledged append takes, beside a floor that writes the same bytes and does nothing else. Turns of
// both are mixed in small blocks within one run, so that a busy machine slows both alike; read the ratios, not the times.
// Floors: `bytes` opens, writes ready-made bytes, closes; `line` also makes the line with JSON.stringify, as every
// writer of JSON Lines must. Neither checks, locks, heals or notices a replaced file.
// Usage: npm run bench:append [-- --count 2000] [--dir DIR]
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { TranscriptWriter } from 'recollect/record'

const { values } = parseArgs({ options: { count: { type: 'string' }, dir: { type: 'string' } } })
const count = Number(values.count ?? 2000)
const BLOCK = 20
const WARM_UP_ROUNDS = 50
const TARGETS = { os: 3, fdatasync: 1.3 }
const directory = mkdtempSync(join(values.dir ?? tmpdir(), 'recollect-bench-'))

const quantile = (times, q) => times.sort((a, b) => a - b)[Math.floor(times.length * q)]
const micros = (ns) => (ns / 1000).toFixed(1).padStart(9)

/** A turn whose line has `size` bytes, of text as agents write it: some quotes and newlines to escape. */
function turnOf(size) {
  const entry = { turnId: 'turn-000001', role: 'assistant', content: '', ts: 1750000000000 }
  const sentence = 'Ran the tests: 3 of "parser" fail, see line 42.\n'
  entry.content = sentence.repeat(Math.ceil(size / sentence.length)).slice(0, size - 90)
  return entry
}

async function measure(flush, size) {
  const entry = turnOf(size)
  const bytes = Buffer.from(`${JSON.stringify(entry)}\n`)
  const writer = new TranscriptWriter(directory, { flush })
  const bare = (data) => {
    const fd = openSync(join(directory, `floor-${flush}-${size}`), 'a', 0o600)
    writeSync(fd, data)
    if (flush === 'fdatasync') fdatasyncSync(fd)
    closeSync(fd)
  }
  const floors = { bytes: () => bare(bytes), line: () => bare(`${JSON.stringify(entry)}\n`) }
  const ours = () => writer.append('bench', `s-${size}-${flush}`, entry)
  const times = { bytes: [], line: [], ours: [] }
  const steps = Object.entries({ ...floors, ours })
  const rounds = Math.ceil(count / BLOCK) + WARM_UP_ROUNDS
  for (let round = 0; round < rounds; round++) {
    for (const [name, step] of steps) {
      for (let i = 0; i < BLOCK; i++) {
        const start = process.hrtime.bigint()
        await step()
        if (round >= WARM_UP_ROUNDS) times[name].push(Number(process.hrtime.bigint() - start))
      }
    }
  }
  await writer.close()
  const p50 = Object.fromEntries(steps.map(([name]) => [name, quantile(times[name], 0.5)]))
  const line = [flush.padEnd(9), `${size / 1000} KB`.padStart(7)]
  for (const [name] of steps) line.push(micros(p50[name]), micros(quantile(times[name], 0.99)))
  const ratios = [p50.ours / p50.bytes, p50.ours / p50.line].map((r) => r.toFixed(2).padStart(6))
  console.log(line.concat(ratios, `≤ ${TARGETS[flush]}`).join(' '))
}

console.log('µs per append      floor: bytes         floor: line          append            append p50 over')
console.log(
  'policy       size       p50       p99       p50       p99       p50       p99  bytes   line target',
)
try {
  for (const flush of ['os', 'fdatasync']) for (const size of [1000, 100_000]) await measure(flush, size)
} finally {
  rmSync(directory, { recursive: true, force: true })
}
