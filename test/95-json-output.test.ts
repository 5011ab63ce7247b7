// docs/json-output.md against what the commands print: a field that is not documented fails, and so does a documented one
// that never comes. RECOLLECT_TEST_UPDATE=1 writes the lines anew.
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { everyCommand } from '../src/cli/help.ts'
import { SweepLock } from '../src/store/sweep-lock.ts'
import { assistant, call, result, text, user, write as writeTranscript } from './setup/claude.ts'
import { damagePages } from './setup/damage.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { NULLS } from './setup/json-nulls.ts'
import { addShape, differences, documentedLines, merged, type Shape, shapeLines } from './setup/json-shape.ts'
import { asked, jsonl, meta, nameOf as nameOfRollout, THREAD, told, writeRollout } from './setup/rollout.ts'
import { standInSchedulers } from './setup/stand-ins.ts'
import { cli, World } from './setup/sweeping.ts'

Object.assign(globalThis, { VERSION: '0.0.0' })
const { buildProgram } = await import('../src/cli/program.ts')

const PAGE = 'docs/json-output.md'
/** One object per line and event: described in the document, and not one document to compare. */
const STREAMS = new Set(['watch'])

/** What is run, in this order, by section. */
const RUNS: [section: string, ...args: string[]][] = [
  ['status'],
  ['sessions'],
  ['sessions', '--all'],
  ['show', '@last', '--payload'],
  ['show', 'claude:912', '--payload'],
  ['show', 'codex:01a1'],
  // With a sub-agent.
  ['show', 'grok:01a1e07a-5e5e'],
  ['show', 'grok:01a1e07a-5f22'],
  ['search', 'calc'],
  ['search', '"should be 5"'],
  ['search', 'claculator'],
  ['search', 'why do the tests of calc.js fail with a xylophone bug'],
  ['search', 'files'],
  ['search', '--literal', 'should be 5'],
  ['search', 'calculatorium'],
  ['digest', 'claude:912'],
  ['digest', '7c36'],
  ['digest', 'codex:01a1'],
  ['decide', '@last', 'keep it', '--tag', 'x'],
  ['note', '@last', 'look again'],
  ['tag', '@last', 'later'],
  ['title', '@last', 'A name'],
  ['star', '@last'],
  ['show', '@last'],
  ['search', 'later'],
  ['lineage', '7c36'],
  ['lineage'],
  ['usage', 'session'],
  ['usage', 'day', '--since', '2026-11-01'],
  ['usage limits'],
  ['usage blocks', '--since', '2026-11-01'],
  ['statusline'],
  ['recall', 'AssertionError [ERR_ASSERTION]: add(2,3) should be 5'],
  ['recall', 'nothing of this kind ever happened here'],
  ['patterns'],
  ['patterns', 'AssertionError [ERR_ASSERTION]: add(2,3) should be 5'],
  ['patterns', "Error: Cannot find module '/home/dev/calc/tset.js'"],
  ['patterns', 'error: the gate is stuck'],
  ['digest', 'claude:7777'],
  ['hooks status'],
  ['hooks test'],
  ['hooks install', '--dry-run'],
  ['hooks install'],
  ['hooks status'],
  ['hooks test'],
  ['hooks uninstall'],
  ['retro', '--since', '2026-11-01'],
  ['mcp status'],
  ['mcp install', '--dry-run'],
  ['mcp uninstall', '--dry-run'],
  ['doctor'],
  ['doctor', '--fix', '--dry-run'],
  ['verify'],
  ['config'],
  ['evict', '--dry-run'],
  ['evict'],
  ['search', '"should be 5"'],
  ['show', '209a'],
  ['status'],
  ['resume', '209a'],
  ['handoff', '209a'],
  ['handoff', '209a', '--to', 'codex'],
  ['forget', '209a'],
  ['forget', '209a', '--yes'],
  ['error', 'show', 'nothing-like-it'],
  ['error', 'serch'],
  ['error', 'usage', '--timezone', 'Europe/Berln'],
]

/** With the schedulers of `standInSchedulers`. */
const SCHEDULE_RUNS: [section: string, ...args: string[]][] = [
  ['schedule status'],
  ['schedule install', '--dry-run'],
  ['schedule install'],
  ['schedule install', '--with', 'cron'],
  ['schedule status'],
  ['schedule remove', '--dry-run'],
  ['schedule remove', '--with', 'systemd'],
]

let world: World
const shapes = new Map<string, Shape>()
const add = (section: string, text: string): void => {
  const shape = shapes.get(section) ?? new Map()
  shapes.set(section, addShape(shape, JSON.parse(text)))
}

