// No test may see this machine's home: each worker gets an empty one, and no agent's own variables.
// It is made when the first test begins: a file whose tests are all skipped comes to no end where it would be removed.
import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll } from 'vitest'
import { removedAtEnd } from './temporary.ts'

const home = join(tmpdir(), `recollect-home-${randomUUID()}`)
process.env['HOME'] = home
beforeAll(() => {
  mkdirSync(removedAtEnd(home), { mode: 0o700 })
})
for (const name of Object.keys(process.env)) {
  if (/^(CLAUDE|CODEX|GROK|HELIX|RECOLLECT|XDG)_/.test(name) && !name.startsWith('RECOLLECT_TEST_')) {
    delete process.env[name]
  }
}
