// Keys that work wherever nothing is being typed.
import { useLayoutEffect, useRef } from 'preact/hooks'

type Handler = (event: KeyboardEvent) => unknown

export const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.isContentEditable)

const SCROLLING: ReadonlySet<string> = new Set([
  'ArrowUp',
  'ArrowDown',
  'PageUp',
  'PageDown',
  'Home',
  'End',
  ' ',
])

/** Enter and the space bar belong to what has the focus and can be pressed; what scrolls to what has it and scrolls by itself. */
function isTaken({ key, target }: KeyboardEvent): boolean {
  if (!(target instanceof Element)) return false
  const isPressed = key === 'Enter' || key === ' '
  if (isPressed && target.closest('a, button, summary, dialog') !== null) return true
  return SCROLLING.has(key) && target.closest('[tabindex="0"], dialog') !== null
}

export function useKeys(keys: Record<string, Handler>): void {
  const now = useRef(keys)
  now.current = keys
  // Before the view is painted: a key that follows what one sees must not be lost.
  useLayoutEffect(() => {
    const listen = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey) return
      if (isTyping(event.target)) {
        if (event.key === 'Escape') (event.target as HTMLElement).blur()
        return
      }
      const handler = now.current[event.key]
      if (!handler || isTaken(event)) return
      event.preventDefault()
      handler(event)
    }
    addEventListener('keydown', listen)
    return () => removeEventListener('keydown', listen)
  }, [])
}
