// The loop that all of `recollect record` shares: JSON lines on stdin, one answer per line on stdout, in order.
// An agent in any language that waits for the answer has the same promise as the library's `await`.
//
// One line is in hand at a time, and the next is read when the answer has been taken: neither fast input nor a slow
// reader of answers grows memory. A signal is let in between two lines.
import { fromSystem, RecollectError } from '../../errors.ts'
import { EXIT } from '../exit.ts'
import { type InputLine, inputLines } from '../input.ts'
import { Answers } from './answers.ts'

/** One format's part: what a line does, and what the end of input does. */
export interface Recording {
  /** Told as line 0, before any input is read: ids the agent could not know. */
  opened?: Record<string, unknown>
  /** Resolves when the line is durable, to what its answer says. */
  take(value: Record<string, unknown>): Promise<Record<string, unknown>>
  /** Called once, after the last line, also when a signal ended the input. */
  finish(): Promise<void>
}

const ABOUT_INPUT = new Set(['BAD_INPUT', 'BAD_NAME', 'EXISTS', 'CLOSED', 'USAGE'])
const SIGNAL_EXIT = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const

/** Records until the input ends or a signal comes, and sets the exit code. */
export async function pump(recording: Recording, maxLineBytes: number): Promise<void> {
  const interrupt = new AbortController()
  let signalExit: number | undefined
  const onSignal = (signal: NodeJS.Signals): void => {
    signalExit ??= SIGNAL_EXIT[signal as keyof typeof SIGNAL_EXIT]
    interrupt.abort()
    // Ends the wait for a line that may never come.
    process.stdin.destroy()
  }
  for (const signal of Object.keys(SIGNAL_EXIT)) process.on(signal, onSignal)
  const answers = new Answers(process.stdout, interrupt.signal)
  let exitCode: number = EXIT.ok
  try {
    if (recording.opened) await answers.send({ ok: true, line: 0, ...recording.opened })
    for await (const input of inputLines(process.stdin, maxLineBytes)) {
      const { answer, exit } = await answerTo(recording, input)
      await answers.send(answer)
      // Failed outweighs partial outweighs ok.
      if (exit === EXIT.failed || exitCode === EXIT.ok) exitCode = exit
      await new Promise(setImmediate)
      if (interrupt.signal.aborted) break
    }
  } catch (error) {
    // Destroying stdin ends the loop with an error of its own.
    if (!interrupt.signal.aborted) throw fromSystem(error, 'cannot read the input', 'stdin', 'read')
  } finally {
    await recording.finish()
  }
  if (answers.failure) throw answers.failure
  process.exitCode = signalExit ?? exitCode
  if (signalExit !== undefined) {
    await answers.drain()
    process.exit(signalExit)
  }
}

/** Whether an error is about the line itself, not about the disk: what the system finds too large is a limit on the file. */
const isAboutInput = ({ code, cause }: RecollectError): boolean =>
  ABOUT_INPUT.has(code) || (code === 'TOO_LARGE' && cause === undefined)

async function answerTo(
  recording: Recording,
  input: InputLine,
): Promise<{ answer: Record<string, unknown>; exit: number }> {
  const { line } = input
  try {
    if ('error' in input) throw input.error
    return { answer: { ok: true, line, ...(await recording.take(input.value)) }, exit: EXIT.ok }
  } catch (error) {
    const ours =
      error instanceof RecollectError
        ? error
        : new RecollectError('IO', 'the line could not be recorded', {
            where: `line ${line} of the input`,
            cause: error,
            hint: 'nothing is known to be written for it: fix what the cause says, then send it again',
          })
    const exit = isAboutInput(ours) ? EXIT.partial : EXIT.failed
    return { answer: { ok: false, line, error: ours }, exit }
  }
}
