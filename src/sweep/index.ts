// THE FLOW: discover → read → redact → store → settle → digest → evict. The only place where these stages meet.
// One sweep at a time: a kernel lock on sweep.lock, freed by the kernel however the holder ends.
import { closeSync } from 'node:fs'
import { join } from 'node:path'
import type { AnyAdapter, Environment } from '../adapters/adapter.ts'
import { ADAPTERS } from '../adapters/index.ts'
import type { Config } from '../config.ts'
import { Ahead } from '../digest/ahead.ts'
import { fromSqlite, RecollectError } from '../errors.ts'
import { ensureDirectory } from '../files/directory.ts'
import { openLockFile, tryLock } from '../files/lock.ts'
import { hasNews, tellHub } from '../hub/index.ts'
import { loadRedactionKey } from '../redact/index.ts'
import { type RetentionEvent, type RetentionOptions, retain } from '../retention/apply.ts'
import { isClockAhead } from '../retention/clock.ts'
import { isDue, type Trigger } from '../retention/due.ts'
import { policyOf } from '../retention/policy.ts'
import { dropBallastIfFull, keepBallast } from '../retention/usage.ts'
import { placeResolver } from '../sources/place.ts'
import { addProblem, problemOf } from '../sources/problem.ts'
import type { Batch } from '../store/batch.ts'
import { giveBackIdlePages } from '../store/erase.ts'
import { storePaths } from '../store/reading.ts'
import type { Salvage } from '../store/salvage.ts'
import { openStore, salvageStore } from '../store/sqlite.ts'
import type { RepairReport, Store } from '../store/store.ts'
import { overridesOf } from '../usage/overrides.ts'
import { analyze } from './analyze.ts'
import { Capture } from './capture.ts'
import { collectAfter } from './garbage.ts'
import { Gone } from './gone.ts'
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
import { type ReaderSettings, readerContext, readTasks, signalsAreIn } from './tasks.ts'

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
}

export interface SweepProgress {
  doneBytes: number
  totalBytes: number
  doneSources: number
  totalSources: number
}

/** Bytes of payloads, and batches, in one commit. */
const GROUP_BYTES = 32 << 20
const GROUP_BATCHES = 512
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
  const unlockSweep = takeSweepLock(config.home)
  let store: Store | undefined
  try {
    const capture = new Capture(config.home, options)
    const settings: ReaderSettings = {
      redactionKey: loadRedactionKey(join(config.home, 'redaction.key')),
      taskPatterns: config.get('task_ref.patterns'),
    }
    // Before the store is opened: a redactor that cannot start must stop everything.
    readerContext(settings)
    const wasFull = dropBallastIfFull(paths.cacheDirectory)
    const salvaged = options.repair ? salvageStore(paths) : []
    store = openStore(paths)
    store.evict([], Date.now())
    const { lastSweepAt } = capture
    const retention = { ...retentionHooks(store, options), store, paths, policy, lastSweepAt }
    // On a full disk nothing can be read in before something has gone.
    if (wasFull) await retain(retention)
    // Before anything is read: what is read may fill the disk, and then there is no room for it any more.
    else keepBallast(paths.cacheDirectory, policy.rawSoftCapBytes)
    const repaired = options.repair ? await mend(store, salvaged) : undefined
    const report = await run(store, options, settings, capture)
    if (repaired) report.repaired = repaired
    // Those that went since the last sweep as well.
    if (repaired && !report.interrupted) {
      if (repaired.indexCount > 0 || salvaged.length > 0) indexFromBodies(store.read())
      store.markLost()
    }
    if (!report.interrupted && isDue(store.read(), paths, policy, options.trigger ?? 'asked', Date.now()))
      report.retention = await retain(retention)
    report.endedAt = Date.now()
    if (report.interrupted) return { report, hasNews: false }
    if (report.readBytes > 0) settleLogs(store, report)
    keepBallast(paths.cacheDirectory, policy.rawSoftCapBytes)
    const isAhead = isClockAhead(store.read(), lastSweepAt, report.startedAt)
    capture.finish(report, isAhead)
    report.endedAt = Date.now()
    return { report, hasNews: hasNews(config, store.read().memory) }
  } finally {
    store?.close()
    unlockSweep()
  }
}

async function mend(store: Store, salvaged: Salvage[]): Promise<RepairReport> {
  const handle = store.read()
  // It reads everything there is, and what it leaves behind is still there when the sources are read.
  const onRead = async (bytes: number): Promise<void> => {
    collectAfter(bytes, MENDED_BYTES)
    // What zlib holds for a chunk that it could not read goes only between two turns of the event loop.
    await new Promise(setImmediate)
  }
  const report = await store.repair({ salvaged, fillIndex: () => indexFromBodies(handle), onRead })
  collectAfter(Number.POSITIVE_INFINITY)
  return report
}

