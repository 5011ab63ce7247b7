// The frame around every view: where one is, where one can go, whether the server is there, which keys work.
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { isOnline, signedOut } from './api.ts'
import { useKeys } from './keys.ts'
import { Empty, useCurrentInView } from './parts.tsx'
import { go, path } from './router.ts'
import { CompareView } from './views/compare.tsx'
import { HealthView } from './views/health.tsx'
import { LineageView } from './views/lineage.tsx'
import { OverviewView } from './views/overview.tsx'
import { PatternsView } from './views/patterns.tsx'
import { SearchView } from './views/search.tsx'
import { SessionView } from './views/session.tsx'
import { SessionsView } from './views/sessions.tsx'
import { StorageView } from './views/storage.tsx'
import { UsageView } from './views/usage.tsx'

const VIEWS: [path: string, name: string, view: () => JSX.Element, key: string][] = [
  ['/', 'Overview', OverviewView, 'o'],
  ['/sessions', 'Sessions', SessionsView, 's'],
  ['/search', 'Search', SearchView, 'f'],
  ['/usage', 'Usage', UsageView, 'u'],
  ['/patterns', 'Patterns', PatternsView, 'p'],
  ['/lineage', 'Lineage', LineageView, 'l'],
  ['/compare', 'Compare', CompareView, 'c'],
  ['/storage', 'Storage', StorageView, 't'],
  ['/health', 'Health', HealthView, 'h'],
]

function Current(): JSX.Element {
  const session = /^\/s\/(.+)$/.exec(path.value)
  if (session) {
    const uid = decodeURIComponent(session[1] as string)
    return <SessionView key={uid} uid={uid} />
  }
  const found = VIEWS.find(([to]) => to === path.value)
  if (!found) {
    return (
      <Empty title="There is nothing at this address">
        <p>
          <a href="/">Go to the overview</a>
        </p>
      </Empty>
    )
  }
  const View = found[2]
  return <View key={found[0]} />
}

export function App(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null)
  const isAfterG = useRef(false)
  const jumps = Object.fromEntries(VIEWS.map(([to, , , key]) => [key, to]))
  useKeys({
    '?': () => dialog.current?.showModal(),
    g: () => {
      isAfterG.current = true
      setTimeout(() => {
        isAfterG.current = false
      }, 1200)
    },
    ...Object.fromEntries(
      Object.entries(jumps).map(([key, to]) => [
        key,
        () => {
          if (isAfterG.current) go(to)
        },
      ]),
    ),
  })
  useTitle()
  useCurrentInView('.top nav', path.value)
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="top">
        <a class="brand" href="/">
          <span class="brand-mark" aria-hidden="true" /> Recollect
        </a>
        <nav aria-label="views">
          {VIEWS.map(([to, name]) => (
            <a href={to} aria-current={isHere(to) ? 'page' : undefined}>
              {name}
            </a>
          ))}
        </nav>
        <button
          type="button"
          class="quiet help-button"
          onClick={() => dialog.current?.showModal()}
          aria-label="keys"
        >
          ?
        </button>
      </header>
      <Connection />
      <main id="main" tabIndex={-1}>
        <Current />
      </main>
      <KeysDialog dialog={dialog} />
    </>
  )
}

/** What is wrong with the server, if anything; what was read stays on screen. */
function Connection(): JSX.Element {
  return (
    <>
      {signedOut.value !== undefined && (
        <p class="offline" role="alert">
          The server was started again and does not know this browser any more: {signedOut.value}. What you
          see is what was last read; once you are let in, this page goes on by itself.
        </p>
      )}
      {!isOnline.value && (
        <p class="offline" role="alert">
          The server does not answer. What you see is what was last read. Start it again with{' '}
          <code>recollect ui</code> and open the address it prints; this page goes on by itself then.
        </p>
      )}
    </>
  )
}

const isHere = (to: string): boolean =>
  path.value === to || (to === '/sessions' && path.value.startsWith('/s/'))

function useTitle(): void {
  const now = path.value
  useEffect(() => {
    const name = VIEWS.find(([to]) => to === now)?.[1]
    if (name) document.title = `${name} · Recollect`
  }, [now])
}

const KEYS: [string, string][] = [
  ['j  k', 'next and previous: session in a list, prompt in a transcript'],
  ['enter', 'open the session that is chosen'],
  ['/', 'filter, search, or find in the session'],
  ['n  N', 'next and previous hit in the session'],
  [
    'g then o s f u p l c t h',
    'go to overview, sessions, search, usage, patterns, lineage, compare, storage, health',
  ],
  ['?', 'this list'],
]

function KeysDialog({ dialog }: { dialog: { current: HTMLDialogElement | null } }): JSX.Element {
  return (
    <dialog ref={dialog} aria-labelledby="keys-title">
      <h2 id="keys-title">Keys</h2>
      <dl class="pairs">
        {KEYS.map(([key, text]) => (
          <>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{text}</dd>
          </>
        ))}
      </dl>
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </dialog>
  )
}
