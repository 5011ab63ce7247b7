// What a sweep would read, without reading it: `recollect sweep --dry-run`. Changes nothing, and takes no lock.
import { existsSync } from 'node:fs'
import { discover, type Found } from '../sources/discover.ts'
import { type Change, changeOf, type FileFacts, factsOf, isUnchanged } from '../sources/identity.ts'
import type { Cursor } from '../store/batch.ts'
import { storePaths } from '../store/reading.ts'
import { openStore } from '../store/sqlite.ts'
import type { Store } from '../store/store.ts'
import type { SweepOptions } from './index.ts'
import { attempt, extraRoots, fileId, isGone, isInScope } from './plan.ts'
import { newAccount, newReport, type SweepReport } from './report.ts'

/** The report of a sweep that has not happened: `readBytes` is what it would read, and `sources` names what of. */
export function preview(options: SweepOptions): SweepReport {
  const { config } = options
  const paths = storePaths(config.home, config.get('store.db_path'))
  // To open one that is not there would make it.
  const store = existsSync(paths.memoryPath) ? openStore(paths) : undefined
  try {
    return look(options, store)
  } finally {
    store?.close()
  }
}

function look(options: SweepOptions, store: Store | undefined): SweepReport {
  const { adapters, env, config } = options
  const report = newReport(true)
  const { found, problems, roots } = discover(adapters, env, extraRoots(config))
  report.problems.push(...problems)
  report.roots = roots
  const marks = store?.cursors() ?? new Map()
  const here = new Set(found.map((one) => one.source.path))
  const absent = [...marks.values()].filter((one) => !here.has(one.path) && isInScope(one, options))
  const gone = new Map(
    absent.filter((one) => one.missingAt === null && isGone(one.path)).map((one) => [fileId(one), one]),
  )
  for (const one of found) {
    const facts = attempt(one, report, () => factsOf(one.source))
    if (!facts) continue
    const mark = marks.get(one.source.path)
    if (mark && !options.full && isUnchanged(facts, mark, one.adapter.version)) report.counts.unchanged++
    else if (!mark && gone.delete(fileId(facts))) report.counts.moved++
    else
      attempt(one, report, () =>
        add(report, one, facts, store?.cursor(one.source.path), options.full ?? false),
      )
  }
  report.counts.missing = gone.size
  report.endedAt = Date.now()
  return report
}

function add(
  report: SweepReport,
  one: Found,
  facts: FileFacts,
  cursor: Cursor | undefined,
  isFull: boolean,
): void {
  const change: Change = isFull && cursor ? 'changed' : changeOf(facts, cursor, one.adapter.version)
  report.counts[change]++
  if (change === 'unchanged') return
  report.readBytes += facts.size - (change === 'appended' ? (cursor?.offset ?? 0) : 0)
  report.sources.push(newAccount({ ...one, change, facts }))
}
