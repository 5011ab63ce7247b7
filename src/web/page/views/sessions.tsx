// All sessions: facets, a filter that narrows as one types, and the list.
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { BriefSort } from '../../../query/narrow.ts'
import { count } from '../format.ts'
import { isTeam } from '../here.ts'
import { useKeys } from '../keys.ts'
import { Empty } from '../parts.tsx'
import { go, param, paramValues, sessionPath, setParams } from '../router.ts'
import { FacetSide, telling } from './facets.tsx'
import {
  ListBox,
  lastAsked,
  NARROWING,
  questionHere,
  type SessionList,
  scrollTo,
  usePlace,
  usePlaceBeside,
  useSessionList,
} from './session-list.tsx'

const SORTS: [BriefSort, string][] = [
  ['recent', 'newest'],
  ['cost', 'most expensive'],
  ['tokens', 'most tokens'],
  ['active', 'longest active'],
  ['errors', 'most errors'],
  ['turns', 'most turns'],
]
/** A team server prices what it shows, and knows no active time. */
const UNTOLD: ReadonlySet<string> = new Set(['cost', 'active'])
export const SPANS: [string, string][] = [
  ['', 'any time'],
  ['1d', 'last 24 hours'],
  ['7d', 'last 7 days'],
  ['30d', 'last 30 days'],
  ['365d', 'last year'],
]

export function SessionsView(): JSX.Element {
  const asked = questionHere()
  const list = useSessionList(asked)
  const { head, problem, total } = list
  const [chosen, setChosen] = useListKeys(list)
  usePlace(asked, list, chosen, setChosen)
  return (
    <>
      <ListHead total={total} isKnown={head !== undefined} newest={head?.newest ?? null} />
      <div class="with-side">
        <FacetSide
          facets={head?.facets}
          label="narrow the list"
          isHidden={head ? telling(head.facets).length === 0 : problem !== undefined}
        />
        <ListBox list={list} isChosen={(_, i) => i === chosen} empty={<NothingFound />} />
      </div>
    </>
  )
}

/** The list one came from, beside the session that is open. */
export function SessionsBeside({ uid }: { uid: string }): JSX.Element {
  const list = useSessionList(lastAsked())
  usePlaceBeside(uid, list)
  return (
    <aside class="beside" aria-label="other sessions">
      <h2>
        <a href={`/sessions?${lastAsked()}`}>Sessions</a>{' '}
        <span class="total">{list.head ? count(list.total) : ''}</span>
      </h2>
      <ListBox list={list} isChosen={(row) => row.session_uid === uid} empty={<NothingFound />} />
    </aside>
  )
}

function ListHead(props: { total: number; isKnown: boolean; newest: number | null }): JSX.Element {
  const { total, isKnown, newest } = props
  const isNarrowed = NARROWING.some((name) => param(name) !== undefined)
  return (
    <div class="view-head is-over-side">
      <h1>
        Sessions{' '}
        <span class="total">
          {isKnown ? count(total) : ''}
          {newest !== null && ` of the newest ${count(newest)}`}
        </span>
      </h1>
      <input
        id="filter"
        type="search"
        placeholder="Filter by title, prompt, repository, branch, id   ( / )"
        aria-label="filter sessions"
        value={param('q') ?? ''}
        onInput={(event) => setParams({ q: event.currentTarget.value || undefined }, { replace: true })}
      />
      <div class="head-choices">
        <Chosen name="since" label="when" choices={SPANS} />
        <select
          aria-label="order"
          value={param('sort') ?? 'recent'}
          onChange={(event) => setParams({ sort: event.currentTarget.value })}
        >
          {SORTS.filter(([value]) => !isTeam || !UNTOLD.has(value)).map(([value, name]) => (
            <option value={value}>{name} first</option>
          ))}
        </select>
      </div>
      {(['touched', 'tool', 'until'] as const)
        .filter((name) => param(name) !== undefined)
        .map((name) => (
          <button type="button" class="chip" onClick={() => setParams({ [name]: undefined })}>
            {name}: {param(name)} <span aria-hidden="true">×</span>
          </button>
        ))}
      {isNarrowed && (
        <a class="button quiet" href="/sessions">
          clear all
        </a>
      )}
    </div>
  )
}

/** A choice kept in the address; one that is not offered is shown as it stands there. */
export function Chosen(props: { name: string; label: string; choices: [string, string][] }): JSX.Element {
  const value = param(props.name) ?? ''
  const isOther = !props.choices.some(([one]) => one === value)
  return (
    <select
      aria-label={props.label}
      value={value}
      onChange={(event) =>
        setParams({
          [props.name]: event.currentTarget.value || undefined,
          ...(props.name === 'since' && { until: undefined }),
        })
      }
    >
      {isOther && (
        <option value={value}>{props.name === 'since' ? `since ${value.slice(0, 10)}` : value}</option>
      )}
      {props.choices.map(([one, name]) => (
        <option value={one}>{name}</option>
      ))}
    </select>
  )
}

function NothingFound(): JSX.Element {
  return (
    <Empty title="No session matches">
      <p>
        {paramValues('q').length > 0 ? (
          <>
            Take a condition away, or{' '}
            <a href={`/search?q=${encodeURIComponent(param('q') ?? '')}`}>search what was said</a> instead.
          </>
        ) : (
          'Take a condition away.'
        )}
      </p>
    </Empty>
  )
}

/** j and k move, enter opens; the chosen row stays in sight. */
function useListKeys(list: SessionList): [number, (i: number) => void] {
  const [chosen, setChosen] = useState(-1)
  const move = (by: number): void => {
    const next = Math.max(0, Math.min(list.total - 1, chosen + by))
    setChosen(next)
    scrollTo(list, next)
  }
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    Enter: () => {
      const row = list.rowAt(chosen)
      if (row) go(sessionPath(row.session_uid))
    },
    '/': () => document.getElementById('filter')?.focus(),
  })
  return [chosen, setChosen]
}
