// Text made to be slow to read: one unit repeated. Its time is told as a multiple of what prose of the same size
// takes in the same run, so that a busy or slow machine makes no difference.
import { readFileSync } from 'node:fs'

export function pump(unit: string, size: number): string {
  return unit.repeat(Math.ceil(size / unit.length)).slice(0, size)
}

const PROSE = new URL('../../docs/redaction.md', import.meta.url)

/** Prose that speaks of secrets and holds none: what a redactor has to look at twice, which takes it twice as long as other prose. */
export const textAboutSecrets = (size: number): string =>
  pump(readFileSync(PROSE, 'utf8').replace(/[^\n -~]|[\\%]/g, '.'), size)

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
