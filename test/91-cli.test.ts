// The command line itself: what it refuses and how, how sessions are named, colour, widths, errors as documents.
import { spawnSync } from 'node:child_process'
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FLAVORS, flavorNamed } from '../src/adapters/flavors.ts'
import { ADAPTERS } from '../src/adapters/index.ts'
import { inLocale, isUtf8 } from '../src/cli/colour.ts'
import { wantsJson } from '../src/cli/exit.ts'
import { formatAge, formatBytes, formatCount, formatDuration } from '../src/cli/format.ts'
import { everyCommand } from '../src/cli/help.ts'
import { tableLines } from '../src/cli/table.ts'
import { cut, fold, harmless, widthOf } from '../src/cli/text.ts'
import { resolveEvent, resolveSession } from '../src/query/ids.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { isHere } from './setup/programs.ts'
import { cli, cliPath, World } from './setup/sweeping.ts'

// The bundler puts the version in; here nobody asks for it.
Object.assign(globalThis, { VERSION: '0.0.0' })
const { buildProgram } = await import('../src/cli/program.ts')
const nameOf = (command: Command): string =>
  command.parent ? `${nameOf(command.parent)} ${command.name()}` : command.name()
const commands = everyCommand(buildProgram())
const isHidden = (command: Command): boolean => (command as Command & { _hidden?: boolean })._hidden ?? false
const leaves = commands.filter(
  (command) => command.commands.length === 0 && command.name() !== 'help' && !isHidden(command),
)

let world: World
beforeAll(async () => {
  world = new World()
  const claude = unpackAgent('claude')
  for (const scenario of ['qa', 'tools', 'fork'])
    cpSync(join(claude, scenario), world.home, { recursive: true })
  cpSync(join(unpackAgent('codex'), 'tools'), world.home, { recursive: true })
  await world.sweep()
})
afterAll(() => world.remove())

const inHelp = (...names: string[]): string => cli({ COLUMNS: '80' }, ...names.slice(1), '--help').stdout

describe('the help', () => {
  it('has every command in a group', () => {
    const listed = inHelp('recollect')
    expect(listed).not.toMatch(/^Commands:/m)
    for (const command of buildProgram().commands.filter((one) => !isHidden(one)))
      expect(listed).toMatch(new RegExp(`^ {2}${command.name()} `, 'm'))
  })

  it('is the same where only the part of a command is declared', () => {
    const whole = buildProgram()
    for (const command of whole.commands) {
      const part = buildProgram(command.name())
      const alone = part.commands.find((one) => one.name() === command.name())
      expect(alone?.helpInformation(), command.name()).toBe(command.helpInformation())
      const isOfAll = ['completion', 'complete', 'man'].includes(command.name())
      expect(part.commands.length < whole.commands.length, command.name()).toBe(!isOfAll)
    }
  })

  it.each(leaves.map((command) => [nameOf(command), command] as const))(
    'of %s has a description, examples and fits 80 columns',
    (name, command) => {
      const help = inHelp(...name.split(' '))
      expect(command.description()).not.toBe('')
      expect(help).toMatch(/^Examples?:$/m)
      expect(help).toContain(`$ `)
      expect(help.split('\n').filter((line) => widthOf(line) > 80)).toEqual([])
      for (const option of command.options) expect(option.description, `${name} ${option.flags}`).not.toBe('')
    },
  )
})

it.each(['hooks', 'mcp', 'schedule'])('what %s install did, uninstall and remove undo', (command) => {
  const inHelp = (word: string): string => cli(world.env, command, word, '--help').stdout
  expect(inHelp('remove')).toContain('--dry-run')
  expect(inHelp('uninstall')).toBe(inHelp('remove'))
})

