// Narrows, counts and sorts the list of sessions. Pure, and without anything of the server: the page shares its names.
import type { Brief, Line } from './briefs.ts'

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
/** Newest first, and always in the same order. */
export const byStart = (a: Line, b: Line): number =>
  (b.started_at ?? 0) - (a.started_at ?? 0) || compare(a.session_uid, b.session_uid)

export const FACETS = [
  'starred',
  'tag',
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

export const BRIEF_SORTS = ['recent', 'cost', 'tokens', 'active', 'duration', 'errors', 'turns'] as const
export type BriefSort = (typeof BRIEF_SORTS)[number]

export interface BriefQuestion {
  /** Narrow to any of these values; '' stands for unknown. */
  facets?: Partial<Record<Facet, readonly string[]>>
  /** Words that must all stand in title, first prompt, repository, branch, tags or id. */
  text?: string
  /** Only these. */
  uids?: readonly string[]
  sinceAt?: number
  untilAt?: number
  withSubagents?: boolean
  sort?: BriefSort
  offset?: number
  limit?: number
}

export interface LinePage {
  total: number
  offset: number
  lines: Line[]
  /** Each with the other conditions applied: what choosing a value would give. */
  facets: Record<Facet, { value: string; count: number }[]>
}

/** As it is sent: the sessions in full. */
export interface BriefPage extends Omit<LinePage, 'lines'> {
  sessions: Brief[]
}

const yes = (is: boolean): string => (is ? 'yes' : 'no')
/** Most have one value; of tags a session may have none or several. */
const VALUES: Record<Facet, (line: Line) => readonly string[]> = {
  starred: (line) => [yes(line.starred_at !== null)],
  tag: (line) => line.tags.split(' ').filter(Boolean),
  flavor: (line) => [line.flavor],
  repo: (line) => [line.repo ?? ''],
  domain: (line) => [line.domain ?? ''],
  model: (line) => [line.model ?? ''],
  outcome: (line) => [line.outcome],
  has_error: (line) => [yes(line.error_count > 0)],
  has_commit: (line) => [yes(line.commits > 0)],
  evicted: (line) => [yes(line.evicted_at !== null)],
}

const ORDER: Record<Exclude<BriefSort, 'recent'>, (line: Line) => number> = {
  cost: (line) => Number(line.cost_usd ?? -1),
  tokens: (line) => line.total_tokens,
  active: (line) => line.active_s,
  duration: (line) => (line.started_at === null ? 0 : (line.ended_at ?? 0) - line.started_at),
  errors: (line) => line.error_count,
  turns: (line) => line.turns,
}

/** Narrows, counts and sorts; pure. */
export function pageOf(rows: readonly Line[], question: BriefQuestion): LinePage {
  const counts = Object.fromEntries(FACETS.map((name) => [name, new Map<string, number>()])) as Record<
    Facet,
    Map<string, number>
  >
  const chosen = FACETS.filter((name) => question.facets?.[name] !== undefined)
  const isListed = listed(question)
  const found: Line[] = []
  for (const line of rows) {
    if (!isListed(line)) continue
    const isIn = (name: Facet): boolean =>
      VALUES[name](line).some((value) => question.facets?.[name]?.includes(value))
    const failing = chosen.length === 0 ? chosen : chosen.filter((name) => !isIn(name))
    if (failing.length === 0) found.push(line)
    // A row counts for a facet when nothing but this facet keeps it out.
    if (failing.length > 1) continue
    for (const name of failing.length === 1 ? failing : FACETS)
      for (const value of VALUES[name](line)) counts[name].set(value, (counts[name].get(value) ?? 0) + 1)
  }
  const { sort = 'recent', offset = 0, limit = 100 } = question
  if (sort !== 'recent') {
    const size = ORDER[sort]
    found.sort((a, b) => size(b) - size(a) || byStart(a, b))
  }
  return {
    total: found.length,
    offset,
    lines: found.slice(offset, offset + limit),
    facets: Object.fromEntries(FACETS.map((name) => [name, toList(counts[name])])) as LinePage['facets'],
  }
}

function toList(counts: Map<string, number>): { value: string; count: number }[] {
  return [...counts]
    .map(([value, count]) => ({ value, count }))
    .sort((a, b) => b.count - a.count || compare(a.value, b.value))
}

/** Made once for each line: whoever types asks again with every letter. */
const texts = new WeakMap<Line, string>()

function textOf(line: Line): string {
  const known = texts.get(line)
  if (known !== undefined) return known
  const { title, first_prompt, repo, git_branch, session_uid, tags } = line
  const text = [title ?? '', first_prompt, repo ?? '', git_branch ?? '', session_uid, tags]
    .join('\n')
    .toLowerCase()
  texts.set(line, text)
  return text
}

function listed(question: BriefQuestion): (line: Line) => boolean {
  const words = (question.text ?? '').toLowerCase().split(/\s+/).filter(Boolean)
  const uids = question.uids && new Set(question.uids)
  const { sinceAt = Number.NEGATIVE_INFINITY, untilAt = Number.POSITIVE_INFINITY } = question
  return (line) => {
    if (!question.withSubagents && !isOwn(line)) return false
    if (uids && !uids.has(line.session_uid)) return false
    if ((line.ended_at ?? line.started_at ?? 0) < sinceAt || (line.started_at ?? 0) > untilAt) return false
    if (words.length === 0) return true
    const text = textOf(line)
    return words.every((word) => text.includes(word))
  }
}

/** Not a sub-agent's nor a helper's, and with something to show. */
export const isOwn = (line: Line): boolean =>
  line.relation !== 'subagent' && line.helper === null && (line.event_count > 0 || line.evicted_at !== null)
