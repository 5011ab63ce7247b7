// Words that every shell reads as they were, here and on another machine: real shells are asked.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { shellQuoted, shellWord } from '../src/files/shell.ts'
import { commandThere } from '../src/remote/destination.ts'
import { isHere } from './setup/programs.ts'

const SHELLS = ['sh', 'dash', 'bash', 'zsh', 'fish', 'tcsh'].filter(isHere)
const HOSTILE = [
  "it's",
  "\\'; touch pwned; '",
  "x\\'$(touch pwned)'",
  "\\\\'; touch pwned; '\\",
  "x\\'; touch pwned #",
  '!!',
  '!touch',
  '$(touch pwned)`touch pwned`',
  '"; touch pwned; "',
  '~root',
  '=ls',
  '--x=~root',
  '{a,b}*?[c]',
  '# (a) & b | c > d',
  'ü \u{1f600}',
]

/** In an empty home, so that no start-up file of a person is read; what it left there is told, too. */
function asked(shell: string, line: string, env: Record<string, string> = {}): [string, string[]] {
  const home = mkdtempSync(join(tmpdir(), 'shell-'))
  try {
    const { stdout } = spawnSync(shell, ['-c', line], {
      cwd: home,
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], HOME: home, ZDOTDIR: home, LC_ALL: 'C.UTF-8', ...env },
    })
    const made = spawnSync('find', ['.', '-name', 'pwned*'], { cwd: home, encoding: 'utf8' }).stdout
    return [stdout, made.split('\n').filter(Boolean)]
  } finally {
    rmSync(home, { recursive: true })
  }
}

describe.each(SHELLS)('a word of %s', (shell) => {
  it('is what it was, whatever stands in it', () => {
    for (const form of [shellQuoted, shellWord])
      expect(asked(shell, `printf '%s\\n' ${HOSTILE.map(form).join(' ')}`)).toEqual([
        `${HOSTILE.join('\n')}\n`,
        [],
      ])
  })

  it('is it still where another machine has any shell', () => {
    const base = realpathSync(mkdtempSync(join(tmpdir(), 'there-')))
    try {
      const directories = HOSTILE.map((name) => join(base, name))
      for (const directory of directories) mkdirSync(directory)
      const line = directories.map((one) => `cd ${shellWord(one)} && pwd`).join('; ')
      const there = commandThere('there', line).at(-1) as string
      for (const other of SHELLS.filter((one) => one !== 'tcsh'))
        expect([other, ...asked(shell, there, { SHELL: other })]).toEqual([
          other,
          `${directories.join('\n')}\n`,
          [],
        ])
    } finally {
      rmSync(base, { recursive: true })
    }
  }, 60_000)
})
