// Directories: creating them so that they survive a power cut, and flushing their entries.
import { closeSync, fsync, fsyncSync, mkdirSync, openSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { promisify } from 'node:util'
import { errnoOf, fromSystem, RecollectError } from '../errors.ts'

/** Flushes a directory's entries: a new or renamed file is only durable after this. */
export function syncDirectory(path: string): void {
  const fd = openDirectory(path)
  try {
    fsyncSync(fd)
  } catch (cause) {
    refuseUnflushed(cause, path)
  } finally {
    closeSync(fd)
  }
}

/** The same without waiting for the disk. */
export async function syncDirectoryAside(path: string): Promise<void> {
  const fd = openDirectory(path)
  try {
    await promisify(fsync)(fd)
  } catch (cause) {
    refuseUnflushed(cause, path)
  } finally {
    closeSync(fd)
  }
}

function openDirectory(path: string): number {
  try {
    return openSync(path, 'r')
  } catch (error) {
    throw fromSystem(error, 'cannot open directory', path)
  }
}

function refuseUnflushed(cause: unknown, path: string): void {
  // Some file systems cannot sync a directory and say so with EINVAL; nothing better can be done there.
  if (errnoOf(cause) === 'EINVAL') return
  throw new RecollectError('FLUSH_FAILED', 'the disk did not take the directory', {
    where: path,
    cause,
    hint: 'a new file in it may be lost at a power cut. Check the disk before writing on',
  })
}

/** Creates a directory and its parents; with `durable`, each new entry is flushed. */
export function ensureDirectory(path: string, mode: number, durable: boolean): void {
  const full = resolve(path)
  try {
    const first = makeDirectories(full, mode)
    if (first === undefined || !durable) return
    for (let made = full; made.length >= first.length; made = dirname(made)) syncDirectory(dirname(made))
  } catch (error) {
    throw fromSystem(error, 'cannot create directory', full)
  }
}

/**
 * Creates what is missing and returns the topmost directory made. Not mkdir's own `recursive`: it never ends where a file
 * system says "no such directory" for a name in one that is there, as some mounts do.
 */
export function makeDirectories(path: string, mode: number): string | undefined {
  const make = (): boolean => {
    try {
      mkdirSync(path, { mode })
      return true
    } catch (error) {
      if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return false
      throw error
    }
  }
  try {
    return make() ? path : undefined
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT' || path === dirname(path)) throw error
    const first = makeDirectories(dirname(path), mode)
    return make() ? (first ?? path) : first
  }
}

export function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}
