// The JSON twins of the page's views: thin over query/, with the field names of the command line's --json.
import { Hono } from 'hono'
import { compareDigests } from '../../digest/compare.ts'
import type { Digest } from '../../digest/digest.ts'
import { getDigest, listPatterns } from '../../digest/patterns.ts'
import { RecollectError } from '../../errors.ts'
import { EVENT_KINDS } from '../../model.ts'
import { coverageOf, gapsOf } from '../../query/coverage.ts'
import { editsOf } from '../../query/edits.ts'
import { findInSession } from '../../query/find.ts'
import { type Lineage, lineageOf } from '../../query/lineage.ts'
import { BRIEF_SORTS, type BriefQuestion, FACETS, pageOf } from '../../query/narrow.ts'
import { outlineOf } from '../../query/outline.ts'
import { overviewOf } from '../../query/overview.ts'
import { receiptsOf } from '../../query/receipts.ts'
import { type SearchOptions, searchSessions } from '../../query/search.ts'
import { resolveSession } from '../../query/sessions.ts'
import { contextFill, spendOf } from '../../query/spend.ts'
import { USAGE_GROUPS, type UsageQuestion, usageReport } from '../../query/usage.ts'
import { eventWindow } from './events.ts'
import type { Memory } from './memory.ts'
import { Params } from './params.ts'
import { storageOf } from './storage.ts'

const MAX_PAGE = 500

export function apiRoutes(memory: Memory): Hono {
  const api = new Hono()
  api.get('/overview', (context) => {
    const params = new Params((name) => context.req.query(name))
    const days = params.count('days', 30, 3660)
    const zone = params.zone()
    // The span moves with the clock: a minute is fine enough.
    const now = Math.floor(Date.now() / 60_000) * 60_000
    const ask = { days, zone, prices: memory.prices, now }
    const overview = memory.answer(`overview ${days} ${zone.name} ${now}`, (handle) =>
      overviewOf(handle, memory.briefs().rows, ask),
    )
    return context.json(overview)
  })
  api.get('/usage', (context) => {
    const params = new Params((name) => context.req.query(name))
    return context.json(usageReport(memory.handle(), usageQuestion(params, memory)))
  })
  api.get('/search', (context) => {
    const params = new Params((name) => context.req.query(name))
    const query = params.text('q') ?? ''
    const sessions = searchSessions(memory.handle(), query, searchOptions(params))
    return context.json({ query, hits: sessions.flatMap((one) => one.hits), sessions })
  })
  api.get('/patterns', (context) => {
    const params = new Params((name) => context.req.query(name))
    const sinceAt = params.time('since')
    const limit = params.count('limit', 50, MAX_PAGE)
    const filter = { limit, ...(sinceAt === undefined ? {} : { sinceAt }) }
    return context.json({ patterns: listPatterns(memory.handle(), filter) })
  })
  api.get('/lineage', (context) => context.json(memory.answer('lineage', () => wholeLineage(memory))))
  api.get('/compare', (context) => {
    const side = (name: 'a' | 'b'): Digest => {
      const typed = context.req.query(name)
      if (!typed)
        throw new RecollectError('USAGE', `which session is ${name}?`, { where: name, hint: 'a session id' })
      return getDigest(memory.handle(), resolveSession(memory.handle(), typed))
    }
    return context.json(compareDigests(side('a'), side('b')))
  })
  api.get('/storage', (context) => context.json(storageOf(memory)))
  api.get('/health', (context) => context.json(memory.answer('health', coverageOf)))
  api.route('/sessions', sessionRoutes(memory))
  return api
}

function usageQuestion(params: Params, memory: Memory): UsageQuestion {
  const question: UsageQuestion = {
    group: params.choice('group', USAGE_GROUPS, 'day'),
    zone: params.zone(),
    prices: memory.prices,
  }
  const sinceAt = params.time('since')
  const untilAt = params.time('until')
  if (sinceAt !== undefined) question.sinceAt = sinceAt
  if (untilAt !== undefined) question.untilAt = untilAt
  for (const name of ['flavor', 'repo', 'domain', 'model'] as const) {
    const value = params.text(name)
    if (value !== undefined) question[name] = value
  }
  return question
}

