// Values of options: whatever is impossible is refused with exit code 2 and a hint, in every command that takes such an
// option. An option that is not in the tables below fails the test.
import { createHash } from 'node:crypto'
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { type Command, CommanderError, type Option } from 'commander'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { EXIT, reportError } from '../src/cli/exit.ts'
import { everyCommand, refuseUnknownCommand, usageError } from '../src/cli/help.ts'
import { streamOf } from '../src/cli/streams.ts'
import { TimeZone } from '../src/query/timezone.ts'
import { parseDay, parseInstant, parseTime } from '../src/times.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { World } from './setup/sweeping.ts'

Object.assign(globalThis, { VERSION: '0.0.0' })
const { buildProgram } = await import('../src/cli/program.ts')

let world: World
let untouched: unknown
const before = { ...process.env }
beforeAll(async () => {
  world = new World()
  cpSync(join(unpackAgent('claude'), 'qa'), world.home, { recursive: true })
  await world.sweep()
  Object.assign(process.env, world.env)
  untouched = contentOf(world)
})
afterAll(() => {
  for (const name of Object.keys(world.env)) {
    if (before[name] === undefined) delete process.env[name]
    else process.env[name] = before[name]
  }
  world.remove()
})

/** Every file there is, and every row: readers may move rows from one file of SQLite's to another. */
function contentOf({ base, memory }: World): unknown {
  const files = readdirSync(base, { recursive: true, encoding: 'utf8' })
    .filter((name) => !/\.db(?:-wal|-shm)?$/.test(name) && statSync(join(base, name)).isFile())
    .map(
      (name) =>
        `${name} ${createHash('sha256')
          .update(readFileSync(join(base, name)))
          .digest('hex')}`,
    )
  const rows = ['memory.db', join('cache', 'cache.db')].flatMap((name) => {
    const database = new DatabaseSync(join(memory, name), { readOnly: true })
    const tables = database.prepare(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%'",
    )
    const all = (tables.all() as { name: string }[]).map((table) => [
      table.name,
      database.prepare(`SELECT * FROM "${table.name}"`).all(),
    ])
    database.close()
    return all
  })
  return { files: files.sort(), rows }
}

const TIMES = [
  '',
  'tomorrow',
  '1',
  '20',
  '2026-02-30',
  '2026-13-01',
  '2026-1-1',
  '2026-11-01T25:00',
  '-3d',
  '9e9d',
  '99999999d',
]
const COUNTS = ['', ' ', 'many', '1.5', '0x10', '1e3', '99999999999999999999']
const NAMES = ['', ' ']
const PORTS = [...COUNTS, '65536', '-1']
const CHOICES = ['', 'nonsense']

/** Impossible values, by option. */
const BAD: Record<string, readonly string[]> = {
  since: TIMES,
  until: TIMES,
  limit: [...COUNTS, '0'],
  around: COUNTS,
  port: PORTS,
  http: PORTS,
  week: ['2026-W54', '2026-W00', '2026-46', 'last', ''],
  month: ['2026-13', '2026-00', '11', ''],
  timezone: ['', 'Europe/Berln', 'GMT+99'],
  flavor: CHOICES,
  kind: [...CHOICES, 'error,', 'error,nonsense'],
  outcome: CHOICES,
  sort: CHOICES,
  format: CHOICES,
  agent: CHOICES,
  every: [...CHOICES, '5m'],
  with: CHOICES,
  to: CHOICES,
  color: CHOICES,
  repo: NAMES,
  branch: NAMES,
  domain: NAMES,
  model: NAMES,
  touched: NAMES,
  tool: NAMES,
  tag: NAMES,
  author: NAMES,
  endpoint: ['', 'nonsense', 'ftp://host', 'localhost:4318'],
  host: NAMES,
  dir: [''],
  from: ['', 'host', 'ssh:', 'ssh:-oProxyCommand=true', 'ssh:a b'],
  server: ['', 'nonsense', 'ftp://host'],
  out: [''],
  session: ['', '@first'],
  excludeSession: ['', '@first'],
  flush: CHOICES,
  maxLine: ['', 'huge', '-1', '1XB'],
  remove: COUNTS,
  bytes: [...COUNTS, '0', '10'],
  level: CHOICES,
  team: NAMES,
  person: NAMES,
  role: CHOICES,
  expires: ['', 'soon', '-3d', '9e9d'],
  keepDays: [...COUNTS, '-1'],
  lockTimeout: ['', 'soon', '-1s', '5 parsecs'],
}

