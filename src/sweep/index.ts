// THE FLOW: discover → read → redact → store → settle → digest → evict. The only place where these stages meet.
// One sweep at a time (store/sweep-lock.ts). What is there is taken newest first and told as it comes in: a first sweep of
// years of history is of use within seconds.
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { AnyAdapter, Environment } from '../adapters/adapter.ts'
import type { Config } from '../config.ts'
import { ensureDirectory } from '../files/directory.ts'
import { hasNews, tellHub } from '../hub/index.ts'
import { loadRedactionKey } from '../redact/index.ts'
import { type RetentionEvent, type RetentionOptions, retain } from '../retention/apply.ts'
import { isClockAhead } from '../retention/clock.ts'
import { isDue, type Trigger } from '../retention/due.ts'
import { policyOf } from '../retention/policy.ts'
import { dropBallastIfFull, keepBallast } from '../retention/usage.ts'
import { addProblem, problemOf } from '../sources/problem.ts'
import type { Batch } from '../store/batch.ts'
import { storePaths } from '../store/reading.ts'
import type { Salvage } from '../store/salvage.ts'
import { openStore, salvageStore } from '../store/sqlite.ts'
import type { RepairReport, Store } from '../store/store.ts'
import { SweepLock, type SweepProgress } from '../store/sweep-lock.ts'
import { overridesOf } from '../usage/overrides.ts'
import { analyze } from './analyze.ts'
import { Capture } from './capture.ts'
import { EvictedFilter } from './evicted-filter.ts'
import { collectAfter, LEFT_BY_ONE } from './garbage.ts'
import { carryOut, plans, type Task } from './plan.ts'
import { indexFromBodies } from './reindex.ts'
import {
  addSession,
  addSource,
  newAccount,
  newReport,
  type SourceReport,
  type SweepReport,
} from './report.ts'
import { type Meanwhile, type ReaderSettings, readTasks, signalsAreIn } from './tasks.ts'
import { Telling } from './telling.ts'

export interface SweepOptions {
  config: Config
  adapters: readonly AnyAdapter[]
  env: Environment
  /** Read every source again from its beginning. */
  full?: boolean
  signal?: AbortSignal
  /**
   * Told when work begins, and when it has ended, during which the signal is not looked at. Whoever turns SIGTERM into that
   * signal leaves it to the system meanwhile: a sweep may be killed at any point, but must not outlive its order to end.
   */
  onDeaf?: (isDeaf: boolean) => void
  onProgress?: (progress: SweepProgress) => void
  /** What set it off: hooks may fire each minute, and then eviction keeps to the cadence. */
  trigger?: Trigger
  /** Look only at these paths and at what hooks named; an empty list where only hooks are to say. */
  touched?: readonly string[]
  onEvent?: (event: RetentionEvent) => void
  /** How many sources are planned at a time, where not as many as there is room for. */
  slice?: number
  /** Take out what is damaged first, so that its sources are read again. */
  repair?: boolean
  /** The machine whose files these are, where it is not this one: `env` and `adapters` then lead to copies of them. */
  host?: { key: string; name: string }
}

/** Bytes of payloads, batches and time in one commit. */
const GROUP_BYTES = 32 << 20
const GROUP_BATCHES = 512
const GROUP_MS = 2000
/** The same where nothing else is to be done. */
const IDLE_MS = 500
/** Sources, or sessions that went, after which it is worth the time to collect garbage: some 50 ms. */
const MANY_TASKS = 4000
/** Bytes of payloads that a repair looks at before it collects garbage. */
const MENDED_BYTES = 32 << 20

/** Runs one sweep. Throws BUSY when another one is running. */
export async function sweep(options: SweepOptions): Promise<SweepReport> {
  if (options.onDeaf) await signalsAreIn()
  options.onDeaf?.(true)
  try {
    const { report, hasNews } = await sweepAlone(options)
    // With the memory closed and its lock free: a slow hub holds up nobody else.
    if (hasNews) report.hub = await tellHub(options.config)
    if (!report.interrupted && options.config.get('otlp.endpoint') !== '') {
      const { sendTelemetry } = await import('../export/telemetry.ts')
      const telemetry = await sendTelemetry(options.config)
      if (telemetry) report.telemetry = telemetry
    }
    return report
  } finally {
    options.onDeaf?.(false)
  }
}

