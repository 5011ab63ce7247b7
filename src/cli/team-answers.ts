// What a team server answers, as commands show it. `--json` prints the server's own documents (docs/fleet-api.md). What it
// cannot answer is refused by name, never left out: a filter that is passed over would be a wrong answer.
import type { z } from 'zod'
import { Config } from '../config.ts'
import {
  digestAnswer,
  lineageAnswer,
  patternAnswer,
  retroAnswer,
  type SessionLine,
  sessionList,
  USAGE_KEYS,
  usageAnswer,
} from '../contract.ts'
import type { Digest } from '../digest/digest.ts'
import { RecollectError } from '../errors.ts'
import { isWholeDigest } from '../fleet/digest-shape.ts'
import { treesOfAnswer } from '../fleet/lineage-trees.ts'
import { ask, isPrivate, notTaken, type Server } from '../fleet/push/send.ts'
import { teamDocument } from '../fleet/retro-document.ts'
import { ROUTES, type RouteName } from '../fleet/routes.ts'
import { before, labelOf, startOf } from '../retro/period.ts'
import type { SessionFilter } from '../store/reader/filters.ts'
import { parseQuery } from '../store/words.ts'
import {
  type Answers,
  type ListedPattern,
  type ListedSession,
  notOfServer,
  type SESSION_ORDERS,
  typedHere,
} from './answers.ts'
import { plural } from './format.ts'
import { oneLine } from './text.ts'
import { parseChoice } from './values.ts'

const AT_MOST = 1000

export function teamAnswers(address: string): Answers {
  const server = serverOf(address, new Config(), process.env)
  return {
    sessions: (filter, order, isPart) => sessions(server, filter, order, isPart),
    search: (query, options) => search(server, query, options),
    usage: (question) => usage(server, question),
    patterns: (filter) => patterns(server, filter),
    digest: async (typed) => ({
      digest: asDigest(await get(server, 'digest', digestAnswer, { uid: plain(typed) })),
      tree: undefined,
    }),
    lineage: (typed) => lineage(server, typed),
    retro: (question) => retro(server, question),
  }
}

export const pageOf = (address: string): string => new URL('/', urlOf(address, new Config())).href

function refuse(message: string, where: string, hint: string): never {
  throw new RecollectError('BAD_CONFIG', message, { where, hint })
}

/** The address that was typed, or with `team` the one in the settings. */
function urlOf(address: string, config: Config): string {
  const isNamed = address === 'team'
  const url = isNamed ? config.get('server.url') || config.get('push.url') : address
  const where = isNamed ? config.place('server.url') : '--server'
  if (url === '') return refuse('no team server is set', where, 'set server.url; docs/fleet.md')
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    return refuse(`${url} is no address of a team server`, where, 'such as https://fleet.example, or team')
  if (!isPrivate(url))
    return refuse('a team server is asked by https only, or on this machine', where, 'write https://')
  return url
}

function serverOf(address: string, config: Config, env: Record<string, string | undefined>): Server {
  const url = urlOf(address, config)
  const name = config.get('server.token_env')
  const token = env[name]?.trim() ?? ''
  if (!/^(?:rct_[\w-]+$|[^:]+:.)/.test(token))
    return refuse(
      `${name} holds neither a token nor a name with a password`,
      `$${name}`,
      'recollect serve token create --role viewer, on the server; export it here',
    )
  return { url, token, timeoutMs: config.get('server.timeout') }
}

type Query = Record<string, string | number | undefined>

async function get<T>(server: Server, name: RouteName, schema: z.ZodType<T>, query: Query): Promise<T> {
  const asked = Object.entries(query).flatMap(([key, value]): [string, string][] =>
    value === undefined ? [] : [[key, String(value)]],
  )
  const answer = await ask(server, 'GET', `${ROUTES[name].path}?${new URLSearchParams(asked)}`)
  if (answer.status !== 200) throw notTaken(server.url, answer)
  const parsed = schema.safeParse(answer.body)
  if (parsed.success) return parsed.data
  throw new RecollectError('BAD_INPUT', 'the team server answered what this version does not understand', {
    where: new URL(server.url).origin,
    cause: parsed.error,
    hint: 'use the same version of recollect here and there',
  })
}

