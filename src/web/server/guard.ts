// Who may talk to the server. A page of the web can make a browser send requests here, under any name that it lets point
// at this machine; so the name is checked (Host), then who asks (Origin), then the cookie that only the printed address
// gives. Whatever changes something needs a second secret that only our own page can read.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { hostname, networkInterfaces } from 'node:os'
import type { Context, MiddlewareHandler } from 'hono'
import { getCookie, setCookie } from 'hono/cookie'
import { type ErrorCode, RecollectError } from '../../errors.ts'

export interface GuardOptions {
  host: string
  port: () => number
  /** Needed where others can reach the server. */
  password?: string | undefined
}

const COOKIE = 'recollect'
const COOKIE_SECONDS = 30 * 86_400
/** A wrong password costs this long; guesses queue up behind each other. */
const WRONG_PASSWORD_MS = 1000

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
  'report-uri /csp-report',
].join('; ')

export const HEADERS: Record<string, string> = {
  'content-security-policy': POLICY,
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
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

export class Guard {
  /** Stands in the page; a call that changes something sends it back. */
  readonly pageToken = secret()
  readonly #options: GuardOptions
  readonly #cookies = new Set<string>()
  #openToken: string | undefined = secret()
  #lastGuess: Promise<void> = Promise.resolve()

  constructor(options: GuardOptions) {
    this.#options = options
  }

  /** Good for one browser; undefined where a password is asked for instead. */
  get openToken(): string | undefined {
    return this.#options.password === undefined ? this.#openToken : undefined
  }

  get hasPassword(): boolean {
    return this.#options.password !== undefined
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

  checkHost: MiddlewareHandler = async (context, next) => {
    if (!this.#hosts().has((context.req.header('host') ?? '').toLowerCase()))
      return refused(context, 421, 'USAGE', 'this name is not served here', HOST_HINT, HEADERS)
    await next()
    for (const [name, value] of Object.entries(HEADERS)) context.res.headers.set(name, value)
  }

  checkOrigin: MiddlewareHandler = async (context, next) => {
    const origin = context.req.header('origin')
    const isOurs = origin !== undefined && this.#hosts().has(origin.replace(/^http:\/\//, '').toLowerCase())
    const isChanging = context.req.method !== 'GET' && context.req.method !== 'HEAD'
    const site = context.req.header('sec-fetch-site')
    const isForeign = (site === 'cross-site' || site === 'same-site') && !isNavigation(context)
    if ((origin !== undefined && !isOurs) || (isChanging && !isOurs) || isForeign)
      return refused(context, 403, 'USAGE', 'asked from another site', ORIGIN_HINT)
    await next()
  }

  checkCookie: MiddlewareHandler = async (context, next) => {
    const cookie = getCookie(context, COOKIE)
    if (cookie === undefined || !this.#cookies.has(cookie)) {
      if (this.hasPassword && isNavigation(context)) return context.redirect('/login')
      const how = this.hasPassword
        ? 'reload the page and give the password'
        : 'open the address that recollect ui printed; it is good once, so start recollect ui again for another'
      return refused(context, 401, 'USAGE', 'not signed in', how)
    }
    if (context.req.method !== 'GET' && context.req.method !== 'HEAD') {
      if (!isSame(context.req.header('x-recollect-token') ?? '', this.pageToken))
        return refused(context, 403, 'USAGE', 'the token of the page is missing', 'reload the page')
    }
    await next()
  }

  /** Trades the token of the printed address for a cookie. */
  open(context: Context): Response {
    const token = this.openToken
    if (token === undefined || !isSame(context.req.query('token') ?? '', token)) {
      // Who has the cookie already loses nothing by opening the address again.
      const cookie = getCookie(context, COOKIE)
      if (cookie !== undefined && this.#cookies.has(cookie)) return context.redirect('/')
      return refused(
        context,
        401,
        'USAGE',
        'this address was used before',
        'start recollect ui again for another',
      )
    }
    this.#openToken = undefined
    return this.#welcome(context)
  }

  async login(context: Context): Promise<Response> {
    const { password } = this.#options
    const typed = (await context.req.parseBody())['password']
    if (password !== undefined && typeof typed === 'string' && isSame(typed, password))
      return this.#welcome(context)
    this.#lastGuess = this.#lastGuess.then(() => new Promise((done) => setTimeout(done, WRONG_PASSWORD_MS)))
    await this.#lastGuess
    return context.redirect('/login?wrong', 303)
  }

  #welcome(context: Context): Response {
    const cookie = secret()
    this.#cookies.add(cookie)
    setCookie(context, COOKIE, cookie, {
      httpOnly: true,
      sameSite: 'Strict',
      path: '/',
      maxAge: COOKIE_SECONDS,
    })
    return context.redirect('/', 303)
  }
}

/** Our own words only: nothing that was asked for stands in it. */
const refusalPage = (what: string, hint: string): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Recollect</title><link rel="stylesheet" href="/style.css"></head><body><main class="login"><h1>Recollect</h1>
<p role="alert">${what}</p><p>${hint}</p></main></body></html>`

const HOST_HINT = 'open the address that recollect ui printed, by the name that stands in it'
const ORIGIN_HINT = 'open the page by the address that recollect ui printed, and ask from there'

/** Tells why there is no answer: a program in JSON, who opens it in a browser as a page, others in the words of the command line. */
export function refused(
  context: Context,
  status: 401 | 403 | 404 | 421,
  code: ErrorCode,
  what: string,
  hint: string,
  headers: Record<string, string> = {},
): Response {
  const { path } = context.req
  if (path.startsWith('/api/'))
    return context.json({ error: new RecollectError(code, what, { where: path, hint }) }, status, headers)
  if (isNavigation(context)) return context.html(refusalPage(what, hint), status, headers)
  return context.text(`error: ${what} [${code}]\nwhere: ${path}\ntry: ${hint}\n`, status, headers)
}

const isNavigation = (context: Context): boolean =>
  context.req.method === 'GET' && context.req.header('sec-fetch-mode') === 'navigate'
