// Tests that kill or install real programs need the built files: built once before any test runs.
import { execFileSync } from 'node:child_process'

export default function build(): void {
  if (process.env['RECOLLECT_TEST_NO_BUILD']) return
  execFileSync('npx', ['tsdown', '--logLevel', 'error'], { stdio: 'inherit' })
}
