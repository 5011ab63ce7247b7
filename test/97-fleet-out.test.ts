// What leaves a team server for dashboards and warehouses: views of the database, a Grafana dashboard over them, Parquet files.
import { execFileSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { retainAll } from '../src/fleet/server/retain.ts'
import { response, session, TestServer } from './setup/fleet.ts'
import { Cluster, HAS_POSTGRES } from './setup/postgres.ts'
import { cli, temporary } from './setup/sweeping.ts'

const DAY = Date.UTC(2026, 10, 2, 12)
const PEOPLE = ['ada', 'bea', 'cyd', 'dan', 'eve', 'fay']
const DASHBOARD = join(import.meta.dirname, '..', 'docs', 'fleet-grafana.json')

let cluster: Cluster
let server: TestServer

/** Six people in `shop`, one of them alone in `secret`, with failures that all met; two in `tiny`. */
async function fill(): Promise<void> {
  const failure = {
    fingerprint: 'f'.repeat(16),
    tool: 'Bash',
    count: 2,
    first_at: DAY,
    last_at: DAY,
    is_mended: true,
  }
  for (const [at, person] of PEOPLE.entries()) {
    const device = await server.token('shop', person)
    const push = session(`claude:${person}`, person, {
      failures: [failure],
      facts: { outcome: at === 0 ? 'fail' : 'success' },
    })
    expect((await server.put(device, push)).status).toBe(200)
    const left = session(`claude:${person}-left`, person, { facts: { outcome: 'abandoned' }, ledger: [] })
    expect((await server.put(device, left)).status).toBe(200)
  }
  const alone = await server.token('shop', 'fay')
  const secret = session('codex:alone', 'fay', {
    facts: { repo: 'secret', flavor: 'codex', model: 'gpt-6' },
    ledger: [response('alone-r', 7, { model: 'gpt-6' }), response('claude:ada-r', 100)],
  })
  expect((await server.put(alone, secret)).status).toBe(200)
  for (const person of ['kim', 'lee']) {
    const device = await server.token('tiny', person)
    expect((await server.put(device, session(`claude:${person}`, person))).status).toBe(200)
  }
  await retainAll(server.fleet, server.blobs, Date.now())
}

const serve = (...words: string[]) =>
  cli({ DATABASE_URL: cluster.url, HOME: temporary('home') }, 'serve', ...words)

beforeAll(async () => {
  if (!HAS_POSTGRES) return
  cluster = await Cluster.start('fsync = off\n')
  server = await TestServer.start(cluster.url)
  await fill()
  cluster.sql('CREATE ROLE grafana LOGIN; CREATE ROLE other LOGIN; CREATE ROLE nobody LOGIN')
  expect(serve('reader', 'grafana', '--team', 'shop').stdout).toBe('grafana sees the figures of shop\n')
  expect(serve('reader', 'other', '--team', 'tiny').code).toBe(0)
})
afterAll(async () => {
  await server?.close()
  cluster?.stop()
})

describe.skipIf(!HAS_POSTGRES)('views', () => {
  it('tell figures of the team of a login, each response once', () => {
    // Ada's response is told by two sessions.
    expect(cluster.sql('SELECT day, responses, output, people FROM recollect.usage_by_day', 'grafana')).toBe(
      '2026-11-02|7|607|6\n',
    )
    // One person's failure is not told, nor by the difference to a sum of all.
    expect(cluster.sql('SELECT outcome, sessions FROM recollect.outcomes_by_day ORDER BY 1', 'grafana')).toBe(
      'abandoned|6\n',
    )
    expect(
      cluster.sql('SELECT tool, sessions, mended_sessions FROM recollect.recurring_failures', 'grafana'),
    ).toBe('Bash|6|6\n')
  })

  it('show nobody alone, and nothing of a team of fewer than five', () => {
    for (const [view, column] of [
      ['usage_by_repo', 'repo'],
      ['usage_by_model', 'model'],
      ['usage_by_agent', 'flavor'],
    ])
      expect(cluster.sql(`SELECT ${column}, output FROM recollect.${view}`, 'grafana')).toBe(
        '(fewer than five people)|607\n',
      )
    for (const view of ['usage_by_day', 'usage_by_repo', 'outcomes_by_day', 'recurring_failures'])
      expect(cluster.sql(`SELECT count(*) FROM recollect.${view}`, 'other')).toBe('0\n')
  })

  it('are all that a login can read, whatever team it claims to be', () => {
    expect(() => cluster.sql('SELECT 1 FROM recollect.usage_by_day', 'nobody')).toThrow(/permission denied/)
    for (const table of ['sessions', 'usage_slots', 'failures', 'ledger', 'tokens', 'readers', 'audit'])
      expect(() => cluster.sql(`SELECT 1 FROM recollect.${table}`, 'grafana'), table).toThrow(
        /permission denied/,
      )
    expect(() => cluster.sql("INSERT INTO recollect.readers VALUES ('grafana', 'tiny')", 'grafana')).toThrow(
      /permission denied/,
    )
    expect(() => cluster.sql('SET ROLE recollect_views', 'grafana')).toThrow(/permission denied/)
    const claimed = "SELECT set_config('recollect.team', 'shop', false); SET ROLE recollect_reader"
    expect(cluster.sql(`${claimed}; SELECT count(*) FROM recollect.outcomes_by_day`, 'other')).toMatch(
      /\n0\n$/,
    )
    expect(serve('reader', 'other', '--remove').code).toBe(0)
    expect(() => cluster.sql('SELECT 1 FROM recollect.usage_by_day', 'other')).toThrow(/permission denied/)
  })

  it('answer every question of the dashboard', () => {
    const { panels } = JSON.parse(readFileSync(DASHBOARD, 'utf8')) as {
      panels: { title: string; targets: { rawSql: string }[] }[]
    }
    // As Grafana puts them in (https://grafana.com/docs/grafana/latest/datasources/postgres/query-editor/#macros).
    const between = "$1 BETWEEN '2026-10-01T00:00:00Z' AND '2026-12-01T00:00:00Z'"
    for (const { title, targets } of panels)
      for (const { rawSql } of targets) {
        const sql = rawSql.replace(/\$__timeFilter\((\w+)\)/g, between)
        expect(sql).not.toContain('$__')
        expect(cluster.sql(sql, 'grafana').trim(), title).not.toBe('')
      }
    expect(panels.length).toBe(7)
  })
})

describe.skipIf(!HAS_POSTGRES)('serve export', () => {
  it('writes each day as Parquet, which another program reads', async () => {
    const directory = temporary('lake')
    const said = serve('export', '--team', 'shop', '--dir', directory)
    expect(said).toMatchObject({ code: 0 })
    const file = (name: string): string =>
      join(directory, name, 'team=shop', 'day=2026-11-02', 'part-0.parquet')
    expect(said.stdout.trim().split('\n')).toEqual([file('ledger'), file('digests')])
    const read = async (name: string) =>
      await parquetReadObjects({ file: await asyncBufferFromFile(file(name)) })
    const ledger = await read('ledger')
    expect(ledger).toHaveLength(7)
    expect(ledger.find((row) => row['response_id'] === 'alone-r')).toEqual({
      session_uid: 'codex:alone',
      host_id: expect.any(String),
      response_id: 'alone-r',
      at: new Date(DAY),
      flavor: 'codex',
      repo: 'secret',
      domain: null,
      person: 'fay',
      model: 'gpt-6',
      input: 10n,
      cache_read: 0n,
      cache_write_5m: 0n,
      cache_write_1h: 0n,
      output: 7n,
      reasoning: 0n,
      responses: 1n,
      reported_cost: null,
    })
    expect(
      (await read('digests')).map((row) => [row['session_uid'], row['outcome'], row['is_helper']]),
    ).toContainEqual(['claude:ada', 'fail', false])
    expect(statSync(file('digests')).mode & 0o777).toBe(0o600)
    // Nothing of another team, and nothing of other days.
    expect(serve('export', '--team', 'shop', '--dir', directory, '--since', '2026-11-03').stdout).toBe('')
    expect(
      execFileSync('find', [directory, '-type', 'f'], { encoding: 'utf8' }).trim().split('\n'),
    ).toHaveLength(2)
  })
})
