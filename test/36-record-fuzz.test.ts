// Random damage to real logs, and random ids: a reader gives records or gaps and nothing else, an id gives a path
// inside its directory or is refused. RECOLLECT_TEST_FUZZ sets the number each (`npm run test:fuzz`: 100,000).
import { closeSync, ftruncateSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import { expect, test } from 'vitest'
import { RecollectError } from '../src/errors.ts'
import { readJsonl } from '../src/files/jsonl.ts'
import { TranscriptWriter } from '../src/record/turns.ts'
import { formats } from './programs/formats.mjs'
import { amountOf, seedOf } from './setup/long.ts'
import { driver, temporaryDirectory } from './support/programs.ts'

const COUNT = amountOf('FUZZ', 1500, 100_000)
const SEED = seedOf(36)

/** Small, fast, repeatable (mulberry32). */
function randomFrom(seed: number): (below: number) => number {
  let state = seed >>> 0
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * below)
  }
}

const HOSTILE = [
  '\n',
  '\r\n',
  '\0',
  '\0\0\0\n',
  '{',
  '}',
  '[',
  ']',
  '"',
  '\\',
  ',',
  ':',
  '{}',
  '[]',
  'null',
  'true',
  '1e999',
  '-',
  '\ufeff',
  '\u2028',
  '\ud83d',
  '\\u0000',
  '\\ud800',
  '"__proto__":{"polluted":1},',
  '"constructor":{"prototype":{"polluted":1}},',
  '{"__proto__":{"polluted":1}}',
  '"toString":1,',
  '"toJSON":1,',
  '"then":1,',
  '"length":-1,',
  '"turnId":{},',
  '"ts":1e400,',
  '"role":"root",',
  '['.repeat(2000),
  '{"a":'.repeat(2000),
].map((text) => Buffer.from(text))

/** One to six changes: flip, cut, insert, repeat, move, blank out. */
function damage(bytes: Buffer, random: (below: number) => number): Buffer {
  let now = bytes
  for (let changes = 1 + random(6); changes > 0; changes--) {
    const at = random(now.length + 1)
    const length = random(Math.min(200, now.length - at + 1))
    const before = now.subarray(0, at)
    const piece = now.subarray(at, at + length)
    const after = now.subarray(at + length)
    const kind = random(7)
    if (kind === 0) now = Buffer.concat([before, Buffer.from([random(256)]), after])
    else if (kind === 1) now = Buffer.concat([before, after])
    else if (kind === 2)
      now = Buffer.concat([before, HOSTILE[random(HOSTILE.length)] as Buffer, piece, after])
    else if (kind === 3) now = Buffer.concat([before, piece, piece, after])
    else if (kind === 4) now = Buffer.concat([after, before, piece])
    else if (kind === 5) now = Buffer.concat([before, Buffer.alloc(length), after])
    else now = before
  }
  return now
}

/** Gives a file one content after another. It stays open: ext4 flushes a file that was emptied when it is closed. */
function rewriter(path: string): { put(bytes: Buffer): void; close(): void } {
  const fd = openSync(path, 'w', 0o600)
  return {
    put(bytes) {
      ftruncateSync(fd, bytes.length)
      if (bytes.length > 0) writeSync(fd, bytes, 0, bytes.length, 0)
    },
    close: () => closeSync(fd),
  }
}

function expectUnpolluted(): void {
  const plain = {} as Record<string, unknown>
  expect(plain['polluted'] ?? plain['toJSON'] ?? plain['then']).toBeUndefined()
  expect(Object.keys(Object.prototype)).toEqual([])
}