describe('what is not understood', () => {
  it.each([
    [['serch', 'x'], 'unknown command serch', 'did you mean search?'],
    [['--color', 'never', 'shw'], 'unknown command shw', 'did you mean show?'],
    [['qqqqqqq'], 'unknown command qqqqqqq', 'recollect --help lists the commands'],
    [['sweep', '--flavr', 'x'], "unknown option '--flavr'", 'did you mean --flavor?'],
    [['--jsn'], "unknown option '--jsn'", 'did you mean --json?'],
    [['record', 'turnz'], "unknown command 'turnz'", 'did you mean turns?'],
    [['sweep', '--flavor', 'claud'], 'no flavor claud', 'did you mean claude? one of'],
    [['sessions', '--agent', 'claud'], 'no flavor claud', 'did you mean claude? one of'],
    [['sessions', '--flavor', 'claud'], 'no flavor claud', 'did you mean claude? one of'],
    [['usage', 'moth'], 'no usage by moth', 'did you mean month? one of'],
    [['usage', '--flavor', 'x'], 'no flavor x', 'one of'],
    [['show', '@last', '--kind', 'eror'], 'no kind eror', 'did you mean error? one of'],
    [
      ['show', '@last', '--color', 'alwys'],
      "argument 'alwys' is invalid",
      'did you mean always? one of auto',
    ],
    [['show', '@first'], '@first names no session', '@last is the newest session'],
    [['show'], "missing required argument 'id'", 'recollect show --help'],
    [['verify', 'x'], "too many arguments for 'verify'", 'recollect verify --help'],
    [['sessions', '--limit', ''], 'is no count', 'a whole number'],
    [['sessions', '--since', 'someday'], 'someday is no time', 'a date such as'],
  ] as [string[], string, string][])('%j is refused with exit 2 and a way out', (args, message, hint) => {
    const result = cli(world.env, ...args)
    expect([result.code, result.stdout]).toEqual([2, ''])
    expect(result.stderr).toMatch(/^error: .* \[USAGE\]$/m)
    expect(result.stderr).toContain(message)
    expect(result.stderr).toContain(`try: ${hint}`)
  })

  it.each([
    [['serch', '--json'], 2, 'USAGE'],
    [['sweep', '--nonsense', '--json'], 2, 'USAGE'],
    [['show', 'nothing-like-it', '--json'], 1, 'NOT_FOUND'],
    [['digest', 'nothing-like-it', '--json'], 1, 'NOT_FOUND'],
  ] as [string[], number, string][])('%j is told as one document on stdout', (args, exit, code) => {
    const result = cli(world.env, ...args)
    const { error } = JSON.parse(result.stdout) as { error: Record<string, string> }
    expect([result.code, result.stderr, error['code']]).toEqual([exit, '', code])
    expect(Object.keys(error).sort()).toEqual(['code', 'hint', 'message', 'where'])
  })

  it('is a document only where one is asked for', () => {
    expect(wantsJson(['show', 'x', '--json'])).toBe(true)
    expect(wantsJson(['show', 'x', '--format', 'json'])).toBe(true)
    expect(wantsJson(['search', '--', '--json'])).toBe(false)
    expect(wantsJson(['json'])).toBe(false)
  })
})

describe('a session', () => {
  const uids = (): string[] =>
    world.read((handle) =>
      (
        handle.memory
          .prepare(
            'SELECT session_uid FROM sessions WHERE event_count > 0 ORDER BY ended_at DESC, session_uid',
          )
          .all() as unknown as { session_uid: string }[]
      ).map((row) => row.session_uid),
    )

  it('is named by uid, id, unique prefix, @last and @last~N', () => {
    const all = uids()
    world.read((handle) => {
      for (const [at, uid] of all.entries()) {
        const native = uid.slice(uid.indexOf(':') + 1)
        for (const typed of [
          uid,
          native,
          native.slice(0, 20),
          uid.slice(0, 24),
          `@last~${at}`,
          `${native}#7`,
        ])
          expect(resolveSession(handle, typed), typed).toBe(uid)
        expect(resolveEvent(handle, `${uid}#12`)).toEqual({ uid, seq: 12 })
      }
      expect(resolveSession(handle, '@last')).toBe(all[0])
      expect(resolveEvent(handle, '@last')).toEqual({ uid: all[0] })
    })
  })

  it('that several fit is not guessed: they are listed', () => {
    world.read((handle) => {
      expect(() => resolveSession(handle, 'claude:')).toThrow(
        expect.objectContaining({ code: 'AMBIGUOUS', hint: expect.stringContaining(`  ${uids()[1]}`) }),
      )
      expect(() => resolveSession(handle, '')).toThrow(expect.objectContaining({ code: 'USAGE' }))
      expect(() => resolveSession(handle, '@last~999')).toThrow(
        expect.objectContaining({ code: 'NOT_FOUND' }),
      )
    })
    expect(cli(world.env, 'digest', 'claude:').code).toBe(2)
  })

  it.each(['show', 'digest', 'env', 'pin', 'unpin'])(
    'is found by %s through @last~1 and ID#SEQ',
    (command) => {
      const uid = uids()[1] as string
      expect(cli(world.env, command, '@last~1')).toMatchObject({ code: 0 })
      expect(cli(world.env, command, `${uid}#1`)).toMatchObject({ code: 0 })
    },
  )
})

