// What stands where a file is expected may be a pipe, a device, a link to somebody's letters, or far too large: it is named,
// nothing of it comes in, and everything else is read.
import { execFileSync } from 'node:child_process'
import { chownSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ADAPTERS } from '../src/adapters/index.ts'
import { isOwn } from '../src/files/checkout.ts'
import { readLinked, readWhole } from '../src/files/reading.ts'
import { placeResolver } from '../src/sources/place.ts'
import { temporary, World } from './setup/sweeping.ts'

const PRIVATE = 'a letter nobody else should read'
const isRoot = process.getuid?.() === 0

/** A project whose transcript has the given thing for its metadata. */
function project(put: (path: string, world: World) => void): World {
  const world = new World()
  const session = join(world.home, 'project', '.entire', 'metadata', '2026-11-01-s1')
  mkdirSync(session, { recursive: true })
  const line = { type: 'user', uuid: 'u1', sessionId: 's1', message: { role: 'user', content: 'hello' } }
  writeFileSync(join(session, 'full.jsonl'), `${JSON.stringify(line)}\n`)
  put(join(session, 'metadata.json'), world)
  world.configure(`[sources.entire]\nroots = [${JSON.stringify(join(world.home, 'project'))}]\n`)
  return world
}

describe('metadata.json', () => {
  const letter = (world: World): string => {
    const path = join(world.base, 'letter.json')
    writeFileSync(path, JSON.stringify({ checkpoint_id: 'c1', session_id: 's1', branch: PRIVATE }))
    return path
  }
  const things: Record<string, (path: string, world: World) => void> = {
    'a pipe': (path) => execFileSync('mkfifo', [path]),
    'a link to /dev/zero': (path) => symlinkSync('/dev/zero', path),
    'a link to a private file': (path, world) => symlinkSync(letter(world), path),
    'a document of 60 MB': (path) => writeFileSync(path, `{"branch":"${'x'.repeat(60 << 20)}"}`),
    'a directory': (path) => mkdirSync(path),
  }
  it.each(Object.entries(things))('that is %s is named, and its session read', async (_, put) => {
    const world = project(put)
    const before = process.memoryUsage().rss
    const report = await world.sweep()
    expect(report.newEventCount).toBe(1)
    expect(report.sources.map((one) => one.gaps)).toEqual([{ companion: 1 }])
    expect(JSON.stringify(world.dump())).not.toContain(PRIVATE)
    expect(process.memoryUsage().rss - before).toBeLessThan(150 << 20)
  })

  it('that is a plain file is read', async () => {
    const world = project((path) => writeFileSync(path, JSON.stringify({ session_id: 's1', branch: 'main' })))
    await world.sweep()
    expect(JSON.stringify(world.dump())).toContain('main')
  })
})

it('names a pipe in the place of a file that is a root of its own', async () => {
  const world = new World()
  const directory = join(world.home, '.codex')
  const path = join(directory, 'session_index.jsonl')
  mkdirSync(directory)
  execFileSync('mkfifo', [path])
  const { problems } = await world.sweep()
  expect(problems).toMatchObject([{ path, code: 'NOT_A_FILE', reason: 'not a regular file' }])
})

describe('the repository of a session', () => {
  const repoOf = (cwd: string): string | null =>
    placeResolver({}, ADAPTERS)({ sessionUid: 'claude:x', cwd, gitRemote: null }).repo

  /** A directory in another, with a `.git` file that leads to `gitDir`. */
  function linked(gitDir: string): string {
    const work = join(temporary('place'), 'work')
    mkdirSync(join(work, 'sub'), { recursive: true })
    writeFileSync(join(work, '.git'), `gitdir: ${gitDir}\n`)
    return join(work, 'sub')
  }

  it('comes from the common directory of a working tree', () => {
    const main = join(temporary('place'), 'main')
    const gitDir = join(main, '.git', 'worktrees', 'w')
    mkdirSync(gitDir, { recursive: true })
    writeFileSync(join(gitDir, 'commondir'), '../..\n')
    expect(repoOf(linked(gitDir))).toBe('main')
  })

  it.each(['a link', 'a pipe', 'a large file', 'other text'])(
    'is not told by a commondir that is %s',
    (kind) => {
      const gitDir = temporary('place')
      const path = join(gitDir, 'commondir')
      const letter = join(gitDir, 'letter')
      writeFileSync(letter, `/nowhere/${PRIVATE}`)
      if (kind === 'a link') symlinkSync(letter, path)
      else if (kind === 'a pipe') execFileSync('mkfifo', [path])
      else writeFileSync(path, kind === 'other text' ? PRIVATE : '../'.repeat(30 << 20))
      expect(repoOf(linked(gitDir))).toBe('work')
    },
  )

  it('is not read from a .git that is a pipe', () => {
    const work = join(temporary('place'), 'work')
    mkdirSync(work)
    execFileSync('mkfifo', [join(work, '.git')])
    expect(repoOf(work)).toBe('work')
  })

  it.runIf(isRoot)('is nothing that another user put above it', () => {
    const shared = join(temporary('place'), 'shared')
    const mine = join(shared, 'mine')
    mkdirSync(mine, { recursive: true })
    mkdirSync(join(shared, '.git'))
    expect(repoOf(mine)).toBe('shared')
    for (const path of [join(shared, '.git'), shared]) {
      chownSync(path, 65_534, 65_534)
      expect(repoOf(mine), path).toBe('mine')
      chownSync(path, 0, 0)
    }
    rmSync(join(shared, '.git'), { recursive: true })
    writeFileSync(join(shared, '.git'), `gitdir: ${shared}\n`)
    chownSync(join(shared, '.git'), 65_534, 65_534)
    expect(repoOf(mine)).toBe('mine')
  })

  it('is judged as git does: the user, or for root whoever called sudo', () => {
    expect(isOwn({ uid: 1000 }, 1000, {})).toBe(true)
    expect(isOwn({ uid: 0 }, 1000, {})).toBe(false)
    expect(isOwn({ uid: 1001 }, 1000, { SUDO_UID: '1001' })).toBe(false)
    expect(isOwn({ uid: 1000 }, 0, {})).toBe(false)
    expect(isOwn({ uid: 1000 }, 0, { SUDO_UID: '1000' })).toBe(true)
    expect(isOwn({ uid: 1000 }, 0, { SUDO_UID: '1000x' })).toBe(false)
  })
})

