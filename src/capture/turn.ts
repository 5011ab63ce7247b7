// The sweep that a hook sets off, in the background: it lets the agent finish writing, keeps its distance from the sweep
// before it, and waits for one that is running. While it waits, no hook starts another.
import { utimesSync } from 'node:fs'
import { setPriority } from 'node:os'
import { join } from 'node:path'
import { RecollectError } from '../errors.ts'
import { readSpoolState } from '../sources/spool.ts'
import { NUDGED, SPOOL } from '../sources/spool-files.ts'
import { type SweepOptions, sweep } from '../sweep/index.ts'
import type { SweepReport } from '../sweep/report.ts'

/** Agents write the last lines of a transcript after their hooks have run. */
const SETTLE_MS = 1000
const RETRY_MS = 500
/** Longer than most sweeps. What is in the spool stays there for the next one. */
const MAX_WAIT_MS = 600_000

/** Sweeps what hooks named, as soon as it may. Throws BUSY when another sweep does not end. */
export async function sweepInTurn(options: SweepOptions): Promise<SweepReport> {
  const { config, signal } = options
  stepBack()
  const interval = Math.min(config.get('capture.interval'), MAX_WAIT_MS)
  const due = readSpoolState(config.home).sweptAt + interval
  // At most the interval: the last sweep may bear a time that is still to come, by a clock that was wrong.
  await pause(Math.max(SETTLE_MS, Math.min(due - Date.now(), interval)), signal)
  const deadline = performance.now() + MAX_WAIT_MS
  for (;;) {
    try {
      return await sweep({ ...options, touched: [], trigger: 'hook' })
    } catch (error) {
      const isBusy = error instanceof RecollectError && error.code === 'BUSY'
      if (!isBusy || performance.now() > deadline || signal?.aborted) throw error
    }
    keepPlace(config.home)
    await pause(RETRY_MS, signal)
  }
}

/** People's own programs first. */
function stepBack(): void {
  try {
    setPriority(10)
  } catch {
    return
  }
}

/** Says to hooks that we are still there. */
function keepPlace(home: string): void {
  const now = new Date()
  try {
    utimesSync(join(home, SPOOL, NUDGED), now, now)
  } catch {
    return
  }
}

async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal?.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
