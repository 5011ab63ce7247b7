// SIGTERM and SIGINT end a sweep within two seconds, wherever it is; the lock is free, nothing is damaged, and the next sweep
// goes on. While it reads it ends by itself; elsewhere the system ends it. A shell sees the same code. Seconds here are those
// that it works: on a busy machine it is as far after them as on a quiet one.
import { type ChildProcess, spawn } from 'node:child_process'
import { hash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { differences } from './setup/dump.ts'
import { IS_LONG } from './setup/long.ts'
import { workOf } from './setup/stopping.ts'
import { cli, cliPath, World } from './setup/sweeping.ts'

const CODES = { SIGTERM: 143, SIGINT: 130 } as const

/** Enough to be read in a thread. The first words, and the name of a tool, are what an expression of the settings minds. */
function home(first = 'hello', tool = 'Bash'): World {
  const world = new World()
  const directory = join(world.home, '.claude', 'projects', '-w')
  mkdirSync(directory, { recursive: true })
  const id = '14444444-4444-4444-8444-444444444444'
  const line = (at: number, role: 'user' | 'assistant', content: unknown) =>
    JSON.stringify({
      type: role,
      uuid: `u${at}`,
      parentUuid: null,
      sessionId: id,
      timestamp: new Date(1_794_000_000_000 + at).toISOString(),
      message: { role, content },
    })
  const lines = [
    line(0, 'user', first),
    line(1, 'assistant', [{ type: 'tool_use', id: 't1', name: tool, input: { command: 'ls' } }]),
    ...Array.from({ length: 2000 }, (_, at) =>
      line(at + 2, 'user', `${at} ${hash('sha512', `${at}`).repeat(35)}`),
    ),
  ]
  writeFileSync(join(directory, `${id}.jsonl`), `${lines.join('\n')}\n`)
  return world
}

const start = (world: World, more: string[] = []): ChildProcess =>
  spawn(process.execPath, [cliPath, 'sweep', ...more], {
    env: { ...process.env, ...world.env },
    stdio: 'ignore',
  })

/** By the clock: then it hangs. */
const PATIENCE_MS = 60_000

/** What a shell would see, and how long it still worked. */
async function stop(
  child: ChildProcess,
  signal: keyof typeof CODES,
): Promise<{ code: number; workMs: number }> {
  const before = workOf(child) ?? 0
  let last = before
  const look = setInterval(() => {
    last = workOf(child) ?? last
  }, 10)
  const hung = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS)
  const ended = new Promise<number>((resolve) =>
    child.on('exit', (code, by) => resolve(code ?? CODES[by as keyof typeof CODES] ?? -1)),
  )
  child.kill(signal)
  const code = await ended
  clearInterval(look)
  clearTimeout(hung)
  return { code, workMs: last - before }
}

async function until(child: ChildProcess, condition: () => boolean): Promise<void> {
  while (child.exitCode === null && !condition()) await new Promise((resolve) => setTimeout(resolve, 5))
}

/** Until it has worked for so long from now on, or has ended. */
async function worked(child: ChildProcess, ms: number): Promise<void> {
  const from = workOf(child) ?? 0
  await until(child, () => (workOf(child) ?? 0) - from >= ms)
}

const hasLock = (world: World) => (): boolean => existsSync(join(world.memory, 'sweep.lock'))

async function expectWhole(world: World): Promise<void> {
  world.configure('')
  expect(cli(world.env, 'sweep').code).toBe(0)
  expect(cli(world.env, 'verify').code).toBe(0)
  const whole = new World(world.home)
  expect(cli(whole.env, 'sweep').code).toBe(0)
  expect(differences(world.dump().events, whole.dump().events)).toEqual([])
}

/** How long it works from when it has the lock, undisturbed. */
async function timeOf(world: World, work: string[]): Promise<number> {
  const child = start(world, work)
  await until(child, hasLock(world))
  const before = workOf(child) ?? 0
  let last = before
  await until(child, () => {
    last = workOf(child) ?? last
    return false
  })
  return last - before
}

/** In the course of it, from discovery to the digests. */
const SHARES = IS_LONG ? [0.02, 0.2, 0.35, 0.5, 0.65, 0.8] : [0.02, 0.5, 0.8]

describe('a sweep that is told to end', () => {
  it.each([
    ['a first one', [], ''],
    ['one that reads all again', ['--full'], ''],
    ['a repair', ['--repair'], ''],
    ['one that evicts', [], '[session_memory.retention]\nraw_soft_cap_bytes = "1MB"\n'],
  ] as const)('%s, ends within 2 s at any time', async (name, more, settings) => {
    const files = home().home
    const before = new World(files)
    if (name !== 'a first one') expect(cli(before.env, 'sweep')).toMatchObject({ code: 0 })
    before.configure(settings)
    rmSync(join(before.memory, 'sweep.lock'), { force: true })
    const copy = (): World => {
      const world = new World(files)
      cpSync(before.memory, world.memory, { recursive: true })
      return world
    }
    const took = await timeOf(copy(), [...more])
    let landed = 0
    for (const [at, share] of SHARES.entries()) {
      const world = copy()
      const signal = at % 2 === 0 ? 'SIGTERM' : 'SIGINT'
      const child = start(world, [...more])
      await until(child, hasLock(world))
      await worked(child, took * share)
      if (child.exitCode !== null) continue
      const ended = await stop(child, signal)
      // It may have been over just before.
      expect([0, CODES[signal]], `${name}, ${share}`).toContain(ended.code)
      expect(ended.workMs).toBeLessThan(2000)
      if (ended.code !== 0) landed++
      // Before the first commit there is no memory yet.
      let verified = cli(world.env, 'verify')
      if (verified.stderr.includes('[NO_MEMORY]')) {
        expect(name).toBe('a first one')
        expect(cli(world.env, 'sweep')).toMatchObject({ code: 0 })
        verified = cli(world.env, 'verify')
      }
      const { stdout, stderr, code } = verified
      expect([code, stdout + stderr], `${name}, ${share}`).toEqual([0, expect.anything()])
      // Nobody has the lock.
      if (share === 0.5 && settings === '') await expectWhole(world)
    }
    expect(landed).toBeGreaterThan(0)
  })

  it('ends while the reading thread is inside an expression that takes for ever', async () => {
    const world = home(`${'a'.repeat(60)}!`)
    world.configure('[task_ref]\npatterns = ["^(a+)+$"]\n')
    const child = start(world)
    await until(child, () => existsSync(join(world.memory, 'cache', 'cache.db')))
    await worked(child, 1000)
    expect(child.exitCode).toBe(null)
    const ended = await stop(child, 'SIGTERM')
    expect(ended.code).toBe(143)
    expect(ended.workMs).toBeLessThan(2000)
    await expectWhole(world)
  })

  it('ends while the digest is inside one', async () => {
    const world = home('hello', 'a'.repeat(100))
    world.configure(`[digest.buckets]\nslow = ["${'a*'.repeat(12)}b"]\n`)
    // When it has worked for longer than it would otherwise, it is inside.
    const took = await timeOf(new World(world.home), [])
    const child = start(world)
    await until(child, hasLock(world))
    await worked(child, took + 500)
    expect(child.exitCode).toBe(null)
    const ended = await stop(child, 'SIGTERM')
    expect(ended.code).toBe(143)
    expect(ended.workMs).toBeLessThan(2000)
    await expectWhole(world)
  })
})
