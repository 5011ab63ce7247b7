// Text made to be slow to read: one unit repeated. Its time is told as a multiple of what plain text of the same size
// takes in the same run, so that a busy or slow machine makes no difference.
import { readdirSync, readFileSync } from 'node:fs'

export function pump(unit: string, size: number): string {
  return unit.repeat(Math.ceil(size / unit.length)).slice(0, size)
}

/** Prose of this project, without anything that could be a secret or hold a code. */
export function plainText(size: number): string {
  const docs = new URL('../../docs/', import.meta.url)
  const prose = readdirSync(docs)
    .filter((name) => name.endsWith('.md'))
    .map((name) => readFileSync(new URL(name, docs), 'utf8'))
    .join('\n')
  return pump(prose.replace(/[^\n -~]|[\\%]/g, '.'), size)
}

/** Milliseconds of processor time of this process. */
export function workTime(run: () => void): number {
  const started = process.cpuUsage()
  run()
  const { user, system } = process.cpuUsage(started)
  return (user + system) / 1000
}

/** The shortest of several: what it takes when nothing else, such as collecting garbage, falls into it. */
export function leastTime(run: () => void, times: number): number {
  let least = Number.POSITIVE_INFINITY
  for (let i = 0; i < times; i++) least = Math.min(least, workTime(run))
  return least
}