async function sweepAlone(options: SweepOptions): Promise<{ report: SweepReport; hasNews: boolean }> {
  const { config } = options
  const policy = policyOf(config)
  // Needed when all is read: refused before anything is.
  overridesOf(config)
  const paths = storePaths(config.home, config.get('store.db_path'))
  ensureDirectory(config.home, 0o700, false)
  const lock = new SweepLock(config.home)
  let store: Store | undefined
  try {
    const capture = new Capture(config.home, options)
    const settings: ReaderSettings = {
      redactionKey: loadRedactionKey(join(config.home, 'redaction.key')),
      taskPatterns: config.get('task_ref.patterns'),
    }
    const wasFull = dropBallastIfFull(paths.cacheDirectory)
    const salvaged = options.repair ? salvageStore(paths) : []
    store = openStore(paths)
    store.ingest.nameHost(config.get('identity.host') || hostname(), config.get('identity.user'))
    if (options.host) store.ingest.nameHost(options.host.name, config.get('identity.user'), options.host.key)
    store.archive.evict([], Date.now())
    const { lastSweepAt } = capture
    const retention = { ...retentionHooks(store, options), store, paths, policy, lastSweepAt }
    // On a full disk nothing can be read in before something has gone.
    if (wasFull) await retain(retention)
    // Before anything is read: what is read may fill the disk, and then there is no room for it any more.
    else keepBallast(paths.cacheDirectory, policy.rawSoftCapBytes)
    const repaired = options.repair ? await mend(store, salvaged) : undefined
    const report = await run(store, options, settings, capture, lock)
    if (repaired) report.repaired = repaired
    // Those that went since the last sweep as well.
    if (repaired && !report.interrupted) {
      if (repaired.indexCount > 0 || salvaged.length > 0) indexFromBodies(store.ingest)
      store.archive.markLost()
    }
    if (!report.interrupted && isDue(store.reader, paths, policy, options.trigger ?? 'asked', Date.now()))
      report.retention = await retain(retention)
    report.endedAt = Date.now()
    if (report.interrupted) return { report, hasNews: false }
    if (report.readBytes > 0)
      for (const error of store.archive.settleLogs()) addProblem(report, problemOf(error, error.where))
    keepBallast(paths.cacheDirectory, policy.rawSoftCapBytes)
    const isAhead = isClockAhead(store.reader, lastSweepAt, report.startedAt)
    capture.finish(report, isAhead)
    report.endedAt = Date.now()
    return { report, hasNews: hasNews(config, store.reader) }
  } finally {
    store?.close()
    lock.free()
  }
}

async function mend(store: Store, salvaged: Salvage[]): Promise<RepairReport> {
  // It reads everything there is, and what it leaves behind is still there when the sources are read.
  const onRead = async (bytes: number): Promise<void> => {
    collectAfter(bytes, MENDED_BYTES)
    // What zlib holds for a chunk that it could not read goes only between two turns of the event loop.
    await new Promise(setImmediate)
  }
  const report = await store.archive.repair({
    salvaged,
    fillIndex: () => indexFromBodies(store.ingest),
    onRead,
  })
  collectAfter(Number.POSITIVE_INFINITY)
  return report
}

/** What eviction may need of the sweep. */
function retentionHooks(
  store: Store,
  { config, onEvent }: SweepOptions,
): Pick<RetentionOptions, 'analyzeNow' | 'onEvent' | 'onRound'> {
  const analyzeNow = async (): Promise<void> => {
    await analyze(store, config)
  }
  const onRound = (count: number): void => {
    if (count > MANY_TASKS) collectAfter(Number.POSITIVE_INFINITY)
  }
  return { analyzeNow, onRound, ...(onEvent ? { onEvent } : {}) }
}

async function run(
  store: Store,
  options: SweepOptions,
  settings: ReaderSettings,
  { scope }: Capture,
  lock: SweepLock,
): Promise<SweepReport> {
  const report = newReport(scope.isFull)
  const evicted = new EvictedFilter(store.reader)
  const telling = new Telling(store, options, report)
  const progress: SweepProgress = { doneBytes: 0, totalBytes: 0, doneSources: 0, totalSources: 0 }
  for (const planned of plans(store.reader.sources, options, scope, evicted, report, options.slice)) {
    carryOut(store, planned, evicted)
    await readAll(store, planned.tasks, { ...options, progress, lock, telling }, settings, evicted, report)
    report.interrupted = options.signal?.aborted ?? false
    // What is in stays; the next sweep goes on from here, as after a kill.
    if (report.interrupted) break
    await telling.tellAll()
    // What one slice leaves behind would be there beside the next.
    if (planned.tasks.length > MANY_TASKS) collectAfter(Number.POSITIVE_INFINITY)
  }
  return report
}

