// The way of a person: sweep, list, show, search, verify, through the program itself.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { hash } from 'node:crypto'
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { differences } from './setup/dump.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { cli, cliPath, temporary, World } from './setup/sweeping.ts'

type Json = Record<string, unknown>
const SESSION_FIELDS = `session_uid flavor native_session_id repo domain cwd git_branch model title title_source is_helper started_at ended_at
  outcome error_count decisions starred_at tags notes cost task_ref source_path source_bytes schema_version ingested_at analyzed_at evicted_at is_sole_copy redactions
  host host_id user`
const EVENT_FIELDS = `session_uid seq parent_seq ts kind role tool summary payload_ref tokens is_sidechain is_inherited
  is_superseded agent exit_code duration_ms does state mark`
const names = (text: string): string[] => text.split(/\s+/).sort()

/** A home with sessions of every agent there is. */
function homeOfAll(): string {
  const home = temporary('home')
  for (const [client, scenario] of [
    ['claude', 'tools'],
    ['claude', 'subagent'],
    ['codex', 'tools'],
    ['grok', 'tools'],
  ] as const)
    cpSync(join(unpackAgent(client), scenario), home, { recursive: true })
  return home
}

let world: World
beforeAll(() => {
  world = new World(homeOfAll())
})
const json = (...args: string[]): Json => {
  const { code, stdout, stderr } = cli(world.env, ...args, '--json')
  expect([code, stderr]).toEqual([0, ''])
  return JSON.parse(stdout) as Json
}

it('lets a fork begin where its own part does', async () => {
  const forked = new World(join(unpackAgent('grok'), 'fork'))
  await forked.sweep()
  const rows = forked.read(({ memory }) =>
    memory.prepare('SELECT relation, started_at AS at FROM sessions ORDER BY started_at').all(),
  ) as { relation: string; at: number }[]
  expect(rows.map((row) => [row.relation, new Date(row.at).toISOString().slice(17, 23)])).toEqual([
    ['main', '28.475'],
    ['fork', '29.654'],
    ['fork', '30.616'],
  ])
})

describe('a first sweep', () => {
  it('says what it read, source by source', () => {
    const report = json('sweep')
    expect(Object.keys(report).sort()).toEqual(
      names(
        'changed_events coverage coverage_count dry_run duration_ms interrupted new_events problem_count problems read_bytes roots scope session_count sessions sources started_at',
      ),
    )
    const coverage = report['coverage'] as {
      size: number
      understood_bytes: number
      gaps: Json
      flavor: string
    }[]
    expect(new Set(coverage.map((one) => one.flavor))).toEqual(new Set(['claude', 'codex', 'grok']))
    for (const one of coverage) {
      expect(one.gaps).toEqual({})
      expect(one.size - one.understood_bytes).toBeLessThanOrEqual(1)
    }
    expect(report['problems']).toEqual([])
    expect((report['sessions'] as string[]).length).toBeGreaterThan(3)
  })

  it('leaves files nobody else can read', () => {
    for (const name of ['memory.db', 'cache/cache.db', 'redaction.key', 'sweep.lock'])
      expect(statSync(join(world.memory, name)).mode & 0o077, name).toBe(0)
    expect(statSync(world.memory).mode & 0o077).toBe(0)
  })

  it('is followed by one that has nothing to do', () => {
    const report = json('sweep')
    expect(report).toMatchObject({
      read_bytes: 0,
      new_events: 0,
      changed_events: 0,
      coverage: [],
      sessions: [],
    })
    expect(report['sources']).toMatchObject({ new: 0, appended: 0, changed: 0, moved: 0, missing: 0 })
  })

  it('may be asked for one agent, and for everything again', () => {
    const before = world.dump()
    const one = json('sweep', '--flavor', 'grok', '--full')
    expect(new Set((one['coverage'] as Json[]).map((source) => source['flavor']))).toEqual(new Set(['grok']))
    expect(one).toMatchObject({ new_events: 0, sources: { missing: 0 } })
    expect(differences(world.dump(), before)).toEqual([])
    expect(cli(world.env, 'sweep', '--flavor', 'gork')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('grok'),
    })
  })
})

