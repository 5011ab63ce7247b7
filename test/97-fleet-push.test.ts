// From a machine to a team server: what leaves at which level, what comes of a server that is down, and how it is taken back.
import { execFile } from 'node:child_process'
import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { Config } from '../src/config.ts'
import { preview, push } from '../src/fleet/push/index.ts'
import { databasesOf } from '../src/store/databases.ts'
import { openStore } from '../src/store/sqlite.ts'
import { assistant, call, OTHER, result, SESSION, text, user, write } from './setup/claude.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { TestServer } from './setup/fleet.ts'
import { Cluster, freePort, HAS_POSTGRES } from './setup/postgres.ts'
import { World } from './setup/sweeping.ts'

const withPostgres = describe.skipIf(!HAS_POSTGRES)
/** Words that no table, model or repository is called. */
const CANARIES =
  'quokka axolotl narwhal pangolin wombat ocelot tapir ibex okapi numbat dugong capybara 修复登录'
let cluster: Cluster
let server: TestServer
let world: World
let teams = 0
let team = ''

beforeAll(async () => {
  if (!HAS_POSTGRES) return
  cluster = await Cluster.start('fsync = off\nlog_statement = all\n')
  server = await TestServer.start(cluster.url)
  world = new World()
  cpSync('samples', world.home, { recursive: true })
  const project = join(world.home, '.claude', 'projects', '-w')
  write(join(project, `${SESSION}.jsonl`), [user('a', null, CANARIES)])
  await world.sweep()
})
afterAll(async () => {
  await server?.close()
  cluster?.stop()
  world?.remove()
})
afterEach(() => {
  delete process.env['RECOLLECT_PUSH_TOKEN']
})

/** Settings that lead to the server, with a token of a team of its own. */
async function configured(level: string, url = server.url): Promise<Config> {
  team = `push-${++teams}`
  // As if nobody had been told anything yet.
  const store = openStore(world.paths)
  databasesOf(store.reader).memory.exec('DELETE FROM pushes')
  store.close()
  process.env['RECOLLECT_PUSH_TOKEN'] = await server.token(team, 'ada')
  world.configure(`[push]\nurl = "${url}"\nlevel = "${level}"\ntimeout = "2s"\n`)
  return new Config({ env: world.env })
}
const at = (level: string): Config => {
  world.configure(`[push]\nurl = "${server.url}"\nlevel = "${level}"\ntimeout = "2s"\n`)
  return new Config({ env: world.env })
}

/** In a process of its own, while the server answers in this one. */
const sweepByCommand = (): Promise<{ code: number; stderr: string }> =>
  new Promise((done) => {
    const env = {
      PATH: process.env['PATH'],
      ...world.env,
      RECOLLECT_PUSH_TOKEN: process.env['RECOLLECT_PUSH_TOKEN'],
    }
    execFile(process.execPath, ['dist/cli.cjs', 'sweep'], { env }, (error, _, stderr) =>
      done({ code: error === null ? 0 : Number(error.code), stderr }),
    )
  })

const number = (query: string): number => Number(cluster.sql(query))
const sums =
  'sum(input), sum(cache_read), sum(cache_write_5m), sum(cache_write_1h), sum(output), sum(reasoning), sum(responses)'
const here = (): string =>
  world.read(({ memory }) =>
    Object.values(
      memory.prepare(`SELECT ${sums} FROM usage WHERE is_counted AND NOT is_nested`).get() as object,
    ).join('|'),
  )
const there = (): string =>
  cluster.sql(`SELECT ${sums} FROM recollect.usage_slots WHERE team = '${team}'`).trim()

/** Every word of five letters and more that somebody or a model said, and that no figure has a reason to hold. */
function saidWords(): string[] {
  const digests = world.read(
    ({ memory }) => memory.prepare('SELECT digest FROM digests').all() as unknown as { digest: string }[],
  )
  const texts = digests.flatMap(({ digest }) => {
    const { first_prompt, last_assistant, title, commands } = JSON.parse(digest)
    return [first_prompt, last_assistant, title, ...commands.map((one: { command: string }) => one.command)]
  })
  return [...new Set(texts.join(' ').match(/[\p{L}]{5,}/gu) ?? [])]
}

/** Words of names that every level holds, of our own tables, and of what Postgres says of itself. */
const allowed = (): RegExp => {
  const rows = cluster.sql(
    `SELECT string_agg(DISTINCT concat_ws(' ', repo, domain, model, flavor, session_uid), ' ') FROM recollect.sessions`,
  )
  const own = `${rows} ${readFileSync('src/store/postgres/schema.ts', 'utf8')} ${readFileSync('src/contract.ts', 'utf8')} ${readFileSync('src/model.ts', 'utf8')} ${['ingest', 'settle', 'removal', 'access', 'usage', 'database'].map((name) => readFileSync(`src/store/postgres/${name}.ts`, 'utf8')).join(' ')}`
  return new RegExp(
    own
      .replace(/[^\p{L}]+/gu, ' ')
      .trim()
      .split(' ')
      .filter((word) => word.length > 4)
      .map((word) => `^${word}$`)
      .join('|'),
    'i',
  )
}

