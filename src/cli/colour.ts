// What a stream can show: colour or none, and letters beyond ASCII or none.
// Order: --color, FORCE_COLOR, NO_COLOR, CLICOLOR_FORCE, then whether it is a terminal that knows colour.
import { terminal } from './streams.ts'

export const COLOUR_CHOICES = ['auto', 'always', 'never'] as const
export type ColourChoice = (typeof COLOUR_CHOICES)[number]

let choice: ColourChoice = 'auto'

/** What `--color` says, for the rest of the process. */
export function chooseColour(chosen: ColourChoice): void {
  choice = chosen
}

export function hasColour(fd: 1 | 2): boolean {
  if (choice !== 'auto') return choice === 'always'
  const { FORCE_COLOR, NO_COLOR, CLICOLOR_FORCE, TERM } = process.env
  if (FORCE_COLOR !== undefined) return FORCE_COLOR !== '0' && FORCE_COLOR !== 'false'
  if (NO_COLOR) return false
  if (CLICOLOR_FORCE && CLICOLOR_FORCE !== '0') return true
  return TERM !== 'dumb' && terminal(fd) !== undefined
}

const CODES = {
  bold: [1, 22],
  dim: [2, 22],
  underline: [4, 24],
  inverse: [7, 27],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  blue: [34, 39],
  magenta: [35, 39],
  cyan: [36, 39],
} as const

export type Colour = keyof typeof CODES
type Painter = Record<Colour, (text: string) => string>

function painterOf(fd: 1 | 2): Painter {
  const painter = {} as Painter
  for (const [name, [open, close]] of Object.entries(CODES))
    painter[name as Colour] = (text) =>
      text !== '' && hasColour(fd) ? `\x1b[${open}m${text}\x1b[${close}m` : text
  return painter
}

/** For stdout: `paint.bold(text)`. Readable without: colour never says what the text does not. */
export const paint: Painter = painterOf(1)
/** For stderr. */
export const paintError: Painter = painterOf(2)

/** Whether the locale is one of UTF-8; without any the C locale is in force, which is ASCII. */
export function isUtf8(env: Record<string, string | undefined> = process.env): boolean {
  if (process.platform === 'win32') return true
  const locale = env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'] || 'C'
  return /utf-?8/i.test(locale)
}

/** One for one, so that columns stay columns. */
const SIGNS = '─━╌═–—−·•│┃┆├┤┌┐┬┼╭╮└┘┴╰╯▸▶→❯◀◂←✖×▁▂▃▄▅▆▇█▏▎▍▌▋▊▉░…✔▲≥≤’“”★'
const ASCII = '---------|||||++++++`````>>>><<<xx_.-=+*%########.~+!><\'""*'

/** Our own signs in ASCII where the locale shows no others; what was recorded keeps its letters. */
export const inLocale = (text: string): string =>
  isUtf8() ? text : text.replace(/[^\x00-\x7f]/g, (sign) => ASCII[SIGNS.indexOf(sign)] ?? sign)
