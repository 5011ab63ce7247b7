// A team server on a real PostgreSQL: what is written, by whom, how often, and who sees it.
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hashPassword } from '../src/fleet/server/guard.ts'
import { retainAll } from '../src/fleet/server/retain.ts'
import { setTeam } from '../src/store/postgres/access.ts'
import { migrate, pendingMigrations } from '../src/store/postgres/database.ts'
import { FLEET_MIGRATIONS } from '../src/store/postgres/schema.ts'
import { hostId, response, segment, session, TestServer } from './setup/fleet.ts'
import { Cluster, HAS_POSTGRES } from './setup/postgres.ts'

const withPostgres = describe.skipIf(!HAS_POSTGRES)
let cluster: Cluster
let server: TestServer
let teams = 0
/** A team of its own for each test, with a machine and somebody who sees all. */
async function newTeam(): Promise<{ team: string; device: string; admin: string }> {
  const team = `team-${++teams}`
  return { team, device: await server.token(team, 'ada'), admin: await server.token(team, 'root', 'admin') }
}

beforeAll(async () => {
  if (!HAS_POSTGRES) return
  cluster = await Cluster.start('fsync = off\n')
  const salt = Buffer.alloc(16, 1)
  const hash = await hashPassword('correct horse battery', salt)
  server = await TestServer.start(cluster.url, {
    people: () => new Map([['grace', { person: 'grace', team: 'by-password', role: 'lead', salt, hash }]]),
  })
})
afterAll(async () => {
  await server?.close()
  cluster?.stop()
})

withPostgres('migrations', () => {
  it('are done once, and shown before', async () => {
    expect(await pendingMigrations(server.fleet)).toEqual([])
    expect(await migrate(server.fleet)).toEqual([])
    expect(cluster.sql('SELECT count(*) FROM recollect.migrations').trim()).toBe(`${FLEET_MIGRATIONS.length}`)
  })

  it('are all that the dry run prints: by hand, as an owner without other rights, the same is done', async () => {
    const own = await Cluster.start('fsync = off\n')
    own.sql('CREATE ROLE keeper LOGIN CREATEROLE')
    own.sql('CREATE DATABASE kept OWNER keeper')
    const url = own.url.replace('postgres@', 'keeper@').replace(/postgres$/, 'kept')
    const told = (...words: string[]): string =>
      execFileSync(process.execPath, ['dist/cli.cjs', 'serve', 'migrate', ...words], {
        env: { PATH: process.env['PATH'], HOME: '/nonexistent', DATABASE_URL: url },
        encoding: 'utf8',
      })
    own.sql(told('--dry-run'), 'keeper', 'kept')
    expect([told('--dry-run'), told()]).toEqual(['nothing to do\n', 'nothing to do\n'])
    const kept = await TestServer.start(url)
    expect((await kept.put(await kept.token('t', 'ada'), session('claude:one', 'loft'))).status).toBe(200)
    await kept.close()
    own.stop()
  })
})

