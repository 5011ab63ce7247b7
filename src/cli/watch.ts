// `recollect watch`: thin over capture/watch.ts; tells each sweep that found something.
import { type WatchEvent, watchSources } from '../capture/watch.ts'
import { Config } from '../config.ts'
import { fromUnforeseen } from '../errors.ts'
import { adaptersOf } from '../sources/plugins.ts'
import { formatBytes, formatClock, plural, printable } from './format.ts'
import { print, tell, write } from './print.ts'
import { reportRetentionEvent } from './retention-report.ts'
import { Stop } from './stop.ts'

export async function runWatch(options: { json?: boolean }): Promise<void> {
  const stop = new Stop()
  stop.listen(true)
  const config = new Config()
  await watchSources({
    config,
    adapters: await adaptersOf(config),
    env: process.env,
    signal: stop.signal,
    onDeaf: (isDeaf) => stop.listen(!isDeaf),
    onEvent: reportRetentionEvent,
    onWatch: (event) => {
      if (options.json) write(`${JSON.stringify(toJson(event))}\n`)
      else tellEvent(event)
    },
  })
  process.exitCode = stop.exitCode
}

function toJson(event: WatchEvent): Record<string, unknown> {
  const at = new Date().toISOString()
  switch (event.event) {
    case 'swept': {
      const { report } = event
      return {
        event: 'swept',
        at,
        scope: report.isFull ? 'all' : 'touched',
        sources: report.counts,
        new_events: report.newEventCount,
        read_bytes: report.readBytes,
        sessions: report.sessionUids.toSorted(),
        problem_count: report.problemCount,
        duration_ms: report.endedAt - report.startedAt,
      }
    }
    case 'failed':
      return { event: 'failed', at, error: fromUnforeseen(event.error), retry_ms: event.retryMs }
    default:
      return { ...event, at }
  }
}

function tellEvent(event: WatchEvent): void {
  const time = formatClock(Date.now())
  switch (event.event) {
    case 'watching':
      tell(
        `watching ${event.directories === 1 ? '1 directory' : `${event.directories} directories`}; Ctrl-C ends it\n`,
      )
      return
    case 'blind':
      tell(`${printable(event.reason)}; sweeping everything every 5 minutes\n`)
      return
    case 'failed':
      tell(
        `${time} error: ${printable(event.error.message)}; next try in ${Math.round(event.retryMs / 1000)} s\n`,
      )
      return
    case 'swept': {
      const { newEventCount, sessionUids, readBytes, problems } = event.report
      if (newEventCount > 0)
        print(
          `${time} ${plural(newEventCount, 'new event')} in ${sessionUids.join(' ')}, ${formatBytes(readBytes)} read`,
        )
      for (const { path, reason } of problems.slice(0, 3))
        tell(`${time} skipped ${printable(path)}: ${reason}\n`)
    }
  }
}
