// The reading thread of a sweep: the same reader as without a thread, at most so many messages ahead of the writer.
import { parentPort, workerData } from 'node:worker_threads'
import { ADAPTERS } from '../adapters/index.ts'
import { loadPlugin } from '../sources/plugins.ts'
import { type Problem, problemOf } from '../sources/problem.ts'
import { readSource } from './reader.ts'
import { type ReadBatch, type ReaderSettings, readerContext, type ThreadTask, withReader } from './tasks.ts'

const { tasks, settings } = workerData as { tasks: ThreadTask[]; settings: ReaderSettings }
const port = parentPort as NonNullable<typeof parentPort>
const MAX_AHEAD = 64
/** One batch may hold a record of many megabytes. */
const MAX_AHEAD_BYTES = 8 << 20

/** Bytes of each message that waits for the writer. */
const ahead: number[] = []
let aheadBytes = 0
let wake = (): void => undefined
port.on('message', () => {
  aheadBytes -= ahead.shift() ?? 0
  wake()
})

async function send(read: ReadBatch): Promise<void> {
  const bytes = 'batch' in read ? read.batch.payloads.length : 0
  while (ahead.length >= MAX_AHEAD || (ahead.length > 0 && aheadBytes + bytes > MAX_AHEAD_BYTES)) {
    await new Promise<void>((resolve) => {
      wake = resolve
    })
  }
  ahead.push(bytes)
  aheadBytes += bytes
  port.postMessage(
    read,
    'batch' in read
      ? [read.batch.payloads, read.batch.texts, read.batch.ids].map((bytes) => bytes.buffer as ArrayBuffer)
      : [],
  )
}

const context = readerContext(settings)
for (const [task, { flavor, plugin, source, cursor, isResumed, facts }] of tasks.entries()) {
  let problem: Problem | undefined
  try {
    const adapter = plugin ? await loadPlugin(plugin) : ADAPTERS.find((one) => one.flavor === flavor)
    if (!adapter) throw new Error(`no adapter for ${flavor}`)
    for (const batch of readSource(await withReader(adapter), source, { cursor, isResumed }, facts, context))
      await send({ task, batch })
  } catch (cause) {
    problem = problemOf(cause, source.path)
  }
  await send({ task, problem })
}