withPostgres('a session', () => {
  it('is written once, whoever sends it how often', async () => {
    const { device, admin, team } = await newTeam()
    const push = session('claude:one', 'loft')
    expect(await server.put(device, push)).toMatchObject({
      status: 200,
      body: { state: 'stored', generation: 1 },
    })
    expect(await server.put(device, push)).toMatchObject({
      status: 200,
      body: { state: 'same', generation: 1 },
    })
    // From a generation that is not the one there is: told which that is.
    const grown = { ...push, session: { ...push.session, events: 12 } }
    expect(await server.put(device, grown)).toMatchObject({ status: 409, body: { generation: 1 } })
    expect(await server.put(device, { ...grown, from: 1 })).toMatchObject({
      status: 200,
      body: { generation: 2 },
    })
    expect(await server.put(device, { ...grown, from: 1 })).toMatchObject({
      status: 200,
      body: { state: 'same', generation: 2 },
    })
    // Four at once from the same generation: one gets through.
    const racing = await Promise.all(
      Array.from({ length: 4 }, (_, at) =>
        server.put(device, { ...push, from: 2, session: { ...push.session, events: 20 + at } }),
      ),
    )
    expect(racing.map((one) => one.status).sort()).toEqual([200, 409, 409, 409])
    expect((await server.ask(admin, 'GET', '/v1/sessions')).body.sessions).toHaveLength(1)
    expect(cluster.sql(`SELECT count(*) FROM recollect.ledger WHERE team = '${team}'`).trim()).toBe('1')
  })

  it('that two machines have counts once, and so does what a fork on one copied from its origin on the other', async () => {
    for (const order of [
      [0, 1, 2],
      [2, 1, 0],
    ]) {
      const { device, admin, team } = await newTeam()
      const hour = 3_600_000
      const origin = session('claude:origin', 'loft', { ledger: [response('a', 100), response('b', 50)] })
      // The same session, resumed on a machine whose clock is an hour off, with one response more.
      const resumed = session('claude:origin', 'cellar', {
        facts: { events: 20, started_at: (origin.session.started_at as number) + hour },
        ledger: [response('a', 100), response('b', 50), response('c', 7)],
      })
      const fork = session('claude:fork', 'cellar', {
        facts: { started_at: (origin.session.started_at as number) + 2 * hour, relation: 'fork' },
        ledger: [response('a', 100), response('b', 50), response('d', 3)],
        edges: [{ kind: 'interactive_fork', parent_uid: 'claude:origin', at: null }],
      })
      for (const at of order)
        expect((await server.put(device, [origin, resumed, fork][at] as never)).status).toBe(200)
      // By five people's worth of another machine's tokens it may be shown.
      for (let at = 0; at < 4; at++) {
        const other = await server.token(team, `p${at}`)
        await server.put(other, session(`claude:other-${at}`, `host-${at}`, { ledger: [] }))
      }
      const sums = (): string =>
        cluster.sql(`SELECT string_agg(session_uid || '@' || host_id || ':' || total_tokens, ' ' ORDER BY session_uid, host_id)
          FROM recollect.sessions WHERE team = '${team}' AND session_uid LIKE '%r%' AND session_uid NOT LIKE '%other%'`)
      await server.ask(admin, 'GET', '/v1/usage?by=day')
      const total = cluster
        .sql(`SELECT sum(output), sum(responses) FROM recollect.usage_slots WHERE team = '${team}'`)
        .trim()
      expect([total, sums()]).toEqual([
        '160|4',
        expect.stringContaining(`claude:origin@${hostId('loft')}:170`),
      ])
      // One session in lists: the one that holds most of it. One tree over both machines.
      const { sessions } = (await server.ask(admin, 'GET', '/v1/sessions?limit=100')).body
      expect(
        sessions.filter((one: { session_uid: string }) => one.session_uid === 'claude:origin'),
      ).toMatchObject([{ host: 'cellar' }])
      const tree = (await server.ask(admin, 'GET', '/v1/lineage?uid=claude:origin')).body
      expect(tree.sessions.map((one: { session_uid: string }) => one.session_uid).sort()).toEqual([
        'claude:fork',
        'claude:origin',
      ])
      // What one machine takes back, another counts.
      expect(
        (await server.ask(device, 'DELETE', `/v1/sessions?uid=claude:origin&host=${hostId('loft')}`)).status,
      ).toBe(204)
      await server.ask(admin, 'GET', '/v1/usage?by=day')
      expect(
        cluster
          .sql(`SELECT sum(output), sum(responses) FROM recollect.usage_slots WHERE team = '${team}'`)
          .trim(),
      ).toBe('160|4')
      expect((await server.put(device, origin)).status).toBe(410)
    }
  })

  it('at a lower level leaves nothing above it behind', async () => {
    const { device, admin, team } = await newTeam()
    const { bytes, named } = segment([{ seq: 1, said: 'quetzal' }])
    const digest = {
      title: 'Teach the quetzal',
      first_prompt: 'teach the quetzal to sing',
      error_snippets: [],
    }
    const full = session('claude:full', 'loft', { level: 'full', digest, segments: [named] })
    expect(await server.put(device, full)).toMatchObject({ status: 409, body: { missing: [named.sha256] } })
    const put = () =>
      server.ask(device, 'PUT', `/v1/segments/${named.sha256}`, bytes, { 'if-none-match': '*' })
    expect([(await put()).status, (await put()).status]).toEqual([201, 412])
    expect((await server.put(device, full)).status).toBe(200)
    const auditor = await server.token(team, 'iris', 'auditor')
    expect((await server.ask(auditor, 'GET', '/v1/text?uid=claude:full')).body).toBe(
      '{"seq":1,"said":"quetzal"}\n',
    )
    // Whoever was read sees by whom.
    const ada = await server.token(team, 'ada', 'viewer')
    expect((await server.ask(ada, 'GET', '/v1/audit')).body.entries).toMatchObject([
      { reader: 'iris', session_uid: 'claude:full', what: 'text' },
    ])
    const other = await server.token(team, 'ida', 'viewer')
    expect((await server.ask(other, 'GET', '/v1/audit')).body.entries).toEqual([])
    expect((await server.ask(admin, 'GET', '/v1/search?q=Quetzal')).body.sessions).toHaveLength(1)
    expect((await server.put(device, session('claude:full', 'loft', { from: 1 }))).status).toBe(200)
    expect((await server.ask(admin, 'GET', '/v1/search?q=quetzal')).body.sessions).toEqual([])
    expect((await server.ask(auditor, 'GET', '/v1/text?uid=claude:full')).status).toBe(404)
    expect(cluster.dump()).not.toMatch(/quetzal/i)
    expect(
      readdirSync(server.blobDirectory, { recursive: true }).filter((name) =>
        String(name).includes(named.sha256),
      ),
    ).toEqual([])
  })

  it('is never told with a hole in it: a store that lost a segment is named', async () => {
    const { device, admin } = await newTeam()
    const parts = [segment([{ seq: 1 }]), segment([{ seq: 400 }], 400)]
    for (const { bytes, named } of parts)
      await server.ask(device, 'PUT', `/v1/segments/${named.sha256}`, bytes, { 'if-none-match': '*' })
    const named = parts.map((one) => one.named)
    const push = session('claude:holed', 'loft', { level: 'full', segments: named })
    expect((await server.put(device, push)).status).toBe(200)
    const lost = String(
      readdirSync(server.blobDirectory, { recursive: true }).find((name) =>
        String(name).endsWith(named[1]?.sha256 as string),
      ),
    )
    rmSync(join(server.blobDirectory, lost))
    expect(await server.ask(admin, 'GET', '/v1/text?uid=claude:holed')).toMatchObject({
      status: 404,
      body: { error: { message: 'segment 2 of 2 is not in the store of segments' } },
    })
  })

  it('is found by parts of identifiers and CJK words', async () => {
    const { device, admin } = await newTeam()
    const digest = {
      title: 'parseLineOffsets breaks',
      first_prompt: '修复登录页面',
      files: [{ path: 'src/files/jsonl.ts' }],
    }
    await server.put(device, session('claude:words', 'loft', { level: 'digest', digest }))
    for (const [typed, count] of [
      ['offsets', 1],
      ['parseLineOffsets', 1],
      ['登录', 1],
      ['jsonl.ts', 1],
      ["it's", 0],
      ["') OR 1=1 --", 0],
      ['', 0],
    ] as const)
      expect([
        typed,
        (await server.ask(admin, 'GET', `/v1/search?q=${encodeURIComponent(typed)}`)).body.sessions.length,
      ]).toEqual([typed, count])
  })

  it('goes when its team keeps it no longer, and not under a legal hold', async () => {
    const { device, team } = await newTeam()
    await server.put(device, session('claude:old', 'loft'))
    const set = (is_held: boolean) => setTeam(server.fleet, { team, keep_days: 1, is_held }, 0)
    const count = () => cluster.sql(`SELECT count(*) FROM recollect.sessions WHERE team = '${team}'`).trim()
    const now = Date.UTC(2026, 10, 9)
    await set(true)
    await retainAll(server.fleet, server.blobs, now)
    expect(count()).toBe('1')
    expect(
      (await server.ask(device, 'DELETE', `/v1/sessions?uid=claude:old&host=${hostId('loft')}`)).status,
    ).toBe(409)
    await set(false)
    expect((await retainAll(server.fleet, server.blobs, now)).sessions).toBe(1)
    expect(count()).toBe('0')
  })
})

