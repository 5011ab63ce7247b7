// Names as people type them behind filters: parts, patterns, and the repository they are in.
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { meant } from '../src/query/meant.ts'
import { searchSessions } from '../src/query/search.ts'
import { listSessions } from '../src/query/sessions.ts'
import { TimeZone } from '../src/query/timezone.ts'
import { usageReport } from '../src/query/usage.ts'
import { databasesOf } from '../src/store/databases.ts'
import type { SessionFilter } from '../src/store/reader/filters.ts'
import { openStore } from '../src/store/sqlite.ts'
import { loadPrices } from '../src/usage/prices.ts'
import { cli, World } from './setup/sweeping.ts'
import { tell } from './setup/told.ts'

const world = new World()
afterAll(() => world.remove())

const git = (cwd: string, ...args: string[]): void => {
  mkdirSync(cwd, { recursive: true })
  execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@y', ...args], { cwd, stdio: 'ignore' })
}

const shop = join(world.base, 'work', 'shop')
const tree = join(world.base, 'trees', 'feature-7')
const gone = join(world.base, 'trees', 'gone')
const inner = join(shop, 'vendor', 'tax')
const uids: Record<string, string> = {}

beforeAll(async () => {
  git(shop, 'init', '-q')
  git(shop, 'commit', '-q', '--allow-empty', '-m', 'x')
  for (const path of [tree, gone]) git(shop, 'worktree', 'add', '-q', path)
  git(inner, 'init', '-q')
  const told = (name: string, cwd: string, model: string, branch: string): void => {
    uids[name] = tell(world.home, name, [{ ask: 'the checkout rounds' }, { answer: 'Yes.' }], {
      cwd,
      model,
      branch,
    }).uid
  }
  told('main', shop, 'claude-opus-5-5', 'main')
  told('tree', join(tree, 'src'), 'claude-sonnet-5', 'feature/7')
  told('gone', gone, 'claude-opus-5-5', 'feature/8')
  told('inner', inner, 'claude-opus-5', 'main')
  told('other', join(world.base, 'work', 'workshop'), 'gpt-9', 'main')
  world.configure('[identity]\nhost = "Attic"\n')
  await world.sweep()
  rmSync(gone, { recursive: true })
  const store = openStore(world.paths)
  databasesOf(store.reader).memory.exec(`
    INSERT INTO hosts VALUES ('b', '0123456789abcdef', 'build-7.example', 'ada'), ('n', 'fedcba9876543210', 'nobody', 'ada');
    UPDATE sessions SET host = 'b' WHERE session_uid IN ('${uids['tree']}', '${uids['other']}')`)
  store.close()
})

const found = (filter: SessionFilter): string[] =>
  world
    .read((handle) =>
      listSessions(handle, filter).map(
        (session) => Object.entries(uids).find(([, uid]) => uid === session.session_uid)?.[0] ?? '?',
      ),
    )
    .sort()

describe('a name', () => {
  it('that a session has is meant alone, else every one that it is a part of', () => {
    expect(found({ repo: 'shop' })).toEqual(['gone', 'main', 'tree'])
    expect(found({ repo: 'SHO' })).toEqual(['gone', 'main', 'other', 'tree'])
    expect(found({ model: 'claude-opus-5' })).toEqual(['inner'])
    expect(found({ model: 'opus' })).toEqual(['gone', 'inner', 'main'])
    expect(found({ branch: 'feature' })).toEqual(['gone', 'tree'])
    expect(found({ repo: 'shops' })).toEqual([])
  })

  it('may be a pattern, for the whole of it', () => {
    expect(found({ repo: '*shop' })).toEqual(['gone', 'main', 'other', 'tree'])
    expect(found({ repo: 'wor*p' })).toEqual(['other'])
    expect(found({ branch: 'feature/?' })).toEqual(['gone', 'tree'])
    expect(found({ model: 'opus*' })).toEqual([])
    expect(found({ model: 'g.t*' })).toEqual([])
  })

  it('is taken the same way by a search and by usage', () => {
    world.read((handle) => {
      expect(
        searchSessions(handle, 'checkout', { repo: 'works' }).map((one) => one.session.session_uid),
      ).toEqual([uids['other']])
      expect(meant(handle, { repo: 'works' })).toEqual({ repo: ['workshop'] })
    })
  })

  it('is taken the same way by usage, where models count that no session is listed with', async () => {
    const prices = await loadPrices({ prices: new Map(), aliases: new Map() })
    world.read((handle) => {
      const report = usageReport(handle, { group: 'repo', zone: new TimeZone('UTC'), prices, model: 'opus' })
      expect(report.rows.map((row) => row.key).sort()).toEqual(['shop', 'tax'])
    })
  })
})