describe('reading out', () => {
  it('sessions: the fields of the contract, newest first, sub-agents on demand', () => {
    const { sessions } = json('sessions') as { sessions: Json[] }
    for (const session of sessions) {
      expect(Object.keys(session).sort()).toEqual(names(SESSION_FIELDS))
      expect(Object.keys(session['cost'] as Json).sort()).toEqual(
        names('cache_tokens input_tokens output_tokens retries turns wall_clock_s'),
      )
    }
    const started = sessions.map((one) => one['started_at'] as string)
    expect(started).toEqual([...started].sort().reverse())
    expect((json('sessions', '--all')['sessions'] as Json[]).length).toBeGreaterThanOrEqual(sessions.length)
    expect((json('sessions', '--flavor', 'codex')['sessions'] as Json[]).length).toBe(1)
    expect((json('sessions', '--limit', '2')['sessions'] as Json[]).length).toBe(2)
    expect(json('sessions', '--since', '2030-01-01')['sessions']).toEqual([])
    expect((json('sessions', '--repo', 'proj')['sessions'] as Json[]).length).toBe(sessions.length)
  })

  it('show: events with their fields, in order; bodies on demand', () => {
    const { sessions } = json('sessions', '--flavor', 'claude') as { sessions: Json[] }
    const uid = sessions[0]?.['session_uid'] as string
    const plain = json('show', uid) as { session: Json; events: Json[] }
    expect(plain.session).toEqual(sessions[0])
    // A session told by several files is merged by time: every number once, not necessarily rising.
    const seqs = plain.events.map((one) => one['seq'] as number)
    expect(seqs.toSorted((a, b) => a - b)).toEqual(plain.events.map((_, at) => at + 1))
    for (const event of plain.events) expect(Object.keys(event).sort()).toEqual(names(EVENT_FIELDS))
    const full = json('show', uid, '--payload') as { events: Json[] }
    expect(full.events.every((one) => one['payload'] !== null && one['payload'] !== undefined)).toBe(true)
    expect((json('show', `${uid}#2`) as { events: Json[] }).events.map((one) => one['seq'])).toEqual([2])
    expect(
      (json('show', uid, '--kind', 'user_msg,edit') as { events: Json[] }).events.every((one) =>
        ['user_msg', 'edit'].includes(one['kind'] as string),
      ),
    ).toBe(true)
    expect(cli(world.env, 'show', '@last').code).toBe(0)
    expect(cli(world.env, 'show', uid.split(':')[1]?.slice(0, 9) as string).code).toBe(0)
  })

  it('search: what was said, and what looks like an option', () => {
    expect((json('search', 'proj')['hits'] as Json[]).length).toBeGreaterThan(0)
    expect(cli(world.env, 'search', '--json', '--', '--no-such-flag')).toMatchObject({ code: 0 })
    expect(cli(world.env, 'search', 'proj', '-proj').stdout).toMatch(/^nothing found/)
    expect(cli(world.env, 'search', '"((', '*', 'NEAR(').code).toBe(0)
  })

  it('for people: one line per session and event, and a status', () => {
    for (const args of [['sessions'], ['show', '@last'], ['search', 'proj'], ['status'], []]) {
      const { code, stdout } = cli(world.env, ...args)
      expect([code, stdout.includes('undefined'), stdout.includes('null')]).toEqual([0, false, false])
    }
  })

  it.each([
    [['show', 'nothing-like-it'], 1],
    [['show', '@last#99999'], 1],
    [['show', ''], 2],
    [['show', '@last', '--kind', 'nonsense'], 2],
    [['sessions', '--since', 'whenever'], 2],
    [['sessions', '--limit', '-1'], 2],
    [['sessions', '--limit', 'x'], 2],
    [['swep'], 2],
    [['sweep', '--nonsense'], 2],
  ] as [string[], number][])('%j ends with %i and says why', (args, code) => {
    const result = cli(world.env, ...args)
    expect([result.code, result.stderr.startsWith('error:')]).toEqual([code, true])
    expect(result.stderr).not.toMatch(/\n {4}at /)
  })

  it('into a pipe that is closed early is no error', () => {
    const { status, stderr } = spawnSync(
      '/bin/bash',
      ['-c', `set -o pipefail; "${process.execPath}" "${cliPath}" show @last --json --payload | head -c 10`],
      { env: { PATH: process.env['PATH'] ?? '', ...world.env }, encoding: 'utf8' },
    )
    expect([status, stderr]).toEqual([0, ''])
  })

  it('verify finds nothing wrong', () => {
    expect(json('verify')['problems']).toEqual([])
  })
})

