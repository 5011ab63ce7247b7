// What each character can be part of, as tables over the character codes: a look at a table is what the scan is made of.

export const TOKEN = 1
export const OPERATOR = 2
export const SPACE = 3
/** Where an escape, a percent code or a colour may begin. */
export const CODE = 4
export const AT = 5

const ALPHANUMERIC = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

function table(...groups: [characters: string, value: number][]): Uint8Array {
  const out = new Uint8Array(65_536)
  for (const [characters, value] of groups) for (const c of characters) out[c.charCodeAt(0)] = value
  return out
}

export const KIND = table(
  [`${ALPHANUMERIC}_-~`, TOKEN],
  [':=>', OPERATOR],
  [' ', SPACE],
  ['\\%^[\x1b\x9b', CODE],
  ['@', AT],
)
/** Characters that can join runs to one token, path or URL. */
export const WIDE = table([`${ALPHANUMERIC}_-~.+/%`, 1])
/** Characters that can stand between a literal and the long run of its token. */
export const LEAD = table([`${ALPHANUMERIC}_-~.+/%:=$!@|*#`, 1])
export const BASE64 = table([`${ALPHANUMERIC}_-~+/=`, 1])
export const SOLID = table([ALPHANUMERIC, 1])
export const DIGITS = table(['0123456789', 1])
export const UPPER = table(['ABCDEFGHIJKLMNOPQRSTUVWXYZ', 1])
