// Before any test: the built files, for tests that kill or install real programs; and one temporary directory for all of them.
// Workers may be ended before their own clearing up runs; this directory goes whatever they left in it.
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export default function prepare(): () => void {
  const directory = mkdtempSync(join(tmpdir(), 'recollect-'))
  // One test runs as another user, who has to get in.
  chmodSync(directory, 0o755)
  process.env['TMPDIR'] = directory
  if (!process.env['RECOLLECT_TEST_NO_BUILD'])
    execFileSync('npx', ['tsdown', '--logLevel', 'error'], { stdio: 'inherit' })
  // Not rmSync: some tests make paths longer than a system call takes.
  return () => execFileSync('rm', ['-rf', '--one-file-system', directory])
}
