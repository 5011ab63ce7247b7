// `recollect evict`, `pin`, `unpin` and `forget`.
import { Config } from '../config.ts'
import { lastSweepAt } from '../doctor/clock.ts'
import { ensureDirectory } from '../files/directory.ts'
import { tellHub } from '../hub/index.ts'
import { resolveSession } from '../query/sessions.ts'
import { forgetCopies } from '../remote/index.ts'
import { type RetentionOptions, retain } from '../retention/apply.ts'
import { forget, planForget } from '../retention/forget.ts'
import { forgetJson, planJson, stepJson } from '../retention/json.ts'
import { planNow } from '../retention/planning.ts'
import { policyOf } from '../retention/policy.ts'
import { dropBallastIfFull, keepBallast } from '../retention/usage.ts'
import { adaptersOf } from '../sources/plugins.ts'
import { openForReading, storePaths } from '../store/reading.ts'
import { openStore } from '../store/sqlite.ts'
import { SweepLock } from '../store/sweep-lock.ts'
import { analyze } from '../sweep/analyze.ts'
import { ask, canAsk } from './ask.ts'
import { type FormFlags, printCsv } from './csv.ts'
import { EXIT } from './exit.ts'
import { reportHub } from './hub-report.ts'
import { printFolded, printJson, tell } from './print.ts'
import {
  forgetLines,
  planLines,
  reportRetentionEvent,
  retentionJson,
  retentionLines,
} from './retention-report.ts'
import { withMemory } from './with-memory.ts'

const printLines = (lines: string[]): void => printFolded(lines.join('\n'))

type Work = (options: RetentionOptions) => Promise<void> | void

async function withStore(work: Work): Promise<void> {
  const config = new Config()
  const paths = storePaths(config.home, config.get('store.db_path'))
  const policy = policyOf(config)
  dropBallastIfFull(paths.cacheDirectory)
  openForReading(paths).close()
  const store = openStore(paths)
  try {
    const analyzeNow = async (): Promise<void> => {
      await analyze(store, config)
    }
    await work({
      store,
      paths,
      policy,
      analyzeNow,
      onEvent: reportRetentionEvent,
      lastSweepAt: lastSweepAt(config),
      isAsked: true,
    })
  } finally {
    store.close()
  }
}

/** Nobody else reads in or evicts meanwhile. */
async function alone(work: Work): Promise<void> {
  const { home } = new Config()
  ensureDirectory(home, 0o700, false)
  const lock = new SweepLock(home)
  try {
    await withStore(work)
  } finally {
    lock.free()
  }
}

export async function runEvict(options: FormFlags & { dryRun?: boolean }): Promise<void> {
  await alone(async (retention) => {
    if (options.dryRun) {
      const plan = planNow(retention)
      const handle = retention.store.reader
      if (options.json) printJson(planJson(plan, handle))
      else if (options.csv) printCsv(planJson(plan, handle).steps)
      else printLines(planLines(plan, handle))
      return
    }
    const report = await retain(retention)
    keepBallast(retention.paths.cacheDirectory, retention.policy.rawSoftCapBytes)
    if (options.json) printJson(retentionJson(report))
    else if (options.csv) printCsv(report.steps.map(stepJson))
    else printLines(retentionLines(report))
    if (report.lostCount > 0) process.exitCode = EXIT.partial
  })
  if (!options.dryRun) reportHub(await tellHub(new Config()))
}

export async function runPin(typed: string): Promise<void> {
  await withStore(({ store }) => {
    const uid = resolveSession(store.reader, typed)
    store.archive.pin(uid, Date.now())
    printLines([`${uid} is pinned: its raw stays`])
  })
}

export async function runUnpin(typed: string): Promise<void> {
  await withStore(({ store }) => {
    const uid = resolveSession(store.reader, typed)
    printLines([store.archive.unpin(uid) ? `${uid} is no longer pinned` : `${uid} was not pinned`])
  })
}

export async function runForget(typed: string, options: { yes?: boolean; json?: boolean }): Promise<void> {
  if (!options.yes && !(await isForgetWanted(typed, options))) return
  await alone(async (retention) => {
    const uid = resolveSession(retention.store.reader, typed)
    // Copies of another machine's files first: a kill in between leaves a session that can still be forgotten.
    const config = new Config()
    const machines = await forgetCopies(
      config.home,
      retention.store.reader.sources.of(uid),
      await adaptersOf(config),
    )
    const { isErased } = forget(retention, uid)
    const at = machines.length === 0 ? '' : ` on ${machines.join(', ')}`
    if (options.json) printJson({ session_uid: uid, forgotten: true, erased: isErased })
    else
      printLines([
        `${uid} is forgotten; no sweep brings it back. The agent's own file${at} was not touched.`,
        ...(at === '' ? [] : ['what was copied of it is removed']),
        ...(isErased ? [] : ['a reader held up erasing; the next sweep finishes it']),
      ])
  })
  reportHub(await tellHub(new Config()))
}

/** Says what would go, and asks, with nothing held meanwhile; where nobody can answer it is left at that. */
async function isForgetWanted(typed: string, { json }: { json?: boolean }): Promise<boolean> {
  const plan = await withMemory((handle) => planForget(handle, resolveSession(handle, typed)))
  if (json) printJson({ session_uid: plan.uid, forgotten: false, would_go: forgetJson(plan) })
  else printLines(forgetLines(plan))
  if (!json && canAsk()) return await ask('Forget it, for good?', 'no')
  process.exitCode = EXIT.usage
  if (!json) tell(`nothing was removed\ntry: recollect forget ${plan.uid} --yes\n`)
  return false
}