describe("the note beside a sub-agent's file", () => {
  const ID = '14444444-4444-4444-8444-444444444444'
  it.each([
    ['a pipe', (path: string) => execFileSync('mkfifo', [path]), [{ companion: 1 }]],
    ['a directory', (path: string) => mkdirSync(path), [{ companion: 1 }]],
    ['half written', (path: string) => writeFileSync(path, '{"toolUse'), [{}]],
    ['not there', () => undefined, [{}]],
  ] as const)('that is %s: named where it is in the way, and the file is read', async (_, put, gaps) => {
    const world = new World()
    const directory = join(world.home, '.claude', 'projects', '-w', ID, 'subagents')
    mkdirSync(directory, { recursive: true })
    const line = {
      type: 'user',
      uuid: 'u1',
      parentUuid: null,
      sessionId: ID,
      agentId: 'a1',
      isSidechain: true,
      message: { role: 'user', content: 'look' },
    }
    writeFileSync(join(directory, 'agent-a1.jsonl'), `${JSON.stringify(line)}\n`)
    put(join(directory, 'agent-a1.meta.json'))
    const report = await world.sweep()
    expect(report.newEventCount).toBe(1)
    expect(report.sources.map((one) => one.gaps)).toEqual(gaps)
    world.remove()
  })
})

describe('a session', () => {
  it('takes no note of a sub-agent from behind a link', async () => {
    const world = new World()
    const session = join(world.home, '.grok', 'sessions', '%2Fw', '019aaaaa-0000-7000-8000-000000000001')
    const outside = join(world.base, 'outside', 'x')
    mkdirSync(session, { recursive: true })
    mkdirSync(outside, { recursive: true })
    writeFileSync(join(outside, 'meta.json'), JSON.stringify({ child_session_id: PRIVATE }))
    writeFileSync(join(session, 'updates.jsonl'), `${JSON.stringify({ method: 'other' })}\n`)
    symlinkSync(join(world.base, 'outside'), join(session, 'subagents'))
    await world.sweep()
    expect(JSON.stringify(world.dump())).not.toContain(PRIVATE)
    rmSync(join(session, 'subagents'))
    mkdirSync(join(session, 'subagents'))
    symlinkSync(outside, join(session, 'subagents', 'x'))
    await world.sweep({ full: true })
    expect(JSON.stringify(world.dump())).not.toContain(PRIVATE)
  })
})

describe('settings', () => {
  it('are read through a link, but only a regular file of some size', () => {
    const base = temporary('place')
    writeFileSync(join(base, 'real'), 'text')
    symlinkSync(join(base, 'real'), join(base, 'link'))
    symlinkSync('/dev/zero', join(base, 'zero'))
    expect(readLinked(join(base, 'link'), 10).toString()).toBe('text')
    const codes = [
      () => readWhole(join(base, 'link'), 10),
      () => readLinked(join(base, 'zero'), 10),
      () => readLinked(join(base, 'link'), 3),
    ].map((read) => {
      try {
        return read().toString()
      } catch (error) {
        return (error as { code: string }).code
      }
    })
    expect(codes).toEqual(['UNSAFE_PATH', 'NOT_A_FILE', 'TOO_LARGE'])
  })
})
