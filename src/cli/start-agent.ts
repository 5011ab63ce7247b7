// Starts an agent in the directory of a session, on this terminal, and ends as it ends.
import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { errnoOf, RecollectError } from '../errors.ts'
import { isDirectory } from '../files/directory.ts'
import { shellWord } from '../files/shell.ts'
import type { Session } from '../model.ts'
import { addressOf, commandThere } from '../remote/destination.ts'

/** As a person would type it. */
export function commandLine(session: Session, argv: readonly string[]): string {
  const command = argv.map(shellWord).join(' ')
  return session.cwd === null ? command : `cd ${shellWord(session.cwd)} && ${command}`
}

/** Where its agent knows the session: here, or on the machine that it was copied from. */
export function whereItIs(
  session: Session,
  argv: readonly [string, ...string[]],
  home: string,
): { session: Session; argv: readonly [string, ...string[]] } {
  const address = session.source_path === null ? undefined : addressOf(home, session.source_path)
  if (address === undefined) return { session, argv }
  return { session: { ...session, cwd: null }, argv: commandThere(address, commandLine(session, argv)) }
}

/** Throws where it could not be started; else the exit code is the agent's. */
export async function startAgent(
  session: Session,
  [program, ...args]: readonly [string, ...string[]],
): Promise<void> {
  const cwd = session.cwd ?? process.cwd()
  if (!isDirectory(cwd))
    throw new RecollectError('NOT_FOUND', 'the directory of the session is not here', {
      where: cwd,
      hint: 'make it again, or run the command that --print shows somewhere else',
    })
  const child = spawn(program, args, { cwd, stdio: 'inherit' })
  // The terminal sends them to the agent too, which has its own idea of them: we end when it does.
  const ignore = (): void => undefined
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const
  for (const signal of signals) process.on(signal, ignore)
  try {
    process.exitCode = await new Promise<number>((resolve, reject) => {
      child.on('error', reject)
      child.on('exit', (code, signal) => resolve(code ?? 128 + (signal ? constants.signals[signal] : 0)))
    })
  } catch (cause) {
    throw new RecollectError(
      errnoOf(cause) === 'ENOENT' ? 'NOT_FOUND' : 'REFUSED',
      `${program} cannot be started`,
      {
        where: program,
        cause,
        hint: `install it, or put it on the PATH; --print shows the command`,
      },
    )
  } finally {
    for (const signal of signals) process.removeListener(signal, ignore)
  }
}
