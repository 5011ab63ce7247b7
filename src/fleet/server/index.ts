// The team server: HTTP in, Postgres and blobs behind it. Bodies, connections and time are bounded; what is refused is told in
// words and logged without them: a log holds methods, paths and statuses, never a query or a body.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { errnoOf, fromSystem, fromUnforeseen, RecollectError } from '../../errors.ts'
import { refuse } from '../../http.ts'
import type { Redactor } from '../../redact/index.ts'
import type { Caller } from '../../store/postgres/access.ts'
import { ROUTES, type Route, type RouteName } from '../routes.ts'
import { ANSWERS, type Serving } from './answers.ts'
import { Entrance } from './entrance.ts'
import { Callers, Refusal, type readPeople, Turnstile } from './guard.ts'
import type { Oidc } from './oidc.ts'
import { PageAnswers } from './page.ts'
import { SignIns } from './sign-in.ts'
import { forget, takeSegment, takeSession } from './take.ts'

export interface FleetServerOptions extends Serving {
  host: string
  port: number
  redactor: Redactor
  people: () => ReturnType<typeof readPeople>
  /** Whether a file of people is set. */
  hasPasswords?: boolean
  /** As its proxy has it; cookies are sent over https alone where it begins so. */
  url?: string
  oidc?: Oidc | undefined
  /** One line for each request. */
  log: (line: string) => void
  /** Requests that write at a time. */
  writers?: number
}

export interface FleetServer {
  port: number
  close(): Promise<void>
}

const HEADERS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
}
/** Ten thousand that say little cost 100 MB, and go after ten seconds: as many again have to get in meanwhile. */
const MAX_CONNECTIONS = 12_000

export async function startFleetServer(options: FleetServerOptions): Promise<FleetServer> {
  const signIns = new SignIns(options.url ?? '')
  const callers = new Callers(options.fleet, options.people, signIns)
  const { hasPasswords = false, oidc } = options
  const entrance = new Entrance({ callers, signIns, hasPasswords, oidc })
  const page = new PageAnswers(options)
  const turnstile = new Turnstile(options.writers ?? 16)
  const server = createServer(
    {
      headersTimeout: 10_000,
      requestTimeout: 60_000,
      keepAliveTimeout: 10_000,
      connectionsCheckingInterval: 2000,
      maxHeaderSize: 16 << 10,
    },
    (request, response) => {
      answer({ options, callers, turnstile, entrance, page }, request, response).catch((error) => {
        const told = refusalOf(error)
        options.log(lineOf(request, told.status))
        // Where it happened, not what it was about: the words of a database quote what it was asked.
        if (told.status >= 500) options.log(`${new Date().toISOString()} ! ${placeOf(error)}`)
        if (response.headersSent) response.destroy()
        else refuseWith(request, response, told)
      })
    },
  )
  server.maxConnections = MAX_CONNECTIONS
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) =>
      reject(fromSystem(error, 'cannot listen', `${options.host}:${options.port}`)),
    )
    server.listen(options.port, options.host, resolve)
  })
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      // What is being written is written to its end.
      const closed = new Promise<void>((done) => server.close(() => done()))
      server.closeIdleConnections()
      const patience = setTimeout(() => server.closeAllConnections(), 5000)
      await closed
      clearTimeout(patience)
    },
  }
}

const lineOf = (request: IncomingMessage, status: number): string =>
  `${new Date().toISOString()} ${request.method} ${pathOf(request)
    .replace(/^(\/api\/sessions|\/s)\/[^/]+/, '$1/-')
    .replace(/[^\w/.-]/g, '?')
    .slice(0, 100)} ${status}`

function placeOf(thrown: unknown): string {
  const error = thrown instanceof RecollectError && thrown.cause instanceof Error ? thrown.cause : thrown
  const frame = error instanceof Error ? /^ +at (.+)$/m.exec(error.stack ?? '')?.[1] : undefined
  return [errnoOf(error) ?? '', frame ?? ''].join(' ').trim()
}

const pathOf = (request: IncomingMessage): string => (request.url ?? '/').split('?')[0] as string

interface Told {
  status: number
  error: RecollectError
  extra: Record<string, unknown>
}

function refusalOf(thrown: unknown): Told {
  if (thrown instanceof Refusal) return { status: thrown.status, error: thrown, extra: thrown.extra }
  const error = fromUnforeseen(thrown)
  if (error.code === 'UNREACHABLE') return { status: 503, error, extra: {} }
  if (error.code === 'BAD_NAME' || error.code === 'BAD_INPUT' || error.code === 'USAGE')
    return { status: 400, error, extra: {} }
  // What went wrong inside is in the cause, which stays here.
  const inside = new RecollectError('INTERNAL', 'the server could not do it', {
    where: 'the server',
    hint: 'see its log',
  })
  return { status: 500, error: inside, extra: {} }
}

