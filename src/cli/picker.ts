// The list from which a session is picked: what is typed narrows it, what is below the bar says more of the one that is
// marked. Pure: keys in, lines out; `pick.ts` has the terminal.
import { OUTCOME_WORDS } from '../model.ts'
import type { Line } from '../query/briefs.ts'
import { pageOf } from '../query/narrow.ts'
import { paint } from './colour.ts'
import { formatAge, plural } from './format.ts'
import { cut, fold, oneLine, take, widthOf } from './text.ts'

export type Picked = 'resume' | 'show' | 'copy' | 'page'

/** A key as Node tells it. */
export interface Key {
  name?: string | undefined
  ctrl?: boolean | undefined
  meta?: boolean | undefined
  sequence?: string | undefined
}

export interface Size {
  columns: number
  rows: number
}

export interface Preview {
  asked: string
  answered: string
}

const ACTIONS: Record<string, Picked> = { return: 'resume', enter: 'resume', tab: 'show' }
const WITH_CTRL: Record<string, Picked> = { y: 'copy', o: 'page' }
const FOOT = 'Enter resume · Tab show · ^Y copy · ^O page · Esc'

export class Picker {
  /** Those of this place first, each part newest first. */
  #lines: readonly Line[]
  readonly #here: ReadonlySet<string>
  #found: readonly Line[]
  #typed = ''
  #at = 0
  #top = 0
  #isAll: boolean

  /** `isAll` is false while only the first of them are known. */
  constructor(lines: readonly Line[], here: ReadonlySet<string>, isAll = true) {
    this.#here = here
    this.#isAll = isAll
    this.#lines = this.#ordered(lines)
    this.#found = this.#lines
  }

  get marked(): Line | undefined {
    return this.#found[this.#at]
  }

  /** The rest of them has come. */
  setLines(lines: readonly Line[]): void {
    const marked = this.marked?.session_uid
    this.#isAll = true
    this.#lines = this.#ordered(lines)
    this.#narrow()
    const at = this.#found.findIndex((one) => one.session_uid === marked)
    this.#at = Math.max(0, at)
  }

