// Codes that stand for a character or a colour: escapes of JSON and of code (`\n`, `\x1b`), percent codes, quoted-printable
// and terminal colours. Transcripts nest them, and their last letter or digit hides the start of the token behind it.
// Any depth counts as one: `\\\\n` reads as a line end too, `%2520` as a space.

import { DIGITS, SOLID } from './characters.ts'

const BACKSLASH = 92
const ESCAPE = 27
/** The one-character form of `ESC [`. */
const COLOUR = 0x9b
const CARET = 94
const BRACKET = 91
const PARENTHESIS = 40
const [DOLLAR, DASH, BACKTICK] = [36, 45, 96]
/** What ends a colour and clears a line; and what, behind a number, moves the cursor, clears, shows and hides. */
const COLOUR_ENDS = new Set(codesOf('mK'))
const MOVE_ENDS = new Set(codesOf('ABCDEFGHJKSTdfhlmnrsu'))
const PERCENT = 37
const EQUALS = 61
const LINE_END = 10
const SPACE = 32
/** No code is longer, backslashes aside. */
const MAX_CODE = 60
/** Two colours in full, each of three numbers with a colour space, and some styles. */
const MAX_PARAMETERS = 48
const UNKNOWN = 0xfffd
/** In the place of a character: there is no code. */
const NOTHING = -1

/** What a letter after a backslash stands for. */
const PLAIN = new Int16Array(65_536).fill(NOTHING)
for (const c of '"\'/') PLAIN[c.charCodeAt(0)] = c.charCodeAt(0)
for (const [letter, plain] of Object.entries({
  a: '\x07',
  b: '\b',
  t: '\t',
  n: '\n',
  v: '\v',
  f: '\f',
  r: '\r',
})) {
  PLAIN[letter.charCodeAt(0)] = plain.charCodeAt(0)
}
const HEX = new Int8Array(65_536).fill(NOTHING)
;[...'0123456789abcdef'].forEach((c, value) => {
  HEX[c.charCodeAt(0)] = value
  HEX[c.toUpperCase().charCodeAt(0)] = value
})

function codesOf(letters: string): number[] {
  return [...letters].map((letter) => letter.charCodeAt(0))
}

const CODE_STARTS = new Uint8Array(65_536)
for (const c of [BACKSLASH, ESCAPE, COLOUR, CARET, BRACKET, PERCENT, EQUALS]) CODE_STARTS[c] = 1

/** Filled by `readCode`: one object, since it is called for every backslash of a text. */
const code = { end: 0, char: NOTHING, isSimple: false }

/** Where the code that begins at `at` ends; behind the first character, or all backslashes, when none does. */
export function codeEnd(codes: Uint16Array, at: number): number {
  readCode(codes, at)
  return code.end
}

/** Whether the code last read can stand inside a token or a structure, and so asks for the decoded view. */
export const wasTelling = (): boolean => code.char !== NOTHING && !code.isSimple

/** Whether a code ends right before `at`, so that a word begins there. */
export function isAfterCode(codes: Uint16Array, at: number): boolean {
  if (isAfterSign(codes, at)) return true
  for (let i = at - 1; i >= 0 && at - i <= MAX_CODE; i--) {
    if (CODE_STARTS[codes[i] as number] !== 1) continue
    if (readCode(codes, i) && code.end === at) return true
  }
  return false
}

/**
 * What is a code only because a word stands behind it, and is never read as one: the letter after a backslash (`\s`, `\E`), a percent
 * sign (`%s`), a backtick (PowerShell's `` `n ``) or an option's dash (`-u`), and the number of a group (`\1`, `$1`) or a character (`\12`).
 */
function isAfterSign(codes: Uint16Array, at: number): boolean {
  let i = at - 1
  while (at - i < 4 && DIGITS[codes[i] as number]) i--
  const sign = codes[i]
  if (i < at - 1) return sign === BACKSLASH || sign === DOLLAR || sign === BACKTICK
  const before = codes[at - 2]
  if (before === DASH) return at < 3 || !(SOLID[codes[at - 3] as number] || codes[at - 3] === DASH)
  return before === BACKSLASH || before === PERCENT || before === BACKTICK
}

/** Reads the code at `at` into `code`; false when none begins there. A colour reads as NUL, which the view leaves out. */
function readCode(codes: Uint16Array, at: number): boolean {
  code.char = NOTHING
  code.isSimple = false
  code.end = at + 1
  switch (codes[at]) {
    case BACKSLASH:
      readEscape(codes, at)
      break
    case ESCAPE:
      code.char = ESCAPE
      break
    case CARET:
      readCaret(codes, at + 1)
      break
    case COLOUR:
      return readColour(codes, at + 1)
    case BRACKET:
      return readBareColour(codes, at + 1)
    case PERCENT:
      readPercent(codes, at)
      break
    case EQUALS:
      readQuotedPrintable(codes, at)
      break
  }
  if (code.char === ESCAPE && (readSequence(codes, code.end) || readTerminator(codes, at, code.end)))
    return true
  // An escape character as such begins a sequence only.
  if (code.char === ESCAPE && codes[at] !== BACKSLASH && codes[at] !== PERCENT) take(NOTHING, at + 1)
  return code.char !== NOTHING
}

