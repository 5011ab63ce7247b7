// How people get to the page: by a password of the file of people, or by an OpenID provider. Nothing behind it changes anything,
// so that a cookie is enough; the two forms there are (in and out) are taken from our own pages alone.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { bodyOf } from '../../http.ts'
import { escapeHtml } from '../../retro/escape.ts'
import type { Caller } from '../../store/postgres/access.ts'
import { type Callers, Refusal, Turnstile } from './guard.ts'
import type { Oidc } from './oidc.ts'
import { documentFor, fileOf, isOpened, isPage, plainPage, sendPage } from './pages.ts'
import { cookieOf, type SignIns, STATE_COOKIE, setCookie } from './sign-in.ts'

const MAX_FORM = 4096
const STATE_SECONDS = 600

export interface Doors {
  callers: Callers
  signIns: SignIns
  hasPasswords: boolean
  oidc: Oidc | undefined
}

export class Entrance {
  readonly #doors: Doors
  /** Passwords cost 50 ms each to check. */
  readonly #tries = new Turnstile(2)

  constructor(doors: Doors) {
    this.#doors = doors
  }

  /** The status that was answered; undefined for what is no page. */
  async receive(request: IncomingMessage, response: ServerResponse): Promise<number | undefined> {
    const [path = '/', ...rest] = (request.url ?? '/').split('?')
    const search = rest.length === 0 ? '' : `?${rest.join('?')}`
    const known = ['/login', '/login/oidc', '/login/callback', '/logout'].includes(path)
    const file = request.method === 'GET' ? fileOf(path) : undefined
    if (file) return send(response, { status: 200, ...file }, false)
    if (!known && !isPage(path)) return undefined
    try {
      const told = await this.#answer(request, path, search)
      if ('location' in told) {
        const cookies = told.cookies ?? []
        response
          .writeHead(303, { location: told.location, 'cache-control': 'no-store', 'set-cookie': cookies })
          .end()
        return 303
      }
      return send(response, { ...told, type: HTML }, told.isPlain)
    } catch (error) {
      if (!(error instanceof Refusal) || !isOpened(request)) throw error
      const words = `<p>${escapeHtml(error.message)}</p><p>${escapeHtml(error.hint)}</p><p><a href="/">Go on</a></p>`
      const body = plainPage('This cannot be shown', words)
      return send(response, { status: error.status, body, type: HTML }, true)
    }
  }

  async #answer(request: IncomingMessage, path: string, search: string): Promise<Told> {
    const { signIns, oidc } = this.#doors
    const isPost = request.method === 'POST'
    if (
      isPost !== (path === '/logout' || (path === '/login' && isPost)) ||
      (!isPost && request.method !== 'GET')
    )
      throw new Refusal(405, 'USAGE', `${request.method} is no way to ask`, 'GET')
    if (isPost) refuseForeign(request)
    if (path === '/logout') return { location: '/login', cookies: [signIns.close(request)] }
    if (path === '/login') return isPost ? await this.#byPassword(request) : this.#loginPage('')
    if (path === '/login/oidc' || path === '/login/callback') {
      if (!oidc) throw new Refusal(404, 'NOT_FOUND', 'no OpenID provider is set', 'serve.oidc.issuer')
      return path === '/login/oidc'
        ? await this.#toProvider(oidc)
        : await this.#fromProvider(oidc, request, search)
    }
    const caller = signIns.of(request)
    if (!caller) return { location: '/login' }
    return { status: 200, body: documentFor(caller), isPlain: false }
  }

  #loginPage(wrong: string): Told {
    const { hasPasswords, oidc } = this.#doors
    const form = `<form method="post" action="/login"><p><label>Name <input name="name" autocomplete="username" required></label></p>
<p><label>Password <input name="password" type="password" autocomplete="current-password" required></label></p><button>Sign in</button></form>`
    const link = oidc ? `<p><a href="/login/oidc">Sign in with ${escapeHtml(oidc.name)}</a></p>` : ''
    const none =
      hasPasswords || oidc
        ? ''
        : '<p>Nobody can sign in here: neither serve.people nor serve.oidc is set.</p>'
    const alert = wrong === '' ? '' : `<p role="alert">${escapeHtml(wrong)}</p>`
    const body = `<section>${alert}${hasPasswords ? form : ''}${link}${none}</section>`
    return { status: wrong === '' ? 200 : 403, body: plainPage('Sign in', body), isPlain: true }
  }

  async #byPassword(request: IncomingMessage): Promise<Told> {
    const body = await bodyOf(request, MAX_FORM)
    if (body === undefined)
      throw new Refusal(413, 'TOO_LARGE', 'more than a name and a password', 'try again')
    const typed = new URLSearchParams(body.toString())
    const [name, password] = [typed.get('name') ?? '', typed.get('password') ?? '']
    const { callers, signIns } = this.#doors
    const found = await this.#tries.pass(() => callers.byPassword(request, name, password))
    if (!found) return this.#loginPage('That was not it.')
    return { location: '/', cookies: [signIns.open(found.caller, found.isGood)] }
  }

  async #toProvider(oidc: Oidc): Promise<Told> {
    const { location, state } = await oidc.begin()
    return {
      location,
      cookies: [setCookie(STATE_COOKIE, state, STATE_SECONDS, this.#doors.signIns.isSecure)],
    }
  }

  async #fromProvider(oidc: Oidc, request: IncomingMessage, search: string): Promise<Told> {
    const { signIns } = this.#doors
    const caller: Caller = await oidc.finish(search, cookieOf(request, STATE_COOKIE) ?? '')
    return {
      location: '/',
      cookies: [setCookie(STATE_COOKIE, 'none', 0, signIns.isSecure), signIns.open(caller)],
    }
  }
}

type Told = { status: number; body: string; isPlain: boolean } | { location: string; cookies?: string[] }

const HTML = 'text/html; charset=utf-8'

function send(
  response: ServerResponse,
  told: { status: number; body: string; type: string },
  isPlain: boolean,
): number {
  sendPage(response, { ...told, isPlain })
  return told.status
}

/** A form that another site sends would sign somebody in as who they are not. */
function refuseForeign({ headers }: IncomingMessage): void {
  const { origin, host, 'sec-fetch-site': site } = headers
  const isOurs = origin !== undefined && URL.canParse(origin) && new URL(origin).host === host
  if (isOurs && (site === undefined || site === 'same-origin')) return
  throw new Refusal(403, 'REFUSED', 'the form is not from here', 'open /login')
}
