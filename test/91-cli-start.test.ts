// How a command starts and writes: what it loads, where the driver of SQLite is found, and streams of every kind.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { unpackAgent } from './setup/fixtures.ts'
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

  it.each([['search', 'file'], ['sessions'], ['usage'], ['digest', '@last']])(
    'of %s loads no sockets, no hashes, and none of the search for the addon',
    (...args) => {
      const loaded = loadedBy(...args)
      expect(loaded).toContain('NativeModule fs')
      for (const heavy of ['net', 'tty', 'crypto', 'child_process', 'worker_threads'])
        expect(loaded, heavy).not.toContain(`NativeModule ${heavy}`)
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

describe('output', () => {
  it('is the same into a file, a pipe and a terminal that has no colour', () => {
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
