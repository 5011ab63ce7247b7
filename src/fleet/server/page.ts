// What the page asks of a team server: under the addresses and with the documents of one machine's page (docs/web.md), as far as
// a team's rows hold them and the role of whoever is signed in may see them. Figures are those of the contract's own answers.

import { type ROLES, USAGE_KEYS } from '../../contract.ts'
import type { Digest } from '../../digest/digest.ts'
import { decidingError } from '../../digest/verdict.ts'
import { DAY } from '../../model.ts'
import type { Brief } from '../../query/briefs.ts'
import { type Lineage, lineageDocument } from '../../query/lineage.ts'
import { type BriefQuestion, pageOf } from '../../query/narrow.ts'
import type { TimeZone } from '../../query/timezone.ts'
import { reportOf } from '../../query/usage.ts'
import { before, labelOf, periodOf, startOf } from '../../retro/period.ts'
import type { Caller } from '../../store/postgres/access.ts'
import {
  type FleetLine,
  linesOf,
  MOST_LINES,
  placesOf,
  relatedUids,
  spanOf,
  spentBy,
} from '../../store/postgres/lists.ts'
import { countSpan, findLineage, findSessions, readDigest } from '../../store/postgres/questions.ts'
import { findPatterns } from '../../store/postgres/recurring.ts'
import { settle } from '../../store/postgres/settle.ts'
import { usageModels } from '../../store/postgres/usage.ts'
import { SLOT_MS } from '../../store/slots.ts'
import { loadPrices } from '../../usage/prices.ts'
import { seqsIn } from '../../web/server/events.ts'
import { Params } from '../../web/server/params.ts'
import { briefQuestion, MAX_PAGE, searchPageQuestion } from '../../web/server/questions.ts'
import { usageCsv } from '../../web/server/usage-csv.ts'
import { isWholeDigest } from '../digest-shape.ts'
import { treesOfAnswer } from '../lineage-trees.ts'
import { teamDocument } from '../retro-document.ts'
import { ROUTES } from '../routes.ts'
import { type Serving, settledUsage, uidNamed, wordless } from './answers.ts'
import { Refusal } from './guard.ts'
import { Kept } from './kept.ts'
import { briefOf, HELD, isoOf, mendOf, NOTHING_ELSE, patternOf, toldBy } from './page-documents.ts'
import { Texts } from './texts.ts'

type Ask = (caller: Caller, params: Params) => Promise<unknown>
type AskOne = (caller: Caller, uid: string, params: Params) => Promise<unknown>

const DEAREST = 6

/** A viewer has the own sessions alone. */
const ownOf = ({ role, person }: Caller): string | undefined => (role === 'viewer' ? person : undefined)

export class PageAnswers {
  readonly #serving: Serving
  readonly #texts: Texts
  readonly #lists = new Kept<FleetLine[]>(15_000, 8)
  readonly #asked: Record<string, Ask>
  readonly #askedOne: Record<string, AskOne>