function readEscape(codes: Uint16Array, at: number): void {
  let i = at + 1
  while (codes[i] === BACKSLASH) i++
  code.end = i
  const letter = codes[i] as number
  const plain = PLAIN[letter] as number
  if (plain !== NOTHING) {
    code.isSimple = letter !== 47
    take(plain, i + 1)
  } else if (letter === 117) {
    if (codes[i + 1] === 123) readBraces(codes, i + 2)
    else readDigits(codes, i + 1, 4)
  } else if (letter === 120) readDigits(codes, i + 1, 2)
  else if (letter === 85) readDigits(codes, i + 1, 8)
  // `\e` and `\33` are also how Windows paths go on, so they count before a bracket only.
  else if ((letter | 32) === 101 && opensSequence(codes[i + 1])) take(ESCAPE, i + 1)
  else if (letter === 51 && codes[i + 1] === 51 && opensSequence(codes[i + 2])) take(ESCAPE, i + 2)
  else if (letter > 47 && letter < 52 && isOctal(codes[i + 1]) && isOctal(codes[i + 2])) {
    const [a, b, c] = [letter - 48, (codes[i + 1] as number) - 48, (codes[i + 2] as number) - 48]
    // Beyond ASCII a piece of a character, as git writes the names of files.
    take(a < 2 ? a * 64 + b * 8 + c : UNKNOWN, i + 3)
  } else if (letter === 48) {
    code.isSimple = true
    take(SPACE, i + 1)
  }
}

/** `^M` as editors show a control character; `^[` only where a sequence follows. */
function readCaret(codes: Uint16Array, at: number): void {
  const letter = codes[at] as number
  if (letter === BRACKET) {
    if (opensSequence(codes[at + 1])) take(ESCAPE, at + 1)
  } else if (letter > 63 && letter < 96) take(letter === 64 ? SPACE : letter - 64, at + 1)
}

function take(char: number, end: number): void {
  code.char = char
  code.end = end
}

const isOctal = (c: number | undefined): boolean => c !== undefined && c > 47 && c < 56

/** `\u{1b}` */
function readBraces(codes: Uint16Array, from: number): void {
  let value = 0
  let i = from
  for (; i - from < 6 && HEX[codes[i] as number] !== NOTHING; i++)
    value = value * 16 + (HEX[codes[i] as number] as number)
  if (i > from && codes[i] === 125 && value < 65_536) take(value, i + 1)
}

function readDigits(codes: Uint16Array, from: number, count: number): void {
  let value = 0
  for (let i = from; i < from + count; i++) {
    const digit = HEX[codes[i] as number] as number
    if (digit === NOTHING) return
    value = value * 16 + digit
  }
  take(value, from + count)
}

/** `%20`, `%2520` for what was encoded twice, and `%u0020`. */
function readPercent(codes: Uint16Array, at: number): void {
  if (codes[at + 1] === 117) {
    readDigits(codes, at + 2, 4)
    return
  }
  readByte(codes, at + 1)
  while (code.char === PERCENT && code.end - at < 12) {
    const { end } = code
    readByte(codes, end)
    if (code.end === end) return
  }
}

/** `=3D`, and a line broken for its length. */
function readQuotedPrintable(codes: Uint16Array, at: number): void {
  const lineEnd = codes[at + 1] === 13 ? at + 2 : at + 1
  if (codes[lineEnd] === LINE_END) take(0, lineEnd + 1)
  else readByte(codes, at + 1)
}

/** Beyond ASCII a byte is a piece of a character only, or of a colour's beginning. */
function readByte(codes: Uint16Array, at: number): void {
  readDigits(codes, at, 2)
  if (code.char > 127 && code.char !== COLOUR) code.char = UNKNOWN
}

const opensSequence = (c: number | undefined): boolean => c === BRACKET || c === PARENTHESIS

/** What follows an escape character: a colour, a character set (`ESC ( B` ends many colours), a key (`ESC O A`), or one letter alone. */
function readSequence(codes: Uint16Array, from: number): boolean {
  const first = codes[from] as number
  if (first === BRACKET) return readColour(codes, from + 1)
  const isOfTwo = (first >= PARENTHESIS && first < 48) || first === KEY
  const letter = codes[from + 1] as number
  if (isOfTwo && (letter < 48 || letter > 126)) return false
  if (!isOfTwo && !ALONE.has(first)) return false
  take(0, from + (isOfTwo ? 2 : 1))
  return true
}