/** What a command needs besides, by its name. */
const NEEDED: Record<string, readonly string[]> = {
  show: ['@last'],
  digest: ['@last'],
  env: ['@last'],
  pin: ['@last'],
  unpin: ['@last'],
  forget: ['@last'],
  decide: ['@last', 'text'],
  search: ['word'],
  handoff: ['@last'],
  note: ['@last'],
  recall: ['text'],
  team: ['shop'],
  completion: ['bash'],
}
/** The pipe checks its names as the formats do: test/35-record-cli.test.ts. */
const isPipe = (command: Command): boolean => command.parent?.name() === 'record'
const MORE: Record<string, Record<string, readonly string[]>> = {
  show: { around: ['@last#1'] },
  create: {
    team: ['--person', 'ada'],
    person: ['--team', 'shop'],
    role: ['--person', 'ada', '--team', 'shop'],
    expires: ['--person', 'ada', '--team', 'shop'],
  },
  person: { team: ['ada', '--role', 'lead'], role: ['ada', '--team', 'shop'] },
  export: { endpoint: ['--all', '--format', 'otlp'], out: ['--all'] },
  'serve reader': { team: ['grafana'] },
  'serve export': {
    team: ['--dir', 'lake'],
    dir: ['--team', 'shop'],
    since: ['--team', 'shop', '--dir', 'lake'],
    until: ['--team', 'shop', '--dir', 'lake'],
  },
}

const nameOf = (command: Command): string[] =>
  command.parent ? [...nameOf(command.parent), command.name()] : []
const leaves = everyCommand(buildProgram()).filter(
  (one) => one.commands.length === 0 && one.name() !== 'help' && !(one as { _hidden?: boolean })._hidden,
)
const takesValue = (option: Option): boolean => option.required || option.optional
const cases = leaves
  .filter((command) => !isPipe(command))
  .flatMap((command) => command.options.filter(takesValue).map((option) => [command, option] as const))

/** The exit code and what is said, without a process of its own. */
async function told(args: readonly string[]): Promise<{ code: number | undefined; text: string }> {
  const program = buildProgram()
  let text = ''
  const stderr = vi.spyOn(streamOf(2), 'write').mockImplementation((words) => {
    text += String(words)
    return true
  })
  const stdout = vi.spyOn(streamOf(1), 'write').mockImplementation(() => true)
  try {
    refuseUnknownCommand(program, args)
    await program.parseAsync(['node', 'recollect', ...args])
    return { code: 0, text }
  } catch (error) {
    const wrong = error instanceof CommanderError ? usageError(error, program) : error
    return { code: reportError(wrong), text }
  } finally {
    stderr.mockRestore()
    stdout.mockRestore()
  }
}

