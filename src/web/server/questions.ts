// What is asked, read from the address: the same filters, under the same names, as the command line's flags.
import { RecollectError } from '../../errors.ts'
import { EVENT_KINDS, OUTCOMES } from '../../model.ts'
import { BRIEF_SORTS, type BriefQuestion, FACETS } from '../../query/narrow.ts'
import type { SearchOptions } from '../../query/search.ts'
import { type ListOptions, resolveSession } from '../../query/sessions.ts'
import { USAGE_GROUPS, type UsageQuestion } from '../../query/usage.ts'
import type { ReadHandle } from '../../store/store.ts'
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
  for (const name of ['flavor', 'repo', 'domain', 'model'] as const) {
    const value = params.text(name)
    if (value !== undefined) question[name] = value
  }
  return question
}

export function searchOptions(params: Params, handle: ReadHandle): SearchOptions {
  const options: SearchOptions = {}
  for (const name of ['flavor', 'repo', 'domain', 'model', 'tool', 'touched'] as const) {
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

export function briefQuestion(params: Params): BriefQuestion {
  const facets: NonNullable<BriefQuestion['facets']> = {}
  for (const name of FACETS) {
    const value = params.value(name)
    if (value !== undefined) facets[name] = value
  }
  const question: BriefQuestion = {
    facets,
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
