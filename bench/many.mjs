// Very many files of one line each: what a first sweep of them takes at its peak, and one with nothing new. Fails above
// the bound on memory. Evicts on the way where they are more than the caps allow.
//   npm run bench:many [-- --files 100000]
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const at = process.argv.indexOf('--files')
const count = at === -1 ? 100_000 : Number(process.argv[at + 1])
const BOUND_MB = 400
const PER_DIRECTORY = 1000
const cli = fileURLToPath(new URL('../dist/cli.cjs', import.meta.url))
const home = mkdtempSync(join(tmpdir(), 'recollect-many-'))
process.on('exit', () => rmSync(home, { recursive: true, force: true }))

const uuidOf = (name) => {
  const hex = createHash('sha1').update(name).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

for (let n = 0; n < count; n++) {
  const project = Math.floor(n / PER_DIRECTORY)
  const directory = join(home, '.claude', 'projects', `-tmp-p${project}`)
  if (n % PER_DIRECTORY === 0) mkdirSync(directory, { recursive: true })
  const sessionId = uuidOf(`s${n}`)
  const line = {
    parentUuid: null,
    isSidechain: false,
    userType: 'external',
    cwd: `/tmp/p${project}`,
    sessionId,
    version: '2.1.0',
    type: 'user',
    message: { role: 'user', content: `mend number ${n}` },
    uuid: uuidOf(`m${n}`),
    timestamp: new Date(Date.UTC(2026, 0, 1) + n * 10_000).toISOString(),
  }
  writeFileSync(join(directory, `${sessionId}.jsonl`), `${JSON.stringify(line)}\n`)
}

const rows = ['a first sweep', 'nothing new'].map((what) => {
  const child = spawnSync('/usr/bin/time', ['-f', '%U %S %e %M', process.execPath, cli, 'sweep', '--json'], {
    env: { PATH: process.env.PATH, HOME: home },
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  })
  if (child.status !== 0) throw new Error(child.stderr)
  const [user, system, wall, rss] = child.stderr.trim().split('\n').at(-1).split(' ').map(Number)
  const { sources, retention } = JSON.parse(child.stdout)
  return {
    what,
    files: sources.new + sources.unchanged,
    evicted: retention?.step_count ?? 0,
    'peak MB': Math.round(rss / 1024),
    'CPU s': Math.round(user + system),
    'wall s': Math.round(wall),
  }
})
console.table(rows)
if (rows.some((row) => row['peak MB'] > BOUND_MB)) {
  console.error(`above ${BOUND_MB} MB`)
  process.exitCode = 1
}