withPostgres('figures', () => {
  it('of fewer than five people are not shown, nor what is left when others are taken off', async () => {
    const { team, admin } = await newTeam()
    for (let at = 0; at < 6; at++) {
      const device = await server.token(team, `p${at}`)
      await server.put(
        device,
        session(`claude:a${at}`, `h${at}`, { facts: { repo: 'many' }, ledger: [response(`a${at}`, 100)] }),
      )
      if (at < 2)
        await server.put(
          device,
          session(`claude:b${at}`, `h${at}`, { facts: { repo: 'few' }, ledger: [response(`b${at}`, 5)] }),
        )
    }
    const usage = async (by: string) => (await server.ask(admin, 'GET', `/v1/usage?by=${by}`)).body
    expect((await usage('repo')).rows).toMatchObject([
      { key: '(fewer than five people)', output_tokens: 610 },
    ])
    for (const by of ['day', 'week', 'month', 'team', 'model', 'flavor'])
      expect((await usage(by)).rows).toMatchObject([{ output_tokens: 610, responses: 8 }])
    expect((await usage('month')).rows[0].key).toBe('2026-11')
    expect((await usage('host')).rows).toMatchObject([{ key: '(fewer than five people)' }])
    // The two sessions of the few would be what all are more than the others.
    expect((await server.ask(admin, 'GET', '/v1/outcomes')).body).toEqual({ outcomes: [], not_shown: true })
    const small = await newTeam()
    await server.put(small.device, session('claude:alone', 'loft'))
    expect((await server.ask(small.admin, 'GET', '/v1/usage')).body).toMatchObject({
      rows: [],
      total: null,
      models: [],
    })
  })

  it('of how sessions ended are not told of few, nor by what a total is more than the rest', async () => {
    const { team, admin } = await newTeam()
    const push = async (at: number, outcome: 'success' | 'abandoned' | 'fail'): Promise<void> => {
      const pushed = session(`claude:${outcome}${at}`, `h${at}`, {
        facts: { outcome },
        ledger: [response(`${outcome}${at}`, 1)],
      })
      expect((await server.put(await server.token(team, `p${at}`), pushed)).status).toBe(200)
    }
    for (let at = 0; at < 7; at++) await push(at, 'success')
    for (let at = 0; at < 6; at++) await push(at, 'abandoned')
    const outcomes = async (): Promise<unknown> => (await server.ask(admin, 'GET', '/v1/outcomes')).body
    const all = [
      { repo: 'shop', outcome: 'abandoned', sessions: 6 },
      { repo: 'shop', outcome: 'success', sessions: 7 },
    ]
    expect(await outcomes()).toEqual({ outcomes: all, not_shown: false })
    await push(0, 'fail')
    expect(await outcomes()).toEqual({ outcomes: all.slice(1), not_shown: true })
    const day = Date.UTC(2026, 10, 2)
    const span = `since=${day}&until=${day + 86_400_000}&before=${day - 86_400_000}`
    const retro = (await server.ask(admin, 'GET', `/v1/retro?${span}`)).body
    expect([retro.totals.sessions, retro.outcomes]).toEqual([14, [{ outcome: 'success', sessions: 7 }]])
  })

  it('patterns are failures of five people, their words for leads', async () => {
    const { team, admin } = await newTeam()
    const failure = {
      fingerprint: 'e4:abc',
      tool: 'Bash',
      count: 2,
      first_at: 1,
      last_at: 2,
      is_mended: true,
    }
    const snippets = [
      { fingerprint: 'e4:abc', sample: 'no such file', resolved_by: { steps: [{ seq: 1, what: 'npm ci' }] } },
    ]
    for (let at = 0; at < 5; at++)
      await server.put(
        await server.token(team, `p${at}`),
        session(`claude:${at}`, `h${at}`, {
          level: 'digest',
          digest: { error_snippets: snippets },
          failures: [failure, ...(at < 4 ? [{ ...failure, fingerprint: 'e4:few' }] : [])],
        }),
      )
    const shown = { fingerprint: 'e4:abc', count: 10, sessions: 5, hosts: 5, mended_sessions: 5 }
    expect((await server.ask(admin, 'GET', '/v1/patterns')).body.patterns).toMatchObject([
      { ...shown, sample: 'no such file', mend: 'npm ci' },
    ])
    // One session that two machines have is one; and where one of them goes, it is the other's.
    const twin = await server.token(team, 'p0')
    const copy = session('claude:0', 'h9', { failures: [failure], facts: { events: 99 } })
    expect((await server.put(twin, copy)).status).toBe(200)
    const counts = async () =>
      (await server.ask(admin, 'GET', '/v1/patterns?since=1')).body.patterns.map(
        (one: { count: number; sessions: number }) => [one.count, one.sessions],
      )
    expect(await counts()).toEqual([[10, 5]])
    await server.ask(twin, 'DELETE', `/v1/sessions?uid=claude:0&host=${hostId('h9')}`)
    expect(await counts()).toEqual([[10, 5]])
    expect((await server.ask(admin, 'GET', '/v1/patterns?since=3')).body.patterns).toEqual([])
    const viewer = await server.token(team, 'eve', 'viewer')
    expect((await server.ask(viewer, 'GET', '/v1/patterns')).body.patterns).toMatchObject([
      { ...shown, sample: null, mend: null },
    ])
  })
})

