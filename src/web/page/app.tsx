// The frame around every view: where one is, where one can go, whether the server is there, which keys work.

import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { ask, changes, isOnline, signedOut } from './api.ts'
import { spansYears } from './format.ts'
import { hasView, here, isTeam } from './here.ts'
import { isTyping, useKeys } from './keys.ts'
import { Palette } from './palette.tsx'
import { Empty, useCurrentInView } from './parts.tsx'
import { go, path, uidInAddress } from './router.ts'
import { setTheme, THEMES, type Theme, theme } from './theme.ts'
import { CompareView } from './views/compare.tsx'
import { HealthView } from './views/health.tsx'
import { LineageView } from './views/lineage.tsx'
import { OverviewView } from './views/overview.tsx'
import { PatternsView } from './views/patterns.tsx'
import { RetroView } from './views/retro.tsx'
import { SearchView } from './views/search.tsx'
import { SessionView } from './views/session.tsx'
import { SessionsBeside, SessionsView } from './views/sessions.tsx'
import { StorageView } from './views/storage.tsx'
import { TeamOverviewView } from './views/team-overview.tsx'
import { ToolsView } from './views/tools.tsx'
import { UsageView } from './views/usage.tsx'

const ALL_VIEWS: [path: string, name: string, view: () => JSX.Element, key: string][] = [
  ['/', 'Overview', isTeam ? TeamOverviewView : OverviewView, 'o'],
  ['/sessions', 'Sessions', SessionsView, 's'],
  ['/search', 'Search', SearchView, 'f'],
  ['/usage', 'Usage', UsageView, 'u'],
  ['/patterns', 'Patterns', PatternsView, 'p'],
  ['/tools', 'Tools', ToolsView, 'x'],
  ['/retro', 'Retro', RetroView, 'r'],
  ['/lineage', 'Lineage', LineageView, 'l'],
  ['/compare', 'Compare', CompareView, 'c'],
  ['/storage', 'Storage', StorageView, 't'],
  ['/health', 'Health', HealthView, 'h'],
]
const VIEWS = ALL_VIEWS.filter(([to]) => hasView(to))

/** Room for the list beside a session. */
const wide = matchMedia('(min-width: 1800px)')
const isWide = signal(wide.matches)
wide.addEventListener('change', () => {
  isWide.value = wide.matches
})

function Current(): JSX.Element {
  const uid = uidInAddress()
  if (uid !== undefined) {
    return (
      <div class="session-page">
        {isWide.value && <SessionsBeside uid={uid} />}
        <SessionView key={uid} uid={uid} />
      </div>
    )
  }
  const found = VIEWS.find(([to]) => to === path.value)
  if (!found) {
    return (
      <>
        <h1 class="visually-hidden">Nowhere</h1>
        <Empty title="There is nothing at this address">
          <p>
            <a href="/">Go to the overview</a>
          </p>
        </Empty>
      </>
    )
  }
  const View = found[2]
  return <View key={found[0]} />
}

export function App(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null)
  const [isAsking, setAsking] = useState(false)
  useJumps(() => dialog.current?.showModal())
  useLayoutEffect(() => {
    const listen = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey) return
      event.preventDefault()
      setAsking((is) => !is)
    }
    addEventListener('keydown', listen)
    return () => removeEventListener('keydown', listen)
  }, [])
  useTitle()
  useYears()
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
        <Tools ask={() => setAsking(true)} keys={() => dialog.current?.showModal()} />
      </header>
      <Connection />
      <main id="main" tabIndex={-1}>
        <Current />
      </main>
      <KeysDialog dialog={dialog} />
      {isAsking && <Palette views={ENTRIES} close={() => setAsking(false)} />}
    </>
  )
}

const ENTRIES = VIEWS.map(([to, name, , key]) => ({ name, note: `view · g ${key}`, run: () => go(to) }))

/** g, then the letter of a view. */
function useJumps(showKeys: () => void): void {
  const isAfterG = useRef(false)
  useKeys({
    '?': showKeys,
    // Nothing by itself, and the browser's own meaning of the key is kept from it.
    g: () => {},
    ...Object.fromEntries(
      VIEWS.map(([to, , , key]) => [
        key,
        () => {
          if (isAfterG.current) go(to)
        },
      ]),
    ),
  })
  // After those above: the key before this one, however long ago it was.
  useLayoutEffect(() => {
    const note = (event: Event): void => {
      if (event instanceof KeyboardEvent && event.key === 'Shift') return
      isAfterG.current = event instanceof KeyboardEvent && event.key === 'g' && !isTyping(event.target)
    }
    for (const way of ['keydown', 'pointerdown']) addEventListener(way, note)
    return () => {
      for (const way of ['keydown', 'pointerdown']) removeEventListener(way, note)
    }
  }, [])
}