describe('colour', () => {
  const coloured = (env: Record<string, string>, ...args: string[]): boolean =>
    cli({ ...world.env, ...env }, ...args).stdout.includes('\x1b[')

  it.each([
    [{}, [], false],
    [{ FORCE_COLOR: '1' }, [], true],
    [{ FORCE_COLOR: '0' }, [], false],
    [{ FORCE_COLOR: '1', NO_COLOR: '1' }, [], true],
    [{ CLICOLOR_FORCE: '1' }, [], true],
    [{ CLICOLOR_FORCE: '1', NO_COLOR: '1' }, [], false],
    [{ NO_COLOR: '1' }, ['--color', 'always'], true],
    [{ FORCE_COLOR: '1' }, ['--color=never'], false],
  ] as [Record<string, string>, string[], boolean][])('of %j with %j: %s', (env, args, expected) => {
    expect(coloured(env, 'usage', ...args)).toBe(expected)
    expect(coloured(env, ...args, 'usage')).toBe(expected)
  })

  it.skipIf(!isHere('script'))('on a terminal (script) depends on TERM', () => {
    const onTerminal = (term: string): boolean =>
      spawnSync('script', ['-qec', `"${process.execPath}" "${cliPath}" usage`, '/dev/null'], {
        env: { PATH: process.env['PATH'] ?? '', ...world.env, TERM: term },
        encoding: 'utf8',
      }).stdout.includes('\x1b[')
    expect([onTerminal('xterm-256color'), onTerminal('dumb')]).toEqual([true, false])
  })
})

describe('text', () => {
  it('is as wide as a terminal shows it', () => {
    expect(
      ['abc', 'Grüße', '世界', 'é', '👩‍👩‍👧‍👦', '🏳️‍🌈', '한국어', '\x1b[1mbold\x1b[22m', '…'].map(widthOf),
    ).toEqual([3, 5, 4, 1, 2, 2, 6, 4, 1])
  })

  it('is cut and folded to a width, never inside a letter', () => {
    expect(cut('世界世界', 5)).toBe('世界…')
    expect(cut('👩‍👩‍👧‍👦 family', 4)).toBe('👩‍👩‍👧‍👦 …')
    expect(cut('short', 5)).toBe('short')
    expect(fold('the quick brown fox', 10)).toEqual(['the quick', 'brown fox'])
    expect(fold('x'.repeat(25), 10)).toEqual(['x'.repeat(10), 'x'.repeat(10), 'x'.repeat(5)])
    for (const line of fold('Grüße 世界世界世界世界 '.repeat(20), 17))
      expect(widthOf(line)).toBeLessThanOrEqual(17)
  })

  it('of strangers does nothing to the terminal', () => {
    expect(harmless('a\x1b[31mred\x1b[0m\x1b]0;title\x07\u0007b\u202ec\r\nd\te')).toBe('aredbc\nd\te')
    expect(cli(world.env, 'show', 'x\x1b[2J').stderr).not.toContain('\x1b')
  })

  it('is ASCII where the locale is', () => {
    expect([
      isUtf8({}),
      isUtf8({ LANG: 'C' }),
      isUtf8({ LANG: 'de_DE.UTF-8' }),
      isUtf8({ LC_ALL: 'C.utf8' }),
    ]).toEqual([false, false, true, true])
    expect(isUtf8({ LC_ALL: 'C', LANG: 'en_US.UTF-8' })).toBe(false)
    const before = process.env['LC_ALL']
    process.env['LC_ALL'] = 'C'
    expect(inLocale('▸ a … b × 3 ██░░ ─ Grüße')).toBe('> a ~ b x 3 ##.. - Grüße')
    if (before === undefined) delete process.env['LC_ALL']
    else process.env['LC_ALL'] = before
  })
})