withPostgres('whoever', () => {
  it('asks the database itself as the application sees one team, or nothing', async () => {
    const { device, team } = await newTeam()
    await server.put(device, session('claude:mine', 'loft'))
    const asked = (set: string, query: string): string =>
      cluster
        .sql(`BEGIN; SET LOCAL ROLE recollect_app; ${set} ${query}; ROLLBACK`)
        .split('\n')
        .filter((line) => !/^(?:BEGIN|SET|ROLLBACK)$/.test(line))
        .join(' ')
        .trim()
    const mine = `SET LOCAL recollect.team = '${team}';`
    for (const table of [
      'sessions',
      'ledger',
      'usage_slots',
      'edges',
      'failures',
      'segments',
      'forgotten',
      'audit',
      'teams',
    ]) {
      expect([table, asked('', `SELECT count(*) FROM recollect.${table}`)]).toEqual([table, '0'])
      expect(asked(mine, `SELECT count(*) FROM recollect.${table} WHERE team <> '${team}'`)).toBe('0')
    }
    expect(asked(mine, 'SELECT string_agg(session_uid, $$ $$) FROM recollect.sessions')).toBe('claude:mine')
    expect(asked(mine, `UPDATE recollect.sessions SET title = 'x' WHERE team <> '${team}'`)).toBe('UPDATE 0')
    for (const forbidden of [
      'SELECT * FROM recollect.tokens',
      'DELETE FROM recollect.audit',
      'UPDATE recollect.audit SET reader = $$x$$',
      'ALTER TABLE recollect.sessions DISABLE ROW LEVEL SECURITY',
      `INSERT INTO recollect.forgotten VALUES ('u', 'other', 'h', 1)`,
    ])
      expect(() => asked(mine, forbidden)).toThrow(/permission denied|must be owner|row-level security/)
    expect(
      cluster.sql("SELECT rolbypassrls, rolsuper FROM pg_roles WHERE rolname = 'recollect_app'").trim(),
    ).toBe('f|f')
    expect(cluster.dump()).not.toContain(device.slice(21))
  })

  it('has a role sees what that is for', async () => {
    const { team, device } = await newTeam()
    await server.put(device, session('claude:ada', 'loft'))
    const roles = { viewer: '', lead: '', auditor: '', admin: '' }
    for (const role of Object.keys(roles) as (keyof typeof roles)[])
      roles[role] = await server.token(team, 'somebody', role)
    const statuses = async (path: string) =>
      Promise.all(
        [device, ...Object.values(roles)].map(async (token) => (await server.ask(token, 'GET', path)).status),
      )
    expect(await statuses('/v1/sessions')).toEqual([403, 200, 200, 200, 200])
    expect(await statuses('/v1/lineage?uid=claude:ada')).toEqual([403, 403, 200, 200, 200])
    expect(await statuses('/v1/text?uid=claude:ada')).toEqual([403, 403, 403, 404, 404])
    expect((await server.ask(roles.viewer, 'GET', '/v1/sessions')).body.sessions).toEqual([])
    expect((await server.ask(roles.lead, 'GET', '/v1/sessions')).body.sessions).toHaveLength(1)
    expect((await server.put(roles.admin, session('claude:x', 'loft'))).status).toBe(403)
  })

  it('has a password is let in with it', async () => {
    const basic = (words: string) => `Basic ${Buffer.from(words).toString('base64')}`
    expect((await server.ask(basic('grace:correct horse battery'), 'GET', '/v1/sessions')).status).toBe(200)
    for (const wrong of ['grace:correct horse', 'nobody:correct horse battery', 'grace', ':'])
      expect((await server.ask(basic(wrong), 'GET', '/v1/sessions')).status).toBe(401)
  })
})

