// Watching: few watches, nothing missed, whatever becomes of the directories; and the program around it.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { LINES, SPOOL } from '../src/sources/spool-files.ts'
import { TreeWatcher } from '../src/sources/watch.ts'
import { cli, cliPath, temporary, World } from './setup/sweeping.ts'

const pause = async (ms: number): Promise<void> => await new Promise((resolve) => setTimeout(resolve, ms))

async function until(isTrue: () => boolean, what: string): Promise<void> {
  for (const startedAt = performance.now(); !isTrue(); await pause(10))
    if (performance.now() - startedAt > 120_000) throw new Error(`did not happen: ${what}`)
}

describe('a tree', () => {
  let tree: TreeWatcher | undefined
  const touched = new Set<string>()
  const blind: string[] = []

  function start(...roots: string[]): TreeWatcher {
    touched.clear()
    blind.length = 0
    tree = new TreeWatcher(roots, {
      onTouched: (path) => touched.add(path),
      onBlind: (reason) => blind.push(reason),
    })
    return tree
  }

  const isTold = (path: string): boolean =>
    [...touched].some((one) => path === one || path.startsWith(`${one}/`))

  afterEach(() => tree?.close())

  it('has one watch per directory, however many files', () => {
    const root = join(temporary('watch'), 'root')
    for (let folder = 0; folder < 20; folder++) {
      mkdirSync(join(root, `f${folder}`), { recursive: true })
      for (let file = 0; file < 20; file++) writeFileSync(join(root, `f${folder}`, `${file}.jsonl`), '')
    }
    expect(start(root).directoryCount).toBe(21)
    expect(blind).toEqual([])
  })

  it('tells of files in folders that were made a moment ago, at any depth', async () => {
    const root = join(temporary('watch'), 'root')
    mkdirSync(root, { recursive: true })
    start(root)
    const files = Array.from({ length: 30 }, (_, n) => join(root, `a${n}`, 'b', 'c', `d${n % 3}`, 'x.jsonl'))
    for (const file of files) {
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, 'one\n')
    }
    await until(() => files.every(isTold), 'every new file told')
    touched.clear()
    for (const file of files) appendFileSync(file, 'two\n')
    await until(() => files.every((file) => touched.has(file)), 'every append told by name')
  })

  it('finds roots that come, go, come back and are replaced', async () => {
    const base = temporary('watch')
    const root = join(base, 'home', '.agent', 'sessions')
    start(root)
    for (let round = 0; round < 3; round++) {
      mkdirSync(join(root, 'day'), { recursive: true })
      writeFileSync(join(root, 'day', 'x.jsonl'), 'one\n')
      await until(() => isTold(join(root, 'day', 'x.jsonl')), `told in round ${round}`)
      touched.clear()
      appendFileSync(join(root, 'day', 'x.jsonl'), 'two\n')
      await until(() => touched.has(join(root, 'day', 'x.jsonl')), `append told in round ${round}`)
      rmSync(join(base, round === 1 ? 'home' : 'home/.agent'), { recursive: true })
      await until(() => tree?.directoryCount === 0, 'watches given up')
      touched.clear()
    }
    mkdirSync(join(base, 'other', 'day'), { recursive: true })
    writeFileSync(join(base, 'other', 'day', 'y.jsonl'), 'one\n')
    mkdirSync(dirname(root), { recursive: true })
    await until(() => isTold(root), 'the way to the root')
    renameSync(join(base, 'other'), root)
    await until(() => tree?.directoryCount === 2, 'a root moved into place')
    touched.clear()
    appendFileSync(join(root, 'day', 'y.jsonl'), 'two\n')
    await until(() => touched.has(join(root, 'day', 'y.jsonl')), 'its append')
  })

  it('finds a root that comes as a link, and leads elsewhere later', async () => {
    const base = temporary('watch')
    for (const name of ['one', 'two']) mkdirSync(join(base, name, 'day'), { recursive: true })
    const root = join(base, 'home', 'sessions')
    mkdirSync(dirname(root))
    start(root)
    for (const name of ['one', 'two']) {
      rmSync(root, { force: true })
      symlinkSync(join(base, name), root)
      await until(() => tree?.directoryCount === 2, `${name} watched`)
      await until(() => touched.has(root), `${name} told`)
      touched.clear()
      await until(() => {
        appendFileSync(join(base, name, 'day', 'x.jsonl'), 'one\n')
        return touched.has(join(root, 'day', 'x.jsonl'))
      }, `a file in ${name}`)
    }
  })

  it('follows a folder that is renamed, and no link out of the tree', async () => {
    const base = temporary('watch')
    const root = join(base, 'root')
    mkdirSync(join(root, 'a', 'b'), { recursive: true })
    mkdirSync(join(base, 'outside'))
    symlinkSync(join(base, 'outside'), join(root, 'link'))
    const watcher = start(root)
    expect(watcher.directoryCount).toBe(3)
    renameSync(join(root, 'a'), join(root, 'z'))
    await until(() => touched.has(join(root, 'z')) && touched.has(join(root, 'a')), 'both names told')
    touched.clear()
    writeFileSync(join(root, 'z', 'b', 'x.jsonl'), 'one\n')
    await until(() => touched.has(join(root, 'z', 'b', 'x.jsonl')), 'told under the new name')
    expect(watcher.directoryCount).toBe(3)
    expect([...touched].some((path) => path.startsWith(join(root, 'a')))).toBe(false)
  })
})

