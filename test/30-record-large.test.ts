// Reading takes the same memory whatever the size of the log. RECOLLECT_TEST_LARGE_MB sets the size
// (`npm run test:large`: 2,500).
import { execFileSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { amountOf } from './setup/long.ts'
import { driver, temporaryDirectory } from './support/programs.ts'

const LARGE_MB = amountOf('LARGE_MB', 200, 2500)
const SMALL_MB = 20
const READER = fileURLToPath(new URL('programs/read-large.mjs', import.meta.url))

/** A log of about `megabytes`: turns of 2 KB, and one of 4 MB in each 16 MB. */
function write(directory: string, megabytes: number): { count: number; bytes: number } {
  const line = (bytes: number) =>
    Buffer.from(`${JSON.stringify({ turnId: 't', role: 'user', content: 'é'.repeat(bytes / 2), ts: 1 })}\n`)
  const small = line(2000)
  const block = Buffer.concat([line(4 << 20), ...Array.from({ length: 6000 }, () => small)])
  const path = driver('turns').file(directory)
  mkdirSync(dirname(path), { recursive: true })
  const fd = openSync(path, 'a', 0o600)
  const blocks = Math.ceil((megabytes * 2 ** 20) / block.length)
  for (let i = 0; i < blocks; i++) writeSync(fd, block)
  closeSync(fd)
  return { count: blocks * 6001, bytes: blocks * ((2 << 20) + 6000 * 1000) }
}

function read(directory: string): { count: number; bytes: number; maxRssMb: number } {
  return JSON.parse(execFileSync(process.execPath, [READER, directory], { encoding: 'utf8' }))
}

test(`${LARGE_MB} MB are streamed in the memory of ${SMALL_MB} MB`, () => {
  const [small, large] = [temporaryDirectory(), temporaryDirectory()]
  write(small, SMALL_MB)
  const expected = write(large, LARGE_MB)
  const base = read(small)
  const found = read(large)
  console.log(
    `RSS: ${base.maxRssMb.toFixed(0)} MB for ${SMALL_MB} MB, ${found.maxRssMb.toFixed(0)} MB for ${LARGE_MB} MB`,
  )
  expect(found).toMatchObject(expected)
  expect(found.maxRssMb).toBeLessThan(base.maxRssMb + 80)
})