const SIGNS: Record<Theme, string> = { system: '◐', light: '☀', dark: '☾' }

function Tools(props: { ask: () => void; keys: () => void }): JSX.Element {
  const next = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] as Theme
  return (
    <div class="top-tools">
      <button type="button" class="quiet go-to" aria-label="Go to… Ctrl K" onClick={props.ask}>
        <span>Go to…</span> <kbd>Ctrl K</kbd>
      </button>
      <button
        type="button"
        class="quiet round"
        onClick={() => setTheme(next)}
        title={`colours: ${theme.value}`}
        aria-label={`colours: ${theme.value}; change to ${next}`}
      >
        {SIGNS[theme.value]}
      </button>
      <button type="button" class="quiet round" onClick={props.keys} aria-label="keys">
        ?
      </button>
      {here.team && (
        <form method="post" action="/logout">
          <button
            type="submit"
            class="quiet"
            title={`${here.team.person}, ${here.team.role} of ${here.team.team}`}
          >
            Sign out {here.team.person}
          </button>
        </form>
      )}
    </div>
  )
}

/** Whether dates need their year. */
function useYears(): void {
  const tick = changes.value
  useEffect(() => {
    ask<{ first_at: string | null; last_at: string | null }>('span').then(
      ({ first_at: first, last_at: last }) => {
        const year = (at: string | null): number => new Date(at ?? Date.now()).getFullYear()
        spansYears.value = year(first) !== year(last) || year(first) !== new Date().getFullYear()
      },
      // Without a memory there is no date either; what else went wrong is told by the view.
      () => {},
    )
  }, [tick])
}

/** What is wrong with the server, if anything; what was read stays on screen. */
function Connection(): JSX.Element {
  return (
    <>
      {signedOut.value !== undefined && isTeam && (
        <p class="offline" role="alert">
          You are not signed in any more. What you see is what was last read.{' '}
          <a href="/login" target="_blank" rel="noopener">
            Sign in
          </a>{' '}
          in another tab; this page goes on by itself then.
        </p>
      )}
      {signedOut.value !== undefined && !isTeam && (
        <p class="offline" role="alert">
          The server was started again and does not know this browser any more: {signedOut.value}. What you
          see is what was last read; once you are let in, this page goes on by itself.
        </p>
      )}
      {!isOnline.value && (
        <p class="offline" role="alert">
          The server does not answer. What you see is what was last read.
          {!isTeam && (
            <>
              {' '}
              Start it again with <code>recollect ui</code> and open the address it prints; this page goes on
              by itself then.
            </>
          )}
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

/** What is pressed, and what it does. */
const KEYS: [keys: string[], text: string][] = [
  [['j', 'k'], 'next and previous: session in a list, event in a transcript'],
  [['J', 'K'], 'next and previous prompt'],
  [['e', 'E'], 'next and previous error'],
  [['[', ']'], 'the session before and after this one in the list'],
  [['space', 'End', 'arrows'], 'move the transcript'],
  [['enter'], 'open the session that is chosen'],
  [['/'], 'filter, search, or find in the session'],
  [['n', 'N'], 'next and previous hit in the session'],
  [['Ctrl k'], 'go to a session or a view, or do something'],
  [['?'], 'this list'],
]

function KeysDialog({ dialog }: { dialog: { current: HTMLDialogElement | null } }): JSX.Element {
  return (
    <dialog ref={dialog} aria-labelledby="keys-title">
      <h2 id="keys-title">Keys</h2>
      <dl class="pairs keys">
        {KEYS.map(([keys, text]) => (
          <>
            <dt>
              {keys.map((key) => (
                <>
                  <kbd>{key}</kbd>{' '}
                </>
              ))}
            </dt>
            <dd>{text}</dd>
          </>
        ))}
        <dt>
          <kbd>g</kbd> then
        </dt>
        <dd class="key-views">
          {VIEWS.map(([, name, , key]) => (
            <span>
              <kbd>{key}</kbd> {name.toLowerCase()}
            </span>
          ))}
        </dd>
      </dl>
      <form method="dialog">
        <button type="submit" class="quiet">
          Close
        </button>
      </form>
    </dialog>
  )
}
