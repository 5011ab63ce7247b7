// One thing has one name wherever people read of it; documents keep the values they always had.

import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { databasesOf } from '../src/store/databases.ts'
import { openStore } from '../src/store/sqlite.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { overStdio } from './setup/mcp.ts'
import { cli, World } from './setup/sweeping.ts'

let world: World
let uid: string
beforeAll(async () => {
  world = new World()
  cpSync(join(unpackAgent('claude'), 'tools'), world.home, { recursive: true })
  await world.sweep()
  const store = openStore(world.paths)
  const { memory } = databasesOf(store.reader)
  memory.exec("UPDATE sessions SET outcome = 'fail'")
  memory.exec("UPDATE digests SET outcome = 'fail', digest = json_set(digest, '$.outcome', 'fail')")
  uid = (memory.prepare('SELECT session_uid AS uid FROM sessions').get() as { uid: string }).uid
  store.close()
})
afterAll(() => world.remove())

describe('a session that failed', () => {
  it.each([
    ['sessions'],
    ['show', '@last'],
    ['digest', '@last'],
    ['lineage', '@last'],
    ['export', '@last', '--format', 'md'],
    ['export', '@last', '--format', 'html'],
    ['retro', '--since', '2020-01-01', '--format', 'md'],
  ])('is called so by %s', (...args) => {
    const { stdout } = cli(world.env, ...args)
    expect(stdout).toMatch(/\bfailed\b/)
    // The prompt speaks of tests that fail, and files have names: only what stands alone is a word of ours.
    expect(stdout).not.toMatch(/(?:^|[|>:,·] *| {2}|outcome +)fail(?=[ ,<|]|$)(?! *\. )/im)
  })

  it('is called so to agents, whose data keeps the value', async () => {
    const client = await overStdio(world.env)
    const { text } = await client.call('session', {})
    expect(text).toMatch(/ {2}failed {2}/)
    expect((await client.call('digest', { id: uid })).text).toMatch(/session {2}failed: /)
  })

  it('is `fail` in documents, and found by either word', () => {
    for (const word of ['fail', 'failed']) {
      const { stdout } = cli(world.env, 'sessions', '--outcome', word, '--json')
      expect(JSON.parse(stdout).sessions).toMatchObject([{ session_uid: uid, outcome: 'fail' }])
    }
    expect(cli(world.env, 'sessions', '--outcome', 'broken').code).toBe(2)
  })
})
