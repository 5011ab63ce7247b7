// The pages of a team server, and how people get to them: by a password, and by a real OpenID provider that runs here.
import { generateKeyPairSync } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
// @ts-expect-error It comes without types.
import Provider from 'oidc-provider'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { hashPassword } from '../src/fleet/server/guard.ts'
import { Oidc, type OidcSettings } from '../src/fleet/server/oidc.ts'
import type { Here } from '../src/web/server/here.ts'
import { response, session, TestServer } from './setup/fleet.ts'
import { Cluster, freePort, HAS_POSTGRES } from './setup/postgres.ts'

const withPostgres = describe.skipIf(!HAS_POSTGRES)
const TEAM = 'shop'
const PASSWORD = 'correct horse battery'
const EVIL = '<script>alert(1)</script>'
let cluster: Cluster
let server: TestServer
let provider: Server
let settings: OidcSettings
/** Whom the provider takes its visitor for, and what it says of them. */
const visitor = { email_verified: true, groups: ['shop-leads'] as string[], name: 'ada' }
const people = new Map<string, never>()

/** A provider that asks nobody anything: whoever comes is the visitor. */
async function startProvider(callback: string): Promise<string> {
  let oidc: InstanceType<typeof Provider>
  provider = createServer((request, answer) => {
    if (!request.url?.startsWith('/interaction/')) return oidc.callback()(request, answer)
    return oidc.interactionFinished(request, answer, { login: { accountId: visitor.name } })
  })
  await new Promise<void>((done) => provider.listen(0, '127.0.0.1', done))
  const issuer = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`
  const key = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' })
  oidc = new Provider(issuer, {
    clients: [
      {
        client_id: 'recollect',
        client_secret: 'only-here',
        redirect_uris: [callback],
        token_endpoint_auth_method: 'client_secret_post',
        id_token_signed_response_alg: 'ES256',
      },
    ],
    jwks: { keys: [{ ...key, alg: 'ES256', use: 'sig', kid: 'one' }] },
    cookies: { keys: ['only here'] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], groups: ['groups'] },
    conformIdTokenClaims: false,
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    pkce: { required: () => true },
    ttl: { AccessToken: 60, AuthorizationCode: 60, Grant: 60, IdToken: 60, Interaction: 60, Session: 60 },
    findAccount: (_: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id, email: `${id}@shop.example`, ...visitor }),
    }),
    // biome-ignore lint/suspicious/noExplicitAny: it comes without types.
    loadExistingGrant: async ({ oidc: context }: any) => {
      const grant = new context.provider.Grant({
        clientId: context.client.clientId,
        accountId: context.session.accountId,
      })
      grant.addOIDCScope('openid email groups')
      await grant.save()
      return grant
    },
  })
  return issuer
}

/** As much of a browser as follows redirects and keeps cookies, of each host its own. */
class Browser {
  readonly #jars = new Map<string, Map<string, string>>()

  async open(url: string, init: RequestInit = {}): Promise<{ url: string; status: number; text: string }> {
    for (let hop = 0, at = new URL(url), how = init; hop < 12; hop++) {
      const jar = this.#jars.get(at.host) ?? new Map<string, string>()
      this.#jars.set(at.host, jar)
      const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
      const headers = { accept: 'text/html', ...(cookie === '' ? {} : { cookie }), ...how.headers }
      const got = await fetch(at, { ...how, headers, redirect: 'manual' })
      for (const line of got.headers.getSetCookie()) {
        const [, name, value] = /^([^=]+)=([^;]*)/.exec(line) as unknown as [string, string, string]
        if (/Max-Age=0|expires=Thu, 01 Jan 1970/i.test(line)) jar.delete(name)
        else jar.set(name, value)
      }
      const location = got.headers.get('location')
      if (location === null) return { url: at.href, status: got.status, text: await got.text() }
      at = new URL(location, at)
      how = {}
    }
    throw new Error('redirected for ever')
  }

  post(url: string, fields: Record<string, string>, origin = server.url): ReturnType<Browser['open']> {
    return this.open(url, { method: 'POST', body: new URLSearchParams(fields), headers: { origin } })
  }
}

/** What the page is told in its document. */
const hereIn = (html: string): Here =>
  JSON.parse(decodeURIComponent(/name="recollect-here" content="([^"]*)"/.exec(html)?.[1] ?? 'null'))

beforeAll(async () => {
  if (!HAS_POSTGRES) return
  cluster = await Cluster.start('fsync = off\n')
  const salt = Buffer.alloc(16, 1)
  const hash = await hashPassword(PASSWORD, salt)
  people.set('grace', { person: 'grace', team: TEAM, role: 'viewer', salt, hash } as never)
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  settings = {
    issuer: await startProvider(`${url}/login/callback`),
    clientId: 'recollect',
    secret: 'only-here',
    url,
    scope: 'openid email groups',
    person: 'email',
    claim: 'groups',
    roles: { 'shop-leads': `${TEAM}:lead`, everybody: `${TEAM}:viewer` },
  }
  const oidc = await Oidc.open(settings)
  server = await TestServer.start(cluster.url, { people: () => people, hasPasswords: true, url, port, oidc })
  const now = Date.now()
  for (let at = 0; at < 5; at++) {
    const person = at === 0 ? 'grace' : `p${at}`
    const digest = { title: `Quetzal ${at} ${EVIL}`, outcome: 'success', first_prompt: 'teach it to sing' }
    const pushed = session(`claude:q${at}`, `h${at}`, {
      level: 'digest',
      digest,
      facts: { started_at: now - 60_000, ended_at: now - 30_000 },
      ledger: [response(`r${at}`, 100, { at: now - 40_000 })],
    })
    expect((await server.put(await server.token(TEAM, person), pushed)).status).toBe(200)
  }
})
afterAll(async () => {
  await server?.close()
  provider?.closeAllConnections()
  provider?.close()
  cluster?.stop()
})

withPostgres('somebody with a password', () => {
  it('is let in, sees what the role may, and is out again', async () => {
    const browser = new Browser()
    const first = await browser.open(`${server.url}/sessions`)
    expect([first.url, first.text]).toEqual([
      `${server.url}/login`,
      expect.stringContaining('<h1>Sign in</h1>'),
    ])
    const wrong = await browser.post(`${server.url}/login`, { name: 'grace', password: 'wrong' })
    expect([wrong.status, wrong.text]).toEqual([403, expect.stringContaining('That was not it.')])
    // A form of another site signs nobody in.
    const forged = await browser.post(
      `${server.url}/login`,
      { name: 'grace', password: PASSWORD },
      'http://evil.example',
    )
    expect(forged.status).toBe(403)
    const week = await browser.post(`${server.url}/login`, { name: 'grace', password: PASSWORD })
    expect(week.url).toBe(`${server.url}/`)
    expect(hereIn(week.text).team).toEqual({ team: TEAM, person: 'grace', role: 'viewer' })
    const list = await browser.open(`${server.url}/api/sessions`)
    expect(JSON.parse(list.text).sessions.map((one: { title: string }) => one.title)).toEqual([
      `Quetzal 0 ${EVIL}`,
    ])
    const by = JSON.parse((await browser.open(`${server.url}/api/usage?group=model`)).text)
    expect(by.rows).toMatchObject([{ key: 'claude-opus-5-5', responses: 5 }])
    expect(JSON.parse((await browser.open(`${server.url}/api/patterns`)).text).patterns).toEqual([])
    const one = await browser.open(`${server.url}/api/sessions/claude:q0`)
    expect(one.text).toContain('Quetzal 0')
    const others = await browser.open(`${server.url}/api/sessions/claude:q1`)
    expect([others.status, others.text]).toEqual([404, expect.stringContaining('no session claude:q1')])
    // The bundle is for everybody, as the package is; what it is told is not.
    expect((await new Browser().open(`${server.url}/page.js`)).status).toBe(200)
    expect((await new Browser().open(`${server.url}/api/sessions`)).status).toBe(401)
    // Whoever is taken from the file is out at once.
    const line = people.get('grace') as never
    people.delete('grace')
    expect((await browser.open(`${server.url}/sessions`)).url).toBe(`${server.url}/login`)
    people.set('grace', line)
    expect((await browser.open(`${server.url}/sessions`)).status).toBe(200)
    await browser.post(`${server.url}/logout`, {})
    expect((await browser.open(`${server.url}/sessions`)).url).toBe(`${server.url}/login`)
  })
})

withPostgres('somebody who guesses a password', () => {
  it('is held up before it is looked at, by the form and as a client; others are not', async () => {
    // However long this takes, no time goes by: tries are given back by the clock.
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() })
    onTestFinished(() => void vi.useRealTimers())
    const salt = Buffer.alloc(16, 2)
    const hash = await hashPassword(PASSWORD, salt)
    people.set('joan', { person: 'joan', team: TEAM, role: 'viewer', salt, hash } as never)
    const asClient = async (name: string, password: string): Promise<number> => {
      const authorization = `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`
      return (await fetch(`${server.url}/v1/sessions`, { headers: { authorization } })).status
    }
    const byForm = async (password: string): Promise<number> =>
      (await new Browser().post(`${server.url}/login`, { name: 'joan', password })).status
    // Who asks much at once with one password has tried it once.
    const many = await Promise.all(Array.from({ length: 12 }, () => asClient('joan', PASSWORD)))
    expect(new Set(many)).toEqual(new Set([200]))
    const statuses: number[] = []
    for (let at = 0; at < 4; at++)
      statuses.push(at % 2 ? await byForm(`guess${at}`) : await asClient('joan', `guess${at}`))
    expect(statuses).toEqual([401, 403, 401, 403])
    expect([await byForm('guess'), await asClient('joan', 'guess')]).toEqual([429, 429])
    expect(await byForm(PASSWORD)).toBe(429)
    expect(await asClient('grace', PASSWORD)).toBe(200)
  })
})

withPostgres('somebody an OpenID provider knows', () => {
  it('is let in with the team and role of their group, and asks the server by the same cookie', async () => {
    const browser = new Browser()
    const week = await browser.open(`${server.url}/login/oidc`)
    expect(week.url).toBe(`${server.url}/`)
    expect(hereIn(week.text).team).toEqual({ team: TEAM, person: 'ada@shop.example', role: 'lead' })
    const found = await browser.open(`${server.url}/api/search/page?q=quetzal`)
    expect(found.text).toContain('Quetzal 4')
    expect(JSON.parse((await browser.open(`${server.url}/v1/sessions`)).text).sessions).toHaveLength(5)
    // That a lead read somebody's digest, that person sees.
    expect((await browser.open(`${server.url}/api/sessions/claude:q0`)).status).toBe(200)
    const grace = await server.token(TEAM, 'grace', 'viewer')
    expect((await server.ask(grace, 'GET', '/v1/audit')).body.entries).toMatchObject([
      { reader: 'ada@shop.example', session_uid: 'claude:q0', what: 'digest' },
    ])
  })

  it('is refused without a group that is mapped, with an address nobody verified, and by an answer that is not theirs', async () => {
    const denied = async (): Promise<[number, string]> => {
      const { status, text } = await new Browser().open(`${server.url}/login/oidc`)
      return [status, text]
    }
    visitor.groups = ['strangers']
    expect(await denied()).toEqual([403, expect.stringContaining('nothing here is meant for this person')])
    visitor.groups = ['everybody']
    visitor.email_verified = false
    expect(await denied()).toEqual([403, expect.stringContaining('has not verified this address')])
    visitor.email_verified = true
    // The first line that fits counts.
    visitor.groups = ['everybody', 'shop-leads']
    expect(hereIn((await new Browser().open(`${server.url}/login/oidc`)).text).team?.role).toBe('lead')
    // An answer brought to another browser, one that was used, and one that was made up.
    const begun = await fetch(`${server.url}/login/oidc`, { redirect: 'manual' })
    const state = new URL(begun.headers.get('location') as string).searchParams.get('state') as string
    expect((await new Browser().open(`${server.url}/login/callback?code=x&state=${state}`)).status).toBe(403)
    const forged = await fetch(`${server.url}/login/callback?code=x&state=${state}`, {
      headers: { cookie: `recollect-state=${state}`, accept: 'text/html' },
    })
    expect(forged.status).toBe(403)
    expect(server.log.join('\n')).not.toContain(state)
  })

  it('needs a provider that is one, and settings that lead to a role', async () => {
    await expect(Oidc.open({ ...settings, issuer: server.url })).rejects.toMatchObject({
      code: 'UNREACHABLE',
    })
    for (const wrong of [
      { clientId: '' },
      { url: 'http://fleet.example' },
      { issuer: 'http://login.example' },
      { roles: { a: 'shop:device' } },
      { roles: { a: 'lead' } },
    ])
      await expect(Oidc.open({ ...settings, ...wrong })).rejects.toMatchObject({ code: 'BAD_CONFIG' })
  })
})