withPostgres('an attack', () => {
  it('with a token of another team, expired, revoked, or made up is refused', async () => {
    const { device, team } = await newTeam()
    const push = session('claude:target', 'loft')
    await server.put(device, push)
    const stranger = await server.token('strangers', 'mallory')
    // Its own team gets a row of its own; this one does not change.
    expect((await server.put(stranger, { ...push, user: 'mallory' })).status).toBe(200)
    expect(cluster.sql(`SELECT user_name FROM recollect.sessions WHERE team = '${team}'`).trim()).toBe(
      'user-loft',
    )
    expect(
      (await server.ask(stranger, 'DELETE', `/v1/sessions?uid=claude:target&host=${hostId('loft')}`)).status,
    ).toBe(204)
    expect(cluster.sql(`SELECT count(*) FROM recollect.sessions WHERE team = '${team}'`).trim()).toBe('1')
    // In the same team, with the id of another's machine.
    const colleague = await server.token(team, 'mallory')
    expect((await server.put(colleague, { ...push, from: 1, user: 'mallory' })).status).toBe(403)
    expect(
      (await server.ask(colleague, 'DELETE', `/v1/sessions?uid=claude:target&host=${hostId('loft')}`)).status,
    ).toBe(403)
    const expired = await server.token(team, 'ada', 'device', Date.now() - 1)
    const revoked = await server.token(team, 'ada')
    cluster.sql(`UPDATE recollect.tokens SET revoked_at = 1 WHERE token_id = '${revoked.split('_')[1]}'`)
    for (const token of [expired, revoked, `${device}x`, device.slice(0, -1), 'rct_', "rct_' OR 1=1 --", 'x'])
      expect((await server.put(token, push)).status).toBe(401)
  })

  it('by SQL, markup and controls in every field changes nothing but that field, or is refused', async () => {
    const { device, admin, team } = await newTeam()
    const evil = `'); DROP TABLE recollect.sessions; --<script>alert(1)</script>`
    const push = session(`claude:${evil}`, 'loft', {
      host: { id: hostId('loft'), name: evil },
      user: evil,
      facts: { repo: evil, domain: evil, model: evil, flavor: 'claude' },
      ledger: [response(evil, 1, { model: evil })],
      edges: [{ kind: 'resumed', parent_uid: evil, at: null }],
      failures: [
        {
          fingerprint: evil.slice(0, 60),
          tool: evil,
          count: 1,
          first_at: null,
          last_at: null,
          is_mended: false,
        },
      ],
      level: 'digest',
      digest: {
        title: evil,
        first_prompt: evil,
        error_snippets: [{ fingerprint: evil.slice(0, 60), sample: evil }],
      },
    })
    expect((await server.put(device, push)).status).toBe(200)
    const listed = await server.ask(admin, 'GET', `/v1/sessions?repo=${encodeURIComponent(evil)}`)
    expect(listed.body.sessions).toMatchObject([{ repo: evil, host: evil, title: evil }])
    // Never as a page: markup in it is text.
    expect(Object.fromEntries(listed.headers)).toMatchObject({
      'content-type': 'application/json',
      'x-content-type-options': 'nosniff',
      'content-security-policy': expect.stringContaining("default-src 'none'"),
    })
    for (const query of [
      'usage?by=',
      'usage?zone=',
      'sessions?outcome=',
      'sessions?since=',
      'sessions?limit=',
    ])
      expect((await server.ask(admin, 'GET', `/v1/${query}${encodeURIComponent(evil)}`)).status).toBe(400)
    for (const wrong of [
      { user: 'a\u0001b' },
      { user: 'a\nb' },
      { user: '' },
      { version: 2 },
      { level: 'all' },
      { from: -1 },
      { extra: 1 },
      { host: { id: '../../etc/passwd', name: 'x' } },
      { digest: { a: 1 } },
      { segments: [{ sha256: `${'../'.repeat(21)}x`, bytes: 1, first_seq: 1, last_seq: 1 }] },
    ])
      expect([
        wrong,
        (await server.put(device, { ...session('claude:wrong', 'loft'), ...wrong } as never)).status,
      ]).toEqual([wrong, 422])
    expect(cluster.sql(`SELECT count(*) FROM recollect.sessions WHERE team = '${team}'`).trim()).toBe('1')
  })

  it('by paths in the place of hashes, other bytes than the hash says, and bombs is refused', async () => {
    const { device } = await newTeam()
    const { bytes, named } = segment([{ a: 1 }])
    const put = (
      name: string,
      body: Uint8Array,
      headers: Record<string, string> = { 'if-none-match': '*' },
    ) => server.ask(device, 'PUT', `/v1/segments/${name}`, body, headers)
    for (const name of [
      '..%2F..%2Fetc%2Fpasswd',
      '%00',
      'A'.repeat(64),
      named.sha256.toUpperCase(),
      `${named.sha256}/x`,
      '',
    ])
      expect([400, 404]).toContain((await put(name, bytes)).status)
    expect((await put(named.sha256, bytes, {})).status).toBe(400)
    expect((await put('0'.repeat(64), bytes)).status).toBe(422)
    const bomb = segment(['x'.repeat(65 << 20)])
    expect((await put(bomb.named.sha256, bomb.bytes)).status).toBe(422)
    expect((await put(segment([]).named.sha256, Buffer.alloc(9 << 20))).status).toBe(413)
    expect(server.log.join('\n')).not.toMatch(/passwd.*20\d|quetzal/)
  })

  it('by secrets that a machine did not take out is refused', async () => {
    const { device, team } = await newTeam()
    const secret = `ghp_${'a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8'}`
    const digest = { title: 'x', first_prompt: `use ${secret} to push` }
    const refused = await server.put(device, session('claude:secret', 'loft', { level: 'digest', digest }))
    expect(refused).toMatchObject({
      status: 422,
      body: { error: { message: expect.stringContaining('secret') } },
    })
    expect(JSON.stringify(refused.body)).not.toContain(secret)
    const { bytes, named } = segment([{ said: secret }])
    expect(
      (await server.ask(device, 'PUT', `/v1/segments/${named.sha256}`, bytes, { 'if-none-match': '*' }))
        .status,
    ).toBe(422)
    expect(cluster.sql(`SELECT count(*) FROM recollect.sessions WHERE team = '${team}'`).trim()).toBe('0')
  })

  it('by a body without end, or slow ones, leaves room for others', async () => {
    const { device } = await newTeam()
    const sockets = Array.from({ length: 300 }, () => connect(Number(new URL(server.url).port), '127.0.0.1'))
    for (const socket of sockets) {
      socket.on('error', () => undefined)
      socket.write('PUT /v1/sessions HTTP/1.1\r\nhost: x\r\n')
    }
    expect((await server.put(device, session('claude:meanwhile', 'loft'))).status).toBe(200)
    const endless = connect(Number(new URL(server.url).port), '127.0.0.1')
    const told = new Promise<string>((done) => {
      let text = ''
      endless.on('data', (part) => {
        text += part
        if (text.includes('\r\n')) done(text)
      })
      endless.on('error', () => done(text))
    })
    endless.write(
      `PUT /v1/sessions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${device}\r\ncontent-length: ${2 ** 30}\r\n\r\n`,
    )
    endless.write(Buffer.alloc(1 << 20, 32))
    expect(await told).toMatch(/^HTTP\/1.1 413/)
    endless.destroy()
    for (const socket of sockets) socket.destroy()
  })

  it('by slow bodies of one machine keeps out nobody else', async () => {
    const narrow = await TestServer.start(cluster.url, { writers: 4 })
    const slow: Socket[] = []
    try {
      const [device, other] = [await narrow.token('slow', 'mallory'), await narrow.token('slow', 'ada')]
      for (let at = 0; at < 8; at++) {
        const socket = connect(Number(new URL(narrow.url).port), '127.0.0.1')
        socket.on('error', () => undefined)
        socket.write(
          `PUT /v1/sessions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${device}\r\ncontent-length: 1000\r\n\r\n{`,
        )
        slow.push(socket)
      }
      // Some are refused at once: all have been looked at.
      await Promise.race(slow.map((one) => once(one, 'data')))
      expect((await narrow.put(other, session('claude:1', 'loft'))).status).toBe(200)
      expect((await narrow.put(device, session('claude:2', 'cellar'))).status).toBe(429)
    } finally {
      for (const socket of slow) socket.destroy()
      await narrow.close()
    }
  })

  it('that is a crowd is told to come back', async () => {
    const narrow = await TestServer.start(cluster.url, { writers: 1 })
    try {
      const device = await narrow.token('crowd', 'ada')
      const all = await Promise.all(
        Array.from({ length: 20 }, (_, at) => narrow.put(device, session(`claude:${at}`, 'loft'))),
      )
      const busy = all.filter((one) => one.status === 429)
      expect(busy.length).toBeGreaterThan(0)
      for (const one of busy) expect(one.headers.get('retry-after')).toBe('1')
      expect(all.length - busy.length).toBe(
        Number(cluster.sql("SELECT count(*) FROM recollect.sessions WHERE team = 'crowd'")),
      )
    } finally {
      await narrow.close()
    }
  })
})

withPostgres('the log', () => {
  it('has methods, paths and statuses, and nothing of what was asked or sent', () => {
    expect(server.log.length).toBeGreaterThan(20)
    for (const line of server.log) expect(line).toMatch(/^\S+ [A-Z]+ [\w/.?-]+ \d{3}$/)
    expect(readFileSync(join(cluster.directory, 'log'), 'utf8')).not.toMatch(/quetzal/i)
  })
})
