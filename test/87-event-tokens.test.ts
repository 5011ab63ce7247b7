// Tokens on events and allowances, through a sweep: all that the ledger counts stands on events, and what an account had
// used is remembered when the rest is gone.

import { appendFileSync, cpSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { sessionEvents } from '../src/query/events.ts'
import { limitsReport } from '../src/query/limits.ts'
import { connect } from '../src/sqlite/driver.ts'
import { databasesOf } from '../src/store/databases.ts'
import type { Reader } from '../src/store/reader/index.ts'
import { filesBelow } from './setup/collect.ts'
import { unpackAgent, unpackMemory } from './setup/fixtures.ts'
import {
  asked,
  type Json,
  jsonl,
  line,
  meta,
  nameOf,
  said,
  THREAD,
  told,
  writeRollout,
} from './setup/rollout.ts'
import { cli, World } from './setup/sweeping.ts'

const worlds: World[] = []
const newWorld = (): World => {
  const world = new World()
  worlds.push(world)
  return world
}
afterAll(() => {
  for (const world of worlds) world.remove()
})

interface Sums {
  ledger: number
  events: number
  picked: number
}

function sumsOf(handle: Reader): Sums {
  const sums: Sums = { ledger: 0, events: 0, picked: 0 }
  const uids = databasesOf(handle).memory.prepare('SELECT session_uid FROM sessions').all() as {
    session_uid: string
  }[]
  for (const { session_uid: uid } of uids) {
    const { output } = databasesOf(handle)
      .memory.prepare(
        'SELECT coalesce(sum(output), 0) AS output FROM usage WHERE session_uid = ? AND is_counted AND NOT is_nested',
      )
      .get(uid) as { output: number }
    sums.ledger += output
    const seqs: number[] = []
    for (const event of sessionEvents(handle, uid)) {
      sums.events += event.tokens
      seqs.push(event.seq)
    }
    for (const event of sessionEvents(handle, uid, { seqs })) sums.picked += event.tokens
  }
  return sums
}

describe('the tokens of events add up to the ledger', () => {
  it.each([
    ...[
      'claude',
      'claude-1.0',
      'claude-2.0',
      'codex',
      'codex-codemode',
      'codex-tui',
      'codex-0.45',
      'codex-0.80',
    ],
    ...['codex-0.121', 'codex-0.145', 'grok', 'grok-chat', 'grok-messages', 'grok-tui', 'grok-1.0.5'],
  ])('in sessions of %s', async (client) => {
    const world = newWorld()
    const directory = unpackAgent(client)
    world.configure(`[sources.${client.split('-')[0]}]\nroots = ["${directory}"]\n`)
    await world.sweep()
    const { ledger, events, picked } = world.read(sumsOf)
    expect(ledger).toBeGreaterThan(0)
    expect([events, picked]).toEqual([ledger, ledger])
  })

  it('also without the updates of Grok, from its chat and its account of turns', async () => {
    const world = newWorld()
    const directory = unpackAgent('grok')
    for (const path of filesBelow(directory)) if (path.endsWith('updates.jsonl')) rmSync(path)
    world.configure(`[sources.grok]\nroots = ["${directory}"]\n`)
    await world.sweep()
    const { ledger, events } = world.read(sumsOf)
    expect(ledger).toBeGreaterThan(0)
    expect(events / ledger).toBeGreaterThan(0.9)
  })

  it('whether a session is read at once or as it grows', async () => {
    const world = newWorld()
    const whole = filesBelow(join(unpackAgent('codex-0.80'), 'tools')).find((path) =>
      /rollout-/.test(path),
    ) as string
    const lines = readFileSync(whole, 'utf8').trimEnd().split('\n')
    const path = writeRollout(join(world.home, '.codex'), whole.split('/').slice(-4).join('/'), '')
    for (let at = 0; at < lines.length; at += 5) {
      appendFileSync(path, `${lines.slice(at, at + 5).join('\n')}\n`)
      await world.sweep()
    }
    const { ledger, events } = world.read(sumsOf)
    expect(events).toBe(ledger)
    expect(ledger).toBeGreaterThan(0)
  })
})

it('what the developer tells the model is said in the role system, and never a turn', async () => {
  const world = newWorld()
  cpSync(join(unpackAgent('codex'), 'qa'), world.home, { recursive: true })
  await world.sweep()
  const [session] = JSON.parse(cli(world.env, 'sessions', '--json').stdout).sessions
  expect(session.cost.turns).toBe(1)
  const { events } = JSON.parse(cli(world.env, 'show', session.session_uid, '--json').stdout)
  const roles = events.filter((one: Json) => one['kind'] === 'user_msg').map((one: Json) => one['role'])
  expect(roles).toEqual(['system', 'user'])
  expect(JSON.parse(cli(world.env, 'digest', session.session_uid, '--json').stdout).first_prompt).toBe(
    events.find((one: Json) => one['role'] === 'user').summary,
  )
})

describe('allowances', () => {
  const DAY = Date.parse('2026-01-02T00:00:00Z')
  const at = (minute: number): { timestamp: string } => ({
    timestamp: new Date(DAY + minute * 60_000).toISOString(),
  })
  const limit = (minute: number, used: number, resetsAt = DAY / 1000 + 18_000): Json =>
    line(
      'event_msg',
      {
        type: 'token_count',
        info: null,
        rate_limits: {
          limit_id: 'codex',
          primary: { used_percent: used, window_minutes: 300, resets_at: resetsAt },
          plan_type: 'plus',
        },
      },
      at(minute),
    )
  const records = [
    { ...meta(THREAD), ...at(0) },
    { ...asked('go'), ...at(0) },
    ...[limit(1, 10), limit(2, 11), limit(3, 11), limit(20, 40), limit(50, 90)],
    limit(310, 2, DAY / 1000 + 36_000),
    { ...said('done'), ...at(311) },
    { ...told('task_complete', {}), ...at(311) },
  ]

  async function swept(): Promise<World> {
    const world = newWorld()
    writeRollout(join(world.home, '.codex'), nameOf(THREAD), jsonl(records))
    await world.sweep()
    return world
  }
  const rows = (world: World): unknown[] =>
    world.read(({ memory }) => memory.prepare('SELECT slot, used_percent FROM limits ORDER BY slot').all())

  it('are kept by quarter of an hour, the last that was told, and told by window', async () => {
    const world = await swept()
    expect(rows(world).map((row) => (row as Json)['used_percent'])).toEqual([11, 40, 90, 2])
    const told = JSON.parse(cli(world.env, 'usage', 'limits', '--json').stdout)
    expect(told).toEqual({
      limits: [
        {
          flavor: 'codex',
          limit: 'codex:primary',
          plan: 'plus',
          used_percent: 2,
          left: null,
          window_minutes: 300,
          resets_at: '2026-01-02T10:00:00.000Z',
          is_over: true,
          observed_at: '2026-01-02T05:10:00.000Z',
          session_uid: `codex:${THREAD}`,
          windows: [
            {
              used_percent: 2,
              resets_at: '2026-01-02T10:00:00.000Z',
              is_over: true,
              first_observed_at: '2026-01-02T05:10:00.000Z',
              last_observed_at: '2026-01-02T05:10:00.000Z',
            },
            {
              used_percent: 90,
              resets_at: '2026-01-02T05:00:00.000Z',
              is_over: true,
              first_observed_at: '2026-01-02T00:02:00.000Z',
              last_observed_at: '2026-01-02T00:50:00.000Z',
            },
          ],
        },
      ],
    })
    expect(cli(world.env, 'usage', 'limits').stdout).toMatch(/codex:primary +plus +5h +was 2%.*, past/)
    // Before its reset a window is the one that counts; the one before it is over.
    const [open] = world.read((handle) => limitsReport(handle, { now: DAY + 35_000_000 })).limits
    expect([open?.is_over, open?.windows.map((one) => one.is_over)]).toEqual([false, [false, true]])
    expect(
      world.read((handle) => limitsReport(handle, { untilAt: DAY + 3_600_000 })).limits[0]?.used_percent,
    ).toBe(90)
    expect(world.read((handle) => limitsReport(handle, { flavor: 'claude' })).limits).toEqual([])
    const refused = cli(world.env, 'usage', 'limits', '--repo', 'x')
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('--repo')])
  })

  it('say the same when they are read again, survive their source and eviction, and are forgotten', async () => {
    const world = await swept()
    const before = rows(world)
    await world.sweep({ full: true })
    expect(rows(world)).toEqual(before)
    world.configure('[session_memory.retention]\nraw_soft_cap_bytes = 1\n')
    await world.sweep()
    expect(cli(world.env, 'evict').code).toBe(0)
    const gone = 'SELECT evicted_at IS NOT NULL AS is_gone FROM sessions'
    expect(world.read(({ memory }) => memory.prepare(gone).get())).toEqual({ is_gone: 1 })
    expect(rows(world)).toEqual(before)
    rmSync(join(world.home, '.codex'), { recursive: true })
    await world.sweep()
    expect(rows(world)).toEqual(before)
    expect(cli(world.env, 'forget', `codex:${THREAD}`, '--yes').code).toBe(0)
    expect(rows(world)).toEqual([])
  })

  it('find room in a memory from before', () => {
    const memory = unpackMemory('schema-9-4')
    const tables = (name: string): string[] => {
      const database = connect(join(memory, name), { readOnly: true })
      try {
        const found = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()
        return (found as { name: string }[]).map((one) => one.name)
      } finally {
        database.close()
      }
    }
    expect(tables('memory.db')).not.toContain('limits')
    const env = { HOME: join(memory, 'nobody'), RECOLLECT_HOME: memory }
    const sessions = (): number => JSON.parse(cli(env, 'sessions', '--json').stdout).sessions.length
    expect(cli(env, 'sweep').code).toBe(0)
    expect(tables('memory.db')).toContain('limits')
    expect(tables('cache/cache.db')).toContain('spent')
    // One asked nothing, and is not listed.
    expect(sessions()).toBe(12)
    expect(JSON.parse(cli(env, 'usage', 'limits', '--json').stdout)).toEqual({ limits: [] })
  })
})
