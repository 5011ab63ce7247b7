// Directories: creating them so that they survive a power cut, and flushing their entries.
import { closeSync, fsyncSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { errnoOf, fromSystem } from '../errors.ts'

/** Flushes a directory's entries: a new or renamed file is only durable after this. */
export function syncDirectory(path: string): void {
  let fd: number | undefined
  try {
    fd = openSync(path, 'r')
    fsyncSync(fd)
  } catch (error) {
    // Some file systems cannot sync a directory and say so with EINVAL; nothing better can be done there.
    if (errnoOf(error) !== 'EINVAL') throw fromSystem(error, 'cannot flush directory', path)
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

/** Creates a directory and its parents; with `durable`, each new entry is flushed. */
export function ensureDirectory(path: string, mode: number, durable: boolean): void {
  try {
    const first = mkdirSync(path, { recursive: true, mode })
    if (first === undefined || !durable) return
    for (let made = path; made.length >= first.length; made = dirname(made)) syncDirectory(dirname(made))
  } catch (error) {
    throw fromSystem(error, 'cannot create directory', path)
  }
}
