// Commits the session history with git, in the background: an append never waits for it and never fails by it.
// Owns the child processes and their coalescing. Commits only the one file, whatever else is staged.
import { devNull } from 'node:os'
import { basename, dirname } from 'node:path'
import { errnoOf, RecollectError } from '../errors.ts'
import { childProcess } from '../files/builtin.ts'
import type { WrittenSessionEvent } from './lineage-event.ts'

export interface SessionGitOptions {
  /** Makes the directory a repository if it is in none (default false: that is an error to report). */
  init?: boolean
  /** Receives each failure. Without it the first one becomes a process warning. */
  onGitError?: (error: RecollectError) => void
  /** The program to run (default `git`). */
  command?: string
}

// Another git in the same repository holds its index for moments: try again for about three seconds.
const RETRY_DELAYS_MS = [50, 100, 200, 400, 800, 1600]
const TIMEOUT_MS = 60_000

// No hooks, no signing, no file watcher: the user's settings for commits made by hand do not fit ones made in passing.
const QUIET = ['-c', `core.hooksPath=${devNull}`, '-c', 'commit.gpgSign=false', '-c', 'core.fsmonitor=false']

interface Outcome {
  ok: boolean
  stdout: string
  error?: Error
}

/** Commits a file soon after each request; requests that come meanwhile share the next commit. */
export class GitCommits {
  readonly #path: string
  readonly #options: SessionGitOptions
  #pending: WrittenSessionEvent[] = []
  #running: Promise<void> | undefined
  #warned = false

  constructor(path: string, options: SessionGitOptions) {
    this.#path = path
    this.#options = options
  }

  request(event: WrittenSessionEvent): void {
    this.#pending.push(event)
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
    })
  }

  async idle(): Promise<void> {
    while (this.#running) await this.#running
  }

  async #run(): Promise<void> {
    // Appends that follow at once share the first commit as well.
    await new Promise(setImmediate)
    while (this.#pending.length > 0) {
      const events = this.#pending
      this.#pending = []
      try {
        await this.#commit(messageFor(events))
      } catch (error) {
        this.#report(error)
      }
    }
  }

  async #commit(message: string): Promise<void> {
    await this.#ensureRepository()
    const name = basename(this.#path)
    let failure: Error | undefined
    for (const delay of [...RETRY_DELAYS_MS, 0]) {
      const status = await this.#git('status', '--porcelain', '--ignored', '--', name)
      // Nothing new: another process has committed our line with its own.
      if (status.ok && status.stdout === '') return
      const added = await this.#git('add', '--', name)
      const done = added.ok
        ? await this.#git(...(await this.#identity()), 'commit', '--quiet', '-m', message, '--', name)
        : added
      if (done.ok) return
      failure = done.error
      if (delay > 0) await new Promise((resolve) => setTimeout(resolve, delay))
    }
    throw failure
  }

  async #ensureRepository(): Promise<void> {
    const inside = await this.#git('rev-parse', '--is-inside-work-tree')
    if (inside.ok && inside.stdout === 'true') return
    const made = this.#options.init && !inside.ok ? await this.#git('init', '--quiet') : inside
    if (!made.ok) throw made.error
    if (made === inside) throw new Error('not inside a work tree')
  }

  /** A machine without a git identity can still commit; one that has it keeps it. */
  async #identity(): Promise<string[]> {
    const flags: string[] = []
    if (!(await this.#git('config', 'user.name')).ok) flags.push('-c', 'user.name=recollect')
    if (!process.env['EMAIL'] && !(await this.#git('config', 'user.email')).ok) {
      flags.push('-c', 'user.email=recollect@localhost')
    }
    return flags
  }

  #git(...args: string[]): Promise<Outcome> {
    const options = { cwd: dirname(this.#path), env: environment(), timeout: TIMEOUT_MS }
    const all = ['--literal-pathspecs', ...QUIET, ...args]
    return new Promise((resolve) => {
      childProcess()
        .execFile(this.#options.command ?? 'git', all, options, (error, stdout) => {
          resolve(error ? { ok: false, stdout, error } : { ok: true, stdout: stdout.trim() })
        })
        .stdin?.end()
    })
  }

  #report(cause: unknown): void {
    const error = new RecollectError('IO', 'cannot commit the session history with git', {
      where: this.#path,
      cause,
      hint:
        errnoOf(cause) === 'ENOENT'
          ? 'install git, or turn the git option off; the history itself is written'
          : 'try `git status` in that directory; the history itself is written and the next commit includes it',
    })
    if (this.#options.onGitError) {
      try {
        this.#options.onGitError(error)
      } catch (thrown) {
        process.emitWarning(`onGitError threw: ${String(thrown)}`, { code: 'RECOLLECT_GIT' })
      }
      return
    }
    if (this.#warned) return
    this.#warned = true
    process.emitWarning(`${error.message}: ${(cause as Error).message}`, { code: 'RECOLLECT_GIT' })
  }
}

function messageFor(events: WrittenSessionEvent[]): string {
  const last = events[events.length - 1] as WrittenSessionEvent
  const more = events.length > 1 ? ` and ${events.length - 1} more` : ''
  return `Session ${last.session_id} ${last.event}${more}`
}

/** Our own, without what a surrounding git (a hook, say) set for its repository, and with every prompt turned off. */
function environment(): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = { ...process.env, GIT_TERMINAL_PROMPT: '0', GIT_EDITOR: ':', LC_ALL: 'C' }
  for (const name of ['GIT_DIR', 'GIT_WORK_TREE', 'GIT_INDEX_FILE', 'GIT_PREFIX', 'GIT_OBJECT_DIRECTORY']) {
    delete env[name]
  }
  return env
}
