// `recollect --server`: the questions of one machine's memory, asked of a team server by the built program, with its roles.
import { execFile } from 'node:child_process'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Role } from '../src/contract.ts'
import { hashPassword } from '../src/fleet/server/guard.ts'
import { response, session, TestServer } from './setup/fleet.ts'
import { Cluster, HAS_POSTGRES } from './setup/postgres.ts'
import { temporary } from './setup/temporary.ts'

const withPostgres = describe.skipIf(!HAS_POSTGRES)
const TEAM = 'shop'
const PASSWORD = 'correct horse battery'
const CLI = resolve('dist', 'cli.cjs')
let cluster: Cluster
let server: TestServer
let home: string
const tokens = {} as Record<Role, string>

const DAY = Date.UTC(2026, 10, 2, 12)
const failure = {
  fingerprint: 'e4:abc',
  tool: 'Bash',
  count: 2,
  first_at: DAY,
  last_at: DAY,
  is_mended: true,
}

interface Ran {
  code: number
  stdout: string
  stderr: string
}

function run(token: string | undefined, ...words: string[]): Promise<Ran> {
  const env = {
    PATH: process.env['PATH'] ?? '',
    LANG: 'C.UTF-8',
    HOME: home,
    RECOLLECT_HOME: join(home, 'nowhere'),
    TZ: 'UTC',
    ...(token === undefined ? {} : { RECOLLECT_SERVER_TOKEN: token }),
  }
  return new Promise((done) =>
    execFile(process.execPath, [CLI, ...words], { env }, (error, stdout, stderr) =>
      done({ code: error ? Number(error.code) : 0, stdout, stderr }),
    ),
  )
}
const ask = (token: string, ...words: string[]): Promise<Ran> => run(token, '--server', server.url, ...words)
async function json(token: string, ...words: string[]): Promise<ReturnType<typeof JSON.parse>> {
  const { stdout, stderr } = await ask(token, ...words, '--json')
  return stdout === '' ? stderr : JSON.parse(stdout)
}

beforeAll(async () => {
  if (!HAS_POSTGRES) return
  cluster = await Cluster.start('fsync = off\n')
  const salt = Buffer.alloc(16, 1)
  const hash = await hashPassword(PASSWORD, salt)
  server = await TestServer.start(cluster.url, {
    people: () => new Map([['grace', { person: 'grace', team: TEAM, role: 'lead', salt, hash }]]),
  })
  home = temporary('ask')
  for (const role of ['viewer', 'lead', 'auditor', 'admin', 'device'] as const)
    tokens[role] = await server.token(TEAM, 'ada', role)
  const snippets = [
    { fingerprint: 'e4:abc', sample: 'no such file', resolved_by: { steps: [{ seq: 1, what: 'npm ci' }] } },
  ]
  for (let at = 0; at < 6; at++) {
    const token = at === 0 ? tokens.device : await server.token(TEAM, `p${at}`)
    const digest = { title: `Teach quetzal ${at}`, error_snippets: snippets }
    const pushed = session(`claude:quetzal-${at}-0123456789`, `h${at}`, {
      level: 'digest',
      digest,
      facts: {
        repo: at < 5 ? 'many' : 'few',
        outcome: at === 1 ? 'fail' : 'success',
        errors: at,
        started_at: DAY + at,
        turns: 3,
      },
      ledger: [response(`a${at}`, 100 * (at + 1))],
      failures: [failure],
      edges:
        at === 1 ? [{ kind: 'interactive_fork', parent_uid: 'claude:quetzal-0-0123456789', at: DAY }] : [],
    })
    expect((await server.put(token, pushed)).status).toBe(200)
  }
})
afterAll(async () => {
  await server?.close()
  cluster?.stop()
})

