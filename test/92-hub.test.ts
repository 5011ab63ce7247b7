// Telling others: a file for each digest and decision, and events to a real HTTP server that is down, slow, broken and
// then well. Nothing of it may stop a sweep, be lost, or be told twice.

import { execFile, execFileSync, spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Config } from '../src/config.ts'
import { decide } from '../src/decide.ts'
import { postEvents } from '../src/hub/events.ts'
import { baseName } from '../src/hub/files.ts'
import type { Database } from '../src/store/database.ts'
import { databasesOf } from '../src/store/databases.ts'
import { openNotes } from '../src/store/notes.ts'
import { storePaths } from '../src/store/reading.ts'
import type { SweepReport } from '../src/sweep/report.ts'
import { type MadeSession, Memory, makeSession, writeLines } from './setup/raw-memory.ts'
import { flushesOf, hasStrace, stopAt } from './setup/stopping.ts'
import { cli, cliPath, temporary } from './setup/sweeping.ts'

let memory: Memory
let made: MadeSession
let directory: string
let isMounted = false
beforeEach(async () => {
  memory = new Memory()
  directory = join(memory.root, 'hub')
  made = makeSession(memory.env['HOME'] as string, 2)
  writeLines(made)
})
afterEach(() => {
  if (isMounted) execFileSync('umount', ['-l', directory])
  isMounted = false
  memory.remove()
})

const configure = (lines: string): void =>
  writeFileSync(join(memory.home, 'config.toml'), `[hub]\n${lines}\n`)
const withDirectory = (): void => configure(`digests_dir = ${JSON.stringify(directory)}`)
const namesIn = (): string[] => readdirSync(directory).sort()
const digestName = (uid: string): string => `${baseName(uid)}.digest.json`
function withMemory<T>(work: (memory: Database) => T): T {
  const notes = openNotes(storePaths(memory.home))
  try {
    return work(databasesOf(notes.reader).memory)
  } finally {
    notes.close()
  }
}

