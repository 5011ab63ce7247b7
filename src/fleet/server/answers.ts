// Answers of a team server to people: who may see what of a question is decided here, and behind it by the database.
import { gunzipSync } from 'node:zlib'
import { type FleetPattern, SESSION_ORDERS, USAGE_KEYS } from '../../contract.ts'
import { OUTCOMES, type Outcome } from '../../model.ts'
import { TimeZone } from '../../query/timezone.ts'
import { reportOf, type UsageReport } from '../../query/usage.ts'
import { type Caller, readings } from '../../store/postgres/access.ts'
import type { Fleet } from '../../store/postgres/database.ts'
import {
  countOutcomes,
  findLineage,
  findSessions,
  readDigest,
  sessionsNamed,
} from '../../store/postgres/questions.ts'
import { findPatterns } from '../../store/postgres/recurring.ts'
import { readSegments } from '../../store/postgres/removal.ts'
import { settle } from '../../store/postgres/settle.ts'
import { FOLDED, usageModels, usageSlots } from '../../store/postgres/usage.ts'
import type { Overrides } from '../../usage/overrides.ts'
import { loadPrices } from '../../usage/prices.ts'
import { type BlobStore, blobName } from '../blobs.ts'
import type { ROUTES } from '../routes.ts'
import { Refusal } from './guard.ts'

export interface Serving {
  fleet: Fleet
  blobs: BlobStore
  overrides: Overrides
}

type Query = URLSearchParams

export const bad = (name: string, hint: string): Refusal =>
  new Refusal(400, 'BAD_INPUT', `${name} is not understood`, hint)

export function numberIn(query: Query, name: string): number | undefined {
  const text = query.get(name)
  if (text === null) return undefined
  if (!/^\d{1,15}$/.test(text)) throw bad(name, 'a whole number')
  return Number(text)
}

function limitIn(query: Query): number {
  const limit = numberIn(query, 'limit') ?? 50
  if (limit < 1 || limit > 1000) throw bad('limit', 'from 1 to 1000')
  return limit
}

function choiceIn<T extends string>(query: Query, name: string, choices: readonly T[]): T | undefined {
  const text = query.get(name)
  if (text === null) return undefined
  if (!choices.includes(text as T)) throw bad(name, choices.join(', '))
  return text as T
}

/** A text as Postgres takes it. */
export function textIn(query: Query, name: string): string | undefined {
  const text = query.get(name)
  if (text !== null && (text.length > 1000 || text.includes('\0')))
    throw bad(name, 'at most 1000 letters, and no NUL')
  return text ?? undefined
}

const spanIn = (query: Query): { sinceAt: number | undefined; untilAt: number | undefined } => ({
  sinceAt: numberIn(query, 'since'),
  untilAt: numberIn(query, 'until'),
})

/** A viewer sees the own sessions; whose the others are nobody is told but an admin. */
export async function sessions(
  { fleet }: Serving,
  caller: Caller,
  query: Query,
  isSearch: boolean,
): Promise<unknown> {
  const limit = limitIn(query)
  const text = isSearch ? (textIn(query, 'q') ?? '') : undefined
  const found = await findSessions(fleet, {
    team: caller.team,
    ...(caller.role === 'viewer' ? { person: caller.person } : {}),
    ...spanIn(query),
    repo: textIn(query, 'repo'),
    domain: textIn(query, 'domain'),
    flavor: textIn(query, 'flavor'),
    model: textIn(query, 'model'),
    host: textIn(query, 'host'),
    hasErrors: query.get('errors') === '1',
    isAll: query.get('all') === '1',
    order: choiceIn(query, 'sort', SESSION_ORDERS) ?? 'recent',
    outcome: choiceIn<Outcome>(query, 'outcome', OUTCOMES),
    text,
    limit,
  })
  return { sessions: found.slice(0, limit), is_more: found.length > limit }
}

export async function usage(serving: Serving, { team }: Caller, query: Query): Promise<unknown> {
  const by = choiceIn(query, 'by', USAGE_KEYS) ?? 'day'
  const zone = new TimeZone(textIn(query, 'zone') ?? 'UTC')
  await settle(serving.fleet, team)
  return await settledUsage(serving, team, by, zone, spanIn(query))
}

/** Of a team whose responses are settled. */
export async function settledUsage(
  { fleet, overrides }: Serving,
  team: string,
  by: (typeof USAGE_KEYS)[number],
  zone: TimeZone,
  span: ReturnType<typeof spanIn>,
): Promise<Omit<UsageReport, 'total'> & { total: UsageReport['total'] | null }> {
  const models = await usageModels(fleet, team)
  const prices = await loadPrices(overrides)
  const parts = await usageSlots(
    fleet,
    { team, by, prices: prices.changes(models), ...span },
    (first, last) => zone.offsets(first, last),
  )
  const { sinceAt, untilAt } = span
  const report = reportOf(parts ?? [], {
    group: by,
    zone,
    prices,
    ...(sinceAt === undefined ? {} : { sinceAt }),
    ...(untilAt === undefined ? {} : { untilAt }),
  })
  // What each model was used for stands in the rows, or is no figure that may be shown.
  const shown =
    by === 'model'
      ? report.models.filter((one) => report.rows.some((row) => row.key === one.model && row.key !== FOLDED))
      : []
  return { ...report, models: shown, total: parts === undefined ? null : report.total }
}