function searchOptions(params: Params): SearchOptions {
  const options: SearchOptions = {
    limit: params.count('limit', 30, MAX_PAGE),
    perSession: params.count('per_session', 5, 50),
  }
  for (const name of ['flavor', 'repo', 'domain', 'model', 'tool', 'touched'] as const) {
    const value = params.text(name)
    if (value !== undefined) options[name] = value
  }
  const kind = params.text('kind')
  if (kind !== undefined)
    options.kinds = kind.split(',').map((name) => params.oneOf('kind', name, EVENT_KINDS))
  const sinceAt = params.time('since')
  const untilAt = params.time('until')
  if (sinceAt !== undefined) options.sinceAt = sinceAt
  if (untilAt !== undefined) options.untilAt = untilAt
  return options
}

function briefQuestion(params: Params): BriefQuestion {
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
  }
  const text = params.text('q')
  const sinceAt = params.time('since')
  const untilAt = params.time('until')
  if (text !== undefined) question.text = text
  if (sinceAt !== undefined) question.sinceAt = sinceAt
  if (untilAt !== undefined) question.untilAt = untilAt
  return question
}

function sessionRoutes(memory: Memory): Hono {
  const routes = new Hono()
  const uidOf = (typed: string): string => resolveSession(memory.handle(), typed)
  // Kept as text: the same list is asked for again by every page that is open, after every change.
  routes.get('/', (context) => {
    const question = briefQuestion(new Params((name) => context.req.query(name)))
    const text = memory.answer(`list ${JSON.stringify(question)}`, (handle) => {
      const page = pageOf(memory.briefs().rows, question)
      const sessions = page.sessions.map((one) => ({
        ...one,
        context_fill: contextFill(handle, one.session_uid),
      }))
      return JSON.stringify({ ...page, sessions })
    })
    return context.body(text, 200, { 'content-type': 'application/json' })
  })
  routes.get('/:uid', (context) => {
    const uid = uidOf(context.req.param('uid'))
    const handle = memory.handle()
    return context.json({
      session: memory.briefs().find(uid),
      receipts: receiptsOf(handle, uid),
      digest: digestOrNull(memory, uid),
      gaps: gapsOf(handle, uid),
      lineage: lineageOf(handle, [uid], memory.prices),
    })
  })
  routes.get('/:uid/outline', (context) => {
    const after = new Params((name) => context.req.query(name)).count('after', 0, 1e9)
    return context.json(outlineOf(memory.handle(), uidOf(context.req.param('uid')), after))
  })
  routes.get('/:uid/events', (context) =>
    context.json(
      eventWindow(
        memory.handle(),
        uidOf(context.req.param('uid')),
        new Params((name) => context.req.query(name)),
      ),
    ),
  )
  routes.get('/:uid/find', (context) =>
    context.json(
      findInSession(memory.handle(), uidOf(context.req.param('uid')), context.req.query('q') ?? ''),
    ),
  )
  routes.get('/:uid/spend', (context) =>
    context.json(spendOf(memory.handle(), uidOf(context.req.param('uid')), memory.prices)),
  )
  routes.get('/:uid/edits', (context) =>
    context.json(editsOf(memory.handle(), uidOf(context.req.param('uid')))),
  )
  return routes
}

/** Every tree there is: of all sessions at an end of an edge. */
function wholeLineage(memory: Memory): Lineage {
  const rows = memory
    .handle()
    .memory.prepare("SELECT session_uid FROM edges UNION SELECT parent_uid FROM edges WHERE parent_uid <> ''")
    .all() as unknown as { session_uid: string }[]
  return lineageOf(
    memory.handle(),
    rows.map((row) => row.session_uid),
    memory.prices,
  )
}

function digestOrNull(memory: Memory, uid: string): Digest | null {
  try {
    return getDigest(memory.handle(), uid)
  } catch (error) {
    if ((error as RecollectError).code === 'NOT_FOUND') return null
    throw error
  }
}