describe('files', () => {
  beforeEach(() => {
    mkdirSync(directory)
    withDirectory()
  })

  it('hold each digest as it is stored, and each decision', async () => {
    const report = await memory.sweep()
    expect(report.hub).toMatchObject({ files: { written: 1, removed: 0 }, problems: [] })
    expect(namesIn()).toEqual([digestName(made.uid)])
    const stored = withMemory(
      (database) => (database.prepare('SELECT digest FROM digests').get() as { digest: string }).digest,
    )
    expect(readFileSync(join(directory, digestName(made.uid)), 'utf8')).toBe(`${stored}\n`)
    expect(statSync(join(directory, digestName(made.uid))).mode & 0o777).toBe(0o600)
    const decision = decide({ config: memory.config, session: made.uid, text: 'Keep it', author: 'ada' })
    expect(namesIn()).toEqual([`${baseName(made.uid)}.decision-${decision.id}.json`, digestName(made.uid)])
    const read = (name: string) => JSON.parse(readFileSync(join(directory, name), 'utf8'))
    expect(read(namesIn()[0] as string)).toEqual({ ...decision, kind: 'decision', schema_version: 1 })
    expect(read(digestName(made.uid)).decisions).toHaveLength(1)
  })

  it('are written again only when they changed or are missing', async () => {
    await memory.sweep()
    const path = join(directory, digestName(made.uid))
    const old = new Date(2020, 1, 1)
    utimesSync(path, old, old)
    // The digest is made anew, and says the same.
    await memory.sweep({ full: true })
    withMemory((database) => database.exec('UPDATE digests SET made_at = made_at + 1'))
    expect((await memory.sweep()).hub).toMatchObject({ files: { written: 0 } })
    expect(statSync(path).mtimeMs).toBe(old.getTime())
    rmSync(path)
    expect((await memory.sweep()).hub).toMatchObject({ files: { written: 1 } })
    const more = makeSession(memory.env['HOME'] as string, 3, made.lines)
    const line = (one: string): string =>
      JSON.stringify({ ...JSON.parse(one), sessionId: made.uid.replace('claude:', '') })
    writeLines({ ...made, lines: more.lines.slice(made.lines.length).map(line) })
    expect((await memory.sweep()).hub).toMatchObject({ files: { written: 1 } })
    expect(JSON.parse(readFileSync(path, 'utf8')).cost.turns).toBe(5)
  })

  it('go when the session is forgotten, also later; others stay', async () => {
    const other = makeSession(memory.env['HOME'] as string, 1)
    writeLines(other)
    await memory.sweep()
    decide({ config: memory.config, session: made.uid, text: 'Keep it' })
    writeFileSync(join(directory, 'of-somebody-else.digest.json'), '{}')
    expect(cli(memory.env, 'forget', made.uid, '--yes').code).toBe(0)
    const left = ['of-somebody-else.digest.json', digestName(other.uid)].sort()
    expect(namesIn()).toEqual(left)
    expect(withMemory((database) => database.prepare('SELECT session_uid FROM hub_files').all())).toEqual([
      { session_uid: other.uid },
    ])
    rmSync(directory, { recursive: true })
    expect(cli(memory.env, 'forget', other.uid, '--yes').code).toBe(0)
    mkdirSync(directory)
    writeFileSync(join(directory, digestName(other.uid)), '{}')
    expect((await memory.sweep()).hub).toMatchObject({ files: { removed: 1 }, problems: [] })
    expect(namesIn()).toEqual([])
  })

  it.skipIf(!hasStrace)('go also when the sweep that wrote them was killed before its end', () => {
    const flushes = flushesOf(memory.env, ['sweep'])
    let killed = 0
    for (const flush of flushes.toReversed()) {
      for (const path of [memory.home, directory]) rmSync(path, { recursive: true })
      for (const path of [memory.home, directory]) mkdirSync(path, { mode: 0o700 })
      withDirectory()
      // One that takes long commits more often: what was counted then may have one flush more.
      if (!stopAt(memory.env, ['sweep'], flush)) continue
      // Payloads are flushed before there is anything to tell.
      if (namesIn().every((name) => name.endsWith('.tmp'))) break
      killed++
      expect(cli(memory.env, 'forget', made.uid, '--yes').code).toBe(0)
      expect(namesIn(), `killed at ${flush.name} ${flush.number}`).toEqual([])
    }
    expect(killed).toBeGreaterThan(1)
  })

  it('of a session that another memory still holds are left to it, and named', async () => {
    await memory.sweep()
    const other = new Memory(join(memory.root, 'other'))
    writeFileSync(join(other.home, 'config.toml'), readFileSync(join(memory.home, 'config.toml')))
    const inOther = (): Promise<SweepReport> => memory.sweep({ config: new Config({ env: otherEnv }) })
    const otherEnv = { ...memory.env, RECOLLECT_HOME: other.home }
    expect((await inOther()).hub).toMatchObject({ problems: [] })
    expect(cli(memory.env, 'forget', made.uid, '--yes').code).toBe(0)
    expect(namesIn()).toEqual([])
    expect((await inOther()).hub).toMatchObject({ files: { written: 1 }, problems: [] })
    for (let round = 0; round < 2; round++) {
      expect((await memory.sweep()).hub).toMatchObject({
        files: { written: 0, removed: 0 },
        problems: [{ code: 'EXISTS', hint: expect.stringContaining('other memory') }],
      })
      expect((await inOther()).hub).toMatchObject({ files: { written: 0 }, problems: [] })
    }
    expect(cli(otherEnv, 'forget', made.uid, '--yes').code).toBe(0)
    expect((await memory.sweep()).hub).toMatchObject({ files: { removed: 0 }, problems: [] })
    other.remove()
  })

  it('take the place of a pipe without waiting for its writer', async () => {
    execFileSync('mkfifo', [join(directory, digestName(made.uid))])
    expect((await memory.sweep()).hub).toMatchObject({ files: { written: 1 }, problems: [] })
    expect(statSync(join(directory, digestName(made.uid))).isFile()).toBe(true)
  })

  it('have names that are safe and different for any uid', () => {
    const uids = [
      'a:b',
      'a_b',
      'A:b',
      'a:../../etc/passwd',
      'a:\0\n',
      `a:${'x'.repeat(500)}`,
      'a:ü',
      'con:nul',
      'a:.',
    ]
    const names = uids.map(baseName)
    expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(uids.length)
    for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_-]{1,80}\.[0-9a-f]{16}$/)
  })

  it('leave no temporary file of a killed writer behind for long', async () => {
    const leftover = join(directory, `.${digestName(made.uid)}.0123456789ab.tmp`)
    const young = join(directory, `.${digestName(made.uid)}.ba9876543210.tmp`)
    for (const path of [leftover, young]) writeFileSync(path, 'half')
    utimesSync(leftover, new Date(2020, 1, 1), new Date(2020, 1, 1))
    await memory.sweep()
    expect([existsSync(leftover), existsSync(young)]).toEqual([false, true])
  })

  it('that cannot be written stop nothing, and are written once they can', async () => {
    rmSync(directory, { recursive: true })
    const run = cli(memory.env, 'sweep')
    expect(run.code).toBe(0)
    const [problem] = (await memory.sweep()).hub?.problems ?? []
    expect(problem).toMatchObject({
      code: 'NOT_FOUND',
      where: directory,
      hint: expect.stringContaining('mkdir'),
    })
    expect(() => decide({ config: memory.config, session: made.uid, text: 'Keep it' })).not.toThrow()
    writeFileSync(directory, 'a file')
    expect((await memory.sweep()).hub?.problems).toMatchObject([{ code: 'UNSAFE_PATH' }])
    rmSync(directory)
    mkdirSync(directory)
    // Stands for a directory that takes no writes (root may write anywhere): a directory where the file should be.
    mkdirSync(join(directory, digestName(made.uid)))
    const blocked = (await memory.sweep()).hub
    expect(blocked?.problems).toMatchObject([
      { code: 'NOT_A_FILE', where: join(directory, digestName(made.uid)) },
    ])
    expect(blocked?.files?.written).toBe(1)
    rmSync(join(directory, digestName(made.uid)), { recursive: true })
    expect((await memory.sweep()).hub).toMatchObject({ files: { written: 1 }, problems: [] })
  })

  const canMount = ((): boolean => {
    const place = temporary('mount')
    const isMounted = spawnSync('mount', ['-t', 'tmpfs', 'tmpfs', place]).status === 0
    if (isMounted) execFileSync('umount', [place])
    return isMounted
  })()
  /** A file system of its own, gone when the test ends. */
  const mounted = (): void => {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', directory])
    isMounted = true
  }

  it.skipIf(!canMount)(
    'on a full disk are reported, with a bound on the noise, and come when there is room',
    async () => {
      for (let at = 0; at < 6; at++) writeLines(makeSession(memory.env['HOME'] as string, 1))
      mounted()
      writeFileSync(join(directory, 'large'), Buffer.alloc(60 << 10))
      const { hub } = await memory.sweep()
      expect(hub?.problems).toHaveLength(3)
      for (const problem of hub?.problems ?? []) expect(problem).toMatchObject({ code: 'DISK_FULL' })
      expect(namesIn().filter((name) => name.endsWith('.tmp'))).toEqual([])
      rmSync(join(directory, 'large'))
      expect((await memory.sweep()).hub?.problems).toEqual([])
      expect(namesIn()).toHaveLength(7)
    },
  )

  it.skipIf(!canMount)('on a disk that is read-only are reported', async () => {
    mounted()
    execFileSync('mount', ['-o', 'remount,ro', directory])
    expect((await memory.sweep()).hub?.problems).toMatchObject([{ code: 'NOT_WRITABLE' }])
    execFileSync('mount', ['-o', 'remount,rw', directory])
    expect((await memory.sweep()).hub).toMatchObject({ files: { written: 1 }, problems: [] })
  })
})

