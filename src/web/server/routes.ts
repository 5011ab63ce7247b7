// The JSON twins of the page's views: thin over query/, with the field names of the command line's --json.
import { Hono } from 'hono'
import { compareDigests } from '../../digest/compare.ts'
import type { Digest } from '../../digest/digest.ts'
import { findDigest, getDigest, listPatterns } from '../../digest/patterns.ts'
import type { DoctorOptions } from '../../doctor/index.ts'
import { statusOf } from '../../doctor/status.ts'
import { RecollectError } from '../../errors.ts'
import { briefsOf } from '../../query/briefs.ts'
import { coverageOf, gapsOf } from '../../query/coverage.ts'
import { editsOf } from '../../query/edits.ts'
import { findInSession } from '../../query/find.ts'
import { lineageDocument, lineageOf, relatedUids } from '../../query/lineage.ts'
import { rawLost } from '../../query/lost.ts'
import { pageOf } from '../../query/narrow.ts'
import { outlineOf } from '../../query/outline.ts'
import { overviewOf } from '../../query/overview.ts'
import { receiptsOf } from '../../query/receipts.ts'
import {
  type SearchDocument,
  type SearchOptions,
  searchDocument,
  searchSessions,
} from '../../query/search.ts'
import { firstPrompts, listUids, resolveSession, sessionNames } from '../../query/sessions.ts'
import { contextFill, spendOf } from '../../query/spend.ts'
import { type UsageQuestion, type UsageReport, usageReport } from '../../query/usage.ts'
import type { ReadHandle } from '../../store/store.ts'
import type { Doctor } from './doctor.ts'
import { eventWindow } from './events.ts'
import type { Memory } from './memory.ts'
import { Params } from './params.ts'
import {
  briefQuestion,
  lineageOptions,
  MAX_PAGE,
  searchOptions,
  usageQuestion,
  usersOf,
} from './questions.ts'
import { storageOf } from './storage.ts'

/** Of what names a session without a title. */
const MAX_PROMPT = 200
const STORAGE_KEPT_MS = 5000

export function apiRoutes(memory: Memory, doctor: Doctor, env: DoctorOptions['env']): Hono {
  const api = new Hono()
  api.get('/overview', (context) => {
    const params = new Params((name) => context.req.query(name))
    const days = params.count('days', 30, 3660)
    const zone = params.zone()
    // The span moves with the clock: a minute is fine enough.
    const now = Math.floor(Date.now() / 60_000) * 60_000
    const ask = { days, zone, prices: memory.prices, now }
    const overview = memory.answer(`overview ${days} ${zone.name} ${now}`, (handle) =>
      overviewOf(handle, memory.briefs().lines, ask),
    )
    return context.json(overview)
  })
  api.get('/usage', (context) => {
    const params = new Params((name) => context.req.query(name))
    return context.json(usageAnswer(memory.handle(), usageQuestion(params, memory)))
  })
  api.get('/search', (context) => {
    const params = new Params((name) => context.req.query(name))
    const query = params.text('q') ?? ''
    return context.json(searchAnswer(memory.handle(), query, searchOptions(params, memory.handle())))
  })
  api.get('/patterns', (context) => {
    const params = new Params((name) => context.req.query(name))
    const sinceAt = params.time('since')
    const limit = params.count('limit', 20, MAX_PAGE)
    const filter = { limit, ...(sinceAt === undefined ? {} : { sinceAt }) }
    return context.json({ patterns: listPatterns(memory.handle(), filter) })
  })
  api.get('/lineage', (context) => {
    const params = new Params((name) => context.req.query(name))
    const isRelated = params.flag('related')
    const options = lineageOptions(params)
    const lineage = memory.answer(`lineage ${isRelated} ${JSON.stringify(options)}`, (handle) => {
      const uids = isRelated ? relatedUids(handle, options.limit ?? 0) : listUids(handle, options)
      return lineageDocument(lineageOf(handle, uids, memory.prices))
    })
    return context.json(lineage)
  })
  api.get('/compare', (context) => {
    const side = (name: 'a' | 'b'): Digest => {
      const typed = context.req.query(name)
      if (!typed)
        throw new RecollectError('USAGE', `which session is ${name}?`, { where: name, hint: 'a session id' })
      return getDigest(memory.handle(), resolveSession(memory.handle(), typed))
    }
    return context.json(compareDigests(side('a'), side('b')))
  })
  api.get('/storage', (context) => {
    // Ages move with the clock, and files may grow between commits: a few seconds are fine enough.
    const now = Math.floor(Date.now() / STORAGE_KEPT_MS)
    return context.json(memory.answer(`storage ${now}`, () => storageOf(memory)))
  })
  api.get('/status', async (context) => context.json(await statusOf(memory.config, env)))
  api.get('/doctor', async (context) => context.json(await doctor.ask()))
  api.get('/health', (context) => context.json(memory.answer('health', coverageOf)))
  api.route('/sessions', sessionRoutes(memory))
  return api
}

