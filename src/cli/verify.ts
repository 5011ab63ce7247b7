// `recollect verify`: everything in the memory against everything else in it.
import { Config } from '../config.ts'
import { openForReading, storePaths } from '../store/reading.ts'
import { openStore } from '../store/sqlite.ts'
import { paint } from './colour.ts'
import { EXIT } from './exit.ts'
import { formatBytes, plural } from './format.ts'
import { print, printJson } from './print.ts'

export function runVerify(options: { json?: boolean }): void {
  const config = new Config()
  const paths = storePaths(config.home, config.get('store.db_path'))
  // Opened for reading first: it says so when there is nothing to verify.
  openForReading(paths).close()
  const store = openStore(paths)
  try {
    const report = store.verify()
    if (options.json) printJson(report)
    else {
      print(
        `${plural(report.eventCount, 'event')}, ${plural(report.payloadCount, 'payload')}, ${formatBytes(report.segmentBytes)} of payload files`,
      )
      if (report.problems.length === 0) print(`${paint.green('✔')} everything is as it should be`)
      else for (const problem of report.problems) print(`${paint.red('✖')} ${problem}`)
    }
    if (report.problems.length > 0) process.exitCode = EXIT.failed
  } finally {
    store.close()
  }
}
