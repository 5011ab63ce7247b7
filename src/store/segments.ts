// Payload bytes on disk: one append-only file per session, made of compressed chunks. Dropping a session's raw bytes is
// one unlink, which also works when the disk is full. The database says which chunk holds which payload; bytes past the
// committed size are left over from a crash and are cut off before the next append.

import {
  closeSync,
  constants,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { errnoOf, fromSystem, RecollectError } from '../errors.ts'
import { zlib } from '../files/builtin.ts'
import { ensureDirectory, syncDirectory, syncDirectoryAside } from '../files/directory.ts'
import { sha1 } from '../files/sha1.ts'

const MAGIC = 0x314b4352 // "RCK1"
export const HEADER_BYTES = 16
const CODEC_BROTLI = 1
/** Larger chunks compress little better and cost more to read one event from. */
export const CHUNK_BYTES = 256 * 1024

export const segmentPath = (directory: string, sessionUid: string): string => {
  const name = sha1(sessionUid)
  return join(directory, name.slice(0, 2), `${name}.seg`)
}

/** Quality 2: a twelfth smaller than 1, for about 3 % of a sweep's time; higher levels cost more than they save (docs/decisions). */
export function compressChunk(raw: Uint8Array): Buffer {
  const { brotliCompressSync, constants } = zlib()
  const body = brotliCompressSync(raw, {
    params: { [constants.BROTLI_PARAM_QUALITY]: 2, [constants.BROTLI_PARAM_SIZE_HINT]: raw.length },
  })
  const header = Buffer.alloc(HEADER_BYTES)
  header.writeUInt32LE(MAGIC, 0)
  header.writeUInt32LE(CODEC_BROTLI, 4)
  header.writeUInt32LE(raw.length, 8)
  header.writeUInt32LE(body.length, 12)
  return Buffer.concat([header, body])
}

/** Appends to many segments and flushes them together: a journaling file system then writes its journal once, not for each. */
export class SegmentWriter {
  readonly #open: { fd: number; path: string }[] = []
  /** Directories with a new file in them: its name has to survive a power cut as well. */
  readonly #changed = new Set<string>()

  get isFull(): boolean {
    return this.#open.length >= MAX_OPEN
  }

  /** Appends chunks at the committed size; returns the new size, which the caller commits after `flush`. */
  append(path: string, committedSize: number, chunks: readonly Buffer[]): number {
    if (this.isFull) this.flush()
    try {
      const fd = this.#openForAppending(path)
      this.#open.push({ fd, path })
      // Also one that a run made which did not come to flush it.
      if (committedSize === 0) this.#changed.add(dirname(path))
      // Longer: left over from a crash. Shorter: somebody cut the file; the hole is named by verify, and all else goes on.
      if (fstatSync(fd).size !== committedSize) ftruncateSync(fd, committedSize)
      let at = committedSize
      for (const chunk of chunks) {
        for (let done = 0; done < chunk.length; )
          done += writeSync(fd, chunk, done, chunk.length - done, at + done)
        at += chunk.length
      }
      return at
    } catch (error) {
      this.close()
      throw fromSystem(error, 'cannot write payloads', path)
    }
  }

  flush(): void {
    let at = ''
    try {
      for (const { fd, path } of this.#open) {
        at = path
        fdatasyncSync(fd)
      }
    } catch (error) {
      throw fromSystem(error, 'cannot write payloads', at)
    } finally {
      this.close()
    }
    for (const directory of this.#changed) syncDirectory(directory)
    this.#changed.clear()
  }

  /** All at once: what waits for a disk side by side is taken in one go, many times sooner than one after another (docs/decisions/0083). */
  async flushAside(): Promise<void> {
    const files = this.#open.splice(0)
    try {
      await allOf(files, async ({ fd, path }) => {
        try {
          await promisify(fdatasync)(fd)
        } catch (error) {
          throw fromSystem(error, 'cannot write payloads', path)
        }
      })
    } finally {
      for (const { fd } of files) closeSync(fd)
    }
    const directories = [...this.#changed]
    for (let at = 0; at < directories.length; at += MAX_OPEN)
      await allOf(directories.slice(at, at + MAX_OPEN), syncDirectoryAside)
    this.#changed.clear()
  }

  /** Without flushing: nothing will be committed. */
  close(): void {
    for (const { fd } of this.#open) closeSync(fd)
    this.#open.length = 0
  }

  #openForAppending(path: string): number {
    const flags = constants.O_RDWR | constants.O_NOFOLLOW
    try {
      return openSync(path, flags)
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT') throw error
    }
    ensureDirectory(dirname(path), 0o700, true)
    return openSync(path, flags | constants.O_CREAT, 0o600)
  }
}

/** Files open at a time. */
const MAX_OPEN = 128

/** Throws the first failure, but not before all of it has ended. */
async function allOf<T>(list: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  for (const result of await Promise.allSettled(list.map(work)))
    if (result.status === 'rejected') throw result.reason
}

/** The same for one segment alone. */
export function appendChunks(path: string, committedSize: number, chunks: readonly Buffer[]): number {
  const writer = new SegmentWriter()
  const size = writer.append(path, committedSize, chunks)
  writer.flush()
  return size
}

const damaged = (where: string, what: string): RecollectError =>
  new RecollectError('CORRUPT', what, { where, hint: 'run: recollect verify' })

/** What stands at the head of a chunk: how long it is, packed and unpacked. Undefined where there is none. */
export const chunkHeader = (header: Buffer): { raw: number; packed: number } | undefined =>
  header.readUInt32LE(0) === MAGIC && header.readUInt32LE(4) === CODEC_BROTLI
    ? { raw: header.readUInt32LE(8), packed: header.readUInt32LE(12) }
    : undefined

/** The decompressed chunk that starts at `offset`. */
export function readChunk(path: string, offset: number): Buffer {
  let fd: number | undefined
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW)
    const header = Buffer.alloc(HEADER_BYTES)
    const got = readSync(fd, header, 0, HEADER_BYTES, offset)
    const lengths = got === HEADER_BYTES ? chunkHeader(header) : undefined
    if (lengths === undefined) throw damaged(path, `no chunk at byte ${offset}`)
    const length = lengths.packed
    if (offset + HEADER_BYTES + length > fstatSync(fd).size) {
      throw damaged(path, `chunk at byte ${offset} is cut short`)
    }
    const body = Buffer.alloc(length)
    readSync(fd, body, 0, length, offset + HEADER_BYTES)
    const raw = decompress(body, lengths.raw)
    if (raw === undefined) {
      throw damaged(path, `chunk at byte ${offset} is damaged`)
    }
    return raw
  } catch (error) {
    throw fromSystem(error, 'cannot read payload', path, 'read')
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

/** A damaged header may ask for any length. */
const MAX_PIECE = 1 << 22

function decompress(body: Buffer, length: number): Buffer | undefined {
  try {
    const raw = zlib().brotliDecompressSync(body, {
      maxOutputLength: Math.max(1, length),
      // In one piece: small ones would be put together afterwards. One byte more, or an empty second piece is made.
      chunkSize: Math.min(Math.max(64, length + 1), MAX_PIECE),
    })
    return raw.length === length ? raw : undefined
  } catch {
    return undefined
  }
}

/** True if there was a file to remove. */
export function removeSegment(path: string): boolean {
  try {
    unlinkSync(path)
    return true
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return false
    throw fromSystem(error, 'cannot remove payloads', path)
  }
}
