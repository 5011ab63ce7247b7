// Schedules: what each scheduler is given is what it understands, and comes out again without a trace.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findScheduler, makeJob } from '../src/capture/schedule.ts'
import {
  cronLine,
  EVERY,
  type Job,
  launchdAgent,
  systemdService,
  systemdTimer,
  UNIT,
  withCronLine,
} from '../src/capture/schedule-text.ts'
import { isHere } from './setup/programs.ts'
import { addStandIn, standInSchedulers } from './setup/stand-ins.ts'
import { cli, cliPath, temporary } from './setup/sweeping.ts'

const job = (more: Partial<Job> = {}): Job => ({
  every: 'daily',
  command: [process.execPath, cliPath, 'sweep'],
  env: {},
  ...more,
})

/** Everything that means something to one of the formats. */
const ODD = `/tmp/it's "odd" $HOME 100%h <&> back\\slash`

describe('systemd units', () => {
  const canVerify = isHere('systemd-analyze')
  const verify = (...files: string[]): { status: number | null; stderr: string } =>
    spawnSync('systemd-analyze', ['verify', '--user', ...files], {
      env: { PATH: process.env['PATH'], HOME: temporary('units'), XDG_RUNTIME_DIR: temporary('units') },
      encoding: 'utf8',
    })

  it.skipIf(!canVerify).each(EVERY)('for %s are understood by systemd', (every) => {
    const directory = temporary('units')
    writeFileSync(join(directory, `${UNIT}.service`), systemdService(job({ every })))
    writeFileSync(join(directory, `${UNIT}.timer`), systemdTimer(job({ every })))
    const names = ['service', 'timer'].map((kind) => join(directory, `${UNIT}.${kind}`))
    const { status, stderr } = verify(...names)
    expect([status, stderr]).toEqual([0, ''])
    const calendar = /OnCalendar=(.*)/.exec(systemdTimer(job({ every })))?.[1] as string
    expect(spawnSync('systemd-analyze', ['calendar', calendar]).status).toBe(0)
  })

  it('keep odd paths and variables as they are', () => {
    const text = systemdService(job({ command: ['/bin/true', ODD], env: { RECOLLECT_HOME: ODD } }))
    expect(text).toContain(
      String.raw`ExecStart="/bin/true" "/tmp/it's \"odd\" $$HOME 100%%h <&> back\\slash"`,
    )
    expect(text).toContain(
      String.raw`Environment="RECOLLECT_HOME=/tmp/it's \"odd\" $HOME 100%%h <&> back\\slash"`,
    )
    if (!canVerify) return
    const file = join(temporary('units'), `${UNIT}.service`)
    writeFileSync(file, text)
    expect(verify(file)).toMatchObject({ status: 0, stderr: '' })
  })
})

describe('a launchd agent', () => {
  it.each(EVERY)('for %s is a property list with the command as it is', (every) => {
    const text = launchdAgent(job({ every, command: ['/usr/bin/node', ODD], env: { RECOLLECT_HOME: ODD } }))
    const read = 'import plistlib,sys,json; print(json.dumps(plistlib.loads(sys.stdin.buffer.read())))'
    const { status, stdout } = spawnSync('python3', ['-c', read], { input: text, encoding: 'utf8' })
    if (status === null) return
    const agent = JSON.parse(stdout) as Record<string, unknown>
    expect(agent).toMatchObject({
      ProgramArguments: ['/usr/bin/node', ODD],
      EnvironmentVariables: { RECOLLECT_HOME: ODD },
    })
    expect('StartInterval' in agent !== 'StartCalendarInterval' in agent).toBe(true)
  })
})

