// docs/json-output.md against what the commands print: a field that is not documented fails, and so does a documented one
// that never comes. RECOLLECT_TEST_UPDATE=1 writes the lines anew.
import { appendFileSync, cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { everyCommand } from '../src/cli/help.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { NULLS } from './setup/json-nulls.ts'
import { addShape, differences, documentedLines, merged, type Shape, shapeLines } from './setup/json-shape.ts'
import { cli, World } from './setup/sweeping.ts'

Object.assign(globalThis, { VERSION: '0.0.0' })
const { buildProgram } = await import('../src/cli/program.ts')

const PAGE = 'docs/json-output.md'
/** One object per line and event: described in the document, and not one document to compare. */
const STREAMS = new Set(['watch'])

/** What these find depends on which schedulers and agents are installed. */
const OF_THE_MACHINE = /^(schedule|mcp|hooks|doctor)\b/

/** What is run, in this order, by section. */
const RUNS: [section: string, ...args: string[]][] = [
  ['status'],
  ['sessions'],
  ['sessions', '--all'],
  ['show', '@last', '--payload'],
  ['show', 'claude:912', '--payload'],
  ['show', 'codex:'],
  ['search', 'calc'],
  ['search', '"should be 5"'],
  ['digest', 'claude:912'],
  ['digest', '7c36'],
  ['digest', 'codex:'],
  ['decide', '@last', 'keep it', '--tag', 'x'],
  ['lineage', '7c36'],
  ['lineage'],
  ['usage', 'session'],
  ['usage', 'day', '--since', '2026-11-01'],
  ['patterns'],
  ['hooks status'],
  ['hooks test'],
  ['hooks install', '--dry-run'],
  ['hooks install'],
  ['hooks status'],
  ['hooks test'],
  ['hooks uninstall'],
  ['retro', '--since', '2026-11-01'],
  ['schedule status'],
  ['schedule install', '--dry-run'],
  ['schedule remove', '--dry-run'],
  ['mcp status'],
  ['mcp install', '--dry-run'],
  ['mcp uninstall', '--dry-run'],
  ['doctor'],
  ['verify'],
  ['config'],
  ['evict', '--dry-run'],
  ['evict'],
  ['search', '"should be 5"'],
  ['show', '209a'],
  ['status'],
  ['forget', '209a', '--yes'],
  ['error', 'show', 'nothing-like-it'],
  ['error', 'serch'],
  ['error', 'usage', '--timezone', 'Europe/Berln'],
]

let world: World
const shapes = new Map<string, Shape>()
const add = (section: string, text: string): void => {
  const shape = shapes.get(section) ?? new Map()
  shapes.set(section, addShape(shape, JSON.parse(text)))
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
  add('status', cli(world.env, 'status', '--json').stdout)
  add('sweep', cli(world.env, 'sweep', '--json').stdout)
  add('demo', cli(world.env, 'demo', '--json', '--dir', join(world.base, 'demo')).stdout)
  appendFileSync(damaged, 'more that is not json\n')
  world.configure('[session_memory.retention]\nraw_soft_cap_bytes = "5MiB"\n')
  for (const [section, ...args] of RUNS) {
    if (args[0] === '--dry-run' && section === 'evict')
      world.configure('[session_memory.retention]\nraw_soft_cap_bytes = 1\n')
    const words = section === 'error' ? [] : section.split(' ')
    const { stdout } = cli({ ...world.env, PATH: process.env['PATH'] ?? '' }, ...words, ...args, '--json')
    add(section, stdout)
  }
  world.configure(
    `[hub]\ndigests_dir = "${join(world.base, 'told')}"\n[session_memory.retention]\nraw_soft_cap_bytes = 1\n`,
  )
  add('sweep', cli(world.env, 'sweep', '--full', '--json').stdout)
  world.configure('')
  add('sweep', cli(world.env, 'sweep', '--full', '--json').stdout)
  add('sweep', cli(world.env, 'sweep', '--repair', '--json').stdout)
  rmSync(join(world.memory, 'cache', 'blobs'), { recursive: true })
  add('search', cli(world.env, 'search', '"should be 5"', '--json').stdout)
  add('verify', cli(world.env, 'verify', '--json').stdout)
  rmSync(join(world.memory, 'cache'), { recursive: true })
  add('show', cli(world.env, 'show', '@last', '--json').stdout)
  if (process.env['RECOLLECT_TEST_UPDATE']) update()
}, 120_000)
afterAll(() => world.remove())

/** Keeps what people wrote around the code blocks. */
function update(): void {
  let page = readFileSync(PAGE, 'utf8')
  for (const [section, shape] of shapes) {
    const known = documentedLines(page).get(section) ?? []
    const lines = merged(shapeLines(shape), known, OF_THE_MACHINE.test(section))
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

  it.each([...new Set(['sweep', 'demo', ...RUNS.map(([section]) => section)])])(
    'tells of %s exactly the fields there are',
    (section) => {
      const lines = documented().get(section)
      expect(lines, `no section ${section}`).toBeDefined()
      const wrong = differences(shapeLines(shapes.get(section) as Shape), lines as string[])
      expect(wrong.filter((one) => !(OF_THE_MACHINE.test(section) && one.endsWith('never comes')))).toEqual(
        [],
      )
    },
  )
})
