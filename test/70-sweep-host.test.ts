// Which machine a session was on, and whose it is.
import { hostname } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { SESSION, user, write } from './setup/claude.ts'
import { World } from './setup/sweeping.ts'

it('sessions have the machine and a pseudonym, the same in every sweep, and the names that were given', async () => {
  const world = new World()
  const path = join(world.home, '.claude', 'projects', '-w', `${SESSION}.jsonl`)
  write(path, [user('a', null, 'make it so')])
  const swept = async () => {
    await world.sweep()
    const [session] = world.read((reader) => reader.sessions.of([`claude:${SESSION}`]))
    return { host: session?.host, id: session?.host_id, user: session?.user }
  }
  const first = await swept()
  expect(first).toEqual({
    host: hostname(),
    id: expect.stringMatching(/^[0-9a-f]{16}$/),
    user: expect.stringMatching(/^user-[0-9a-f]{12}$/),
  })
  expect(await swept()).toEqual(first)
  world.configure('[identity]\nhost = "loft"\nuser = "ada"\n')
  expect(await swept()).toEqual({ host: 'loft', id: first.id, user: 'ada' })
})
