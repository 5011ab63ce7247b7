// The command line: runs what was typed and turns whatever goes wrong into an exit code.
import { CommanderError } from 'commander'
import { RecollectError } from '../errors.ts'
import { EXIT, reportError, wantsJson } from './exit.ts'
import { refuseUnknownCommand, usageError } from './help.ts'
import { buildProgram } from './program.ts'

const args = process.argv.slice(2)
const program = buildProgram(args[0])

/** Every reading command meets a machine without a memory; it is told where we would look, and what to do. */
async function explained(error: unknown): Promise<unknown> {
  if (!(error instanceof RecollectError) || error.code !== 'NO_MEMORY') return error
  return (await import('./empty.ts')).withPlaces(error)
}

async function run(): Promise<number | string | undefined> {
  try {
    refuseUnknownCommand(program, args)
    await program.parseAsync()
    return process.exitCode
  } catch (error) {
    if (!(error instanceof CommanderError)) return reportError(await explained(error), wantsJson(args))
    const wrong = usageError(error, program)
    if (wrong) return reportError(wrong, wantsJson(args))
    return error.exitCode === 0 ? EXIT.ok : EXIT.usage
  }
}

run().then((code) => {
  process.exitCode = code
})
