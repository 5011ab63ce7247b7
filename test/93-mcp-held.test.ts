// The memory that a server holds open, over what happens to its files meanwhile: many questions, sweeps, another memory in
// their place, another schema.
import { readdirSync, readlinkSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { connect } from '../src/sqlite/driver.ts'
import { SESSION, user, write } from './setup/claude.ts'
import { type Listening, listening, overHttp } from './setup/mcp.ts'
import { cli, temporary, World } from './setup/sweeping.ts'

const LINUX = process.platform === 'linux'

function worldOf(prompt: string): World {
  const world = new World(temporary('home'))
  say(world, prompt)
  return world
}

function say(world: World, prompt: string): void {
  write(join(world.home, '.claude', 'projects', '-w', `${SESSION}.jsonl`), [user('u1', null, prompt)])
  expect(cli(world.env, 'sweep').code).toBe(0)
}

const filesOf = ({ child }: Listening): string[] =>
  readdirSync(`/proc/${child.pid}/fd`).flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/${child.pid}/fd/${fd}`)]
    } catch {
      return []
    }
  })

describe('a memory that is held open', () => {
  it.runIf(LINUX)('holds as many files after many questions as after one', async () => {
    const world = worldOf('zebra')
    const server = await listening(world.env)
    const client = await overHttp(server, 'legacy')
    const held = (): number => filesOf(server).filter((path) => path.startsWith(world.memory)).length
    await client.call('search', { query: 'zebra' })
    const first = held()
    expect(first).toBeGreaterThan(0)
    for (let at = 0; at < 40; at++) {
      expect((await client.call('search', { query: `zebra OR z${at}` })).isError).toBe(false)
      await client.call('session', { id: SESSION })
    }
    expect(held()).toBeLessThanOrEqual(first)
  })

  it('answers from what was committed last, and from another memory in its place', async () => {
    const world = worldOf('zebra')
    const client = await overHttp(await listening(world.env), 'legacy')
    const count = async (query: string): Promise<number> =>
      (await client.call('search', { query })).entries.length
    expect([await count('zebra'), await count('giraffe')]).toEqual([1, 0])
    say(world, 'giraffe')
    expect([await count('zebra'), await count('giraffe')]).toEqual([0, 1])
    rmSync(world.memory, { recursive: true })
    expect((await client.call('search', { query: 'giraffe' })).text).toContain('recollect sweep')
    say(world, 'okapi')
    expect([await count('giraffe'), await count('okapi')]).toEqual([0, 1])
  })

  it('says so where another version of the program has changed it', async () => {
    const world = worldOf('zebra')
    const client = await overHttp(await listening(world.env), 'legacy')
    expect((await client.call('search', { query: 'zebra' })).entries).toHaveLength(1)
    const database = connect(join(world.memory, 'memory.db'))
    database.exec('PRAGMA user_version = 9999')
    database.close()
    const answer = await client.call('search', { query: 'zebra' })
    expect(answer.isError).toBe(true)
    expect(answer.text).toContain('use the newer recollect')
  })
})
