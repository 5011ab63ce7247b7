// Which session wrote a line: what its edits added, held against the line as it stands. Nothing is concluded from a time
// alone, and a line that any program has many of needs a neighbour that was written with it.

import { addTo } from '../lists.ts'
import type { Session } from '../model.ts'
import type { Reader } from '../store/reader/index.ts'
import { BETWEEN, editsOf } from './edits.ts'

/** The edit that wrote a line. */
export interface Author {
  session_uid: string
  seq: number
  ts: string | null
}

export interface LineAt {
  /** From 1. */
  number: number
  text: string
  /** When the line was committed, in epoch milliseconds; Infinity where it is not. An edit that came later did not write it. */
  committedAt: number
}

/** Shorter ones (`}`, `else`, an empty line) stand everywhere: they are told by the line beside them. */
const TELLING = 6
/** Clocks of machines differ, and a commit may be amended within a moment. */
const SLACK_MS = 60_000
const BETWEEN_PARTS = BETWEEN.trim()

interface Added extends Author {
  at: number
  /** False where a whole file was written over, or made: what it held before is not known. */
  isNew: boolean
  /** The lines that were added directly before and after it. */
  before: string | undefined
  after: string | undefined
}

/** Where an edit replaced a part of a file, its ends may be parts of lines. */
interface Part extends Added {
  /** Without the blanks around it. */
  text: string
  /** Whether the line may go on before it, and behind it. */
  isLast: boolean
  isFirst: boolean
}

/** Every line that edits of a file added, by its text. */
export class AddedLines {
  readonly #byText = new Map<string, Added[]>()
  readonly #parts: Part[] = []

  /** `isFile` says whether a path in an edit means the file in question. */
  add(handle: Reader, session: Session, isFile: (path: string) => boolean): void {
    const { session_uid } = session
    for (const { path, steps } of editsOf(handle, session_uid).files) {
      if (!isFile(path)) continue
      for (const { seq, ts, before, after, has_failed, is_whole } of steps) {
        const isNew = !(is_whole && before === '')
        const author = { session_uid, seq, ts, isNew }
        if (!has_failed) this.#addStep(author, linesOf(before), linesOf(after), is_whole)
      }
    }
  }

  #addStep(
    author: Author & { isNew: boolean },
    before: readonly string[],
    after: readonly string[],
    isWhole: boolean,
  ): void {
    const at = author.ts === null ? Number.NEGATIVE_INFINITY : Date.parse(author.ts)
    const old = countsOf(before)
    for (const [place, text] of after.entries()) {
      const count = old.get(text) ?? 0
      // As often as before is not added; which of the same lines is new cannot be told, and need not be.
      if (count > 0) {
        old.set(text, count - 1)
        continue
      }
      const [above, below] = [after[place - 1], after[place + 1]]
      const added = { ...author, at, before: above, after: below }
      addTo(this.#byText, text, added)
      const isFirst = above === undefined || above === BETWEEN_PARTS
      const isLast = below === undefined || below === BETWEEN_PARTS
      if (!isWhole && (isFirst || isLast) && text.trim().length >= TELLING)
        this.#parts.push({ ...added, text: text.trim(), isFirst, isLast })
    }
  }

  /** The last edit that added this line and could have been committed with it; else the first that wrote it with all of its file. */
  authorOf(lines: readonly LineAt[], index: number): Author | undefined {
    const { text, committedAt } = lines[index] as LineAt
    const key = text.trimEnd()
    const isTelling = key.trim().length >= TELLING
    const [above, below] = [lines[index - 1], lines[index + 1]].map((one) => one?.text.trimEnd())
    const isBeside = (one: Added): boolean =>
      (above !== undefined && isOwnWord(above) && one.before === above) ||
      (below !== undefined && isOwnWord(below) && one.after === below)
    const whole = (this.#byText.get(key) ?? []).filter((one) => isTelling || isBeside(one))
    const parts = isTelling ? this.#parts.filter((one) => isPartOf(one, key.trim())) : []
    const added = [...whole, ...parts]
    const inTime = added.filter((one) => one.at <= committedAt)
    const best = (
      inTime.length > 0 ? inTime : added.filter((one) => one.at <= committedAt + SLACK_MS)
    ).reduce<Added | undefined>((found, one) => (found && !isBetter(one, found) ? found : one), undefined)
    return best && { session_uid: best.session_uid, seq: best.seq, ts: best.ts }
  }
}

/** The line itself, or the greater part of it: what a few letters of a line were replaced by wrote something else. */
function isPartOf({ text, isFirst, isLast }: Part, line: string): boolean {
  if (text === line) return true
  if (text.length * 2 <= line.length) return false
  return isFirst && isLast ? line.includes(text) : isFirst ? line.endsWith(text) : line.startsWith(text)
}

const isBetter = (one: Added, best: Added): boolean =>
  one.isNew === best.isNew ? (one.isNew ? one.at >= best.at : one.at < best.at) : one.isNew

const isOwnWord = (line: string): boolean => line.trim().length >= TELLING

const linesOf = (text: string): string[] => text.split('\n').map((line) => line.trimEnd())

function countsOf(lines: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1)
  return counts
}

/** What was asked last before an event. */
export function promptBefore(handle: Reader, uid: string, seq: number): { seq: number; text: string } | null {
  const asked = handle.events.prompts(uid).findLast((one) => one.seq < seq)
  return asked ? { seq: asked.seq, text: asked.summary } : null
}
