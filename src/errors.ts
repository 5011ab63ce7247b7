// The one error class. It owns the list of codes; callers match on `code`, never on text.
import { constants } from 'node:os'

/** Every code, with what it means. Additive only: other programs match on these. */
export const ERROR_CODES = {
  BAD_INPUT: 'a value given to us breaks the rules of its format',
  BAD_NAME: 'an id cannot safely become a file name',
  UNSAFE_PATH: 'a path leads, or could lead, outside the directory it belongs to',
  NOT_FOUND: 'the thing asked for does not exist',
  NO_MEMORY: 'nothing was ever swept into the memory asked for',
  AMBIGUOUS: 'what was typed fits more than one thing',
  EXISTS: 'the thing to be created already exists',
  CLOSED: 'the writer was closed or finished before this call',
  NOT_WRITABLE: 'the file or directory may not be written to',
  NOT_READABLE: 'the file or directory may not be read',
  NOT_A_FILE: 'something other than a regular file stands at the path',
  GONE: 'the file or its directory was deleted while in use',
  REPLACED: 'another file stands where the one in use was',
  DISK_FULL: 'no space or quota is left',
  TOO_LARGE: 'a limit on size was passed',
  IO: 'the operating system reported an input or output error',
  FLUSH_FAILED: 'the kernel could not flush to the disk; what it held may be lost',
  INTERLEAVED: 'another program wrote into the middle of a record',
  LOCK_BUSY: 'another process kept the lock for longer than we wait',
  REFUSED: 'another program did not do what it was asked to',
  BUSY: 'another process is doing this work right now',
  LOCK_UNAVAILABLE: 'kernel file locks cannot be used here',
  UNREACHABLE: 'a server did not answer, or not as it should',
  OTHER_SCHEMA: 'the database was made by another version of this program',
  CORRUPT: 'stored bytes are not what they should be',
  BAD_CONFIG: 'a setting has an impossible value',
  USAGE: 'the command line was not understood',
  INTERNAL: 'a fault of this program itself',
} as const

export type ErrorCode = keyof typeof ERROR_CODES

export interface ErrorDetails {
  /** The path, id, line or option the error is about. */
  where: string
  /** What the reader can do about it. */
  hint: string
  /** What was caught, where this error stands for another one. */
  cause?: unknown
}

/** An error that says what failed (message), which kind it is (code), where, why (cause) and what to try (hint). */
export class RecollectError extends Error {
  override readonly name = 'RecollectError'
  readonly code: ErrorCode
  readonly where: string
  readonly hint: string

  constructor(code: ErrorCode, what: string, details: ErrorDetails) {
    super(what, details.cause === undefined ? undefined : { cause: details.cause })
    this.code = code
    this.where = details.where
    this.hint = details.hint
  }

  /** The shape `--json` and the record pipe print. */
  toJSON(): { code: ErrorCode; message: string; where: string; hint: string; cause?: string } {
    const { code, message, where, hint } = this
    const cause = causeOf(this)
    return { code, message, where, hint, ...(cause === undefined ? {} : { cause }) }
  }
}

/** Why, in words; undefined where there is no other error behind it, or the message has its words already. */
export function causeOf({ message, cause }: RecollectError): string | undefined {
  const words = cause === undefined ? '' : wordsOf(cause)
  return message.includes(words) ? undefined : words
}

export const hasCode = (thrown: unknown, code: ErrorCode): boolean =>
  thrown instanceof RecollectError && thrown.code === code

/** What was thrown, in words. */
export function wordsOf(thrown: unknown): string {
  if (thrown instanceof Error) return thrown.message || thrown.name
  try {
    return String(thrown)
  } catch {
    return typeof thrown
  }
}

const BY_ERRNO: Record<string, [ErrorCode, string]> = {
  ENOSPC: ['DISK_FULL', 'free some space, then try again'],
  EDQUOT: ['DISK_FULL', 'raise the quota or free some space, then try again'],
  EFBIG: ['TOO_LARGE', 'raise the file size limit (ulimit -f) or start a new session'],
  EACCES: ['NOT_WRITABLE', 'check owner and permissions'],
  EPERM: ['NOT_WRITABLE', 'check owner, permissions and file attributes (lsattr)'],
  EROFS: ['NOT_WRITABLE', 'the file system is mounted read-only: remount it or choose another directory'],
  ENOENT: ['GONE', 'the directory was removed: restore it, or append again to start anew'],
  ESTALE: ['GONE', 'the network file system lost the file: mount it again'],
  EEXIST: ['EXISTS', 'something else stands at the path: move it away'],
  ENOTDIR: ['UNSAFE_PATH', 'a file stands where a directory should be'],
  EISDIR: ['NOT_A_FILE', 'a directory stands where the file should be'],
  ENXIO: ['NOT_A_FILE', 'a pipe, socket or device stands where the file should be'],
  ELOOP: ['UNSAFE_PATH', 'symbolic links are not followed here: use a real file'],
  ENAMETOOLONG: ['BAD_NAME', 'use a shorter id'],
  EMFILE: ['IO', 'too many open files: raise ulimit -n or close some'],
  ENFILE: ['IO', 'the system has too many open files'],
  EADDRINUSE: ['IO', 'another program listens there: choose another port'],
  EIO: ['IO', 'the disk or file system failed: check the system log before writing on'],
}