describe('a home', () => {
  it('where no agent ever was is told where we looked', () => {
    const empty = new World()
    const { code, stdout } = cli(empty.env, 'sweep')
    expect(code).toBe(0)
    expect(stdout).toContain('no agent has left anything here')
    expect(stdout).toContain('nothing of claude, codex')
    expect(cli(empty.env, 'sweep', '--dry-run', '--json').stdout).toContain(
      join(empty.home, '.claude', 'projects'),
    )
    expect(cli(empty.env, 'sessions', '--json')).toMatchObject({
      code: 0,
      stdout: '{\n  "sessions": []\n}\n',
    })
  })

  it('that was never swept says what to do', () => {
    const empty = new World()
    rmSync(empty.memory, { recursive: true })
    for (const command of ['sessions', 'verify']) {
      const { code, stderr } = cli(empty.env, command)
      expect([code, stderr.includes('recollect demo')]).toEqual([1, true])
      expect(stderr).toContain('nothing of claude, codex')
    }
    cpSync(join(world.home, '.claude'), join(empty.home, '.claude'), { recursive: true })
    expect(cli(empty.env, 'sessions').stderr).toContain('try: recollect sweep')
  })

  it('with damaged files is swept, and what was not understood is named', () => {
    const damaged = new World()
    const directory = join(damaged.home, '.claude', 'projects', '-w')
    mkdirSync(directory, { recursive: true })
    writeFileSync(
      join(directory, '44444444-4444-4444-8444-444444444444.jsonl'),
      '{"type":"user"}\nnot json\n{"type":"martian"}\n',
    )
    const { code, stdout } = cli(damaged.env, 'sweep', '--json')
    expect(code).toBe(4)
    expect((JSON.parse(stdout) as { coverage: Json[] }).coverage).toMatchObject([
      { gaps: { 'not-json': 1 }, unknown: { martian: 1 } },
    ])
    expect(cli(damaged.env, 'sweep', '--full').stdout).toMatch(/not understood: not-json ×1[\s\S]*martian ×1/)
  })

  const asNobody = ['--reuid=65534', '--regid=65534', '--clear-groups', process.execPath, cliPath]
  // Only root can become somebody else, and only where somebody else may enter the checkout.
  const canBeNobody = spawnSync('setpriv', [...asNobody, '--version']).status === 0
  it.skipIf(!canBeNobody)('with a file of somebody else is swept without it', () => {
    const mixed = new World()
    const directory = join(mixed.home, '.claude', 'projects', '-w')
    cpSync(join(unpackAgent('claude'), 'qa', '.claude'), join(mixed.home, '.claude'), { recursive: true })
    mkdirSync(directory)
    const locked = join(directory, '44444444-4444-4444-8444-444444444444.jsonl')
    writeFileSync(locked, '{"type":"user"}\n')
    execFileSync('chown', ['-R', '65534:65534', mixed.base])
    chmodSync(locked, 0)
    const { status, stdout } = spawnSync('setpriv', [...asNobody, 'sweep', '--json'], {
      env: { PATH: process.env['PATH'] ?? '', ...mixed.env },
      encoding: 'utf8',
    })
    const report = JSON.parse(stdout) as { problems: Json[]; sessions: string[] }
    expect([
      status,
      report.problems.map((one) => [one['path'], one['code']]),
      report.sessions.length,
    ]).toEqual([4, [[locked, 'NOT_READABLE']], 1])
  })

  it('with a memory elsewhere keeps it there', () => {
    const elsewhere = new World(world.home)
    const path = join(elsewhere.base, 'other', 'helix.db')
    const env = { ...elsewhere.env, HELIX_STORE_DB: path }
    expect(cli(env, 'sweep').code).toBe(0)
    expect(readFileSync(path).subarray(0, 15).toString()).toBe('SQLite format 3')
    expect(JSON.parse(cli(env, 'sessions', '--json').stdout).sessions.length).toBeGreaterThan(2)
    expect(cli(elsewhere.env, 'sessions').code).toBe(1)
  })

  it('with a memory of a newer program is left alone', () => {
    const newer = new World(world.home)
    expect(cli(newer.env, 'sweep').code).toBe(0)
    const program = `const { DatabaseSync } = await import('@photostructure/sqlite')
      new DatabaseSync(process.argv[1]).exec('PRAGMA user_version = 99')`
    execFileSync(process.execPath, ['--input-type=module', '-e', program, join(newer.memory, 'memory.db')])
    for (const command of ['sweep', 'sessions', 'verify']) {
      const { code, stderr } = cli(newer.env, command)
      expect([code, stderr.includes('newer')], command).toEqual([1, true])
    }
  })

  it('whose configuration is wrong is not swept', () => {
    const wrong = new World(world.home)
    writeFileSync(join(wrong.memory, 'config.toml'), '[task_ref]\npatterns = ["("]\n')
    expect(cli(wrong.env, 'sweep')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('task_ref.patterns'),
    })
  })
})