describe('a table', () => {
  const rows = [
    { id: 'claude:0123456789', name: 'the quick brown fox', count: 5 },
    { id: 'codex:01', name: '世界', count: 1234 },
  ]
  const columns = [
    { title: 'ID', cell: (row: (typeof rows)[number]) => row.id, least: 8, isId: true },
    { title: 'NAME', cell: (row: (typeof rows)[number]) => row.name, least: 6 },
    { title: 'N', cell: (row: (typeof rows)[number]) => String(row.count), right: true, optional: 1 },
  ]

  it('uses the width it has, cuts what may be cut and leaves out the least important', () => {
    expect(tableLines(rows, columns, 80)).toEqual([
      'ID                 NAME                    N',
      'claude:0123456789  the quick brown fox     5',
      'codex:01           世界                 1234',
    ])
    expect(tableLines(rows, columns, 30)).toEqual([
      'ID           NAME            N',
      'claude:0123  the quick …     5',
      'codex:01     世界         1234',
    ])
    expect(tableLines(rows, columns, 16)).toEqual(['ID        NAME', 'claude:0  the q…', 'codex:01  世界'])
  })
})

describe('numbers', () => {
  it('are short', () => {
    expect([0, 999, 1000, 999_950, 1_234_567].map(formatCount)).toEqual(['0', '999', '1.0K', '1.0M', '1.2M'])
    expect([0, 999, 1_500_000].map(formatBytes)).toEqual(['0 B', '999 B', '1.5 MB'])
    expect([0, 59_940, 65_000, 4_860_000, 100_000_000].map(formatDuration)).toEqual([
      '0ms',
      '59.9s',
      '1m05s',
      '1h21m',
      '1d03h',
    ])
    expect([0, 240, 7200, 200_000].map((s) => formatAge(0, s * 1000))).toEqual([
      'just now',
      '4 min ago',
      '2 h ago',
      '2 d ago',
    ])
  })
})

describe('the start', () => {
  it('knows the names of the adapters without loading them', () => {
    expect(ADAPTERS.map((adapter) => adapter.flavor)).toEqual([...FLAVORS])
  })

  it('takes an agent by any of its names, of which no two are the same', () => {
    const names = ADAPTERS.flatMap(({ flavor, aliases = [] }) => [flavor, ...aliases])
    expect(new Set(names).size).toBe(names.length)
    for (const { flavor, aliases = [] } of ADAPTERS)
      for (const name of aliases) expect([name, flavorNamed(name)]).toEqual([name, flavor])
    expect(['Claude Code', 'GitHub Copilot', 'OpenCode'].map(flavorNamed)).toEqual([
      'claude',
      'copilot',
      'opencode',
    ])
  })
})

describe('a reader that goes away', () => {
  it.each(['sessions', 'show @last', 'usage', 'patterns', '--help', 'config'])('ends %s well', (command) => {
    const { status, stderr } = spawnSync(
      '/bin/bash',
      ['-c', `set -o pipefail; "${process.execPath}" "${cliPath}" ${command} | head -c 1 >/dev/null`],
      { env: { PATH: process.env['PATH'] ?? '', ...world.env }, encoding: 'utf8' },
    )
    expect([status, stderr]).toEqual([0, ''])
  })
})

describe('a machine without anything', () => {
  it.each(['sessions', 'show @last', 'search x', 'digest @last', 'usage', 'patterns', 'verify', 'env @last'])(
    '%s says where it looked and what to do next',
    (command) => {
      const empty = new World()
      rmSync(empty.memory, { recursive: true })
      const { code, stdout, stderr } = cli(empty.env, ...command.split(' '))
      expect([code, stdout]).toEqual([1, ''])
      // All of them in one sentence; each place is named where it is asked for.
      expect(stderr.split('\n').length).toBeLessThan(10)
      const listed = JSON.parse(cli(empty.env, 'sweep', '--dry-run', '--json').stdout) as {
        roots: { flavor: string; path: string }[]
      }
      const said = stderr.replace(/\s+/g, ' ')
      for (const { flavor, roots, claim } of ADAPTERS) {
        // A root that is itself a file of the agent is no place to look in, unless it holds all of its sessions.
        const places = roots(empty.env).filter((root) => claim(root, true)?.isDatabase ?? !claim(root, true))
        if (places.length > 0) expect(said).toMatch(new RegExp(`[ ,]${flavor}[, ]`))
        for (const place of places) expect(listed.roots.map(({ path }) => path)).toContain(place)
      }
      expect(stderr).toContain('recollect demo')
      empty.remove()
    },
  )
})
