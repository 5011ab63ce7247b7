// Names that may become files, and paths that may not leave their directory.
import { closeSync, linkSync, mkdirSync, openSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkOpened, resolveInside, safeName } from '../src/files/paths.ts'
import { temporaryDirectory } from './support/programs.ts'

const GOOD = [
  'main',
  'A-b_c',
  '0',
  'a.b',
  '.hidden',
  'agent:main:telegram',
  '日本語ノート',
  'é',
  'ёлка',
  'a b',
  '~',
  '-rf',
  '%2e%2e%2f',
  'x'.repeat(200),
  'console',
  'com10',
  'nul1',
]

const BAD: [string, string][] = [
  ['empty', ''],
  ['dot', '.'],
  ['dot dot', '..'],
  ['dots inside', 'a..b'],
  ['slash', 'a/b'],
  ['absolute', '/etc/passwd'],
  ['climbing', '../../etc/passwd'],
  ['backslash', 'a\\b'],
  ['null byte', 'a\0b'],
  ['newline', 'a\nb'],
  ['escape', '\u001b[31m'],
  ['trailing dot', 'a.'],
  ['trailing space', 'a '],
  ['leading space', ' a'],
  ['300 bytes', 'x'.repeat(300)],
  ['201 bytes in 67 letters', 'あ'.repeat(67)],
  ['full-width slash', 'a\uff0fb'],
  ['full-width backslash', 'a\uff3cb'],
  ['division slash', 'a\u2215b'],
  ['fraction slash', 'a\u2044b'],
  ['big solidus', 'a\u29f8b'],
  ['two dot leader', '\u2025'],
  ['one dot leaders', '\u2024\u2024'],
  ['ellipsis', 'a\u2026b'],
  ['full-width dots', '\uff0e\uff0e'],
  ['small full stops', '\ufe52\ufe52'],
  ['zero width space', 'a\u200bb'],
  ['zero width joiner', 'a\u200db'],
  ['right to left override', 'a\u202egnp'],
  ['byte order mark', '\ufeffa'],
  ['line separator', 'a\u2028b'],
  ['no-break space at the end', 'a\u00a0'],
  ['not normal form C', 'e\u0301'],
  ['lone surrogate', 'a\ud800'],
  ...[
    'CON',
    'con',
    'nul',
    'NUL.txt',
    'aux.',
    'com1',
    'LPT9.log',
    'com¹',
    'prn:x',
    'con .txt',
    '\uff23\uff2f\uff2e',
  ].map((name): [string, string] => ['reserved on Windows', name]),
]

test('ordinary names pass unchanged', () => {
  for (const name of GOOD) expect(safeName(name, 'id')).toBe(name)
})

test.each(BAD)('refused: %s (%j)', (_, name) => {
  expect(() => safeName(name, 'agentId')).toThrow(
    expect.objectContaining({ code: 'BAD_NAME', message: expect.stringContaining('agentId') }),
  )
})

test('things that are no strings are refused', () => {
  for (const name of [undefined, null, 7, {}, ['a'], { toString: () => 'a' }]) {
    expect(() => safeName(name as string, 'id')).toThrow(expect.objectContaining({ code: 'BAD_NAME' }))
  }
})

test('a path stays below its base, through every kind of link', () => {
  const directory = realpathSync(temporaryDirectory())
  const base = join(directory, 'base')
  mkdirSync(join(base, 'real', 'deep'), { recursive: true })
  mkdirSync(join(directory, 'outside'))
  writeFileSync(join(directory, 'outside', 'file'), '')
  symlinkSync(join(directory, 'outside'), join(base, 'linked'))
  symlinkSync('real', join(base, 'inner'))
  symlinkSync('loop', join(base, 'loop'))
  symlinkSync(join(directory, 'outside', 'file'), join(base, 'real', 'file'))
  symlinkSync(join(directory, 'nowhere'), join(base, 'real', 'dangling'))
  const refused = [
    ['..'],
    ['.'],
    [''],
    ['real', '..', '..', 'outside'],
    ['/etc/passwd'],
    ['linked', 'file'],
    ['linked'],
    ['inner', 'deep'],
    ['loop', 'x'],
    ['real', 'file'],
    ['real', 'dangling'],
  ]
  for (const parts of refused) {
    expect(() => resolveInside(base, ...parts), parts.join('/')).toThrow(
      expect.objectContaining({ code: 'UNSAFE_PATH' }),
    )
  }
  expect(resolveInside(base, 'real', 'deep', 'new')).toBe(join(base, 'real', 'deep', 'new'))
  expect(resolveInside(base, 'new', 'er', 'still')).toBe(join(base, 'new', 'er', 'still'))
  // A neighbour whose name begins alike is outside.
  expect(() => resolveInside(base, '..', 'base-2', 'x')).toThrow(
    expect.objectContaining({ code: 'UNSAFE_PATH' }),
  )
})

test('the base itself may be reached through a link, or not exist yet', () => {
  const directory = realpathSync(temporaryDirectory())
  mkdirSync(join(directory, 'real'))
  symlinkSync(join(directory, 'real'), join(directory, 'link'))
  expect(resolveInside(join(directory, 'link'), 'x')).toBe(join(directory, 'real', 'x'))
  expect(resolveInside(join(directory, 'later'), 'x')).toBe(join(directory, 'later', 'x'))
  writeFileSync(join(directory, 'file'), '')
  expect(() => resolveInside(join(directory, 'file', 'sub'), 'x')).toThrow(
    expect.objectContaining({ code: 'UNSAFE_PATH' }),
  )
})

test('an opened file must be the one at its path, under one name', () => {
  const directory = temporaryDirectory()
  const at = (name: string) => join(directory, name)
  writeFileSync(at('one'), 'x')
  writeFileSync(at('two'), '')
  symlinkSync(at('one'), at('link'))
  const fd = openSync(at('one'), 'r')
  expect(checkOpened(fd, at('one')).size).toBe(1)
  for (const other of ['two', 'link', 'nothing']) {
    expect(() => checkOpened(fd, at(other)), other).toThrow(expect.objectContaining({ code: 'REPLACED' }))
  }
  linkSync(at('one'), at('second'))
  expect(() => checkOpened(fd, at('one'))).toThrow(expect.objectContaining({ code: 'UNSAFE_PATH' }))
  closeSync(fd)
})
