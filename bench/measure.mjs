// What a program costs: its own CPU, wall time and peak memory, by GNU time. Every run gets the home it is told, never
// the one of whoever runs the benchmark.
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'

/** `home` holds agents' files, `memory` is where recollect keeps its own; both may be absent for programs that need none. */
export function measure(
  args,
  { home = '/nonexistent', memory = '/nonexistent', program = process.execPath } = {},
) {
  const env = { ...process.env, HOME: home, RECOLLECT_HOME: memory }
  delete env.NODE_EXTRA_CA_CERTS
  const child = spawnSync('/usr/bin/time', ['-f', '%U %S %e %M', program, ...args], {
    env,
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  })
  if (child.status !== 0) throw new Error(`${args.join(' ')}: ${child.stderr}`)
  const [user, system, wall, rss] = child.stderr.trim().split('\n').at(-1).split(' ').map(Number)
  return { cpu: user + system, wall, rss: rss * 1024, stdout: child.stdout }
}

/** The run in the middle of several. */
export function median(rounds, run) {
  const costs = Array.from({ length: rounds }, run).sort((a, b) => a.cpu - b.cpu)
  return costs[Math.floor(rounds / 2)]
}

export const say = (what, text) => console.log(`${what.padEnd(42)} ${text}`)
export const option = (name, fallback) => {
  const at = process.argv.indexOf(name)
  return at === -1 ? fallback : Number(process.argv[at + 1])
}
export const pathOption = (name) => {
  const at = process.argv.indexOf(name)
  return at === -1 ? undefined : resolve(process.argv[at + 1])
}

/** Settings that have a sweep read real transcripts: one folder for each agent, named as under `[sources]`. */
export const sourcesBelow = (path) =>
  readdirSync(path)
    .map((name) => `[sources.${name}]\nroots = [${JSON.stringify(join(path, name))}]\n`)
    .join('\n')
