// Recorded text on its way out. Whoever shows it, terminal or page, must not obey it, and whoever parses it must be able to.
import { stripVTControlCharacters } from 'node:util'

/** Controls a terminal would obey, and marks that turn the direction of writing. */
const UNSAFE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g

/** What was recorded is foreign text: no escape sequence of it is left. Line ends and tabs stay. */
export const harmless = (text: string): string =>
  isPlain(text)
    ? text
    : stripVTControlCharacters(text.replaceAll('\r\n', '\n')).replace(UNSAFE, (sign) =>
        sign === '\r' ? '\n' : '',
      )

const isPlain = (text: string): boolean => /^[\x20-\x7e]*$/.test(text)

/** JSON that every parser takes: many refuse half a surrogate pair, which a text cut in an emoji ends with. */
export function toJson(value: unknown): string {
  const json = JSON.stringify(value)
  if (!json.includes('\\ud')) return json
  // Escape by escape, so that an escaped backslash before the letters is not mistaken for one.
  return json.replace(/\\(?:ud[89a-f][0-9a-f]{2}|.)/gs, (sign) => (sign.length > 2 ? '\\ufffd' : sign))
}
