// The suite leaves nothing: a test file that does fails, or the run, even though all its tests pass. And a file that fails beside
// others is run once more by itself.
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { expect, it } from 'vitest'
import { temporary } from './setup/temporary.ts'

const VITEST = ['node_modules/vitest/vitest.mjs', 'run', '--configLoader', 'runner']
const NPM_TEST = ['scripts/test.mjs']

function run(command: string[], ...names: string[]): { status: number | null; said: string; left: string[] } {
  const TMPDIR = temporary('run')
  const args = [...command, '-c', 'test/programs/leaving/vitest.config.ts', ...names]
  const env = {
    ...process.env,
    TMPDIR,
    NO_COLOR: '1',
    RECOLLECT_TEST_NO_BUILD: '1',
    RECOLLECT_TEST_ENDING_MS: '500',
    RECOLLECT_TEST_ONCE: temporary('once'),
  }
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { env, encoding: 'utf8' })
  return {
    status,
    said: stdout + stderr,
    left: readdirSync(TMPDIR).filter((one) => /^(recollect|rk)-/.test(one)),
  }
}

it('a directory in the place for temporary files fails the run, and is removed', () => {
  const { status, said, left } = run(VITEST, 'directory.case.ts')
  expect(said).toContain('1 passed')
  expect(said).toMatch(/tests left 1 in the temporary directory: rk-left-\w+\n/)
  expect([status, left]).toEqual([1, []])
})

it('a program or a server that still runs fails its file', () => {
  const { status, said } = run(VITEST, 'program.case.ts', 'server.case.ts')
  for (const resource of ['ProcessWrap', 'TCPServerWrap'])
    expect(said).toContain(`something that it started does not: ${resource}`)
  expect(status).toBe(1)
})

it('a file that fails is run once more, and named if it passes then', () => {
  const { status, said, left } = run(NPM_TEST, 'once.case.ts')
  expect(said).toContain('once more, one after another: test/programs/leaving/once.case.ts')
  expect(said).toContain('should do both: test/programs/leaving/once.case.ts')
  expect([status, left]).toEqual([0, []])
})

it('a file that fails again fails the command', () => {
  const { status, said } = run(NPM_TEST, 'server.case.ts')
  expect(said).toContain('once more, one after another: test/programs/leaving/server.case.ts')
  expect(status).toBe(1)
})

it('what no file is to blame for is not run again', () => {
  const { status, said } = run(NPM_TEST, 'directory.case.ts')
  expect(said).not.toContain('once more')
  expect(status).toBe(1)
})
