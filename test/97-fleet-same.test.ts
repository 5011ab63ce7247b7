// One contract, two engines: five machines push what they have to a team server, and one memory has read the same files. Every
// question that a team server answers is asked of both by the same command, and has the same answer.
import { execFile } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BothEngines, PEOPLE } from './setup/both-engines.ts'
import { HAS_POSTGRES } from './setup/postgres.ts'

let both: BothEngines
beforeAll(async () => {
  if (HAS_POSTGRES) both = await BothEngines.start()
}, 120_000)
afterAll(() => both?.stop())

function run(...words: string[]): Promise<string> {
  const env = {
    PATH: process.env['PATH'],
    LANG: 'C.UTF-8',
    TZ: 'UTC',
    RECOLLECT_SERVER_TOKEN: both.token,
    ...both.all.env,
  }
  return new Promise((done) =>
    execFile(process.execPath, ['dist/cli.cjs', ...words], { env, maxBuffer: 1 << 26 }, (_, stdout, stderr) =>
      done(stdout || stderr),
    ),
  )
}
const runBoth = (...words: string[]): Promise<[string, string]> =>
  Promise.all([run(...words), run('--server', both.server.url, ...words)])

// biome-ignore lint/suspicious/noExplicitAny: documents of either engine, as their users get them.
type Document = any
async function documents(...words: string[]): Promise<[Document, Document]> {
  const [here, there] = await runBoth(...words, '--json')
  return [JSON.parse(here), JSON.parse(there)]
}
const byUid = (a: { uid: string }, b: { uid: string }): number => (a.uid < b.uid ? -1 : 1)
const uids = (answer: Document): string[] => answer.sessions.map((one: Document) => one.session_uid).sort()

describe.skipIf(!HAS_POSTGRES)('a memory and a team server over the same sessions', () => {
  it.each('day week month model repo domain flavor'.split(' '))('tell the same usage by %s', async (by) => {
    const [here, there] = await runBoth('usage', by, '--csv')
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