describe('a value', () => {
  it('of every option is in the table', () => {
    const unknown = cases.filter(([, option]) => !(option.attributeName() in BAD))
    expect(unknown.map(([command, option]) => `${nameOf(command).join(' ')} ${option.flags}`)).toEqual([])
  })

  it.each(
    cases.map(
      ([command, option]) => [`${nameOf(command).join(' ')} ${option.long}`, command, option] as const,
    ),
  )('of %s that is impossible is refused, with its place and a hint', async (_name, command, option) => {
    const taken: string[] = []
    for (const value of BAD[option.attributeName()] ?? []) {
      const more = MORE[nameOf(command).join(' ')] ?? MORE[command.name()]
      const needed = more?.[option.attributeName()] ?? NEEDED[command.name()] ?? []
      const { code, text } = await told([...nameOf(command), ...needed, `${option.long}=${value}`])
      const place = /^where: (.+)$/m.exec(text)?.[1] ?? ''
      // Another word for it.
      const long = option.long === '--agent' && /--flavor/.test(place) ? '--flavor' : (option.long as string)
      const isNamed = place.includes(long) || (value !== '' && place.includes(value))
      if (code !== EXIT.usage || !isNamed || !/^try: ./m.test(text))
        taken.push(`${option.long}=${value}: ${code} ${text}`)
    }
    expect(taken).toEqual([])
  })

  it('of the pipe is refused before anything is written', async () => {
    const turns = ['record', 'turns', '--base', join(world.base, 'b'), '--agent', 'a', '--session', 's']
    for (const name of ['flush', 'maxLine', 'lockTimeout'])
      for (const value of BAD[name] ?? []) {
        const flag = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
        expect((await told([...turns, `${flag}=${value}`])).code, `${flag}=${value}`).toBe(EXIT.usage)
      }
  })
})

/** Words that go with each argument of a command, as far as it needs them. */
const wordsOf = (command: Command): string[] =>
  command.registeredArguments.filter((one) => one.required).map((one) => ARGUMENTS[one.name()] ?? '@last')
const ARGUMENTS: Record<string, string> = { text: 'text', query: 'word', what: 'README.md', shell: 'bash' }

/** It is refused as a slip: with its place and a hint. */
async function expectRefused(args: readonly string[]): Promise<void> {
  const { code, text } = await told(args)
  expect([args.join(' '), code, text]).toEqual([
    args.join(' '),
    EXIT.usage,
    expect.stringMatching(/^try: ./m),
  ])
  expect(text).toMatch(/^where: ./m)
}

