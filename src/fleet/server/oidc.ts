// People by an OpenID provider: code flow with PKCE, state and nonce. Who somebody is, and what they may see, is what the
// provider says in a signed token; a team and a role come from one claim by a table in the settings. openid-client, a certified
// library, does the protocol, and is loaded only where a provider is set.
import { ROLES, type Role } from '../../contract.ts'
import { RecollectError } from '../../errors.ts'
import type { Caller } from '../../store/postgres/access.ts'
import { isPrivate } from '../push/send.ts'
import { Refusal } from './guard.ts'

export interface OidcSettings {
  issuer: string
  clientId: string
  secret: string
  /** The server's own address. */
  url: string
  scope: string
  person: string
  claim: string
  roles: Readonly<Record<string, string>>
}

/** A sign-in that was begun is to be finished in this time. */
const PENDING_MS = 10 * 60_000
const MOST_PENDING = 1000

interface Pending {
  verifier: string
  nonce: string
  until: number
}

type Library = typeof import('openid-client')

export class Oidc {
  readonly #settings: OidcSettings
  readonly #library: Library
  readonly #known: Awaited<ReturnType<Library['discovery']>>
  readonly #pending = new Map<string, Pending>()

  private constructor(
    settings: OidcSettings,
    library: Library,
    known: Awaited<ReturnType<Library['discovery']>>,
  ) {
    this.#settings = settings
    this.#library = library
    this.#known = known
  }

  /** Asks the provider what it offers: one that is not there is refused at the start. */
  static async open(settings: OidcSettings): Promise<Oidc> {
    check(settings)
    const library = await import('openid-client')
    try {
      // On this machine nobody listens in between.
      const execute = settings.issuer.startsWith('http:') ? [library.allowInsecureRequests] : []
      const { issuer, clientId, secret } = settings
      const known = await library.discovery(new URL(issuer), clientId, secret, undefined, { execute })
      return new Oidc(settings, library, known)
    } catch (cause) {
      throw new RecollectError('UNREACHABLE', 'the OpenID provider does not answer as one', {
        where: settings.issuer,
        cause,
        hint: 'check serve.oidc.issuer: its /.well-known/openid-configuration has to be there',
      })
    }
  }

  get name(): string {
    return new URL(this.#settings.issuer).hostname
  }

  /** Where the browser is sent, and what it has to show when it comes back. */
  async begin(): Promise<{ location: string; state: string }> {
    const { randomPKCECodeVerifier, calculatePKCECodeChallenge, randomState, randomNonce } = this.#library
    const [verifier, state, nonce] = [randomPKCECodeVerifier(), randomState(), randomNonce()]
    for (const [old, { until }] of this.#pending)
      if (until < Date.now() || this.#pending.size >= MOST_PENDING) this.#pending.delete(old)
    this.#pending.set(state, { verifier, nonce, until: Date.now() + PENDING_MS })
    const location = this.#library.buildAuthorizationUrl(this.#known, {
      redirect_uri: this.#callback(),
      scope: this.#settings.scope,
      code_challenge: await calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      nonce,
    })
    return { location: location.href, state }
  }

  #callback(): string {
    return new URL('/login/callback', this.#settings.url).href
  }

  /** `state` is what this browser was given: another one's answer is refused. Each is good once. */
  async finish(query: string, state: string): Promise<Caller> {
    const pending = this.#pending.get(state)
    this.#pending.delete(state)
    if (!pending || pending.until < Date.now()) throw notFinished()
    let claims: Record<string, unknown> | undefined
    try {
      const answer = new URL(`${this.#callback()}${query}`)
      const tokens = await this.#library.authorizationCodeGrant(this.#known, answer, {
        pkceCodeVerifier: pending.verifier,
        expectedState: state,
        expectedNonce: pending.nonce,
        idTokenExpected: true,
      })
      claims = tokens.claims()
    } catch (cause) {
      throw Object.assign(notFinished(), { cause })
    }
    return callerIn(claims ?? {}, this.#settings)
  }
}

const notFinished = (): Refusal =>
  new Refusal(403, 'REFUSED', 'the sign-in came to nothing', 'begin again at /login')

function callerIn(claims: Record<string, unknown>, settings: OidcSettings): Caller {
  const person = claims[settings.person]
  if (typeof person !== 'string' || person === '')
    throw new Refusal(403, 'REFUSED', 'the provider does not say who this is', 'see serve.oidc.person')
  if (settings.person === 'email' && claims['email_verified'] !== true)
    throw new Refusal(403, 'REFUSED', 'the provider has not verified this address', 'see serve.oidc.person')
  const values = [claims[settings.claim]].flat()
  const [, mapped] = Object.entries(settings.roles).find(([value]) => values.includes(value)) ?? []
  if (mapped === undefined)
    throw new Refusal(403, 'REFUSED', 'nothing here is meant for this person', 'see serve.oidc.roles')
  return { person, ...teamAndRole(mapped) }
}

function teamAndRole(text: string): Pick<Caller, 'team' | 'role'> {
  const at = text.lastIndexOf(':')
  return { team: text.slice(0, Math.max(0, at)), role: text.slice(at + 1) as Role }
}

function check({ issuer, clientId, url, roles }: OidcSettings): void {
  const refuse = (message: string, where: string, hint: string): never => {
    throw new RecollectError('BAD_CONFIG', message, { where, hint })
  }
  if (clientId === '')
    refuse('the provider knows the server by no name', 'serve.oidc.client_id', 'register it there')
  if (url === '' || !isPrivate(url))
    refuse('people come back to an address with https', 'serve.url', 'such as https://fleet.example')
  if (!isPrivate(issuer))
    refuse('the provider has to be asked by https', 'serve.oidc.issuer', 'write https://')
  for (const [value, mapped] of Object.entries(roles)) {
    const { team, role } = teamAndRole(mapped)
    if (team === '' || role === 'device' || !ROLES.includes(role))
      refuse(`${mapped} is no team and role`, `serve.oidc.roles.${value}`, 'such as "shop:lead"')
  }
}
