// What was typed behind the filter flags, as a filter. A value that no session has is refused once it is known to have
// found nothing, so that the usual case pays nothing for it.
import { nearest } from '../config.ts'
import { RecollectError } from '../errors.ts'
import { OUTCOME_WORDS, OUTCOMES } from '../model.ts'
import type { SessionFilter } from '../query/filters.ts'
import type { ReadHandle } from '../store/store.ts'
import type { FilterFlags } from './filters.ts'
import { parseChoice, parseFlavor, parseName, readTime } from './values.ts'

export function filterFrom(flags: FilterFlags): SessionFilter {
  const filter: SessionFilter = {}
  for (const name of ['repo', 'domain', 'model', 'touched', 'tool'] as const) {
    const value = flags[name]
    if (value !== undefined) filter[name] = parseName(value, `--${name}`)
  }
  if (flags.flavor !== undefined) filter.flavor = parseFlavor(flags.flavor)
  if (flags.outcome !== undefined)
    filter.outcome = parseChoice(typedOutcome(flags.outcome), OUTCOMES, '--outcome', 'outcome')
  if (flags.hasError) filter.hasError = true
  if (flags.evicted) filter.evicted = true
  if (flags.since !== undefined) filter.sinceAt = readTime(flags.since, '--since')
  if (flags.until !== undefined) filter.untilAt = readTime(flags.until, '--until')
  refuseReversed(filter)
  return filter
}

/** What is read in a list may be typed as well. */
const typedOutcome = (outcome: string): string =>
  OUTCOMES.find((value) => OUTCOME_WORDS[value] === outcome.toLowerCase()) ?? outcome

export function refuseReversed({ sinceAt, untilAt }: Pick<SessionFilter, 'sinceAt' | 'untilAt'>): void {
  if (sinceAt !== undefined && untilAt !== undefined && sinceAt > untilAt)
    throw new RecollectError('USAGE', '--since is later than --until', {
      where: '--since',
      hint: 'the earlier one first: --since 2026-11-01 --until 2026-11-30',
    })
}

/** After nothing was found: a repository, model, … that is in no session is told, with the nearest one that is. */
export function refuseUnknown(handle: Pick<ReadHandle, 'memory'>, filter: SessionFilter): void {
  for (const name of ['repo', 'domain', 'model'] as const) {
    const value = filter[name]
    if (value === undefined) continue
    const sql = `SELECT ${name} AS value FROM sessions WHERE ${name} IS NOT NULL GROUP BY ${name}`
    const known = (handle.memory.prepare(sql).all() as unknown as { value: string }[]).map((row) => row.value)
    if (!known.includes(value)) throw unknown(name, value, known)
  }
  if (filter.tool === undefined) return
  const tools = toolNames(handle)
  const wanted = filter.tool.toLowerCase()
  if (!tools.some((tool) => tool.toLowerCase() === wanted)) throw unknown('tool', filter.tool, tools)
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

function toolNames({ memory }: Pick<ReadHandle, 'memory'>): string[] {
  const rows = memory
    .prepare("SELECT j.key AS name FROM digests d, json_each(d.digest, '$.tool_histogram') j GROUP BY j.key")
    .all() as unknown as { name: string }[]
  return rows.map((row) => row.name)
}
