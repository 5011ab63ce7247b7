// The suite leaves nothing: a test file that does fails, or the run, even though all its tests pass.
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { expect, it } from 'vitest'
import { temporary } from './setup/temporary.ts'

const run = (...names: string[]): { status: number | null; said: string; left: string[] } => {
  const TMPDIR = temporary('run')
  const args = [
    'node_modules/vitest/vitest.mjs',
    'run',
    '--configLoader',
    'runner',
    '-c',
    'test/programs/leaving/vitest.config.ts',
    ...names,
  ]
  const env = {
    ...process.env,
    TMPDIR,
    NO_COLOR: '1',
    RECOLLECT_TEST_NO_BUILD: '1',
    RECOLLECT_TEST_ENDING_MS: '500',
  }
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { env, encoding: 'utf8' })
  return {
    status,
    said: stdout + stderr,
    left: readdirSync(TMPDIR).filter((one) => /^(recollect|rk)-/.test(one)),
  }
}

it('a directory in the place for temporary files fails the run, and is removed', () => {
  const { status, said, left } = run('directory.case.ts')
  expect(said).toContain('1 passed')
  expect(said).toMatch(/tests left 1 in the temporary directory: rk-left-\w+\n/)
  expect([status, left]).toEqual([1, []])
})

it('a program or a server that still runs fails its file', () => {
  const { status, said } = run('program.case.ts', 'server.case.ts')
  for (const resource of ['ProcessWrap', 'TCPServerWrap'])
    expect(said).toContain(`something that it started does not: ${resource}`)
  expect(status).toBe(1)
})
