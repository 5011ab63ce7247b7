// The writer of one run: `<base>/runs/<runId>/transcript.json`, or `.json.gz` from 100 KiB. Owns the order of the steps
// by which a run starts, grows, ends and is taken up again; docs/formats/run.md says what a crash leaves at each.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import * as z from 'zod'
import { hasCode, RecollectError, wordsOf } from '../errors.ts'
import type { Appended, AppendFile, Flush } from '../files/append.ts'
import { JOURNAL } from './file-names.ts'
import { checkClock, checkOptions, misused } from './given.ts'
import { copyJson } from './go-json.ts'
import type { ReadOptions } from './read.ts'
import { lockRun, type RunLock, readStored, runDirectory, storeRun } from './run-files.ts'
import { buildRunId, parseRunId, type RunIdParts } from './run-id.ts'
import { addToIndex, summarise } from './run-index.ts'
import {
  applyRecord,
  encodeRecord,
  encodeStart,
  MAX_DOLLARS,
  openJournal,
  type RunRecord,
} from './run-journal.ts'
import { isEnded, loadRun, readRun } from './run-load.ts'
import {
  goTime,
  RunRole,
  type RunStatus,
  RunToolCall,
  type RunTranscriptFile,
  type RunTurn,
  ZERO_TIME,
} from './run-model.ts'
import { claimRun, clearLeftovers, finishRun, lockOrThrow, runExists, takeBack } from './run-save.ts'
import { Count, Text } from './shapes.ts'

export interface RunWriterOptions {
  /** What an acknowledged call survives (default `fdatasync`: also a power cut). */
  flush?: Flush
  /** The clock (default: the system's). */
  now?: () => Date
}

export interface RunStartOptions extends RunWriterOptions {
  /** The id itself, or its parts; the date defaults to today in UTC. */
  runId: string | (Omit<RunIdParts, 'date'> & { date?: string | Date })
  /** Defaults to the flow of the parts. */
  flowId?: string
  nodeId?: string
  input?: Record<string, unknown>
  /** If the run exists, takes the next free suffix (`-2`, `-3`, …) instead of failing. Needs the id as parts without one. */
  nextSuffix?: boolean
}

const MAX_SUFFIX = 9999
// Made once: building a schema costs more than a check.
const OptionalText = Text.optional()
const FlowId = Text.min(1)
const OptionalCount = Count.optional()
const Dollars = z.number().nonnegative().max(MAX_DOLLARS)

/** Records one run. Each call resolves when what it adds is on disk; calls keep their order. */
export class RunTranscript {
  readonly runId: string
  readonly directory: string
  readonly #file: RunTranscriptFile
  #lock: RunLock
  readonly #journal: AppendFile
  readonly #now: () => Date
  #queue: Promise<unknown> = Promise.resolve()
  /** Why no more calls are taken. */
  #closed: RecollectError | undefined
  /** Why nothing more can be added; the run can still be ended with what it has. */
  #broken: RecollectError | undefined

  private constructor(directory: string, file: RunTranscriptFile, lock: RunLock, options: RunWriterOptions) {
    if (!file) throw misused('a RunTranscript', 'made by RunTranscript.start or RunTranscript.resume')
    this.runId = file.runId
    this.directory = directory
    this.#file = file
    this.#lock = lock
    this.#journal = openJournal(directory, { flush: options.flush ?? 'fdatasync' })
    this.#now = options.now ?? systemClock
  }

  /** Starts a run. Throws EXISTS if there is one of that id, unless told to take the next suffix. */
  static async start(baseDir: string, options: RunStartOptions): Promise<RunTranscript> {
    checkOptions(options)
    checkClock(options.now)
    const { runId, nextSuffix } = options
    if (typeof runId === 'string') {
      parseRunId(runId)
      if (options.flowId === undefined)
        throw badInput('flowId', 'flowId is missing: an id alone does not name its flow')
      if (nextSuffix) throw badInput('nextSuffix', 'nextSuffix needs the run id in parts')
      return RunTranscript.#start(baseDir, runId, options.flowId, options)
    }
    if (typeof runId !== 'object' || runId === null) throw badInput('runId', 'runId is missing')
    if (nextSuffix && runId.suffix !== undefined)
      throw badInput('nextSuffix', 'nextSuffix and a suffix were both given')
    const parts = { ...runId, date: runId.date ?? (options.now ?? systemClock)() }
    const flowId = options.flowId ?? parts.flow
    for (let suffix = 2; ; suffix++) {
      try {
        return await RunTranscript.#start(baseDir, buildRunId(parts), flowId, options)
      } catch (error) {
        if (!nextSuffix || suffix > MAX_SUFFIX || !hasCode(error, 'EXISTS')) throw error
        parts.suffix = String(suffix)
      }
    }
  }

