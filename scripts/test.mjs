// `npm test`, behind the checks: all test files beside each other. Files that fail there are run once more, one after another: a
// fault fails again, and ends the command with 1; what passes alone failed for want of time, and is named as such (note 0074).
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'

/** More than these is no accident of a busy machine. */
const MOST_FILES_AGAIN = 5

const root = join(import.meta.dirname, '..')
const place = mkdtempSync(join(tmpdir(), 'recollect-test-'))
const report = join(place, 'report.json')

function run(words, env = {}) {
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
  const args = [vitest, 'run', '--configLoader', 'runner', ...words]
  const options = { cwd: root, stdio: 'inherit', env: { ...process.env, ...env } }
  return spawnSync(process.execPath, args, options).status === 0
}

/** Undefined where no file is to blame: the run did not begin, or left something behind. */
function failedFiles() {
  try {
    const { testResults } = JSON.parse(readFileSync(report, 'utf8'))
    const failed = testResults.filter(({ status }) => status === 'failed')
    return failed.length > 0 ? failed.map(({ name }) => relative(root, name)) : undefined
  } catch {
    return undefined
  }
}

function test(words) {
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  if (run([...words, ...reporters])) return true
  const failed = failedFiles()
  if (!failed || failed.length > MOST_FILES_AGAIN) return false
  console.log(`\nonce more, one after another: ${failed.join(', ')}`)
  if (!run([...words, '--no-file-parallelism', ...failed], { RECOLLECT_TEST_NO_BUILD: '1' })) return false
  console.log(`\nfailed beside the others, passed alone, and should do both: ${failed.join(', ')}`)
  return true
}

try {
  process.exitCode = test(process.argv.slice(2)) ? 0 : 1
} finally {
  rmSync(place, { recursive: true, force: true })
}