withPostgres('pushing', () => {
  it('at level ledger holds no word of anybody: not in the database, its log, the blobs or ours', async () => {
    const config = await configured('ledger')
    const dry = [...preview(config)].map((one) => one.push)
    const report = await push(config)
    expect(report).toMatchObject({ acknowledged: dry.length, pending: 0, problems: [] })
    expect(dry.length).toBeGreaterThan(3)
    expect(there()).toBe(here())
    const held = [
      cluster.dump(),
      readFileSync(join(cluster.directory, 'log'), 'utf8'),
      server.log.join('\n'),
      JSON.stringify(dry),
    ].join('\n')
    const words = saidWords()
    expect(words.length).toBeGreaterThan(20)
    const known = allowed()
    expect(CANARIES.split(' ').filter((word) => known.test(word))).toEqual([])
    const found = words.filter(
      (word) => !known.test(word) && new RegExp(`(?<!\\p{L})${word}(?!\\p{L})`, 'u').test(held),
    )
    expect(found).toEqual([])
    // And the harness sees words where they are: the next level holds them.
    await push(at('digest'))
    const dump = cluster.dump()
    expect(words.filter((word) => dump.includes(word)).length).toBeGreaterThan(20)
    await push(at('ledger'))
    const lowered = cluster.dump()
    expect(words.filter((word) => !known.test(word) && lowered.includes(word))).toEqual([])
  })

  it('again sends nothing; what the dry run prints is what arrives', async () => {
    const config = await configured('full')
    const dry = [...preview(config)]
    expect((await push(config))?.acknowledged).toBe(dry.length)
    expect(await push(config)).toMatchObject({ acknowledged: 0, pending: 0 })
    expect([...preview(config)]).toEqual([])
    const [one] = dry.filter((each) => each.segments.size > 0)
    const auditor = await server.token(team, 'iris', 'auditor')
    const text = (
      await server.ask(auditor, 'GET', `/v1/text?uid=${encodeURIComponent(one?.push.session.uid as string)}`)
    ).body
    expect(text).toBe(
      [...(one?.segments.values() ?? [])].map((bytes) => gunzipSync(bytes).toString()).join(''),
    )
    expect(there()).toBe(here())
  })

  it('without a server waits, and loses nothing', async () => {
    const config = await configured('digest', `http://127.0.0.1:${await freePort()}`)
    const all = [...preview(config)].length
    expect(await push(config, 2000)).toMatchObject({
      acknowledged: 0,
      pending: all,
      problems: [{ code: 'UNREACHABLE' }],
    })
    // A sweep says so and does its own work.
    const swept = await sweepByCommand()
    expect([swept.code, swept.stderr]).toEqual([
      0,
      expect.stringContaining('the team server does not answer'),
    ])
    expect(await push(at('digest'))).toMatchObject({ acknowledged: all, pending: 0 })
  })

  it('what is forgotten here goes there, and a sweep pushes by itself', async () => {
    const config = await configured('full')
    await push(config)
    const [{ uid }] = world.read(({ memory }) =>
      memory
        .prepare(
          "SELECT session_uid AS uid FROM sessions WHERE relation = 'main' AND event_count > 0 ORDER BY 1 LIMIT 1",
        )
        .all(),
    ) as unknown as [{ uid: string }]
    expect(
      number(`SELECT count(*) FROM recollect.sessions WHERE team = '${team}' AND session_uid = '${uid}'`),
    ).toBe(1)
    const store = openStore(world.paths)
    store.archive.evict([{ uid, reason: 'forgotten', bytes: 1 }], Date.now())
    store.close()
    const swept = await sweepByCommand()
    expect([swept.code, swept.stderr]).toEqual([0, ''])
    for (const table of ['sessions', 'ledger', 'usage_slots', 'edges', 'failures', 'segments'])
      expect(
        number(`SELECT count(*) FROM recollect.${table} WHERE team = '${team}' AND session_uid = '${uid}'`),
      ).toBe(0)
    expect(there()).toBe(here())
  })

  it('two machines whose agent counts its sessions alike have two of each, with their trees', async () => {
    team = `push-${++teams}`
    const machines = [0, 1].map(() => new World(join(unpackAgent('goose'), 'subagent')))
    try {
      for (const [at, machine] of machines.entries()) {
        await machine.sweep()
        process.env['RECOLLECT_PUSH_TOKEN'] = await server.token(team, `p${at}`)
        machine.configure(`[push]\nurl = "${server.url}"\nlevel = "full"\n`)
        expect((await push(new Config({ env: machine.env })))?.problems).toEqual([])
      }
      const host = (machine: World): string =>
        String(
          machine.read(({ memory }) => memory.prepare('SELECT id FROM hosts').get() as { id: string }).id,
        )
      const all = machines.flatMap((one) => [1, 2].map((n) => `goose:20261116_${n}@${host(one)}`)).sort()
      const column = (what: string): string[] => cluster.sql(what).trim().split('\n')
      const of = `FROM recollect.sessions WHERE team = '${team}'`
      expect(column(`SELECT session_uid ${of} AND is_shown ORDER BY 1`)).toEqual(all)
      expect(column(`SELECT parent_uid FROM recollect.edges WHERE team = '${team}' ORDER BY 1`)).toEqual(
        all.filter((one) => one.startsWith('goose:20261116_1')),
      )
      const tokens = (world: World): number =>
        world.read(
          ({ memory }) =>
            memory.prepare('SELECT sum(input + output) AS n FROM usage WHERE is_counted').get() as {
              n: number
            },
        ).n
      const lead = await server.token(team, 'lead', 'lead')
      await server.ask(lead, 'GET', '/v1/usage')
      expect(number(`SELECT sum(input + output) FROM recollect.usage_slots WHERE team = '${team}'`)).toBe(
        machines.reduce((sum, one) => sum + tokens(one), 0),
      )
      expect((await server.ask(lead, 'GET', `/v1/digest?uid=${all[0]}`)).body.session_uid).toBe(all[0])
      const store = openStore((machines[0] as World).paths)
      store.archive.evict([{ uid: 'goose:20261116_1', reason: 'forgotten', bytes: 1 }], Date.now())
      store.close()
      process.env['RECOLLECT_PUSH_TOKEN'] = await server.token(team, 'p0')
      expect(await push(new Config({ env: (machines[0] as World).env }))).toMatchObject({
        forgotten: 1,
        problems: [],
      })
      expect(column(`SELECT session_uid ${of} ORDER BY 1`)).toEqual(
        all.filter((one) => one !== `goose:20261116_1@${host(machines[0] as World)}`),
      )
    } finally {
      for (const machine of machines) machine.remove()
    }
  })

  it('needs a token, and https unless the server is on this machine', async () => {
    const config = await configured('ledger')
    delete process.env['RECOLLECT_PUSH_TOKEN']
    expect((await push(config))?.problems).toMatchObject([{ code: 'BAD_CONFIG' }])
    process.env['RECOLLECT_PUSH_TOKEN'] = `rct_${'0'.repeat(16)}_${'x'.repeat(43)}`
    expect((await push(at('digest')))?.problems).toMatchObject([{ code: 'BAD_CONFIG' }])
    world.configure('[push]\nurl = "http://example.com"\n')
    expect((await push(new Config({ env: world.env })))?.problems).toMatchObject([{ code: 'BAD_CONFIG' }])
  })

  it.each(['ledger', 'digest', 'full'])(
    'takes what Postgres cannot hold, too, at level %s',
    async (level) => {
      const odd = (word: string): string => `${word}\u0000nul \ud800half`
      const same = { sessionId: OTHER, cwd: odd('/w/x'), gitBranch: odd('main') }
      const answer = assistant(
        'o2',
        'o1',
        [text(odd('yes')), call(odd('t'), odd('Bash'), { command: odd('make') })],
        same,
      )
      Object.assign(answer['message'] as object, {
        model: odd('opus'),
        id: odd('m'),
        usage: { input_tokens: 1, output_tokens: 1 },
      })
      write(join(world.home, '.claude', 'projects', '-w', `${OTHER}.jsonl`), [
        user('o1', null, odd('hello'), same),
        answer,
        user('o3', 'o2', [result(odd('t'), odd('Error: no such thing'), true)], same),
        { type: 'custom-title', customTitle: odd('title'), sessionId: OTHER },
      ])
      await world.sweep()
      const report = await push(await configured(level))
      expect(report).toMatchObject({ pending: 0, problems: [] })
      expect(
        number(
          `SELECT count(*) FROM recollect.sessions WHERE team = '${team}' AND session_uid = 'claude:${OTHER}'`,
        ),
      ).toBe(1)
    },
  )

  it('names sessions that no database takes, and sends the others', async () => {
    const far = { timestamp: '+275760-09-13T00:00:00.000Z' }
    const ids = Array.from(
      { length: 25 },
      (_, at) => `0${String(at).padStart(7, '0')}-1111-4111-8111-111111111111`,
    )
    for (const sessionId of ids) {
      const same = { sessionId, ...far }
      const answer = assistant('f2', 'f1', [text('yes')], same)
      Object.assign(answer['message'] as object, {
        id: `far-${sessionId}`,
        usage: { input_tokens: 1, output_tokens: 1 },
      })
      write(join(world.home, '.claude', 'projects', '-far', `${sessionId}.jsonl`), [
        user('f1', null, 'hello', same),
        answer,
      ])
    }
    await world.sweep()
    const report = await push(await configured('ledger'))
    expect([report?.pending, report?.problems.length]).toEqual([25, 20])
    expect(report?.problems[0]).toMatchObject({ code: 'REFUSED' })
    expect(report?.acknowledged).toBeGreaterThan(3)
  })
})
