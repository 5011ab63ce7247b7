// Words that were mistyped: what of the index's own vocabulary is nearest.
import type { Reader } from '../store/reader/index.ts'
import type { KnownWord } from '../store/reader/vocabulary.ts'
import { queryTerm } from '../store/words.ts'
import type { Question } from './questions.ts'

export interface Spelling {
  typed: string
  /** The nearest first. */
  near: string[]
  /** The first of them is nearer, or far more frequent, than all others. */
  isClear: boolean
}

const SUGGESTED = 3
/** A word in so few events may be a slip that somebody made before, if another is so many times as frequent. */
const RARE = 3
const FAR_RARER = 50
/** So much more frequent than the next one of its distance. */
const FAR_MORE = 4

/** How many slips a word of this length may hold. */
const allowed = (length: number): number => (length < 4 ? 0 : length < 8 ? 1 : 2)

/** Of the words of a question that no index holds, or hardly any. */
export function spellingsOf(handle: Reader, { words }: Question): Spelling[] {
  const parts = words.flatMap((word) => word.exact.text.match(/[\p{L}\p{N}]+/gu) ?? [])
  return parts.flatMap((part) => {
    const count = handle.search.frequency(queryTerm(part, false) as string)
    return count > RARE ? [] : spellingOf(handle, part, count)
  })
}

/** The nearest words to one that is not in the index; none for a short one, or one that is no word. */
function spellingOf(handle: Reader, typed: string, times: number): Spelling {
  const word = typed.toLowerCase()
  const most = allowed(word.length)
  const none = { typed, near: [], isClear: false }
  if (most === 0 || !/^[a-z][a-z0-9]*$/.test(word) || /\d{3}/.test(word)) return none
  const found = startsOf(word)
    .flatMap((start) => handle.search.vocabulary(start, word.length - most, word.length + most))
    .map((known) => ({ ...known, distance: distanceOf(word, known.word, most) }))
    .filter((known) => known.distance <= most && known.count > times * FAR_RARER)
    .sort((a, b) => a.distance - b.distance || b.count - a.count || (a.word < b.word ? -1 : 1))
  const [first, second] = found
  return {
    typed,
    near: [...new Set(found.map((known) => known.word))].slice(0, SUGGESTED),
    // What stands there as typed may be meant.
    isClear: times === 0 && first !== undefined && (second === undefined || isAhead(first, second)),
  }
}

type Ranked = KnownWord & { distance: number }

const isAhead = (first: Ranked, second: Ranked): boolean =>
  first.distance < second.distance || first.count >= second.count * FAR_MORE

/** Slips in the first letter are rare; the first two may have changed places. */
const startsOf = (word: string): string[] => [
  ...new Set([word.slice(0, 1), `${word.slice(1, 2)}${word.slice(0, 1)}`]),
]

/** Letters that are missing, too many, other ones, or in each other's place; anything above `most` is one more. */
export function distanceOf(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most) return most + 1
  let before: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1]
      let best = Math.min(
        (last[j - 1] as number) + (isSame ? 0 : 1),
        (last[j] as number) + 1,
        (row[j - 1] as number) + 1,
      )
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        best = Math.min(best, (before[j - 2] as number) + 1)
      row.push(best)
    }
    if (Math.min(...row) > most) return most + 1
    before = last
    last = row
  }
  return last[b.length] as number
}