/** Idle pages are given back, and what is written goes from the logs into the databases: a full disk may have no room for both. */
function settleLogs(store: Store, report: SweepReport): void {
  const { memory, cache } = store.read()
  for (const database of [memory, cache]) {
    try {
      giveBackIdlePages(database)
      database.exec('PRAGMA wal_checkpoint(PASSIVE)')
    } catch (error) {
      // All of it is committed, and can wait in the log for a disk with room.
      const known = fromSqlite(error, 'cannot move what was written from the log', database.location() ?? '')
      if (!(known instanceof RecollectError) || known.code !== 'DISK_FULL') throw known
      addProblem(report, problemOf(known, database.location() ?? 'the memory'))
    }
  }
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

/** Whoever writes to a memory holds this; returns what frees it. Throws BUSY when somebody else does. */
export function takeSweepLock(home: string): () => void {
  const path = join(home, 'sweep.lock')
  const fd = openLockFile(path)
  if (tryLock(fd)) return () => closeSync(fd)
  closeSync(fd)
  throw new RecollectError('BUSY', 'another sweep is running', {
    where: path,
    hint: 'wait for it to end, then try again',
  })
}

async function run(
  store: Store,
  options: SweepOptions,
  settings: ReaderSettings,
  { scope }: Capture,
): Promise<SweepReport> {
  const report = newReport(scope.isFull)
  const gone = new Gone(store.read())
  const progress: SweepProgress = { doneBytes: 0, totalBytes: 0, doneSources: 0, totalSources: 0 }
  for (const planned of plans(store, options, scope, gone, report, options.slice)) {
    carryOut(store, planned, gone)
    await readAll(store, planned.tasks, { ...options, progress }, settings, gone, report)
    report.interrupted = options.signal?.aborted ?? false
    // What is in stays; the next sweep goes on from here, as after a kill.
    if (report.interrupted) break
    await tellAll(store, options, report)
    // What one slice leaves behind would be there beside the next.
    if (planned.tasks.length > MANY_TASKS) collectAfter(Number.POSITIVE_INFINITY)
  }
  return report
}

/** Makes sessions of what was read. */
async function tellAll(store: Store, options: SweepOptions, report: SweepReport): Promise<void> {
  const domains = options.config.get('domains')
  report.settledCount += store.settle(placeResolver(domains, [...ADAPTERS, ...options.adapters]))
  report.digestedCount += await analyze(store, options.config, {
    signal: options.signal,
    onUnread: (path, count) =>
      addProblem(report, {
        path,
        code: 'CORRUPT',
        reason: `${count === 1 ? '1 body' : `${count} bodies`} cannot be read`,
        hint: 'recollect verify tells what is damaged, recollect sweep --repair reads it again',
      }),
  })
}

async function readAll(
  store: Store,
  tasks: readonly Task[],
  options: SweepOptions & { progress: SweepProgress },
  settings: ReaderSettings,
  gone: Gone,
  report: SweepReport,
): Promise<void> {
  const { progress } = options
  const totalBytes = tasks.reduce((sum, task) => sum + task.bytes, 0)
  progress.totalBytes += totalBytes
  progress.totalSources += tasks.length
  const group = new CommitGroup(store, report)
  const accounts = tasks.map(newAccount)
  const whenIdle = (): boolean => group.useIdleTime()
  for await (const read of readTasks(tasks, settings, totalBytes, { ...options, whenIdle })) {
    const account = accounts[read.task] as SourceReport
    if ('batch' in read) {
      group.add(gone.strip(read.batch))
      tally(account, read.batch, report)
      progress.doneBytes += read.batch.cursor.offset - read.batch.fromOffset
      if (group.isFull) group.commit()
    } else {
      if (read.problem !== undefined) addProblem(report, read.problem)
      addSource(report, account)
      progress.doneSources++
    }
    options.onProgress?.(progress)
    if (options.signal?.aborted) break
  }
  group.commit()
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
  readonly #ahead: Ahead
  #batchCount = 0
  #bytes = 0

  constructor(store: Store, report: SweepReport) {
    this.#store = store
    this.#report = report
    this.#ahead = new Ahead(store.read())
  }

  get isFull(): boolean {
    return this.#bytes >= GROUP_BYTES || this.#batchCount >= GROUP_BATCHES
  }

  add(batch: Batch): void {
    this.#ahead.withdraw(this.#store.write([batch], true).sessions)
    this.#batchCount++
    this.#bytes += batch.payloads.length
    collectAfter(batch.payloads.length)
  }

  commit(): void {
    if (this.#batchCount === 0) return
    const written = this.#store.write([])
    this.#report.newEventCount += written.newEventCount
    this.#report.changedEventCount += written.changedEventCount
    for (const [uid, id] of written.sessions) addSession(this.#report, uid, id)
    this.#ahead.add(written.sessions.keys())
    this.#batchCount = 0
    this.#bytes = 0
  }

  /** False when there is nothing to do until the next batch. */
  useIdleTime(): boolean {
    return this.#ahead.next()
  }
}