describe('every command', () => {
  const every = leaves.map((command) => [nameOf(command).join(' '), command] as const)

  it.each(every)('%s refuses an option that it does not have', async (_name, command) => {
    await expectRefused([
      ...nameOf(command),
      ...wordsOf(command),
      command.name() === 'search' ? '--limmit' : '--nonsense',
    ])
  })

  it.each(every.filter(([, one]) => one.registeredArguments.some(({ required }) => required)))(
    '%s needs its arguments',
    async (_name, command) => {
      await expectRefused(nameOf(command))
    },
  )

  it.each(every.filter(([, one]) => one.registeredArguments.every(({ variadic }) => !variadic)))(
    '%s refuses words that it has no use for',
    async (_name, command) => {
      const words = command.registeredArguments.map((one) => ARGUMENTS[one.name()] ?? '@last')
      await expectRefused([...nameOf(command), ...words, 'superfluous'])
    },
  )

  it.each(every.filter(([, one]) => one.registeredArguments[0]?.name() === 'id'))(
    '%s refuses what is no id',
    async (_name, command) => {
      const [, ...more] = command.registeredArguments.map((one) => ARGUMENTS[one.name()] ?? 'text')
      for (const id of ['', '@first', '@last~', '@last~x', '@', '@last#x'])
        await expectRefused([...nameOf(command), id, ...more])
    },
  )

  it.each(
    every.flatMap(([name, one]) =>
      one.options.flatMap((option) => (option.attributeName() === 'csv' ? [[name, one] as const] : [])),
    ),
  )('%s is told in one form', async (_name, command) => {
    await expectRefused([...nameOf(command), ...wordsOf(command), '--csv', '--json'])
  })

  it.each([
    ['decide', '@last', 'text', '--csv'],
    ['decide', '@last', '--author', 'me'],
    ['decide', '@last#1000000001', '--remove', '--tag', 'a'],
    ['note', '@last', 'text', '--csv'],
    ['note', '--remove', '1'],
    ['note', '@last', '--author', 'me'],
    ['tag', '@last', 'name', '--csv'],
    ['star', '@last', '--csv'],
    ['star', '--remove'],
    ['handoff', '@last', '--exec'],
    ['handoff', '@last', '--copy'],
    ['handoff', '@last', '--copy', '--json'],
    ['search', 'word', '--literal', '--regex'],
    ['search', '--regex', '('],
    ['search', '-not'],
    ['sessions', '--here', '--repo', '.'],
    ['sessions', '--repo', '/'],
    ['sessions', '--since', 'today', '--until', 'yesterday'],
    ['sessions', '--since', 'last mondy'],
    ['sessions', '--branch', 'no-such'],
    ['search', 'word', '--model', 'no-such'],
    ['recall', ''],
    ['recall', 'text', '--bytes', '199'],
    ['recall', 'text', '--bytes', '16001'],
    ['blame', ''],
    ['usage', 'blocks', '--repo', 'x'],
    ['usage', 'limits', '--model', 'x'],
    ['usage', 'nonsense'],
    ['statusline', 'superfluous'],
    ['title', '@last', ''],
    ['title', '@last', ' ', '\t'],
    ['title', '@last', 'x'.repeat(201)],
    ['title', '@last', 'a\0b'],
    ['tag', '@last', ''],
    ['tag', '@last', 'two words'],
    ['tag', '@last', 'a,b'],
    ['tag', '@last', 'x'.repeat(51)],
    ['tag', '@last', '--remove'],
    ['tag', '@last', ...Array.from({ length: 51 }, (_, at) => `tag-${at}`)],
    ['note', '@last', ''],
    ['note', '@last', 'x'.repeat(8001)],
    ['note', '@last', 'text', '--author', ' '],
    ['decide', '@last', ''],
    ['decide', '@last', 'a\0b'],
    ['handoff', '@last', '--to', 'nobody'],
  ])('%s %s %s %s is refused', async (...args) => {
    await expectRefused(args)
  })

  it.each([
    ['resume', 'ffff'],
    ['handoff', 'ffff'],
    ['recall', 'text', '--exclude-session', 'ffff'],
    ['search', 'word', '--session', 'ffff'],
    ['blame', 'no-such-file'],
    ['tag', 'ffff', 'name'],
    ['tag', '@last', 'no-such', '--remove'],
    ['note', 'ffff', 'text'],
    ['note', '@last', '--remove', '99'],
    ['title', 'ffff', 'text'],
    ['star', 'ffff'],
    ['decide', 'ffff', 'text'],
    ['decide', '@last#1000000001', '--remove'],
  ])('%s %s %s %s names what is not there', async (...args) => {
    const { code, text } = await told(args)
    expect([code, text]).toEqual([EXIT.failed, expect.stringMatching(/^where: .+\n(?:cause: .+\n)?try: ./m)])
  })

  it.each([
    '[otlp]\nendpoint = "nonsense"',
    '[otlp]\nendpoint = 7',
    '[otlp]\ntext = "maybe"',
    '[recall]\nhook = 7',
    '[budget]\ndaily = "much"',
    '[budget]\nsession = -1',
    '[budget]\naction = "explode"',
    '[budget]\nweekly = 5',
  ])('names a setting that cannot be: %s', async (text) => {
    const path = join(world.memory, 'config.toml')
    const kept = existsSync(path) ? readFileSync(path) : undefined
    writeFileSync(path, `${text}\n`)
    try {
      for (const command of ['config', 'sessions', 'sweep']) await expectRefused([command])
    } finally {
      if (kept) writeFileSync(path, kept)
      else rmSync(path)
    }
  })

  it('that was refused has changed nothing', () => {
    expect(contentOf(world)).toEqual(untouched)
  })
})

