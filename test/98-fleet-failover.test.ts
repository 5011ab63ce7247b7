// kill -9 of the primary while clients push, and a standby takes over: what was acknowledged is there, once, to the token.
// Standbys that nobody waits for lose some of it, and the same harness has to see that.
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { hasCode } from '../src/errors.ts'
import { sendSession } from '../src/fleet/push/send.ts'
import { response, session, TestServer } from './setup/fleet.ts'
import { IS_LONG } from './setup/long.ts'
import { Cluster, HAS_POSTGRES, stopClusters } from './setup/postgres.ts'

const CLIENTS = IS_LONG ? 8 : 2
const SESSIONS = IS_LONG ? 500 : 20
const TOTAL = CLIENTS * SESSIONS
const LIMIT_MS = IS_LONG ? 600_000 : 120_000

let server: TestServer | undefined
afterEach(async () => {
  // First, so that nothing waits for an answer of theirs.
  stopClusters()
  await server?.close()
  server = undefined
})

interface Sent {
  uid: string
  tokens: number
}

/** As `recollect push` sends it, again until it is acknowledged. */
async function push(url: string, token: string, what: ReturnType<typeof session>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      const sent = await sendSession({ url, token, timeoutMs: 10_000 }, what, new Map(), new Set())
      expect(sent.state).toBe('acknowledged')
      return
    } catch (error) {
      if (!hasCode(error, 'UNREACHABLE') || attempt === 20) throw error
      await sleep(50)
    }
  }
}

/** The one that received most takes over. */
async function takeOver(standbys: readonly Cluster[]): Promise<Cluster> {
  const received = (one: Cluster): number =>
    Number(one.sql("SELECT pg_wal_lsn_diff(coalesce(pg_last_wal_receive_lsn(), '0/0'), '0/0')"))
  const [best] = standbys
    .map((one) => ({ one, at: received(one) }))
    .sort((a, b) => b.at - a.at)
    .map(({ one }) => one)
  await (best as Cluster).promote()
  return best as Cluster
}

/** At a quarter of the way `cut` standbys lose their primary, at half of it the primary is killed. */
async function failover({ quorum, cut }: { quorum: string; cut: number }): Promise<{
  acknowledged: Sent[]
  primary: Cluster
}> {
  const primary = await Cluster.start()
  const standbys = [await primary.standby('s1'), await primary.standby('s2')]
  primary.until("SELECT count(*) = 2 FROM pg_stat_replication WHERE state = 'streaming'")
  primary.set(`synchronous_standby_names = '${quorum}'`)
  primary.until(`SELECT current_setting('synchronous_standby_names') = '${quorum}'`)
  const hosts = [primary, ...standbys].map(({ port }) => `127.0.0.1:${port}`).join(',')
  server = await TestServer.start(`postgres://postgres@${hosts}/postgres`)
  const { url } = server
  const tokens: string[] = []
  for (let at = 0; at < CLIENTS; at++) tokens.push(await server.token('fleet', `p${at}`))
  const acknowledged: Sent[] = []
  let isCut = false
  let next: Promise<Cluster> | undefined
  const disturb = (): void => {
    if (!isCut && acknowledged.length >= TOTAL / 4) {
      isCut = true
      for (const one of standbys.slice(0, cut)) one.cutOff()
    }
    if (!next && acknowledged.length >= TOTAL / 2) {
      primary.kill()
      next = takeOver(standbys)
    }
  }
  const client = async (token: string, at: number): Promise<void> => {
    for (let number = 0; number < SESSIONS; number++) {
      const uid = `claude:${at}-${number}`
      const ledger = [response(`${uid}-a`, at + 1), response(`${uid}-b`, number)]
      await push(url, token, session(uid, `host-${at}`, { ledger }))
      acknowledged.push({ uid, tokens: 10 + at + 1 + 10 + number })
      disturb()
    }
  }
  await Promise.all(tokens.map(client))
  expect(next).toBeDefined()
  return { acknowledged, primary: (await next) as Cluster }
}

/** What the new primary holds, asked past the server. */
function heldBy(primary: Cluster): Sent[] {
  const text = primary.sql(`SELECT s.session_uid, s.total_tokens,
    (SELECT sum(input + output) FROM recollect.ledger l WHERE l.session_uid = s.session_uid AND l.is_counted)
    FROM recollect.sessions s`)
  return text
    .trim()
    .split('\n')
    .map((line) => {
      const [uid, total, summed] = line.split('|')
      expect(total, uid).toBe(summed)
      return { uid: uid as string, tokens: Number(total) }
    })
}

const byUid = (a: Sent, b: Sent): number => (a.uid < b.uid ? -1 : 1)

describe.skipIf(!HAS_POSTGRES)('a primary that is killed while clients push', () => {
  it(
    'loses nothing and doubles nothing of what was acknowledged, where one of two standbys has to have it',
    async () => {
      const { acknowledged, primary } = await failover({ quorum: 'ANY 1 (s1, s2)', cut: 1 })
      expect(acknowledged).toHaveLength(TOTAL)
      expect(heldBy(primary).sort(byUid)).toEqual(acknowledged.sort(byUid))
    },
    LIMIT_MS,
  )

  it(
    'loses some where no standby has to: the harness sees loss',
    async () => {
      const { acknowledged, primary } = await failover({ quorum: '', cut: 2 })
      expect(acknowledged).toHaveLength(TOTAL)
      const held = new Set(heldBy(primary).map(({ uid }) => uid))
      const lost = acknowledged.filter(({ uid }) => !held.has(uid))
      if (IS_LONG) console.log(`of ${TOTAL} acknowledged sessions ${lost.length} were lost`)
      expect(lost.length).toBeGreaterThan(0)
      expect(lost.length).toBeLessThanOrEqual(TOTAL / 4 + CLIENTS)
    },
    LIMIT_MS,
  )
})

describe.skipIf(!HAS_POSTGRES)('a quorum that is not there', () => {
  it(
    'is told as 503 after a while, never as 200 and never by silence; when it is back, the same push is taken',
    async () => {
      const primary = await Cluster.start()
      server = await TestServer.start(primary.url, { timeoutMs: 500 })
      const token = await server.token('fleet', 'p')
      primary.set("synchronous_standby_names = 'ANY 1 (s1)'")
      primary.until("SELECT current_setting('synchronous_standby_names') <> ''")
      const what = session('claude:1', 'host')
      expect((await server.put(token, what)).status).toBe(503)
      primary.set("synchronous_standby_names = ''")
      await push(server.url, token, what)
      expect(heldBy(primary)).toEqual([{ uid: 'claude:1', tokens: 110 }])
    },
    LIMIT_MS,
  )
})
