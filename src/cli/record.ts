// `recollect record FORMAT`: JSON lines on stdin, one acknowledgement per line on stdout, in order.
// An agent in any language that waits for the acknowledgement has the same promise as the library's `await`.
import { Config } from '../config.ts'
import { RecollectError } from '../errors.ts'
import { TranscriptWriter } from '../record/index.ts'
import { EXIT } from './exit.ts'
import { inputLines } from './input.ts'

type Handle = (value: Record<string, unknown>) => Promise<Record<string, unknown>>

/** Errors that are about the line itself, not about the disk. */
const ABOUT_INPUT = new Set(['BAD_INPUT', 'BAD_NAME', 'EXISTS', 'CLOSED', 'USAGE'])

async function pump(handle: Handle): Promise<void> {
  let exitCode: number = EXIT.ok
  // A reader of acknowledgements that went away is no reason to stop recording.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
  for await (const input of inputLines(process.stdin)) {
    try {
      if ('error' in input) throw input.error
      const told = await handle(input.value)
      process.stdout.write(`${JSON.stringify({ ok: true, line: input.line, ...told })}\n`)
    } catch (error) {
      const ours =
        error instanceof RecollectError
          ? error
          : new RecollectError('IO', 'the line could not be recorded', { cause: error })
      process.stdout.write(`${JSON.stringify({ ok: false, line: input.line, error: ours })}\n`)
      if (!ABOUT_INPUT.has(ours.code)) exitCode = EXIT.failed
      else if (exitCode === EXIT.ok) exitCode = EXIT.partial
    }
  }
  process.exitCode = exitCode
}

export async function recordTurns(options: { base: string; agent: string; session: string }): Promise<void> {
  const config = new Config()
  const writer = new TranscriptWriter(options.base, {
    flush: config.get('record.flush') as 'os' | 'fdatasync',
    lockTimeoutMs: config.get('record.lock_timeout'),
  })
  // Ids are refused before the first line is read: a wrong id makes every line wrong.
  writer.resolvePath(options.agent, options.session)
  await pump(async (value) => {
    const at = await writer.appendAt(options.agent, options.session, value as never)
    return { turnId: value['turnId'], offset: at.offset, length: at.length }
  })
  await writer.close()
}
