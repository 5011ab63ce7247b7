// A database that cannot be opened says which kind of trouble it is: a full disk is not damage. Real file systems, real
// limits; what needs root to mount says so.
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { RecollectError } from '../src/errors.ts'
import { storePaths } from '../src/store/reading.ts'
import { openStore } from '../src/store/sqlite.ts'
import { SESSION, user, write } from './setup/claude.ts'
import { unpackMemory } from './setup/fixtures.ts'
import { cli, cliPath, temporary } from './setup/sweeping.ts'

const mounts: string[] = []
afterEach(() => {
  for (const directory of mounts.splice(0)) execFileSync('umount', ['-l', directory])
})

function tmpfs(size: string): string | undefined {
  const directory = temporary('mount')
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', directory]).status !== 0)
    return undefined
  mounts.push(directory)
  return directory
}

const canMount = ((): boolean => {
  const directory = tmpfs('1m')
  for (const one of mounts.splice(0)) execFileSync('umount', ['-l', one])
  return directory !== undefined
})()

function failureOf(work: () => unknown): RecollectError {
  try {
    work()
  } catch (error) {
    expect(error).toBeInstanceOf(RecollectError)
    return error as RecollectError
  }
  throw new Error('nothing failed')
}

it.each(['memory.db', 'cache/cache.db'])(
  'a pipe in the place of %s is named, and nobody waits at it',
  (name) => {
    const home = temporary('pipe')
    openStore(storePaths(home)).close()
    rmSync(join(home, name))
    execFileSync('mkfifo', [join(home, name)])
    for (const command of ['sessions', 'sweep']) {
      const { status, stderr } = spawnSync(process.execPath, [cliPath, command], {
        env: { PATH: process.env['PATH'], HOME: home, RECOLLECT_HOME: home },
        encoding: 'utf8',
        timeout: 30_000,
      })
      expect([command, status, stderr]).toEqual([command, 1, expect.stringContaining('[NOT_A_FILE]')])
    }
  },
  90_000,
)

describe.skipIf(!canMount)('a full disk (skipped where nothing can be mounted)', () => {
  it.each([0, 16, 64, 128])('with %i KB left is called so, and the way back is to free some', (leftKb) => {
    const home = tmpfs('512k') as string
    const { bavail, bsize } = statfsSync(home)
    writeFileSync(join(home, 'filler'), Buffer.alloc(bavail * bsize - leftKb * 1024, 1))
    const failure = failureOf(() => openStore(storePaths(home)))
    expect(failure.code).toBe('DISK_FULL')
    expect(failure.hint).toMatch(/free some space/)
    expect(failure.where).toContain(home)
    rmSync(join(home, 'filler'))
    execFileSync('mount', ['-o', 'remount,size=16m', home])
    const store = openStore(storePaths(home))
    expect(store.archive.verify().problems).toEqual([])
    store.close()
  })

  it.each([0, 40, 120, 200])(
    'with %i KB left keeps an old memory from being brought up to date, which says so and loses nothing',
    (leftKb) => {
      const disk = tmpfs('8m') as string
      const memory = join(disk, 'memory')
      cpSync(unpackMemory('schema-9-4'), memory, { recursive: true })
      const { bavail, bsize } = statfsSync(disk)
      writeFileSync(join(disk, 'filler'), Buffer.alloc(bavail * bsize - leftKb * 1024, 1))
      const env = { HOME: temporary('no-home'), RECOLLECT_HOME: memory }
      for (let time = 0; time < 2; time++) {
        const { code, stderr } = cli(env, 'sweep')
        expect([code, stderr]).toEqual([1, expect.stringMatching(/DISK_FULL.*try: free some space/s)])
        // With less, and when a log lies there (of the first time, or of the other database, which had room enough), SQLite
        // does not even open it.
        if (leftKb >= 40 && leftKb < 200 && time === 0)
          expect(stderr).toMatch(/ schema \d+ to \d+.*Nothing is lost/s)
      }
      const reading = cli(env, 'sessions')
      // Where the room was enough for the schema and not for the rest, there is nothing to say.
      if (reading.code !== 0) expect(reading.stderr).toMatch(/try: (free some space|recollect sweep)/)
      else expect(leftKb).toBe(200)
      rmSync(join(disk, 'filler'))
      expect(cli(env, 'sweep')).toMatchObject({ code: 0 })
      expect(cli(env, 'verify').stdout).toContain('287 events, 179 payloads')
      // One of them asked nothing, and is left out.
      expect(JSON.parse(cli(env, 'sessions', '--json').stdout).sessions).toHaveLength(12)
    },
  )

  it('in the middle of a sweep ends it with the same word, exit 1; afterwards it goes on', () => {
    const base = temporary('full')
    const memory = tmpfs('2m') as string
    const project = join(base, '.claude', 'projects', '-p')
    mkdirSync(project, { recursive: true })
    const id = '11111111-0000-4000-8000-000000000000'
    const lines = Array.from({ length: 12_000 }, (_, at) =>
      JSON.stringify({
        type: 'user',
        uuid: `${String(at).padStart(8, '0')}-0000-4000-8000-00000000000a`,
        parentUuid: null,
        sessionId: id,
        timestamp: '2026-01-01T00:00:00Z',
        message: { role: 'user', content: `${at} `.repeat(80) },
      }),
    )
    writeFileSync(join(project, `${id}.jsonl`), `${lines.join('\n')}\n`)
    const env = { HOME: base, RECOLLECT_HOME: memory }
    const full = cli(env, 'sweep')
    expect(full.code, full.stderr).toBe(1)
    expect(full.stderr).toContain('[DISK_FULL]')
    execFileSync('mount', ['-o', 'remount,size=64m', memory])
    expect(cli(env, 'sweep').code).toBe(0)
    expect(cli(env, 'verify').code).toBe(0)
  })
})

