// `recollect verify`: everything in the memory against everything else in it.
import { Config } from '../config.ts'
import { countLost } from '../query/lost.ts'
import { openForReading, storePaths } from '../store/reading.ts'
import { openStore } from '../store/sqlite.ts'
import type { Store, VerifyReport } from '../store/store.ts'
import { paint } from './colour.ts'
import { EXIT } from './exit.ts'
import { formatBytes, plural } from './format.ts'
import { print, printFolded, printJson, tell } from './print.ts'

/** What is not here although nobody evicted it: a sweep reads again what it can. */
function lostLines(store: Store): { problem?: string; note?: string } {
  const { again, gone } = countLost(store.reader)
  const raw = (count: number): string =>
    `raw of ${plural(count, 'session')} is not here: the cache was deleted outside of Recollect`
  return {
    ...(again > 0 ? { problem: `${raw(again)}; recollect sweep reads it again` } : {}),
    ...(gone > 0 ? { note: `${raw(gone)}, and so were the agents' own files; their digests are left` } : {}),
  }
}

function bodiesLost(count: number): string[] {
  return count === 0
    ? []
    : [
        count === 1
          ? '1 body is lost for good: damaged, and no agent has it any more; its summary stands in for it'
          : `${count} bodies are lost for good: damaged, and no agent has them any more; summaries stand in for them`,
      ]
}

/** No damage: files go before rows, and the next sweep goes on from wherever it stopped. */
const unfinished = (count: number): string[] =>
  count === 0
    ? []
    : [`the eviction of ${plural(count, 'session')} was cut off, or is under way; recollect sweep ends it`]

/** The names of all other documents; the first ones stay for those who know them. */
const toJson = ({ leavingCount, ...report }: VerifyReport): Record<string, unknown> => ({
  event_count: report.eventCount,
  payload_count: report.payloadCount,
  segment_bytes: report.segmentBytes,
  lost_bodies: report.lostBodyCount,
  unfinished_evictions: leavingCount,
  ...report,
})

export function runVerify(options: { json?: boolean }): void {
  const config = new Config()
  const paths = storePaths(config.home, config.get('store.db_path'))
  // Opened for reading first: it says so when there is nothing to verify.
  openForReading(paths).close()
  const store = openStore(paths)
  try {
    const report = store.archive.verify()
    const { problem, note } = lostLines(store)
    if (options.json) printJson({ ...toJson(report), raw_missing: problem ?? null })
    else {
      print(
        `${plural(report.eventCount, 'event')}, ${plural(report.payloadCount, 'payload')}, ${formatBytes(report.segmentBytes)} of payload files`,
      )
      const notes = [note ?? [], unfinished(report.leavingCount), bodiesLost(report.lostBodyCount)].flat()
      for (const line of notes) printFolded(`○ ${line}`)
      for (const line of report.problems) print(`${paint.red('✖')} ${line}`)
      if (problem) print(`${paint.red('✖')} ${problem}`)
      if (report.problems.length > 0) tell('try: recollect sweep --repair\n')
      else if (problem) tell('try: recollect sweep\n')
      else print(`${paint.green('✔')} everything that is here is as it should be`)
    }
    if (report.problems.length > 0 || problem) process.exitCode = EXIT.failed
  } finally {
    store.close()
  }
}
