// The feed of changes. A browser keeps six connections to a server and a stream holds one for good, so all tabs share one:
// the tab that has the lock listens and passes on what it hears; when it is closed, another gets the lock. Whoever begins
// to listen has everything on screen asked for again, in all tabs, because nobody knows what was missed.
import { signal } from '@preact/signals'
import type { Brief } from '../../query/briefs.ts'
import type { SweepProgress } from '../../store/sweep-lock.ts'
import { ask, changes, isOnline } from './api.ts'

/** What the last change was about. */
export const changed = signal<ReadonlyMap<string, Brief>>(new Map())
/** How far the sweep is that was set off here or in another tab. */
export const sweeping = signal<SweepProgress | null>(null)

type Message =
  | { event: 'problem' | 'away' }
  /** What the memory holds as the listening begins: something else than when this page was opened means that something was missed. */
  | { event: 'hello'; version: string }
  | { event: 'change'; sessions: Brief[] }
  | { event: 'sweep'; progress: SweepProgress | null }

const RETRY_MS = 2000
const tabs = new BroadcastChannel('recollect-live')
const openedWith = document.querySelector<HTMLMetaElement>('meta[name=recollect-version]')?.content
let wasOpen = false
let isBehind = false

export function listen(): void {
  tabs.onmessage = ({ data }: MessageEvent<Message>) => heard(data)
  addEventListener('visibilitychange', () => {
    if (document.hidden || !isBehind) return
    isBehind = false
    changes.value++
  })
  // Locks are kept from pages that come unencrypted from another machine: there a tab listens while somebody looks at it.
  if (navigator.locks) void navigator.locks.request('recollect-live', () => new Promise(() => open()))
  else listenWhileSeen()
}

function listenWhileSeen(): void {
  let end = document.hidden ? undefined : open()
  addEventListener('visibilitychange', () => {
    end?.()
    end = document.hidden ? undefined : open()
  })
}

function tell(message: Message): void {
  tabs.postMessage(message)
  heard(message)
}

function heard(message: Message): void {
  if (message.event === 'away') isOnline.value = false
  else if (message.event === 'sweep') sweeping.value = message.progress
  else {
    if (message.event === 'change')
      changed.value = new Map(message.sessions.map((one) => [one.session_uid, one]))
    const isFirst = message.event === 'hello' && message.version === openedWith && !wasOpen && isOnline.value
    wasOpen = true
    isOnline.value = true
    if (!isFirst) askAgain()
  }
}

/** A tab that nobody sees asks when it is looked at again. */
function askAgain(): void {
  if (document.hidden) isBehind = true
  else changes.value++
}

/** Returns what ends it. */
function open(): () => void {
  const source = new EventSource('/api/live')
  let end = (): void => source.close()
  const on = (event: string, message: (data: string) => Message): void =>
    source.addEventListener(event, (told) => tell(message((told as MessageEvent<string>).data)))
  on('hello', (data) => ({ event: 'hello', version: (JSON.parse(data) as { version: string }).version }))
  on('problem', () => ({ event: 'problem' }))
  on('change', (data) => ({
    event: 'change',
    sessions: (JSON.parse(data) as { sessions: Brief[] }).sessions,
  }))
  on('sweep', (data) => ({
    event: 'sweep',
    progress: (JSON.parse(data) as { progress: SweepProgress | null }).progress,
  }))
  source.addEventListener('error', () => {
    // A refusal ends the stream for good and says nothing; a question is told why. A new stream may be let in.
    if (source.readyState === EventSource.CLOSED) {
      ask('status').catch(() => {})
      const timer = setTimeout(() => {
        end = open()
      }, RETRY_MS)
      end = () => clearTimeout(timer)
    } else tell({ event: 'away' })
  })
  return () => end()
}
