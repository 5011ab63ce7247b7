// Before any test: the built files, for tests that kill or install real programs; and one temporary directory for all of them.
// After the last: that directory has to be empty, or the run fails.
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { removeAll } from './temporary.ts'

export default function prepare(): () => void {
  if (!process.env['RECOLLECT_TEST_NO_BUILD']) build()
  const directory = mkdtempSync(join(tmpdir(), 'recollect-'))
  // One test runs as another user, who has to get in.
  chmodSync(directory, 0o755)
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

/** A build that works says nothing: `npm start` begins with one. */
function build(): void {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/build.mjs'], { encoding: 'utf8' })
  if (status !== 0 || stdout + stderr !== '')
    throw new Error(`the build ended with ${status} and said: ${stdout}${stderr}`)
}
