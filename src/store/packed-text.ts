// Texts of the program's own (carry-overs of adapters, folds of digests) as they stand in a row: long ones compressed.
import { badValue } from '../errors.ts'
import { zlib } from '../files/builtin.ts'

const SHORT_LENGTH = 512
/** They are small and written seldom: a few microseconds buy a third of the size. */
const QUALITY = 4

export function packText(text: string): string | Uint8Array {
  if (text.length <= SHORT_LENGTH) return text
  const { brotliCompressSync, constants } = zlib()
  return brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: QUALITY } })
}

/** Throws CORRUPT where it is not what was packed. */
export function unpackText(packed: string | Uint8Array): string {
  if (typeof packed === 'string') return packed
  try {
    return zlib().brotliDecompressSync(packed).toString()
  } catch (cause) {
    throw badValue(cause)
  }
}
