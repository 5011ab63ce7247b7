// What is looked for in bodies: words, a text as it is, or a regular expression. Bodies are JSON, in which quotes, line breaks
// and letters beyond ASCII may be written in more than one way: so a chunk is asked only for a run of plain characters that
// any body must hold, and the text itself is read where that is there.
import { RecollectError } from '../errors.ts'
import { readBody } from '../event/body.ts'
import { searchedIn } from '../event/words.ts'
import type { Run, ScanQuestion } from '../store/scan.ts'
import type { QueryTerm } from '../store/words.ts'
import { escaped, type Finder, LineFinder, PatternFinder } from './line.ts'

export interface Wanted extends Pick<ScanQuestion, 'mayHold' | 'holds' | 'run'> {
  finder: Finder
}

/** All of some words, in any case, without others. */
export function wantedWords(
  terms: readonly QueryTerm[],
  ruledOut: readonly QueryTerm[],
  lineLength?: number,
): Wanted {
  const finder = new LineFinder(terms, lineLength)
  const others = new LineFinder(ruledOut)
  const runs = terms.map((term) => plainRun(term.text, term.isLiteral ? SAFE : WORD))
  // To fold a chunk first would cost as much as to unpack it.
  const patterns = runs.map((run) => new RegExp(escaped(run), 'i'))
  return wanted(
    finder,
    (text) => patterns.every((pattern) => pattern.test(text)),
    (text) => others.count(text) === 0,
  )
}

/** A text exactly as it is. */
export function wantedText(text: string, lineLength?: number): Wanted {
  const run = plainRun(text, SAFE)
  return wanted(new PatternFinder(new RegExp(escaped(text), 'gmu'), lineLength), (chunk) =>
    chunk.includes(run),
  )
}

/** A regular expression, or `/one/i` with flags. `run` is what it runs in: nobody knows how long one takes. */
export function wantedPattern(typed: string, lineLength?: number, run?: Run): Wanted {
  const slashed = /^\/(.+)\/([ims]*)$/s.exec(typed)
  const source = slashed?.[1] ?? typed
  const flags = slashed?.[2] ?? ''
  const finder = new PatternFinder(compiled(source, flags, typed), lineLength, run)
  const letters = flags.includes('i') ? '' : sureRun(source)
  return { ...wanted(finder, (chunk) => chunk.includes(letters)), run }
}

function wanted(
  finder: Finder,
  mayHold: (text: string) => boolean,
  isMeant: (text: string) => boolean = () => true,
): Wanted {
  return {
    finder,
    // Every byte as a character of its own: what is looked for is ASCII.
    mayHold: (chunk) => mayHold(chunk.toString('latin1')),
    holds: (body) => {
      if (!mayHold(body)) return false
      const text = textOf(body)
      return finder.isWholeIn(text) && isMeant(text)
    },
  }
}

/** A body that went while it was read is no body. */
function textOf(body: string): string {
  try {
    return searchedIn(readBody(body))
  } catch {
    return ''
  }
}

function compiled(source: string, flags: string, typed: string): RegExp {
  try {
    return new RegExp(source, `gmu${flags.replace('m', '')}`)
  } catch {
    // `\-` and the like are refused with the flag u, and `\p{L}` means nothing without it.
  }
  try {
    return new RegExp(source, `gm${flags.replace('m', '')}`)
  } catch (cause) {
    throw new RecollectError('USAGE', `${typed} is no regular expression`, {
      where: '--regex',
      cause,
      hint: 'as in JavaScript: recollect search --regex "E[A-Z]+: .* denied"; --literal takes it as it is',
    })
  }
}

const WORD = /[a-z0-9]+/gi
/** Nobody who writes JSON escapes these. */
const SAFE = /[a-z0-9 _.,:;(){}[\]=+*?!@#$%^~|-]+/gi

const longest = (runs: readonly string[]): string =>
  runs.reduce((best, run) => (run.length > best.length ? run : best), '')

const plainRun = (text: string, run: RegExp): string => longest(text.match(run) ?? [])

/** The longest run of letters that a match of a regular expression must hold; empty where that is not easily seen. */
function sureRun(source: string): string {
  if (source.includes('|')) return ''
  const plain = source
    .replace(/\\./gs, '\n')
    .replace(/\[(?:[^\]])*\]/g, '\n')
    .replace(/\(.*\)/gs, '\n')
    .replace(/.(?:[*?]|\{[^}]*\})/g, '\n')
  return longest(plain.match(/[a-z0-9_ -]+/gi) ?? [])
}
