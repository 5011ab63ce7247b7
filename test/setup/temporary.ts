// Directories for the time of a test file: ending.ts removes them when it ends.
import { execFileSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const made: string[] = []

export function temporary(name: string): string {
  return removedAtEnd(mkdtempSync(join(tmpdir(), `recollect-${name}-`)))
}

export function removedAtEnd(directory: string): string {
  made.push(directory)
  return directory
}

/** Not rmSync: some tests make paths longer than a system call takes. */
export const removeAll = (directories: readonly string[]): void => {
  if (directories.length > 0) execFileSync('rm', ['-rf', '--one-file-system', ...directories])
}

export const removeTemporary = (): void => removeAll(made.splice(0))
