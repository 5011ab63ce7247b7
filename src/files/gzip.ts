// Gzip in and out, with a bound on what a small file may unfold to.
import { constants } from 'node:buffer'
import { RecollectError } from '../errors.ts'
import { zlib } from './builtin.ts'

/** Deterministic: zlib writes no time stamp into the header. */
export function gzip(data: Uint8Array): Buffer {
  return zlib().gzipSync(data)
}

/** What unfolds to more than `maxBytes` (default: what fits into a string) is refused. */
export function gunzip(data: Uint8Array, where: string, maxBytes = constants.MAX_STRING_LENGTH): Buffer {
  try {
    return zlib().gunzipSync(data, { maxOutputLength: maxBytes })
  } catch (cause) {
    const tooLarge = (cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE'
    throw tooLarge
      ? new RecollectError('TOO_LARGE', `unfolds to more than ${maxBytes} bytes`, {
          where,
          cause,
          hint: 'nothing of ours is that large: look at the file before moving it away',
        })
      : new RecollectError('CORRUPT', 'not valid gzip, or cut short', {
          where,
          cause,
          hint: 'restore it from a backup, or move it away',
        })
  }
}
