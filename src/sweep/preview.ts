// What a sweep would read, without reading it: `recollect sweep --dry-run`. Changes nothing, and takes no lock.
import type { FileFacts } from '../sources/identity.ts'
import { readCursor, readMark, readMarks, readMarksOf } from '../store/cursors.ts'
import { openOrEmpty, storePaths } from '../store/reading.ts'
import { Gone } from './gone.ts'
import type { SweepOptions } from './index.ts'
import { plans } from './plan.ts'
import { addSource, newAccount, newReport, type SweepReport } from './report.ts'

const EVERYWHERE = { isFull: true, seen: [], named: [] }

/** The report of a sweep that has not happened: `readBytes` is what it would read, and `sources` names what of. */
export function preview(options: SweepOptions): SweepReport {
  const { config } = options
  const handle = openOrEmpty(storePaths(config.home, config.get('store.db_path')))
  try {
    const { cache } = handle
    const known = {
      mark: (path: string) => readMark(cache, path),
      marks: (scope?: readonly string[]) => readMarks(cache, scope),
      marksOf: (file: FileFacts) => readMarksOf(cache, file),
      cursor: (path: string) => readCursor(cache, path),
    }
    const report = newReport(true)
    for (const { tasks } of plans(known, options, EVERYWHERE, new Gone(handle), report))
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
