// Values of options: whatever is impossible is refused with exit code 2 and a hint, in every command that takes such an
// option. An option that is not in the tables below fails the test.
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { type Command, CommanderError, type Option } from 'commander'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { EXIT, reportError } from '../src/cli/exit.ts'
import { everyCommand, refuseUnknownCommand, usageError } from '../src/cli/help.ts'
import { streamOf } from '../src/cli/streams.ts'
import { parseDay, parseInstant, parseTime } from '../src/config.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { World } from './setup/sweeping.ts'

Object.assign(globalThis, { VERSION: '0.0.0' })
const { buildProgram } = await import('../src/cli/program.ts')

let world: World
const before = { ...process.env }
beforeAll(async () => {
  world = new World()
  cpSync(join(unpackAgent('claude'), 'qa'), world.home, { recursive: true })
  await world.sweep()
  Object.assign(process.env, world.env)
})
afterAll(() => {
  for (const name of Object.keys(world.env)) {
    if (before[name] === undefined) delete process.env[name]
    else process.env[name] = before[name]
  }
  world.remove()
})

const TIMES = [
  '',
  'yesterday',
  '1',
  '2026',
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
  color: CHOICES,
  repo: NAMES,
  domain: NAMES,
  model: NAMES,
  touched: NAMES,
  tool: NAMES,
  tag: NAMES,
  author: NAMES,
  endpoint: ['', 'nonsense', 'ftp://host', 'localhost:4318'],
  host: NAMES,
  dir: [''],
  out: [''],
  session: ['', '@first'],
  excludeSession: ['', '@first'],
  flush: CHOICES,
  maxLine: ['', 'huge', '-1', '1XB'],
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
  completion: ['bash'],
}
/** The pipe checks its names as the formats do: test/35-record-cli.test.ts. */
const isPipe = (command: Command): boolean => command.parent?.name() === 'record'
const MORE: Record<string, Record<string, readonly string[]>> = {
  show: { around: ['@last#1'] },
  export: { endpoint: ['--all', '--format', 'otlp'], out: ['--all'] },
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
      const needed = MORE[command.name()]?.[option.attributeName()] ?? NEEDED[command.name()] ?? []
      const { code, text } = await told([...nameOf(command), ...needed, `${option.long}=${value}`])
      const place = /^where: (.+)$/m.exec(text)?.[1] ?? ''
      const isNamed = place.includes(option.long as string) || (value !== '' && place.includes(value))
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

describe('an id', () => {
  it.each(['', '@first', '@last~', '@last~x', '@'])('%s is refused', async (id) => {
    for (const command of ['show', 'digest', 'pin', 'forget'])
      expect(await told([command, id])).toMatchObject({
        code: EXIT.usage,
        text: expect.stringMatching(/^try: /m),
      })
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

  it('that is a day begins with it on the clock of the machine, and ends with it', () => {
    expect(parseTime('2026-11-01')).toBe(new Date(2026, 10, 1).getTime())
    expect(parseTime('2026-11-01', true)).toBe(new Date(2026, 10, 2).getTime())
  })
})
