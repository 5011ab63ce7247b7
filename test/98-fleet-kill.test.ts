// kill -9 of the client, the server, or both, at random points of the boundaries between them, and of the store of segments at
// its own: another push, and all is as if nobody had been killed. Real processes; a proxy between them knows where they are.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, readdirSync } from 'node:fs'
import { createServer, request as forward, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer, text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { teamName } from '../src/fleet/blobs.ts'
import { databasesOf } from '../src/store/databases.ts'
import { createToken } from '../src/store/postgres/access.ts'
import { Fleet, migrate } from '../src/store/postgres/database.ts'
import { openStore } from '../src/store/sqlite.ts'
import { Bucket } from './setup/bucket.ts'
import { randomFrom } from './setup/growing.ts'
import { amountOf, IS_LONG, seedOf } from './setup/long.ts'
import { Cluster, freePort, HAS_POSTGRES } from './setup/postgres.ts'
import { temporary, World } from './setup/sweeping.ts'

const KILLS = amountOf('FLEET_KILLS', 4, 300)
const STORE_KILLS = amountOf('FLEET_STORE_KILLS', 4, 100)
const BOUNDARIES = [
  'before the server has it',
  'at work',
  'before the client hears',
  'after it heard',
] as const
const VICTIMS = ['client', 'server', 'both'] as const
type Boundary = (typeof BOUNDARIES)[number]

let cluster: Cluster
let fleet: Fleet
let world: World
let proxy: Server
let port: number
let server: ChildProcess | undefined
let requests = 0
let reached: (at: Boundary, request: number) => Promise<void> = async () => {}
let blobs: string
let address: number
const bucket = new Bucket()

/** A program of ours as a process; it is killed with this test. */
const start = (env: Record<string, string>, ...words: string[]): ChildProcess =>
  spawn(process.execPath, ['dist/cli.cjs', ...words], {
    env: { PATH: process.env['PATH'], ...world.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })

async function end(child: ChildProcess | undefined): Promise<void> {
  if (!child || child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}

async function serve(): Promise<void> {
  if (server && server.exitCode === null && server.signalCode === null) return
  server = start({ DATABASE_URL: cluster.url, ...bucket.env }, 'serve', '--port', `${port}`)
  server.stderr?.resume()
  // It says its address when it listens.
  await once(server.stdout as NodeJS.ReadableStream, 'data')
}

/** Brings a request to the server and its answer back, and says where it is. */
async function pass(incoming: IncomingMessage): Promise<{ answer: IncomingMessage; body: Buffer }> {
  const sent = await buffer(incoming)
  const number = requests++
  await reached('before the server has it', number)
  // A connection of its own: one that is kept would be one to a server that was killed.
  const outgoing = forward({
    agent: false,
    port,
    method: incoming.method,
    path: incoming.url,
    headers: incoming.headers,
  })
  outgoing.end(sent)
  const answered = once(outgoing, 'response')
  answered.catch(() => undefined)
  await reached('at work', number)
  const [answer] = (await answered) as [IncomingMessage]
  const body = await buffer(answer)
  await reached('before the client hears', number)
  return { answer, body }
}

beforeAll(async () => {
  if (!HAS_POSTGRES) return
  cluster = await Cluster.start('fsync = off\n')
  fleet = await Fleet.open({ url: cluster.url })
  await migrate(fleet)
  world = new World()
  blobs = temporary('blobs')
  cpSync('samples', world.home, { recursive: true })
  await world.sweep()
  port = await freePort()
  proxy = createServer((incoming, outgoing) => {
    const number = requests
    pass(incoming).then(
      ({ answer, body }) => {
        outgoing.writeHead(answer.statusCode as number, answer.headers)
        outgoing.end(body, () => void reached('after it heard', number))
      },
      () => outgoing.destroy(),
    )
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  address = (proxy.address() as AddressInfo).port
  await bucket.up()
})
afterAll(async () => {
  await end(server)
  bucket.kill()
  proxy?.closeAllConnections()
  proxy?.close()
  await fleet?.close()
  cluster?.stop()
  world?.remove()
})

/** Segments go there from now on. */
async function keepIn(store: string): Promise<void> {
  world.configure(
    `[push]\nurl = "http://127.0.0.1:${address}"\nlevel = "full"\ntimeout = "5m"\n[serve]\nblobs = "${store}"\n`,
  )
  await end(server)
}

/** As if nobody had been told anything, with a token of a team that has nothing. */
async function afresh(team: string): Promise<string> {
  const store = openStore(world.paths)
  databasesOf(store.reader).memory.exec('DELETE FROM pushes')
  store.close()
  await serve()
  requests = 0
  const { token } = await createToken(fleet, {
    team,
    person: 'ada',
    role: 'device',
    expiresAt: null,
    now: Date.now(),
  })
  return token
}

const pushing = (token: string): ChildProcess => start({ RECOLLECT_PUSH_TOKEN: token }, 'push')

async function pushToTheEnd(token: string): Promise<void> {
  const child = pushing(token)
  const [said] = await Promise.all([text(child.stderr as NodeJS.ReadableStream), once(child, 'exit')])
  expect([child.exitCode, said]).toEqual([0, ''])
}

const TABLES = ['sessions', 'ledger', 'usage_slots', 'edges', 'failures', 'segments']

/** Without what a kill left of one that was being written. */
const namesIn = (directory: string): string[] =>
  readdirSync(directory, { recursive: true })
    .map(String)
    .filter((name) => /\/[0-9a-f]{64}$/.test(name))

/** All of a team, and what the client remembers of it, but for its name and the times of pushing. */
function stateOf(team: string): { rows: string; files: string[]; noted: string } {
  const rows = cluster.sql(
    TABLES.map(
      (table) =>
        `SELECT '${table}', count(*), md5(string_agg(one, ' ' ORDER BY one)) FROM (SELECT (to_jsonb(t) - 'team' - 'pushed_at')::text AS one
         FROM recollect.${table} t WHERE team = '${team}') rows`,
    ).join(' UNION ALL '),
  )
  const files = [...namesIn(blobs), ...bucket.objects.keys()]
    .filter((name) => name.includes(`${teamName(team)}/`))
    .map((name) => name.slice(name.lastIndexOf('/') + 1))
    .sort()
  const noted = world.read(({ memory }) => memory.prepare('SELECT * FROM pushes ORDER BY session_uid').all())
  return { rows, files, noted: JSON.stringify(noted) }
}

describe.skipIf(!HAS_POSTGRES)('a push whose client or server is killed', () => {
  it(
    'ends in the same state as one that nobody disturbed',
    async () => {
      await keepIn(`dir:${blobs}`)
      const calm = await afresh('calm')
      await pushToTheEnd(calm)
      const expected = stateOf('calm')
      const count = requests
      expect(count).toBeGreaterThan(5)
      expect(expected.files.length).toBeGreaterThan(3)
      const seed = seedOf(22)
      const random = randomFrom(seed)
      const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T
      for (let round = 0; round < KILLS; round++) {
        const [boundary, victim] = [pick(BOUNDARIES), pick(VICTIMS)]
        const at = Math.floor(random() * count)
        const later = random() * 8
        const token = await afresh(`team-${round}`)
        const client = pushing(token)
        const gone = once(client, 'exit')
        let hit: Promise<void> | undefined
        const strike = async (): Promise<void> => {
          if (boundary === 'at work' || boundary === 'after it heard') await sleep(later)
          if (victim !== 'server') await end(client)
          if (victim !== 'client') await end(server)
        }
        reached = async (where, number) => {
          if (hit || where !== boundary || number !== at) return
          hit = strike()
          await hit
        }
        await gone
        await hit
        reached = async () => {}
        await serve()
        await pushToTheEnd(token)
        const point = `seed ${seed}, round ${round}: ${victim} at request ${at} of ${count}, ${boundary}`
        expect(hit, point).toBeDefined()
        expect(stateOf(`team-${round}`), point).toEqual(expected)
        if (IS_LONG && round % 25 === 24)
          console.log(`seed ${seed}: ${round + 1} kills, the same state after each`)
      }
    },
    60_000 + KILLS * 30_000,
  )

  it(
    'and so does one whose store of segments is killed, before it has one or before it says so',
    async () => {
      await keepIn('s3://segments')
      const calm = await afresh('calm-store')
      let asked = 0
      bucket.reached = (at) => void (at === 'before' && asked++)
      await pushToTheEnd(calm)
      const [expected, count] = [stateOf('calm-store'), asked]
      expect(count).toBeGreaterThan(expected.files.length)
      const seed = seedOf(23)
      const random = randomFrom(seed)
      for (let round = 0; round < STORE_KILLS; round++) {
        const [boundary, at] = [random() < 0.5 ? 'before' : 'done', Math.floor(random() * count)]
        const later = random() * 400
        const token = await afresh(`store-${round}`)
        asked = 0
        let back: Promise<void> | undefined
        bucket.reached = (where) => {
          const number = where === 'before' ? asked++ : asked - 1
          if (back || where !== boundary || number !== at) return
          bucket.kill()
          back = sleep(later).then(() => bucket.up())
        }
        const client = pushing(token)
        await once(client, 'exit')
        const point = `seed ${seed}, round ${round}: the store at request ${at} of ${count}, ${boundary}`
        expect(back, point).toBeDefined()
        await back
        await pushToTheEnd(token)
        expect(stateOf(`store-${round}`), point).toEqual(expected)
      }
    },
    60_000 + STORE_KILLS * 30_000,
  )
})