  static async #start(
    baseDir: string,
    runId: string,
    flowId: string,
    options: RunStartOptions,
  ): Promise<RunTranscript> {
    const startedAt = goTime((options.now ?? systemClock)())
    const file = newRun(runId, flowId, startedAt, options)
    const head = encodeStart(file)
    const directory = runDirectory(baseDir, runId)
    const durable = options.flush !== 'os'
    const lock = lockRun(directory, durable)
    if (!lock) throw runExists(directory)
    const run = new RunTranscript(directory, file, lock, options)
    let owned = false
    try {
      claimRun(directory)
      owned = true
      // From here a crash leaves a run without turns, status `running`.
      await run.#journal.append(head)
      // For programs that know only transcript.json: they see that the run exists and is running.
      const stored = storeRun(directory, file, durable)
      await addToIndex(dirname(directory), [summarise(stored)])
      return run
    } catch (error) {
      if (owned) takeBack(directory)
      run.#release()
      throw error
    }
  }

  /** Takes up a run whose writer was killed or closed. Throws LOCK_BUSY while it lives, CLOSED if the run has ended. */
  static async resume(
    baseDir: string,
    runId: string,
    options: RunWriterOptions & ReadOptions = {},
  ): Promise<RunTranscript> {
    checkOptions(options)
    checkClock(options.now)
    const directory = runDirectory(baseDir, runId)
    if (!existsSync(directory))
      throw new RecollectError('NOT_FOUND', 'no such run', {
        where: directory,
        hint: 'list them with listRuns',
      })
    const durable = options.flush !== 'os'
    const lock = lockOrThrow(directory, durable)
    try {
      const read = readStored(directory)
      if (read.stored && isEnded(read)) {
        // Its writer was killed after the end was stored and before the last steps.
        clearLeftovers(directory, read.stored.file)
        throw closed(directory, 'the run has ended')
      }
      const { transcript, file } = readRun(directory, options)
      if (file !== JOURNAL) {
        throw new RecollectError('NOT_FOUND', 'the run has no journal to continue', {
          where: directory,
          hint: 'another program recorded it: let that one continue it, or save a finished transcript with saveRun',
        })
      }
      const stored = storeRun(directory, transcript, durable)
      await addToIndex(dirname(directory), [summarise(stored)])
      return new RunTranscript(directory, transcript, lock, options)
    } catch (error) {
      lock.release()
      throw error
    }
  }

  /** Same as `loadRun`. */
  static load(baseDir: string, runId: string, options: ReadOptions = {}): Promise<RunTranscriptFile> {
    return loadRun(baseDir, runId, options)
  }

  /** A copy of what has been acknowledged so far. */
  get transcript(): RunTranscriptFile {
    return structuredClone(this.#file)
  }

  /** Adds a turn. `tokens` count as input for system and user, as output for assistant; a tool result has none. */
  async addTurn(
    role: RunRole,
    content: string,
    tokens = 0,
    options: { durationMs?: number } = {},
  ): Promise<RunTurn> {
    check(RunRole, role, 'role')
    check(Text, content, 'content')
    check(Count, tokens, 'tokens')
    check(OptionalCount, options.durationMs, 'durationMs')
    if (role === 'tool_result' && tokens > 0) {
      throw badInput(
        'tokens',
        'the format has no place for the tokens of a tool result: count them in the next turn',
      )
    }
    const timestamp = goTime(this.#now())
    return this.#inOrder(async () => {
      const turn: RunTurn = { id: (this.#file.turns.at(-1)?.id ?? 0) + 1, role, content, timestamp }
      if (tokens > 0) {
        const isOut = role === 'assistant'
        turn[isOut ? 'tokensOut' : 'tokensIn'] = tokens
        // A total that a reader could not keep would make the whole transcript unreadable.
        if (!Number.isSafeInteger(this.#file.metadata[isOut ? 'totalTokensOut' : 'totalTokensIn'] + tokens))
          throw badInput('tokens', 'the tokens of the run add up to 2^53 or more')
      }
      if (options.durationMs) turn.durationMs = options.durationMs
      const isFirstPrompt = role === 'user' && !this.#file.turns.some((one) => one.role === 'user')
      const { offset, length } = await this.#append({ type: 'turn', turn })
      if (isFirstPrompt) {
        // A run that is killed later is found by what it was asked.
        const summary = summarise({ transcript: this.#file, file: JOURNAL, size: offset + length })
        await addToIndex(dirname(this.directory), [summary])
      }
      return structuredClone(turn)
    })
  }

  /** Adds a tool call to the last turn, which must be the assistant's. */
  async addToolCall(
    name: string,
    input: Record<string, unknown> | null,
    output = '',
    options: { id?: string; error?: string } = {},
  ): Promise<void> {
    const call: RunToolCall = { name, input: input === null ? null : copyMap(input, 'input') }
    if (output !== '') call.output = output
    if (options.id) call.id = options.id
    if (options.error) call.error = options.error
    check(RunToolCall, call, 'tool call')
    return this.#inOrder(async () => {
      const last = this.#file.turns.at(-1)
      if (last?.role !== 'assistant') {
        throw badInput(
          'tool call',
          `a tool call belongs to an assistant turn, and the last turn is ${last?.role ?? 'missing'}`,
        )
      }
      await this.#append({ type: 'toolCall', turnId: last.id, call })
    })
  }

  /** Adds to the run's cost, in dollars with up to twelve decimals. */
  async addCost(usd: number): Promise<void> {
    check(Dollars, usd, 'usd')
    return this.#inOrder(async () => {
      await this.#append({ type: 'cost', usd })
    })
  }

  /** Ends the run as completed. Resolves to the path of the transcript once it is stored and flushed. */
  complete(): Promise<string> {
    return this.#end('completed')
  }

  /** Ends the run as failed. */
  fail(error: unknown): Promise<string> {
    return this.#end('failed', wordsOf(error))
  }

  /** Ends the run as canceled. */
  cancel(): Promise<string> {
    return this.#end('canceled')
  }

  /** Stops writing without ending the run: it stays `running` and can be resumed. */
  async close(): Promise<void> {
    await this.#queue
    if (!this.#closed) this.#shut('the run was closed', 'take it up again with RunTranscript.resume')
  }

  async #end(status: RunStatus, error?: string): Promise<string> {
    const endedAt = goTime(this.#now())
    return this.#inOrder(async () => {
      const metadata = { ...this.#file.metadata, status, endedAt }
      if (error) metadata.error = error
      if (!existsSync(this.directory)) this.#lockAgain()
      const stored = await finishRun(this.directory, { ...this.#file, metadata })
      this.#file.metadata = metadata
      this.#shut('the run has ended')
      return join(this.directory, stored.file)
    })
  }

  /** With its directory the run's files are gone, the lock among them: what this process knows is all that is left. */
  #lockAgain(): void {
    this.#lock.release()
    this.#lock = { release: () => undefined }
    this.#lock = lockOrThrow(this.directory, true)
  }

  /** On disk first, in memory second: what `transcript` shows has been acknowledged. */
  async #append(record: RunRecord): Promise<Appended> {
    if (this.#broken) throw this.#broken
    const text = encodeRecord(record)
    try {
      const appended = await this.#journal.append(text)
      applyRecord(this.#file, record)
      return appended
    } catch (error) {
      // A journal begun anew in the middle of a run could not be replayed.
      if (!hasCode(error, 'GONE') && !hasCode(error, 'REPLACED')) throw error
      const { code, message, cause } = error as RecollectError
      this.#broken = new RecollectError(code, message, {
        where: this.directory,
        cause,
        hint: 'nothing more can be added; end the run, which stores all that was acknowledged',
      })
      throw this.#broken
    }
  }

  #inOrder<T>(call: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(() => {
      if (this.#closed) throw this.#closed
      return call()
    })
    this.#queue = result.catch(() => undefined)
    return result
  }

  #shut(why: string, hint?: string): void {
    this.#closed = closed(this.directory, why, hint)
    this.#release()
  }

  #release(): void {
    this.#journal.release()
    this.#lock.release()
  }
}

