// Where the reader is. The address holds the whole state: a link, the back button and a reload all lead to the same view.
import { computed, signal } from '@preact/signals'

const address = signal(location.pathname + location.search)

export const path = computed(() => new URL(address.value, location.origin).pathname)
const params = computed(() => new URL(address.value, location.origin).searchParams)

export const param = (name: string): string | undefined => params.value.get(name) ?? undefined

/** The reader came by the back or forward button: lists are found as they were left. */
export const cameBack = { value: false }

addEventListener('popstate', () => {
  cameBack.value = true
  address.value = location.pathname + location.search
})

export function go(to: string, options: { replace?: boolean } = {}): void {
  if (to === address.value) return
  cameBack.value = false
  if (options.replace) history.replaceState(null, '', to)
  else history.pushState(null, '', to)
  const isOtherView = new URL(to, location.origin).pathname !== path.value
  address.value = to
  if (isOtherView) scrollTo(0, 0)
}

export type Params = Record<string, string | undefined>

/** This view with some parameters changed; undefined takes one away. */
export function withParams(changes: Params): string {
  const next = new URLSearchParams(params.value)
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) next.delete(name)
    else next.set(name, value)
  }
  return to(path.value, Object.fromEntries(next))
}

export function setParams(changes: Params, options: { replace?: boolean } = {}): void {
  go(withParams(changes), options)
}

export function to(pathname: string, values: Params = {}): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) if (value !== undefined) query.set(name, value)
  const text = query.toString()
  return text === '' ? pathname : `${pathname}?${text}`
}

export const sessionPath = (uid: string, values: Params = {}): string =>
  to(`/s/${encodeURIComponent(uid)}`, values)

/** Plain clicks on our own links stay in the page; anything else is the browser's. */
export function followLinks(event: MouseEvent): void {
  if (
    event.defaultPrevented ||
    event.button !== 0 ||
    event.metaKey ||
    event.ctrlKey ||
    event.shiftKey ||
    event.altKey
  )
    return
  const link = (event.target as Element | null)?.closest?.('a')
  // A place in this view is the browser's to go to.
  if (
    link?.target !== '' ||
    link.hash !== '' ||
    link.origin !== location.origin ||
    link.hasAttribute('download')
  )
    return
  event.preventDefault()
  go(link.pathname + link.search)
}
