// `recollect sessions`: the list, as a table or a document.
import type { Config } from '../config.ts'
import { isRunning, OUTCOME_WORDS, type Session } from '../model.ts'
import { countSessions, type ListOptions, listSessions } from '../query/sessions.ts'
import { shortIds } from '../query/short-ids.ts'
import type { Reader } from '../store/reader/index.ts'
import {
  type Answers,
  answerFrom,
  type ListedSession,
  SESSION_ORDERS,
  type SessionOrder,
  sweepHint,
} from './answers.ts'
import { paint } from './colour.ts'
import { printCsv } from './csv.ts'
import { filterFrom, refuseUnknown } from './filter-values.ts'
import type { FilterFlags } from './filters.ts'
import { formatCount, formatDuration, formatTime } from './format.ts'
import { print, printJson, tell } from './print.ts'
import { terminal } from './streams.ts'
import { type Column, SCREENFUL, tableLines } from './table.ts'
import { labelled, oneLine } from './text.ts'
import { parseChoice, parseLimit } from './values.ts'
import { withMemory } from './with-memory.ts'

export interface SessionsCommand extends FilterFlags {
  sort?: string
  limit?: string
  all?: boolean
  json?: boolean
  csv?: boolean
}

export async function showSessions(options: SessionsCommand): Promise<void> {
  const sort = parseChoice(options.sort ?? 'recent', SESSION_ORDERS, '--sort', 'order')
  const filter: ListOptions = { ...filterFrom(options), withSubagents: options.all ?? false }
  const isTable = !options.json && !options.csv
  if (options.limit !== undefined) filter.limit = parseLimit(options.limit)
  else if (isTable && terminal(1) !== undefined) filter.limit = SCREENFUL
  const ask = await answerFrom('sessions', inMemory)
  const { document, lines, rest } = await ask(filter, sort, isTable && filter.limit !== undefined)
  if (options.json) printJson(document)
  else if (options.csv) printCsv(document.sessions)
  else if (lines.length === 0) print(`no session matches${sweepHint()}`)
  else print(tableLines(lines, columnsFor(sort, lines)).join('\n'))
  if (rest !== undefined) tell(`${rest}\n`)
}

const inMemory: Answers['sessions'] = (filter, order, isPart) =>
  withMemory(async (handle, config) => {
    const sessions =
      order === 'cost'
        ? await byCost(handle, config, filter)
        : listSessions(handle, { ...filter, sort: order })
    if (sessions.length === 0) refuseUnknown(handle, filter)
    const rest = isPart && sessions.length === filter.limit ? restOf(handle, filter) : undefined
    const lines = linesOf(handle, sessions)
    return { document: { sessions }, lines, ...(rest === undefined ? {} : { rest }) }
  })

async function byCost(handle: Reader, config: Config, filter: ListOptions): Promise<Session[]> {
  const [{ pricesFor }, { overridesOf }, { listByCost }] = await Promise.all([
    import('../query/prices.ts'),
    import('../usage/overrides.ts'),
    import('../query/cost-order.ts'),
  ])
  const prices = await pricesFor(handle, overridesOf(config))
  return listByCost(handle, prices, filter)
}

function restOf(handle: Reader, { limit = 0, ...filter }: ListOptions): string | undefined {
  const count = countSessions(handle, filter)
  return count > limit ? `${limit} of ${count}, more with --limit ${count}` : undefined
}

function linesOf(handle: Reader, sessions: readonly Session[]): ListedSession[] {
  const ids = shortIds(
    handle,
    sessions.map((session) => session.session_uid),
  )
  const prompts = handle.sessions.firstPrompts(
    sessions.filter((session) => !session.title).map((session) => session.session_uid),
  )
  return sessions.map((session) => ({
    id: ids.get(session.session_uid) ?? session.session_uid,
    what: labelled(session, oneLine(session.title ?? prompts.get(session.session_uid) ?? '')),
    flavor: session.flavor,
    repo: session.repo,
    started_at: session.started_at,
    ended_at: session.ended_at,
    outcome: session.outcome,
    isEvicted: session.evicted_at !== null,
    turns: session.cost.turns,
    tokens: tokensOf(session),
    usd: session.cost.usd ?? null,
    seconds: session.cost.wall_clock_s,
    errors: session.error_count,
  }))
}

const MEASURES: Record<Exclude<SessionOrder, 'recent'>, Column<ListedSession>> = {
  tokens: { title: 'TOKENS', right: true, cell: ({ tokens }) => formatCount(tokens) },
  cost: { title: 'COST', right: true, cell: costCell },
  duration: { title: 'LASTED', right: true, cell: ({ seconds }) => formatDuration(seconds * 1000) },
  errors: { title: 'ERRORS', right: true, cell: ({ errors }) => String(errors) },
}

function columnsFor(sort: SessionOrder, lines: readonly ListedSession[]): Column<ListedSession>[] {
  const isOfMany = lines.some(({ user }) => user !== undefined)
  const user: Column<ListedSession> = {
    title: 'USER',
    cell: (line) => oneLine(line.user ?? '-'),
    least: 6,
    optional: 3,
  }
  return [
    { title: 'STARTED', cell: ({ started_at }) => formatTime(started_at) },
    { title: 'ID', cell: ({ id }) => id, style: (text) => paint.cyan(text) },
    ...(isOfMany ? [user] : []),
    { title: 'FLAVOR', cell: ({ flavor }) => flavor, optional: 4 },
    { title: 'REPO', cell: ({ repo }) => oneLine(repo ?? '-'), least: 6, optional: 2 },
    { title: 'OUTCOME', cell: outcomeCell, optional: 3, style: outcomeStyle },
    { title: 'TURNS', right: true, optional: 5, cell: ({ turns }) => String(turns) },
    sort === 'recent' ? { ...MEASURES.tokens, optional: 1 } : MEASURES[sort],
    { title: 'TITLE', cell: ({ what }) => what, least: 24 },
  ]
}

const outcomeCell = (line: ListedSession): string =>
  `${isRunning(line, Date.now()) ? 'running' : OUTCOME_WORDS[line.outcome]}${line.isEvicted ? ', evicted' : ''}`

function outcomeStyle(text: string, { outcome }: ListedSession): string {
  if (outcome === 'success') return paint.green(text)
  return outcome === 'fail' ? paint.red(text) : paint.dim(text)
}

const tokensOf = ({ cost }: Session): number => cost.input_tokens + cost.output_tokens + cost.cache_tokens

/** To the cent: what a price list is good for. */
function costCell({ usd }: ListedSession): string {
  return usd === undefined || usd === null ? '?' : `$${Number(usd).toFixed(2)}`
}
