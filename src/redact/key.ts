// The local key of the markers' digests. It makes equal secrets recognisable on this machine and tells nothing to
// anybody else; it is created once and is never part of an export.
import { randomBytes } from 'node:crypto'
import {
  closeSync,
  constants,
  fdatasyncSync,
  fstatSync,
  linkSync,
  openSync,
  readSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { errnoOf, fromSystem, RecollectError } from '../errors.ts'
import { ensureDirectory, syncDirectory } from '../files/directory.ts'
import { removeQuietly } from '../files/replace.ts'

const KEY_BYTES = 32

/** The key at `path`, 32 random bytes; made on first use. Refuses a file that others can read. */
export function loadRedactionKey(path: string): Uint8Array {
  const existing = readKey(path)
  if (existing) return existing
  ensureDirectory(dirname(path), 0o700, true)
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`
  try {
    writeKey(temporary)
    // A link, not a rename: of two processes that start at once, the second must not replace the first one's key.
    linkSync(temporary, path)
    syncDirectory(dirname(path))
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw fromSystem(error, 'cannot create the redaction key', path)
  } finally {
    removeQuietly(temporary)
  }
  const created = readKey(path)
  if (created) return created
  throw new RecollectError('GONE', 'the redaction key vanished while it was created', {
    where: path,
    hint: 'something removes files there: stop it, then run the command again',
  })
}

function writeKey(path: string): void {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
  const fd = openSync(path, flags, 0o600)
  try {
    writeSync(fd, randomBytes(KEY_BYTES))
    fdatasyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

function readKey(path: string): Uint8Array | undefined {
  let fd: number
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined
    throw fromSystem(error, 'cannot open the redaction key', path, 'read')
  }
  try {
    const stats = fstatSync(fd)
    const key = Buffer.alloc(KEY_BYTES + 1)
    if (!stats.isFile() || readSync(fd, key, 0, KEY_BYTES + 1, 0) !== KEY_BYTES) {
      throw new RecollectError('CORRUPT', 'the redaction key is not 32 bytes', {
        where: path,
        hint: 'restore it from a backup; a new key makes old and new markers of one secret differ',
      })
    }
    if ((stats.mode & 0o077) !== 0) {
      throw new RecollectError('UNSAFE_PATH', 'the redaction key can be read by others', {
        where: path,
        hint: `chmod 600 ${path}`,
      })
    }
    return Uint8Array.from(key.subarray(0, KEY_BYTES))
  } finally {
    closeSync(fd)
  }
}
