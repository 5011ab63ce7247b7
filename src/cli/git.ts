// Asks git about a working tree. Nothing is written, and nothing that the repository configures is run.
import { execFileSync } from 'node:child_process'
import { errnoOf, RecollectError } from '../errors.ts'

const SAFE = [
  '--no-optional-locks',
  '--no-pager',
  '-c',
  'core.fsmonitor=false',
  '-c',
  'core.hooksPath=/dev/null',
]
const MAX_BYTES = 64 << 20

/** What it says; undefined where it says no. */
export function git(directory: string, ...args: string[]): string | undefined {
  try {
    return execFileSync('git', [...SAFE, ...args], {
      cwd: directory,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      maxBuffer: MAX_BYTES,
    })
  } catch (cause) {
    if (errnoOf(cause) === 'ENOENT')
      throw new RecollectError('NOT_FOUND', 'git is not there', {
        where: 'git',
        cause,
        hint: 'install git: it says which commit a line is from',
      })
    return undefined
  }
}
