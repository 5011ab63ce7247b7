// Sends what is new to a collector after a sweep: each session once, with its sub-agents, and again where it has grown, then
// only what is new of it. A collector that is away is left alone for a while; nothing here can stop or undo a sweep.
import type { Config } from '../config.ts'
import { fromSystem, RecollectError } from '../errors.ts'
import { pricesFor, sessionPrices } from '../query/prices.ts'
import { getSession } from '../query/sessions.ts'
import { treeOf } from '../query/tree-cost.ts'
import { type Notes, openNotes } from '../store/notes.ts'
import { storePaths } from '../store/reading.ts'
import type { Unsent } from '../store/telemetry.ts'
import { overridesOf } from '../usage/overrides.ts'
import { type OtlpOptions, toOtlp } from './otlp.ts'
import { placeOf, send, tracesUrl } from './send.ts'
import { ExportSource } from './source.ts'

export interface TelemetryReport {
  /** Sessions, without their sub-agents. */
  sent: number
  /** Spans the collector took and would not keep. */
  rejectedSpans: number
  /** Whether there may be more: the next sweep goes on. */
  hasMore: boolean
  problems: RecollectError[]
}

/** A sweep is not held up for longer: what is left goes with the next one. */
const MAX_MS = 15_000
const AT_ONCE = 200
const FIRST_PAUSE_MS = 60_000
const LONGEST_PAUSE_MS = 3_600_000

/** Undefined where no collector is set. */
export async function sendTelemetry(config: Config, now = Date.now): Promise<TelemetryReport | undefined> {
  const endpoint = config.get('otlp.endpoint')
  if (endpoint === '') return undefined
  const report: TelemetryReport = { sent: 0, rejectedSpans: 0, hasMore: false, problems: [] }
  let notes: Notes | undefined
  try {
    notes = openNotes(storePaths(config.home, config.get('store.db_path')))
    const absence = notes.telemetry.absence(endpoint)
    if (absence && absence.untilAt > now()) report.hasMore = true
    else await new Sending(config, notes, endpoint, report, now).run()
  } catch (error) {
    report.problems.push(fromSystem(error, 'cannot send telemetry', placeOf(tracesUrl(endpoint))))
  } finally {
    notes?.close()
  }
  return report
}

class Sending {
  readonly #config: Config
  readonly #notes: Notes
  readonly #endpoint: string
  readonly #report: TelemetryReport
  readonly #now: () => number

  constructor(config: Config, notes: Notes, endpoint: string, report: TelemetryReport, now: () => number) {
    this.#config = config
    this.#notes = notes
    this.#endpoint = endpoint
    this.#report = report
    this.#now = now
  }

  async run(): Promise<void> {
    const startedAt = this.#now()
    const { reader, telemetry } = this.#notes
    const waiting = telemetry.unsent(this.#endpoint, AT_ONCE)
    const byUid = new Map(waiting.map((one) => [one.uid, one]))
    const roots = reader.lineage.roots([...byUid.keys()])
    const tasks = [...new Set(waiting.map((one) => roots.get(one.uid) ?? one.uid))]
    const book = await pricesFor(reader, overridesOf(this.#config))
    const priceOf = sessionPrices(reader, book)
    const options: OtlpOptions = {
      withText: this.#config.get('otlp.text') === 'on',
      cost: (uid) => {
        const usd = priceOf(uid)?.usd
        return usd === undefined || usd === null ? null : Number(usd)
      },
    }
    this.#report.hasMore = waiting.length === AT_ONCE
    for (const uid of tasks) {
      if (this.#now() - startedAt > MAX_MS) {
        this.#report.hasMore = true
        return
      }
      const own = treeOf(reader, uid).flatMap((one) => byUid.get(one) ?? [])
      if (!(await this.#sendOne(uid, own, options))) return
    }
  }

  /** False where there is no use in sending others. */
  async #sendOne(uid: string, own: readonly Unsent[], options: OtlpOptions): Promise<boolean> {
    const { reader, telemetry } = this.#notes
    const session = getSession(reader, uid)
    const [first] = own
    if (!session || !first) return true
    try {
      const after = telemetry.sentUntil(this.#endpoint, uid)
      const url = tracesUrl(this.#endpoint)
      for (const body of toOtlp(new ExportSource(reader, session), { ...options, after }))
        this.#report.rejectedSpans += await send(url, body)
      const untilAt = Math.max(...treeOf(reader, uid).map((one) => endOf(getSession(reader, one)?.ended_at)))
      for (const one of own) telemetry.noteSent(this.#endpoint, one, untilAt)
      // Also where only a sub-agent of it went on: how far it was sent stands with it.
      if (!own.some((one) => one.uid === uid))
        telemetry.noteSent(this.#endpoint, { ...first, uid, ingestedAt: endOf(session.ingested_at) }, untilAt)
      telemetry.notePresent()
      this.#report.sent++
      return true
    } catch (error) {
      return this.#failed(error, own)
    }
  }

  #failed(error: unknown, own: readonly Unsent[]): boolean {
    const { telemetry } = this.#notes
    const problem = fromSystem(error, 'cannot send telemetry', placeOf(tracesUrl(this.#endpoint)))
    if (!(problem instanceof RecollectError)) throw problem
    this.#report.problems.push(problem)
    this.#report.hasMore = true
    if (problem.code === 'REFUSED') {
      telemetry.notePresent()
      for (const one of own) telemetry.noteFailed(this.#endpoint, one)
      return true
    }
    const times = (telemetry.absence(this.#endpoint)?.times ?? 0) + 1
    const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (times - 1))
    telemetry.noteAbsent(this.#endpoint, { times, untilAt: this.#now() + pause })
    return false
  }
}

const endOf = (time: string | null | undefined): number => (time ? Date.parse(time) : 0)