async function readAll(
  store: Store,
  tasks: readonly Task[],
  options: SweepOptions & { progress: SweepProgress; lock: SweepLock; telling: Telling },
  settings: ReaderSettings,
  evicted: EvictedFilter,
  report: SweepReport,
): Promise<void> {
  if (tasks.length === 0) return
  const { progress, telling } = options
  const totalBytes = tasks.reduce((sum, task) => sum + task.bytes, 0)
  progress.totalBytes += totalBytes
  progress.totalSources += tasks.length
  options.lock.tell(progress)
  const group = new CommitGroup(store, report, telling)
  const accounts = tasks.map(newAccount)
  const meanwhile: Meanwhile = {
    ...options,
    whenIdle: () => group.useIdleTime(),
    isDue: () => telling.isDue,
    catchUp: async () => {
      await group.commit()
      await telling.tellAll()
    },
  }
  for await (const read of readTasks(tasks, settings, totalBytes, meanwhile)) {
    const account = accounts[read.task] as SourceReport
    if ('batch' in read) {
      group.add(evicted.strip(read.batch))
      tally(account, read.batch, report)
      progress.doneBytes += read.batch.cursor.offset - read.batch.fromOffset
      if (group.isFull) {
        await group.commit()
        options.lock.tell(progress)
      }
    } else {
      if (read.problem !== undefined) addProblem(report, read.problem)
      addSource(report, account)
      progress.doneSources++
    }
    options.onProgress?.(progress)
    if (options.signal?.aborted) break
  }
  await group.commit()
}

function tally(account: SourceReport, batch: Batch, report: SweepReport): void {
  let passedBytes = 0
  for (const gap of batch.gaps) {
    account.gaps[gap.reason] = (account.gaps[gap.reason] ?? 0) + 1
    if (gap.file !== undefined) continue
    account.gapBytes += gap.length
    if (gap.isPending) account.pendingBytes += gap.length
    else passedBytes += gap.length
  }
  for (const [name, count] of Object.entries(batch.unknown)) {
    account.unknown[name] = (account.unknown[name] ?? 0) + count
  }
  account.understoodBytes += Math.max(0, batch.cursor.offset - batch.fromOffset - passedBytes)
  report.readBytes += batch.cursor.offset - batch.fromOffset
  report.usageCount += batch.usage.length
}

/** Sources share a commit: each costs flushes to the disk and a part of the index. Bounds the time a kill can lose. */
class CommitGroup {
  readonly #store: Store
  readonly #report: SweepReport
  readonly #telling: Telling
  #batchCount = 0
  #bytes = 0
  #committedAt = performance.now()

  constructor(store: Store, report: SweepReport, telling: Telling) {
    this.#store = store
    this.#report = report
    this.#telling = telling
  }

  get isFull(): boolean {
    return (
      this.#bytes >= GROUP_BYTES ||
      this.#batchCount >= GROUP_BATCHES ||
      performance.now() - this.#committedAt >= GROUP_MS
    )
  }

  add(batch: Batch): void {
    this.#telling.withdraw(this.#store.ingest.write([batch], true).sessions)
    this.#batchCount++
    this.#bytes += batch.payloads.length
    collectAfter(batch.payloads.length + LEFT_BY_ONE)
  }

  async commit(): Promise<void> {
    if (this.#batchCount > 0) await this.#write()
    this.#committedAt = performance.now()
  }

  async #write(): Promise<void> {
    await this.#store.ingest.flush()
    const written = this.#store.ingest.write([])
    this.#report.newEventCount += written.newEventCount
    this.#report.changedEventCount += written.changedEventCount
    for (const [uid, id] of written.sessions) addSession(this.#report, uid, id)
    this.#telling.add(written.sessions.keys())
    this.#batchCount = 0
    this.#bytes = 0
  }

  /** False when there is nothing to do until the next batch. */
  async useIdleTime(): Promise<boolean> {
    if (await this.#telling.next()) return true
    const pause = this.#batchCount > 0 ? IDLE_MS - (performance.now() - this.#committedAt) : 0
    if (pause > 0 || (this.#batchCount === 0 && !this.#telling.hasNews)) return false
    await this.commit()
    this.#telling.settle()
    return true
  }
}