function refuseWith(
  request: IncomingMessage,
  response: ServerResponse,
  { status, error, extra }: Told,
): void {
  const { code, message, where, hint } = error
  refuse(request, response, {
    status,
    headers: {
      ...HEADERS,
      'content-type': 'application/json',
      ...(status === 429 || status === 503 ? { 'retry-after': '1' } : {}),
      ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
    },
    body: `${JSON.stringify({ error: { code, message, where, hint }, ...extra })}\n`,
  })
}

interface Found {
  name: RouteName
  /** What stands in the place of a name in braces. */
  rest: string
}

function routeOf(request: IncomingMessage): Found {
  const path = pathOf(request)
  const routes = Object.entries(ROUTES) as [RouteName, Route][]
  const at = routes.filter(([, route]) =>
    route.path.endsWith('}')
      ? path.startsWith(route.path.slice(0, route.path.indexOf('{')))
      : route.path === path,
  )
  const [name, route] = at.find(([, one]) => one.method === request.method) ?? []
  if (name && route) return { name, rest: path.slice(route.path.indexOf('{')) }
  throw at.length > 0
    ? new Refusal(
        405,
        'USAGE',
        `${request.method} is no way to ask`,
        at.map(([, one]) => one.method).join(', '),
      )
    : new Refusal(404, 'NOT_FOUND', 'nothing is here', 'docs/fleet-api.md')
}

interface Parts {
  options: FleetServerOptions
  callers: Callers
  turnstile: Turnstile
  entrance: Entrance
  page: PageAnswers
}

async function answer(
  { options, callers, turnstile, entrance, page }: Parts,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (pathOf(request) === '/healthz') return void response.writeHead(204, HEADERS).end()
  const shown = await entrance.receive(request, response)
  if (shown !== undefined) return options.log(lineOf(request, shown))
  const told = pathOf(request).startsWith('/api/')
    ? { status: 200, body: await askedByPage(page, callers, request) }
    : await asked(options, callers, turnstile, request)
  options.log(lineOf(request, told.status))
  const body =
    told.body === undefined
      ? undefined
      : Buffer.isBuffer(told.body)
        ? told.body
        : Buffer.from(`${JSON.stringify(told.body)}\n`)
  const type = !Buffer.isBuffer(told.body)
    ? 'application/json'
    : pathOf(request).endsWith('.csv')
      ? 'text/csv; charset=utf-8'
      : 'application/x-ndjson'
  response.writeHead(told.status, {
    ...HEADERS,
    ...(body ? { 'content-type': type, 'content-length': body.length } : {}),
  })
  response.end(body)
  // What was not read of it (a segment that was there before) is heard out by the server.
  if (!request.complete) request.resume()
}

const queryOf = (request: IncomingMessage): URLSearchParams =>
  new URLSearchParams((request.url ?? '').split('?').slice(1).join('?'))

async function asked(
  options: FleetServerOptions,
  callers: Callers,
  turnstile: Turnstile,
  request: IncomingMessage,
): Promise<{ status: number; body?: unknown }> {
  const found = routeOf(request)
  const caller = await callers.of(request)
  if (!(ROUTES[found.name].roles as readonly string[]).includes(caller.role))
    throw new Refusal(
      403,
      'REFUSED',
      `a ${caller.role} may not`,
      'ask whoever runs the server for another role',
    )
  return await done(options, turnstile, found, { caller, query: queryOf(request), request })
}

/** Nothing there changes anything; another site's page is refused all the same, whatever its browser sends along. */
async function askedByPage(page: PageAnswers, callers: Callers, request: IncomingMessage): Promise<unknown> {
  if (request.method !== 'GET') throw new Refusal(405, 'USAGE', `${request.method} is no way to ask`, 'GET')
  if (!['same-origin', 'none', undefined].includes(request.headers['sec-fetch-site'] as string | undefined))
    throw new Refusal(403, 'REFUSED', 'asked from another site', 'open the page of this server')
  return await page.answer(await callers.of(request), pathOf(request), queryOf(request))
}

async function done(
  options: FleetServerOptions,
  turnstile: Turnstile,
  { name, rest }: Found,
  { caller, query, request }: { caller: Caller; query: URLSearchParams; request: IncomingMessage },
): Promise<{ status: number; body?: unknown }> {
  const pass = <T>(work: () => Promise<T>): Promise<T> =>
    turnstile.pass(work, `${caller.team}\0${caller.person}`)
  switch (name) {
    case 'putSegment':
      return { status: (await pass(() => takeSegment(options, caller, rest, request))) ? 201 : 412 }
    case 'putSession':
      return { status: 200, body: await pass(() => takeSession(options, caller, request)) }
    case 'deleteSession':
      await pass(() => forget(options, caller, query))
      return { status: 204 }
    default:
      return { status: 200, body: await ANSWERS[name]?.(options, caller, query) }
  }
}
