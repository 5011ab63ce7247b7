// The run id `{date}-{flow}-{identifier}[-{suffix}]`. A flow may contain dashes; identifier and suffix may not, so that
// a reader who knows the flows can always take an id apart. One who does not cannot tell `review` + `pr` + `123` from
// `review-pr` + `123`, and is told so.
import { RecollectError, wordsOf } from '../errors.ts'
import { safeName } from '../files/paths.ts'
import { isDay } from './run-model.ts'

export interface RunIdParts {
  /** `YYYY-MM-DD`. */
  date: string
  flow: string
  identifier: string
  suffix?: string
}

export interface ParsedRunId extends RunIdParts {
  /** True when the id could also be split elsewhere; naming the flow in `knownFlows` settles it. */
  ambiguous: boolean
}

const DATE = /^(\d{4})-(\d\d)-(\d\d)$/

/** Joins the parts. `date` defaults to today in UTC. Throws BAD_INPUT or BAD_NAME if the id could not be parsed or stored. */
export function buildRunId(parts: Omit<RunIdParts, 'date'> & { date?: string | Date }): string {
  if (typeof parts?.flow !== 'string') throw bad('flow is not a string', wordsOf(parts?.flow))
  const date = parts.date ?? new Date()
  const day = typeof date === 'string' ? date : isoDay(date)
  checkDate(day, day)
  if (parts.flow.split('-').includes('')) throw bad('flow is empty, or has a dash too many', parts.flow)
  checkWord(parts.identifier, 'identifier')
  if (parts.suffix !== undefined) checkWord(parts.suffix, 'suffix')
  const tail = parts.suffix === undefined ? '' : `-${parts.suffix}`
  return safeName(`${day}-${parts.flow}-${parts.identifier}${tail}`, 'run id')
}

/**
 * Takes a run id apart, so that `buildRunId(parseRunId(id)) === id`. With `knownFlows`, the flow that fits is taken (the
 * longest, if several do). Otherwise the last word is the identifier and all before it the flow.
 */
export function parseRunId(runId: string, knownFlows: Iterable<string> = []): ParsedRunId {
  safeName(runId, 'run id')
  const date = runId.slice(0, 10)
  const rest = runId.slice(11)
  checkDate(date, runId)
  const words = rest.split('-')
  if (runId[10] !== '-' || words.includes('') || words.length < 2) {
    throw bad('not a run id: {date}-{flow}-{identifier}[-{suffix}]', runId)
  }
  const fitting = [...knownFlows]
    .filter((flow) => rest.startsWith(`${flow}-`) && rest.slice(flow.length + 1).split('-').length <= 2)
    .sort((a, b) => b.length - a.length)
  const flow = fitting[0] ?? words.slice(0, -1).join('-')
  const [identifier, suffix] = rest.slice(flow.length + 1).split('-')
  const ambiguous = fitting.length > 0 ? new Set(fitting).size > 1 : words.length > 2
  const parsed: ParsedRunId = { date, flow, identifier: identifier as string, ambiguous }
  if (suffix !== undefined) parsed.suffix = suffix
  return parsed
}

function isoDay(date: Date): string {
  if (!(date instanceof Date) || Number.isNaN(date.getTime())) throw bad('not a date', wordsOf(date))
  return date.toISOString().slice(0, 10)
}

function checkDate(date: string, where: string): void {
  const [year, month, day] = (DATE.exec(date) ?? []).slice(1).map(Number)
  if (year === undefined || !isDay(year, month as number, day as number)) {
    throw bad('a run id begins with a calendar date, YYYY-MM-DD', where)
  }
}

function checkWord(word: string, what: string): void {
  if (typeof word !== 'string') throw bad(`${what} is not a string`, wordsOf(word))
  if (word === '' || word.includes('-')) throw bad(`${what} is empty or contains a dash`, word)
}

function bad(what: string, where: string): RecollectError {
  return new RecollectError('BAD_INPUT', what, {
    where,
    hint: 'for example 2025-01-15-ticket-to-pr-TK421: write the ticket TK-421 without its dash',
  })
}