function systemClock(): Date {
  return new Date()
}

function newRun(
  runId: string,
  flowId: string,
  startedAt: string,
  options: RunStartOptions,
): RunTranscriptFile {
  check(FlowId, flowId, 'flowId')
  check(OptionalText, options.nodeId, 'nodeId')
  const totals = { totalTokensIn: 0, totalTokensOut: 0, totalCost: 0 }
  const file: RunTranscriptFile = {
    runId,
    metadata: { flowId, startedAt, endedAt: ZERO_TIME, status: 'running', ...totals },
    turns: [],
  }
  if (options.nodeId) file.metadata.nodeId = options.nodeId
  const input = copyMap(options.input ?? {}, 'input')
  if (Object.keys(input).length > 0) file.metadata.input = input
  return file
}

/** The caller may go on changing his object; the run keeps what it was given. */
function copyMap(map: Record<string, unknown>, what: string): Record<string, unknown> {
  const copy = copyJson(map, what)
  if (typeof copy === 'object' && copy !== null && !Array.isArray(copy))
    return copy as Record<string, unknown>
  throw badInput(what, `${what} is not an object`)
}

function check(schema: z.ZodType, value: unknown, what: string): void {
  const checked = schema.safeParse(value)
  if (checked.success) return
  const where = [what, ...(checked.error.issues[0]?.path ?? [])].join('.')
  throw badInput(where, `${what}: ${z.prettifyError(checked.error)}`)
}

function badInput(where: string, what: string): RecollectError {
  return new RecollectError('BAD_INPUT', what, {
    where,
    hint: 'see docs/formats/run.md; nothing was written',
  })
}

function closed(
  directory: string,
  why: string,
  hint = 'a run that has ended cannot be changed',
): RecollectError {
  return new RecollectError('CLOSED', why, { where: directory, hint })
}
