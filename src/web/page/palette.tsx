// Ctrl-K: sessions, views and actions by a few letters of their name.
import type { JSX } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { BriefPage } from '../../query/narrow.ts'
import { change, useAnswer } from './api.ts'
import { titleOf, when } from './format.ts'
import { isTeam } from './here.ts'
import { go, sessionPath, to } from './router.ts'
import { setTheme, THEMES } from './theme.ts'

export interface Entry {
  name: string
  note: string
  run: () => void
}

const SESSIONS = 8
/** The types know this role only beside a datalist. */
const COMBOBOX = { role: 'combobox', 'aria-expanded': 'true' } as object

/** All letters in their order: `ov` and `ovw` find Overview. */
export function fits(typed: string, name: string): boolean {
  let at = 0
  const letters = name.toLowerCase()
  for (const letter of typed.toLowerCase().replace(/\s+/g, '')) {
    at = letters.indexOf(letter, at) + 1
    if (at === 0) return false
  }
  return true
}

/** What fits the words: views and actions, sessions, and a search for them. */
function useEntries(words: string, views: Entry[]): { entries: Entry[]; problem: string | undefined } {
  const sessions = useAnswer<BriefPage>(`sessions?limit=${SESSIONS}&q=${encodeURIComponent(words)}`)
  const found = sessions.match<{ entries: Entry[]; problem?: string }>({
    loading: () => ({ entries: [] }),
    failed: ({ message }) => ({ entries: [], problem: message }),
    answered: (page) => ({
      entries: page.sessions.map((one) => ({
        name: titleOf(one),
        note: [one.flavor, one.repo, when(one.started_at)].filter(Boolean).join(' · '),
        run: () => go(sessionPath(one.session_uid)),
      })),
    }),
  })
  const own = [...views, ...ACTIONS].filter((one) => fits(words, one.name))
  const search: Entry = {
    name: `Search for “${words}”`,
    note: isTeam ? 'in digests' : 'in everything that was said',
    run: () => go(to('/search', { q: words })),
  }
  const entries = words === '' ? [...own, ...found.entries] : [...own.slice(0, 6), ...found.entries, search]
  return { entries, problem: found.problem }
}

export function Palette({ views, close }: { views: Entry[]; close: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null)
  const [typed, setTyped] = useState('')
  const [chosen, setChosen] = useState(0)
  // At once: what is typed next belongs to it.
  useLayoutEffect(() => dialog.current?.showModal(), [])
  const { entries, problem } = useEntries(typed.trim(), views)
  const at = Math.min(chosen, entries.length - 1)
  const run = (entry: Entry | undefined): void => {
    if (!entry) return
    close()
    entry.run()
  }
  const onKey = (event: KeyboardEvent): void => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (by !== undefined) setChosen((at + by + entries.length) % Math.max(1, entries.length))
    else if (event.key === 'Enter') run(entries[at])
    else if (event.key === 'Escape') close()
    else return
    event.preventDefault()
  }
  return (
    <dialog ref={dialog} class="palette" aria-label="go to" onClose={close}>
      <input
        type="search"
        {...COMBOBOX}
        aria-controls="palette-list"
        aria-activedescendant={`palette-${at}`}
        aria-label="go to a session, a view, or do something"
        placeholder="Go to a session, a view, or do something"
        value={typed}
        onInput={(event) => {
          setTyped(event.currentTarget.value)
          setChosen(0)
        }}
        onKeyDown={onKey}
      />
      <Entries entries={entries} at={at} run={run} />
      {problem !== undefined && <p class="part-problem">the sessions could not be read: {problem}</p>}
    </dialog>
  )
}

function Entries(props: { entries: Entry[]; at: number; run: (entry: Entry) => void }): JSX.Element {
  useEffect(() => {
    document.getElementById(`palette-${props.at}`)?.scrollIntoView({ block: 'nearest' })
  }, [props.at])
  return (
    <div id="palette-list" role="listbox" aria-label="matches">
      {props.entries.map((entry, i) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are the input's
        <div
          id={`palette-${i}`}
          role="option"
          aria-selected={i === props.at}
          tabIndex={-1}
          onClick={() => props.run(entry)}
        >
          <span>{entry.name}</span> <span class="muted">{entry.note}</span>
        </div>
      ))}
    </div>
  )
}

const SWEEP: Entry = {
  name: 'Sweep now',
  note: 'what agents wrote since the last sweep',
  // What comes of it stands in the overview.
  run: () => {
    go('/')
    void change('sweep', {}).catch(() => {})
  },
}

const ACTIONS: Entry[] = [
  ...(isTeam ? [] : [SWEEP]),
  ...THEMES.map((one) => ({
    name:
      one === 'system' ? 'Colours as the system has them' : `${one === 'dark' ? 'Dark' : 'Light'} colours`,
    note: 'theme',
    run: () => setTheme(one),
  })),
]
