// npm run bench:watch [-- --minutes 1]: what `recollect watch` costs over 20,000 sources while nobody writes, and what one
// append then costs. CPU, reads and watches are the kernel's own counts for the process.
import { spawn } from 'node:child_process'
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const at = process.argv.indexOf('--minutes')
const minutes = at === -1 ? 10 : Number(process.argv[at + 1])
const FOLDERS = 400
const FILES = 50
const CLI = resolve(import.meta.dirname, '..', 'dist', 'cli.cjs')
const base = mkdtempSync(join(tmpdir(), 'recollect-bench-'))
const projects = join(base, '.claude', 'projects')

const hex = (n) => n.toString(16).padStart(12, '0')
const sessionOf = (n) => `11111111-1111-4111-8111-${hex(n)}`
const record = (n, turn) =>
  `${JSON.stringify({
    type: 'user',
    uuid: `2222222${turn}-2222-4222-8222-${hex(n)}`,
    parentUuid: null,
    sessionId: sessionOf(n),
    timestamp: '2026-11-15T12:00:00.000Z',
    cwd: '/home/dev/proj',
    message: { role: 'user', content: `prompt ${turn} of session ${n}` },
  })}\n`

for (let folder = 0; folder < FOLDERS; folder++) {
  mkdirSync(join(projects, `-p${folder}`), { recursive: true })
  for (let file = 0; file < FILES; file++) {
    const n = folder * FILES + file
    writeFileSync(join(projects, `-p${folder}`, `${sessionOf(n)}.jsonl`), record(n, 1))
  }
}

const env = {
  PATH: process.env.PATH,
  HOME: base,
  RECOLLECT_HOME: join(base, 'memory'),
  RECOLLECT_CAPTURE_INTERVAL: '0s',
}
const child = spawn(process.execPath, [CLI, 'watch', '--json'], { env, stdio: ['ignore', 'pipe', 'inherit'] })
const events = []
let rest = ''
let wake = () => {}
child.stdout.on('data', (chunk) => {
  const lines = (rest + chunk).split('\n')
  rest = lines.pop()
  events.push(...lines.map((line) => JSON.parse(line)))
  wake()
})
async function next(name) {
  for (;;) {
    const found = events.findIndex((event) => event.event === name)
    if (found !== -1) return events.splice(found, 1)[0]
    await new Promise((done) => {
      wake = done
    })
  }
}

/** CPU in ms, and what was read: bytes from the disk, bytes by system calls, calls. */
function cost() {
  const stat = readFileSync(`/proc/${child.pid}/stat`, 'utf8')
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
    .map(Number)
  const io = Object.fromEntries(
    readFileSync(`/proc/${child.pid}/io`, 'utf8')
      .trim()
      .split('\n')
      .map((line) => line.split(': ')),
  )
  return {
    cpuMs: (user + system) * 10,
    diskBytes: Number(io.read_bytes),
    readBytes: Number(io.rchar),
    reads: Number(io.syscr),
  }
}
const since = (before) =>
  Object.fromEntries(Object.entries(cost()).map(([key, value]) => [key, value - before[key]]))
const watches = () =>
  readdirSync(`/proc/${child.pid}/fdinfo`)
    .map((fd) => readFileSync(`/proc/${child.pid}/fdinfo/${fd}`, 'utf8').match(/^inotify /gm)?.length ?? 0)
    .reduce((sum, count) => sum + count, 0)
const pause = (ms) => new Promise((done) => setTimeout(done, ms))

try {
  const { directories } = await next('watching')
  const first = await next('swept')
  console.log(
    `${FOLDERS * FILES} sources: ${directories} directories, ${watches()} inotify watches; first sweep ${first.duration_ms} ms`,
  )
  // Node collects garbage when it has been idle for a while, and with its last statements SQLite folds the log of the sweep.
  await pause(60_000)
  const before = cost()
  await pause(minutes * 60_000)
  console.log(
    `idle for ${minutes} min`,
    since(before),
    `peak ${readFileSync(`/proc/${child.pid}/status`, 'utf8').match(/VmHWM:\s+(.*)/)[1]}`,
  )
  for (let n = 0; n < 5; n++) {
    const start = cost()
    const startedAt = performance.now()
    appendFileSync(join(projects, `-p${n}`, `${sessionOf(n * FILES)}.jsonl`), record(n * FILES, 2))
    const swept = await next('swept')
    const latency = Math.round(performance.now() - startedAt)
    console.log(
      `one append: ${since(start).cpuMs} ms CPU, swept after ${latency} ms (1,000 of them waited on purpose)`,
      swept.sources,
    )
    await pause(1500)
  }
} finally {
  child.kill('SIGTERM')
  await new Promise((done) => child.once('close', done))
  rmSync(base, { recursive: true, force: true })
}
