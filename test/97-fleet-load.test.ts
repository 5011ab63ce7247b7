// A team server as it stands in the world: which plans its questions have, what a crowd of slow clients does to it, and the proxy
// that docs/fleet.md puts before it.
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { response, segment, session, TestServer } from './setup/fleet.ts'
import { amountOf } from './setup/long.ts'
import { Cluster, freePort, HAS_POSTGRES } from './setup/postgres.ts'
import { temporary, World } from './setup/sweeping.ts'

const withPostgres = describe.skipIf(!HAS_POSTGRES)
// Not by running it: it makes itself a home directory.
const HAS_CADDY = spawnSync('sh', ['-c', 'command -v caddy']).status === 0
const SLOW = amountOf('FLEET_SLOW', 300, 10_000)
let cluster: Cluster
let server: TestServer
const children: ChildProcess[] = []

beforeAll(async () => {
  if (!HAS_POSTGRES) return
  // Small tables are read whole, if they may: here it matters which index there is for them.
  cluster = await Cluster.start(`fsync = off
enable_seqscan = off
session_preload_libraries = 'auto_explain'
auto_explain.log_min_duration = 0
auto_explain.log_format = json
auto_explain.log_nested_statements = on
`)
  server = await TestServer.start(cluster.url)
})
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL')
  await server?.close()
  cluster?.stop()
})

interface Plan {
  'Node Type': string
  'Relation Name'?: string
  'Index Cond'?: string
  'Recheck Cond'?: string
  Filter?: string
  Plans?: Plan[]
}

/** What Postgres says that it did since a place in its log. */
function plansSince(at: number): { query: string; plan: Plan }[] {
  const log = readFileSync(join(cluster.directory, 'log'), 'utf8').slice(at)
  return [...log.matchAll(/plan:\n((?:\t.*\n)+)/g)].map(([, text]) => {
    const told = JSON.parse((text as string).replace(/^\t/gm, ''))
    return { query: told['Query Text'], plan: told.Plan }
  })
}
const logSize = (): number => readFileSync(join(cluster.directory, 'log'), 'utf8').length

/** Reading a table of the team, wherever in a plan. */
const readsIn = (plan: Plan): Plan[] => [
  ...(plan['Relation Name'] && plan['Node Type'].includes('Scan') ? [plan] : []),
  ...(plan.Plans ?? []).flatMap(readsIn),
]
/** Also what no index was taken for: tables are small here, and any will do. */
const conditionOf = (plan: Plan): string =>
  [plan['Index Cond'], plan['Recheck Cond'], plan.Filter].filter(Boolean).join(' AND ')
const OF_SESSIONS = new Set('sessions ledger usage_slots edges failures segments forgotten audit'.split(' '))

withPostgres('the plan of a question', () => {
  it('about one session has its key and its team in every table that it reads', async () => {
    const [device, lead, auditor] = [
      await server.token('plans', 'ada'),
      await server.token('plans', 'bob', 'lead'),
      await server.token('plans', 'eve', 'auditor'),
    ]
    const { bytes, named } = segment([{ seq: 0 }])
    const pushed = session('claude:0123456789', 'loft', {
      level: 'full',
      digest: { title: 'Teach quetzal' },
      segments: [named],
      ledger: [response('r', 5)],
    })
    await server.ask(device, 'PUT', `/v1/segments/${named.sha256}`, bytes, { 'if-none-match': '*' })
    const at = logSize()
    for (const state of ['stored', 'same']) expect((await server.put(device, pushed)).body.state).toBe(state)
    const uid = encodeURIComponent(pushed.session.uid)
    expect((await server.ask(lead, 'GET', `/v1/digest?uid=${uid}`)).status).toBe(200)
    expect((await server.ask(auditor, 'GET', `/v1/text?uid=${uid}`)).status).toBe(200)
    // Whether anybody names a segment is asked of the team: it is about no single session.
    const plans = plansSince(at).filter(({ query }) => !query.includes('sha256 = ANY'))
    const reads = plans.flatMap(({ query, plan }) =>
      readsIn(plan)
        .filter((one) => OF_SESSIONS.has(one['Relation Name'] as string))
        .map((one) => ({ query, condition: conditionOf(one) })),
    )
    expect(reads.length).toBeGreaterThan(10)
    for (const { query, condition } of reads) {
      expect(condition, query).toContain('session_uid = ')
      expect(condition, query).toContain('team = ')
    }
  })

  it('by the beginning of an id is answered by an index, and words by those of the team alone', async () => {
    const lead = await server.token('plans', 'bob', 'lead')
    const at = logSize()
    expect((await server.ask(lead, 'GET', '/v1/digest?uid=01234')).status).toBe(200)
    expect((await server.ask(lead, 'GET', '/v1/search?q=quetzal')).body.sessions).toHaveLength(1)
    const conditions = plansSince(at)
      .flatMap(({ plan }) => readsIn(plan))
      .map((one) => one['Index Cond'] ?? '')
    expect(conditions.filter((one) => /native_id >= /.test(one))).not.toEqual([])
    // What the owner's function names is the team's that asks, and nobody else's.
    const other = await server.token('others', 'mallory', 'lead')
    expect((await server.ask(other, 'GET', '/v1/search?q=quetzal')).body.sessions).toEqual([])
    expect((await server.ask(other, 'GET', '/v1/digest?uid=01234')).status).toBe(404)
    const found = cluster.sql(
      "BEGIN; SET LOCAL ROLE recollect_app; SET LOCAL recollect.team = 'others'; SELECT count(*) FROM recollect.holding('''quetzal''', 10); ROLLBACK",
    )
    expect(found).toContain('\n0\n')
  })
})