interface Hub {
  server: Server
  url: string
  answer: (request: IncomingMessage, response: ServerResponse, body: string) => void
  got: { key: string; token: string | undefined; body: Record<string, unknown> }[]
}

async function startHub(): Promise<Hub> {
  const hub: Hub = { server: createServer(), url: '', answer: (_, response) => response.end('ok'), got: [] }
  hub.server.on('request', (request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (part: string) => {
      body += part
    })
    request.on('end', () => {
      const { authorization: token, 'idempotency-key': key } = request.headers
      hub.got.push({ key: String(key), token, body: JSON.parse(body) })
      hub.answer(request, response, body)
    })
  })
  await new Promise<void>((done) => hub.server.listen(0, '127.0.0.1', done))
  hub.url = `http://127.0.0.1:${(hub.server.address() as AddressInfo).port}/events`
  return hub
}

describe('events', () => {
  let hub: Hub
  beforeEach(async () => {
    hub = await startHub()
    configure(`url = ${JSON.stringify(hub.url)}\ntimeout = "60s"`)
    await memory.sweep()
    log('session_memory.data_loss', made.uid, 1)
    log('session_memory.over_hard_cap', '', 2)
  })
  afterEach(async () => {
    hub.server.closeAllConnections()
    await new Promise((done) => hub.server.close(done))
  })
  const AT = Date.UTC(2026, 10, 1)
  const log = (name: string, uid: string, serial: number): void =>
    withMemory((database) => {
      database
        .prepare('INSERT INTO events_log (session_uid, at, name, detail) VALUES (?, ?, ?, ?)')
        .run(uid, AT + serial, name, '{"bytes":7}')
    })
  /** Longer than any machine takes to answer itself; short only where the waiting itself is looked at. */
  const post = (now: number, timeoutMs = 60_000) => {
    const { outbox, close } = openNotes(storePaths(memory.home))
    return postEvents(outbox, { url: hub.url, token: '', timeoutMs }, now).finally(close)
  }
  const HOUR = 3_600_000

  it('are posted once each, oldest first, with an id', async () => {
    expect((await memory.sweep()).hub).toMatchObject({ posts: { delivered: 2, pending: 0 }, problems: [] })
    expect(hub.got.map((one) => one.body)).toEqual([
      {
        id: expect.stringMatching(/^[0-9a-f]{32}$/),
        name: 'session_memory.data_loss',
        at: '2026-11-01T00:00:00.001Z',
        session_uid: made.uid,
        bytes: 7,
      },
      expect.objectContaining({ name: 'session_memory.over_hard_cap', session_uid: null }),
    ])
    for (const { key, body } of hub.got) expect(key).toBe(body['id'])
    await memory.sweep()
    expect(hub.got).toHaveLength(2)
  })

  it('stand in events.jsonl, once each', async () => {
    await memory.sweep()
    await memory.sweep()
    const lines = readFileSync(join(memory.home, 'events.jsonl'), 'utf8').trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line))).toEqual(hub.got.map((one) => one.body))
  })

  it('wait while the hub is down, slow or broken, for longer each time, and then arrive once each', async () => {
    const { server } = hub
    hub.answer = (_, response) => response.writeHead(500).end()
    const now = Date.now()
    const broken = await post(now)
    expect(broken).toMatchObject({ delivered: 0, pending: 2, problem: { code: 'UNREACHABLE' } })
    expect(hub.got).toHaveLength(1)
    // The second event does not go round the pause that the first one has earned.
    expect((await post(now + 1000)).problem).toBeUndefined()
    expect(hub.got).toHaveLength(1)
    hub.answer = () => undefined
    const slow = await post(now + 31_000, 300)
    expect(slow.problem?.message).toContain('300 ms')
    expect((await post(now + 31_000 + 31_000)).problem).toBeUndefined()
    server.closeAllConnections()
    await new Promise((done) => server.close(done))
    expect((await post(now + HOUR)).problem).toMatchObject({ code: 'UNREACHABLE', where: hub.url })
    await new Promise<void>((done) => server.listen(Number(new URL(hub.url).port), '127.0.0.1', done))
    hub.answer = (_, response) => response.writeHead(202).end()
    hub.got = []
    expect(await post(now + 2 * HOUR)).toMatchObject({ delivered: 2, pending: 0 })
    expect(await post(now + 3 * HOUR)).toMatchObject({ delivered: 0, pending: 0 })
    expect(hub.got.map((one) => one.body['name'])).toEqual([
      'session_memory.data_loss',
      'session_memory.over_hard_cap',
    ])
  })

  it('that were taken just before a kill are sent again under the same id', async () => {
    const now = Date.now()
    await post(now)
    withMemory((database) => database.exec(`DELETE FROM deliveries WHERE session_uid <> ''`))
    await post(now)
    expect(hub.got).toHaveLength(3)
    expect(hub.got[2]?.key).toBe(hub.got[0]?.key)
    expect(new Set(hub.got.map((one) => one.key)).size).toBe(2)
  })

  it('that the hub refuses are given up and named; the others go on', async () => {
    hub.answer = (_, response, body) => response.writeHead(body.includes('data_loss') ? 422 : 200).end()
    expect(await post(Date.now())).toMatchObject({ delivered: 1, pending: 0, givenUp: 1 })
    expect(await post(Date.now() + 24 * HOUR)).toMatchObject({ delivered: 0, pending: 0, problem: undefined })
    expect(hub.got).toHaveLength(2)
  })

  it('that the hub sends elsewhere go nowhere', async () => {
    hub.answer = (_, response) => response.writeHead(307, { location: hub.url }).end()
    expect(await post(Date.now())).toMatchObject({ delivered: 0, pending: 2 })
    expect(hub.got).toHaveLength(1)
  })

  it('are posted also when they cannot be logged, and logged when they can', async () => {
    mkdirSync(join(memory.home, 'events.jsonl'))
    expect((await memory.sweep()).hub).toMatchObject({
      posts: { delivered: 2 },
      problems: [{ code: 'NOT_A_FILE', where: join(memory.home, 'events.jsonl') }],
    })
    rmSync(join(memory.home, 'events.jsonl'), { recursive: true })
    expect((await memory.sweep()).hub?.problems).toEqual([])
    expect(readFileSync(join(memory.home, 'events.jsonl'), 'utf8').trimEnd().split('\n')).toHaveLength(2)
  })

  it.each([
    ['seconds', () => '7200'],
    ['a date', () => new Date(Date.now() + 2 * HOUR).toUTCString()],
  ])('wait as long as the hub asks for, in %s', async (_, header) => {
    hub.answer = (_, response) => response.writeHead(429, { 'retry-after': header() }).end()
    const now = Date.now()
    await post(now)
    hub.answer = (_, response) => response.end()
    expect(await post(now + 1.9 * HOUR)).toMatchObject({ delivered: 0, pending: 2 })
    expect(await post(now + 2.1 * HOUR)).toMatchObject({ delivered: 2, pending: 0 })
  })

  it('are taken by the status alone, though the answer breaks off behind it', async () => {
    hub.answer = (_, response) => {
      response.writeHead(200, { 'content-length': 100 }).write('half')
      setImmediate(() => response.destroy())
    }
    expect(await post(Date.now())).toMatchObject({ delivered: 2, problem: undefined })
  })

  it('keep nobody waiting for longer than twice the timeout', async () => {
    for (let serial = 3; serial < 20; serial++) log('session_memory.data_loss', made.uid, serial)
    hub.answer = (_, response) => setTimeout(() => response.end(), 250)
    await post(Date.now(), 300)
    // A third one could have taken until 900 ms.
    expect(hub.got.length).toBeLessThanOrEqual(2)
  })

  it('are posted oldest first, however many wait', async () => {
    withMemory((database) => {
      const insert = database.prepare(
        'INSERT INTO events_log (session_uid, at, name, detail) VALUES (?, ?, ?, ?)',
      )
      for (let serial = 3; serial < 1100; serial++)
        insert.run(made.uid, AT + serial, 'session_memory.data_loss', '{}')
    })
    for (let round = 0; round < 2; round++) await post(Date.now())
    const times = hub.got.map((one) => Date.parse(String(one.body['at'])))
    expect(times[0]).toBe(AT + 1)
    expect(times).toEqual(times.toSorted((a, b) => a - b))
  })

  it('make a sweep that succeeds warn, not fail', async () => {
    hub.server.closeAllConnections()
    await new Promise((done) => hub.server.close(done))
    const run = cli(memory.env, 'sweep', '--json')
    expect(run.code).toBe(0)
    expect(JSON.parse(run.stdout).hub).toMatchObject({
      posts: { delivered: 0, pending: 2 },
      problems: [{ code: 'UNREACHABLE', hint: expect.stringContaining('hub.url') }],
    })
    hub = await startHub()
  })

  describe('for a hub that wants a token', () => {
    const TOKEN = 'hub-token-of-this-test-93'
    const withToken = (url = hub.url): void =>
      configure(`url = ${JSON.stringify(url)}\ntoken_env = "OUR_HUB_TOKEN"\ntimeout = "60s"`)
    // Not the synchronous one: the hub is in this process and has to answer meanwhile.
    const swept = async (env: Record<string, string>) => {
      const run = await promisify(execFile)(process.execPath, [cliPath, 'sweep', '--json'], {
        env: { ...memory.env, ...env },
      })
      return { ...run, hub: JSON.parse(run.stdout).hub as Record<string, unknown> }
    }
    beforeEach(() => {
      withToken()
      hub.answer = (request, response) =>
        response.writeHead(request.headers.authorization === `Bearer ${TOKEN}` ? 200 : 401).end()
    })

    it('carry it, and it stands in no file and on no stream of ours', async () => {
      const run = await swept({ OUR_HUB_TOKEN: TOKEN })
      expect(run.hub).toMatchObject({ posts: { delivered: 2, pending: 0 }, problems: [] })
      expect(hub.got.map((one) => one.token)).toEqual([`Bearer ${TOKEN}`, `Bearer ${TOKEN}`])
      const shown = cli({ ...memory.env, OUR_HUB_TOKEN: TOKEN }, 'config', '--json')
      expect(run.stdout + run.stderr + shown.stdout + shown.stderr).not.toContain(TOKEN)
      expect(spawnSync('grep', ['-rlF', TOKEN, memory.root], { encoding: 'utf8' }).stdout).toBe('')
    })

    it('wait for it, unsent, while the variable is not set', async () => {
      const { hub: told } = await swept({})
      expect(told).toMatchObject({
        posts: { delivered: 0, pending: 2 },
        problems: [{ code: 'BAD_CONFIG', hint: expect.stringContaining('export OUR_HUB_TOKEN') }],
      })
      expect(hub.got).toEqual([])
      // No try was used up, so nothing makes the next one wait.
      expect((await swept({ OUR_HUB_TOKEN: TOKEN })).hub).toMatchObject({ posts: { delivered: 2 } })
    })

    it('are kept when it was the wrong one', async () => {
      const run = await swept({ OUR_HUB_TOKEN: 'not-the-right-one' })
      expect(run.hub).toMatchObject({
        posts: { delivered: 0, pending: 2, given_up: 0 },
        problems: [{ code: 'UNREACHABLE', message: expect.stringContaining('401') }],
      })
      expect(run.stdout + run.stderr).not.toContain('not-the-right-one')
    })

    it.each([
      ['two\nlines', (url: string) => url],
      ['with spaces', (url: string) => url],
      ['tökén', (url: string) => url],
      [TOKEN, () => 'http://hub.example/events'],
    ])('never show or send %j where that is not safe', async (token, urlOf) => {
      withToken(urlOf(hub.url))
      const run = await swept({ OUR_HUB_TOKEN: token })
      expect(run.hub).toMatchObject({ posts: { pending: 2 }, problems: [{ code: 'BAD_CONFIG' }] })
      expect(run.stdout + run.stderr).not.toContain(token)
      expect(hub.got).toEqual([])
    })
  })

  it('carry no word of a transcript', async () => {
    await memory.sweep()
    const sent = JSON.stringify(hub.got)
    expect(made.words.filter((word) => sent.includes(word))).toEqual([])
  })
})

it.each(['ftp://hub', 'hub.example', 'https://ada:secret@hub.example/', 7])(
  'refuses %s as an address',
  (url) => {
    configure(`url = ${JSON.stringify(url)}`)
    expect(() => new Config({ env: memory.env })).toThrow(expect.objectContaining({ code: 'BAD_CONFIG' }))
  },
)
