// Narrows, counts and sorts the list of sessions. Pure, and without anything of the server: the page shares its names.
import type { Brief } from './briefs.ts'

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
/** Newest first, and always in the same order. */
export const byStart = (a: Brief, b: Brief): number =>
  compare(b.started_at ?? '', a.started_at ?? '') || compare(a.session_uid, b.session_uid)

export const FACETS = [
  'flavor',
  'repo',
  'domain',
  'model',
  'outcome',
  'has_error',
  'has_commit',
  'evicted',
] as const
export type Facet = (typeof FACETS)[number]

export const BRIEF_SORTS = ['recent', 'cost', 'tokens', 'active', 'errors', 'turns'] as const
export type BriefSort = (typeof BRIEF_SORTS)[number]

export interface BriefQuestion {
  /** Narrow by these values; '' stands for unknown. */
  facets?: Partial<Record<Facet, string>>
  /** Words that must all stand in title, first prompt, repository, branch or id. */
  text?: string
  sinceAt?: number
  untilAt?: number
  withSubagents?: boolean
  sort?: BriefSort
  offset?: number
  limit?: number
}

export interface BriefPage {
  total: number
  offset: number
  sessions: Brief[]
  /** Each with the other conditions applied: what choosing a value would give. */
  facets: Record<Facet, { value: string; count: number }[]>
}

const yes = (is: boolean): string => (is ? 'yes' : 'no')
const VALUE: Record<Facet, (brief: Brief) => string> = {
  flavor: (brief) => brief.flavor,
  repo: (brief) => brief.repo ?? '',
  domain: (brief) => brief.domain ?? '',
  model: (brief) => brief.model ?? '',
  outcome: (brief) => brief.outcome,
  has_error: (brief) => yes(brief.error_count > 0),
  has_commit: (brief) => yes(brief.commits > 0),
  evicted: (brief) => yes(brief.evicted_at !== null),
}

const tokensOf = ({ cost }: Brief): number => cost.input_tokens + cost.output_tokens + cost.cache_tokens
const ORDER: Record<Exclude<BriefSort, 'recent'>, (brief: Brief) => number> = {
  cost: (brief) => Number(brief.cost_usd ?? -1),
  tokens: tokensOf,
  active: (brief) => brief.active_s,
  errors: (brief) => brief.error_count,
  turns: (brief) => brief.cost.turns,
}

/** Narrows, counts and sorts; pure. */
export function pageOf(rows: readonly Brief[], question: BriefQuestion): BriefPage {
  const counts = Object.fromEntries(FACETS.map((name) => [name, new Map<string, number>()])) as Record<
    Facet,
    Map<string, number>
  >
  const chosen = FACETS.filter((name) => question.facets?.[name] !== undefined)
  const isListed = listed(question)
  const found: Brief[] = []
  for (const brief of rows) {
    if (!isListed(brief)) continue
    const failing = chosen.filter((name) => VALUE[name](brief) !== question.facets?.[name])
    if (failing.length === 0) found.push(brief)
    // A row counts for a facet when nothing but this facet keeps it out.
    if (failing.length > 1) continue
    for (const name of failing.length === 1 ? failing : FACETS) {
      const value = VALUE[name](brief)
      counts[name].set(value, (counts[name].get(value) ?? 0) + 1)
    }
  }
  const { sort = 'recent', offset = 0, limit = 100 } = question
  if (sort !== 'recent') {
    const size = ORDER[sort]
    found.sort((a, b) => size(b) - size(a) || byStart(a, b))
  }
  return {
    total: found.length,
    offset,
    sessions: found.slice(offset, offset + limit),
    facets: Object.fromEntries(FACETS.map((name) => [name, toList(counts[name])])) as BriefPage['facets'],
  }
}

function toList(counts: Map<string, number>): { value: string; count: number }[] {
  return [...counts]
    .map(([value, count]) => ({ value, count }))
    .sort((a, b) => b.count - a.count || compare(a.value, b.value))
}

function listed(question: BriefQuestion): (brief: Brief) => boolean {
  const words = (question.text ?? '').toLowerCase().split(/\s+/).filter(Boolean)
  const since = question.sinceAt === undefined ? '' : new Date(question.sinceAt).toISOString()
  const until = question.untilAt === undefined ? '\uffff' : new Date(question.untilAt).toISOString()
  return (brief) => {
    if (!question.withSubagents && !isOwn(brief)) return false
    if ((brief.ended_at ?? brief.started_at ?? '') < since || (brief.started_at ?? '') > until) return false
    if (words.length === 0) return true
    const text =
      `${brief.title ?? ''}\n${brief.first_prompt}\n${brief.repo ?? ''}\n${brief.git_branch ?? ''}\n${brief.session_uid}`.toLowerCase()
    return words.every((word) => text.includes(word))
  }
}

/** Not a sub-agent's, and with something to show. */
export const isOwn = (brief: Brief): boolean =>
  brief.relation !== 'subagent' && (brief.event_count > 0 || brief.evicted_at !== null)
