// A fork of Claude Code holds its parent's lines with their times. It begins with its own part all the same, however its
// files come and go.
import { appendFileSync, mkdirSync, rmSync, unlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { listSessions } from '../src/query/sessions.ts'
import { FLAG } from '../src/store/rows.ts'
import { assistant, type Fields, OTHER, SESSION, text, user } from './setup/claude.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { World } from './setup/sweeping.ts'

let world: World
beforeEach(() => {
  world = new World()
})
afterEach(() => world.remove())

const uuid = (n: number): string => `${String(n).padStart(8, '0')}-0000-4000-8000-000000000000`
const at = (minute: number): string => new Date(Date.UTC(2026, 10, 15, 12, minute)).toISOString()
/** A prompt and its answer, at that minute. */
const turn = (n: number, minute: number, fields: Fields = {}): Fields[] => [
  user(uuid(n), n > 1 ? uuid(n - 1) : null, `prompt ${n}`, { timestamp: at(minute), ...fields }),
  assistant(uuid(n + 1), uuid(n), [text('yes')], { timestamp: at(minute), ...fields }),
]
const parent = [...turn(1, 0), ...turn(3, 10)]
const copied = parent.map((record): Fields => ({ ...record, sessionId: OTHER }))
const moved = (name: unknown): unknown => (typeof name === 'string' ? `f${name.slice(1)}` : name)
const branched = copied.map(
  (record): Fields => ({
    ...record,
    uuid: moved(record['uuid']),
    parentUuid: moved(record['parentUuid']),
    forkedFrom: { sessionId: SESSION, messageUuid: record['uuid'] },
  }),
)
const own = (minute: number) => turn(5, minute, { sessionId: OTHER })

const fileOf = (session: string): string => join(world.home, '.claude/projects/-w', `${session}.jsonl`)
function append(session: string, records: readonly Fields[]): void {
  mkdirSync(dirname(fileOf(session)), { recursive: true })
  appendFileSync(fileOf(session), records.map((record) => `${JSON.stringify(record)}\n`).join(''))
}

/** Start and duration in seconds, as lists tell them. */
function told(session = OTHER): [string | null | undefined, number | undefined] {
  const rows = world.read((handle) => listSessions(handle, {}))
  const row = rows.find((one) => one.native_session_id === session)
  return [row?.started_at, row?.cost.wall_clock_s]
}

describe.each([
  ['with the same uuids', copied],
  ['with new uuids', branched],
])('a fork %s', (_, inherited) => {
  it('begins with its own part', async () => {
    append(SESSION, parent)
    append(OTHER, [...inherited, ...own(30), ...turn(7, 32, { sessionId: OTHER })])
    await world.sweep()
    expect(told()).toEqual([at(30), 120])
    expect(told(SESSION)).toEqual([at(0), 600])
    // Where the format itself tells of it, that tells no other time.
    const edges = world.read(({ memory }) => memory.prepare('SELECT at FROM edges').all()) as {
      at: number | null
    }[]
    expect(edges).toEqual([{ at: inherited === branched ? Date.parse(at(30)) : null }])
    // Read again from the beginning, it says nothing else.
    await world.sweep({ full: true })
    expect(told()).toEqual([at(30), 120])
  })

  it('begins with the last that it copied, while it has nothing else', async () => {
    append(SESSION, parent)
    append(OTHER, inherited)
    await world.sweep()
    expect(told()).toEqual([at(10), 0])
    await world.sweep({ full: true })
    expect(told()).toEqual([at(10), 0])
    append(OTHER, own(30))
    await world.sweep()
    expect(told()).toEqual([at(30), 0])
  })
})

describe('a fork that nothing names as such', () => {
  it('is one from the day on that its parent is read', async () => {
    append(OTHER, [...copied, ...own(30)])
    await world.sweep()
    expect(told()).toEqual([at(0), 1800])
    append(SESSION, parent)
    append(SESSION, turn(9, 20))
    await world.sweep()
    expect(told()).toEqual([at(30), 0])
    expect(told(SESSION)).toEqual([at(0), 1200])
  })

  it('turns round when the other turns out to be older', async () => {
    append(SESSION, [...parent, ...turn(9, 25)])
    append(OTHER, [...copied, ...own(30)])
    await world.sweep()
    expect(told()).toEqual([at(30), 0])
    // Something that only this one holds, from before.
    append(OTHER, turn(11, 5, { sessionId: OTHER }))
    await world.sweep()
    expect(told()[0]).toBe(at(0))
    expect(told(SESSION)[0]).toBe(at(25))
  })

  it('keeps its start when its parent is gone, and when the memory is made anew from the cache', async () => {
    append(SESSION, parent)
    append(OTHER, [...copied, ...own(30)])
    await world.sweep()
    unlinkSync(fileOf(SESSION))
    await world.sweep()
    for (const name of ['memory.db', 'memory.db-wal', 'memory.db-shm'])
      rmSync(join(world.memory, name), { force: true })
    await world.sweep()
    expect(told()).toEqual([at(30), 0])
    rmSync(join(world.memory, 'cache'), { recursive: true })
    await world.sweep()
    expect(told()).toEqual([at(30), 0])
  })
})

it('begins forks of real clients after what they copied', async () => {
  for (const [client, scenario] of [
    ['claude', 'fork'],
    ['claude-2.0', 'fork'],
    ['claude-1.0', 'resume'],
    ['claude-tui', 'resume_fork'],
  ] as const) {
    const forked = new World(join(unpackAgent(client), scenario))
    await forked.sweep()
    const rows = forked.read(({ cache, memory }) =>
      (
        memory
          .prepare("SELECT session_uid, started_at AS at FROM sessions WHERE relation = 'fork'")
          .all() as unknown as {
          session_uid: string
          at: number
        }[]
      ).map((fork) => ({
        ...fork,
        ...cache
          .prepare(
            `SELECT max(iif(flags & ${FLAG.copied}, ts, 0)) AS copied, max(ts = ? AND NOT flags & ${FLAG.copied}) AS isOwn
             FROM events e JOIN cached c ON c.id = e.session WHERE c.session_uid = ?`,
          )
          .get(fork.at, fork.session_uid),
      })),
    ) as unknown as { at: number; copied: number; isOwn: number }[]
    expect(rows.length, client).toBeGreaterThan(0)
    for (const { at, copied, isOwn } of rows) expect([at > copied, isOwn], client).toEqual([true, 1])
    forked.remove()
  }
})
