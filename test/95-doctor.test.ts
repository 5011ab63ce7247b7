// Doctor: each thing that can go wrong is made to go wrong, and is found, with what mends it.
import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { FINDING_IDS, type Finding, type FindingId } from '../src/doctor/finding.ts'
import { examine } from '../src/doctor/index.ts'
import { checkNode } from '../src/doctor/machine.ts'
import { tryLock } from '../src/files/lock.ts'
import { DAY } from '../src/model.ts'
import { SESSION, user, write } from './setup/claude.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { isHere } from './setup/programs.ts'
import { cli, cliPath, temporary, World } from './setup/sweeping.ts'

let swept: World
let world: World
let bin: string
beforeAll(async () => {
  swept = new World()
  for (const client of ['claude', 'codex', 'grok'])
    cpSync(join(unpackAgent(client), 'tools'), swept.home, { recursive: true })
  await swept.sweep()
})
beforeEach(() => {
  world = new World()
  rmSync(world.memory, { recursive: true })
  cpSync(swept.home, world.home, { recursive: true, preserveTimestamps: true })
  cpSync(swept.memory, world.memory, { recursive: true })
  chmodSync(world.memory, 0o700)
  // Neither this machine's agents nor its crontab.
  bin = join(world.base, 'bin')
  mkdirSync(bin)
  world.env['PATH'] = bin
})

const found = async (id: FindingId, now = Date.now(), isDeep = false): Promise<Finding[]> =>
  (await examine({ env: world.env, now, isDeep })).filter((one) => one.id === id)
const severities = async (id: FindingId, now?: number): Promise<string[]> =>
  (await found(id, now)).map((one) => one.severity)
const program = (name: string, script: string): void =>
  writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
/** A process that has ended and was not asked for yet is still listed. */
const isRunning = (pid: number): boolean => {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}
const transcript = (): string =>
  write(join(world.home, '.claude', 'projects', '-w', `${SESSION}.jsonl`), [user('a', null, 'hello')])

describe('a healthy memory', () => {
  it('has no errors, says what is here, and exits with 0', () => {
    const { code, stdout } = cli(world.env, 'doctor', '--json')
    const { findings, counts } = JSON.parse(stdout) as { findings: Finding[]; counts: Record<string, number> }
    expect([code, counts['error']]).toEqual([0, 0])
    const good = findings.filter((one) => one.severity === 'ok').map((one) => one.text)
    expect(good.join('\n')).toMatch(/Claude Code 2\.1\.325: 1 session /)
    expect(good.join('\n')).toMatch(/Codex 0\.166\.0: 1 session /)
    expect(Object.keys(findings[0] as Finding).sort()).toEqual(['fix', 'id', 'severity', 'subject', 'text'])
    for (const one of findings)
      if (one.severity === 'warning' || one.severity === 'error')
        expect([one.id, one.fix]).not.toContain(null)
  })

  it('is told in 80 columns', () => {
    const { stdout } = cli({ ...world.env, COLUMNS: '80', LANG: 'C.UTF-8' }, 'doctor')
    expect(stdout).toMatch(/^✔ memory\.integrity +opens, 3 sessions/m)
    const files = /\/[^ ]{40,}/
    expect(stdout.split('\n').filter((line) => line.length > 80 && !files.test(line))).toEqual([])
  })
})

describe('the machine', () => {
  it('runs a Node that is old, out of support, or fine', () => {
    const at = (version: string, day = '2026-11-15'): string =>
      checkNode(version, 'node', Date.parse(day)).severity
    expect([at('v18.20.0'), at('v20.18.9'), at('v20.19.0'), at('v22.1.0'), at('v26.0.0')]).toEqual([
      'error',
      'error',
      'warning',
      'ok',
      'ok',
    ])
    expect(at('v20.19.0', '2026-04-01')).toBe('ok')
  })

  it('lets others look into the memory', async () => {
    chmodSync(world.memory, 0o755)
    expect((await found('home.access'))[0]).toMatchObject({
      severity: 'warning',
      fix: `chmod 700 '${world.memory}'`,
    })
  })

  it('has a configuration that is not understood', () => {
    world.configure('[store]\ndb_pth = "x"\n')
    const { code, stdout } = cli(world.env, 'doctor', '--json')
    const { findings } = JSON.parse(stdout) as { findings: Finding[] }
    expect(code).toBe(1)
    expect(findings.at(-1)).toMatchObject({ id: 'config.invalid', fix: 'did you mean store.db_path?' })
  })

  it.each([
    ['[sources.codecs]\nroots = ["/x"]\n', 'did you mean codex?'],
    ['[prices.m]\ninput = 1\n', 'docs/usage.md has an example'],
  ])('has a setting that only those who need it understand: %j', async (toml, fix) => {
    world.configure(toml)
    expect(await found('config.invalid')).toMatchObject([{ severity: 'error', fix }])
    const { code, stderr } = cli(world.env, 'config')
    expect([code, stderr]).toEqual([2, expect.stringContaining(fix)])
  })
})

