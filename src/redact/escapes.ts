// Escapes of JSON and of code. Transcripts nest JSON in strings, where a line end is the two characters `\n` and hides
// the start of the token after it. Any depth of escaping counts as one: `\\\\n` reads as a line end too.

const BACKSLASH = 92
const LETTER_U = 117
const PLAIN = new Map([...'"\'/'].map((c) => [c.charCodeAt(0), c]))
for (const [letter, plain] of Object.entries({ b: '\b', t: '\t', n: '\n', f: '\f', r: '\r' })) {
  PLAIN.set(letter.charCodeAt(0), plain)
}
const ESCAPE = /\\+(?:(["'/bfnrt])|u([0-9a-fA-F]{4}))/g

/** Where the escape that begins with the backslash at `at` ends; only the backslashes when no escape follows. */
export function escapeEnd(codes: Uint16Array, at: number): number {
  let i = at + 1
  while (codes[i] === BACKSLASH) i++
  if (PLAIN.has(codes[i] as number)) return i + 1
  if (codes[i] !== LETTER_U) return i
  let digits = 1
  while (digits < 5 && isHex(codes[i + digits] as number)) digits++
  return digits === 5 ? i + 5 : i
}

const isHex = (code: number): boolean =>
  (code > 47 && code < 58) || (code > 64 && code < 71) || (code > 96 && code < 103)

/** The text with its escapes read. */
export function readEscapes(text: string): string {
  if (!text.includes('\\')) return text
  return text.replace(ESCAPE, (_, letter?: string, hex?: string) =>
    letter === undefined
      ? String.fromCharCode(Number.parseInt(hex as string, 16))
      : (PLAIN.get(letter.charCodeAt(0)) as string),
  )
}

export interface View {
  text: string
  /** The position in the source of a position in the view. */
  toSource(at: number): number
}

/**
 * The unescaped text, if it holds escapes that can stand inside a token: `\/` and `\u002b` for `/` and `+`. The others
 * end a token as they do unescaped, so the text can be read as it is.
 */
export function unescapedView(source: string): View | undefined {
  if (!source.includes('\\') || !(source.includes('\\/') || source.includes('\\u00'))) return undefined
  return { text: readEscapes(source), toSource: (at) => toSource(source, at) }
}

/** Walks the escapes again: findings are rare, so keeping a map of every escape would cost more than it saves. */
function toSource(source: string, at: number): number {
  let viewed = 0
  let from = 0
  for (const match of source.matchAll(ESCAPE)) {
    if (viewed + (match.index - from) >= at) break
    viewed += match.index - from + 1
    from = match.index + match[0].length
  }
  return from + (at - viewed)
}
