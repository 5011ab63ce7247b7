// The turn log: one JSON line per turn at <base>/agents/<agentId>/sessions/<sessionId>.jsonl, the authoritative store
// of an agent's conversations. Owns the schema, the path rule and the open files; appending and reading bytes is files/.
import { closeSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import * as z from 'zod'
import { RecollectError } from '../errors.ts'
import { type Appended, AppendFile, type Flush } from '../files/append.ts'
import { checkOpened, resolveInside, safeName } from '../files/paths.ts'
import { openIfThere } from '../files/reading.ts'
import { checkOptions, checkPath } from './given.ts'
import { type ReadOptions, readRecordsFrom } from './read.ts'
import { Amount, OptionalText, Text } from './shapes.ts'

export const TurnRole = z.enum(['user', 'assistant', 'tool', 'system'])
export type TurnRole = z.infer<typeof TurnRole>

export const TranscriptEntry = z.object({
  turnId: Text,
  role: TurnRole,
  content: OptionalText,
  toolCalls: z.array(z.object({ id: Text, name: Text, args: z.record(Text, z.unknown()) })).optional(),
  // Optional: a tool that returns nothing has no result, and JSON has no `undefined`.
  toolResults: z
    .array(z.object({ callId: Text, result: z.unknown().optional(), error: OptionalText }))
    .optional(),
  metadata: z
    .object({
      model: OptionalText,
      tokens: z.object({ prompt: Amount, completion: Amount }).optional(),
      runId: OptionalText,
      provider: OptionalText,
    })
    .optional(),
  ts: Amount,
})
export type TranscriptEntry = z.infer<typeof TranscriptEntry>

export interface TranscriptWriterOptions {
  /** What an acknowledged append survives (default `fdatasync`: also a power cut). */
  flush?: Flush
  /** How long an append waits for another process's lock (default 30 s). */
  lockTimeoutMs?: number
}

const MAX_IDLE_FILES = 1024

/** Appends turns to session transcripts and reads them back. Safe to use from several processes at once. */
export class TranscriptWriter {
  readonly #base: string
  /** Components between the base and an agent's directory. */
  readonly #prefix: string[]
  readonly #options: TranscriptWriterOptions
  readonly #files = new Map<string, AppendFile>()

  /** `basePath` is the home of the transcripts, such as `~/.homeagent`; a path ending in `agents` is that directory itself. */
  constructor(basePath: string, options: TranscriptWriterOptions = {}) {
    checkPath(basePath, 'basePath')
    checkOptions(options)
    this.#base = resolve(basePath)
    this.#prefix = basename(this.#base) === 'agents' ? [] : ['agents']
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
    const fd = this.#openForReading(agentId, sessionId)
    if (fd === undefined) return
    try {
      yield* readRecordsFrom(fd, this.resolvePath(agentId, sessionId), TranscriptEntry, options)
    } finally {
      closeSync(fd)
    }
  }

  /** Where a session's transcript lies. Throws if the ids or what stands on disk are unsafe. */
  resolvePath(agentId: string, sessionId: string): string {
    const agent = safeName(agentId, 'agentId')
    const session = safeName(sessionId, 'sessionId')
    return resolveInside(this.#base, ...this.#prefix, agent, 'sessions', `${session}.jsonl`)
  }

  /** Waits for appends under way and closes the files. The writer can be used again afterwards. */
  async close(): Promise<void> {
    for (const [key, file] of this.#files) {
      await file.close()
      if (!file.busy && !file.failed) this.#files.delete(key)
    }
  }

  /** Undefined when there is no such file; anything else that prevents reading is an error. */
  #openForReading(agentId: string, sessionId: string): number | undefined {
    const path = this.resolvePath(agentId, sessionId)
    const fd = openIfThere(path)
    if (fd === undefined) return undefined
    try {
      checkOpened(fd, path)
      // Again, now that it is open: a link swapped in between check and open must not lead us elsewhere.
      this.resolvePath(agentId, sessionId)
      return fd
    } catch (error) {
      closeSync(fd)
      throw error
    }
  }

  #file(agentId: string, sessionId: string): AppendFile {
    // What is no text has no key, and no path either.
    const key = typeof agentId === 'string' && typeof sessionId === 'string' ? `${agentId}\0${sessionId}` : ''
    const known = this.#files.get(key)
    if (known) return known
    const path = this.resolvePath(agentId, sessionId)
    const file = new AppendFile(path, {
      flush: this.#options.flush ?? 'fdatasync',
      lockTimeoutMs: this.#options.lockTimeoutMs ?? 30_000,
      fileMode: 0o600,
      enforceMode: true,
      check: () => void this.resolvePath(agentId, sessionId),
    })
    this.#forgetIdle()
    this.#files.set(key, file)
    return file
  }

  /** A busy file must keep its place in the order of its calls, a failed one must go on refusing. */
  #forgetIdle(): void {
    if (this.#files.size < MAX_IDLE_FILES) return
    for (const [key, file] of this.#files) {
      if (file.busy || file.failed) continue
      file.release()
      this.#files.delete(key)
    }
  }
}

function encode(given: TranscriptEntry): string {
  try {
    // The caller's fields, not the checked copy: those we do not know are kept on disk.
    const entry = ownFields(given)
    const checked = TranscriptEntry.safeParse(entry)
    if (!checked.success) {
      throw new RecollectError('BAD_INPUT', `not a transcript entry: ${z.prettifyError(checked.error)}`, {
        where: checked.error.issues[0]?.path.join('.') || 'entry',
        hint: 'see docs/formats/turns.md; nothing was written',
      })
    }
    if (
      shape(entry).some((part) => typeof (part as { toJSON?: unknown } | undefined)?.toJSON === 'function')
    ) {
      throw new RecollectError('BAD_INPUT', 'an entry may have no toJSON method', {
        where: 'entry',
        hint: 'it would write something else than what was checked; give a plain object. Nothing was written',
      })
    }
    return JSON.stringify(entry)
  } catch (cause) {
    if (cause instanceof RecollectError) throw cause
    throw new RecollectError('BAD_INPUT', 'the entry cannot be written as JSON', {
      where: 'entry',
      cause,
      hint: 'give plain objects, arrays, texts and numbers; nothing was written',
    })
  }
}

/**
 * The objects the schema describes, as JSON would write them: an inherited or hidden field passes a check and is then
 * missing on disk, where no reader would take the turn any more. What lies below `args` and `result` is the caller's own.
 */
function ownFields(entry: TranscriptEntry): TranscriptEntry {
  const copy = own(entry)
  if (!isObject(copy)) return copy
  if (Array.isArray(copy.toolCalls)) copy.toolCalls = Array.from(copy.toolCalls, own)
  if (Array.isArray(copy.toolResults)) copy.toolResults = Array.from(copy.toolResults, own)
  const { metadata } = copy
  if (isObject(metadata)) {
    copy.metadata = own(metadata)
    if (isObject(metadata.tokens)) copy.metadata.tokens = own(metadata.tokens)
  }
  return copy
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const own = <T>(value: T): T => (isObject(value) ? { ...value } : value)

/** What JSON.stringify would ask for a toJSON method, down to where the schema ends. */
function shape(entry: TranscriptEntry): unknown[] {
  const { metadata, toolCalls = [], toolResults = [] } = entry
  const parts: unknown[] = [entry, metadata, metadata?.tokens, ...toolResults]
  for (const call of toolCalls) parts.push(call, call.args)
  return parts
}
