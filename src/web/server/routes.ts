// The JSON twins of the page's views: thin over query/, with the field names of the command line's --json.
import { Hono } from 'hono'
import { compareDigests } from '../../digest/compare.ts'
import type { Digest } from '../../digest/digest.ts'
import { findDigest, getDigest, listPatterns, type Pattern } from '../../digest/patterns.ts'
import type { DoctorOptions } from '../../doctor/index.ts'
import { statusOf } from '../../doctor/status.ts'
import { RecollectError } from '../../errors.ts'
import { briefsOf } from '../../query/briefs.ts'
import { coverageOf, gapsOf } from '../../query/coverage.ts'
import { findInSession } from '../../query/find.ts'
import { lineageDocument, lineageOf, relatedUids } from '../../query/lineage.ts'
import { rawLost } from '../../query/lost.ts'
import { meant } from '../../query/meant.ts'
import { isOwn, pageOf } from '../../query/narrow.ts'
import { outlineOf } from '../../query/outline.ts'
import { overviewOf } from '../../query/overview.ts'
import { receiptsOf } from '../../query/receipts.ts'
import { resolveSession, sessionNames } from '../../query/sessions.ts'
import { contextFill, spendOf } from '../../query/spend.ts'
import { toolRows } from '../../query/tools.ts'
import { sessionPrice, type TreeCost, treeCost } from '../../query/tree-cost.ts'
import { type UsageQuestion, type UsageReport, usageReport } from '../../query/usage.ts'
import type { Reader } from '../../store/reader/index.ts'
import { actRoutes, resumeLine } from './acts.ts'
import type { Doctor } from './doctor.ts'
import { eventWindow } from './events.ts'
import type { Memory } from './memory.ts'
import { Params } from './params.ts'
import {
  briefQuestion,
  changeQuestion,
  lineageOptions,
  MAX_PAGE,
  toolsQuestion,
  usageQuestion,
  usersOf,
} from './questions.ts'
import { MAX_PROMPT, searchRoutes } from './search.ts'
import { storageOf } from './storage.ts'
import { usageCsv } from './usage-csv.ts'
import { verdictOf } from './verdict.ts'

const STORAGE_KEPT_MS = 5000

