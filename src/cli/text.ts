// Text on a terminal: how wide it is, how to cut and fold it, and how to make foreign text harmless.
import { stripVTControlCharacters } from 'node:util'
import { harmless } from '../export/text.ts'

export { harmless }

/** Harmless, and on one line. */
export const oneLine = (text: string): string => harmless(text).replace(/\s+/gu, ' ').trim()

const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{16fe0}-\u{18aff}\u{1b000}-\u{1b2ff}\u{1f004}\u{1f0cf}\u{1f18e}\u{1f191}-\u{1f19a}\u{1f200}-\u{1f320}\u{1f32d}-\u{1f335}\u{1f337}-\u{1f37c}\u{1f37e}-\u{1f393}\u{1f3a0}-\u{1f3ca}\u{1f3cf}-\u{1f3d3}\u{1f3e0}-\u{1f3f0}\u{1f3f4}\u{1f3f8}-\u{1f43e}\u{1f440}\u{1f442}-\u{1f4fc}\u{1f4ff}-\u{1f53d}\u{1f54b}-\u{1f567}\u{1f57a}\u{1f595}\u{1f596}\u{1f5a4}\u{1f5fb}-\u{1f64f}\u{1f680}-\u{1f6c5}\u{1f6cc}-\u{1f6ff}\u{1f7e0}-\u{1f7eb}\u{1f90c}-\u{1f9ff}\u{1fa70}-\u{1faff}\u{20000}-\u{3fffd}]/u
const MARK = /^[\p{Mn}\p{Me}\p{Cf}]+$/u
const EMOJI = /\p{Emoji_Presentation}|\ufe0f/u
// The whole of a cluster takes the cells of one letter, however many code points it has.
let segmenter: Intl.Segmenter | undefined
/** Made at the first letter that is not plain: loading its tables takes longer than many a command. */
const clustersOf = (text: string): Iterable<Intl.SegmentData> => {
  segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' })
  return segmenter.segment(text)
}
/** Letters that take a cell each and join with no other of them: ASCII, western Europe's, dashes, quotes, lines, our own signs. */
const PLAIN = /^[\x20-\x7e\xa1-\xac\xae-\u017f\u2010-\u2027\u2500-\u257f\u2605]*$/
const isPlain = (text: string): boolean => PLAIN.test(text)

function clusterWidth(cluster: string): number {
  if (cluster === '\n' || MARK.test(cluster)) return 0
  return WIDE.test(cluster) || EMOJI.test(cluster) ? 2 : 1
}

/** Cells of a terminal; colour takes none. */
export function widthOf(text: string): number {
  const bare = text.includes('\x1b') ? stripVTControlCharacters(text) : text
  if (isPlain(bare)) return bare.length
  let width = 0
  for (const { segment } of clustersOf(bare)) width += clusterWidth(segment)
  return width
}

/** In at most so many cells; what is cut is marked. Not for text with colour. */
export function cut(text: string, width: number): string {
  if (width === Number.POSITIVE_INFINITY || (text.length <= width && isPlain(text))) return text
  if (widthOf(text) <= width) return text
  if (width < 1) return ''
  return `${take(text, width - 1)}…`
}

/** The beginning that fits. */
export function take(text: string, width: number): string {
  if (isPlain(text)) return text.slice(0, width)
  let used = 0
  let end = 0
  for (const { segment, index } of clustersOf(text)) {
    used += clusterWidth(segment)
    if (used > width) break
    end = index + segment.length
  }
  return text.slice(0, end)
}

/** The words that fit, whole: half of an id names another thing. The first stays whatever room there is. */
export function takeWords(text: string, width: number): string {
  const words = text.split(' ')
  while (words.length > 1 && widthOf(words.join(' ')) > width) words.pop()
  return words.join(' ')
}

/** Folds one line at spaces, and inside a word only where it is longer than a whole line. */
export function fold(line: string, width: number, restWidth = width): string[] {
  if (widthOf(line) <= width) return [line]
  const lines: string[] = []
  let held = ''
  const room = (): number => (lines.length === 0 ? width : restWidth)
  for (const word of line.split(/(?<= )/)) {
    if (widthOf((held + word).trimEnd()) <= room()) held += word
    else {
      if (held.trim() !== '') lines.push(held.trimEnd())
      held = word
      while (widthOf(held.trimEnd()) > room()) {
        const part = take(held, room())
        if (part === '') break
        lines.push(part)
        held = held.slice(part.length)
      }
    }
  }
  if (held.trim() !== '') lines.push(held.trimEnd())
  return lines
}

/** Every line of a text so that it fits; what a line goes on with is indented, so that lines can be told apart. */
export function foldText(
  text: string,
  width: number,
  hanging: number | ((line: string) => number) = 2,
): string {
  if (width === Number.POSITIVE_INFINITY) return text
  const folded = text.split('\n').flatMap((line) => {
    const indent =
      (/^ */.exec(line)?.[0] ?? '') + ' '.repeat(typeof hanging === 'number' ? hanging : hanging(line))
    const [first = '', ...rest] = fold(line, width, Math.max(20, width - indent.length))
    return [first, ...rest.map((part) => indent + part)]
  })
  return folded.join('\n')
}

/** A title with what its session is filed under: all of it foreign text on one line. */
export const labelled = (
  { starred_at, tags }: { starred_at: string | null; tags: readonly string[] },
  title: string,
): string =>
  [...(starred_at === null ? [] : ['★']), title, ...tags.map((tag) => `#${oneLine(tag)}`)].join(' ')
