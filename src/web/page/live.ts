// The feed of changes: one stream for the whole page. The browser opens it again by itself when it breaks; once it is
// back, everything on screen is asked for again, because nobody knows what was missed.
import { signal } from '@preact/signals'
import type { Brief } from '../../query/briefs.ts'
import { ask, changes, isOnline } from './api.ts'

/** What the last change was about. */
export const changed = signal<ReadonlyMap<string, Brief>>(new Map())

const RETRY_MS = 2000
let wasOpen = false

export function listen(): void {
  const source = new EventSource('/api/live')
  source.addEventListener('hello', () => {
    if (wasOpen || !isOnline.value) changes.value++
    wasOpen = true
    isOnline.value = true
  })
  source.addEventListener('change', (event) => {
    const { sessions } = JSON.parse((event as MessageEvent<string>).data) as { sessions: Brief[] }
    changed.value = new Map(sessions.map((one) => [one.session_uid, one]))
    changes.value++
  })
  source.addEventListener('problem', () => {
    changes.value++
  })
  source.addEventListener('error', () => {
    // A refusal ends the stream for good and says nothing; a question is told why. A new stream may be let in.
    if (source.readyState === EventSource.CLOSED) {
      ask('status').catch(() => {})
      setTimeout(listen, RETRY_MS)
    } else isOnline.value = false
  })
}