describe('a time', () => {
  it('is a day that exists, with a time of day that exists, or an age', () => {
    expect(parseDay('2024-02-29')).toBe(Date.parse('2024-02-29') / 86_400_000)
    expect(['2026-02-29', '2026-04-31', '0000-00-00', '2026-11-1'].map(parseDay)).toEqual(
      Array(4).fill(undefined),
    )
    expect(parseInstant('7d', 1e12)).toBe(1e12 - 7 * 86_400_000)
    expect(parseInstant('2026-11-01T14:30:00+02:00')).toBe(Date.parse('2026-11-01T12:30:00Z'))
    expect(parseInstant('2026-11-01 14:30')).toBe(new Date(2026, 10, 1, 14, 30).getTime())
    expect(
      ['2026-02-30T10:00', '2026-11-01T24:30', '2026-11-01T', '99999999d'].map((one) => parseInstant(one)),
    ).toEqual(Array(4).fill(undefined))
  })

  it('is days that have a name, both ends of them', () => {
    const now = new Date(2026, 10, 18, 15, 30).getTime() // a Wednesday
    const start = (month: number, day: number, year = 2026): number => new Date(year, month, day).getTime()
    const spans: [string, number, number][] = [
      ['2026-07', start(6, 1), start(7, 1)],
      ['2024-02', start(1, 1, 2024), start(2, 1, 2024)],
      ['2025', start(0, 1, 2025), start(0, 1)],
      ['today', start(10, 18), start(10, 19)],
      ['Yesterday', start(10, 17), start(10, 18)],
      ['last monday', start(10, 16), start(10, 17)],
      ['last wednesday', start(10, 11), start(10, 12)],
      ['wed', start(10, 18), start(10, 19)],
      ['friday', start(10, 13), start(10, 14)],
      ['this week', start(10, 16), start(10, 23)],
      ['last week', start(10, 9), start(10, 16)],
      ['last month', start(9, 1), start(10, 1)],
      ['this year', start(0, 1), start(0, 1, 2027)],
      ['march', start(2, 1), start(3, 1)],
      ['Nov', start(10, 1), start(11, 1)],
      ['last november', start(10, 1, 2025), start(11, 1, 2025)],
      ['december', start(11, 1, 2025), start(0, 1)],
      ['feb 2024', start(1, 1, 2024), start(2, 1, 2024)],
    ]
    for (const [text, from, to] of spans)
      expect([parseTime(text, false, now), parseTime(text, true, now)], text).toEqual([from, to])
    const none = [
      '2026-13',
      'someday',
      'mo',
      'last',
      'last 2026',
      'next week',
      'ma',
      'mond 2026',
      'tomorrow',
      '',
    ]
    expect(none.map((text) => parseTime(text, false, now))).toEqual(none.map(() => undefined))
  })

  it('may be an age in words', () => {
    const day = 86_400_000
    for (const [text, age] of [
      ['7days', 7 * day],
      ['7 days', 7 * day],
      ['2 weeks ago', 14 * day],
      ['last 3 months', 90 * day],
      ['90 min', 90 * 60_000],
      ['1 year', 365 * day],
      ['3h ago', 3 * 3_600_000],
    ] as const)
      expect(parseTime(text, false, 1e12), text).toBe(1e12 - age)
  })

  it('in another zone begins with that day', () => {
    const zone = new TimeZone('Pacific/Auckland')
    // In Auckland it is the 19th already.
    const now = Date.parse('2026-11-18T12:00:00Z')
    expect(zone.dayTime('today', false, now)).toBe(Date.parse('2026-11-18T11:00:00Z'))
    expect(zone.dayTime('2026-07', true, now)).toBe(Date.parse('2026-07-31T12:00:00Z'))
    expect(zone.dayTime('2026-02-30', false, now)).toBeUndefined()
  })

  it('that is a day begins with it on the clock of the machine, and ends with it', () => {
    expect(parseTime('2026-11-01')).toBe(new Date(2026, 10, 1).getTime())
    expect(parseTime('2026-11-01', true)).toBe(new Date(2026, 10, 2).getTime())
  })
})

it('an agent that does not exist is named with the option that was typed', async () => {
  const { parseFlavor } = await import('../src/cli/values.ts')
  const argv = vi.spyOn(process, 'argv', 'get')
  for (const option of ['--agent', '--flavor']) {
    argv.mockReturnValue(['node', 'recollect', 'sessions', option, 'clod'])
    expect(() => parseFlavor('clod')).toThrow(expect.objectContaining({ where: option }) as Error)
  }
  argv.mockRestore()
})
