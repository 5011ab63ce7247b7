// What a sweep would read, without reading it: `recollect sweep --dry-run`. Changes nothing, and takes no lock.
import { openOrEmpty, storePaths } from '../store/reading.ts'
import { EvictedFilter } from './evicted-filter.ts'
import type { SweepOptions } from './index.ts'
import { plans } from './plan.ts'
import { addSource, newAccount, newReport, type SweepReport } from './report.ts'

const EVERYWHERE = { isFull: true, seen: [], named: [] }

/** The report of a sweep that has not happened: `readBytes` is what it would read, and `sources` names what of. */
export function preview(options: SweepOptions): SweepReport {
  const { config } = options
  const handle = openOrEmpty(storePaths(config.home, config.get('store.db_path')))
  try {
    const report = newReport(true)
    for (const { tasks } of plans(handle.sources, options, EVERYWHERE, new EvictedFilter(handle), report))
      for (const task of tasks) {
        report.readBytes += task.bytes
        addSource(report, newAccount(task))
      }
    report.endedAt = Date.now()
    return report
  } finally {
    handle.close()
  }
}