describe('a dry run', () => {
  it('says what would be read, and leaves no trace', async () => {
    const own = new World()
    cpSync(join(unpackAgent('claude'), 'tools'), own.home, { recursive: true })
    rmSync(own.memory, { recursive: true })
    const dry = (): { sources: Record<string, number>; read_bytes: number; coverage: { change: string }[] } =>
      JSON.parse(cli(own.env, 'sweep', '--dry-run', '--json').stdout)
    const first = dry()
    expect(existsSync(own.memory)).toBe(false)
    const swept = await own.sweep()
    // A line end behind the last record is no part of it.
    expect(first.sources).toEqual(swept.counts)
    expect(first.read_bytes - swept.readBytes).toBeLessThanOrEqual(1)
    expect(dry()).toMatchObject({ read_bytes: 0, coverage: [] })
    const before = own.dump()
    const [path] = swept.sources.map((one) => one.path)
    appendFileSync(path as string, '{"type":"summary"}\n')
    expect(dry()).toMatchObject({ sources: { appended: 1 }, coverage: [{ change: 'appended' }] })
    expect(cli(own.env, 'sweep', '--dry-run').stdout).toMatch(
      /^ {2}grown .*\nwould read \d+ B; nothing was read/m,
    )
    expect(own.dump()).toEqual(before)
    // What was moved, touched or forgotten is told as the sweep after it tells it.
    renameSync(
      path as string,
      (path as string).replace(/[^/]+$/, '77777777-7777-4777-8777-777777777777.jsonl'),
    )
    cli(own.env, 'forget', '@last', '--yes')
    const { sources } = dry()
    expect(sources['moved']).toBe(1)
    expect((await own.sweep()).counts).toEqual(sources)
    own.remove()
  })
})

describe('two at once', () => {
  /** Enough to be caught at it. */
  function longHome(): World {
    const long = new World()
    const directory = join(long.home, '.claude', 'projects', '-w')
    mkdirSync(directory, { recursive: true })
    for (const file of [1, 2, 3]) {
      const id = `${file}4444444-4444-4444-8444-444444444444`
      const lines = Array.from({ length: 800 }, (_, at) => ({
        type: 'user',
        uuid: `${file}-${at}`,
        parentUuid: null,
        sessionId: id,
        timestamp: new Date(1_794_000_000_000 + at).toISOString(),
        message: { role: 'user', content: `line ${at} of ${file} ${hash('sha512', `${at}`).repeat(32)}` },
      }))
      writeFileSync(join(directory, `${id}.jsonl`), lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    }
    return long
  }
  const started = (long: World) =>
    spawn(process.execPath, [cliPath, 'sweep'], { env: long.env, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = (child: ReturnType<typeof started>) =>
    new Promise<[number | null, string]>((resolve) => {
      let text = ''
      child.stdout.on('data', (chunk) => {
        text += chunk
      })
      child.on('exit', (code, by) => resolve([code ?? 128 + constants.signals[by as NodeJS.Signals], text]))
    })
  const until = async (condition: () => boolean): Promise<void> => {
    while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5))
  }
  const isLocked = (long: World): boolean => {
    try {
      return statSync(join(long.memory, 'cache', 'cache.db')).size > 0
    } catch {
      return false
    }
  }

  it('one works, one says busy; reading goes on meanwhile', async () => {
    const long = longHome()
    const first = started(long)
    const end = ended(first)
    await until(() => existsSync(join(long.memory, 'cache', 'blobs')))
    // Else it may have ended before the others have begun.
    first.kill('SIGSTOP')
    const results = [cli(long.env, 'sweep'), cli(long.env, 'sessions', '--json')]
    first.kill('SIGCONT')
    expect(results.map((one) => one.code)).toEqual([5, 0])
    expect(results[0]?.stderr).toContain('another sweep')
    expect((await end)[0]).toBe(0)
    expect(JSON.parse(cli(long.env, 'sessions', '--json').stdout).sessions.length).toBe(3)
    expect(cli(long.env, 'verify').code).toBe(0)
  })

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('%s ends it with %i; the next sweep goes on', async (signal, code) => {
    const long = longHome()
    const first = started(long)
    const end = ended(first)
    await until(() => isLocked(long))
    first.kill(signal)
    const [found, text] = await end
    expect(found).toBe(code)
    // Before and after reading the system ends it.
    if (text !== '') expect(text).toContain('interrupted')
    expect(cli(long.env, 'sweep').code).toBe(0)
    const whole = new World(long.home)
    expect(cli(whole.env, 'sweep').code).toBe(0)
    expect(differences(long.dump().events, whole.dump().events)).toEqual([])
  })
})
