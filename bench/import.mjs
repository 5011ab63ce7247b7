// CPU time of `import 'recollect/record'` in a fresh process, over an empty module. Turns are mixed; read the medians.
// Usage: npm run bench:import [-- --count 40]
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

const { values } = parseArgs({ options: { count: { type: 'string' } } })
const count = Number(values.count ?? 40)
const TARGET_MS = 25
const directory = mkdtempSync(join(tmpdir(), 'recollect-bench-'))
const empty = join(directory, 'empty.mjs')
writeFileSync(empty, 'export {}\n')

// A company's certificates, read at start when this is set, would be most of what is measured.
const env = { ...process.env }
delete env.NODE_EXTRA_CA_CERTS
delete env.NODE_OPTIONS

const modules = {
  empty,
  record: import.meta.resolve('recollect/record'),
  root: import.meta.resolve('recollect'),
}
const times = { empty: [], record: [], root: [] }

function cpuMs(module) {
  const program = `await import(${JSON.stringify(module)})
const { user, system } = process.cpuUsage()
console.log((user + system) / 1000)`
  return Number(
    execFileSync(process.execPath, ['--input-type=module', '-e', program], { env, encoding: 'utf8' }),
  )
}

try {
  for (let i = 0; i < count; i++) for (const name in modules) times[name].push(cpuMs(modules[name]))
} finally {
  rmSync(directory, { recursive: true, force: true })
}
const median = (list) => list.sort((a, b) => a - b)[Math.floor(list.length / 2)]
const base = median(times.empty)
console.log(`empty module            ${base.toFixed(1)} ms of CPU (median of ${count})`)
for (const name of ['record', 'root']) {
  const more = median(times[name]) - base
  const target = name === 'record' ? `  target ≤ ${TARGET_MS}` : ''
  console.log(`recollect${name === 'root' ? '       ' : '/record'}  +    ${more.toFixed(1)} ms${target}`)
}
