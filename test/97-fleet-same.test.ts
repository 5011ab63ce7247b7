// One contract, two engines: five machines push what they have to a team server, and one memory has read the same files. Every
// question that a team server answers is asked of both by the same command, and has the same answer.
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Config } from '../src/config.ts'
import { push } from '../src/fleet/push/index.ts'
import { TestServer } from './setup/fleet.ts'
import { Cluster, HAS_POSTGRES } from './setup/postgres.ts'
import { World } from './setup/sweeping.ts'

const PEOPLE = 5
let cluster: Cluster
let server: TestServer
let token: string
let all: World
const worlds: World[] = []

/** The samples as somebody else had them: other sessions, responses and calls, all else the same. */
function copySamples(home: string, person: number): void {
  const theirs = (text: string): string =>
    text
      .replace(/\b([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{11})[0-9a-f]\b/g, `$1${person}`)
      .replace(/\b((?:msg|req|resp|toolu|call)_[A-Za-z0-9]{4,})/g, `$1p${person}`)
  for (const entry of readdirSync('samples', { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    const to = join(home, theirs(relative('samples', path)))
    mkdirSync(dirname(to), { recursive: true })
    writeFileSync(to, theirs(readFileSync(path, 'utf8')))
  }
}

beforeAll(async () => {
  if (!HAS_POSTGRES) return
  cluster = await Cluster.start('fsync = off\n')
  server = await TestServer.start(cluster.url)
  token = await server.token('same', 'p0', 'lead')
  all = new World()
  for (let person = 0; person < PEOPLE; person++) {
    const world = new World()
    worlds.push(world)
    copySamples(world.home, person)
    cpSync(world.home, all.home, { recursive: true })
    await world.sweep()
    world.configure(`[push]\nurl = "${server.url}"\nlevel = "full"\n`)
    process.env['RECOLLECT_PUSH_TOKEN'] = await server.token('same', `p${person}`)
    const report = await push(new Config({ env: world.env }))
    expect(report?.problems).toEqual([])
  }
  await all.sweep()
}, 120_000)
afterAll(async () => {
  delete process.env['RECOLLECT_PUSH_TOKEN']
  await server?.close()
  cluster?.stop()
  for (const world of [...worlds, all]) world?.remove()
})

function run(...words: string[]): Promise<string> {
  const env = {
    PATH: process.env['PATH'],
    LANG: 'C.UTF-8',
    TZ: 'UTC',
    RECOLLECT_SERVER_TOKEN: token,
    ...all.env,
  }
  return new Promise((done) =>
    execFile(process.execPath, ['dist/cli.cjs', ...words], { env, maxBuffer: 1 << 26 }, (_, stdout, stderr) =>
      done(stdout || stderr),
    ),
  )
}
const both = (...words: string[]): Promise<[string, string]> =>
  Promise.all([run(...words), run('--server', server.url, ...words)])

// biome-ignore lint/suspicious/noExplicitAny: documents of either engine, as their users get them.
type Document = any
async function documents(...words: string[]): Promise<[Document, Document]> {
  const [here, there] = await both(...words, '--json')
  return [JSON.parse(here), JSON.parse(there)]
}
const byUid = (a: { uid: string }, b: { uid: string }): number => (a.uid < b.uid ? -1 : 1)
const uids = (answer: Document): string[] => answer.sessions.map((one: Document) => one.session_uid).sort()

describe.skipIf(!HAS_POSTGRES)('a memory and a team server over the same sessions', () => {
  it.each('day week month model repo domain flavor'.split(' '))('tell the same usage by %s', async (by) => {
    const [here, there] = await both('usage', by, '--csv')
    expect(there).toBe(here)
    expect(there.trim().split('\r\n').length).toBeGreaterThan(1)
  })

  it('list the same sessions with the same facts, whatever they are narrowed to and sorted by', async () => {
    const filters = [
      '',
      '--all',
      '--flavor codex',
      '--repo calc',
      '--has-error',
      '--outcome success',
      '--until 2026-11-15T18:30:00Z',
    ]
    for (const words of filters) {
      const [here, there] = await documents('sessions', '--limit', '500', ...words.split(' ').filter(Boolean))
      const wanted = here.sessions.map(
        ({ session_uid: uid, cost, error_count: errors, ...one }: Document) => ({
          ...{
            uid,
            flavor: one.flavor,
            repo: one.repo,
            model: one.model,
            title: one.title,
            outcome: one.outcome,
          },
          ...{ started: one.started_at, ended: one.ended_at, errors, turns: cost.turns },
          tokens: cost.input_tokens + cost.output_tokens + cost.cache_tokens,
        }),
      )
      const given = there.sessions.map(({ session_uid: uid, turns, errors, ...one }: Document) => ({
        ...{
          uid,
          flavor: one.flavor,
          repo: one.repo,
          model: one.model,
          title: one.title,
          outcome: one.outcome,
        },
        ...{ started: one.started_at, ended: one.ended_at, errors, turns, tokens: one.total_tokens },
      }))
      expect(given.sort(byUid), words).toEqual(wanted.sort(byUid))
      expect(given.length % PEOPLE, words).toBe(0)
      expect(given.length, words).toBeGreaterThan(0)
    }
    for (const [order, field] of [
      ['tokens', 'total_tokens'],
      ['errors', 'errors'],
      ['recent', 'started_at'],
    ] as const) {
      const [here, there] = await documents('sessions', '--sort', order)
      const of = new Map(there.sessions.map((one: Document) => [one.session_uid, one[field]]))
      expect(
        there.sessions.map((one: Document) => one[field]),
        order,
      ).toEqual(here.sessions.map((one: Document) => of.get(one.session_uid)))
    }
  }, 120_000)

  it('find the same sessions by words of what was asked', async () => {
    for (const word of ['4711', 'calc.js', 'number remember']) {
      const [here, there] = await documents('search', word, '--limit', '200')
      expect(uids(there), word).toEqual(uids(here))
      expect(uids(there).length, word).toBeGreaterThan(0)
    }
  }, 120_000)

  it('tell the same of failures, of one session, and of where it came from', async () => {
    const [here, there] = await documents('patterns')
    const facts = ({ tool, sample, count, sessions, first_seen, last_seen }: Document): Document => ({
      ...{ tool, sample, count, sessions, first_seen, last_seen },
    })
    const errors = here.patterns.filter((one: Document) => one.kind === 'error')
    expect(there.patterns.map(facts)).toEqual(errors.map(facts))
    expect(there.patterns.length).toBeGreaterThan(0)
    const { sessions } = JSON.parse(await run('sessions', '--all', '--json', '--limit', '500'))
    for (const { session_uid } of sessions.slice(0, 8)) {
      const [own, theirs] = await documents('digest', session_uid)
      // What sub-agents cost on top is asked of prices here.
      expect(theirs).toEqual({ ...own, tree: undefined })
      const [tree, other] = await documents('lineage', session_uid)
      const edges = tree.nodes.flatMap((one: Document) =>
        one.parent_uid === null ? [] : [`${one.session_uid} ${one.edge} ${one.parent_uid}`],
      )
      const given = other.edges.map((one: Document) => `${one.session_uid} ${one.kind} ${one.parent_uid}`)
      expect(given.sort(), session_uid).toEqual(edges.sort())
    }
  }, 120_000)

  it('give the same account of the days', async () => {
    const [here, there] = await documents('retro', '--since', '2026-11-10', '--until', '2026-11-16')
    const figures = ({ sessions, errors, retries, total_tokens, cost_usd }: Document): Document => ({
      ...{ sessions, errors, retries, total_tokens, cost_usd },
    })
    expect(figures(there.totals)).toEqual(figures(here.totals))
    const counts = Object.entries(here.outcomes as Record<string, Document>)
      .filter(([, one]) => one.count > 0)
      .map(([outcome, one]) => [outcome, one.count])
    expect(there.outcomes.map((one: Document) => [one.outcome, one.sessions]).sort()).toEqual(counts.sort())
    const spent = (rows: Document[]): Document[] =>
      rows.map(({ key, total_tokens, cost_usd }) => ({ key, total_tokens, cost_usd }))
    expect(spent(there.models)).toEqual(spent(here.models))
  })
})
