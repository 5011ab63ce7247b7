// Whether a piece of Markdown would take in whatever is written behind it: a fence or a block of HTML that never ends, as
// answers that were cut off have. It judges by the rules of CommonMark; where a list may hold the fence it rather says yes.

/** Blanks and marks of lists, then a run of fence signs. */
const FENCE = /^((?: {0,3}(?:[-*+]|\d{1,9}[.)])(?= ))* {0,8})(`{3,}|~{3,})/
const FENCE_END = /^( *)(`+|~+)\s*$/
/** How a block of HTML begins, and what ends it. All other blocks end at a blank line. */
const BLOCKS: [RegExp, RegExp][] = [
  ...['script', 'pre', 'style', 'textarea'].map((tag): [RegExp, RegExp] => [
    new RegExp(`^ {0,3}<${tag}(?:[\\s>]|$)`, 'i'),
    new RegExp(`</${tag}>`, 'i'),
  ]),
  [/^ {0,3}<!--/, /-->/],
]
/** So rare that readers disagree on where it ends, if not on its line. */
const RARE: [RegExp, RegExp][] = [
  [/^ {0,3}<\?/, /\?>/],
  [/^ {0,3}<!\[CDATA\[/, /\]\]>/],
  [/^ {0,3}<![a-z]/i, />/],
]
const ANY_END = /<\/(?:script|pre|style|textarea)>/i

const TAG = /^ {0,3}<\/?[a-z]/i

type State = 'closed' | 'open' | 'unclear'
type Block = (line: string) => State

export function endsOpen(text: string): boolean {
  let open: Block | undefined
  let isInTag = false
  for (const line of text.split('\n')) {
    if (!open) {
      open = fenceAt(line) ?? htmlAt(line)
      if (open && isInTag) return true
      // Up to a blank line a fence would be HTML.
      isInTag = line.trim() !== '' && (isInTag || TAG.test(line))
      continue
    }
    const state = open(line)
    if (state === 'unclear') return true
    if (state === 'closed') open = undefined
  }
  return open !== undefined
}

function fenceAt(first: string): Block | undefined {
  const [whole, before = '', mark = ''] = FENCE.exec(first) ?? []
  // Behind backticks there may be none.
  if (whole === undefined || (mark[0] === '`' && first.includes('`', whole.length))) return undefined
  const indent = before.length
  return (line) => {
    // Left of where it began, a fence in a list has ended with the list, and what follows is anybody's guess.
    if (line.trim() !== '' && line.search(/\S/) < indent) return 'unclear'
    const [, blanks = '', run = ''] = FENCE_END.exec(line) ?? []
    if (run[0] !== mark[0] || run.length < mark.length) return 'open'
    if (blanks.length <= Math.max(indent, 3)) return 'closed'
    return indent === 0 ? 'open' : 'unclear'
  }
}

function htmlAt(first: string): Block | undefined {
  if (RARE.some(([start, end]) => start.test(first) && !end.test(first))) return () => 'unclear'
  const [, end] = BLOCKS.find(([start]) => start.test(first)) ?? []
  if (!end || end.test(first)) return undefined
  // To some readers the end of another such tag ends it too.
  return (line) => (end.test(line) ? 'closed' : ANY_END.test(line) ? 'unclear' : 'open')
}