const NOT_THERE = 'a server does not hold what it rests on'

/** The filters that a server knows; others would be passed over. */
function narrowed(filter: SessionFilter): Query {
  const { flavor, repo, domain, model, outcome, hasError, sinceAt, untilAt, ...others } = filter
  const known = new Set(['limit', 'withSubagents', 'how', 'lineLength'])
  for (const [name, value] of Object.entries(others))
    if (value !== undefined && !known.has(name)) throw notOfServer(flagOf(name), NOT_THERE)
  if (repo === '.' || (repo !== undefined && typeof repo !== 'string'))
    throw notOfServer('--here', 'it knows repositories by name: --repo NAME')
  return {
    flavor,
    repo,
    domain,
    model: typeof model === 'string' ? model : undefined,
    outcome,
    errors: hasError ? 1 : undefined,
    since: sinceAt,
    until: untilAt,
  }
}

const flagOf = (name: string): string =>
  `--${name === 'kinds' ? 'kind' : name === 'tags' ? 'tag' : name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`

const SHORTEST = 13

/** Beginnings of ids that differ among what is listed; the server says where one is not enough. */
function shortIn(uids: readonly string[]): Map<string, string> {
  const native = (uid: string): string => uid.slice(uid.indexOf(':') + 1)
  const short = (uid: string): string => {
    for (let length = SHORTEST; length < native(uid).length; length += 4) {
      const start = native(uid).slice(0, length)
      if (uids.every((other) => other === uid || !native(other).startsWith(start))) return start
    }
    return uids.some((other) => other !== uid && native(other).startsWith(native(uid))) ? uid : native(uid)
  }
  return new Map(uids.map((uid) => [uid, short(uid)]))
}

function listed(lines: readonly SessionLine[]): ListedSession[] {
  const ids = shortIn(lines.map((one) => one.session_uid))
  return lines.map((one) => ({
    ...one,
    id: ids.get(one.session_uid) ?? one.session_uid,
    what: oneLine(one.title ?? ''),
    isEvicted: false,
    tokens: one.total_tokens,
    seconds:
      one.started_at && one.ended_at ? (Date.parse(one.ended_at) - Date.parse(one.started_at)) / 1000 : 0,
  }))
}

async function sessions(
  server: Server,
  filter: Parameters<Answers['sessions']>[0],
  order: (typeof SESSION_ORDERS)[number],
  isPart: boolean,
): ReturnType<Answers['sessions']> {
  if (order === 'cost') throw notOfServer('--sort cost', 'it prices sums, not sessions: recollect usage')
  const limit = Math.min(filter.limit ?? AT_MOST, AT_MOST)
  const document = await get(server, 'sessions', sessionList, {
    ...narrowed(filter),
    sort: order,
    all: filter.withSubagents ? 1 : undefined,
    limit,
  })
  const isCut = document.is_more && (isPart || filter.limit === undefined || filter.limit > limit)
  const rest =
    limit < AT_MOST ? `${limit} of more, which --limit shows` : `${limit} of more: narrow it with --since`
  return { document, lines: listed(document.sessions), ...(isCut ? { rest } : {}) }
}

async function search(
  server: Server,
  query: string,
  { limit = 10, ...options }: Parameters<Answers['search']>[1],
): ReturnType<Answers['search']> {
  if (options.how !== 'words')
    throw notOfServer(`--${options.how}`, 'it searches digests by words; bodies stay on their machines')
  const { wanted = [], unwanted } = parseQuery(query) ?? {}
  const isPlain = wanted.every((one) => !one.isPrefix && !(one.isQuoted && /\s/.test(one.text.trim())))
  if (unwanted !== undefined || !isPlain)
    throw notOfServer('"phrases", prefix* and -not', 'it looks for digests that hold all words')
  const document = await get(server, 'search', sessionList, {
    ...narrowed(options),
    q: query,
    limit: Math.min(limit, AT_MOST),
  })
  const lines = listed(document.sessions)
  return {
    document,
    unread: 0,
    head: lines.length === 0 ? ['no digest that you may read holds all of these words'] : [],
    sessions: lines.map((one) => ({ ...one, evicted: null, hits: [], missing: [], others: 0 })),
    rest: document.is_more ? `${lines.length} of more, which --limit shows` : undefined,
  }
}

