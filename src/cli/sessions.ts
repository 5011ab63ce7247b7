// `recollect sessions`: the list, as a table or a document.
import type { Config } from '../config.ts'
import { isRunning, OUTCOME_WORDS, type Session } from '../model.ts'
import { countSessions, type ListOptions, listSessions, SESSION_SORTS } from '../query/sessions.ts'
import { shortIds } from '../query/short-ids.ts'
import type { Reader } from '../store/reader/index.ts'
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

const SORTS = [...SESSION_SORTS, 'cost'] as const
type Sort = (typeof SORTS)[number]

export async function showSessions(options: SessionsCommand): Promise<void> {
  const sort = parseChoice(options.sort ?? 'recent', SORTS, '--sort', 'order')
  const filter: ListOptions = { ...filterFrom(options), withSubagents: options.all ?? false }
  const isScreenful =
    options.limit === undefined && !options.json && !options.csv && terminal(1) !== undefined
  if (options.limit !== undefined) filter.limit = parseLimit(options.limit)
  else if (isScreenful) filter.limit = SCREENFUL
  await withMemory(async (handle, config) => {
    const sessions =
      sort === 'cost' ? await byCost(handle, config, filter) : listSessions(handle, { ...filter, sort })
    if (sessions.length === 0) refuseUnknown(handle, filter)
    if (options.json) printJson({ sessions })
    else if (options.csv) printCsv(sessions)
    else if (sessions.length === 0) print('no session matches; recollect sweep reads what agents left')
    else printTable(handle, sessions, sort)
    if (isScreenful && sessions.length === SCREENFUL) tellRest(handle, filter)
  })
}

async function byCost(handle: Reader, config: Config, filter: ListOptions): Promise<Session[]> {
  const [{ pricesFor }, { overridesOf }, { listByCost }] = await Promise.all([
    import('../query/prices.ts'),
    import('../usage/overrides.ts'),
    import('../query/cost-order.ts'),
  ])
  const prices = await pricesFor(handle, overridesOf(config))
  return listByCost(handle, prices, filter)
}

function tellRest(handle: Reader, filter: ListOptions): void {
  const count = countSessions(handle, filter)
  if (count > SCREENFUL) tell(`${SCREENFUL} of ${count}, more with --limit ${count}\n`)
}

interface Row {
  session: Session
  id: string
  what: string
}

function printTable(handle: Reader, sessions: readonly Session[], sort: Sort): void {
  const ids = shortIds(
    handle,
    sessions.map((session) => session.session_uid),
  )
  const prompts = handle.sessions.firstPrompts(
    sessions.filter((session) => !session.title).map((session) => session.session_uid),
  )
  const rows = sessions.map((session) => ({
    session,
    id: ids.get(session.session_uid) ?? session.session_uid,
    what: labelled(session, oneLine(session.title ?? prompts.get(session.session_uid) ?? '')),
  }))
  print(tableLines(rows, columnsFor(sort)).join('\n'))
}

const MEASURES: Record<Exclude<Sort, 'recent'>, Column<Row>> = {
  tokens: { title: 'TOKENS', right: true, cell: ({ session }) => formatCount(tokensOf(session)) },
  cost: { title: 'COST', right: true, cell: ({ session }) => costCell(session) },
  duration: {
    title: 'LASTED',
    right: true,
    cell: ({ session }) => formatDuration(session.cost.wall_clock_s * 1000),
  },
  errors: { title: 'ERRORS', right: true, cell: ({ session }) => String(session.error_count) },
}

function columnsFor(sort: Sort): Column<Row>[] {
  return [
    { title: 'STARTED', cell: ({ session }) => formatTime(session.started_at) },
    { title: 'ID', cell: ({ id }) => id, style: (text) => paint.cyan(text) },
    { title: 'FLAVOR', cell: ({ session }) => session.flavor, optional: 4 },
    { title: 'REPO', cell: ({ session }) => oneLine(session.repo ?? '-'), least: 6, optional: 2 },
    { title: 'OUTCOME', cell: outcomeCell, optional: 3, style: outcomeStyle },
    { title: 'TURNS', right: true, optional: 5, cell: ({ session }) => String(session.cost.turns) },
    sort === 'recent' ? { ...MEASURES.tokens, optional: 1 } : MEASURES[sort],
    { title: 'TITLE', cell: ({ what }) => what, least: 24 },
  ]
}

const outcomeCell = ({ session }: Row): string =>
  `${isRunning(session, Date.now()) ? 'running' : OUTCOME_WORDS[session.outcome]}${session.evicted_at === null ? '' : ', evicted'}`

function outcomeStyle(text: string, { session }: Row): string {
  if (session.outcome === 'success') return paint.green(text)
  return session.outcome === 'fail' ? paint.red(text) : paint.dim(text)
}

const tokensOf = ({ cost }: Session): number => cost.input_tokens + cost.output_tokens + cost.cache_tokens

/** To the cent: what a price list is good for. */
function costCell({ cost }: Session): string {
  return cost.usd === undefined || cost.usd === null ? '?' : `$${Number(cost.usd).toFixed(2)}`
}
