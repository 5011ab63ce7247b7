// The append discipline on ordinary and hostile files.
import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { AppendFile } from '../src/files/append.ts'
import { MAX_LINE_BYTES, readJsonl } from '../src/files/jsonl.ts'
import { checkNoLinks } from '../src/files/paths.ts'
import { temporaryDirectory } from './support/programs.ts'

const modeOf = (path: string) => statSync(path).mode & 0o777
const ids = (path: string) =>
  [...readJsonl(path)].map((item) => ('gap' in item ? item.gap : (item.record['id'] as number)))

test('tells where each record lies, for both flush policies', async () => {
  for (const flush of ['os', 'fdatasync'] as const) {
    const path = join(temporaryDirectory(), 'a', 'b', 'log.jsonl')
    const file = new AppendFile(path, { flush })
    expect(await file.append('{"id":1}')).toEqual({ offset: 0, length: 9, healed: false })
    expect(await file.append('{"id":"é"}')).toEqual({ offset: 9, length: 12, healed: false })
    await file.close()
    expect(await file.append('{"id":3}')).toEqual({ offset: 21, length: 9, healed: false })
    await file.close()
    expect(readFileSync(path, 'utf8')).toBe('{"id":1}\n{"id":"é"}\n{"id":3}\n')
    expect([modeOf(path), modeOf(dirname(path)), modeOf(dirname(dirname(path)))]).toEqual([
      0o600, 0o700, 0o700,
    ])
  }
})

test('gives the exact mode whatever the umask, and to an existing file only when asked', async () => {
  const directory = temporaryDirectory()
  const old = process.umask(0o777)
  try {
    const fresh = new AppendFile(join(directory, 'fresh'), { enforceMode: true })
    await fresh.append('{}')
    await fresh.close()
  } finally {
    process.umask(old)
  }
  expect(modeOf(join(directory, 'fresh'))).toBe(0o600)
  for (const enforceMode of [false, true]) {
    const path = join(directory, `existing-${enforceMode}`)
    writeFileSync(path, '')
    chmodSync(path, 0o644)
    const file = new AppendFile(path, { enforceMode })
    await file.append('{}')
    await file.close()
    expect(modeOf(path)).toBe(enforceMode ? 0o600 : 0o644)
  }
})

test('a record cut at any byte costs itself only, also when the writer is already open', async () => {
  const whole = '{"id":1}\n{"id":2,"text":"é"}\n'
  const bytes = Buffer.from(whole)
  const directory = temporaryDirectory()
  for (let cut = 0; cut <= bytes.length; cut++) {
    for (const keptOpen of [false, true]) {
      const path = join(directory, `${cut}-${keptOpen}`)
      const file = new AppendFile(path)
      if (keptOpen) await file.append('{"id":0}')
      appendFileSync(path, bytes.subarray(0, cut))
      const torn = cut > 0 && bytes[cut - 1] !== 10
      const done = await file.append('{"id":9}')
      await file.close()
      expect(done.healed).toBe(torn)
      expect(
        readFileSync(path)
          .subarray(done.offset, done.offset + done.length)
          .toString(),
      ).toBe('{"id":9}\n')
      const found = ids(path)
      // A line that lacks nothing but its newline is a whole record.
      const expected = keptOpen ? [0] : []
      if (cut >= 8) expected.push(1)
      if (cut >= bytes.length - 1) expected.push(2)
      expect(found.filter((id) => typeof id === 'number')).toEqual([...expected, 9])
      expect(found.filter((id) => typeof id === 'string').length).toBe(
        torn && cut !== 8 && cut !== bytes.length - 1 ? 1 : 0,
      )
    }
  }
})

test('ends a tail of NULs, as ext4 leaves it after a power cut, before it writes', async () => {
  const path = join(temporaryDirectory(), 'log')
  writeFileSync(path, Buffer.concat([Buffer.from('{"id":1}\n'), Buffer.alloc(192)]))
  const file = new AppendFile(path)
  expect(await file.append('{"id":2}')).toMatchObject({ healed: true })
  await file.close()
  expect(ids(path)).toEqual([1, 'nul', 2])
})

test('an empty file, as left by a crash between creating and writing, is simply used', async () => {
  const path = join(temporaryDirectory(), 'log')
  writeFileSync(path, '')
  const file = new AppendFile(path, { flush: 'fdatasync' })
  expect(await file.append('{"id":1}')).toEqual({ offset: 0, length: 9, healed: false })
  await file.close()
})

