// Files of one session that come in an unlucky order: a sweep in between must not leave anything double or unlinked.
import { appendFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import * as claude from './setup/claude.ts'
import { type Dump, differences } from './setup/dump.ts'
import { jsonl } from './setup/grok-session.ts'
import { World } from './setup/sweeping.ts'

const worlds: World[] = []
afterEach(() => {
  for (const world of worlds.splice(0)) world.remove()
})

type Tree = Record<string, string>

function put(world: World, files: Tree): void {
  for (const [name, text] of Object.entries(files)) {
    const path = join(world.home, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
}

function newWorld(): World {
  const world = new World()
  worlds.push(world)
  return world
}

/** The memory after one sweep of all the files. */
async function sweptAtOnce(files: Tree): Promise<Dump> {
  const world = newWorld()
  put(world, files)
  await world.sweep()
  return world.dump()
}

/** In whichever order they were seen. */
function unordered(rows: Record<string, Record<string, unknown>> = {}): typeof rows {
  return Object.fromEntries(Object.entries(rows).map(([key, row]) => [key, { ...row, seq: null }]))
}

describe('a sub-agent read before the call that started it is on disk', () => {
  const project = '.claude/projects/-w'
  const main = `${project}/${claude.SESSION}.jsonl`
  const agent = `${project}/${claude.SESSION}/subagents/agent-x1.jsonl`
  const sidecar = agent.replace('.jsonl', '.meta.json')
  const [asked, called, told, answered] = [
    claude.user('u1', null, 'go'),
    claude.assistant('a1', 'u1', [
      claude.text('ok'),
      claude.call('t1', 'Task', { prompt: 'count', description: 'Count' }),
    ]),
    claude.user('s1', null, 'other words', { isSidechain: true, agentId: 'x1' }),
    claude.assistant('s2', 's1', [claude.text('3')], { isSidechain: true, agentId: 'x1' }),
  ].map((record) => jsonl([record]))
  const returned = jsonl([claude.user('u2', 'a1', [claude.result('t1', '3')])])
  const files: Tree = {
    [main]: `${asked}${called}${returned}`,
    [agent]: `${told}${answered}`,
    [sidecar]: JSON.stringify({ toolUseId: 't1' }),
  }
  const uid = `claude:${claude.SESSION}`

  test.each([
    ['the parent goes on', { [main]: asked }, [main, `${called}${returned}`]],
    ['the parent comes', { [main]: '' }, [main, files[main]]],
    ['its result comes first', { [main]: `${asked}${returned}` }, [main, called]],
  ])('%s', async (_, early, [grown, text]) => {
    const world = newWorld()
    put(world, { ...files, ...early } as Tree)
    await world.sweep()
    appendFileSync(join(world.home, grown as string), text as string)
    await world.sweep()
    expect(world.verify().problems).toEqual([])
    const wanted = await sweptAtOnce({ ...files, [main]: `${early[main]}${text}` })
    expect(Object.values(wanted.events[uid] ?? {}).filter((row) => row['parent'] === null)).toHaveLength(1)
    expect(differences(unordered(world.dump().events[uid]), unordered(wanted.events[uid]))).toEqual([])
  })

  test('the sidecar comes before the call', async () => {
    const world = newWorld()
    put(world, { ...files, [main]: asked as string })
    rmSync(join(world.home, sidecar))
    await world.sweep()
    put(world, { [sidecar]: files[sidecar] as string })
    await world.sweep()
    appendFileSync(join(world.home, main), `${called}${returned}`)
    await world.sweep()
    const wanted = await sweptAtOnce(files)
    expect(differences(unordered(world.dump().events[uid]), unordered(wanted.events[uid]))).toEqual([])
  })
})
