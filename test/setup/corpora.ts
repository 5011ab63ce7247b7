// Real sessions of strangers, which are no part of the repository. `npm test` does the same wherever it runs, so they are
// read in long runs alone: `npm run test:corpora`.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { IS_LONG } from './long.ts'

/** `shared/corpora` beside the checkout, or further up. */
function nearby(): string | undefined {
  for (let at = import.meta.dirname; ; at = dirname(at)) {
    const found = join(at, 'shared', 'corpora')
    if (existsSync(found)) return found
    if (at === dirname(at)) return undefined
  }
}

/** Where they lie; undefined where they are not read. */
export const CORPORA = IS_LONG ? (process.env['RECOLLECT_TEST_CORPORA'] ?? nearby()) : undefined