/** The errno of a system error, or undefined. */
export function errnoOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code
  return typeof code === 'string' ? code : undefined
}

/** Turns what the operating system threw into a RecollectError; one of ours passes through unchanged. */
export function fromSystem(
  error: unknown,
  what: string,
  where: string,
  use: 'read' | 'write' = 'write',
): RecollectError {
  if (error instanceof RecollectError) return error
  const errno = errnoOf(error)
  const known = errno === undefined ? undefined : BY_ERRNO[errno]
  let code: ErrorCode = known?.[0] ?? 'IO'
  if (use === 'read' && code === 'NOT_WRITABLE') code = 'NOT_READABLE'
  if (use === 'read' && errno === 'ENOENT') code = 'NOT_FOUND'
  const hint = use === 'read' && errno === 'ENOENT' ? 'check the path' : (known?.[1] ?? MEND)
  return new RecollectError(code, `${what}${errno ? ` (${errno})` : ''}`, { where, hint, cause: error })
}

const MEND = 'mend what the cause says, then try again'

const THE_MEMORY = 'memory.db, or cache.db in cache/'
const SALVAGE = 'run: recollect sweep --repair, which saves what can be read and keeps the damaged file'

/** SQLite's own numbers (https://sqlite.org/rescode.html), without what extends them. */
const BY_SQLITE: Record<number, [ErrorCode, string]> = {
  5: ['BUSY', 'another program keeps the database locked: end it, then try again'],
  8: ['NOT_WRITABLE', 'check owner and permissions of the file and its directory'],
  10: ['IO', 'the disk or file system failed: check the system log'],
  11: ['CORRUPT', SALVAGE],
  13: ['DISK_FULL', 'free some space, then try again'],
  14: ['NOT_WRITABLE', 'check owner and permissions of the file and its directory'],
  26: ['CORRUPT', SALVAGE],
}
const NO_SPACE: readonly unknown[] = [constants.errno.ENOSPC, constants.errno.EDQUOT]

/**
 * SQLite's own words (`sqlite3_errstr`) for those numbers. The driver leaves the number out where several rows are read, and
 * for a stored text that a query takes for JSON, and is none, SQLite itself has none.
 */
const BY_WORDS: readonly [words: string, number][] = [
  ['database is locked', 5],
  ['attempt to write a readonly database', 8],
  ['disk I/O error', 10],
  ['database disk image is malformed', 11],
  ['malformed JSON', 11],
  // Ours are there, in every version that is opened: where one is not, what tells of them is damaged.
  ['no such column: ', 11],
  ['no such table: ', 11],
  ['has no column named ', 11],
  ['database or disk is full', 13],
  ['unable to open database file', 14],
  ['file is not a database', 26],
]

interface SqliteError extends Error {
  code?: unknown
  errcode?: number
  systemErrno?: number
}

function numberOf({ message, errcode, systemErrno }: SqliteError): number {
  // A full disk also shows as an I/O error: where the shared memory beside the log cannot grow.
  if (NO_SPACE.includes(systemErrno)) return 13
  if (errcode !== undefined && errcode !== 1) return errcode & 0xff
  return BY_WORDS.find(([words]) => message.includes(words))?.[1] ?? 0
}

/** Says what kind of failure it was; an error that is none of SQLite's passes as it is. */
export function fromSqlite(error: unknown, what: string, where: string): unknown {
  if (!(error instanceof Error) || (error as SqliteError).code !== 'ERR_SQLITE_ERROR') return error
  const known = BY_SQLITE[numberOf(error)]
  if (!known) return error
  const [name, hint] = known
  return new RecollectError(name, `${what}: ${(error as Error).message}`, { where, cause: error, hint })
}

/** A value that we stored as JSON; throws CORRUPT where it is none any more. */
export function parseStored<T>(text: string): T {
  try {
    return JSON.parse(text) as T
  } catch (cause) {
    throw badValue(cause)
  }
}

/** For a value in a row that is not what was put there. */
export const badValue = (cause: unknown): RecollectError =>
  new RecollectError('CORRUPT', 'a stored value cannot be understood', {
    where: THE_MEMORY,
    cause,
    hint: SALVAGE,
  })

/** Turns what nobody foresaw into an error that says so; one of ours passes through unchanged. */
export function fromUnforeseen(thrown: unknown): RecollectError {
  const error = fromSqlite(thrown, 'the memory cannot be used', THE_MEMORY)
  if (error instanceof RecollectError) return error
  const frame = error instanceof Error ? /^ +at (.+)$/m.exec(error.stack ?? '')?.[1] : undefined
  return new RecollectError('INTERNAL', String(error), {
    where: frame ?? 'recollect',
    hint: 'this is a fault of recollect: please report it, with what stands here',
  })
}

/** What stands at a path is no regular file, and nothing else is read or written. */
export function notAFile(path: string): RecollectError {
  return new RecollectError('NOT_A_FILE', 'not a regular file', {
    where: path,
    hint: 'a directory, pipe, socket or device stands there: move it away, or name another path',
  })
}