withPostgres('recollect --server', () => {
  it('lists the sessions that a role may see, in every form, in every order', async () => {
    const all = await json(tokens.lead, 'sessions')
    expect(all.sessions).toHaveLength(6)
    expect((await json(tokens.viewer, 'sessions')).sessions.map((one: { user: string }) => one.user)).toEqual(
      ['user-h0'],
    )
    const text = await ask(tokens.lead, 'sessions', '--sort', 'errors')
    expect([text.code, text.stderr]).toEqual([0, ''])
    const lines = text.stdout.trimEnd().split('\n')
    expect(lines[0]).toMatch(/^STARTED +ID +USER +FLAVOR +REPO +OUTCOME +TURNS +ERRORS +TITLE$/)
    expect(lines[1]).toMatch(/quetzal-5-012\S* +user-h5 +claude +few +success +3 +5 +Teach quetzal 5/)
    const csv = (await ask(tokens.lead, 'sessions', '--csv', '--repo', 'few')).stdout.split('\r\n')
    expect(csv[0]).toMatch(/^session_uid,flavor,host,user,repo,/)
    expect(csv.filter(Boolean)).toHaveLength(2)
    expect((await json(tokens.lead, 'sessions', '--outcome', 'failed')).sessions).toHaveLength(1)
    expect(await json(tokens.lead, 'sessions', '--has-error', '--limit', '2')).toMatchObject({
      is_more: true,
    })
    // The name and password of a person do as well, and the flag stands behind the command, too.
    const byPassword = await run(`grace:${PASSWORD}`, 'sessions', '--server', server.url, '--json')
    expect(JSON.parse(byPassword.stdout).sessions).toHaveLength(6)
  })

  it('tells usage by every group of a server, with too few people folded', async () => {
    for (const by of ['day', 'week', 'month', 'model', 'flavor', 'team'])
      expect([by, (await json(tokens.viewer, 'usage', by)).total]).toMatchObject([
        by,
        { output_tokens: 2100 },
      ])
    for (const by of ['repo', 'host'])
      expect((await json(tokens.viewer, 'usage', by)).rows).toMatchObject([
        { key: '(fewer than five people)' },
      ])
    const { stdout } = await ask(tokens.viewer, 'usage', 'month')
    expect(stdout).toMatch(/^MONTH +RESP +INPUT.*\n2026-11 +6 +60 .*\ntotal +6 /)
    expect((await ask(tokens.viewer, 'usage', 'week', '--csv')).stdout).toMatch(/^key,responses,/)
    // Of nobody, and of fewer than five.
    const few = await server.token('few', 'ida', 'admin')
    expect((await ask(few, 'usage')).stdout).toMatch(/no usage in this range/)
    await server.put(await server.token('few', 'ida'), session('claude:alone', 'loft'))
    expect((await ask(few, 'usage')).stdout).toMatch(/fewer than five people used anything/)
    expect((await json(few, 'usage')).total).toBeNull()
  })

  it('tells what keeps failing: the words for leads, the figures for all', async () => {
    const lead = (await ask(tokens.lead, 'patterns')).stdout
    expect(lead).toContain('error  no such file\n  12× in 6 sessions, 2 repositories, 6 machines, 2026-11-02')
    expect(lead).toContain('overcome in 6 of 6 sessions, such as by: npm ci')
    const viewer = (await ask(tokens.viewer, 'patterns')).stdout
    expect(viewer).toContain('error  Bash (e4:abc)\n  12× in 6 sessions')
    expect(viewer).not.toContain('no such file')
    // Some of it may have happened twice all the same.
    const few = await server.token('few', 'ida', 'lead')
    expect((await ask(few, 'patterns')).stdout).toBe('no failure was met by five people or more\n')
  })

  it('tells the account of a team, its sessions for leads, and nothing of too few', async () => {
    const week = ['retro', '--week', '2026-W45']
    const lead = await json(tokens.lead, ...week)
    expect(lead).toMatchObject({
      totals: { people: 6, sessions: 6, turns: 18, errors: 15, total_tokens: 2160 },
      previous_totals: null,
      // One of six is one person's.
      outcomes: [],
      days: [{ key: '2026-11-02', total_tokens: 2160 }],
      repos: [{ key: '(fewer than five people)', total_tokens: 2160 }],
      failures: [{ fingerprint: 'e4:abc', sample: 'no such file', is_old: false }],
    })
    expect(lead.largest[0].title).toBe('Teach quetzal 5')
    const viewer = await json(tokens.viewer, ...week)
    expect(viewer).toMatchObject({
      totals: lead.totals,
      largest: [],
      failures: [{ sample: null, mend: null }],
    })
    const { stdout } = await ask(tokens.lead, ...week)
    expect(stdout).toMatch(
      /^Retrospective of a team {2}2026-W45, 2026-11-02 to 2026-11-08 \(UTC\), compared with 2026-W44/,
    )
    expect(stdout).toMatch(/sessions +6 +too few people before/)
    expect(stdout).toContain('Mended: no such file → npm ci')
    const { stdout: markdown } = await ask(tokens.lead, ...week, '--format', 'md')
    expect(markdown).toContain('## What kept failing')
    expect(markdown).not.toContain('## How sessions ended')
    const few = await server.token('fewer', 'ida', 'admin')
    await server.put(await server.token('fewer', 'ida'), session('claude:alone', 'loft'))
    expect(await json(few, ...week)).toMatchObject({ totals: null, outcomes: [], days: [], failures: [] })
    expect((await ask(few, ...week)).stdout).toContain('Fewer than five people worked in these days')
    expect((await ask(tokens.lead, 'retro', '--repo', 'many')).stderr).toMatch(/retro with --repo/)
  })

  it('searches digests, and says which command shows one', async () => {
    const { stdout } = await ask(tokens.lead, 'search', 'quetzal', '--repo', 'few')
    expect(stdout).toContain('claude  few  Teach quetzal 5')
    expect(stdout).toContain(`recollect --server ${server.url} digest quetzal-5-012`)
    expect((await json(tokens.viewer, 'search', 'quetzal')).sessions).toHaveLength(1)
    expect((await ask(tokens.lead, 'search', 'axolotl')).stdout).toMatch(/holds all of these words/)
  })

  it('opens the page of the server, for whoever has no token too', async () => {
    expect(await ask('', 'ui', '--no-open')).toMatchObject({ code: 0, stdout: `${server.url}/\n` })
    expect((await ask('', 'ui', 'quetzal-1', '--no-open')).stdout).toBe(`${server.url}/s/quetzal-1\n`)
  })

  it('draws the tree of a session over machines', async () => {
    const { stdout, code } = await ask(tokens.lead, 'lineage', 'quetzal-1')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^quetzal-0-012.*Teach quetzal 0.*\n└─ fork → quetzal-1-012.*failed.* ◀\n$/)
    expect(stdout).not.toContain('$?')
    expect((await ask(tokens.lead, 'lineage', 'quetzal-1', '--dot')).stdout).toContain('-> "claude:quetzal-1')
    expect((await json(tokens.lead, 'lineage', 'quetzal-1')).edges).toHaveLength(1)
    expect((await json(tokens.viewer, 'lineage', 'quetzal-1')).error.message).toContain('403')
  })

  it('refuses by name what a server cannot answer, and what it may not', async () => {
    const cases: [words: string[], says: RegExp][] = [
      [['show', 'quetzal-1'], /does not answer recollect show/],
      [['status'], /does not answer recollect status/],
      [['sweep'], /does not answer recollect sweep/],
      [['sessions', '--touched', 'a.ts'], /--touched/],
      [['sessions', '--sort', 'cost'], /--sort cost/],
      [['sessions', '--here'], /--here/],
      [['usage', 'session'], /usage session/],
      [['usage', 'day', '--repo', 'many'], /usage with --repo/],
      [['usage', 'year'], /no usage by year/],
      [['usage', 'limits'], /does not answer recollect usage limits/],
      [['patterns', 'no such file'], /patterns with an error/],
      [['search', '--regex', 'a'], /--regex/],
      [['search', 'a', '-b'], /-not/],
      [['lineage'], /without an id/],
      [['digest', '@last'], /@last/],
    ]
    const ran = await Promise.all(cases.map(([words]) => ask(tokens.lead, ...words)))
    for (const [at, { code, stderr, stdout }] of ran.entries())
      expect([cases[at]?.[0], code, stdout, stderr]).toEqual([
        cases[at]?.[0],
        2,
        '',
        expect.stringMatching(cases[at]?.[1] as RegExp),
      ])
    expect((await ask(tokens.device, 'sessions')).stderr).toMatch(/403: a device may not/)
    expect((await ask(`rct_${'0'.repeat(16)}_${'x'.repeat(43)}`, 'sessions')).stderr).toMatch(/401/)
    expect((await run(undefined, '--server', server.url, 'sessions')).stderr).toMatch(
      /RECOLLECT_SERVER_TOKEN/,
    )
    expect((await run(tokens.lead, '--server', 'http://fleet.example', 'sessions')).stderr).toMatch(
      /https only/,
    )
    expect((await run(tokens.lead, '--server', 'team', 'sessions')).stderr).toMatch(/no team server is set/)
    expect((await run(tokens.lead, '--server', 'http://127.0.0.1:9', 'sessions')).stderr).toMatch(
      /does not answer/,
    )
  })
})
