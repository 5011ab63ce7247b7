// The Entire-compatible transcript of one session: .entire/metadata/<session id>/ with full.jsonl, prompt.txt and, at
// the end, context.md. Owns the order of writes and the chain of parents; nothing else below .entire/ is touched.
//
// What is on disk, step by step, all under the lock of full.jsonl:
//   full.jsonl exists    still without the turn
//   prompt.txt           whole or absent; only before the first prompt's turn
//   spill/…              whole files that nothing refers to yet
//   the line             as in files/append.ts; only now is the turn acknowledged
//   context.md           at `end()`: the old one or the new one, never a mixture
import { existsSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { RecollectError } from '../errors.ts'
import { AppendFile, type Flush } from '../files/append.ts'
import { crypto } from '../files/builtin.ts'
import { checkNoLinks, resolveInside, safeName } from '../files/paths.ts'
import { replaceFile } from '../files/replace.ts'
import { contextOf } from './entire-context.ts'
import {
  type EntireContent,
  type EntireResponse,
  type EntireTurn,
  encodeTurn,
  isoTime,
  promptOf,
} from './entire-line.ts'
import { firstPrompt, lastUuid } from './entire-read.ts'
import { writeSpill } from './entire-spill.ts'
import { checkClock, checkOptions, checkPath, checkText } from './given.ts'

export interface EntireTranscriptOptions {
  /** The project directory: `.entire/` lies in it, and every line names it. */
  cwd: string
  /** The version of the agent that records itself. */
  version: string
  /** Written to context.md and to each response that names no model of its own. */
  model?: string
  /** A session to continue, or the id of a new one (default: a new id). */
  sessionId?: string
  /** What an acknowledged turn survives (default `fdatasync`: also a power cut). */
  flush?: Flush
  /** How long a turn waits for another process's lock (default 30 s). */
  lockTimeoutMs?: number
  /** The clock. */
  now?: () => Date
}

/** A new session id: the UTC date and a random UUID. */
export function newEntireSessionId(at: Date = new Date()): string {
  return `${isoTime(at).slice(0, 10)}-${crypto().randomUUID()}`
}

/** Records one session. Several processes may record the same one: turns then follow each other in one chain. */
export class EntireTranscript {
  readonly sessionId: string
  /** `.entire/metadata/<session id>` */
  readonly directory: string
  /** The transcript, `full.jsonl`. */
  readonly path: string
  readonly #cwd: string
  readonly #version: string
  readonly #model: string | undefined
  readonly #durable: boolean
  readonly #now: () => Date
  readonly #file: AppendFile
  /** The last line's uuid when the file has #endOffset bytes; at any other size it is read from the file. */
  #parentUuid: string | null = null
  #endOffset = 0
  /** Turns whose append failed: even if their bytes are found on disk, nothing may follow them. */
  readonly #failedUuids = new Set<string>()
  #ended = false

  /** Creates nothing: the session's directory comes with the first turn. */
  constructor(options: EntireTranscriptOptions) {
    checkOptions(options)
    checkClock(options.now)
    this.#now = options.now ?? (() => new Date())
    this.sessionId = checkSessionId(options.sessionId ?? newEntireSessionId(this.#now()))
    this.#cwd = checkDirectory(options.cwd)
    checkText(options.version, 'version')
    this.#version = options.version
    if (options.model !== undefined) checkText(options.model, 'model')
    this.#model = options.model
    const flush = options.flush ?? 'fdatasync'
    this.#durable = flush === 'fdatasync'
    this.directory = resolveInside(this.#cwd, '.entire', 'metadata', this.sessionId)
    this.path = join(this.directory, 'full.jsonl')
    const root = dirname(dirname(dirname(this.directory)))
    this.#file = new AppendFile(this.path, {
      flush,
      lockTimeoutMs: options.lockTimeoutMs ?? 30_000,
      enforceMode: true,
      followPath: true,
      check: (target) => checkNoLinks(root, target),
    })
  }

  /** Adds what the user said, or tool results. Resolves to the line's uuid when it is written and flushed. */
  user(content: EntireContent): Promise<string> {
    return this.#add('user', content, {})
  }

  /** Adds a response. Resolves to the line's uuid when it is written and flushed. */
  assistant(content: EntireContent, response: EntireResponse = {}): Promise<string> {
    const model = response?.model ?? this.#model
    return this.#add('assistant', content, model === undefined ? response : { ...response, model })
  }

  /** Waits for turns under way, writes context.md and closes. A session without turns leaves no trace. */
  async end(): Promise<void> {
    await this.close()
    if (!existsSync(this.path)) return
    const context = await contextOf(this.path, this.sessionId, this.#model)
    checkNoLinks(dirname(this.directory), join(this.directory, 'context.md'))
    replaceFile(join(this.directory, 'context.md'), context, { durable: this.#durable })
  }

  /** Waits for turns under way and closes without context.md: the session is to be continued elsewhere. */
  async close(): Promise<void> {
    this.#ended = true
    await this.#file.close()
  }

  async #add(type: 'user' | 'assistant', content: EntireContent, response: EntireResponse): Promise<string> {
    // Everything up to the append runs within the call: the time, the content and the order are those of the call.
    if (this.#ended)
      throw new RecollectError('CLOSED', 'the session was ended', {
        where: this.sessionId,
        hint: 'open it again to go on',
      })
    const head = { sessionId: this.sessionId, cwd: this.#cwd, version: this.#version }
    const turn = encodeTurn(head, type, this.#now(), content, response)
    const prompt = type === 'user' ? promptOf(content) : ''
    try {
      const { offset, length } = await this.#file.append((size, isOther) =>
        this.#prepare(turn, prompt, isOther, size),
      )
      this.#parentUuid = turn.uuid
      this.#endOffset = offset + length
    } catch (error) {
      this.#failedUuids.add(turn.uuid)
      this.#endOffset = -1
      throw error
    }
    return turn.uuid
  }

  /** Under the lock: what has to be on disk before the line, and the line. */
  #prepare(turn: EntireTurn, prompt: string, isOther: boolean, size: number): string {
    if (isOther || size !== this.#endOffset) {
      // A session continued, a file that was deleted or replaced, a failed append, another process, or a call of ours
      // that nobody has awaited yet.
      this.#parentUuid = size === 0 ? null : lastUuid(this.path, size, this.#failedUuids)
      this.#endOffset = size
    }
    if (prompt.trim() !== '') this.#keepPrompt(prompt)
    writeSpill(this.directory, turn.files, this.#durable)
    return turn.line(this.#parentUuid)
  }

  #keepPrompt(prompt: string): void {
    const path = join(this.directory, 'prompt.txt')
    if (existsSync(path)) return
    replaceFile(path, firstPrompt(this.path) ?? prompt, { durable: this.#durable })
  }
}

function checkSessionId(id: string): string {
  safeName(id, 'sessionId')
  if (/^[a-zA-Z0-9_-]+$/.test(id)) return id
  throw new RecollectError('BAD_NAME', 'Entire does not accept this session id', {
    where: JSON.stringify(id.slice(0, 80)),
    hint: 'use letters, digits, dash and underscore',
  })
}

function checkDirectory(cwd: string): string {
  checkPath(cwd, 'cwd')
  const path = resolve(cwd)
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return path
  throw new RecollectError('NOT_FOUND', 'cwd is not a directory', { where: path, hint: 'create it first' })
}
