// What is asked, read from the address: the same filters, under the same names, as the command line's flags.
import { RecollectError } from '../../errors.ts'
import { EVENT_KINDS, OUTCOMES } from '../../model.ts'
import type { AnswerOptions } from '../../query/answer.ts'
import { BRIEF_SORTS, type BriefQuestion, FACETS } from '../../query/narrow.ts'
import { SEARCH_SORTS, type SearchPageQuestion } from '../../query/search-page.ts'
import { type ListOptions, resolveSession } from '../../query/sessions.ts'
import { USAGE_GROUPS, type UsageQuestion } from '../../query/usage.ts'
import type { Span } from '../../store/reader/digests.ts'
import type { SessionFilter } from '../../store/reader/filters.ts'
import type { Reader } from '../../store/reader/index.ts'
import type { ChangeQuestion } from './file-changes.ts'
import type { Memory } from './memory.ts'
import type { Params } from './params.ts'

export const MAX_PAGE = 500

export function usageQuestion(params: Params, memory: Memory): UsageQuestion {
  const zone = params.zone()
  const question: UsageQuestion = {
    group: params.choice('group', USAGE_GROUPS, 'day'),
    zone,
    prices: memory.prices,
  }
  const sinceAt = params.slot('since', zone)
  const untilAt = params.slot('until', zone)
  if (sinceAt !== undefined) question.sinceAt = sinceAt
  if (untilAt !== undefined) question.untilAt = untilAt
  for (const name of ['flavor', 'repo', 'host', 'domain', 'model'] as const) {
    const value = params.text(name)
    if (value !== undefined) question[name] = value
  }
  return question
}

/** Sub-agents' calls are calls. */
export function toolsQuestion(params: Params): Span {
  const zone = params.zone()
  const filter: SessionFilter = { withSubagents: true }
  for (const name of ['flavor', 'repo', 'host', 'domain', 'model'] as const) {
    const value = params.text(name)
    if (value !== undefined) filter[name] = value
  }
  const sinceAt = params.slot('since', zone) ?? Number.MIN_SAFE_INTEGER
  return { sinceAt, untilAt: params.slot('until', zone) ?? Number.MAX_SAFE_INTEGER, filter }
}

/** Bodies are read where it is asked for: a page asks with every letter that is typed. */
const READING_MS = 20_000

export function searchOptions(params: Params, handle: Reader): AnswerOptions {
  const options: AnswerOptions = {
    how: params.choice('how', ['words', 'literal', 'regex'], 'words'),
    scan: params.flag('scan'),
    signal: AbortSignal.timeout(READING_MS),
  }
  for (const name of ['flavor', 'repo', 'branch', 'host', 'domain', 'model', 'tool', 'touched'] as const) {
    const value = params.text(name)
    if (value !== undefined) options[name] = value
  }
  for (const [name, key] of [
    ['session', 'session'],
    ['exclude_session', 'excludeSession'],
  ] as const) {
    const typed = params.text(name)
    if (typed !== undefined) options[key] = resolveSession(handle, typed)
  }
  if (params.text('limit') !== undefined) options.limit = params.count('limit', 0, MAX_PAGE)
  if (params.text('per_session') !== undefined) options.perSession = params.count('per_session', 0, 50)
  if (params.text('outcome') !== undefined) options.outcome = params.choice('outcome', OUTCOMES, 'unknown')
  for (const [name, key] of [
    ['has_error', 'hasError'],
    ['evicted', 'evicted'],
  ] as const)
    if (params.text(name) !== undefined) options[key] = params.choice(name, ['yes', 'no'], 'yes') === 'yes'
  const kind = params.text('kind')
  if (kind !== undefined)
    options.kinds = kind.split(',').map((name) => params.oneOf('kind', name, EVENT_KINDS))
  return { ...options, ...span(params) }
}

function facetsIn(params: Params): NonNullable<BriefQuestion['facets']> {
  const facets: NonNullable<BriefQuestion['facets']> = {}
  for (const name of FACETS) {
    const values = params.values(name)
    if (values !== undefined) facets[name] = values
  }
  return facets
}

/** What is looked for, and which of what is found is shown. */
export function searchPageQuestion(params: Params): { options: AnswerOptions; question: SearchPageQuestion } {
  const limit = params.count('limit', 40, MAX_PAGE)
  const kind = params.text('kind')
  const tool = params.text('tool')
  return {
    options: {
      how: params.choice('how', ['words', 'literal'], 'words'),
      scan: params.flag('scan'),
      signal: AbortSignal.timeout(READING_MS),
      perSession: params.count('per_session', 5, 50),
      limit,
      ...(kind !== undefined && {
        kinds: kind.split(',').map((name) => params.oneOf('kind', name, EVENT_KINDS)),
      }),
      ...(tool !== undefined && { tool }),
      ...span(params),
    },
    question: {
      facets: facetsIn(params),
      sort: params.choice('sort', SEARCH_SORTS, 'best'),
      offset: params.count('offset', 0, 1e9),
      limit,
    },
  }
}

export function briefQuestion(params: Params): BriefQuestion {
  const question: BriefQuestion = {
    facets: facetsIn(params),
    withSubagents: params.flag('all'),
    sort: params.choice('sort', BRIEF_SORTS, 'recent'),
    offset: params.count('offset', 0, 1e9),
    limit: params.count('limit', 100, MAX_PAGE),
    ...span(params),
  }
  const text = params.text('q')
  if (text !== undefined) question.text = text
  return question
}

/** Sessions that touched a file or called a tool; undefined where neither is asked. */
export function usersOf(params: Params): Pick<ListOptions, 'touched' | 'tool'> | undefined {
  const touched = params.text('touched')
  const tool = params.text('tool')
  if (touched === undefined && tool === undefined) return undefined
  return { ...(touched === undefined ? {} : { touched }), ...(tool === undefined ? {} : { tool }) }
}

/** The newest sessions, as `recollect lineage` takes them. */
export function lineageOptions(params: Params): ListOptions {
  const options: ListOptions = { limit: params.count('limit', 20, 10_000) }
  for (const name of ['flavor', 'repo'] as const) {
    const value = params.text(name)
    if (value !== undefined) options[name] = value
  }
  const { sinceAt } = span(params)
  if (sinceAt !== undefined) options.sinceAt = sinceAt
  return options
}

/** With `file` one file of a session, else a page of them all. */
export function changeQuestion(params: Params, uid: string): ChangeQuestion {
  const seq = (name: string): number | undefined =>
    params.text(name) === undefined ? undefined : params.count(name, 0, 1e9)
  const path = params.text('file')
  if (path === undefined)
    return {
      about: 'session',
      uid,
      offset: params.count('offset', 0, 1e9),
      limit: params.count('limit', 100, MAX_PAGE),
      prompt: seq('prompt'),
    }
  return { about: 'file', uid, path, scope: { prompt: seq('prompt'), only: seq('only'), upTo: seq('up_to') } }
}

function span(params: Params): { sinceAt?: number; untilAt?: number } {
  const sinceAt = params.time('since')
  const untilAt = params.time('until')
  if (sinceAt !== undefined && untilAt !== undefined && sinceAt > untilAt)
    throw new RecollectError('USAGE', 'since is later than until', {
      where: 'since',
      hint: 'the earlier one first: since=2026-11-01&until=2026-11-30',
    })
  return { ...(sinceAt === undefined ? {} : { sinceAt }), ...(untilAt === undefined ? {} : { untilAt }) }
}
