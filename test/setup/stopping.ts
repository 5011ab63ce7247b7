// Stops the built program: at one of its flushes to the disk, by strace (killed on entering it, so that it is not done), or
// when it has worked for so long.
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { cliPath } from './sweeping.ts'
import { temporary } from './temporary.ts'

export const hasStrace = spawnSync('strace', ['-V']).status === 0

/**
 * Payloads are flushed by the first, databases and directories by the second. strace counts each by itself, and for each thread:
 * payloads and their directories are flushed in one of Node's, of which there is only one here, databases in the main one.
 */
export const FLUSHES = ['fdatasync', 'fsync'] as const

export interface Flush {
  name: (typeof FLUSHES)[number]
  /** The how manieth of its kind. */
  number: number
}

type Env = Record<string, string>

/**
 * Runs a command under strace, which traces or changes what it is told to, in the main thread or in all of them. True if
 * that killed the command.
 */
export function traced(
  env: Env,
  command: readonly string[],
  what: string,
  { output = '/dev/null', isMainOnly = false } = {},
): boolean {
  const threads = isMainOnly ? [] : ['-f']
  const args = [...threads, '-qq', '-o', output, '-e', what, process.execPath, cliPath, ...command]
  const given = { PATH: process.env['PATH'] ?? '', UV_THREADPOOL_SIZE: '1', ...env }
  try {
    execFileSync('strace', args, { env: given, stdio: 'ignore' })
    return false
  } catch (error) {
    const { signal, status } = error as { signal?: string; status?: number }
    if (signal === 'SIGKILL' || status === 137) return true
    if (status === 4) return false
    throw error
  }
}

/** Those of databases, one by one, would be passed over if those of directories were counted as well. */
const isOfMain = (name: Flush['name']): boolean => name === 'fsync'

export const stopAt = (env: Env, command: readonly string[], { name, number }: Flush): boolean =>
  traced(env, command, `inject=${name}:signal=KILL:when=${number}`, { isMainOnly: isOfMain(name) })

/** All flushes of a command, which is run to its end for that. */
export function flushesOf(env: Env, command: readonly string[]): Flush[] {
  const output = join(temporary('trace'), 'flushes')
  traced(env, command, `trace=${FLUSHES.join()}`, { output })
  const lines = readFileSync(output, 'utf8').split('\n')
  // The first to begin.
  const main = Math.min(...lines.map((line) => Number.parseInt(line, 10)).filter((pid) => pid > 0))
  return FLUSHES.flatMap((name) =>
    lines
      .filter((line) => line.includes(` ${name}(`) && (!isOfMain(name) || Number.parseInt(line, 10) === main))
      .map((_, at) => ({ name, number: at + 1 })),
  )
}

/** So many of a list, from its beginning to its end, others each time. */
export function someOf<T>(list: readonly T[], count: number): T[] {
  const step = Math.max(1, list.length / count)
  const some: T[] = []
  for (let at = Math.random() * step; at < list.length; at += step) some.push(list[Math.floor(at)] as T)
  return some
}

interface Run {
  isStopped: boolean
  /** As far as it was looked at before the end. */
  workMs: number
}

const LOOK_MS = 5
/** The kernel counts in these. */
const TICK_MS = 10

/** Runs a command, and calls `stop`, which is to kill it, at a random moment of the tick in which it has worked for `workMs`. */
export function runUntil(
  env: Env,
  command: readonly string[],
  workMs = Number.POSITIVE_INFINITY,
  stop: (kill: () => void) => void = (kill) => kill(),
): Promise<Run> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [cliPath, ...command], { env, stdio: 'ignore' })
    const startedAt = performance.now()
    const run: Run = { isStopped: false, workMs: 0 }
    const look = setInterval(() => {
      run.workMs = workOf(child, startedAt) ?? run.workMs
      if (run.workMs < workMs) return
      clearInterval(look)
      setTimeout(() => {
        if (child.exitCode !== null) return
        run.isStopped = true
        stop(() => child.kill('SIGKILL'))
      }, Math.random() * TICK_MS)
    }, LOOK_MS)
    child.on('error', reject)
    child.on('exit', (code, signal) => {
      clearInterval(look)
      if (run.isStopped || code === 0 || code === 4) resolve(run)
      else reject(new Error(`exit ${code ?? signal}`))
    })
  })
}

/** Time on the processors: a busy machine makes a program slower, but has it do the same. By the clock where nobody tells. */
export function workOf({ pid }: ChildProcess, startedAt = 0): number | undefined {
  if (process.platform !== 'linux') return performance.now() - startedAt
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
    return (Number(fields[11]) + Number(fields[12])) * TICK_MS
  } catch {
    // It has just ended.
    return undefined
  }
}
