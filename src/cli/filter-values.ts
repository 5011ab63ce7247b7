// What was typed behind the filter flags, as a filter. A value that no session has is refused once it is known to have
// found nothing, so that the usual case pays nothing for it.
import { resolve } from 'node:path'
import { nearest } from '../config.ts'
import { RecollectError } from '../errors.ts'
import { OUTCOME_WORDS, OUTCOMES, spelledTag } from '../model.ts'
import { isDirectory, matching, reposAt } from '../query/meant.ts'
import type { SessionFilter } from '../store/reader/filters.ts'
import type { Reader } from '../store/reader/index.ts'
import type { FilterFlags } from './filters.ts'
import { parseChoice, parseFlavor, parseName, readTime } from './values.ts'

export function filterFrom(flags: FilterFlags): SessionFilter {
  const filter: SessionFilter = {}
  for (const name of ['repo', 'branch', 'host', 'domain', 'model', 'touched', 'tool'] as const) {
    const value = flags[name]
    if (value !== undefined) filter[name] = parseName(value, `--${name}`)
  }
  if (flags.here) filter.repo = here(flags)
  if (flags.flavor !== undefined) filter.flavor = parseFlavor(flags.flavor)
  if (flags.outcome !== undefined)
    filter.outcome = parseChoice(typedOutcome(flags.outcome), OUTCOMES, '--outcome', 'outcome')
  if (flags.tag) filter.tags = flags.tag.map((tag) => spelledTag(parseName(tag, '--tag')))
  if (flags.starred) filter.starred = true
  if (flags.hasError) filter.hasError = true
  if (flags.evicted) filter.evicted = true
  if (flags.since !== undefined) filter.sinceAt = readTime(flags.since, '--since')
  if (flags.until !== undefined) filter.untilAt = readTime(flags.until, '--until')
  refuseReversed(filter)
  return filter
}

function here({ repo }: FilterFlags): string {
  if (repo === undefined) return '.'
  throw new RecollectError('USAGE', '--here is a repository, and so is --repo', {
    where: '--here',
    hint: 'one of them',
  })
}

/** What is read in a list may be typed as well. */
const typedOutcome = (outcome: string): string =>
  OUTCOMES.find((value) => OUTCOME_WORDS[value] === outcome.toLowerCase()) ?? outcome

export function refuseReversed({ sinceAt, untilAt }: Pick<SessionFilter, 'sinceAt' | 'untilAt'>): void {
  if (sinceAt !== undefined && untilAt !== undefined && sinceAt >= untilAt)
    throw new RecollectError('USAGE', '--until is not later than --since', {
      where: '--since',
      hint: 'the earlier one first: --since 2026-11-01 --until 2026-11-30',
    })
}

/** After nothing was found: a repository, model, … that is in no session is told, with the nearest one that is. */
export function refuseUnknown(handle: Reader, filter: SessionFilter): void {
  for (const name of ['repo', 'branch', 'domain', 'model'] as const) {
    const value = filter[name]
    if (typeof value !== 'string') continue
    const known = handle.sessions.values(name)
    if (name === 'repo' && isDirectory(value)) refuseElsewhere(handle, value, known)
    else if (!known.includes(value) && (name === 'domain' || !known.some(matching(value))))
      throw unknown(name, value, known)
  }
  if (typeof filter.host === 'string') refuseUnknownHost(handle, filter.host)
  const tags = filter.tags === undefined ? [] : handle.sessions.tags().map((one) => one.tag)
  for (const tag of filter.tags ?? []) if (!tags.includes(tag)) throw unknown('tag', tag, tags)
  if (filter.tool === undefined) return
  const tools = handle.sessions.tools()
  const wanted = filter.tool.toLowerCase()
  if (!tools.some((tool) => tool.toLowerCase() === wanted)) throw unknown('tool', filter.tool, tools)
}

function refuseUnknownHost(handle: Reader, typed: string): void {
  const hosts = handle.sessions.hosts()
  const isMeant = matching(typed)
  if (!hosts.some(({ name, id }) => isMeant(name) || isMeant(id)))
    throw unknown('host', typed, [...new Set(hosts.map((one) => one.name))])
}

function refuseElsewhere(handle: Reader, directory: string, known: readonly string[]): void {
  const names = reposAt(handle, resolve(directory))
  if (names.some((name) => known.includes(name))) return
  throw new RecollectError('USAGE', `no session was in this repository (${names.join(', ') || directory})`, {
    where: process.argv.includes('--here') ? '--here' : '--repo',
    hint: 'recollect sessions, without it, lists what there is',
  })
}

function unknown(name: string, value: string, known: readonly string[]): RecollectError {
  const near = nearest(value, known) ?? known.find((one) => one.toLowerCase().includes(value.toLowerCase()))
  const hint =
    near !== undefined
      ? `did you mean ${near}?`
      : known.length > 0 && known.length <= 20
        ? `one of ${known.join(', ')}`
        : 'recollect sessions, without it, lists what there is'
  return new RecollectError('USAGE', `no session has the ${name} ${value}`, {
    where: `--${name}`,
    hint,
  })
}
