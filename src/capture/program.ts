// Where our own programs lie, for others to start them: never a place that is emptied from time to time.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { RecollectError } from '../errors.ts'

/** A file of the built package, by its absolute path. */
export const ownFile = (name: string): string => lasting(join(dirname(fileURLToPath(import.meta.url)), name))

/** The path, if it may be written into somebody's settings. */
export function lasting(path: string): string {
  if (/[\\/]_npx[\\/]/.test(path))
    throw new RecollectError('USAGE', 'run from the cache of npx, which is emptied from time to time', {
      where: path,
      hint: 'install it first: npm install -g recollect',
    })
  if (existsSync(path)) return path
  throw new RecollectError('NOT_FOUND', 'a part of recollect is not where it should be', {
    where: path,
    hint: 'install recollect again',
  })
}
