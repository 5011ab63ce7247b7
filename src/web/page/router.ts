// Where the reader is. The address holds the whole state: a link, the back button and a reload all lead to the same view.
import { computed, signal } from '@preact/signals'

const address = signal(location.pathname + location.search)

export const path = computed(() => new URL(address.value, location.origin).pathname)
const params = computed(() => new URL(address.value, location.origin).searchParams)

export const param = (name: string): string | undefined => params.value.get(name) ?? undefined
/** Of what may be given more than once. */
export const paramValues = (name: string): string[] => params.value.getAll(name)

/** The reader came by the back or forward button: lists are found as they were left. */
export const cameBack = { value: false }

addEventListener('popstate', () => {
  cameBack.value = true
  address.value = location.pathname + location.search
})

export function go(to: string, options: { replace?: boolean } = {}): void {
  if (to === address.value) return
  cameBack.value = false
  // The place that was reached stays known; who goes to another event leaves it.
  const isOtherEvent = new URL(to, location.origin).searchParams.get('seq') !== (param('seq') ?? null)
  if (options.replace) history.replaceState(isOtherEvent ? null : history.state, '', to)
  else history.pushState(null, '', to)
  const isOtherView = new URL(to, location.origin).pathname !== path.value
  address.value = to
  if (isOtherView) scrollTo(0, 0)
}

export type Params = Record<string, string | readonly string[] | undefined>

function put(query: URLSearchParams, values: Params): URLSearchParams {
  for (const [name, value] of Object.entries(values)) {
    query.delete(name)
    if (value !== undefined) for (const one of [value].flat()) query.append(name, one)
  }
  return query
}

/** This view with some parameters changed; undefined takes one away. */
export const withParams = (changes: Params): string =>
  joined(path.value, put(new URLSearchParams(params.value), changes))

export function setParams(changes: Params, options: { replace?: boolean } = {}): void {
  go(withParams(changes), options)
}

export const to = (pathname: string, values: Params = {}): string =>
  joined(pathname, put(new URLSearchParams(), values))

const joined = (pathname: string, query: URLSearchParams): string =>
  query.size === 0 ? pathname : `${pathname}?${query}`

export const sessionPath = (uid: string, values: Params = {}): string =>
  to(`/s/${encodeURIComponent(uid)}`, values)

/** Which session the address leads to, if it leads to one. */
export function uidInAddress(): string | undefined {
  const [, uid] = /^\/s\/(.+)$/.exec(path.value) ?? []
  return uid === undefined ? undefined : decodeURIComponent(uid)
}

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
  // In a drawing an address is no text, and a link knows no more of it than what was written.
  if (link instanceof SVGAElement) {
    event.preventDefault()
    go(link.href.baseVal)
    return
  }
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