function runSchedules(env: Record<string, string>, bin: string): void {
  const run = (section: string, ...args: string[]): void =>
    add(section, cli({ ...env, PATH: bin }, ...section.split(' '), ...args, '--json').stdout)
  for (const [section, ...args] of SCHEDULE_RUNS) run(section, ...args)
  // A line somebody changed, whose program is gone.
  const tab = join(world.base, 'crontab')
  writeFileSync(
    tab,
    readFileSync(tab, 'utf8')
      .replace(/^\S+ \S+/, '1 1')
      .replaceAll('cli.cjs', 'gone/cli.cjs'),
  )
  run('schedule status')
  // Where there is none.
  const { code, stdout } = cli({ ...env, PATH: world.home }, 'schedule', 'install', '--dry-run', '--json')
  expect(code).toBe(1)
  add('error', stdout)
}

beforeAll(async () => {
  world = new World()
  const scenarios = {
    claude: ['tools', 'subagent', 'big_unicode_secret', 'mid_error'],
    codex: ['tools'],
    grok: ['subagent'],
  }
  for (const [client, names] of Object.entries(scenarios)) {
    const directory = unpackAgent(client)
    for (const name of names) cpSync(join(directory, name), world.home, { recursive: true })
  }
  const broken = join(world.home, '.claude', 'projects', '-w')
  mkdirSync(broken, { recursive: true })
  const damaged = join(broken, '44444444-4444-4444-8444-444444444444.jsonl')
  writeFileSync(damaged, '{"type":"user"}\nnot json\n{"type":"martian"}\n')
  symlinkSync('nowhere', join(broken, '55555555-5555-4555-8555-555555555555.jsonl'))
  writeFileSync(join(world.home, '.codex', 'archived_sessions'), 'no directory')
  addAllowances(join(world.home, '.codex'))
  add('status', cli(world.env, 'status', '--json').stdout)
  addStuck()
  add('sweep', cli(world.env, 'sweep', '--json').stdout)
  addBlame()
  const lock = new SweepLock(world.memory)
  lock.tell({ doneBytes: 1, totalBytes: 2, doneSources: 3, totalSources: 4 })
  add('status', cli(world.env, 'status', '--json').stdout)
  lock.free()
  add('demo', cli(world.env, 'demo', '--json', '--dir', join(world.base, 'demo')).stdout)
  appendFileSync(damaged, 'more that is not json\n')
  // Its agent deletes it within the week.
  const monthAgo = new Date(Date.now() - 28 * 86_400_000)
  utimesSync(damaged, monthAgo, monthAgo)
  world.configure('[session_memory.retention]\nraw_soft_cap_bytes = "5MiB"\n')
  // Neither a scheduler nor an agent of this machine.
  const bin = standInSchedulers(world.base)
  runSchedules(world.env, bin)
  for (const [section, ...args] of RUNS) {
    if (args[0] === '--dry-run' && section === 'evict')
      world.configure('[session_memory.retention]\nraw_soft_cap_bytes = 1\n')
    const words = section === 'error' ? [] : section.split(' ')
    const { stdout } = cli({ ...world.env, PATH: bin }, ...words, ...args, '--json')
    add(section, stdout)
  }
  world.configure(
    `[hub]\ndigests_dir = "${join(world.base, 'told')}"\n[session_memory.retention]\nraw_soft_cap_bytes = 1\n`,
  )
  add('sweep', cli(world.env, 'sweep', '--full', '--json').stdout)
  world.configure('')
  add('sweep', cli(world.env, 'sweep', '--full', '--json').stdout)
  damagePages(world.memory)
  add('sweep', cli(world.env, 'sweep', '--repair', '--json').stdout)
  rmSync(join(world.memory, 'cache', 'blobs'), { recursive: true })
  add('search', cli(world.env, 'search', '"should be 5"', '--json').stdout)
  add('verify', cli(world.env, 'verify', '--json').stdout)
  rmSync(join(world.memory, 'cache'), { recursive: true })
  add('show', cli(world.env, 'show', '@last', '--json').stdout)
  add('verify', cli(world.env, 'verify', '--json').stdout)
  if (process.env['RECOLLECT_TEST_UPDATE']) update()
})
afterAll(() => world.remove())