export function apiRoutes(memory: Memory, doctor: Doctor, env: DoctorOptions['env']): Hono {
  const api = new Hono()
  api.get('/overview', (context) => {
    const params = new Params(context)
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
  api.get('/patterns', (context) => {
    const params = new Params(context)
    const sinceAt = params.time('since')
    const limit = params.count('limit', 20, MAX_PAGE)
    const filter = { limit, ...(sinceAt === undefined ? {} : { sinceAt }) }
    const patterns = listPatterns(memory.handle(), filter)
    return context.json({ patterns, names: namesIn(memory.handle(), patterns) })
  })
  api.get('/lineage', (context) => {
    const params = new Params(context)
    const [isRelated, options] = [params.flag('related'), lineageOptions(params)]
    const lineage = memory.answer(`lineage ${isRelated} ${JSON.stringify(options)}`, (handle) => {
      const newest = (): string[] => handle.sessions.uids(meant(handle, options))
      const uids = isRelated ? relatedUids(handle, options.limit ?? 0) : newest()
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
    const [a, b] = [side('a'), side('b')]
    return context.json({
      ...compareDigests(a, b),
      costs: [a, b].map(({ session_uid }) => sessionPrice(memory.handle(), memory.prices, session_uid)),
    })
  })
  api.get('/storage', (context) => {
    // Ages move with the clock, and files may grow between commits: a few seconds are fine enough.
    const now = Math.floor(Date.now() / STORAGE_KEPT_MS)
    return context.json(memory.answer(`storage ${now}`, () => storageOf(memory)))
  })
  api.get('/status', async (context) => context.json(await statusOf(memory.config, env)))
  api.get('/doctor', async (context) => context.json(await doctor.ask()))
  api.get('/health', (context) => context.json(memory.answer('health', coverageOf)))
  api.route('/search', searchRoutes(memory))
  api.route('/', spanRoutes(memory))
  api.route('/sessions', sessionRoutes(memory))
  api.route('/sessions', actRoutes(memory))
  return api
}

/** What the sessions are called that show a pattern or mended it. */
function namesIn(handle: Reader, patterns: readonly Pattern[]): Record<string, string> {
  const uids = patterns.flatMap(({ evidence, mends }) => [
    ...evidence.map((one) => one.session_uid),
    ...mends.flatMap((mend) => mend.sessions.map((one) => one.session_uid)),
  ])
  const names = sessionNames(handle, [...new Set(uids)])
  return Object.fromEntries([...names].map(([uid, name]) => [uid, (name ?? '').slice(0, MAX_PROMPT)]))
}

/** By session with what each is called: an id tells nobody anything. */
function usageAnswer(handle: Reader, question: UsageQuestion): UsageReport {
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

/** What is asked about a span of days. */
function spanRoutes(memory: Memory): Hono {
  const routes = new Hono()
  routes.get('/usage', (context) => {
    const params = new Params(context)
    return context.json(usageAnswer(memory.handle(), usageQuestion(params, memory)))
  })
  routes.get('/usage.csv', (context) => {
    const report = usageAnswer(memory.handle(), usageQuestion(new Params(context), memory))
    return context.body(usageCsv(report), 200, { 'content-type': 'text/csv; charset=utf-8' })
  })
  routes.get('/span', (context) => {
    const lines = memory.briefs().lines.filter(isOwn)
    const starts = lines.flatMap((line) => line.started_at ?? [])
    const iso = (at: number | undefined): string | null =>
      at === undefined ? null : new Date(at).toISOString()
    // The newest comes first.
    return context.json({
      sessions: lines.length,
      first_at: iso(starts.at(-1)),
      last_at: iso(starts[0]),
    })
  })
  routes.get('/tools', (context) => {
    const question = toolsQuestion(new Params(context))
    const handle = memory.handle()
    return context.json({ tools: toolRows(handle, { ...question, filter: meant(handle, question.filter) }) })
  })
  routes.get('/retro', async (context) => {
    const { retroAnswer } = await import('./retro.ts')
    return context.json(retroAnswer(memory, new Params(context)))
  })
  return routes
}

function sessionRoutes(memory: Memory): Hono {
  const routes = new Hono()
  const uidOf = (typed: string): string => resolveSession(memory.handle(), typed)
  routes.get('/', (context) => {
    const text = listOf(memory, new Params(context))
    return context.body(text, 200, { 'content-type': 'application/json' })
  })
  routes.get('/:uid', (context) => context.json(sessionDocument(memory, uidOf(context.req.param('uid')))))
  routes.get('/:uid/digest', (context) => {
    const uid = uidOf(context.req.param('uid'))
    return context.json({ ...getDigest(memory.handle(), uid), tree: treeOfCosts(memory, uid) })
  })
  routes.get('/:uid/lineage', (context) => {
    const uid = uidOf(context.req.param('uid'))
    return context.json(lineageDocument(lineageOf(memory.handle(), [uid], memory.prices), uid))
  })
  routes.get('/:uid/outline', (context) => {
    const after = new Params(context).count('after', 0, 1e9)
    return context.json(outlineOf(memory.handle(), uidOf(context.req.param('uid')), after))
  })
  routes.get('/:uid/events', (context) =>
    context.json(eventWindow(memory.handle(), uidOf(context.req.param('uid')), new Params(context))),
  )
  routes.get('/:uid/find', (context) =>
    context.json(
      findInSession(memory.handle(), uidOf(context.req.param('uid')), context.req.query('q') ?? ''),
    ),
  )
  routes.get('/:uid/spend', (context) =>
    context.json(spendOf(memory.handle(), uidOf(context.req.param('uid')), memory.prices)),
  )
  routes.get('/:uid/neighbours', (context) =>
    context.json(neighboursOf(memory, uidOf(context.req.param('uid')))),
  )
  routes.get('/:uid/changes', async (context) => {
    const params = new Params(context)
    const uid = uidOf(context.req.param('uid'))
    const answer = await memory.fileChanges.ask(changeQuestion(params, uid))
    return context.body(answer, 200, { 'content-type': 'application/json' })
  })
  return routes
}

/** As text, and kept: the same list is asked for again by every page that is open, after every change. */
function listOf(memory: Memory, params: Params): string {
  const question = briefQuestion(params)
  const users = usersOf(params)
  return memory.answer(`list ${JSON.stringify([question, users])}`, (handle) => {
    if (users) question.uids = handle.sessions.uids({ ...users, withSubagents: true })
    const { lines, ...page } = pageOf(memory.briefs().lines, question)
    const sessions = briefsOf(handle, lines).map((one) => ({
      ...one,
      context_fill: contextFill(handle, one.session_uid),
    }))
    return JSON.stringify({ ...page, sessions })
  })
}

/** The sessions before and after one, as the plain list has them; a sub-agent's among all of them. */
function neighboursOf(
  memory: Memory,
  uid: string,
): { place: number; newer: string | null; older: string | null } {
  const { lines: all } = memory.briefs()
  const { lines } = pageOf(all, { limit: all.length })
  const listed = lines.some((line) => line.session_uid === uid) ? lines : all
  const at = listed.findIndex((line) => line.session_uid === uid)
  return {
    place: at,
    newer: listed[at - 1]?.session_uid ?? null,
    older: listed[at + 1]?.session_uid ?? null,
  }
}

const treeOfCosts = (memory: Memory, uid: string): TreeCost | null =>
  treeCost(memory.handle(), memory.prices, uid)

function sessionDocument(memory: Memory, uid: string): Record<string, unknown> {
  const handle = memory.handle()
  const digest = findDigest(handle, uid)
  return {
    session: memory.brief(uid),
    price: sessionPrice(handle, memory.prices, uid),
    receipts: receiptsOf(handle, uid),
    raw_lost: rawLost(handle, uid),
    digest: digest ? { ...digest, tree: treeOfCosts(memory, uid) } : null,
    verdict: digest ? verdictOf(handle, digest) : null,
    editor: memory.config.get('ui.editor'),
    resume: resumeLine(handle, uid, memory.config.home),
    gaps: gapsOf(handle, uid),
    lineage: lineageDocument(lineageOf(handle, [uid], memory.prices), uid),
  }
}
