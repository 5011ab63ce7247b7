// The pager itself: a program that output goes through.
import { spawn } from 'node:child_process'
import { EXIT } from './exit.ts'
import { divert } from './streams.ts'

/** Does the work, and ends with the pager. */
export async function runPager(pager: string, work: () => void | Promise<void>): Promise<void> {
  // As git does it: what fits on the screen stays there, and colours are colours.
  const env = { LESS: 'FRX', ...process.env }
  const child = spawn(pager, { shell: true, stdio: ['pipe', 'inherit', 'inherit'], env })
  const ended = new Promise<number | null>((done) => {
    child.on('close', done)
    child.on('error', () => done(EXIT.failed))
  })
  // Who leaves the pager has read enough.
  child.stdin.on('error', () => undefined)
  // The terminal sends it to the pager, too, which has its own idea of it.
  const ignore = (): void => undefined
  process.on('SIGINT', ignore)
  divert(child.stdin)
  try {
    await work()
  } finally {
    divert(undefined)
    child.stdin.end()
    const code = await ended
    process.off('SIGINT', ignore)
    if (code === 126 || code === 127) process.exitCode = EXIT.failed
  }
}