export function outcomes({ fleet }: Serving, { team }: Caller, query: Query): Promise<unknown> {
  const { sinceAt = 0, untilAt = Number.MAX_SAFE_INTEGER } = spanIn(query)
  return countOutcomes(fleet, { team, sinceAt, untilAt })
}

export async function patterns({ fleet }: Serving, { team, role }: Caller, query: Query): Promise<unknown> {
  const found = await findPatterns(fleet, {
    team,
    sinceAt: numberIn(query, 'since') ?? 0,
    limit: limitIn(query),
  })
  return { patterns: found.map(({ is_old: _, ...one }) => wordless(one, role)) }
}

/** A sample is a line of somebody's session: figures are for everybody, lines are not. */
export const wordless = <P extends FleetPattern>(pattern: P, role: Caller['role']): P =>
  role === 'viewer' ? { ...pattern, sample: null, mend: null } : pattern

function uidIn(query: Query): string {
  const uid = textIn(query, 'uid') ?? ''
  if (uid === '') throw bad('uid', 'name a session')
  return uid
}

const notThere = (uid: string): Refusal =>
  new Refusal(404, 'NOT_FOUND', `no session ${uid}`, 'recollect --server URL sessions lists them')

const NAMED = 8

/** A viewer's own sessions are all there are. */
export async function uidNamed(fleet: Fleet, { team, role, person }: Caller, typed: string): Promise<string> {
  const mine = role === 'viewer' ? { person } : {}
  const [first, ...others] = await sessionsNamed(fleet, { team, ...mine, typed, limit: NAMED + 1 })
  if (!first) throw notThere(typed)
  if (others.length === 0 || (first.is_whole && !others[0]?.is_whole)) return first.session_uid
  const names = [first, ...others].map((one) => one.session_uid)
  const more = names.length > NAMED ? ' and more' : ''
  throw new Refusal(
    400,
    'AMBIGUOUS',
    `several sessions begin with ${typed}`,
    `one of ${names.slice(0, NAMED).join(', ')}${more}`,
  )
}

export async function lineage({ fleet }: Serving, caller: Caller, query: Query): Promise<unknown> {
  return await findLineage(fleet, caller.team, [await uidNamed(fleet, caller, uidIn(query))])
}

export async function digest({ fleet }: Serving, caller: Caller, query: Query): Promise<unknown> {
  const uid = await uidNamed(fleet, caller, uidIn(query))
  const found = await readDigest(fleet, caller, uid, Date.now())
  if (found) return found
  throw new Refusal(
    404,
    'NOT_FOUND',
    'nobody pushed the digest of this session',
    'it takes push.level = "digest" or "full" on its machine',
  )
}

export const text = (serving: Serving, caller: Caller, query: Query): Promise<Buffer> =>
  textOf(serving, caller, uidIn(query))

/** The reading is committed to the audit log before anything is read. */
export async function textOf({ fleet, blobs }: Serving, caller: Caller, uid: string): Promise<Buffer> {
  const segments = await readSegments(fleet, caller, uid, Date.now())
  if (segments.length === 0)
    throw new Refusal(
      404,
      'NOT_FOUND',
      'nobody pushed the text of this session',
      'it takes push.level = "full" on its machine',
    )
  const parts: Buffer[] = []
  for (const [at, sha256] of segments.entries()) {
    const bytes = await blobs.get(blobName(caller.team, sha256))
    // With a hole in it, it would be another text.
    if (!bytes)
      throw new Refusal(
        404,
        'NOT_FOUND',
        `segment ${at + 1} of ${segments.length} is not in the store of segments`,
        'restore what serve.blobs names; its machine sends what lacks when the session changes',
      )
    parts.push(gunzipSync(bytes))
  }
  return Buffer.concat(parts)
}

export async function audit({ fleet }: Serving, caller: Caller): Promise<unknown> {
  const entries = await readings(fleet, caller)
  return { entries: entries.map((one) => ({ ...one, at: new Date(one.at).toISOString() })) }
}

/** By the names of the contract. */
export const ANSWERS: Partial<
  Record<keyof typeof ROUTES, (serving: Serving, caller: Caller, query: Query) => Promise<unknown>>
> = {
  sessions: (serving, caller, query) => sessions(serving, caller, query, false),
  search: (serving, caller, query) => sessions(serving, caller, query, true),
  usage,
  outcomes,
  patterns,
  retro: async (...asked) => (await import('./retro.ts')).retro(...asked),
  lineage,
  digest,
  text,
  audit,
}
