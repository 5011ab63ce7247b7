// Before any test: the built files, for tests that kill or install real programs; and one temporary directory for all of them,
// in memory where that has room: hundreds of small memories are made and removed, each flushed to the disk many times over.
// After the last: that directory has to be empty, or the run fails.
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { IS_LONG } from './long.ts'
import { removeAll } from './temporary.ts'

export default function prepare(): () => void {
  if (!process.env['RECOLLECT_TEST_NO_BUILD']) build()
  const directory = inMemory() ?? newDirectory(tmpdir())
  process.env['TMPDIR'] = directory
  return () => {
    const left = readdirSync(directory)
    removeAll([directory])
    if (left.length === 0) return
    // What is thrown here vitest prints, and ends well all the same.
    process.exitCode = 1
    console.error(`\ntests left ${left.length} in the temporary directory: ${left.sort().join(', ')}`)
  }
}

function newDirectory(parent: string): string {
  const directory = mkdtempSync(join(parent, 'recollect-'))
  // One test runs as another user, who has to get in.
  chmodSync(directory, 0o755)
  return directory
}

const MEMORY = '/dev/shm'
/** The largest files of all tests that may run at a time, twice. */
const ROOM_BYTES = 6 * 2 ** 30

/** Not in the long run, which has the disk of the machine, nor where somebody chose a place; and programs must run there. */
function inMemory(): string | undefined {
  if (IS_LONG || process.env['TMPDIR'] !== undefined || !existsSync(MEMORY)) return undefined
  const { bavail, bsize } = statfsSync(MEMORY)
  if (Math.min(bavail * bsize, process.availableMemory()) < ROOM_BYTES) return undefined
  let directory: string | undefined
  try {
    directory = newDirectory(MEMORY)
    const program = join(directory, 'program')
    writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 })
    const { status } = spawnSync(program)
    rmSync(program)
    if (status === 0) return directory
  } catch {
    // Not ours to write in.
  }
  if (directory) removeAll([directory])
  return undefined
}

/** A build that works says nothing: `npm start` begins with one. */
function build(): void {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/build.mjs'], { encoding: 'utf8' })
  if (status !== 0 || stdout + stderr !== '')
    throw new Error(`the build ended with ${status} and said: ${stdout}${stderr}`)
}
