// The status line over many sessions, with usage of today: CPU beside bare Node, in turns, as an agent asks (a session and its
// allowances on stdin) and plain.
//   npm run bench:usage -- --keep DIR, then: npm run bench:statusline -- DIR
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { listSessions, openMemory, storePaths } from '../dist/index.js'
import { say } from './measure.mjs'

const [directory] = process.argv.slice(2)
if (!directory) throw new Error('usage: node bench/statusline.mjs DIR')
const cli = fileURLToPath(new URL('../dist/cli.cjs', import.meta.url))
const memory = join(directory, 'memory')
const handle = openMemory(storePaths(memory))
const [newest] = listSessions(handle, { limit: 1 })
const midnight = new Date().setHours(0, 0, 0, 0)
const today = listSessions(handle, { sinceAt: midnight }).length
handle.close()
const SAID = JSON.stringify({
  session_id: newest.native_session_id,
  rate_limits: { five_hour: { used_percentage: 23.5, resets_at: Date.now() / 1000 + 7200 } },
})

const env = {
  ...process.env,
  HOME: join(directory, 'home'),
  RECOLLECT_HOME: memory,
  SAID,
  NODE: process.execPath,
  CLI: cli,
}
delete env.NODE_EXTRA_CA_CERTS
const TOGETHER = 4
/** Bash tells the CPU of its children to the millisecond: four runs are timed as one. */
function cpuOf(command) {
  const runs = Array(TOGETHER).fill(`${command} > /dev/null || exit 1`).join('\n')
  const words = `TIMEFORMAT='%3U %3S'; time { ${runs}\n}`
  const { status, stderr } = spawnSync('/bin/bash', ['-c', words], {
    env: { ...env, LC_ALL: 'C.UTF-8' },
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(stderr)
  const [user, system] = stderr.trim().split('\n').at(-1).split(' ').map(Number)
  return (1000 * (user + system)) / TOGETHER
}

const WAYS = {
  'bare Node': '"$NODE" -e 0 < /dev/null',
  'the status line, as an agent asks': '"$NODE" "$CLI" statusline <<< "$SAID"',
  'the status line, plain': '"$NODE" "$CLI" statusline < /dev/null',
}
const costs = Object.fromEntries(Object.keys(WAYS).map((name) => [name, []]))
for (let round = 0; round < 10; round++)
  for (const [name, command] of Object.entries(WAYS)) costs[name].push(cpuOf(command))
say('memory', `${today} sessions of today`)
for (const [name, all] of Object.entries(costs)) {
  const sorted = all.toSorted((a, b) => a - b)
  say(
    name,
    `median ${sorted[5].toFixed(0)} ms of CPU, from ${sorted[0].toFixed(0)} to ${sorted[9].toFixed(0)}`,
  )
}