/** The program itself, as a process. */
async function serve(settings: string): Promise<{ child: ChildProcess; port: number; world: World }> {
  const world = new World()
  world.configure(settings)
  const port = await freePort()
  const child = spawn(process.execPath, ['dist/cli.cjs', 'serve', '--port', `${port}`], {
    env: { PATH: process.env['PATH'], ...world.env, DATABASE_URL: cluster.url },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  children.push(child)
  await once(child.stdout as NodeJS.ReadableStream, 'data')
  return { child, port, world }
}
const memoryOf = ({ pid }: ChildProcess): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1000

withPostgres('a crowd that says next to nothing', () => {
  it(`of ${SLOW} connections keeps nobody out, costs little, and is gone after a while`, async () => {
    const { child, port } = await serve('')
    const sockets: Socket[] = []
    let closed = 0
    for (let at = 0; at < SLOW; at++) {
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => undefined)
      socket.on('close', () => closed++)
      socket.write('PUT /v1/sessions HTTP/1.1\r\nhost: x\r\nx-slow: ')
      sockets.push(socket)
      if (at % 200 === 199) await sleep(10)
    }
    const drip = setInterval(() => {
      for (const socket of sockets) if (!socket.destroyed) socket.write('a')
    }, 1000)
    try {
      for (let asked = 0; closed < SLOW; asked++) {
        const { status } = await fetch(`http://127.0.0.1:${port}/healthz`, {
          headers: { connection: 'close' },
        })
        expect([asked, status]).toEqual([asked, 204])
        expect(memoryOf(child)).toBeLessThan(400)
        await sleep(500)
      }
    } finally {
      clearInterval(drip)
      for (const socket of sockets) socket.destroy()
    }
  }, 120_000)
})

/** What the page tells people to write, with the names that are good here. */
function caddyfile(from: number, to: number, storage: string): string {
  const told = /```caddyfile\n([^`]+)```/.exec(readFileSync('docs/fleet.md', 'utf8'))?.[1] as string
  const here = told
    .replace('fleet.example {', `https://localhost:${from} {\n\ttls internal`)
    .replace('7078', `${to}`)
  return `{\n\tadmin off\n\tskip_install_trust\n\tauto_https disable_redirects\n\tstorage file_system ${storage}\n}\n${here}`
}

describe.skipIf(!HAS_POSTGRES || !HAS_CADDY)('behind Caddy, as docs/fleet.md has it', () => {
  it('machines push, people ask and sign in by https', async () => {
    const address = await freePort()
    const { port, world } = await serve(`[serve]\nurl = "https://localhost:${address}"\n`)
    const storage = temporary('caddy')
    writeFileSync(join(storage, 'Caddyfile'), caddyfile(address, port, storage))
    const caddy = spawn('caddy', ['run', '--config', join(storage, 'Caddyfile'), '--adapter', 'caddyfile'], {
      env: { PATH: process.env['PATH'], HOME: storage },
      stdio: 'ignore',
    })
    children.push(caddy)
    const root = join(storage, 'pki', 'authorities', 'local', 'root.crt')
    for (let tries = 0; !existsSync(root); tries++) {
      expect(tries).toBeLessThan(300)
      await sleep(100)
    }
    const url = `https://localhost:${address}`
    const run = (token: string, ...words: string[]): Promise<string> =>
      new Promise((done) => {
        const env = {
          PATH: process.env['PATH'],
          ...world.env,
          NODE_EXTRA_CA_CERTS: root,
          RECOLLECT_PUSH_TOKEN: token,
          RECOLLECT_SERVER_TOKEN: token,
        }
        execFile(process.execPath, ['dist/cli.cjs', ...words], { env }, (_, stdout, stderr) =>
          done(stdout + stderr),
        )
      })
    cpSync('samples', world.home, { recursive: true })
    await world.sweep()
    world.configure(`[push]\nurl = "${url}"\nlevel = "full"\n`)
    expect(await run(await server.token('caddy', 'ada'), 'push')).toMatch(/^8 sessions acknowledged, 0 still/)
    const lead = await server.token('caddy', 'ada', 'lead')
    expect(JSON.parse(await run(lead, '--server', url, 'sessions', '--all', '--json')).sessions).toHaveLength(
      8,
    )
    const said = spawnSync('curl', ['-sS', '--cacert', root, '-i', `${url}/login`], {
      encoding: 'utf8',
    }).stdout
    expect(said).toMatch(/^HTTP\/2 200/)
  }, 60_000)
})