describe('the memory', () => {
  it('is not there yet, with agents and without', async () => {
    rmSync(world.memory, { recursive: true })
    expect(await severities('memory.missing')).toEqual(['warning'])
    expect(await severities('agent.found')).toEqual(['warning', 'warning', 'warning'])
    const nobody = temporary('nobody')
    const { code, stdout } = cli({ HOME: nobody }, 'doctor', '--json')
    expect(code).toBe(0)
    expect(stdout).toMatch(/looked in \d+ places \(recollect sweep --dry-run --json names each\)/)
    expect(stdout).toContain('"fix": "recollect demo"')
  })

  it('is damaged: seen at once in the small database, with --deep in a payload', async () => {
    const [segment] = readdirSync(join(world.memory, 'cache', 'blobs'), {
      recursive: true,
      withFileTypes: true,
    }).filter((entry) => entry.isFile())
    const path = join(segment?.parentPath as string, segment?.name as string)
    const bytes = readFileSync(path)
    bytes.fill(0, Math.floor(bytes.length / 2))
    writeFileSync(path, bytes)
    expect(await severities('memory.integrity')).toEqual(['ok'])
    expect((await found('memory.integrity', Date.now(), true)).map((one) => one.severity)).toContain('error')
    const database = join(world.memory, 'memory.db')
    const writer = new DatabaseSync(database)
    writer.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    writer.close()
    const pages = statSync(database).size / 8192
    const fd = openSync(database, 'r+')
    // The first page holds the schema: without it the file would not even open.
    for (let page = 1; page < pages; page++) writeSync(fd, Buffer.alloc(4000, 0xaa), 0, 4000, page * 8192)
    closeSync(fd)
    const { code, stdout } = cli(world.env, 'doctor', '--json')
    expect(code).toBe(1)
    expect(stdout).toContain('"id": "memory.integrity"')
  })

  it('was made by a newer version, or by an older one', async () => {
    for (const [version, fix] of [
      [999, 'newer recollect'],
      [1, 'recollect sweep'],
    ] as const) {
      const database = new DatabaseSync(join(world.memory, 'memory.db'))
      database.exec(`PRAGMA user_version = ${version}`)
      database.close()
      expect(await found('memory.schema')).toMatchObject([
        { severity: 'error', fix: expect.stringContaining(fix) },
      ])
    }
  })

  it('is too large', async () => {
    world.configure(
      '[session_memory.retention]\nraw_soft_cap_bytes = "100kB"\nraw_hard_cap_bytes = "1GB"\ndistilled_cap_bytes = 1\n',
    )
    expect(await found('memory.size')).toMatchObject([
      { severity: 'warning', fix: 'recollect evict --dry-run, then recollect evict' },
    ])
    world.configure('[session_memory.retention]\nraw_soft_cap_bytes = 0\nraw_hard_cap_bytes = "10kB"\n')
    expect(await severities('memory.size')).toEqual(['error'])
  })

  it('has grown old, and so have the prices', async () => {
    expect(await severities('sweep.age', Date.now() + DAY)).toEqual(['ok'])
    expect(await severities('sweep.age', Date.now() + 8 * DAY)).toEqual(['warning'])
    expect(await severities('prices.age', Date.parse('2026-10-01'))).toEqual(['ok'])
    expect(await severities('prices.age', Date.parse('2027-10-01'))).toEqual(['warning'])
  })

  it('has hooks waiting', async () => {
    const line = { at: Date.now() - 7_200_000, event: 'Stop', session: 's', paths: [transcript()] }
    appendFileSync(join(world.memory, 'spool', 'hooks.jsonl'), `${JSON.stringify(line)}\n`)
    const spool = readdirSync(join(world.memory, 'spool'))
    expect(spool.length).toBeGreaterThan(0)
    const [pending] = await found('spool.pending')
    expect(pending).toMatchObject({ severity: 'warning', text: '1 pending, the oldest for 2 h' })
  })
})

