// Marks what was looked for in what is on screen, without touching it: the browser paints ranges over text nodes.
import { useEffect, useRef } from 'preact/hooks'

/** What is to be marked: the whole text where it stands, else each of its words. */
function termsOf(query: string): { whole: string; words: string[] } {
  const whole = query.trim().replace(/^"|"$/g, '').toLowerCase()
  const words = whole
    .split(/[\s"]+/)
    .map((word) => word.replace(/\*$/, ''))
    .filter((word) => word.length > 1 && !word.startsWith('-'))
  return { whole, words }
}

interface Piece {
  node: Text
  from: number
}

const MAX_MARKS = 2000

function rangesIn(element: Element, query: string): Range[] {
  const pieces: Piece[] = []
  let text = ''
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node.parentElement?.closest('.step-link, .step-acts')) continue
    pieces.push({ node: node as Text, from: text.length })
    text += node.nodeValue ?? ''
  }
  const lower = text.toLowerCase()
  // Some letters grow when they are made small: then they are compared as they are.
  const held = lower.length === text.length ? lower : text
  const { whole, words } = termsOf(query)
  const terms = whole !== '' && held.includes(whole) ? [whole] : words
  return terms.flatMap((term) => rangesOf(pieces, held, term))
}

function rangesOf(pieces: readonly Piece[], text: string, term: string): Range[] {
  const ranges: Range[] = []
  const place = (at: number): [Text, number] => {
    const piece = pieces.findLast((one) => one.from <= at) as Piece
    return [piece.node, Math.min(at - piece.from, piece.node.length)]
  }
  for (
    let at = text.indexOf(term);
    at !== -1 && ranges.length < MAX_MARKS;
    at = text.indexOf(term, at + term.length)
  ) {
    const range = document.createRange()
    range.setStart(...place(at))
    const [node, offset] = place(at + term.length - 1)
    range.setEnd(node, offset + 1)
    ranges.push(range)
  }
  return ranges
}

interface Highlights {
  set(name: string, highlight: unknown): void
  delete(name: string): void
}
type Painter = new (...ranges: Range[]) => unknown

/** Browsers without it mark nothing; what is found is still gone to. */
const painting = (): [Highlights, Painter] | undefined => {
  const highlights = (CSS as unknown as { highlights?: Highlights }).highlights
  const painter = (globalThis as unknown as { Highlight?: Painter }).Highlight
  return highlights && painter ? [highlights, painter] : undefined
}

/** Marks all hits in view after every drawing, those of the present one otherwise. Gives what brings that one into view. */
export function useMarks(scroller: { current: HTMLElement | null }, query: string): () => void {
  const first = useRef<Range | undefined>(undefined)
  useEffect(() => {
    const brush = painting()
    first.current = undefined
    if (query.trim() === '' || !scroller.current) {
      for (const name of ['found', 'found-here']) brush?.[0].delete(name)
      return
    }
    const slots = [...scroller.current.querySelectorAll('.slot')]
    const isHere = (slot: Element): boolean => slot.classList.contains('target')
    const of = (elements: Element[]): Range[] => elements.flatMap((element) => rangesIn(element, query))
    const present = of(slots.filter(isHere))
    first.current = present[0]
    if (!brush) return
    const [highlights, Painter] = brush
    highlights.set('found', new Painter(...of(slots.filter((slot) => !isHere(slot)))))
    highlights.set('found-here', new Painter(...present))
  })
  return () => {
    if (scroller.current && first.current)
      bringIntoView(scroller.current, first.current.getBoundingClientRect())
  }
}

const MARGIN = 48

/** Nothing to see of what is folded away. */
function bringIntoView(scroller: HTMLElement, box: DOMRect): void {
  const outer = scroller.getBoundingClientRect()
  if (box.height > 0 && (box.top < outer.top + MARGIN || box.bottom > outer.bottom - MARGIN))
    scroller.scrollTop += box.top - outer.top - outer.height * 0.4
}