describe('a machine', () => {
  it('is named by its name, its id, a part of one or a pattern', () => {
    for (const host of ['build-7.example', '0123456789abcdef', 'BUILD', '0123', 'build-?.*', '*.example'])
      expect(found({ host }), host).toEqual(['other', 'tree'])
    expect(found({ host: 'attic' })).toEqual(['gone', 'inner', 'main'])
    expect(found({ host: '*' })).toHaveLength(5)
    expect(found({ host: 'build', repo: 'shop' })).toEqual(['tree'])
    expect(found({ host: 'nobody' })).toEqual([])
  })

  it('narrows searches, usage, lineage and the weekly account alike, and one that nobody knows is refused', () => {
    const asked = (...args: string[]): unknown =>
      JSON.parse(cli(world.env, ...args, '--host', 'build', '--json').stdout)
    expect(asked('search', 'checkout')).toMatchObject({ sessions: { length: 2 } })
    expect(asked('usage', 'session')).toMatchObject({ rows: { length: 2 } })
    expect(asked('sessions', '--sort', 'cost')).toMatchObject({ sessions: { length: 2 } })
    expect(asked('lineage')).toMatchObject({ nodes: { length: 2 } })
    expect(asked('retro', '--since', '2000-01-01')).toMatchObject({ totals: { sessions: 2 } })
    for (const args of [['sessions'], ['search', 'checkout'], ['usage'], ['lineage']])
      expect(cli(world.env, ...args, '--host', 'atic')).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/no session has the host atic.*\n.*--host\n.*did you mean Attic\?/s),
      })
    expect(cli(world.env, 'usage', 'blocks', '--host', 'build').code).toBe(2)
    expect(cli(world.env, 'sessions', '--host', '').code).toBe(2)
  })
})

describe('a directory', () => {
  it('is its repository with all its working trees, but not a repository inside of it', () => {
    for (const directory of [shop, tree, join(tree, 'src')])
      expect(found({ repo: directory }), directory).toEqual(['gone', 'main', 'tree'])
    expect(found({ repo: inner })).toEqual(['inner'])
    expect(found({ repo: join(world.base, 'trees') })).toEqual([])
  })

  it('is the one a command is run in, for --here and --repo .', () => {
    const run = (...args: string[]) =>
      JSON.parse(cli({ ...world.env }, ...args, '--json').stdout) as { sessions: { session_uid: string }[] }
    const before = process.cwd()
    process.chdir(tree)
    try {
      expect(run('sessions', '--here').sessions).toHaveLength(3)
      expect(run('search', 'checkout', '--repo', '.').sessions).toHaveLength(3)
      const { code, stderr } = cli(world.env, 'sessions', '--here', '--repo', 'shop')
      expect([code, stderr]).toEqual([2, expect.stringContaining('one of them')])
    } finally {
      process.chdir(before)
    }
  })

  it('where nothing was done is told', () => {
    const before = process.cwd()
    process.chdir(world.base)
    try {
      const { code, stderr } = cli(world.env, 'sessions', '--here')
      expect([code, stderr]).toEqual([2, expect.stringContaining('no session was in this repository')])
    } finally {
      process.chdir(before)
    }
  })
})
