// How a command starts and writes: what it loads, where the driver of SQLite is found, code that was compiled before, and
// streams of every kind.
import { spawnSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Script } from 'node:vm'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type CodeCache, type Compiled, keepCode, readCode } from '../src/cli/code-cache.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { isHere } from './setup/programs.ts'
import { cli, cliPath, temporary, World } from './setup/sweeping.ts'

const modules = fileURLToPath(new URL('../node_modules', import.meta.url))

let world: World
beforeAll(async () => {
  world = new World()
  cpSync(join(unpackAgent('claude'), 'tools'), world.home, { recursive: true })
  await world.sweep()
})
afterAll(() => world.remove())

const env = (): Record<string, string> => ({ PATH: process.env['PATH'] ?? '', LANG: 'C.UTF-8', ...world.env })
const bash = (script: string) =>
  spawnSync('/bin/bash', ['-c', `set -o pipefail; ${script}`], {
    env: { ...env(), NODE: process.execPath, CLI: cliPath },
    encoding: 'utf8',
  })

describe('the start', () => {
  /** Node's modules and the files a command loads; told at its exit to a file, since its streams are its own. */
  function loadedBy(...args: string[]): string[] {
    const directory = temporary('loaded')
    const told = join(directory, 'told.json')
    const preload = join(directory, 'preload.cjs')
    writeFileSync(
      preload,
      `process.on('exit', () => require('node:fs').writeFileSync(${JSON.stringify(told)},
        JSON.stringify([...process.moduleLoadList, ...Object.keys(require.cache)])))`,
    )
    const { status, stderr } = spawnSync(process.execPath, ['--require', preload, cliPath, ...args], {
      env: env(),
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    expect([status, stderr]).toEqual([0, ''])
    return JSON.parse(readFileSync(told, 'utf8')) as string[]
  }

  it.each([['search', 'file'], ['sessions'], ['usage'], ['statusline'], ['digest', '@last']])(
    'of %s loads no sockets, no hashes, and none of the search for the addon',
    (...args) => {
      const loaded = loadedBy(...args)
      expect(loaded).toContain('NativeModule fs')
      for (const heavy of ['net', 'tty', 'crypto', 'child_process', 'worker_threads'])
        expect(loaded, heavy).not.toContain(`NativeModule ${heavy}`)
      // Those that read no bodies.
      if (!['search', 'digest'].includes(args[0] as string)) expect(loaded).not.toContain('NativeModule zlib')
      expect(loaded.filter((name) => /node-gyp-build|adapters-|fs-native-extensions/.test(name))).toEqual([])
    },
  )

  it('finds another addon where the one of the package does not load', () => {
    const root = temporary('other-addon')
    cpSync(dirname(cliPath), join(root, 'dist'), { recursive: true })
    const driver = join(root, 'node_modules/@photostructure/sqlite')
    cpSync(join(modules, '@photostructure/sqlite'), driver, { recursive: true, dereference: true })
    symlinkSync(join(modules, 'node-gyp-build'), join(root, 'node_modules/node-gyp-build'))
    const addon = join(
      driver,
      `prebuilds/${process.platform}-${process.arch}/@photostructure+sqlite.glibc.node`,
    )
    expect(existsSync(addon)).toBe(true)
    mkdirSync(join(driver, 'build/Release'), { recursive: true })
    renameSync(addon, join(driver, 'build/Release/sqlite.node'))
    const run = () =>
      spawnSync(process.execPath, [join(root, 'dist/cli.cjs'), 'sessions'], { env: env(), encoding: 'utf8' })
    expect(run()).toMatchObject({ status: 0, stdout: cli(world.env, 'sessions').stdout })
    writeFileSync(addon, 'not an addon')
    expect(run()).toMatchObject({ status: 0, stdout: cli(world.env, 'sessions').stdout })
  })
})

describe('compiled code', () => {
  const directory = (): string => join(world.memory, 'code')
  const file = (): string => join(directory(), 'sessions')
  const sessions = () => cli(world.env, 'sessions')
  const plain = () => cli({ ...world.env, NODE_DISABLE_COMPILE_CACHE: '1' }, 'sessions')
  const kept = (): CodeCache => readCode(file()) as CodeCache
  beforeEach(() => rmSync(directory(), { recursive: true, force: true }))

  it('is kept from the first runs of a command, for us alone', () => {
    for (const runs of [1, 2, 3, 3]) {
      expect(sessions()).toEqual(plain())
      expect(kept().runs).toBe(runs)
    }
    expect(readdirSync(directory())).toEqual(['sessions'])
    expect([statSync(directory()).mode & 0o777, statSync(file()).mode & 0o777]).toEqual([0o700, 0o600])
  })

  it('is what runs', () => {
    sessions()
    const { scripts } = kept()
    const main = scripts.get('main.cjs') as Compiled
    // V8 compares no more than the length.
    const [comment] = /\/\/#region .*/.exec(main.source.toString()) as RegExpExecArray
    const other = main.source.toString().replace(comment, 'console.log(123)'.padEnd(comment.length))
    expect(comment.length).toBeGreaterThan(16)
    scripts.set('main.cjs', { ...main, code: new Script(other).createCachedData() })
    keepCode(file(), { runs: 3, scripts })
    expect(sessions().stdout).toBe(`123\n${plain().stdout}`)
  })

  it('is not that of another program, though all its files are as long', () => {
    const root = temporary('other-program')
    cpSync(dirname(cliPath), join(root, 'dist'), { recursive: true })
    symlinkSync(modules, join(root, 'node_modules'))
    const main = join(root, 'dist/main.cjs')
    const text = readFileSync(main, 'utf8')
    const [comment] = /\/\/#region .*/.exec(text) as RegExpExecArray
    const run = (): string =>
      spawnSync(process.execPath, [join(root, 'dist/cli.cjs'), 'sessions'], { env: env(), encoding: 'utf8' })
        .stdout
    for (let runs = 0; runs < 3; runs++) expect(run()).toBe(plain().stdout)
    writeFileSync(main, text.replace(comment, 'console.log(123)'.padEnd(comment.length)))
    expect(run()).toBe(`123\n${plain().stdout}`)
    expect(kept().runs).toBe(1)
  })

  function makeDirectory(path: string): void {
    rmSync(path)
    mkdirSync(path)
  }

  it.each<[string, (path: string) => void]>([
    ['empty', (path) => writeFileSync(path, '')],
    ['cut short', (path) => truncateSync(path, statSync(path).size - 8)],
    ['longer', (path) => appendFileSync(path, Buffer.alloc(8))],
    [
      'of another Node',
      (path) => writeFileSync(path, readFileSync(path, 'latin1').replace('"v', '"w'), 'latin1'),
    ],
    ['of another source', (path) => flip(path, 0.2)],
    ['damaged in the code', (path) => flip(path, 0.6)],
    ['damaged in the copy of the code', (path) => flip(path, 0.95)],
    ['nonsense', (path) => writeFileSync(path, 'RCLCODE2\xff\xff\xff\xff')],
    ['open to others', (path) => chmodSync(path, 0o666)],
    ['a directory', makeDirectory],
  ])('that is %s is passed over', (what, damage) => {
    sessions()
    damage(file())
    expect(sessions()).toEqual(plain())
    if (what !== 'a directory') expect(kept().runs).toBe(1)
    expect(readdirSync(directory())).toEqual(['sessions'])
  })

  const flip = (path: string, share: number): void => {
    const bytes = readFileSync(path)
    const at = Math.floor(bytes.length * share)
    bytes[at] = (bytes[at] as number) ^ 1
    writeFileSync(path, bytes)
  }

  it.skipIf(process.getuid?.() !== 0)('of another user is passed over (skipped without root)', () => {
    sessions()
    chownSync(file(), 12_345, 12_345)
    expect(readCode(file())).toBeUndefined()
    expect(sessions()).toEqual(plain())
    expect(statSync(file()).uid).toBe(0)
  })

  it('that cannot be kept is no error', () => {
    writeFileSync(directory(), 'a file where the directory would be')
    expect(sessions()).toEqual(plain())
    expect(readFileSync(directory(), 'utf8')).toMatch(/^a file/)
  })

  it('is kept by none but questions that were answered, and not where it is not wanted', () => {
    plain()
    cli(world.env, 'sessions', '--nonsense')
    cli(world.env, 'config')
    expect(existsSync(directory())).toBe(false)
    const nowhere = join(temporary('nowhere'), 'memory')
    expect(cli({ ...world.env, RECOLLECT_HOME: nowhere }, 'sessions').code).toBe(1)
    expect(existsSync(nowhere)).toBe(false)
  })

  it('is kept of a sweep, unless that set flags of V8, which would refuse it', () => {
    const preload = join(temporary('flags'), 'flags.cjs')
    const set = "require('node:v8').setFlagsFromString('--interrupt-budget=300000')"
    writeFileSync(preload, `setImmediate(() => ${set})`)
    const withFlags = { ...world.env, NODE_OPTIONS: `--require ${preload}` }
    expect(cli(withFlags, 'sweep').code).toBe(0)
    expect(existsSync(directory())).toBe(false)
    const told = ['sweep', 'sweep'].map((command) => cli(world.env, command).stdout.split('\n')[0])
    expect(told).toEqual([told[0], told[0]])
    expect(readCode(join(directory(), 'sweep'))?.runs).toBe(2)
    cli(withFlags, 'sweep')
    expect(readCode(join(directory(), 'sweep'))?.runs).toBe(2)
  })

  it('is whole when many keep it at once', () => {
    const { stdout } = bash('for i in 1 2 3 4 5 6 7 8; do "$NODE" "$CLI" sessions & done; wait')
    expect(stdout.length).toBe(8 * plain().stdout.length)
    expect(readdirSync(directory())).toEqual(['sessions'])
    expect(sessions()).toEqual(plain())
  })
})

describe('output', () => {
  it('is the same into a file and a pipe', () => {
    const told = cli(world.env, 'sessions').stdout
    expect(told).toContain('claude')
    expect(
      bash(
        '"$NODE" "$CLI" sessions > out.tmp; cat out.tmp; rm out.tmp'.replaceAll(
          'out.tmp',
          `"${world.home}/out"`,
        ),
      ).stdout,
    ).toBe(told)
  })

  it.skipIf(!isHere('script'))('is the same into a terminal (script) that has no colour', () => {
    const shown = bash(`COLUMNS=999 NO_COLOR=1 script -qec '"$NODE" "$CLI" digest @last --json' /dev/null`)
    expect(shown.stdout.replaceAll('\r\n', '\n')).toBe(cli(world.env, 'digest', '@last', '--json').stdout)
  })

  it('waits for a slow reader, also where another program made the pipe non-blocking', () => {
    const whole = cli(world.env, 'man').stdout.length
    // A program that is killed leaves the pipe as its stream made it; six manuals are more than a pipe holds.
    const script = `("$NODE" -e 'process.stdout.write(""); process.kill(process.pid, "SIGKILL")'
      for i in 1 2 3 4 5 6; do "$NODE" "$CLI" man || exit 1; done) | (sleep 1.5; wc -m)`
    const { stdout, status } = bash(script)
    expect([status, Number(stdout)]).toEqual([0, 6 * whole])
  })

  it('that finds no room is an error with its cause', () => {
    const { status, stderr } = bash('"$NODE" "$CLI" man > /dev/full')
    expect(status).toBe(1)
    expect(stderr).toMatch(/^error: cannot write the output \(ENOSPC\) \[DISK_FULL\]\nwhere: stdout/)
  })

  it('that nobody reads changes no exit code', () => {
    expect(bash('"$NODE" "$CLI" sessions --nonsense 2>&1 | true').status).toBe(2)
    expect(bash('"$NODE" "$CLI" sessions --nonsense 2>&-').status).toBe(2)
    expect(bash('"$NODE" "$CLI" sessions >&-').status).toBe(0)
  })
})