test('a record longer than readers take is refused, and nothing is written', async () => {
  const path = join(temporaryDirectory(), 'log')
  const file = new AppendFile(path)
  await expect(file.append('x'.repeat(MAX_LINE_BYTES))).rejects.toMatchObject({ code: 'TOO_LARGE' })
  expect(statSync(path).size).toBe(0)
  await file.append('{"id":1}')
  await file.close()
  expect(ids(path)).toEqual([1])
})

test('refuses links, other names, pipes, sockets and directories, and leaves them as they were', async () => {
  const directory = temporaryDirectory()
  const outside = join(directory, 'outside')
  writeFileSync(outside, 'keep\n')
  const at = (name: string) => join(directory, name)
  symlinkSync(outside, at('link'))
  symlinkSync(at('nowhere'), at('dangling'))
  linkSync(outside, at('second-name'))
  mkdirSync(at('directory'))
  execFileSync('mkfifo', [at('pipe')])
  const server = createServer().listen(at('socket'))
  await new Promise((resolve) => server.once('listening', resolve))
  const expected = {
    link: 'UNSAFE_PATH',
    dangling: 'UNSAFE_PATH',
    'second-name': 'UNSAFE_PATH',
    directory: 'NOT_A_FILE',
    pipe: 'NOT_A_FILE',
    socket: 'NOT_A_FILE',
  }
  for (const [name, code] of Object.entries(expected)) {
    const file = new AppendFile(at(name))
    await expect(file.append('{}'), name).rejects.toMatchObject({ code })
    await file.close()
  }
  server.close()
  expect(readFileSync(outside, 'utf8')).toBe('keep\n')
  expect(readdirSync(directory)).not.toContain('nowhere')
})

test('a file in the place of the directory is named', async () => {
  const directory = temporaryDirectory()
  writeFileSync(join(directory, 'file'), '')
  const below = new AppendFile(join(directory, 'file', 'log'))
  await expect(below.append('{}')).rejects.toMatchObject({
    code: expect.stringMatching(/EXISTS|UNSAFE_PATH/),
  })
})

test('a hard link made while the file is open stops the writer until it is gone', async () => {
  const directory = temporaryDirectory()
  const path = join(directory, 'log')
  const file = new AppendFile(path)
  await file.append('{"id":1}')
  linkSync(path, join(directory, 'other'))
  await expect(file.append('{"id":2}')).rejects.toMatchObject({ code: 'UNSAFE_PATH' })
  await expect(file.append('{"id":2}')).rejects.toMatchObject({ code: 'UNSAFE_PATH' })
  rmSync(join(directory, 'other'))
  await file.append('{"id":3}')
  await file.close()
  expect(ids(path)).toEqual([1, 3])
})

test('a link swapped in for the directory between check and open does not lead outside', async () => {
  const directory = temporaryDirectory()
  const base = join(directory, 'base')
  const outside = join(directory, 'outside')
  mkdirSync(join(base, 'sessions'), { recursive: true })
  mkdirSync(outside)
  writeFileSync(join(outside, 'log'), 'keep\n')
  let checks = 0
  const file = new AppendFile(join(base, 'sessions', 'log'), {
    check: (path) => {
      checkNoLinks(base, path)
      if (++checks > 1) return
      renameSync(join(base, 'sessions'), join(base, 'moved'))
      symlinkSync(outside, join(base, 'sessions'))
    },
  })
  await expect(file.append('{}')).rejects.toMatchObject({ code: 'UNSAFE_PATH' })
  expect(readFileSync(join(outside, 'log'), 'utf8')).toBe('keep\n')
})

test('a path that leads to another file by the time it is open is refused', async () => {
  const directory = temporaryDirectory()
  const path = join(directory, 'log')
  writeFileSync(path, '')
  const file = new AppendFile(path)
  await file.append('{"id":1}')
  // A link to the very same file: what is written would be the same, but the path is no longer ours.
  renameSync(path, join(directory, 'moved'))
  symlinkSync(join(directory, 'moved'), path)
  await expect(file.append('{"id":2}')).rejects.toMatchObject({ code: 'REPLACED' })
  await expect(file.append('{"id":2}')).rejects.toMatchObject({ code: 'UNSAFE_PATH' })
  expect(ids(join(directory, 'moved'))).toEqual([1])
})

