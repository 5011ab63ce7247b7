// What the commands print for people: on a narrow terminal, in the time zone of the machine, and alike from command to command.
import { cpSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { unpackAgent } from './setup/fixtures.ts'
import { type CliResult, cli, World } from './setup/sweeping.ts'

const SCENARIOS = [
  ['claude', 'tools'],
  ['claude', 'subagent_parallel'],
  ['codex', 'tools'],
  ['codex', 'resume'],
  ['grok', 'subagent'],
  ['grok-tui', 'rewind'],
] as const

let world: World
beforeAll(() => {
  world = new World()
  for (const [client, scenario] of SCENARIOS)
    cpSync(join(unpackAgent(client), scenario), world.home, { recursive: true })
  expect(cli(world.env, 'sweep').code).toBe(0)
})
afterAll(() => world.remove())

const at = (env: Record<string, string>, ...args: string[]): CliResult =>
  cli({ ...world.env, ...env }, ...args)
const linesAt = (columns: number, ...args: string[]): string[] =>
  at({ COLUMNS: String(columns) }, ...args)
    .stdout.trimEnd()
    .split('\n')

describe('on 40 columns', () => {
  it.each([
    ['retro', '--since', '2026-11-01'],
    ['usage', 'session'],
    ['digest', '912b'],
    ['lineage'],
    ['patterns'],
  ])('%s stays within them', (...args) => {
    expect(linesAt(40, ...args).filter((line) => line.length > 40)).toEqual([])
  })

  it('show stays within them, but for the command that goes on with the session', () => {
    const lines = linesAt(40, 'show', '912b')
    expect(lines.filter((line) => line.length > 40 && !line.startsWith('$ '))).toEqual([])
    expect(lines).toContain('18:17:37 #31    ▸ Bash  node tset.js')
    expect(lines).toContain('                  exit 1  14 lines  54ms')
  })

  it('retro cuts no date and no reference', () => {
    const text = linesAt(40, 'retro', '--since', '2026-11-10', '--until', '2026-11-16').join('\n')
    expect(text).toMatch(/^2026-11-15 /m)
    expect(text).not.toMatch(/^2026-\S*…/m)
    const refs = text.match(/ [0-9a-f]{8}[0-9a-f-]*(?:#\d+)?$/gm) as string[]
    expect(refs.length).toBeGreaterThan(5)
    for (const ref of new Set(refs.map((one) => one.trim())))
      expect([ref, at({}, 'show', ref).code]).toEqual([ref, 0])
  })

  it('digest goes on below what it goes on with', () => {
    const lines = linesAt(40, 'digest', '912b')
    const from = lines.findIndex((line) => line.startsWith('errors '))
    const indents = lines.slice(from + 1, from + 5).map((line) => /^ */.exec(line)?.[0].length)
    expect(indents).toEqual([10, 10, 10, 10])
  })
})

describe('names', () => {
  it('of a session without a title are its first prompt, wherever it is found', () => {
    const title = 'The tests of calc.js fail. Find the bug, fix it and run the tests.'
    for (const args of [['sessions'], ['search', 'tset.js'], ['usage', 'session']])
      expect(
        at({}, ...args)
          .stdout.split('\n')
          .find((line) => line.includes('912bbcd7')),
      ).toContain(title)
  })

  it('stand below each other in usage by session', () => {
    const { stdout } = at({}, 'usage', 'session')
    const [head = '', ...rows] = stdout.split('\n\n')[0]?.split('\n') ?? []
    const column = head.indexOf('TITLE')
    expect(column).toBeGreaterThan(0)
    for (const row of rows.slice(0, -1)) expect(row.slice(column - 2, column + 1)).toMatch(/^ {2}\S$/)
  })

  it('of what was taken back stand apart from who said it', () => {
    expect(at({}, 'show', 'grok:01a1e0ab').stdout).toMatch(/^── \S+ #9 you \(taken back\) ─+$/m)
  })

  it('of sub-agents end with the last of them in a tree', () => {
    const lines = at({}, 'lineage', '508a').stdout.trimEnd().split('\n')
    expect(lines.slice(1).map((line) => line.slice(0, 6))).toEqual(['├─ sub', '└─ sub'])
  })

  it('of sub-agents have a plural', () => {
    expect(at({}, 'status').stdout).toContain('6 sessions remembered, and 1 of sub-agents\n')
  })
})

describe('times', () => {
  it('are those of the machine in every command', () => {
    const there = { TZ: 'Asia/Kolkata' }
    const { sessions } = JSON.parse(at({}, 'sessions', '--json', '--flavor', 'codex').stdout)
    const resumed = sessions.find((one: { native_session_id: string }) =>
      at({}, 'lineage', one.native_session_id).stdout.includes('resumed'),
    )
    expect(resumed).toBeDefined()
    const [, clock] = /resumed \S+ (\d\d:\d\d)/.exec(at(there, 'lineage', resumed.session_uid).stdout) ?? []
    const shown = at(there, 'show', resumed.session_uid).stdout
    expect(shown).toContain(` ${clock}:`)
  })

  it('of a zone that does not exist are those of UTC, and said to be', () => {
    for (const args of [['usage'], ['retro', '--since', '2026-11-01']]) {
      const { code, stdout } = at({ TZ: 'Nowhere/Atall' }, ...args)
      expect([code, stdout.includes('undefined'), stdout.includes('UTC')]).toEqual([0, false, true])
    }
  })
})

describe('an option that would do nothing', () => {
  it.each([
    ['--payload', ['show', '@last', '--payload']],
    ['--raw', ['show', '@last', '--raw', '--json']],
  ])('is refused: %s', (where, args) => {
    const { code, stdout, stderr } = at({}, ...args)
    expect([code, (stdout + stderr).includes(where)]).toEqual([2, true])
  })
})

it('a decision where nothing is remembered leaves nothing behind', () => {
  const none = new World()
  none.remove()
  const { code, stderr } = cli(none.env, 'decide', '@last', 'keep it')
  expect([code, stderr.includes('NO_MEMORY'), existsSync(none.memory)]).toEqual([1, true, false])
})

it('an empty query is told as such', () => {
  expect(JSON.parse(at({}, 'search', '', '--json').stdout).error.where).toBe('query')
})
