// Asks git about a working tree. Nothing is written, nothing is fetched, and nothing that the repository configures is run:
// whoever packed it may have written its configuration.
import { execFileSync } from 'node:child_process'
import { errnoOf, RecollectError } from '../errors.ts'

const SAFE = [
  '--no-optional-locks',
  '--no-pager',
  ...[
    'core.fsmonitor=false',
    'core.hooksPath=/dev/null',
    // Would ask a program about each signature.
    'log.showSignature=false',
    // Would run another git, by the configuration of the submodule.
    'diff.submodule=short',
  ].flatMap((setting) => ['-c', setting]),
]
/** What a commit that was cloned in part lacks would be fetched, by whichever program the remote names. */
const ENVIRONMENT = { GIT_ALLOW_PROTOCOL: 'none', GIT_NO_LAZY_FETCH: '1', GIT_TERMINAL_PROMPT: '0' }
const MAX_BYTES = 64 << 20

/** What it says; undefined where it says no. */
export function git(directory: string, ...args: string[]): string | undefined {
  const off = filtersOff(directory)
  return off && run(directory, [...off, ...args])
}

/**
 * Programs that a file passes through on its way into the repository, which even `blame` has it pass: no option turns all of
 * them off, so each is by its name. Undefined where one has a name that cannot be told to git.
 */
function filtersOff(directory: string): string[] | undefined {
  const named = run(directory, [
    'config',
    '--null',
    '--name-only',
    '--get-regexp',
    '^filter\\..*\\.(clean|process|required)$',
  ])
  const keys = [...new Set(named?.split('\0').filter(Boolean))]
  if (keys.some((key) => key.includes('='))) return undefined
  return keys.flatMap((key) => ['-c', `${key}=${key.endsWith('.required') ? 'false' : ''}`])
}

function run(directory: string, args: readonly string[]): string | undefined {
  try {
    return execFileSync('git', [...SAFE, ...args], {
      cwd: directory,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      maxBuffer: MAX_BYTES,
      env: { ...process.env, ...ENVIRONMENT },
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
