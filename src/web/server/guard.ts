// Who may talk to the server. A page of the web can make a browser send requests here, under any name that it lets point
// at this machine; so the name is checked (Host), then who asks (Origin), then the cookie that only the printed address or
// the password gives. Whatever changes something needs a second secret that only our own page can read.
// The guard stands before the routes, not among them: none can be added that it does not cover. The few things that are
// answered without a cookie it answers itself.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { hostname, networkInterfaces } from 'node:os'
import { parse as parseCookies, serialize } from 'hono/utils/cookie'
import { bodyOf } from '../../http.ts'
import { Throttle } from '../../throttle.ts'
import {
  answerRefused,
  FOREIGN_HOST,
  FOREIGN_ORIGIN,
  isNavigation,
  NO_COOKIE,
  NO_PAGE_TOKEN,
  NO_PASSWORD,
  pathOf,
  type Refusal,
  smallPage,
  TOO_LARGE,
  tooManyTries,
  USED_TOKEN,
  wrongMethod,
} from './refusal.ts'

export interface GuardOptions {
  host: string
  port: () => number
  /** Needed where others can reach the server. */
  password?: string | undefined
  /** How pages outside the page look. */
  style: string
  /** Told when the one-time token was used. */
  onOpened?: (() => void) | undefined
}

const COOKIE_SECONDS = 30 * 86_400
/** Nobody has more to say than the id of a session or a password. */
export const MAX_BODY = 64 << 10

/** Nothing from elsewhere, nothing inline, and no text may become markup: sinks that parse HTML refuse strings. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

export const PAGE_HEADERS: Record<string, string> = {
  'content-security-policy': POLICY,
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  // Not no-referrer: with it a browser sends forms, such as the one for the password, with an Origin of null.
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'x-frame-options': 'DENY',
}

export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host)

const secret = (): string => randomBytes(24).toString('base64url')

/** In constant time, whatever the lengths. */
function isSame(a: string, b: string): boolean {
  const hash = (text: string): Buffer => createHash('sha256').update(text).digest()
  return timingSafeEqual(hash(a), hash(b))
}

const isReading = ({ method }: IncomingMessage): boolean => method === 'GET' || method === 'HEAD'

export class Guard {
  /** Stands in the page; a call that changes something sends it back. */
  readonly pageToken = secret()
  readonly #options: GuardOptions
  readonly #cookies = new Set<string>()
  readonly #throttle = new Throttle()
  #openToken: string | undefined = secret()

  constructor(options: GuardOptions) {
    this.#options = options
  }

  /** Good for one browser; undefined where a password is asked for instead. */
  get openToken(): string | undefined {
    return this.#options.password === undefined ? this.#openToken : undefined
  }

  /** What the server listens with: the routes are reached through here alone, with their body, which is bounded. */
  listener(routes: RequestListener): RequestListener {
    return (request, response) => {
      this.#receive(request, response, routes).catch(() => response.destroy())
    }
  }

  async #receive(request: IncomingMessage, response: ServerResponse, routes: RequestListener): Promise<void> {
    for (const [name, value] of Object.entries(PAGE_HEADERS)) response.setHeader(name, value)
    const foreign = this.#foreign(request)
    if (foreign) return answerRefused(request, response, foreign)
    if (await this.#letIn(request, response)) return
    const stranger = this.#stranger(request)
    if (stranger === NO_PASSWORD && isReading(request) && isNavigation(request))
      return redirect(response, '/login')
    if (stranger) return answerRefused(request, response, stranger)
    const rawBody = await bodyOf(request, MAX_BODY)
    if (rawBody === undefined) return answerRefused(request, response, TOO_LARGE)
    routes(Object.assign(request, { rawBody }), response)
  }

