// How a test file ends: its directories are removed, and nothing that it started still runs. vitest ends its workers by a
// signal, and so would hide a server, a watcher or a program that was never stopped.
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll } from 'vitest'
import { removeTemporary } from './temporary.ts'

/** As Node names what keeps a process from ending. Timers are not among them: vitest has its own. */
const RUNNING = /^(ProcessWrap|\w+ServerWrap|TCPSocketWrap|FSEventWrap|StatWatcher|Worker|MessagePort)$/
const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const
/** Closing takes a moment, on a busy machine a long one. */
const PATIENCE_MS = Number(process.env['RECOLLECT_TEST_ENDING_MS'] ?? 30_000)

const running = (): string[] => [
  ...process.getActiveResourcesInfo().filter((name) => RUNNING.test(name)),
  ...SIGNALS.flatMap((name) => process.listeners(name).map(() => `a listener for ${name}`)),
]

const atStart = running()

// The first of all, so the last to be called.
afterAll(async () => {
  let left = running()
  for (const until = Date.now() + PATIENCE_MS; left.length > atStart.length; left = running()) {
    if (Date.now() > until) {
      removeTemporary()
      throw new Error(`this file ends, and something that it started does not: ${left.join(', ')}`)
    }
    await sleep(20)
  }
  removeTemporary()
})