/** By session with what each is called: an id tells nobody anything. */
function usageAnswer(handle: ReadHandle, question: UsageQuestion): UsageReport {
  const report = usageReport(handle, question)
  if (question.group !== 'session') return report
  const names = sessionNames(
    handle,
    report.rows.flatMap((row) => row.key ?? []),
  )
  const named = report.rows.map((row) => ({
    ...row,
    name: (names.get(row.key ?? '') ?? '').slice(0, MAX_PROMPT),
  }))
  return { ...report, rows: named }
}

/** With what was asked first, for sessions without a title. */
function searchAnswer(handle: ReadHandle, query: string, options: SearchOptions): SearchDocument {
  const found = searchDocument(query, searchSessions(handle, query, options))
  const prompts = firstPrompts(
    handle,
    found.sessions.map((one) => one.session_uid),
  )
  const named = found.sessions.map((one) => ({
    ...one,
    first_prompt: (prompts.get(one.session_uid) ?? '').slice(0, MAX_PROMPT),
  }))
  return { ...found, sessions: named }
}

function sessionRoutes(memory: Memory): Hono {
  const routes = new Hono()
  const uidOf = (typed: string): string => resolveSession(memory.handle(), typed)
  routes.get('/', (context) => {
    const text = listOf(memory, new Params((name) => context.req.query(name)))
    return context.body(text, 200, { 'content-type': 'application/json' })
  })
  routes.get('/:uid', (context) => context.json(sessionDocument(memory, uidOf(context.req.param('uid')))))
  routes.get('/:uid/digest', (context) =>
    context.json(getDigest(memory.handle(), uidOf(context.req.param('uid')))),
  )
  routes.get('/:uid/lineage', (context) => {
    const uid = uidOf(context.req.param('uid'))
    return context.json(lineageDocument(lineageOf(memory.handle(), [uid], memory.prices), uid))
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

/** As text, and kept: the same list is asked for again by every page that is open, after every change. */
function listOf(memory: Memory, params: Params): string {
  const question = briefQuestion(params)
  const users = usersOf(params)
  return memory.answer(`list ${JSON.stringify([question, users])}`, (handle) => {
    if (users) question.uids = listUids(handle, { ...users, withSubagents: true })
    const { lines, ...page } = pageOf(memory.briefs().lines, question)
    const sessions = briefsOf(handle, lines).map((one) => ({
      ...one,
      context_fill: contextFill(handle, one.session_uid),
    }))
    return JSON.stringify({ ...page, sessions })
  })
}

function sessionDocument(memory: Memory, uid: string): Record<string, unknown> {
  const handle = memory.handle()
  return {
    session: memory.brief(uid),
    receipts: receiptsOf(handle, uid),
    raw_lost: rawLost(handle, uid),
    digest: findDigest(handle, uid) ?? null,
    gaps: gapsOf(handle, uid),
    lineage: lineageDocument(lineageOf(handle, [uid], memory.prices), uid),
  }
}
