// A long list of rows of unknown heights, of which only those in view exist.
import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from '@tanstack/virtual-core'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'

export type List = Virtualizer<HTMLElement, HTMLElement>

export function useVirtual(options: {
  count: number
  scroller: { current: HTMLElement | null }
  keyOf: (i: number) => string
  estimate: (i: number) => number
}): List {
  const [, redraw] = useState(0)
  const settings = {
    count: options.count,
    getScrollElement: () => options.scroller.current,
    estimateSize: options.estimate,
    getItemKey: options.keyOf,
    overscan: 6,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: () => redraw((n) => n + 1),
  } as const
  const ref = useRef<List | undefined>(undefined)
  if (!ref.current) ref.current = new Virtualizer<HTMLElement, HTMLElement>(settings)
  const list = ref.current
  list.setOptions(settings)
  useEffect(() => list._didMount(), [list])
  useLayoutEffect(() => list._willUpdate())
  return list
}