const DIFFERENCE = 'the part of a few people would be the difference between two answers'

async function usage(
  server: Server,
  { group, zone, sinceAt, untilAt, ...filter }: Parameters<Answers['usage']>[0],
): ReturnType<Answers['usage']> {
  if (group === 'session') throw notOfServer('usage session', 'a session is of one person')
  for (const [name, value] of Object.entries(filter))
    if (value !== undefined) throw notOfServer(`usage with ${flagOf(name)}`, DIFFERENCE)
  const report = await get(server, 'usage', usageAnswer, {
    by: parseChoice(group, USAGE_KEYS, 'usage', 'usage by'),
    zone: zone.name,
    since: sinceAt,
    until: untilAt,
  })
  return { report, names: new Map() }
}

async function patterns(
  server: Server,
  { sinceAt, limit = 20 }: Parameters<Answers['patterns']>[0],
): ReturnType<Answers['patterns']> {
  const document = await get(server, 'patterns', patternAnswer, {
    since: sinceAt,
    limit: Math.min(limit, AT_MOST),
  })
  return {
    document,
    patterns: document.patterns.map(pattern),
    nothing: 'no failure was met by five people or more',
  }
}

function pattern(one: z.infer<typeof patternAnswer>['patterns'][number]): ListedPattern {
  const { tool, sample, fingerprint, count, sessions, repos, hosts, mended_sessions, mend } = one
  const mended = `  overcome in ${mended_sessions} of ${plural(sessions, 'session')}`
  return {
    kind: 'error',
    about: sample ?? `${tool || 'a failure'} (${fingerprint})`,
    count,
    where: [
      plural(sessions, 'session'),
      repos === 1 ? '1 repository' : `${repos} repositories`,
      plural(hosts, 'machine'),
    ],
    first_seen: one.first_seen,
    last_seen: one.last_seen,
    more: mended_sessions === 0 ? [] : [mend === null ? mended : `${mended}, such as by: ${oneLine(mend)}`],
  }
}

async function retro(
  server: Server,
  { period, zone, ...filter }: Parameters<Answers['retro']>[0],
): ReturnType<Answers['retro']> {
  for (const [name, value] of Object.entries(filter))
    if (value !== undefined) throw notOfServer(`retro with ${flagOf(name)}`, DIFFERENCE)
  const earlier = before(period)
  const report = await get(server, 'retro', retroAnswer, {
    since: startOf(period.firstDay, zone),
    until: startOf(period.endDay, zone),
    before: startOf(earlier.firstDay, zone),
    zone: zone.name,
  })
  const labels = { period: labelOf(period), before: labelOf(earlier) }
  const ids = shortIn(report.largest.map((one) => one.session_uid))
  return { report, document: teamDocument(report, labels, ids) }
}

/** A server knows sessions by their ids; which one is the last depends on whose. */
function plain(typed: string): string {
  const [id] = typed.split(/#\d/)
  if (id && !id.startsWith('@')) return id
  throw notOfServer(
    typed.trim() === '' ? 'an empty id' : typed,
    `name a session: ${typedHere('sessions')} lists them`,
  )
}

/** As far as it is shown: another version may have made it. */
function asDigest(found: Record<string, unknown>): Digest {
  if (isWholeDigest(found)) return found as unknown as Digest
  throw new RecollectError('BAD_INPUT', 'the digest is of another version, and cannot be shown here', {
    where: String(found['session_uid'] ?? 'the digest'),
    hint: 'update recollect on the machine it came from, and here',
  })
}

async function lineage(server: Server, typed: string | undefined): ReturnType<Answers['lineage']> {
  if (typed === undefined) throw notOfServer('lineage without an id', 'name a session')
  const document = await get(server, 'lineage', lineageAnswer, { uid: plain(typed) })
  const trees = treesOfAnswer(document)
  const uids = trees.nodes.map((one) => one.session_uid)
  const near = plain(typed)
  const asked = uids.filter((uid) => uid.startsWith(near) || uid.slice(uid.indexOf(':') + 1).startsWith(near))
  return {
    ...trees,
    document,
    ids: shortIn(uids),
    asked: asked.length === 1 ? asked[0] : asked.find((uid) => uid === near),
    isPriced: false,
  }
}
