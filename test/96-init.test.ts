// The first run: what it shows, what it changes only when told to, and that it can be run again.
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { unpackAgent } from './setup/fixtures.ts'
import { standInSchedulers } from './setup/stand-ins.ts'
import { cli, cliPath, World } from './setup/sweeping.ts'
import { CTRL_C, CTRL_D, Terminal } from './setup/terminal.ts'

const SCRIPT = '/usr/bin/script'

let world: World
let env: Record<string, string>
const claude = unpackAgent('claude')
beforeEach(() => {
  world = new World()
  rmSync(world.memory, { recursive: true })
  cpSync(join(claude, 'tools'), world.home, { recursive: true })
  // No scheduler and no agent's program: what is tried with them is in their own tests.
  const bin = join(world.base, 'bin')
  mkdirSync(bin)
  env = { ...world.env, PATH: bin, LANG: 'C.UTF-8' }
})
const settings = (): string => join(world.home, '.claude', 'settings.json')

describe('init', () => {
  it('without agents says where it looked, and points to the samples', () => {
    rmSync(join(world.home, '.claude'), { recursive: true })
    const { code, stdout } = cli(env, 'init', '--yes')
    expect(code).toBe(0)
    expect(stdout).toContain('nothing of claude, codex, ')
    expect(stdout).toContain('recollect demo')
    expect(existsSync(world.memory)).toBe(false)
  })

  it('with --dry-run shows every step and changes nothing', () => {
    const { code, stdout } = cli(env, 'init', '--dry-run')
    expect(code).toBe(0)
    for (const title of ['Settings:', 'Hooks:']) expect(stdout).toContain(title)
    expect(stdout).toContain(`new file ${settings()}`)
    expect([existsSync(world.memory), existsSync(settings())]).toEqual([false, false])
  })

  it('without anybody to ask sweeps and shows the status, and changes nothing outside the memory', () => {
    const before = readdirSync(join(world.home, '.claude'))
    for (const flags of [[], ['--no-input']]) {
      const { code, stdout } = cli(env, 'init', ...flags)
      expect(code).toBe(0)
      expect(stdout).toContain('left as it is')
      expect(stdout).toMatch(/claude +1 /)
      expect(readdirSync(join(world.home, '.claude'))).toEqual(before)
      expect(existsSync(join(world.memory, 'config.toml'))).toBe(false)
    }
  })

  it('with --yes does it all, and does nothing the second time', () => {
    const first = cli(env, 'init', '--yes')
    expect(first.stdout).toContain(`wrote ${join(world.memory, 'config.toml')}`)
    expect(readFileSync(settings(), 'utf8')).toContain('recollect-hook.cjs')
    expect(cli(env, 'config', '--json').code).toBe(0)
    const before = [settings(), join(world.memory, 'config.toml')].map((path) => readFileSync(path, 'utf8'))
    const second = cli(env, 'init', '--yes')
    for (const title of ['Settings:', 'Hooks:']) expect(second.stdout).not.toContain(title)
    expect([settings(), join(world.memory, 'config.toml')].map((path) => readFileSync(path, 'utf8'))).toEqual(
      before,
    )
  })

  it.each([['--dry-run'], ['--no-input'], ['--yes']])(
    'with %s on a machine without schedulers says what is not there, offers what is, and succeeds',
    (flag) => {
      const { code, stdout } = cli({ ...env, COLUMNS: '400' }, 'init', flag)
      expect(code).toBe(0)
      expect(stdout).toContain(
        'Schedule: nothing here can run a sweep by the clock: no systemd user session (systemctl: not found), no cron (crontab: not found)',
      )
      expect(stdout).toContain("MCP server: no agent's program is on the PATH (claude, codex, grok)")
      expect(stdout).toContain('Hooks:')
    },
  )

  it.each([['--dry-run'], ['--yes']])('with %s offers the scheduler that is there', (flag) => {
    const { code, stdout } = cli({ ...env, PATH: standInSchedulers(world.base) }, 'init', flag)
    expect(code).toBe(0)
    expect(stdout).toContain('Schedule: a sweep once a day')
    const log = readFileSync(join(world.base, 'log'), 'utf8')
    expect(log.includes('systemctl --user enable --now recollect-sweep.timer')).toBe(flag === '--yes')
  })

  it('goes on where a step cannot be taken', () => {
    writeFileSync(settings(), '{ not json')
    const { code, stdout, stderr } = cli(env, 'init', '--yes')
    expect(code).not.toBe(0)
    expect(stderr).toContain('error:')
    expect(stdout).toContain(`wrote ${join(world.memory, 'config.toml')}`)
    expect(stdout).toMatch(/claude +1 /)
    expect(readFileSync(settings(), 'utf8')).toBe('{ not json')
  })

  describe.skipIf(!existsSync(SCRIPT))('on a terminal (script)', () => {
    const onTerminal = (): Terminal => {
      // Nothing else is on the PATH: whatever is answered, no schedule of this machine can be reached.
      symlinkSync(SCRIPT, join(world.base, 'bin', 'script'))
      return new Terminal(`${process.execPath} ${cliPath} init`, {
        env: { ...env, SHELL: '/bin/sh', TERM: 'dumb' },
        cwd: world.base,
      })
    }
    const QUESTION = 'Do it? [Y/n]'

    it('asks before each step, and takes no for an answer, or the end of the input', async () => {
      const terminal = onTerminal()
      expect(await terminal.answer(QUESTION, 'n\r')).toContain('Settings:')
      expect(await terminal.answer(QUESTION, CTRL_D)).toMatch(/left as it is[\s\S]*Hooks:/)
      expect(await terminal.answer(QUESTION, 'no\r')).toMatch(/left as it is[\s\S]*Agents' own files:/)
      expect(await terminal.ended()).toBe(0)
      expect(terminal.screen).toMatch(/left as it is[\s\S]*claude +1 /)
      // What was typed is shown once, by the question that it answers alone.
      expect(terminal.screen).toMatch(/^no\r*\nleft as it is/)
      expect([existsSync(settings()), existsSync(join(world.memory, 'config.toml'))]).toEqual([false, false])
    })

    it('does what is said yes to, and ends at Ctrl-C', async () => {
      const terminal = onTerminal()
      await terminal.answer(QUESTION, '\r')
      expect(await terminal.answer(QUESTION, CTRL_C)).toContain('Hooks:')
      expect(await terminal.ended()).toBe(130)
      expect(terminal.screen).not.toMatch(/error|Do it/)
      expect([existsSync(settings()), existsSync(join(world.memory, 'config.toml'))]).toEqual([false, true])
    })
  })
})
