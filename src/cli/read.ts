// The reading commands: show, verify and the plain status.
import { Config } from '../config.ts'
import { RecollectError } from '../errors.ts'
import type { Session, SessionEvent } from '../model.ts'
import { sessionEvents } from '../query/events.ts'
import { resolveEvent } from '../query/ids.ts'
import { type Receipt, receiptsOf } from '../query/receipts.ts'
import { getSession } from '../query/sessions.ts'
import { openForReading, openStore, storePaths } from '../store/sqlite.ts'
import type { ReadHandle } from '../store/store.ts'
import { EXIT } from './exit.ts'
import { formatBytes, formatClock, formatTime } from './format.ts'
import { print, printJson } from './print.ts'
import { REASONS } from './retention-report.ts'
import { oneLine } from './text.ts'
import { parseKinds } from './values.ts'

export { parseCount, parseTime } from './values.ts'

function withMemory<T>(work: (handle: ReadHandle) => T): T {
  const config = new Config()
  const handle = openForReading(storePaths(config.home, config.get('store.db_path')))
  try {
    return work(handle)
  } finally {
    handle.close()
  }
}

function sessionLine(session: Session): string {
  const when = formatTime(session.started_at)
  const what = oneLine(session.title ?? '')
  const tokens = session.cost.input_tokens + session.cost.output_tokens + session.cost.cache_tokens
  return `${when}  ${session.session_uid}  ${session.repo ?? '-'}  ${session.cost.turns} turns  ${tokens} tokens  ${what}`.trimEnd()
}

export interface ShowCommand {
  json?: boolean
  payload?: boolean
  kind?: string
}

export function showSession(typed: string, options: ShowCommand): void {
  const kinds = options.kind === undefined ? undefined : parseKinds(options.kind)
  withMemory((handle) => {
    const { uid, seq } = resolveEvent(handle, typed)
    const session = getSession(handle, uid) as Session
    const events = sessionEvents(handle, uid, {
      ...(kinds ? { kinds } : {}),
      ...(seq === undefined ? {} : { fromSeq: seq, toSeq: seq }),
    })
    const receipts = receiptsOf(handle, uid)
    const count = options.json
      ? printDocument(handle, { session, receipts }, events, options)
      : printLines(session, receipts, events)
    if (seq !== undefined && count === 0)
      throw new RecollectError('NOT_FOUND', `no event ${seq} in ${uid}`, { where: typed })
  })
}

function printLines(session: Session, receipts: readonly Receipt[], events: Iterable<SessionEvent>): number {
  print(sessionLine(session))
  for (const receipt of receipts) print(goneLine(receipt))
  let count = 0
  for (const event of events) {
    print(eventLine(event))
    count++
  }
  return count
}

/** Event by event: a session may be larger than a string can be. */
function printDocument(
  handle: ReadHandle,
  head: { session: Session; receipts: readonly Receipt[] },
  events: Iterable<SessionEvent>,
  options: ShowCommand,
): number {
  const indented = (value: unknown, by: string): string =>
    JSON.stringify(value, null, 2).replaceAll('\n', `\n${by}`)
  process.stdout.write(`{\n  "session": ${indented(head.session, '  ')},\n`)
  if (head.receipts.length > 0) process.stdout.write(`  "receipts": ${indented(head.receipts, '  ')},\n`)
  process.stdout.write('  "events": [')
  let count = 0
  for (const event of events) {
    process.stdout.write(
      `${count === 0 ? '' : ','}\n    ${indented(withPayload(handle, event, options), '    ')}`,
    )
    count++
  }
  print(count === 0 ? ']\n}' : '\n  ]\n}')
  return count
}

function goneLine(receipt: Receipt): string {
  const { first_seq, last_seq, evicted_at, bytes, reason } = receipt
  return `events ${first_seq}–${last_seq} were evicted ${evicted_at.slice(0, 16).replace('T', ' ')} (${formatBytes(bytes)}): ${REASONS[reason]}`
}

function withPayload(
  handle: ReadHandle,
  event: SessionEvent,
  options: ShowCommand,
): SessionEvent & { payload?: unknown } {
  if (!options.payload || event.payload_ref === null) return event
  const body = handle.payload(event.payload_ref)
  return { ...event, payload: body === undefined ? null : (JSON.parse(body) as unknown) }
}

function eventLine(event: SessionEvent): string {
  const marks = `${event.is_sidechain ? '│ ' : ''}${event.is_superseded ? '(taken back) ' : ''}${event.is_inherited ? '(inherited) ' : ''}`
  return `${String(event.seq).padStart(5)}  ${event.ts === null ? '        ' : formatClock(event.ts)}  ${event.kind.padEnd(18)}  ${marks}${oneLine(event.summary)}`
}

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
        `${report.eventCount} events, ${report.payloadCount} payloads, ${report.segmentBytes} bytes of payload files`,
      )
      print(report.problems.length === 0 ? 'everything is as it should be' : report.problems.join('\n'))
    }
    if (report.problems.length > 0) process.exitCode = EXIT.failed
  } finally {
    store.close()
  }
}

/** The command without a name: what is remembered. */
export function showStatus(options: { json?: boolean }): void {
  withMemory((handle) => {
    const flavors = handle.memory
      .prepare(
        `SELECT flavor, count(*) AS sessions, max(ended_at) AS last_at, sum(event_count) AS events
         FROM sessions WHERE relation <> 'subagent' GROUP BY flavor ORDER BY sessions DESC`,
      )
      .all() as unknown as { flavor: string; sessions: number; last_at: number | null; events: number }[]
    if (options.json) {
      const rows = flavors.map(({ last_at, ...row }) => ({
        ...row,
        last_at: last_at === null ? null : new Date(last_at).toISOString(),
      }))
      return printJson({ flavors: rows })
    }
    if (flavors.length === 0) return print('nothing remembered yet\n\nnext: recollect sweep')
    for (const row of flavors) {
      const last =
        row.last_at === null ? 'unknown' : new Date(row.last_at).toISOString().slice(0, 16).replace('T', ' ')
      print(
        `${row.flavor.padEnd(8)} ${String(row.sessions).padStart(6)} sessions  ${String(row.events).padStart(8)} events  last ${last}`,
      )
    }
    print('\nnext: recollect sessions · recollect show @last · recollect search WORDS')
  })
}
