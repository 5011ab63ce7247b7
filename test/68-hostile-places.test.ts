// Sessions of every client of which some are packed here, in one home, with a pipe, a link, a device or a directory in the
// place of each of their files: nothing hangs, nothing is read through a link, and every source that is in the way is named.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { filesBelow } from './setup/collect.ts'
import { differences } from './setup/dump.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { World } from './setup/sweeping.ts'

const CLIENTS =
  'claude cline codex continue copilot droid gemini goose grok kilo kimi letta omp opencode pi qwen'.split(
    ' ',
  )
/** Each has one of these, and in them most of the files that a client may write. */
const SCENARIO = /^(?:tools|subagents?|thinking)$/

let home: string
let sources: Set<string>
beforeAll(async () => {
  const world = new World()
  home = world.home
  for (const client of CLIENTS) {
    const directory = unpackAgent(client)
    for (const scenario of readdirSync(directory).filter((name) => SCENARIO.test(name)))
      cpSync(join(directory, scenario), home, { recursive: true, preserveTimestamps: true })
  }
  rmSync(join(home, 'expected.json'))
  const report = await world.sweep()
  expect(report.problems).toEqual([])
  sources = new Set(report.sources.map(({ path }) => relative(home, path)))
  const flavors = new Set(report.sources.map(({ flavor }) => flavor))
  expect([...flavors].sort()).toEqual(CLIENTS.toSorted())
})

type Put = (path: string, original: string) => void

/** The home with something else in the place of some of its files, which lie outside of it, and what a sweep makes of it. */
async function swept(put: Put, isMeant: (path: string) => boolean) {
  const world = new World()
  cpSync(home, world.home, { recursive: true, preserveTimestamps: true })
  for (const path of filesBelow(world.home).filter((one) => isMeant(relative(world.home, one)))) {
    const original = join(world.base, 'outside', relative(world.home, path))
    mkdirSync(dirname(original), { recursive: true })
    renameSync(path, original)
    put(path, original)
  }
  return { world, report: await world.sweep() }
}

const THINGS: Record<string, Put> = {
  'a pipe': (path) => execFileSync('mkfifo', [path]),
  'a link out of the home': (path, original) => symlinkSync(original, path),
  'a link to a device': (path) => symlinkSync('/dev/zero', path),
  'a directory': (path) => mkdirSync(path),
}
/** An agent's own place may be a link, as on another disk; here the place is one file. */
const IS_PLACE = /(?:^|\/)(?:opencode|kilo)\.db$/

describe.each(Object.entries(THINGS))('%s', (name, put) => {
  it('in the place of every source is named, and nothing is read', async () => {
    const { world, report } = await swept(put, (path) => sources.has(path) && !IS_PLACE.test(path))
    const codes = new Map(report.problems.map(({ path, code }) => [relative(world.home, path), code]))
    const code = name === 'a pipe' ? 'NOT_A_FILE' : 'UNSAFE_PATH'
    // A directory is one more to look into.
    if (name !== 'a directory')
      for (const path of sources)
        if (!IS_PLACE.test(path)) expect([path, codes.get(path)]).toEqual([path, code])
    const told = report.sources.filter(({ path }) => !IS_PLACE.test(path))
    expect(told).toEqual([])
    expect(Object.keys(world.dump().events).filter((uid) => !/^(?:opencode|kilo):/.test(uid))).toEqual([])
  })
})

it('a pipe or a link in the place of everything beside them is as if nothing were there', async () => {
  const isBeside = (path: string): boolean => !sources.has(path)
  expect(filesBelow(home).filter((path) => isBeside(relative(home, path))).length).toBeGreaterThan(10)
  const without = (await swept(() => {}, isBeside)).world.dump()
  for (const name of ['a pipe', 'a link out of the home']) {
    const { events, sessions } = (await swept(THINGS[name] as Put, isBeside)).world.dump()
    expect(differences(events, without.events), name).toEqual([])
    expect(sessions, name).toEqual(without.sessions)
  }
})
