// THE FLOW: discover → read → redact → store → settle → digest → evict. The only place where these stages meet.
// One sweep at a time: a kernel lock on sweep.lock, freed by the kernel however the holder ends.
import { closeSync } from 'node:fs'
import { join } from 'node:path'
import type { Adapter, Environment } from '../adapters/adapter.ts'
import { ADAPTERS } from '../adapters/index.ts'
import type { Config } from '../config.ts'
import { Ahead } from '../digest/ahead.ts'
import { RecollectError } from '../errors.ts'
import { ensureDirectory } from '../files/directory.ts'
import { openLockFile, tryLock } from '../files/lock.ts'
import { hasNews, tellHub } from '../hub/index.ts'
import { loadRedactionKey } from '../redact/index.ts'
import { type RetentionEvent, type RetentionOptions, retain } from '../retention/apply.ts'
import { isDue, type Trigger } from '../retention/due.ts'
import { policyOf } from '../retention/policy.ts'
import { dropBallastIfFull, keepBallast } from '../retention/usage.ts'
import { placeResolver } from '../sources/place.ts'
import type { Batch } from '../store/batch.ts'
import { giveBackIdlePages } from '../store/erase.ts'
import { storePaths } from '../store/reading.ts'
import { openStore } from '../store/sqlite.ts'
import type { RepairReport, Store } from '../store/store.ts'
import { overridesOf } from '../usage/overrides.ts'
import { analyze } from './analyze.ts'
import { Capture } from './capture.ts'
import { collectAfter } from './garbage.ts'
import { Gone } from './gone.ts'
import { carryOut, plan, type Task } from './plan.ts'
import { indexFromBodies } from './reindex.ts'
import { newAccount, newReport, type SourceReport, type SweepReport } from './report.ts'
import { type ReaderSettings, readerContext, readTasks } from './tasks.ts'

export interface SweepOptions {
  config: Config
  adapters: readonly Adapter[]
  env: Environment
  /** Read every source again from its beginning. */
  full?: boolean
  signal?: AbortSignal
  onProgress?: (progress: SweepProgress) => void
  /** What set it off: hooks may fire each minute, and then eviction keeps to the cadence. */
  trigger?: Trigger
  /** Look only at these paths and at what hooks named; an empty list where only hooks are to say. */
  touched?: readonly string[]
  onEvent?: (event: RetentionEvent) => void
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
/** Bytes of payloads that a repair looks at before it collects garbage. */
const MENDED_BYTES = 32 << 20

/** Runs one sweep. Throws BUSY when another one is running. */
export async function sweep(options: SweepOptions): Promise<SweepReport> {
  const { report, hasNews } = await sweepAlone(options)
  // With the memory closed and its lock free: a slow hub holds up nobody else.
  if (hasNews) report.hub = await tellHub(options.config)
  return report
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
    store = openStore(paths)
    store.evict([], Date.now())
    const retention = { ...retentionHooks(store, options), store, paths, policy }
    // On a full disk nothing can be read in before something has gone.
    if (wasFull) await retain(retention)
    const repaired = options.repair ? await mend(store) : undefined
    const report = await run(store, options, settings, capture)
    if (repaired) report.repaired = repaired
    // Those that went since the last sweep as well.
    if (repaired && repaired.indexCount > 0) indexFromBodies(store.read())
    if (!report.interrupted && isDue(store.read(), paths, policy, options.trigger ?? 'asked', Date.now()))
      report.retention = await retain(retention)
    if (report.readBytes > 0) settleLogs(store)
    keepBallast(paths.cacheDirectory, policy.rawSoftCapBytes)
    if (!report.interrupted) capture.finish(report)
    report.endedAt = Date.now()
    return { report, hasNews: hasNews(config, store.read().memory) }
  } finally {
    store?.close()
    unlockSweep()
  }
}

async function mend(store: Store): Promise<RepairReport> {
  const handle = store.read()
  // It reads everything there is, and what it leaves behind is still there when the sources are read.
  const onRead = async (bytes: number): Promise<void> => {
    collectAfter(bytes, MENDED_BYTES)
    // What zlib holds for a chunk that it could not read goes only between two turns of the event loop.
    await new Promise(setImmediate)
  }
  const report = await store.repair({ fillIndex: () => indexFromBodies(handle), onRead })
  collectAfter(Number.POSITIVE_INFINITY)
  return report
}

/** Idle pages are given back, and what is written goes from the logs into the databases: a full disk may have no room for both. */
function settleLogs(store: Store): void {
  const { memory, cache } = store.read()
  for (const database of [memory, cache]) {
    giveBackIdlePages(database)
    database.exec('PRAGMA wal_checkpoint(PASSIVE)')
  }
}

/** What eviction may need of the sweep. */
function retentionHooks(
  store: Store,
  { config, onEvent }: SweepOptions,
): Pick<RetentionOptions, 'analyzeNow' | 'onEvent'> {
  const analyzeNow = async (): Promise<void> => {
    await analyze(store, config)
  }
  return { analyzeNow, ...(onEvent ? { onEvent } : {}) }
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
  const planned = plan(store, options, scope, gone, report)
  carryOut(store, planned, gone)
  await readAll(store, planned.tasks, options, settings, gone, report)
  report.interrupted = options.signal?.aborted ?? false
  const domains = options.config.get('domains')
  report.settledCount = store.settle(placeResolver(domains, ADAPTERS))
  report.digestedCount = await analyze(store, options.config, {
    signal: options.signal,
    onUnread: (path, count) =>
      report.problems.push({
        path,
        code: 'CORRUPT',
        reason: `${count === 1 ? '1 body' : `${count} bodies`} cannot be read`,
        hint: 'recollect verify tells what is damaged, recollect sweep --repair reads it again',
      }),
  })
  return report
}

async function readAll(
  store: Store,
  tasks: readonly Task[],
  options: SweepOptions,
  settings: ReaderSettings,
  gone: Gone,
  report: SweepReport,
): Promise<void> {
  const totalBytes = tasks.reduce((sum, task) => sum + task.bytes, 0)
  const progress: SweepProgress = { doneBytes: 0, totalBytes, doneSources: 0, totalSources: tasks.length }
  const group = new CommitGroup(store, report)
  const accounts = tasks.map(newAccount)
  for await (const read of readTasks(tasks, settings, totalBytes, () => group.useIdleTime())) {
    const account = accounts[read.task] as SourceReport
    if ('batch' in read) {
      group.add(gone.strip(read.batch))
      tally(account, read.batch, report)
      progress.doneBytes += read.batch.cursor.offset - read.batch.fromOffset
      if (group.isFull) group.commit()
    } else {
      if (read.problem !== undefined) report.problems.push(read.problem)
      report.sources.push(account)
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
    this.#ahead.withdraw(this.#store.write([batch], true).sessionUids)
    this.#batchCount++
    this.#bytes += batch.payloads.length
    collectAfter(batch.payloads.length)
  }

  commit(): void {
    if (this.#batchCount === 0) return
    const written = this.#store.write([])
    this.#report.newEventCount += written.newEventCount
    this.#report.changedEventCount += written.changedEventCount
    for (const uid of written.sessionUids) this.#report.sessionUids.add(uid)
    this.#ahead.add(written.sessionUids)
    this.#batchCount = 0
    this.#bytes = 0
  }

  /** False when there is nothing to do until the next batch. */
  useIdleTime(): boolean {
    return this.#ahead.next()
  }
}
