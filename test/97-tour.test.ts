// The terminal, as a person sees it: a part of the tour (scripts/tour.mjs) on a real one, against the reviewed snapshots in
// docs/tour. `npm run tour` takes the whole of it, in every form.
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { everyCommand } from '../src/cli/help.ts'
import { widthOf } from '../src/cli/text.ts'

// The bundler puts the version in; here nobody asks for it.
Object.assign(globalThis, { VERSION: '0.0.0' })
const { buildProgram } = await import('../src/cli/program.ts')

const ROOT = resolve(import.meta.dirname, '..')
const KEPT = join(ROOT, 'docs', 'tour')
const hasTmux = spawnSync('tmux', ['-V']).status === 0
const files = readdirSync(KEPT).filter((name) => name.endsWith('.txt'))
const read = (name: string): string => readFileSync(join(KEPT, name), 'utf8')

function tour(...words: string[]): { code: number | null; text: string } {
  const { status, stderr, stdout } = spawnSync(process.execPath, [join(ROOT, 'scripts/tour.mjs'), ...words], {
    encoding: 'utf8',
  })
  return { code: status, text: stdout + stderr }
}

describe('the tour', () => {
  it.skipIf(!hasTmux)('looks as it was reviewed (skipped without tmux: apt-get install tmux)', () => {
    expect(tour('--topic', 'search', '--form', '80')).toEqual({ code: 0, text: '' })
  })

  it('looks as it was reviewed in a pipe', () => {
    expect(tour('--topic', 'keep', '--form', 'piped')).toEqual({ code: 0, text: '' })
  })

  it('has every command', () => {
    const typed = files.map(read).join('\n')
    const leaves = everyCommand(buildProgram()).filter(
      (one) => one.commands.length === 0 && one.name() !== 'help' && !(one as { _hidden?: boolean })._hidden,
    )
    const nameOf = (one: Command): string => (one.parent ? `${nameOf(one.parent)} ${one.name()}` : one.name())
    const missing = leaves.map(nameOf).filter((name) => !new RegExp(`^\\$ .*${name}\\b`, 'm').test(typed))
    expect(missing).toEqual([])
  })

  it('has every topic in every form', () => {
    const topics = [...new Set(files.map((name) => name.split('.')[0]))]
    const forms = ['wide', '80', 'plain', 'piped']
    expect(files.sort()).toEqual(
      topics.flatMap((topic) => forms.map((form) => `${topic}.${form}.txt`)).sort(),
    )
  })

  it('has no escape code, and on a terminal no line that is wider than it', () => {
    for (const name of files) {
      expect(read(name), name).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f]/)
      const width = { wide: 140, 80: 80, plain: 80 }[name.split('.')[1] as string]
      const wide = read(name)
        .split('\n')
        .filter((line) => width !== undefined && !line.startsWith('$ ') && widthOf(line) > width)
      expect(wide, name).toEqual([])
    }
  })

  it('has nothing beyond ASCII of ours without a locale', () => {
    // What the pipe answers and what is exported is data.
    for (const name of files.filter((one) => /^(?!record|export).*\.plain\./.test(one)))
      expect(read(name).replace(/^\$ .*$/gm, ''), name).toMatch(/^[\x0a\x20-\x7e]*$/)
  })
})
