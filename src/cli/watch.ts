// `recollect watch`: thin over capture/watch.ts; tells each sweep that found something.
import { ADAPTERS } from '../adapters/index.ts'
import { type WatchEvent, watchSources } from '../capture/watch.ts'
import { Config } from '../config.ts'
import { fromUnforeseen } from '../errors.ts'
import { EXIT } from './exit.ts'
import { formatBytes, formatClock, plural, printable } from './format.ts'
import { print, tell, write } from './print.ts'
import { reportRetentionEvent } from './retention-report.ts'

export async function runWatch(options: { json?: boolean }): Promise<void> {
  const abort = new AbortController()
  const stop = (signal: NodeJS.Signals): void => {
    process.exitCode = signal === 'SIGTERM' ? EXIT.terminated : EXIT.interrupted
    abort.abort()
  }
  // A second signal ends at once: the default action is back, and a kill loses nothing.
  process.once('SIGINT', stop)
  process.once('SIGTERM', stop)
  await watchSources({
    config: new Config(),
    adapters: ADAPTERS,
    env: process.env,
    signal: abort.signal,
    onEvent: reportRetentionEvent,
    onWatch: (event) => {
      if (options.json) write(`${JSON.stringify(toJson(event))}\n`)
      else tellEvent(event)
    },
  })
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
        sessions: [...report.sessionUids].sort(),
        problem_count: report.problems.length,
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
          `${time} ${plural(newEventCount, 'new event')} in ${[...sessionUids].join(' ')}, ${formatBytes(readBytes)} read`,
        )
      for (const { path, reason } of problems.slice(0, 3))
        tell(`${time} skipped ${printable(path)}: ${reason}\n`)
    }
  }
}
