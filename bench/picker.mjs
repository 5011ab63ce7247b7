// The list from which a session is picked: CPU until it is on the screen of a terminal, beside a bare Node that writes as
// much, in turns. Needs util-linux' script.
//   npm run bench:search -- --memory DIR, then: npm run bench:picker -- DIR
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const [memory] = process.argv.slice(2)
if (!memory) throw new Error('usage: node bench/picker.mjs MEMORY')
const cli = fileURLToPath(new URL('../dist/cli.cjs', import.meta.url))
const env = { ...process.env, RECOLLECT_HOME: memory, TERM: 'xterm' }
// It would take as long as the rest of Node.
delete env.NODE_EXTRA_CA_CERTS
const SHOWN = 'Enter resume'

/** Milliseconds of CPU that a process and its threads have taken. */
const cpuOf = (pid) =>
  readdirSync(`/proc/${pid}/task`).reduce(
    (sum, task) => sum + Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]),
    0,
  ) / 1e6

async function untilShown(...args) {
  const words = [process.execPath, ...args].map((word) => `'${word}'`).join(' ')
  const child = spawn('script', ['-qfec', `exec ${words}`, '/dev/null'], {
    env,
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  let screen = ''
  while (!screen.includes(SHOWN)) screen += (await once(child.stdout, 'data'))[0]
  const [pid] = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim().split(' ')
  const cpu = cpuOf(pid)
  process.kill(Number(pid), 'SIGKILL')
  await once(child, 'close')
  return cpu
}

const costs = { 'bare Node': [], 'the picker': [] }
for (let round = 0; round < 15; round++) {
  costs['bare Node'].push(
    await untilShown('-e', `process.stdout.write("${SHOWN}");setInterval(() => {}, 1000)`),
  )
  costs['the picker'].push(await untilShown(cli, 'resume'))
}
for (const [name, all] of Object.entries(costs)) {
  const sorted = all.toSorted((a, b) => a - b)
  console.log(
    `${name.padEnd(12)} median ${sorted[7].toFixed(0)} ms of CPU, from ${sorted[0].toFixed(0)} to ${sorted[14].toFixed(0)}`,
  )
}
