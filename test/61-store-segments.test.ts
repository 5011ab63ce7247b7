// Payload files: what was appended comes back, what a crash left over is cut off, what is damaged is named.

import { createHash } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { sha1 } from '../src/files/sha1.ts'
import { appendChunks, compressChunk, readChunk, removeSegment, segmentPath } from '../src/store/segments.ts'
import fc from './setup/properties.ts'
import { temporary } from './setup/sweeping.ts'

let directory: string
let path: string
beforeEach(() => {
  directory = temporary('segments')
  path = segmentPath(directory, 'flavor:one')
})

const chunk = (text: string): Buffer => compressChunk(Buffer.from(text))
const corrupt = expect.objectContaining({ code: 'CORRUPT' })

describe('a segment', () => {
  it('gives back every chunk from its offset', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 3000 }), { minLength: 1, maxLength: 6 }), (bodies) => {
        removeSegment(path)
        const offsets: number[] = []
        let size = 0
        for (const body of bodies) {
          offsets.push(size)
          size = appendChunks(path, size, [compressChunk(body)])
        }
        expect(statSync(path).size).toBe(size)
        for (const [at, body] of bodies.entries())
          expect(Buffer.compare(readChunk(path, offsets[at] as number), body)).toBe(0)
      }),
      { numRuns: 30 },
    )
  })

  it('is compressed, private, and named after the session without its characters', () => {
    appendChunks(path, 0, [chunk('x'.repeat(100_000))])
    expect(statSync(path).size).toBeLessThan(1000)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(statSync(dirname(path)).mode & 0o777).toBe(0o700)
    expect(dirname(dirname(segmentPath(directory, '../../etc:/passwd\0')))).toBe(directory)
  })

  it('is named by the SHA-1 of the uid', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (uid) => {
        expect(sha1(uid)).toBe(createHash('sha1').update(uid).digest('hex'))
      }),
    )
    expect(path).toContain(sha1('flavor:one'))
  })

  it('loses what a crash left behind its committed size, before the next chunk is written', () => {
    const first = appendChunks(path, 0, [chunk('first')])
    appendChunks(path, first, [chunk('never committed, and longer than what follows it')])
    appendChunks(path, first, [chunk('second')])
    expect(readChunk(path, first).toString()).toBe('second')
    expect(statSync(path).size).toBe(first + chunk('second').length)
  })

  it('is gone when it is removed', () => {
    appendChunks(path, 0, [chunk('x')])
    expect(removeSegment(path)).toBe(true)
    expect(existsSync(path)).toBe(false)
    expect(removeSegment(path)).toBe(false)
  })
})

describe('damage', () => {
  it('of any byte of a chunk is noticed or harmless, never another text', () => {
    const body = 'what was said '.repeat(50)
    appendChunks(path, 0, [chunk(body)])
    const bytes = readFileSync(path)
    for (let at = 0; at < bytes.length; at++) {
      const broken = Buffer.from(bytes)
      broken[at] = (broken[at] as number) ^ 0x55
      writeFileSync(path, broken)
      let read: string | undefined
      try {
        read = readChunk(path, 0).toString()
      } catch {
        continue
      }
      // The codec has no checksum: the hash in the payload's name is what verify compares.
      expect(read.length).toBe(body.length)
    }
  })

  it('by cutting is named', () => {
    const end = appendChunks(path, 0, [chunk('whole')])
    truncateSync(path, end - 1)
    expect(() => readChunk(path, 0)).toThrow(corrupt)
    truncateSync(path, 7)
    expect(() => readChunk(path, 0)).toThrow(corrupt)
  })

  it('does not stop the next append', () => {
    const end = appendChunks(path, 0, [chunk('lost')])
    removeSegment(path)
    const next = appendChunks(path, end, [chunk('kept')])
    expect(next).toBe(end + chunk('kept').length)
    expect(readChunk(path, end).toString()).toBe('kept')
    expect(() => readChunk(path, 0)).toThrow(corrupt)
  })

  it('a wrong offset is named', () => {
    appendChunks(path, 0, [chunk('x')])
    expect(() => readChunk(path, 3)).toThrow(corrupt)
    expect(() => readChunk(path, 1e9)).toThrow(corrupt)
  })

  it('a header that promises more than there is does not allocate it', () => {
    const header = Buffer.alloc(16)
    appendChunks(path, 0, [chunk('x')])
    readFileSync(path).copy(header, 0, 0, 16)
    header.writeUInt32LE(0xffffffff, 12)
    writeFileSync(path, header)
    expect(() => readChunk(path, 0)).toThrow(corrupt)
  })

  it('a link in its place is not followed', () => {
    const other = join(directory, 'other')
    writeFileSync(other, 'precious')
    mkdirSync(dirname(path), { recursive: true })
    symlinkSync(other, path)
    expect(() => appendChunks(path, 0, [chunk('x')])).toThrow(
      expect.objectContaining({ code: 'UNSAFE_PATH' }),
    )
    expect(readFileSync(other, 'utf8')).toBe('precious')
    chmodSync(other, 0o600)
  })
})