test('a shortened file is continued at its new end', async () => {
  const path = join(temporaryDirectory(), 'log')
  const file = new AppendFile(path)
  await file.append('{"id":1}')
  await file.append('{"id":2}')
  truncateSync(path, 12)
  expect(await file.append('{"id":3}')).toMatchObject({ offset: 13, healed: true })
  await file.close()
  expect(ids(path)).toEqual([1, 'not-json', 3])
})

test('releasing or closing while calls wait for the lock loses no call and no order', async () => {
  const path = join(temporaryDirectory(), 'log')
  const { tryLock, unlock } = await import('../src/files/lock.ts')
  const { closeSync, openSync } = await import('node:fs')
  const holder = openSync(path, 'a+', 0o600)
  expect(tryLock(holder)).toBe(true)
  const file = new AppendFile(path)
  const calls = [file.append('{"id":1}'), file.append('{"id":2}')]
  expect(file.busy).toBe(true)
  await new Promise((resolve) => setTimeout(resolve, 30))
  file.release()
  const closed = file.close()
  calls.push(file.append('{"id":3}'))
  // Another file may get the number of the released descriptor; it must not be locked or written in its place.
  const other = openSync(join(dirname(path), 'other'), 'a+', 0o600)
  await new Promise((resolve) => setTimeout(resolve, 30))
  unlock(holder)
  closeSync(holder)
  await Promise.all(calls)
  await closed
  closeSync(other)
  expect(ids(path)).toEqual([1, 2, 3])
  expect(statSync(join(dirname(path), 'other')).size).toBe(0)
  expect(file.busy).toBe(false)
})

test('one failing call among waiting ones fails alone', async () => {
  const path = join(temporaryDirectory(), 'log')
  const { tryLock } = await import('../src/files/lock.ts')
  const { closeSync, openSync } = await import('node:fs')
  const holder = openSync(path, 'a+', 0o600)
  tryLock(holder)
  const file = new AppendFile(path)
  const calls = [file.append('{"id":1}'), file.append('x'.repeat(MAX_LINE_BYTES)), file.append('{"id":3}')]
  closeSync(holder)
  const outcomes = await Promise.allSettled(calls)
  expect(outcomes.map((outcome) => outcome.status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  await file.close()
  expect(ids(path)).toEqual([1, 3])
})

test('waiting calls all give up when their own time is over, and nothing of them is written', async () => {
  const path = join(temporaryDirectory(), 'log')
  const { tryLock } = await import('../src/files/lock.ts')
  const { closeSync, openSync } = await import('node:fs')
  const holder = openSync(path, 'a+', 0o600)
  tryLock(holder)
  const file = new AppendFile(path, { lockTimeoutMs: 50 })
  const outcomes = await Promise.allSettled([1, 2, 3].map((id) => file.append(`{"id":${id}}`)))
  for (const outcome of outcomes) expect(outcome).toMatchObject({ reason: { code: 'LOCK_BUSY' } })
  closeSync(holder)
  await file.append('{"id":4}')
  await file.close()
  expect(ids(path)).toEqual([4])
})

test('writers that are never closed do not run the process out of descriptors', async () => {
  const directory = temporaryDirectory()
  const before = readdirSync('/proc/self/fd').length
  for (let i = 0; i < 300; i++) await new AppendFile(join(directory, `${i}`)).append('{"id":1}')
  expect(readdirSync('/proc/self/fd').length - before).toBeLessThanOrEqual(64)
})

test('with all of them waiting for a lock, one more file is still written', async () => {
  const { tryLock } = await import('../src/files/lock.ts')
  const { closeSync, openSync } = await import('node:fs')
  const directory = temporaryDirectory()
  const holders: number[] = []
  const waiting: Promise<unknown>[] = []
  for (let i = 0; i < 70; i++) {
    const path = join(directory, `${i}`)
    const holder = openSync(path, 'a+', 0o600)
    tryLock(holder)
    holders.push(holder)
    waiting.push(new AppendFile(path).append('{"id":1}'))
  }
  const free = new AppendFile(join(directory, 'free'))
  await free.append('{"id":1}')
  await free.append('{"id":2}')
  expect(ids(free.path)).toEqual([1, 2])
  for (const holder of holders) closeSync(holder)
  await Promise.all(waiting)
  for (let i = 0; i < 70; i++) expect(ids(join(directory, `${i}`))).toEqual([1])
})