describe('a line of a crontab', () => {
  it('is run by a shell with the command as it is', () => {
    const home = temporary('cron')
    const script = join(home, `it's 100% $odd.mjs`)
    writeFileSync(
      script,
      'import { writeFileSync } from "node:fs"; writeFileSync(process.argv[2], process.env.VALUE)',
    )
    const out = join(home, 'out')
    const line = cronLine(job({ command: [process.execPath, script, out], env: { VALUE: ODD } }))
    // As cron does: what stands after the five fields, with escaped percent signs made plain.
    const command = line.split(' ').slice(5).join(' ').replaceAll('\\%', '%')
    execFileSync('/bin/sh', ['-c', command])
    expect(readFileSync(out, 'utf8')).toBe(ODD)
  })

  it.each(['', '0 5 * * * mine\n', '# a comment\n\nMAILTO=me\n0 5 * * * mine', '\n\n'])(
    'goes in once and comes out: %j',
    (crontab) => {
      const once = withCronLine(crontab, cronLine(job()))
      expect(withCronLine(once, cronLine(job()))).toBe(once)
      expect(once.split('\n').filter((line) => line.includes('sweep'))).toHaveLength(1)
      expect(withCronLine(withCronLine(once, cronLine(job({ every: 'weekly' }))), undefined)).toBe(
        crontab === '' || crontab.endsWith('\n') ? crontab : `${crontab}\n`,
      )
    },
  )
})

describe('the job', () => {
  it('has the variables that move the memory or an agent, as paths that hold anywhere', () => {
    const env = {
      HOME: '/h',
      RECOLLECT_HOME: 'memory',
      HELIX_STORE_DB: '~/m.db',
      CODEX_HOME: '/c',
      OTHER: 'x',
    }
    expect(makeJob(env, 'daily', cliPath).env).toEqual({
      RECOLLECT_HOME: resolve('memory'),
      HELIX_STORE_DB: '~/m.db',
      CODEX_HOME: '/c',
    })
  })
})

describe('the scheduler of a machine', () => {
  const found = (programs: Record<string, string>, platform = 'linux') => {
    const bin = temporary('bin')
    for (const [name, body] of Object.entries(programs)) addStandIn(bin, name, body)
    return findScheduler({ PATH: bin }, platform)
  }
  const NO_SESSION = 'echo "Failed to connect to bus: No medium found" >&2; exit 1'

  it('is systemd where a session of the user answers, else cron, which may have no table yet', () => {
    expect(found({ systemctl: '', crontab: '' })).toEqual({ scheduler: 'systemd', missing: [] })
    expect(found({ systemctl: NO_SESSION, crontab: 'echo "no crontab for me" >&2; exit 1' })).toEqual({
      scheduler: 'cron',
      missing: ['no systemd user session (systemctl: Failed to connect to bus: No medium found)'],
    })
  })

  it('is none where nothing answers, or not to this person: each with its reason', () => {
    expect(found({})).toEqual({
      scheduler: undefined,
      missing: ['no systemd user session (systemctl: not found)', 'no cron (crontab: not found)'],
    })
    expect(
      found({ crontab: 'echo "You (me) are not allowed to use this program (crontab)" >&2; exit 1' }),
    ).toEqual({
      scheduler: undefined,
      missing: [
        'no systemd user session (systemctl: not found)',
        'no cron (crontab: You (me) are not allowed to use this program (crontab))',
      ],
    })
  })

  it('is launchd on macOS, or nothing', () => {
    expect(found({ launchctl: '' }, 'darwin')).toEqual({ scheduler: 'launchd', missing: [] })
    expect(found({ systemctl: '' }, 'darwin')).toEqual({
      scheduler: undefined,
      missing: ['no launchd (launchctl: not found)'],
    })
  })
})

const schedulers = (home: string): Record<string, string> => ({
  HOME: home,
  PATH: `${standInSchedulers(home)}:${process.env['PATH']}`,
})

