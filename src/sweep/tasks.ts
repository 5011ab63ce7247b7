// Reads a list of sources, one after another, here or in a thread of its own. Either way the caller gets the same
// batches in the same order; in a thread, reading goes on while the caller writes.
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { Worker } from 'node:worker_threads'
import type { Adapter, AnyAdapter, Source } from '../adapters/adapter.ts'
import { newMemo } from '../adapters/kit/memo.ts'
import { createRedactor } from '../redact/index.ts'
import type { FileFacts } from '../sources/identity.ts'
import type { Plugin, PluginFile } from '../sources/plugins.ts'
import { type Problem, problemOf } from '../sources/problem.ts'
import { taskFinder } from '../sources/task.ts'
import type { Batch, Cursor } from '../store/batch.ts'
import { Buffers } from './buffers.ts'
import type { SweepOptions } from './index.ts'
import { type ReaderContext, readSource } from './reader.ts'

export interface ReadTask {
  adapter: AnyAdapter
  source: Source
  facts: FileFacts
  cursor: Cursor | undefined
  isResumed: boolean
}

/** What a reader needs to know; plain data, so that it can cross to a thread. */
export interface ReaderSettings {
  redactionKey: Uint8Array
  taskPatterns: string[]
}

/** A batch of task `task`, or its end. */
export type ReadBatch = { task: number; batch: Batch } | { task: number; problem: Problem | undefined }

export function readerContext(settings: ReaderSettings): ReaderContext {
  return {
    redactor: createRedactor({ key: settings.redactionKey }),
    findTask: taskFinder(settings.taskPatterns),
    buffers: new Buffers(),
    memo: newMemo(),
  }
}

/** A thread costs some 60 ms to start: worth it from here on. */
const THREAD_FROM_BYTES = 8 << 20
/** What it makes is dead as soon as it is sent: V8's own 48 MB only raise the peak, by some 40 MB. */
const YOUNG_MEGABYTES = 16
/**
 * A sweep runs much code for a minute at most. V8 would take a quarter of it to compile all of that as if it ran for hours: it
 * waits longer before it compiles a function, and takes less of others into it (docs/decisions/0039).
 */
const FLAGS = '--interrupt-budget=300000 --max-inlined-bytecode-size-cumulative=300'
const workerFile = new URL('./reader.js', import.meta.url)

export interface Meanwhile extends Pick<SweepOptions, 'signal' | 'onDeaf'> {
  /** Does a piece of other work while nothing has arrived; false where there is none. */
  whenIdle: () => Promise<boolean>
  /** Whether it is time to make sessions of what has arrived, which `catchUp` does. */
  isDue: () => boolean
  catchUp: () => Promise<void>
}

export function readTasks(
  tasks: readonly ReadTask[],
  settings: ReaderSettings,
  bytes: number,
  meanwhile: Meanwhile,
): AsyncIterable<ReadBatch> {
  // Run from the TypeScript sources (in tests) there is no built worker to start.
  const canThread = bytes >= THREAD_FROM_BYTES && existsSync(fileURLToPath(workerFile))
  // Made here even if it is the thread that reads: a redactor that cannot start must stop everything before anything is read.
  const context = readerContext(settings)
  return canThread ? readInThread(tasks, settings, meanwhile) : readHere(tasks, context, meanwhile)
}

/** With its reader, which may have to be loaded first. */
export async function withReader(adapter: AnyAdapter): Promise<Adapter> {
  return 'read' in adapter ? adapter : { ...adapter, read: (await adapter.load()).read }
}

async function* readHere(
  tasks: readonly ReadTask[],
  context: ReaderContext,
  { isDue, catchUp }: Meanwhile,
): AsyncGenerator<ReadBatch> {
  for (const [task, { adapter, source, cursor, isResumed, facts }] of tasks.entries()) {
    let problem: Problem | undefined
    try {
      for (const batch of readSource(
        await withReader(adapter),
        source,
        { cursor, isResumed },
        facts,
        context,
      )) {
        yield { task, batch }
        // Lets signals and the progress bar through.
        await new Promise(setImmediate)
      }
      if (isDue()) await catchUp()
    } catch (cause) {
      problem = problemOf(cause, source.path)
    }
    yield { task, problem }
  }
}

/** A task as it crosses to the thread: the adapter by name. */
export interface ThreadTask extends Omit<ReadTask, 'adapter'> {
  flavor: string
  plugin: PluginFile | undefined
}

const threadTask = ({ adapter, ...rest }: ReadTask): ThreadTask => ({
  ...rest,
  flavor: adapter.flavor,
  plugin: 'plugin' in adapter ? (adapter as Plugin).plugin : undefined,
})

/**
 * A signal that came while we were busy is told only when the event loop has gone round: whoever stops listening before that
 * never hears of it. Twice, because the first may still belong to the present round.
 */
export async function signalsAreIn(): Promise<void> {
  await new Promise(setImmediate)
  await new Promise(setImmediate)
}

/** Work of our own between two batches, during which no signal is heard: one that is waiting is let in first. */
class Pauses {
  readonly #meanwhile: Meanwhile

  constructor(meanwhile: Meanwhile) {
    this.#meanwhile = meanwhile
  }

  /** False where there was nothing to do. */
  async useIdleTime(): Promise<boolean> {
    return (await this.#deaf(this.#meanwhile.whenIdle)) ?? true
  }

  async catchUp(): Promise<void> {
    await this.#deaf(this.#meanwhile.catchUp)
  }

  async #deaf<T>(work: () => T | Promise<T>): Promise<T | undefined> {
    const { signal, onDeaf } = this.#meanwhile
    await signalsAreIn()
    if (signal?.aborted) return undefined
    onDeaf?.(true)
    const result = await work()
    onDeaf?.(false)
    return result
  }
}

/** Ends at once when the signal comes, whatever the thread is busy with. */
async function* readInThread(
  tasks: readonly ReadTask[],
  settings: ReaderSettings,
  meanwhile: Meanwhile,
): AsyncGenerator<ReadBatch> {
  const { isDue, signal, onDeaf } = meanwhile
  setFlagsFromString(FLAGS)
  const worker = new Worker(workerFile, {
    workerData: { tasks: tasks.map(threadTask), settings },
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MEGABYTES },
  })
  const arrived: ReadBatch[] = []
  let failure: Error | undefined
  let wake = (): void => undefined
  worker.on('message', (read: ReadBatch) => {
    arrived.push(read)
    wake()
  })
  worker.on('error', (error) => {
    failure = error
    wake()
  })
  const onAbort = (): void => wake()
  signal?.addEventListener('abort', onAbort)
  onDeaf?.(false)
  const pauses = new Pauses(meanwhile)
  try {
    for (let ended = 0; ended < tasks.length && !signal?.aborted; ) {
      if (isDue()) await pauses.catchUp()
      const read = arrived.shift()
      if (read) {
        // One word per message gives the thread room for one more: it never runs far ahead of the writer.
        worker.postMessage('taken')
        if ('problem' in read) ended++
        yield read
      } else if (failure) {
        throw failure
      } else if (await pauses.useIdleTime()) {
        await new Promise(setImmediate)
      } else {
        await new Promise<void>((resolve) => {
          wake = resolve
          // It may have come while signals were let in.
          if (arrived.length > 0 || failure || signal?.aborted) resolve()
        })
      }
    }
  } finally {
    signal?.removeEventListener('abort', onAbort)
    await worker.terminate()
    await signalsAreIn()
    onDeaf?.(true)
  }
}