describe('an agent', () => {
  it('deletes its transcripts: before they are read, or long after', async () => {
    const at = (days: number): Promise<string[]> => severities('agent.retention', Date.now() + days * DAY)
    expect([await at(1), await at(16), await at(27)]).toEqual([['ok'], ['warning'], ['error']])
    const settings = join(world.home, '.claude', 'settings.json')
    writeFileSync(settings, '{\n  // for ever\n  "cleanupPeriodDays": 3650,\n}')
    expect(await at(27)).toEqual(['ok'])
    writeFileSync(settings, '{"cleanupPeriodDays": 0}')
    expect((await found('agent.retention'))[0]).toMatchObject({
      severity: 'error',
      fix: 'recollect doctor --fix',
    })
    // What is no number of days is no setting.
    for (const value of ['1e400', '-1', '"7"', 'null', '[7]', '{}', 'NaN', 'true']) {
      writeFileSync(settings, `{"cleanupPeriodDays": ${value}}`)
      expect((await found('agent.retention'))[0]?.text).toContain('deletes transcripts after 30 d')
    }
  })

  it('has hooks that run, that are gone, or that it does not trust', async () => {
    const state = async (): Promise<string[]> =>
      (await found('hooks.state')).map((one) => `${one.subject} ${one.severity}`)
    expect(await state()).toEqual(['claude info', 'codex info', 'grok info'])
    expect(cli(world.env, 'hooks', 'install').code).toBe(0)
    expect(await state()).toEqual(['claude ok', 'codex warning', 'grok ok'])
    world.configure('[recall]\nhook = "on"\n')
    expect((await found('hooks.state'))[0]?.text).toContain('some are missing')
    world.configure('')
    const settings = join(world.home, '.claude', 'settings.json')
    const moved = readFileSync(settings, 'utf8').replaceAll('/recollect-hook.cjs', '/gone/recollect-hook.cjs')
    writeFileSync(settings, moved)
    expect((await found('hooks.state'))[0]).toMatchObject({
      severity: 'warning',
      text: expect.stringContaining('is gone'),
      fix: 'recollect hooks install --agent claude',
    })
  })

  it('knows the MCP server, another one, or none; where its program is not here nobody can tell', async () => {
    const state = async (): Promise<string[]> =>
      (await found('mcp.state')).map((one) => `${one.subject} ${one.severity}`)
    expect(await state()).toEqual([])
    const body = readFileSync(join(import.meta.dirname, 'programs', 'fake-agent.mjs'), 'utf8')
    writeFileSync(join(bin, 'package.json'), '{"type":"module"}')
    for (const name of ['claude', 'codex'])
      writeFileSync(join(bin, name), `#!${process.execPath}\n${body}`, { mode: 0o755 })
    expect(await state()).toEqual(['claude info', 'codex info'])
    expect(cli(world.env, 'mcp', 'install', '--agent', 'claude').code).toBe(0)
    const old = { command: '/old/node', args: ['/old/cli.js', 'mcp'], options: [] }
    writeFileSync(join(bin, 'codex.json'), JSON.stringify({ recollect: old }))
    const { findings } = JSON.parse(cli(world.env, 'doctor', '--json').stdout) as { findings: Finding[] }
    expect(findings.filter((one) => one.id === 'mcp.state')).toMatchObject([
      { subject: 'claude', severity: 'ok' },
      { subject: 'codex', severity: 'warning', fix: 'recollect mcp install --agent codex' },
    ])
  })

  it('is asked while others are, so that all together take as long as the slowest', async () => {
    // Each answers once the other one was started: one after another, neither ever would.
    const others = { claude: 'codex', codex: 'claude' }
    for (const [name, other] of Object.entries(others))
      program(
        name,
        `: > '${bin}/${name}.up'; until [ -e '${bin}/${other}.up' ]; do /bin/sleep 0.05; done; exit 1`,
      )
    const waits: string[] = []
    const findings = await examine({
      env: world.env,
      patienceMs: 10_000,
      onWait: (programs) => waits.push(programs.join(' ')),
    })
    expect(findings.filter((one) => one.id === 'mcp.state')).toMatchObject([
      { subject: 'claude', severity: 'info' },
      { subject: 'codex', severity: 'info' },
    ])
    expect([waits[0], waits.at(-1)]).toEqual(['claude codex grok', ''])
  })

  it('is not waited for without end, whatever it has started', async () => {
    program(
      'claude',
      `/bin/sleep 300 & echo $! > '${bin}/started.new'; /bin/mv '${bin}/started.new' '${bin}/started'; wait`,
    )
    // A busy machine may take longer than that to start it at all.
    for (let patienceMs = 300; !existsSync(join(bin, 'started')); patienceMs *= 2) {
      const findings = await examine({ env: world.env, patienceMs })
      expect(findings.filter((one) => one.id === 'mcp.state')).toMatchObject([
        {
          severity: 'warning',
          fix: 'claude mcp get recollect',
          text: expect.stringContaining(`within ${patienceMs / 1000} s`),
        },
      ])
    }
    const started = Number(readFileSync(join(bin, 'started'), 'utf8'))
    await vi.waitFor(() => expect(isRunning(started)).toBe(false), { timeout: 60_000 })
  })

  it.skipIf(!isHere('script'))(
    'is named on a terminal (script) while it is waited for, and nowhere else',
    () => {
      program('claude', '/bin/sleep 1.5; exit 1')
      const command = `${process.execPath} ${cliPath} doctor`
      const seen = execFileSync('script', ['-qec', command, '/dev/null'], {
        env: { ...world.env, PATH: `${bin}:/usr/bin:/bin`, TERM: 'xterm' },
        encoding: 'utf8',
      })
      expect(seen).toContain('waiting for claude')
      expect(cli(world.env, 'doctor').stderr).toBe('')
    },
  )

  it('is read by itself: through hooks, a schedule or a watcher, or not at all', async () => {
    const way = async (): Promise<string> => {
      const [one] = await found('capture.automatic')
      return `${one?.severity}: ${one?.text}`
    }
    expect(await way()).toMatch(/^warning: nothing reads sessions by itself/)
    expect(await found('schedule.state')).toMatchObject([{ severity: 'info', text: 'nothing is scheduled' }])
    const fd = openSync(join(world.memory, 'watch.lock'), 'w+')
    expect(tryLock(fd)).toBe(true)
    expect(await way()).toBe('ok: sessions are read through recollect watch')
    closeSync(fd)
    const tab = join(bin, 'tab')
    writeFileSync(
      join(bin, 'crontab'),
      `#!/bin/sh\ncase "$1" in -l) exec /bin/cat '${tab}';; *) exec /bin/cat > '${tab}';; esac\n`,
      {
        mode: 0o755,
      },
    )
    writeFileSync(tab, '')
    expect(cli(world.env, 'schedule', 'install', '--with', 'cron').code).toBe(0)
    expect(await way()).toBe('ok: sessions are read through a schedule (cron)')
    expect((await found('schedule.state'))[0]).toMatchObject({
      severity: 'ok',
      text: expect.stringMatching(/^cron, daily, last sweep (?:under )?\d+ min ago$/),
    })
    expect((await found('schedule.state', Date.now() + 5 * DAY))[0]).toMatchObject({
      severity: 'warning',
      text: expect.stringMatching(/does not seem to run/),
    })
    expect(cli(world.env, 'hooks', 'install').code).toBe(0)
    expect(await way()).toBe(
      'ok: sessions are read through hooks in Claude Code, Grok Build and a schedule (cron)',
    )
    writeFileSync(tab, readFileSync(tab, 'utf8').replaceAll('cli.cjs', 'gone/cli.cjs'))
    expect((await found('schedule.state'))[0]).toMatchObject({
      severity: 'warning',
      fix: 'recollect schedule install',
    })
  })

  it('has files that cannot be read', async () => {
    const path = transcript()
    symlinkSync(
      path,
      join(world.home, '.claude', 'projects', '-w', '99999999-9999-4999-8999-999999999999.jsonl'),
    )
    expect(await severities('source.unreadable')).toEqual(['warning'])
    const pipe = join(world.home, '.claude', 'projects', '-w', '88888888-8888-4888-8888-888888888888.jsonl')
    execFileSync('mkfifo', [pipe])
    expect(await severities('source.unreadable')).toEqual(['error', 'warning'])
  })

  it('writes what nobody has described, or what is no record at all', async () => {
    const path = transcript()
    const unknown = { ...user('b', 'a', 'x'), type: 'hologram' }
    appendFileSync(
      path,
      `${JSON.stringify(unknown)}\n${JSON.stringify({ ...unknown, uuid: 'c' })}\n{"half":\n`,
    )
    await world.sweep()
    expect(await found('source.drift')).toMatchObject([
      { severity: 'warning', subject: 'claude', text: expect.stringMatching(/hologram ×2 \(2\.1\.325\)/) },
    ])
    expect(await found('source.gaps')).toMatchObject([{ severity: 'warning', subject: 'claude' }])
  })
})

describe('docs/doctor.md', () => {
  it('names every id, and no other', () => {
    const documented = [...readFileSync('docs/doctor.md', 'utf8').matchAll(/^\| `([\w.]+)` \|/gm)].map(
      ([, id]) => id,
    )
    expect(documented).toEqual(Object.keys(FINDING_IDS))
  })
})
