// The turn log: one JSON line per turn at <base>/agents/<agentId>/sessions/<sessionId>.jsonl, the authoritative store
// of an agent's conversations. Owns the schema, the path rule and the open files; appending and reading bytes is files/.
import { existsSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import * as z from 'zod'
import { RecollectError } from '../errors.ts'
import { type Appended, AppendFile, type Flush } from '../files/append.ts'
import { checkNoLinks, resolveInside, safeName } from '../files/paths.ts'
import { type ReadOptions, readRecords } from './read.ts'

export const TurnRole = z.enum(['user', 'assistant', 'tool', 'system'])
export type TurnRole = z.infer<typeof TurnRole>

export const TranscriptEntry = z.object({
  turnId: z.string(),
  role: TurnRole,
  content: z.string().optional(),
  toolCalls: z
    .array(z.object({ id: z.string(), name: z.string(), args: z.record(z.string(), z.unknown()) }))
    .optional(),
  toolResults: z
    .array(z.object({ callId: z.string(), result: z.unknown(), error: z.string().optional() }))
    .optional(),
  metadata: z
    .object({
      model: z.string().optional(),
      tokens: z.object({ prompt: z.number(), completion: z.number() }).optional(),
      runId: z.string().optional(),
      provider: z.string().optional(),
    })
    .optional(),
  ts: z.number(),
})
export type TranscriptEntry = z.infer<typeof TranscriptEntry>

export interface TranscriptWriterOptions {
  /** What an acknowledged append survives (default `fdatasync`: also a power cut). */
  flush?: Flush
  /** How long an append waits for another process's lock (default 30 s). */
  lockTimeoutMs?: number
}

const MAX_OPEN_FILES = 64

/** Appends turns to session transcripts and reads them back. Safe to use from several processes at once. */
export class TranscriptWriter {
  readonly #agentsDirectory: string
  readonly #options: TranscriptWriterOptions
  /** Least recently used first. */
  readonly #files = new Map<string, AppendFile>()

  /** `basePath` is the home of the transcripts, such as `~/.homeagent`; a path ending in `agents` is that directory itself. */
  constructor(basePath: string, options: TranscriptWriterOptions = {}) {
    if (typeof basePath !== 'string' || basePath === '') {
      throw new RecollectError('BAD_INPUT', 'basePath must be a directory path')
    }
    const absolute = resolve(basePath)
    this.#agentsDirectory = basename(absolute) === 'agents' ? absolute : join(absolute, 'agents')
    this.#options = options
  }

  /** Resolves when the turn is in the file and flushed as the policy says. */
  async append(agentId: string, sessionId: string, entry: TranscriptEntry): Promise<void> {
    await this.appendAt(agentId, sessionId, entry)
  }

  /** As `append`, telling where the record lies. */
  appendAt(agentId: string, sessionId: string, entry: TranscriptEntry): Promise<Appended> {
    try {
      return this.#file(agentId, sessionId).append(encode(entry))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** All turns of a session, in file order; none if it has no transcript. */
  async read(agentId: string, sessionId: string, options: ReadOptions = {}): Promise<TranscriptEntry[]> {
    const entries: TranscriptEntry[] = []
    for await (const entry of this.readStream(agentId, sessionId, options)) entries.push(entry)
    return entries
  }

  /** The turns one by one, in constant memory. */
  async *readStream(
    agentId: string,
    sessionId: string,
    options: ReadOptions = {},
  ): AsyncGenerator<TranscriptEntry, void, undefined> {
    const path = this.resolvePath(agentId, sessionId)
    if (existsSync(path)) yield* readRecords(path, TranscriptEntry, options)
  }

  /** Where a session's transcript lies. Throws if the ids or what stands on disk are unsafe. */
  resolvePath(agentId: string, sessionId: string): string {
    const agent = safeName(agentId, 'agentId')
    const session = safeName(sessionId, 'sessionId')
    return resolveInside(this.#agentsDirectory, agent, 'sessions', `${session}.jsonl`)
  }

  /** Waits for appends under way and closes the files. The writer can be used again afterwards. */
  async close(): Promise<void> {
    await Promise.all([...this.#files.values()].map((file) => file.close()))
    this.#files.clear()
  }

  #file(agentId: string, sessionId: string): AppendFile {
    const key = `${agentId}\0${sessionId}`
    const known = this.#files.get(key)
    if (known) {
      this.#files.delete(key)
      this.#files.set(key, known)
      return known
    }
    const path = this.resolvePath(agentId, sessionId)
    const root = dirname(dirname(dirname(path)))
    const file = new AppendFile(path, {
      flush: this.#options.flush ?? 'fdatasync',
      lockTimeoutMs: this.#options.lockTimeoutMs ?? 30_000,
      fileMode: 0o600,
      enforceMode: true,
      check: (target) => checkNoLinks(root, target),
    })
    this.#files.set(key, file)
    this.#closeOldest()
    return file
  }

  /** Only descriptors are given back: a file keeps its place in the order of its own calls. */
  #closeOldest(): void {
    for (const [key, file] of this.#files) {
      if (this.#files.size <= MAX_OPEN_FILES) return
      if (file.busy) continue
      file.release()
      this.#files.delete(key)
    }
  }
}

function encode(entry: TranscriptEntry): string {
  const checked = TranscriptEntry.safeParse(entry)
  if (!checked.success) {
    throw new RecollectError('BAD_INPUT', `not a transcript entry: ${z.prettifyError(checked.error)}`, {
      where: checked.error.issues[0]?.path.join('.') ?? '',
      hint: 'see docs/formats/turns.md; nothing was written',
    })
  }
  try {
    // The caller's object, not the checked copy: fields we do not know are kept on disk.
    return JSON.stringify(entry)
  } catch (cause) {
    throw new RecollectError('BAD_INPUT', 'the entry cannot be written as JSON', {
      cause,
      hint: 'nothing was written',
    })
  }
}
