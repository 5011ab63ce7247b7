import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'vitest'
import { temporary } from '../../setup/temporary.ts'

it('leaves a directory, and one that is removed for it', () => {
  mkdtempSync(join(tmpdir(), 'rk-left-'))
  temporary('removed')
})
