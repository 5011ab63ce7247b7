// Agents delete their own transcripts: what would go is told, and they can be made to keep them, with a way back.
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { parse } from 'jsonc-parser'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { INTEGRATIONS } from '../src/adapters/integrations.ts'
import {
  applyKeeping,
  daysKept,
  isKeeper,
  type Keeper,
  planAsBefore,
  planLonger,
} from '../src/capture/keeping.ts'
import type { Deletion } from '../src/doctor/deletions.ts'
import type { Finding } from '../src/doctor/finding.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { cli, temporary, World } from './setup/sweeping.ts'

const DAY = 86_400_000
let world: World
let settings: string
const claude = INTEGRATIONS.filter(isKeeper)[0] as Keeper
beforeEach(() => {
  world = new World()
  world.env['PATH'] = ''
  cpSync(join(unpackAgent('claude'), 'tools'), world.home, { recursive: true })
  settings = join(world.home, '.claude', 'settings.json')
})
afterEach(() => world.remove())

const transcripts = (): string[] =>
  readdirSync(join(world.home, '.claude', 'projects'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.jsonl'))
    .map((entry) => join(entry.parentPath, entry.name))
const age = (path: string, days: number): void => {
  const at = new Date(Date.now() - days * DAY)
  utimesSync(path, at, at)
}
const deletions = (): Deletion[] =>
  (JSON.parse(cli(world.env, 'status', '--json').stdout) as { deletions: Deletion[] }).deletions
const found = (): Finding | undefined => {
  const { findings } = JSON.parse(cli(world.env, 'doctor', '--json').stdout) as { findings: Finding[] }
  return findings.find((one) => one.id === 'agent.deletes')
}
const text = (): string => readFileSync(settings, 'utf8')

describe('what an agent is about to delete', () => {
  it('is told by status and doctor, with whether it is kept here', async () => {
    await world.sweep()
    expect(deletions()).toEqual([])
    expect(cli(world.env, 'status').stdout).not.toContain('deletes')
    expect(found()).toMatchObject({ severity: 'info', fix: 'recollect doctor --fix' })
    for (const path of transcripts()) age(path, 25)
    const [one] = deletions()
    expect(one).toMatchObject({ flavor: 'claude', keeps_days: 30, within_days: 7, sessions: 1, kept: 1 })
    expect(Math.round((Date.parse(one?.first_at as string) - Date.now()) / DAY)).toBe(5)
    const day = one?.first_at.slice(0, 10)
    expect(cli(world.env, 'status').stdout.replace(/\s+/g, ' ')).toMatch(
      new RegExp(
        `deletes 1 session \\([\\d.]+ KB\\) within 7 days, from ${day} on: all are kept here → recollect doctor --fix`,
      ),
    )
    // Evicted, only the digest is left; and of what was never read, nothing.
    world.configure('[session_memory.retention]\nraw_soft_cap_bytes = 1\n')
    expect(cli(world.env, 'evict').code).toBe(0)
    const unread = join(dirname(transcripts()[0] as string), '44444444-4444-4444-8444-444444444444.jsonl')
    writeFileSync(unread, '{"type":"user"}\n')
    age(unread, 40)
    expect(deletions()[0]).toMatchObject({ sessions: 2, kept: 0, digest_only: 1, unread: 1 })
    expect(found()).toMatchObject({
      severity: 'warning',
      text: expect.stringContaining('1 as a digest only, 1 not kept: not read yet'),
    })
    writeFileSync(settings, '{"cleanupPeriodDays": 3650}')
    expect(deletions()).toEqual([])
    expect(found()).toMatchObject({ severity: 'ok' })
  })

  it('is not kept where the file has grown since it was read', async () => {
    await world.sweep()
    const [path] = transcripts() as [string]
    writeFileSync(path, `${readFileSync(path, 'utf8')}{"type":"user"}\n`)
    age(path, 29)
    expect(deletions()[0]).toMatchObject({ sessions: 1, kept: 0, unread: 1 })
  })
})

describe('a longer time', () => {
  const longer = (): void => applyKeeping(planLonger(claude, world.env))
  const undo = (): void => applyKeeping(planAsBefore(claude, world.env))

  it.each([
    ['no file', undefined],
    ['an empty one', ''],
    ['none set', '{\n  // mine\n  "model": "opus" // here\n}\n'],
    ['one set', '{ "cleanupPeriodDays": 7, "hooks": {} }'],
    ['a byte order mark', '\ufeff{\r\n\t"a": [1],\r\n\t"cleanupPeriodDays": 30\r\n}\r\n'],
    ['a value that is none', '{"cleanupPeriodDays": "x", "b": 1,}'],
  ])('is set and taken back to the byte: %s', (_, before) => {
    if (before !== undefined) writeFileSync(settings, before)
    longer()
    expect(text()).toMatch(/"cleanupPeriodDays": 3650/)
    for (const part of ['// mine', '// here', '"hooks": {}', '\t"a": [1],\r\n'])
      if (before?.includes(part)) expect(text()).toContain(part)
    expect(planLonger(claude, world.env)).toMatchObject({ before: text(), after: text() })
    undo()
    expect(existsSync(settings) ? text() : undefined).toBe(before === '' ? undefined : before)
    expect(readdirSync(dirname(settings)).filter((name) => name.includes('before-recollect'))).toEqual([])
  })

  it('is taken back although hooks came in between, and theirs although it did', () => {
    writeFileSync(settings, '{\n  "cleanupPeriodDays": 20,\n  "a": 1\n}\n')
    const before = text()
    longer()
    expect(cli(world.env, 'hooks', 'install', '--agent', 'claude').code).toBe(0)
    undo()
    expect(text()).toContain('"cleanupPeriodDays": 20')
    expect(text()).toContain('recollect-hook.cjs')
    expect(cli(world.env, 'hooks', 'uninstall', '--agent', 'claude').code).toBe(0)
    expect(JSON.parse(text())).toEqual(JSON.parse(before))
    rmSync(`${settings}.before-recollect`, { force: true })
    writeFileSync(settings, before)
    cli(world.env, 'hooks', 'install', '--agent', 'claude')
    longer()
    cli(world.env, 'hooks', 'uninstall', '--agent', 'claude')
    expect(JSON.parse(text())).toEqual({ cleanupPeriodDays: 3650, a: 1 })
    undo()
    expect(JSON.parse(text())).toEqual(JSON.parse(before))
  })

  it('is left alone where somebody has set another one since, or the same one before', () => {
    writeFileSync(settings, '{"cleanupPeriodDays": 3650}')
    undo()
    expect(text()).toBe('{"cleanupPeriodDays": 3650}')
    writeFileSync(settings, '{}')
    longer()
    writeFileSync(settings, '{"cleanupPeriodDays": 90}')
    undo()
    expect(text()).toBe('{"cleanupPeriodDays": 90}')
  })

  it.each(['{ not json', '[1]', '{"cleanupPeriodDays": 1, "cleanupPeriodDays": 2}'])(
    'is not set in a file that is not understood: %s',
    (broken) => {
      writeFileSync(settings, broken)
      expect(longer).toThrow(expect.objectContaining({ code: 'BAD_INPUT' }))
      expect(text()).toBe(broken)
    },
  )

  it('is offered by doctor --fix: shown, done only when told to, and taken back', () => {
    const dry = cli(world.env, 'doctor', '--fix', '--dry-run')
    expect(dry.stdout).toContain('deletes transcripts after 30 days; would be after 3650 days')
    expect(dry.stdout).toContain('+  "cleanupPeriodDays": 3650')
    expect(cli(world.env, 'doctor', '--fix').stdout).toContain('left as it is')
    expect(existsSync(settings)).toBe(false)
    expect(cli(world.env, 'doctor', '--fix', '--yes').stdout).toContain(`for 3650 days: ${settings}`)
    expect(text()).toContain('"cleanupPeriodDays": 3650')
    expect(cli(world.env, 'doctor', '--fix', '--yes').stdout).toContain('nothing that could be fixed here')
    expect(cli(world.env, 'doctor', '--undo').stdout).toContain('after 3650 days; would be after 30 days')
    expect(existsSync(settings)).toBe(false)
    const { fixes } = JSON.parse(cli(world.env, 'doctor', '--fix', '--json').stdout)
    expect(fixes).toMatchObject([{ agent: 'claude', from_days: 30, to_days: 3650, done: false }])
    expect(cli(world.env, 'doctor', '--fix', '--undo').code).toBe(2)
  })

  it('is one of the steps of the first run', () => {
    mkdirSync(dirname(settings), { recursive: true })
    expect(cli(world.env, 'init', '--dry-run').stdout).toContain("Agents' own files:")
    expect(existsSync(settings)).toBe(false)
    cli(world.env, 'init', '--yes')
    expect(text()).toContain('"cleanupPeriodDays": 3650')
    expect(cli(world.env, 'init', '--yes').stdout).not.toContain("Agents' own files:")
  })
})

describe('a time that stands below other settings, as a text', () => {
  const agent = INTEGRATIONS.filter(isKeeper).find(({ keeps }) => keeps.isText) as Keeper
  const at = (text: string): { env: Record<string, string>; file: string } => {
    const env = { HOME: temporary('keeping') }
    const file = agent.keeps.file(env)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
    return { env, file }
  }

  it.each([
    ['{}', 30],
    ['{"general": {"sessionRetention": {"maxAge": "2w"}}}', 14],
    ['{"general": {"sessionRetention": {"maxAge": "soon"}}}', 30],
    ['{"general": {"sessionRetention": {"maxAge": 7}}}', 30],
    ['{"general": {"sessionRetention": {"enabled": false}}}', 3650],
    ['not JSON', 30],
  ])('is read as the agent reads it: %s', (text, days) => {
    expect(daysKept(agent, at(text).env)).toBe(days)
  })

  it.each([
    '{}',
    '{"general": {"vimMode": true}, "b": [1,2]}',
    '{\n  // mine\n  "general": {\n    "sessionRetention": { "enabled": true }\n  }\n}\n',
    '{"general": {"sessionRetention": {"maxAge": "7d"}}}',
  ])('is made longer, and comes back to the byte: %s', (text) => {
    const { env, file } = at(text)
    applyKeeping(planLonger(agent, env))
    expect(daysKept(agent, env)).toBe(3650)
    expect(parse(readFileSync(file, 'utf8')).general.sessionRetention.maxAge).toBe('3650d')
    applyKeeping(planAsBefore(agent, env))
    expect(readFileSync(file, 'utf8')).toBe(text)
  })

  it('is taken back with what it brought along, though something else has changed', () => {
    const { env, file } = at('{"a": 1}')
    applyKeeping(planLonger(agent, env))
    writeFileSync(file, readFileSync(file, 'utf8').replace('"a": 1', '"a": 2'))
    applyKeeping(planAsBefore(agent, env))
    expect(parse(readFileSync(file, 'utf8'))).toEqual({ a: 2 })
  })
})
