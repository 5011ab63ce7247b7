// Recorded text on its way out. Whoever shows it, terminal or page, must not obey it, and whoever parses it must be able to.

/**
 * Controls a terminal would obey, marks that turn the direction of writing, and what else cannot be seen. What joins letters
 * and chooses the look of a sign stays: some scripts and pictures are wrong without it.
 */
export const UNSEEN =
  '[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u2028\\u2029\\ufff9-\\ufffb]|(?!\\u200c|\\u200d|\\ufe0e|\\ufe0f)\\p{Default_Ignorable_Code_Point}'
const UNSAFE = new RegExp(UNSEEN, 'gu')

/**
 * Escape sequences as ECMA-48 has them: a command with its parameters; a text for the terminal (a title, a link), to its end on
 * the same line; two signs. Not Node's own `stripVTControlCharacters`, which takes words before a bell for such a text.
 */
const SEQUENCES =
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|\u001b[\]PX^_][^\u0007\u001b\n]*(?:\u0007|\u001b\\)|\u001b[ -/]*[0-Z\\`-~]/g

/** What was recorded is foreign text: no escape sequence of it is left. Line ends and tabs stay. */
export const harmless = (text: string): string =>
  isPlain(text)
    ? text
    : text
        .replaceAll('\r\n', '\n')
        .replace(SEQUENCES, '')
        .replace(UNSAFE, (sign) => (/[\r\u2028\u2029]/.test(sign) ? '\n' : ''))

const isPlain = (text: string): boolean => /^[\x20-\x7e]*$/.test(text)

/** JSON that every parser takes: many refuse half a surrogate pair, which a text cut in an emoji ends with. */
export function toJson(value: unknown): string {
  const json = JSON.stringify(value)
  if (!json.includes('\\ud')) return json
  // Escape by escape, so that an escaped backslash before the letters is not mistaken for one.
  return json.replace(/\\(?:ud[89a-f][0-9a-f]{2}|.)/gs, (sign) => (sign.length > 2 ? '\\ufffd' : sign))
}

/** Everything that could end a text, an attribute or a comment. */
export const escapeHtml = (text: string): string =>
  harmless(text)
    .replace(/[&<>"'`]/g, (sign) => `&#${sign.charCodeAt(0)};`)
    .toWellFormed()