  /** What was chosen, `leave`, or undefined to go on. */
  press(key: Key, size: Size): Picked | 'leave' | undefined {
    const { name = '', ctrl = false, meta = false, sequence = '' } = key
    if (name === 'escape' || (ctrl && (name === 'c' || name === 'd'))) return 'leave'
    const action = ctrl ? WITH_CTRL[name] : ACTIONS[name]
    if (action) return this.marked && action
    const page = Math.max(1, listRows(size) - 1)
    if (name === 'up' || (ctrl && name === 'p')) this.#move(-1)
    else if (name === 'down' || (ctrl && name === 'n')) this.#move(1)
    else if (name === 'pageup') this.#move(-page)
    else if (name === 'pagedown') this.#move(page)
    else if (name === 'backspace')
      this.#type(
        this.#typed
          .slice(0, -1)
          .toWellFormed()
          .replace(/\ufffd$/, ''),
      )
    else if (ctrl && name === 'u') this.#type('')
    else if (!ctrl && !meta && /^[^\p{Cc}\p{Cs}]+$/u.test(sequence)) this.#type(this.#typed + sequence)
    return undefined
  }

  #move(by: number): void {
    this.#at = Math.max(0, Math.min(this.#found.length - 1, this.#at + by))
  }

  #type(text: string): void {
    this.#typed = text
    this.#at = 0
    this.#top = 0
    this.#narrow()
  }

  #narrow(): void {
    const text = this.#typed.trim()
    this.#found =
      text === ''
        ? this.#lines
        : pageOf(this.#lines, { text, withSubagents: true, limit: this.#lines.length }).lines
  }

  #ordered(lines: readonly Line[]): Line[] {
    const at = (line: Line): number => line.ended_at ?? line.started_at ?? 0
    const isHere = (line: Line): number => Number(this.#here.has(line.session_uid))
    return [...lines].sort((a, b) => isHere(b) - isHere(a) || at(b) - at(a))
  }

  /** The screen, a text per row; never wider or higher than it. `cursor` is where the next letter comes. */
  render(size: Size, now: number, preview: Preview | undefined): { rows: string[]; cursor: number } {
    const width = Math.max(10, size.columns)
    const count = listRows(size)
    this.#top = Math.max(Math.min(this.#top, this.#at), this.#at - count + 1)
    const known = this.#isAll ? `${this.#found.length}` : this.#typed === '' ? '' : `${this.#found.length}…`
    const prompt = `> ${take(this.#typed.slice(-(width - 12)), width - 12)}`
    const room = Math.max(0, width - widthOf(prompt) - widthOf(known) - 1)
    const rows = [`${prompt}${' '.repeat(room)}${paint.dim(known)}`]
    for (let place = this.#top; place < this.#top + count; place++) {
      const line = this.#found[place]
      rows.push(line ? this.#row(line, place === this.#at, width, now) : '')
    }
    if (this.#found.length === 0 && count > 0) rows[1] = cut('  no session has all of this', width)
    const below = Math.max(0, size.rows - rows.length)
    if (below > 2) rows.push(paint.dim('─'.repeat(width)), ...this.#below(width, below - 2, preview))
    if (below > 0) rows.push(paint.dim(cut(FOOT, width)))
    return { rows, cursor: widthOf(prompt) }
  }

  #row(line: Line, isMarked: boolean, width: number, now: number): string {
    const at = line.ended_at ?? line.started_at
    const where = this.#here.has(line.session_uid) ? '' : `  ${oneLine(line.repo ?? '-')}`
    const start = `${isMarked ? '>' : ' '} ${(at === null ? '?' : formatAge(at, now)).padEnd(AGE)}  ${line.flavor.padEnd(FLAVOR)}  `
    const star = line.starred_at === null ? '' : '★ '
    const end = width >= 60 ? cut(where, REPO) : ''
    const title = cut(star + nameOf(line), Math.max(8, width - widthOf(start) - widthOf(end)))
    const text = cut(`${start}${title}`, width)
    const gap = ' '.repeat(Math.max(0, width - widthOf(text) - widthOf(end)))
    const whole = end === '' ? text : `${text}${gap}${end}`
    return isMarked ? paint.inverse(cut(whole, width)) : cut(whole, width)
  }

  #below(width: number, count: number, preview: Preview | undefined): string[] {
    const line = this.marked
    if (!line) return Array.from({ length: count }, () => '')
    const facts = [
      OUTCOME_WORDS[line.outcome],
      plural(line.turns, 'turn'),
      line.error_count > 0 ? plural(line.error_count, 'error') : null,
      line.tags === '' ? null : line.tags.replaceAll(/(^| )/g, '$1#'),
      line.git_branch,
      line.model,
      line.session_uid,
    ]
    const said = (name: string, text: string): string[] =>
      text === ''
        ? []
        : fold(`${name} ${oneLine(text).slice(0, 2000)}`, width).slice(0, Math.ceil((count - 1) / 2))
    const rows = [
      cut(
        facts
          .filter(Boolean)
          .map((fact) => oneLine(String(fact)))
          .join(' · '),
        width,
      ),
      ...said('asked:', preview?.asked ?? line.first_prompt),
      ...said('ended:', preview?.answered ?? ''),
    ]
    return Array.from({ length: count }, (_, at) => rows[at] ?? '')
  }
}

const [AGE, FLAVOR, REPO] = [8, 8, 22]

const nameOf = ({ title, first_prompt }: Line): string => oneLine(title ?? first_prompt)

/** A third of the screen says more of the one that is marked, where there is room. */
function listRows({ rows }: Size): number {
  const preview = rows >= 16 ? Math.floor(rows / 3) + 1 : 0
  return Math.max(1, rows - 2 - preview)
}
