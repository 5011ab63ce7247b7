// Where a team server keeps segments: a directory, or a bucket of an S3-compatible store. Named by what they hold, and by
// team: nobody learns from an answer what another team has. A blob is there whole or not at all, and is never replaced.
import { createHash, randomBytes } from 'node:crypto'
import { linkSync, readdirSync, readFileSync, statSync, unlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { errnoOf, fromSystem, RecollectError } from '../errors.ts'
import { ensureDirectory, syncDirectory } from '../files/directory.ts'
import { replaceFile } from '../files/replace.ts'
import { s3Blobs } from './s3.ts'

export interface BlobStore {
  /** False where it was there before. Returns when it is safe. */
  put(name: string, bytes: Buffer): Promise<boolean>
  get(name: string): Promise<Buffer | undefined>
  has(name: string): Promise<boolean>
  /** Also of one that is not there. */
  remove(name: string): Promise<void>
  /** Names with when each was put, in epoch milliseconds. */
  list(): AsyncIterable<{ name: string; putAt: number }>
}

const HASH = /^[0-9a-f]{64}$/

/** Of a segment of a team; a hash that is none becomes no name. */
export function blobName(team: string, sha256: string): string {
  if (!HASH.test(sha256))
    throw new RecollectError('BAD_NAME', 'a segment is named by the SHA-256 of its bytes', {
      where: 'sha256',
      hint: 'send 64 hexadecimal digits, in small letters',
    })
  return `${teamName(team)}/${sha256.slice(0, 2)}/${sha256}`
}

/** Names of teams are typed by people: they may hold anything. */
export const teamName = (team: string): string => createHash('sha256').update(team).digest('hex').slice(0, 16)

/** `dir:/var/lib/recollect`, or `s3://bucket/prefix`. */
export function openBlobs(setting: string, env: Record<string, string | undefined>): BlobStore {
  if (setting.startsWith('dir:/')) return directoryBlobs(setting.slice('dir:'.length))
  if (setting.startsWith('s3://')) return s3Blobs(setting, env)
  throw new RecollectError('BAD_CONFIG', 'serve.blobs is neither a directory nor a bucket', {
    where: 'serve.blobs',
    hint: 'dir:/var/lib/recollect/blobs, or s3://bucket/prefix',
  })
}

function directoryBlobs(root: string): BlobStore {
  ensureDirectory(root, 0o700, true)
  return {
    async put(name, bytes) {
      const path = join(root, name)
      ensureDirectory(dirname(path), 0o700, true)
      const temporary = `${path}.${randomBytes(6).toString('hex')}.part`
      replaceFile(temporary, bytes, { tidy: false })
      try {
        // A link, not a rename: what is there stays. From here on a crash leaves it whole.
        linkSync(temporary, path)
        syncDirectory(dirname(path))
        return true
      } catch (error) {
        if (errnoOf(error) === 'EEXIST') return false
        throw fromSystem(error, 'cannot keep a segment', path)
      } finally {
        removeIfThere(temporary)
      }
    },
    async get(name) {
      try {
        return readFileSync(join(root, name))
      } catch (error) {
        if (errnoOf(error) === 'ENOENT') return undefined
        throw fromSystem(error, 'cannot read a segment', join(root, name), 'read')
      }
    },
    has: async (name) => statSync(join(root, name), { throwIfNoEntry: false })?.isFile() ?? false,
    remove: async (name) => removeIfThere(join(root, name)),
    async *list() {
      for (const entry of readdirSync(root, { recursive: true, encoding: 'utf8' })) {
        const stats = statSync(join(root, entry), { throwIfNoEntry: false })
        if (stats?.isFile()) yield { name: entry, putAt: stats.mtimeMs }
      }
    },
  }
}

function removeIfThere(path: string): void {
  try {
    unlinkSync(path)
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw fromSystem(error, 'cannot remove a segment', path)
  }
}