const project = (world: World): string => join(world.home, '.claude', 'projects', '-home-dev-proj')
const id = (n: number): string => `11111111-1111-4111-8111-${String(n).padStart(12, '0')}`

function addRecord(world: World, session: number, n: number): string {
  mkdirSync(project(world), { recursive: true })
  const path = join(project(world), `${id(session)}.jsonl`)
  const uuid = `22222222-2222-4222-8222-${String(session * 1000 + n).padStart(12, '0')}`
  const message = { role: 'user', content: `prompt ${n}` }
  const line = {
    type: 'user',
    uuid,
    parentUuid: null,
    sessionId: id(session),
    timestamp: '2026-11-15T12:00:00.000Z',
    message,
  }
  appendFileSync(path, `${JSON.stringify(line)}\n`)
  return path
}

class Watching {
  readonly child: ChildProcess
  readonly events: Record<string, unknown>[] = []
  readonly ended: Promise<number | null>
  #rest = ''

  constructor(world: World, wrapper: string[] = [], more: Record<string, string> = {}) {
    const [program = '', ...args] = [...wrapper, process.execPath, cliPath, 'watch', '--json']
    const env = { PATH: process.env['PATH'] ?? '', ...world.env, RECOLLECT_CAPTURE_INTERVAL: '0s', ...more }
    this.child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
    this.child.stdout?.on('data', (chunk) => {
      const lines = (this.#rest + String(chunk)).split('\n')
      this.#rest = lines.pop() ?? ''
      this.events.push(...lines.map((line) => JSON.parse(line) as Record<string, unknown>))
    })
    this.ended = new Promise((resolve) => this.child.once('close', resolve))
  }

  async sweep(
    isIt: (event: Record<string, unknown>) => boolean = () => true,
  ): Promise<Record<string, unknown>> {
    const wanted = (): Record<string, unknown> | undefined =>
      this.events.find((event) => event['event'] === 'swept' && isIt(event))
    await until(() => wanted() !== undefined, 'a sweep')
    const found = wanted() as Record<string, unknown>
    this.events.length = 0
    return found
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    this.child.kill(signal)
    return await this.ended
  }
}

describe('recollect watch', () => {
  it('sweeps everything, then what is touched; one at a time, and ends as signals say', async () => {
    const world = new World()
    addRecord(world, 1, 1)
    addRecord(world, 2, 1)
    const watching = new Watching(world)
    expect(await watching.sweep()).toMatchObject({ scope: 'all', new_events: 2 })
    addRecord(world, 2, 2)
    expect(await watching.sweep()).toMatchObject({
      scope: 'touched',
      new_events: 1,
      sources: { appended: 1, unchanged: 0 },
    })
    addRecord(world, 3, 1)
    expect(await watching.sweep()).toMatchObject({ sessions: [`claude:${id(3)}`] })
    expect(cli(world.env, 'watch')).toMatchObject({ code: 5 })
    expect(await watching.stop('SIGTERM')).toBe(143)
    const again = new Watching(world)
    expect(await again.sweep()).toMatchObject({ scope: 'all', new_events: 0 })
    expect(await again.stop('SIGINT')).toBe(130)
    expect(cli(world.env, 'sessions', '--json').stdout).toContain(id(3))
  })

  it('follows a link above its directories to where it comes to lead', async () => {
    const world = new World()
    const link = join(world.home, '.claude')
    const leadTo = (name: string): void => {
      mkdirSync(join(world.base, name))
      rmSync(link, { force: true })
      symlinkSync(join(world.base, name), link)
    }
    leadTo('one')
    addRecord(world, 1, 1)
    const watching = new Watching(world)
    expect(await watching.sweep()).toMatchObject({ scope: 'all', new_events: 1 })
    for (const [at, name] of ['two', 'three'].entries()) {
      leadTo(name)
      await watching.sweep((event) => event['scope'] === 'all')
      addRecord(world, 2 + at, 1)
      expect(await watching.sweep((event) => event['new_events'] === 1)).toMatchObject({
        scope: 'touched',
        sessions: [`claude:${id(2 + at)}`],
      })
    }
    expect(await watching.stop()).toBe(143)
  })

  it('hears hooks, which then start no sweep of their own', async () => {
    const world = new World()
    const watching = new Watching(world)
    await watching.sweep()
    const outside = join(world.base, 'elsewhere', 'projects', 'p')
    mkdirSync(outside, { recursive: true })
    const path = join(outside, `${id(9)}.jsonl`)
    renameSync(addRecord(world, 9, 1), path)
    const input = JSON.stringify({ hook_event_name: 'Stop', session_id: id(9), transcript_path: path })
    const hook = spawnSync(process.execPath, [join(dirname(cliPath), 'recollect-hook.cjs')], {
      input,
      env: world.env,
    })
    expect([hook.status, String(hook.stdout), String(hook.stderr)]).toEqual([0, '', ''])
    await watching.sweep((event) => (event['sessions'] as string[]).includes(`claude:${id(9)}`))
    expect(existsSync(join(world.memory, SPOOL, 'nudged'))).toBe(false)
    expect(existsSync(join(world.memory, SPOOL, LINES))).toBe(false)
    await watching.stop()
    expect(existsSync(join(world.memory, SPOOL, 'watch.sock'))).toBe(false)
  })

  it('says when the system has no watches left, and sweeps all the same', async ({ skip }) => {
    const limited = [
      'unshare',
      '-Ur',
      'sh',
      '-c',
      'echo 3 > /proc/sys/user/max_inotify_watches && exec "$@"',
      'sh',
    ]
    skip(
      spawnSync(limited[0] as string, [...limited.slice(1), 'true']).status !== 0,
      'no user namespaces here',
    )
    const world = new World()
    for (let n = 0; n < 5; n++) mkdirSync(`${project(world)}-${n}`, { recursive: true })
    addRecord(world, 1, 1)
    const watching = new Watching(world, limited)
    await until(() => watching.events.some((event) => event['event'] === 'blind'), 'told')
    expect(watching.events.find((event) => event['event'] === 'blind')?.['reason']).toContain(
      'max_user_watches',
    )
    expect(await watching.sweep()).toMatchObject({ scope: 'all', new_events: 1 })
    expect(await watching.stop()).toBe(143)
  })

  /** Sets a clock of the program ahead, by as many milliseconds as stand in a file. */
  function shifted(
    world: World,
    clock: 'Date' | 'performance',
  ): { set: (ms: number) => void; env: { NODE_OPTIONS: string } } {
    const file = join(world.base, 'shift')
    const script = join(world.base, 'shift.cjs')
    writeFileSync(file, '0')
    writeFileSync(
      script,
      `const now = ${clock}.now.bind(${clock})
       ${clock}.now = () => now() + Number(require('node:fs').readFileSync(${JSON.stringify(file)}, 'utf8'))`,
    )
    return { set: (ms) => writeFileSync(file, String(ms)), env: { NODE_OPTIONS: `--require ${script}` } }
  }

  it('looks at everything in time, also when something is touched all the time', async () => {
    const world = new World()
    addRecord(world, 1, 1)
    const clock = shifted(world, 'performance')
    const watching = new Watching(world, [], clock.env)
    expect(await watching.sweep()).toMatchObject({ scope: 'all' })
    for (const [at, hours] of [10, 20, 25].entries()) {
      // Both at once for the watcher: between them it could find the one due without the other.
      watching.child.kill('SIGSTOP')
      clock.set(hours * 3_600_000)
      addRecord(world, 1, at + 2)
      watching.child.kill('SIGCONT')
      const scope = hours < 24 ? 'touched' : 'all'
      expect(await watching.sweep((event) => event['new_events'] === 1)).toMatchObject({ scope })
    }
    await watching.stop()
  })

  it('sweeps in time though the clock is set back, and sleeps through an interval of any length', async () => {
    const world = new World()
    const clock = shifted(world, 'Date')
    clock.set(36_000_000)
    const watching = new Watching(world, [], clock.env)
    await watching.sweep()
    clock.set(0)
    addRecord(world, 1, 1)
    expect(await watching.sweep()).toMatchObject({ new_events: 1 })
    await watching.stop()

    const warnings = join(world.base, 'warnings')
    const rare = new Watching(world, [], {
      RECOLLECT_CAPTURE_INTERVAL: '60d',
      NODE_OPTIONS: `--redirect-warnings=${warnings}`,
    })
    await rare.sweep()
    addRecord(world, 1, 2)
    await pause(1500)
    // A timer that is set for too long runs a thousand times a second, after a warning.
    expect(existsSync(warnings) ? readFileSync(warnings, 'utf8') : '').not.toContain('TimeoutOverflow')
    expect(await rare.stop()).toBe(143)
  })

  it('sets no timer for a moment that has passed, of which newer Nodes warn', async () => {
    const world = new World()
    const [script, timers] = [join(world.base, 'leap.cjs'), join(world.base, 'timers')]
    writeFileSync(
      script,
      `const [now, set] = [performance.now.bind(performance), setTimeout]
       let leaps = 0
       performance.now = () => now() + leaps++ * 700
       globalThis.setTimeout = (work, ms, ...rest) => {
         require('node:fs').appendFileSync(${JSON.stringify(timers)}, ms + '\\n')
         return set(work, ms, ...rest)
       }`,
    )
    const watching = new Watching(world, [], { NODE_OPTIONS: `--require ${script}` })
    for (let n = 1; n <= 3; n++) {
      addRecord(world, 1, n)
      await watching.sweep((event) => event['new_events'] === 1)
    }
    await watching.stop()
    const set = readFileSync(timers, 'utf8').trim().split('\n').map(Number)
    expect(set.filter((ms) => ms < 0)).toEqual([])
  })

  it.each(['watch', 'sweep'])('and its lock that cannot be made: %s says so in a sentence', (name) => {
    const world = new World()
    mkdirSync(join(world.memory, `${name}.lock`), { recursive: true })
    const { code, stderr } = cli(world.env, name)
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('cannot open the lock file (EISDIR) [NOT_A_FILE]'),
    ])
    expect(stderr).not.toContain('    at ')
  })

  it('goes on after a sweep that failed', async () => {
    const world = new World()
    const watching = new Watching(world)
    await watching.sweep()
    const memory = join(world.memory, 'memory.db')
    // Not copied: the watcher may be folding the log into it at this moment.
    renameSync(memory, `${memory}.aside`)
    mkdirSync(memory)
    addRecord(world, 1, 1)
    await until(() => watching.events.some((event) => event['event'] === 'failed'), 'told')
    renameSync(memory, `${memory}.directory`)
    renameSync(`${memory}.aside`, memory)
    expect(await watching.sweep()).toMatchObject({ new_events: 1 })
    await watching.stop()
  })
})