it('something that is no database is called damaged, and left alone', () => {
  const home = temporary('open')
  writeFileSync(join(home, 'memory.db'), 'this is no database, and long enough to be looked at '.repeat(40))
  const failure = failureOf(() => openStore(storePaths(home)))
  expect(failure.code).toBe('CORRUPT')
  expect(failure.where).toBe(join(home, 'memory.db'))
})

it('a directory in its place is named', () => {
  const home = temporary('open')
  mkdirSync(join(home, 'memory.db'))
  expect(failureOf(() => openStore(storePaths(home))).code).toBe('NOT_A_FILE')
})

it('a memory is opened also after the garbage was collected', () => {
  const home = temporary('garbage')
  write(join(home, '.claude', 'projects', '-p', `${SESSION}.jsonl`), [user('a', null, 'hello there')])
  expect(cli({ HOME: home, RECOLLECT_HOME: join(home, 'memory') }, 'sweep').code).toBe(0)
  const program = join(import.meta.dirname, 'programs', 'after-garbage.mjs')
  const args = ['--no-warnings', '--expose-gc', program, join(home, 'memory')]
  expect(JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }))).toEqual({
    isHeld: true,
    count: 1,
  })
})

describe.skipIf(!canMount)('a memory that can only be read (skipped where nothing can be mounted)', () => {
  it('answers every question, and says why it takes nothing in', () => {
    const home = temporary('reader')
    const memory = tmpfs('16m') as string
    write(join(home, '.claude', 'projects', '-p', `${SESSION}.jsonl`), [user('a', null, 'hello there')])
    const env = { HOME: home, RECOLLECT_HOME: memory }
    expect(cli(env, 'sweep').code).toBe(0)
    execFileSync('mount', ['-o', 'remount,ro', memory])
    for (const words of [
      'status',
      'sessions',
      'show @last',
      'search hello',
      'digest @last',
      'usage',
      'lineage @last',
    ]) {
      const { code, stderr } = cli(env, ...words.split(' '))
      expect([words, code, stderr]).toEqual([words, 0, ''])
    }
    expect(cli(env, 'show', '@last').stdout).toContain('hello there')
    for (const words of ['sweep', 'pin @last', 'evict']) {
      const { code, stderr } = cli(env, ...words.split(' '))
      expect([words, code, stderr]).toEqual([words, 1, expect.stringContaining('NOT_WRITABLE')])
    }
  })
})