/** A failure that nothing mends, in two sessions. */
function addStuck(): void {
  for (const sessionId of ['77777777-7777-4777-8777-777777777777', '88888888-8888-4888-8888-888888888888'])
    writeTranscript(join(world.home, '.claude', 'projects', '-w', `${sessionId}.jsonl`), [
      user(`${sessionId}1`, null, 'Open the gate.', { sessionId }),
      assistant(`${sessionId}2`, `${sessionId}1`, [call('l', 'Bash', { command: 'ls' })], { sessionId }),
      user(`${sessionId}3`, `${sessionId}2`, [result('l', 'gate')], { sessionId }),
      assistant(`${sessionId}4`, `${sessionId}3`, [call('s', 'Bash', { command: 'make gate' })], {
        sessionId,
      }),
      user(`${sessionId}5`, `${sessionId}4`, [result('s', 'Exit code 2\nerror: the gate is stuck', true)], {
        sessionId,
      }),
      assistant(`${sessionId}6`, `${sessionId}5`, [text('Done what there is to do.')], { sessionId }),
    ])
}

/** Of a file that a session wrote, and one that none did. */
function addBlame(): void {
  const cwd = join(world.base, 'blamed')
  const sessionId = '66666666-6666-4666-8666-666666666666'
  const path = join(cwd, 'a.ts')
  mkdirSync(cwd)
  writeFileSync(path, 'export const one = 1\n')
  const fields = { sessionId, cwd }
  writeTranscript(join(world.home, '.claude', 'projects', '-w', `${sessionId}.jsonl`), [
    user('b1', null, 'write it', fields),
    assistant(
      'b2',
      'b1',
      [call('b', 'Write', { file_path: path, content: 'export const one = 1\n' })],
      fields,
    ),
    user('b3', 'b2', [result('b', 'written')], fields),
  ])
  cli(world.env, 'sweep')
  add('blame', cli(world.env, 'blame', path, '--json').stdout)
  writeFileSync(path, 'export const two = 2\n')
  add('blame', cli(world.env, 'blame', path, '--json').stdout)
}

/** Of an account that has windows and credits, and once had no plan. */
function addAllowances(home: string): void {
  const primary = { used_percent: 14, window_minutes: 300, resets_at: 1_764_019_117 }
  const credits = { has_credits: true, unlimited: false, balance: '5' }
  writeRollout(
    home,
    nameOfRollout(THREAD),
    jsonl([
      meta(THREAD),
      asked('hello'),
      told('token_count', { info: null, rate_limits: { primary, credits } }),
      told('token_count', { info: null, rate_limits: { primary, plan_type: 'plus' } }),
    ]),
  )
}

/** Keeps what people wrote around the code blocks. */
function update(): void {
  let page = readFileSync(PAGE, 'utf8')
  for (const [section, shape] of shapes) {
    const known = documentedLines(page).get(section) ?? []
    const lines = merged(shapeLines(shape), known)
    const block = `\`\`\`\n${lines.join('\n')}\n\`\`\``
    const place = new RegExp(`(^## ${section}\\n(?:(?!^## )[\\s\\S])*?)^\`\`\`\\n[\\s\\S]*?^\`\`\`$`, 'm')
    page = place.test(page)
      ? page.replace(place, (_, head: string) => head + block)
      : `${page.trimEnd()}\n\n## ${section}\n\n${block}\n`
  }
  writeFileSync(PAGE, page)
}

const nameOf = (command: Command): string =>
  command.parent?.parent ? `${nameOf(command.parent)} ${command.name()}` : command.name()

describe('docs/json-output.md', () => {
  const documented = (): Map<string, string[]> => documentedLines(readFileSync(PAGE, 'utf8'))

  it.each(NULLS)(
    'says of %s %s… what may be null, as the types of the program do',
    (section, prefix, fields) => {
      const lines = (documented().get(section) ?? []).filter((line) => line.startsWith(prefix))
      // Of the object itself, not of what is inside its fields.
      const own = lines
        .map((line) => /^(\w+)\??: (.*)$/.exec(line.slice(prefix.length)))
        .filter((one) => one !== null)
      const nullable = own
        .filter(([, , types = '']) => types.split(' | ').includes('null'))
        .map(([, name]) => name)
      expect(new Set(nullable)).toEqual(new Set(fields))
    },
  )

  it('has a section for every command with --json', () => {
    const names = everyCommand(buildProgram())
      .filter((command) => command.options.some((option) => option.long === '--json'))
      .map(nameOf)
      .filter((name) => !STREAMS.has(name))
    expect(names.filter((name) => !documented().has(name))).toEqual([])
    for (const name of STREAMS) expect(readFileSync(PAGE, 'utf8')).toContain(`## ${name}\n`)
  })

  it.each([...new Set(['sweep', 'demo', ...[...RUNS, ...SCHEDULE_RUNS].map(([section]) => section)])])(
    'tells of %s exactly the fields there are',
    (section) => {
      const lines = documented().get(section)
      expect(lines, `no section ${section}`).toBeDefined()
      expect(differences(shapeLines(shapes.get(section) as Shape), lines as string[])).toEqual([])
    },
  )
})