for (const format of Object.keys(formats)) {
  test(`${format}: ${COUNT} damaged logs (seed ${SEED}) give records or gaps`, async () => {
    const directory = temporaryDirectory()
    const writer = driver(format).open(directory, { flush: 'os' })
    for (let i = 0; i < 6; i++) await writer.append('w', i, 40 + i * 30)
    await writer.close()
    const path = driver(format).file(directory)
    const whole = readFileSync(path)
    const file = rewriter(path)
    const random = randomFrom(SEED)
    let recordCount = 0
    let gapCount = 0
    let refusedCount = 0
    for (let i = 0; i < COUNT; i++) {
      file.put(damage(whole, random))
      try {
        const { records, gaps } = await driver(format).readBack(directory)
        recordCount += records.length
        gapCount += gaps.length
      } catch (error) {
        // A format whose first line says what follows may refuse the whole, by name.
        if (
          !(
            (error as { code?: string }).code === 'CORRUPT' ||
            (error as { code?: string }).code === 'BAD_INPUT'
          )
        )
          throw error
        refusedCount++
      }
      if (i % 1000 === 0) expectUnpolluted()
    }
    file.close()
    expectUnpolluted()
    // Both happen all the time, or the damage is not what it should be.
    expect(recordCount).toBeGreaterThan(COUNT / 2)
    expect(gapCount).toBeGreaterThan(COUNT / 2)
    expect(refusedCount).toBeLessThan(COUNT / 4)
  })
}

test(`lines: ${COUNT} files of random pieces (seed ${SEED})`, () => {
  const path = join(temporaryDirectory(), 'log')
  const file = rewriter(path)
  const random = randomFrom(SEED + 1)
  for (let i = 0; i < COUNT; i++) {
    const pieces = Array.from({ length: random(12) }, () =>
      random(3) === 0
        ? Buffer.from(Array.from({ length: random(30) }, () => random(256)))
        : (HOSTILE[random(HOSTILE.length)] as Buffer),
    )
    const bytes = Buffer.concat(pieces)
    file.put(bytes)
    const options = {
      fromOffset: random(bytes.length + 2),
      splitJoined: random(2) === 0,
      maxLineBytes: 1 + random(5000),
    }
    let end = options.fromOffset
    for (const item of readJsonl(path, options)) {
      if (item.offset < end || item.offset + item.length > bytes.length)
        expect.fail(`item at ${item.offset} overlaps`)
      end = item.offset + item.length
    }
  }
  file.close()
  expectUnpolluted()
})

const NAME_PIECES = [
  '..',
  '.',
  '/',
  '\\',
  '\0',
  'a',
  'B',
  '~',
  ' ',
  '\n',
  '%2e',
  '%2f',
  '\u2215',
  '\uff0f',
  '\uff0e',
  '\u2025',
  '\u202e',
  '\u200b',
  'con',
  'nul',
  ':',
  '*',
  'é',
  'e\u0301',
  '\ud800',
  '日',
  '__proto__',
  'constructor',
  '$HOME',
  '`id`',
  '-',
  'x'.repeat(90),
]

test(`paths: ${COUNT} random ids (seed ${SEED}) stay inside or are refused`, () => {
  const base = temporaryDirectory()
  mkdirSync(join(base, 'agents'))
  const writer = new TranscriptWriter(base)
  const root = `${dirname(dirname(dirname(writer.resolvePath('a', 's'))))}${sep}`
  const random = randomFrom(SEED + 2)
  const id = () =>
    Array.from({ length: 1 + random(4) }, () =>
      random(4) === 0 ? String.fromCharCode(random(65_536)) : NAME_PIECES[random(NAME_PIECES.length)],
    ).join('')
  let insideCount = 0
  for (let i = 0; i < COUNT; i++) {
    const [agent, session] = [id(), id()]
    try {
      const path = writer.resolvePath(agent, session)
      insideCount++
      if (path !== `${root}${agent}${sep}sessions${sep}${session}.jsonl` || path.includes(`${sep}..${sep}`)) {
        expect.fail(`${JSON.stringify([agent, session])} became ${JSON.stringify(path)}`)
      }
    } catch (error) {
      if (!(error instanceof RecollectError) || !['BAD_NAME', 'UNSAFE_PATH'].includes(error.code)) throw error
    }
  }
  expect(insideCount).toBeGreaterThan(COUNT / 100)
  expect(insideCount).toBeLessThan(COUNT)
})