  constructor(serving: Serving) {
    this.#serving = serving
    this.#texts = new Texts(serving)
    this.#asked = {
      span: (caller) => this.#span(caller),
      overview: (caller, params) => this.#overview(caller, params),
      sessions: (caller, params) => this.#sessions(caller, params),
      'search/page': (caller, params) => this.#search(caller, params),
      usage: (caller, params) => this.#usage(caller, params),
      'usage.csv': async (caller, params) => Buffer.from(usageCsv(await this.#usage(caller, params))),
      patterns: (caller, params) => this.#patterns(caller, params),
      retro: (caller, params) => this.#retro(caller, params),
      lineage: (caller, params) => this.#lineage(caller, params),
    }
    this.#askedOne = {
      '': (caller, uid) => this.#session(caller, uid),
      outline: (caller, uid, params) => this.#texts.outline(caller, uid, params.count('after', 0, 1e9)),
      events: (caller, uid, params) =>
        this.#texts.window(caller, uid, {
          seqs: seqsIn(params),
          from: params.count('from', 0, 1e9),
          limit: params.count('limit', 100, MAX_PAGE),
          withRecord: params.flag('payload'),
        }),
      find: (caller, uid, params) => this.#texts.find(caller, uid, params.text('q') ?? ''),
    }
  }

  /** A document, or bytes of CSV. */
  async answer(caller: Caller, path: string, query: URLSearchParams): Promise<unknown> {
    if (caller.role === 'device') allow(caller, ROUTES.sessions.roles)
    const params = new Params({
      req: { query: (name) => query.get(name) ?? undefined, queries: (name) => manyIn(query, name) },
    })
    const name = path.slice('/api/'.length)
    const asked = Object.hasOwn(this.#asked, name) ? this.#asked[name] : undefined
    if (asked) return await asked(caller, params)
    const [, typed = '', side = ''] = /^sessions\/([^/]+)(?:\/(\w+))?$/.exec(name) ?? []
    const askedOne = typed !== '' && Object.hasOwn(this.#askedOne, side) ? this.#askedOne[side] : undefined
    if (!askedOne)
      throw new Refusal(
        404,
        'NOT_FOUND',
        'a team server does not answer this',
        'ask the machine: recollect ui',
      )
    if (side !== '') allow(caller, ROUTES.text.roles)
    return await askedOne(caller, await uidNamed(this.#serving.fleet, caller, decoded(typed)), params)
  }

  async #span(caller: Caller): Promise<unknown> {
    const { first_at, last_at } = await spanOf(this.#serving.fleet, caller.team, ownOf(caller))
    return { first_at: isoOf(first_at), last_at: isoOf(last_at) }
  }

  async #overview(caller: Caller, params: Params): Promise<unknown> {
    const { fleet } = this.#serving
    const { team } = caller
    const [days, zone] = [params.count('days', 30, 3660), params.zone()]
    const now = Math.floor(Date.now() / 60_000) * 60_000
    const span = { sinceAt: Math.floor((now - days * DAY) / SLOT_MS) * SLOT_MS, untilAt: undefined }
    await settle(fleet, team)
    // Beside each other: each reads rows of its own.
    const [usage, ended, dearest] = await Promise.all([
      settledUsage(this.#serving, team, 'day', zone, span),
      countSpan(fleet, { team, ...span, untilAt: Number.MAX_SAFE_INTEGER }),
      caller.role === 'viewer' ? [] : findSessions(fleet, { team, ...span, order: 'tokens', limit: DEAREST }),
    ])
    const uids = dearest.slice(0, DEAREST).map((one) => one.session_uid)
    return {
      days,
      timezone: zone.name,
      since: isoOf(span.sinceAt),
      // Tokens and sessions of a span may be of different people: both have to be of enough.
      counts: ended && usage.total ? ended.counts : null,
      usage: ended && usage.total,
      outcomes: ended?.outcomes ?? [],
      cost_by_day: usage.rows.map(({ key, cost_usd, total_tokens }) => ({
        day: key,
        model: 'all models',
        cost_usd,
        total_tokens,
      })),
      dearest: await this.#briefs(caller, zone, await this.#lines(caller, { uids })),
    }
  }

  #lines(
    caller: Caller,
    narrowed: Pick<BriefQuestion, 'sinceAt' | 'untilAt'> & { uids?: readonly string[] },
  ): Promise<FleetLine[]> {
    const { sinceAt, untilAt, uids } = narrowed
    return linesOf(this.#serving.fleet, {
      team: caller.team,
      person: ownOf(caller),
      sinceAt,
      untilAt,
      ...(uids && { uids }),
    })
  }

  /** Whoever types a filter or scrolls asks many times for parts of one list. */
  #listed(caller: Caller, { sinceAt, untilAt }: BriefQuestion): Promise<FleetLine[]> {
    // The span moves with the clock: a minute is fine enough.
    const minute = (at: number | undefined): number | undefined => at && Math.floor(at / 60_000) * 60_000
    const span = { sinceAt: minute(sinceAt), untilAt: minute(untilAt) }
    const key = [caller.team, ownOf(caller) ?? '', span.sinceAt, span.untilAt].join('\0')
    return this.#lists.get(key, () =>
      linesOf(this.#serving.fleet, { team: caller.team, person: ownOf(caller), ...span }),
    )
  }

  /** With what each cost. */
  async #briefs(caller: Caller, zone: TimeZone, lines: readonly FleetLine[]): Promise<Brief[]> {
    const { fleet, overrides } = this.#serving
    const { team } = caller
    if (lines.length === 0) return []
    const prices = await loadPrices(overrides)
    const uids = lines.map((one) => one.session_uid)
    const parts = await spentBy(fleet, team, uids, prices.changes(await usageModels(fleet, team)))
    const { rows } = reportOf(parts, { group: 'session', zone, prices })
    const spent = new Map(rows.map((row) => [row.key, row]))
    return lines.map((line) => briefOf(line, spent.get(line.session_uid)))
  }

  async #sessions(caller: Caller, params: Params): Promise<unknown> {
    for (const name of ['touched', 'tool']) if (params.text(name) !== undefined) throw untold(name)
    const question = briefQuestion(params)
    const all = await this.#listed(caller, question)
    const { lines, ...page } = pageOf(all, question)
    const sessions = await this.#briefs(caller, params.zone(), lines as FleetLine[])
    return {
      ...page,
      newest: all.length < MOST_LINES ? null : MOST_LINES,
      sessions: sessions.map((one) => ({ ...one, context_fill: [] })),
    }
  }

  async #search(caller: Caller, params: Params): Promise<unknown> {
    const { fleet } = this.#serving
    const query = params.text('q') ?? ''
    const { options, question } = searchPageQuestion(params)
    if (options.how !== 'words') throw untold('how')
    for (const name of ['kind', 'tool'] as const) if (params.text(name) !== undefined) throw untold(name)
    const { sinceAt, untilAt } = options
    const most = 1000
    const person = ownOf(caller)
    const found = await findSessions(fleet, {
      team: caller.team,
      ...(person === undefined ? {} : { person }),
      sinceAt,
      untilAt,
      text: query,
      limit: most,
    })
    const uids = found.slice(0, most).map((one) => one.session_uid)
    const { sort, facets, offset = 0, limit = 40 } = question
    const page = pageOf(await this.#lines(caller, { uids }), {
      withSubagents: true,
      offset,
      limit,
      ...(facets && { facets }),
      ...(sort === 'best' ? {} : { sort }),
    })
    const sessions = await this.#briefs(caller, params.zone(), page.lines as FleetLine[])
    return {
      query,
      hits: [],
      sessions: sessions.map((one) => ({ ...one, ...HELD, task_uid: one.session_uid })),
      holds: page.total === 0 ? 'nothing' : 'all_in_event',
      found_by: 'index',
      session_count: page.total,
      is_count_exact: found.length <= most,
      ...NOTHING_ELSE,
      total: page.total,
      offset,
      facets: page.facets,
      match_total: page.total,
    }
  }

  async #usage(caller: Caller, params: Params): ReturnType<typeof settledUsage> {
    for (const name of ['flavor', 'repo', 'host', 'domain', 'model'])
      if (params.text(name) !== undefined) throw untold(name)
    const zone = params.zone()
    const by = params.choice('group', USAGE_KEYS, 'day')
    await settle(this.#serving.fleet, caller.team)
    const span = { sinceAt: params.slot('since', zone), untilAt: params.slot('until', zone) }
    return await settledUsage(this.#serving, caller.team, by, zone, span)
  }

  async #patterns(caller: Caller, params: Params): Promise<unknown> {
    const { fleet } = this.#serving
    const { team, role } = caller
    const sinceAt = params.time('since') ?? 0
    const found = await findPatterns(fleet, { team, sinceAt, limit: params.count('limit', 20, MAX_PAGE) })
    const fingerprints = found.map((one) => one.fingerprint)
    const met = role === 'viewer' ? [] : await placesOf(fleet, team, fingerprints)
    return {
      patterns: found.map((one) => patternOf(wordless(one, role), met)),
      names: Object.fromEntries(met.map((one) => [one.session_uid, one.title ?? ''])),
    }
  }

  async #retro(caller: Caller, params: Params): Promise<unknown> {
    const zone = params.zone()
    const [since, until] = [params.text('since'), params.text('until')]
    const wish = { ...(since === undefined ? {} : { since }), ...(until === undefined ? {} : { until }) }
    const period = periodOf(wish, zone, Date.now())
    const earlier = before(period)
    const { retroOf } = await import('./retro.ts')
    const answer = await retroOf(this.#serving, caller, zone, {
      since: startOf(period.firstDay, zone),
      until: startOf(period.endDay, zone),
      before: startOf(earlier.firstDay, zone),
    })
    const labels = { period: labelOf(period), before: labelOf(earlier) }
    const ids = new Map(answer.largest.map((one) => [one.session_uid, one.session_uid]))
    return { ...answer, document: teamDocument(answer, labels, ids) }
  }

  async #lineage(caller: Caller, params: Params): Promise<unknown> {
    allow(caller, ROUTES.lineage.roles)
    const { fleet } = this.#serving
    const uids = await relatedUids(fleet, caller.team, params.count('limit', 20, MAX_PAGE))
    return lineageDocument(await this.#trees(caller, uids))
  }

  async #trees({ team }: Caller, uids: readonly string[]): Promise<Lineage> {
    return treesOfAnswer(await findLineage(this.#serving.fleet, team, uids))
  }

  async #session(caller: Caller, uid: string): Promise<unknown> {
    const { fleet } = this.#serving
    const [line] = await this.#lines(caller, { uids: [uid] })
    const [session] = await this.#briefs(caller, new Params(NO_PARAMS).zone(), line ? [line] : [])
    if (!session) throw new Refusal(404, 'NOT_FOUND', `no session ${uid}`, 'see the list of sessions')
    const pushed = await readDigest(fleet, caller, uid, Date.now())
    const digest = pushed && isWholeDigest(pushed) ? { ...(pushed as unknown as Digest), tree: null } : null
    const isLead = (ROUTES.lineage.roles as readonly string[]).includes(caller.role)
    const lineage = isLead ? await this.#trees(caller, [uid]) : { nodes: [], problems: [] }
    const error = digest ? decidingError(digest) : undefined
    const met = error && isLead ? await placesOf(fleet, caller.team, [error.fingerprint]) : []
    const mend = mendOf(met.filter((one) => one.session_uid !== uid))
    return {
      session: digest ? toldBy(session, digest) : session,
      receipts: [],
      raw_lost: null,
      digest,
      verdict: digest && { error: error ?? null, mends: mend ? [mend] : [] },
      editor: '',
      resume: null,
      gaps: [],
      lineage: lineageDocument(lineage, uid),
    }
  }
}

const NO_PARAMS = { req: { query: () => undefined, queries: () => undefined } }

const manyIn = (query: URLSearchParams, name: string): string[] | undefined =>
  query.has(name) ? query.getAll(name) : undefined

const untold = (name: string): Refusal =>
  new Refusal(
    400,
    'USAGE',
    `a team server does not know ${name}`,
    'leave it out, or ask the machine: recollect ui',
  )

function allow({ role }: Caller, roles: readonly (typeof ROLES)[number][]): void {
  if (roles.includes(role)) return
  throw new Refusal(403, 'REFUSED', `a ${role} may not`, 'ask whoever runs the server for another role')
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw new Refusal(400, 'BAD_INPUT', 'the address is not understood', 'name a session')
  }
}