/** `ESC \\`, which ends a link or a title, and must not make a line end of the `n` behind it. Escaped, its backslash is two. */
function readTerminator(codes: Uint16Array, at: number, from: number): boolean {
  const [before, count] = [backslashesAt(codes, at), backslashesAt(codes, from)]
  if (count !== Math.max(1, 2 * before)) return false
  // What a link leads to is no part of the word that shows it.
  take(SPACE, from + count)
  return true
}

function backslashesAt(codes: Uint16Array, at: number): number {
  let count = 0
  while (codes[at + count] === BACKSLASH) count++
  return count
}

/** Cursor kept and given back, line up, down and on, a tab stop, everything as at the start. */
const ALONE = new Set(codesOf('78MDEHc'))
const KEY = 79

/** The parameters and the letter of a colour or another control sequence. */
function readColour(codes: Uint16Array, from: number): boolean {
  let i = from
  while (i - from < MAX_PARAMETERS && (codes[i] as number) > 47 && (codes[i] as number) < 64) i++
  // `ESC [ 2 SPACE q`, as editors shape the cursor.
  if (codes[i] === SPACE || codes[i] === 33) i++
  const letter = codes[i] as number
  if (letter < 64 || letter > 126) return false
  take(0, i + 1)
  return true
}

/** A short text with its codes read. */
export function readCodes(text: string): string {
  const codes = new Uint16Array(text.length + 1)
  let hasCodes = false
  for (let i = 0; i < text.length; i++) {
    codes[i] = text.charCodeAt(i)
    hasCodes ||= CODE_STARTS[codes[i] as number] === 1
  }
  return hasCodes ? decodedView(text, codes).text : text
}

/** A sequence whose escape character was lost, or is spelled in a way of its own: `[33m`, `<ESC>[2J`, `` `e[K ``. */
function readBareColour(codes: Uint16Array, from: number): boolean {
  let i = from
  while (i - from < MAX_PARAMETERS && (codes[i] as number) > 47 && (codes[i] as number) < 64) i++
  const letter = codes[i] as number
  if (!COLOUR_ENDS.has(letter) && (i === from || !MOVE_ENDS.has(letter))) return false
  // What spells the escape character would be glued to the word behind the colour.
  take(SOLID[codes[from - 2] as number] === 1 ? SPACE : 0, i + 1)
  return true
}

let decoded = new Uint16Array(65_536)

/** `codes` are those of the text, ended by a 0. Quoted-printable is read only where its `=3D` shows that it is. */
export function decodedView(text: string, codes: Uint16Array): View {
  const { length } = text
  if (length > decoded.length) decoded = new Uint16Array(Math.ceil(length * 1.2))
  const isQuotedPrintable = text.includes('=3D')
  const view = new View()
  let size = 0
  for (let i = 0; i < length; ) {
    const c = codes[i] as number
    if (
      CODE_STARTS[c] === 1 &&
      (c !== EQUALS || isQuotedPrintable) &&
      readCode(codes, i) &&
      code.end <= length
    ) {
      i = code.end
      if (code.char !== 0) decoded[size++] = code.char
      view.add(size, i, code.char !== 0)
    } else {
      decoded[size++] = c
      i++
    }
  }
  view.text = Buffer.from(decoded.buffer, 0, size * 2).toString('utf16le')
  return view
}

/** A text as it reads with its codes read. Keeps where each code stood, and finds the place of the rest from that. */
export class View {
  text = ''
  /** Of each code in turn: twice the place behind it here, one more if it became a character, and its end in the source. */
  #marks = new Uint32Array(64)
  #size = 0

  add(behind: number, sourceEnd: number, isCharacter: boolean): void {
    if (this.#size === this.#marks.length) {
      const longer = new Uint32Array(this.#size * 2)
      longer.set(this.#marks)
      this.#marks = longer
    }
    this.#marks[this.#size++] = behind * 2 + Number(isCharacter)
    this.#marks[this.#size++] = sourceEnd
  }

  /** Where the character at `at` begins in the source; a colour before it is no part of it. */
  startOf(at: number): number {
    const next = this.#firstBeyond(at)
    return next === 0
      ? at
      : (this.#marks[next - 1] as number) + at - ((this.#marks[next - 2] as number) >>> 1)
  }

  /** Where the character at `at` ends in the source. */
  endOf(at: number): number {
    const next = this.#firstBeyond(at)
    const isCode = next < this.#size && this.#marks[next] === (at + 1) * 2 + 1
    return isCode ? (this.#marks[next + 1] as number) : this.startOf(at) + 1
  }

  /** The first code that is not wholly before the character at `at`, as an index into the marks. */
  #firstBeyond(at: number): number {
    let [low, high] = [0, this.#size / 2]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#marks[middle * 2] as number) >>> 1 <= at) low = middle + 1
      else high = middle
    }
    return low * 2
  }
}
