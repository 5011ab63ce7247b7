// `recollect verify`: everything in the memory against everything else in it.
import { Config } from '../config.ts'
import { countLost } from '../query/lost.ts'
import { openForReading, storePaths } from '../store/reading.ts'
import { openStore } from '../store/sqlite.ts'
import type { Store, VerifyReport } from '../store/store.ts'
import { NO_BODY } from '../store/verify.ts'
import { paint } from './colour.ts'
import { EXIT } from './exit.ts'
import { formatBytes, plural } from './format.ts'
import { print, printFolded, printJson, tell } from './print.ts'

/** No fault of what is there, and yet nobody should take an empty cache for a whole one. */
function lostLines(store: Store): string[] {
  const { again, gone } = countLost(store.read())
  return again + gone === 0
    ? []
    : [
        `the cache was deleted outside of Recollect: raw of ${plural(again + gone, 'session')} is not here; recollect sweep reads ${again} of them again`,
      ]
}

const LOST = 'what the agents have deleted cannot be read again: summaries stand in for it\n'

/** A body without a place in the cache is one that a repair took out and that no source had any more. */
const isMendable = ({ problems }: VerifyReport): boolean =>
  problems.some((problem) => !problem.endsWith(NO_BODY))

/** The names of all other documents; the first ones stay for those who know them. */
const toJson = (report: VerifyReport): Record<string, unknown> => ({
  event_count: report.eventCount,
  payload_count: report.payloadCount,
  segment_bytes: report.segmentBytes,
  ...report,
})

export function runVerify(options: { json?: boolean }): void {
  const config = new Config()
  const paths = storePaths(config.home, config.get('store.db_path'))
  // Opened for reading first: it says so when there is nothing to verify.
  openForReading(paths).close()
  const store = openStore(paths)
  try {
    const report = store.verify()
    if (options.json) printJson(toJson(report))
    else {
      print(
        `${plural(report.eventCount, 'event')}, ${plural(report.payloadCount, 'payload')}, ${formatBytes(report.segmentBytes)} of payload files`,
      )
      for (const line of lostLines(store)) printFolded(line)
      if (report.problems.length === 0) print(`${paint.green('✔')} everything is as it should be`)
      else {
        for (const problem of report.problems) print(`${paint.red('✖')} ${problem}`)
        tell(isMendable(report) ? 'try: recollect sweep --repair\n' : LOST)
      }
    }
    if (report.problems.length > 0) process.exitCode = EXIT.failed
  } finally {
    store.close()
  }
}
