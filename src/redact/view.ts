// An unescaped view of a text: transcripts nest JSON in strings, where a line end is the two characters `\n` and hides
// the start of the token after it. Any depth of escaping is folded in one pass; positions map back to the source.

const ESCAPE = /\\+(?:(["'/bfnrt])|u([0-9a-fA-F]{4}))/g
const PLAIN: Record<string, string> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }

export interface View {
  text: string
  /** The position in the source of a position in the view. */
  toSource(at: number): number
}

/** The view, or undefined when the text holds no escapes. */
export function unescapedView(source: string): View | undefined {
  if (!source.includes('\\')) return undefined
  const viewAt: number[] = [0]
  const sourceAt: number[] = [0]
  const parts: string[] = []
  let length = 0
  let last = 0
  ESCAPE.lastIndex = 0
  for (let match = ESCAPE.exec(source); match; match = ESCAPE.exec(source)) {
    parts.push(source.slice(last, match.index))
    length += match.index - last
    const letter = match[1]
    parts.push(
      letter === undefined
        ? String.fromCharCode(Number.parseInt(match[2] as string, 16))
        : (PLAIN[letter] ?? letter),
    )
    // One entry at the escape itself, so that a range ending before it does not swallow it.
    viewAt.push(length, length + 1)
    sourceAt.push(match.index, ESCAPE.lastIndex)
    length++
    last = ESCAPE.lastIndex
  }
  if (parts.length === 0) return undefined
  parts.push(source.slice(last))
  return {
    text: parts.join(''),
    toSource(at) {
      let low = 0
      let high = viewAt.length - 1
      while (low < high) {
        const middle = (low + high + 1) >> 1
        if ((viewAt[middle] as number) <= at) low = middle
        else high = middle - 1
      }
      return (sourceAt[low] as number) + (at - (viewAt[low] as number))
    },
  }
}