describe('recollect schedule', () => {
  it('shows, installs, tells and removes a systemd timer', () => {
    const home = temporary('schedule')
    const env = { ...schedulers(home), RECOLLECT_HOME: join(home, 'memory') }
    const units = join(home, '.config', 'systemd', 'user')
    const plan = cli(env, 'schedule', 'install', '--dry-run')
    expect(plan.code).toBe(0)
    expect(plan.stdout).toContain('+OnCalendar=daily')
    expect(plan.stdout).toContain('would run systemctl --user enable --now recollect-sweep.timer')
    expect(existsSync(units)).toBe(false)

    expect(cli(env, 'schedule', 'install', '--every', 'hourly').code).toBe(0)
    expect(readFileSync(join(units, `${UNIT}.timer`), 'utf8')).toContain('OnCalendar=hourly')
    expect(readFileSync(join(units, `${UNIT}.service`), 'utf8')).toContain(
      `"RECOLLECT_HOME=${join(home, 'memory')}"`,
    )
    const ran = readFileSync(join(home, 'log'), 'utf8')
    expect(ran).toContain(
      'systemctl --user daemon-reload\nsystemctl --user enable --now recollect-sweep.timer',
    )
    expect(cli(env, 'schedule', 'install', '--every', 'hourly').stdout).toContain('nothing to do')
    expect(JSON.parse(cli(env, 'schedule', 'status', '--json').stdout)).toMatchObject({
      schedules: [{ scheduler: 'systemd', problem: null }],
      last_full_sweep_at: null,
    })
    expect(cli(env, 'schedule', 'remove').code).toBe(0)
    expect(existsSync(join(units, `${UNIT}.timer`))).toBe(false)
    expect(readFileSync(join(home, 'log'), 'utf8')).toContain('disable --now recollect-sweep.timer')
    expect(cli(env, 'schedule', 'status').stdout).toContain('nothing is scheduled')
  })

  it('keeps every other line of a crontab, and says when the program of ours is gone', () => {
    const home = temporary('schedule')
    const env = schedulers(home)
    writeFileSync(join(home, 'crontab'), '# mine\n0 5 * * * mine\n')
    expect(cli(env, 'schedule', 'install', '--with', 'cron', '--every', '15m').code).toBe(0)
    const installed = readFileSync(join(home, 'crontab'), 'utf8')
    expect(installed).toMatch(
      /^# mine\n0 5 \* \* \* mine\n\*\/15 \* \* \* \* nice -n 10 .*sweep' >.* # recollect schedule\n$/,
    )
    writeFileSync(join(home, 'crontab'), installed.replaceAll('cli.cjs', 'gone/cli.cjs'))
    const status = cli(env, 'schedule', 'status')
    expect([status.code, status.stdout.includes('gone/cli.cjs is gone')]).toEqual([1, true])
    expect(cli(env, 'schedule', 'remove').code).toBe(0)
    expect(readFileSync(join(home, 'crontab'), 'utf8')).toBe('# mine\n0 5 * * * mine\n')
  })

  it('says how a crontab failed that says nothing itself, and leaves it alone', () => {
    const home = temporary('schedule')
    const env = schedulers(home)
    writeFileSync(join(home, 'bin', 'crontab'), '#!/bin/sh\nexit 3\n')
    const { code, stderr } = cli(env, 'schedule', 'install', '--with', 'cron')
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/crontab: exit code 3[\s\S]+where: crontab -l\ntry: /),
    ])
    expect(existsSync(join(home, 'crontab'))).toBe(false)
  })

  it('works with the real crontab', ({ skip }) => {
    const home = temporary('schedule')
    mkdirSync(join(home, 'tabs'))
    const tabs = '/var/spool/cron/crontabs'
    // The real program writes to one place only: in a mount namespace of our own, that place is ours.
    const own = ['-m', 'sh', '-c', `mount --bind '${join(home, 'tabs')}' ${tabs} && exec "$@"`, 'sh']
    const inside = (...command: string[]): { status: number | null; stdout: string } =>
      spawnSync('unshare', [...own, ...command], {
        env: { HOME: home, PATH: process.env['PATH'] },
        encoding: 'utf8',
      })
    skip(!existsSync(tabs) || inside('sh', '-c', 'command -v crontab').status !== 0, 'no cron, or not root')
    const recollect = (...words: string[]): number | null =>
      inside(process.execPath, cliPath, 'schedule', ...words, '--with', 'cron').status
    expect(recollect('install')).toBe(0)
    expect(inside('crontab', '-l').stdout).toContain('# recollect schedule')
    expect(recollect('remove')).toBe(0)
    expect(inside('crontab', '-l').stdout).toBe('')
  })

  it('refuses what it does not know, and says what is missing', () => {
    const home = temporary('schedule')
    expect(cli({ HOME: home }, 'schedule', 'install', '--every', 'dayly').stderr).toContain(
      'did you mean daily?',
    )
    const none = cli({ HOME: home, PATH: home }, 'schedule', 'install')
    expect(none.code).toBe(1)
    expect(none.stderr).toContain(
      'no systemd user session (systemctl: not found), no cron (crontab: not found)',
    )
  })
})
