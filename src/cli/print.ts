// Where output goes: data on stdout, all else on stderr. Knows the width there is, and shows progress on a terminal only.
import { inLocale } from './colour.ts'
import { OBEYED } from './screen.ts'
import { draw, put, terminal } from './streams.ts'
import { foldText } from './text.ts'

export { drained } from './streams.ts'

let hasPrinted = false

/** True once something went to stdout: a document that was begun cannot become another one. */
export const isBegun = (): boolean => hasPrinted

/**
 * Text for people, a line or several. Foreign text is made harmless where it is put together; a name or an id that nobody
 * took for foreign stops here.
 */
export function print(text: string): void {
  write(`${inLocale(text.replace(OBEYED, ''))}\n`)
}

/** Sentences: folded at the width of the terminal, left whole in a pipe. */
export function printFolded(text: string, hanging?: Parameters<typeof foldText>[2]): void {
  print(foldText(text, outputWidth(), hanging))
}

/** One document. */
export function printJson(value: unknown): void {
  write(`${JSON.stringify(value, null, 2)}\n`)
}

/** As it is: parts of a document, data in other formats. */
export function write(text: string): void {
  hasPrinted = true
  put(1, text)
}

/** What is no data: warnings, progress, what to do next. */
export function tell(text: string): void {
  put(2, text)
}

/** Columns of the terminal; without one no limit, unless COLUMNS sets it. */
export function outputWidth(): number {
  const set = Number(process.env['COLUMNS'])
  return terminal(1)?.columns || (Number.isInteger(set) && set > 0 ? set : Number.POSITIVE_INFINITY)
}

/** A line on a terminal that is drawn over, from the second half second on and ten times a second at most. */
export class Progress {
  #drawnAt = 0
  readonly #startedAt = Date.now()
  #isShown = false

  show(text: () => string): void {
    if (!terminal(2)) return
    const now = Date.now()
    if (now - this.#drawnAt < 100 || now - this.#startedAt < 500) return
    this.#drawnAt = now
    draw(inLocale(text()))
    this.#isShown = true
  }

  clear(): void {
    if (this.#isShown) draw('')
    this.#isShown = false
  }
}

/** ████████░░░░ */
export function bar(share: number, width: number): string {
  const filled = Math.round(Math.min(1, Math.max(0, share)) * width)
  return '█'.repeat(filled) + '░'.repeat(width - filled)
}

/** For running text, which nobody reads in lines of any length. */
export const textWidth = (): number => Math.min(Math.max(outputWidth(), 20), 100)
