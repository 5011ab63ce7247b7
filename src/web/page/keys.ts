// Keys that work wherever nothing is being typed.
import { useEffect, useRef } from 'preact/hooks'

type Handler = (event: KeyboardEvent) => unknown

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.isContentEditable)

/** Enter belongs to a link or button that has the focus; arrows to what scrolls. */
const isTaken = (event: KeyboardEvent): boolean =>
  event.key === 'Enter' &&
  event.target instanceof Element &&
  event.target.closest('a, button, summary') !== null

export function useKeys(keys: Record<string, Handler>): void {
  const now = useRef(keys)
  now.current = keys
  useEffect(() => {
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