  #names(): Set<string> {
    const { host } = this.#options
    const names = new Set(['localhost', '127.0.0.1', '[::1]'])
    names.add(host.includes(':') ? `[${host}]` : host)
    if (isLoopback(host)) return names
    names.add(hostname().toLowerCase())
    for (const list of Object.values(networkInterfaces()))
      for (const { address, family } of list ?? []) names.add(family === 'IPv6' ? `[${address}]` : address)
    return names
  }

  /** The values of Host we answer to. */
  #hosts(): Set<string> {
    const port = this.#options.port()
    return new Set(
      [...this.#names()].flatMap((name) => (port === 80 ? [name, `${name}:80`] : [`${name}:${port}`])),
    )
  }

  #foreign(request: IncomingMessage): Refusal | undefined {
    const { host, origin, 'sec-fetch-site': site } = request.headers
    const hosts = this.#hosts()
    if (!hosts.has((host ?? '').toLowerCase())) return FOREIGN_HOST
    const isOurs = origin !== undefined && hosts.has(origin.replace(/^http:\/\//, '').toLowerCase())
    const isOpened = isReading(request) && isNavigation(request)
    const isFromElsewhere = (site === 'cross-site' || site === 'same-site') && !isOpened
    const isAllowed = (isOurs || (origin === undefined && isReading(request))) && !isFromElsewhere
    return isAllowed ? undefined : FOREIGN_ORIGIN
  }

  #stranger(request: IncomingMessage): Refusal | undefined {
    if (!this.#hasCookie(request)) return this.#options.password === undefined ? NO_COOKIE : NO_PASSWORD
    const given = request.headers['x-recollect-token']
    if (!isReading(request) && !isSame(String(given ?? ''), this.pageToken)) return NO_PAGE_TOKEN
    return undefined
  }

  /** Browsers keep one jar for all ports of a machine: a second page must not take the first one's cookie away. */
  #cookieName(): string {
    return `recollect-${this.#options.port()}`
  }

  #hasCookie({ headers }: IncomingMessage): boolean {
    const name = this.#cookieName()
    const cookie = parseCookies(headers.cookie ?? '', name)[name]
    return cookie !== undefined && this.#cookies.has(cookie)
  }

  /** All that is answered without a cookie; false for everything else. */
  async #letIn(request: IncomingMessage, response: ServerResponse): Promise<boolean> {
    const path = pathOf(request)
    if (path === '/style.css' && isReading(request)) {
      response.writeHead(200, { 'content-type': 'text/css; charset=utf-8' }).end(this.#options.style)
      return true
    }
    if (path === '/open') this.#open(request, response)
    else if (path === '/login' && this.#options.password !== undefined)
      await this.#login(request, response, this.#options.password)
    else return false
    return true
  }

  /** Trades the token of the printed address for a cookie. Only GET does: a HEAD is sent by who looks, not by who opens. */
  #open(request: IncomingMessage, response: ServerResponse): void {
    if (request.method !== 'GET') {
      answerRefused(request, response, wrongMethod('GET'))
      return
    }
    const token = this.openToken
    const asked = new URLSearchParams((request.url ?? '').split('?')[1])
    const given = asked.get('token') ?? ''
    const session = asked.get('session')
    // Encoded, it is a part of a path and of an attribute, and nothing else.
    const path = session === null ? '/' : `/s/${encodeURIComponent(session).replaceAll("'", '%27')}`
    if (token !== undefined && isSame(given, token)) {
      this.#openToken = undefined
      this.#options.onOpened?.()
      // Not redirected: a browser that was sent here from a file would follow without the cookie, which is SameSite=Strict.
      response.writeHead(200, { ...this.#newCookie(), 'content-type': 'text/html; charset=UTF-8' })
      response.end(
        smallPage(`<p><a href="${path}">Open</a></p>`, `<meta http-equiv="refresh" content="0;url=${path}">`),
      )
      return
    }
    // Who has the cookie already loses nothing by opening the address again.
    if (this.#hasCookie(request)) redirect(response, path)
    else answerRefused(request, response, USED_TOKEN)
  }

  async #login(request: IncomingMessage, response: ServerResponse, password: string): Promise<void> {
    if (isReading(request)) {
      const isWrong = request.url?.endsWith('?wrong') === true
      response.writeHead(200, { 'content-type': 'text/html; charset=UTF-8' }).end(loginPage(isWrong))
      return
    }
    if (request.method !== 'POST') return answerRefused(request, response, wrongMethod('GET, POST'))
    // Before the password is read: one that comes too soon is not looked at, right or wrong.
    const { waitMs } = this.#throttle.take(request.socket.remoteAddress ?? '')
    if (waitMs > 0) return answerRefused(request, response, tooManyTries(waitMs))
    const body = await bodyOf(request, MAX_BODY)
    if (body === undefined) return answerRefused(request, response, TOO_LARGE)
    const typed = new URLSearchParams(body.toString()).get('password') ?? ''
    if (isSame(typed, password)) redirect(response, '/', this.#newCookie())
    else redirect(response, '/login?wrong')
  }

  #newCookie(): { 'set-cookie': string } {
    const cookie = secret()
    this.#cookies.add(cookie)
    const options = { httpOnly: true, sameSite: 'Strict', path: '/', maxAge: COOKIE_SECONDS } as const
    return { 'set-cookie': serialize(this.#cookieName(), cookie, options) }
  }
}

const redirect = (response: ServerResponse, location: string, headers: Record<string, string> = {}): void =>
  void response.writeHead(303, { ...headers, location }).end()

const loginPage = (isWrong: boolean): string =>
  smallPage(`<form method="post" action="/login"><label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required autofocus>
${isWrong ? '<p role="alert">That was not it.</p>' : ''}<button>Open</button></form>`)
