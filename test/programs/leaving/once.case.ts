import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

it('fails in the first run, and passes in the second', () => {
  const mark = join(process.env['RECOLLECT_TEST_ONCE'] as string, 'ran')
  const isSecond = existsSync(mark)
  writeFileSync(mark, '')
  expect(isSecond).toBe(true)
})
