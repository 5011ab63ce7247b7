// How wide a drawing may be, as the window changes.
import type { RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'

export function useWidth<T extends HTMLElement>(fallback = 640): [RefObject<T | null>, number] {
  const ref = useRef<T>(null)
  const [width, setWidth] = useState(fallback)
  useEffect(() => {
    const element = ref.current
    if (!element) return
    const observer = new ResizeObserver(([entry]) => {
      if (entry) setWidth(Math.max(200, Math.round(entry.contentRect.width)))
    })
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  return [ref, width]
}

/** Round values for an axis, from 0 to at least `most`. */
export function ticks(most: number, wanted = 4): number[] {
  if (most <= 0) return [0, 1]
  const rough = most / wanted
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = ([1, 2, 2.5, 5, 10].find((one) => one * power >= rough) ?? 10) * power
  const list: number[] = []
  for (let value = 0; value < most + step; value += step) list.push(value)
  return list
}
