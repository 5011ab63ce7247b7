// Browsers that are signed in to a team server: by a cookie for some hours, kept in memory. A restart signs everybody out.
import { createHash, randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Caller } from '../../store/postgres/access.ts'

const LASTS_MS = 8 * 3_600_000
const MOST = 10_000
const COOKIE = 'recollect-team'
/** What a browser shows when it comes back from a provider. */
export const STATE_COOKIE = 'recollect-state'

interface SignedIn {
  caller: Caller
  until: number
  /** False when what they signed in with is not good any more. */
  isGood: () => boolean
}

const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex')

export function cookieOf({ headers }: IncomingMessage, name: string): string | undefined {
  for (const part of (headers.cookie ?? '').split(';')) {
    const [key, value] = part.trim().split('=')
    if (key === name && value) return value
  }
  return undefined
}

/** Not to scripts, not in frames and requests of other sites; over https alone where that is how the server is reached. */
export const setCookie = (name: string, value: string, seconds: number, isSecure: boolean): string =>
  `${name}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`

export class SignIns {
  readonly #known = new Map<string, SignedIn>()
  readonly #isSecure: boolean

  constructor(url: string) {
    this.#isSecure = url.startsWith('https:')
  }

  get isSecure(): boolean {
    return this.#isSecure
  }

  /** Returns the header that makes the browser known. */
  open(caller: Caller, isGood: () => boolean = () => true): string {
    const secret = randomBytes(32).toString('base64url')
    for (const [key, { until }] of this.#known)
      if (until < Date.now() || this.#known.size >= MOST) this.#known.delete(key)
    this.#known.set(hashOf(secret), { caller, until: Date.now() + LASTS_MS, isGood })
    return setCookie(COOKIE, secret, LASTS_MS / 1000, this.#isSecure)
  }

  of(request: IncomingMessage): Caller | undefined {
    const secret = cookieOf(request, COOKIE)
    const found = secret === undefined ? undefined : this.#known.get(hashOf(secret))
    return found && found.until > Date.now() && found.isGood() ? found.caller : undefined
  }

  /** Returns the header that takes the cookie away. */
  close(request: IncomingMessage): string {
    const secret = cookieOf(request, COOKIE)
    if (secret !== undefined) this.#known.delete(hashOf(secret))
    return setCookie(COOKIE, 'none', 0, this.#isSecure)
  }
}
