// Replacing whole files, directories that last, gzip in bounds.
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { ensureDirectory } from '../src/files/directory.ts'
import { gunzip, gzip } from '../src/files/gzip.ts'
import { replaceFile } from '../src/files/replace.ts'
import { temporaryDirectory } from './support/programs.ts'

test('puts new bytes in place, with the mode asked for, and leaves nothing beside them', () => {
  for (const durable of [true, false]) {
    const directory = temporaryDirectory()
    const path = join(directory, 'file')
    replaceFile(path, 'one', { durable })
    replaceFile(path, Buffer.from('two'), { durable, mode: 0o640 })
    expect(readFileSync(path, 'utf8')).toBe('two')
    expect(statSync(path).mode & 0o777).toBe(0o640)
    replaceFile(path, '', { durable })
    expect(statSync(path)).toMatchObject({ size: 0 })
    expect(readdirSync(directory)).toEqual(['file'])
  }
})

test('removes what a killed writer left of this file, and nothing of its neighbours', () => {
  const directory = temporaryDirectory()
  writeFileSync(join(directory, '.a.0123456789ab.tmp'), 'left over')
  const others = ['.a.b.0123456789ab.tmp', '.a.tmp', '.a.notes.tmp', 'a.b']
  for (const name of others) writeFileSync(join(directory, name), '')
  replaceFile(join(directory, 'a'), 'x')
  expect(readdirSync(directory).sort()).toEqual(['a', ...others].sort())
})

test('a link at the path is replaced, not followed', () => {
  const directory = temporaryDirectory()
  writeFileSync(join(directory, 'outside'), 'keep')
  symlinkSync(join(directory, 'outside'), join(directory, 'file'))
  replaceFile(join(directory, 'file'), 'new')
  expect(readFileSync(join(directory, 'outside'), 'utf8')).toBe('keep')
  expect(readFileSync(join(directory, 'file'), 'utf8')).toBe('new')
})

test('when it fails, the old file is unchanged and no temporary one stays', () => {
  const directory = temporaryDirectory()
  mkdirSync(join(directory, 'file', 'full'), { recursive: true })
  expect(() => replaceFile(join(directory, 'file'), 'x')).toThrow(
    expect.objectContaining({ code: 'NOT_A_FILE' }),
  )
  expect(readdirSync(directory)).toEqual(['file'])
  expect(() => replaceFile(join(directory, 'none', 'file'), 'x')).toThrow(
    expect.objectContaining({ code: 'GONE' }),
  )
})

test('directories are made with their parents and mode; a file in the way is named', () => {
  const directory = temporaryDirectory()
  ensureDirectory(join(directory, 'a', 'b', 'c'), 0o700, true)
  ensureDirectory(join(directory, 'a', 'b', 'c'), 0o700, true)
  expect(statSync(join(directory, 'a')).mode & 0o777).toBe(0o700)
  // One that is there keeps its mode.
  chmodSync(join(directory, 'a'), 0o755)
  ensureDirectory(join(directory, 'a', 'd'), 0o700, false)
  expect(statSync(join(directory, 'a')).mode & 0o777).toBe(0o755)
  writeFileSync(join(directory, 'file'), '')
  for (const path of ['file', join('file', 'below')]) {
    expect(() => ensureDirectory(join(directory, path), 0o700, true)).toThrow(
      expect.objectContaining({ code: expect.stringMatching(/^(EXISTS|UNSAFE_PATH)$/) }),
    )
  }
})

test('gzip gives the same bytes for the same input, and back', () => {
  const data = Buffer.from('some text '.repeat(1000))
  expect(gzip(data).equals(gzip(data))).toBe(true)
  expect(gunzip(gzip(data), 'here').equals(data)).toBe(true)
  expect(gunzip(gzip(Buffer.alloc(0)), 'here').length).toBe(0)
})

test('gunzip names what is cut, foreign or too large', () => {
  const whole = gzipSync(Buffer.from('x'.repeat(100_000)))
  for (let cut = 0; cut < whole.length; cut++) {
    expect(() => gunzip(whole.subarray(0, cut), 'here')).toThrow(
      expect.objectContaining({ code: 'CORRUPT', where: 'here' }),
    )
  }
  expect(() => gunzip(Buffer.from('{"not":"gzip"}'), 'here')).toThrow(
    expect.objectContaining({ code: 'CORRUPT' }),
  )
  expect(() => gunzip(whole, 'here', 99_999)).toThrow(expect.objectContaining({ code: 'TOO_LARGE' }))
  expect(gunzip(whole, 'here', 100_000).length).toBe(100_000)
})
