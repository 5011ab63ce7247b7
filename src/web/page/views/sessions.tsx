// All sessions: facets, a filter that narrows as one types, and a list of any length of which only what is seen is drawn.
import type { JSX } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Brief } from '../../../query/briefs.ts'
import { type BriefPage, type BriefSort, FACETS } from '../../../query/narrow.ts'
import { ask, changes, isOnline, type Problem } from '../api.ts'
import { Sparkline } from '../charts/lines.tsx'
import { count, duration, plural, short, titleOf, usd } from '../format.ts'
import { useKeys } from '../keys.ts'
import { Answered, Empty, OutcomeBadge, outcomeWord, When } from '../parts.tsx'
import { cameBack, go, param, sessionPath, setParams } from '../router.ts'
import { Facets, telling } from './facets.tsx'

type Row = Brief & { context_fill: number[] }
type Page = Omit<BriefPage, 'sessions'> & { sessions: Row[] }

const ROW = 52
const PAGE = 100
const OVERSCAN = 8
const SORTS: [BriefSort, string][] = [
  ['recent', 'newest'],
  ['cost', 'dearest'],
  ['tokens', 'most tokens'],
  ['active', 'longest active'],
  ['errors', 'most errors'],
  ['turns', 'most turns'],
]

const NARROWING = [...FACETS, 'since', 'until', 'touched', 'tool'] as const

/** What of the address asks the server. */
function question(): string {
  const query = new URLSearchParams()
  for (const name of ['q', 'sort', 'all', ...NARROWING]) {
    const value = param(name)
    if (value !== undefined) query.set(name, value)
  }
  return query.toString()
}

interface Loaded {
  question: string
  head: Page | undefined
  pages: Map<number, Row[]>
  problem: Problem | undefined
}

/** Pages of the list as they come into view; a change of the question or of the memory begins anew. */
function usePages(asked: string, wanted: readonly number[]): Loaded {
  const tick = changes.value
  const [loaded, setLoaded] = useState<Loaded>({
    question: asked,
    head: undefined,
    pages: new Map(),
    problem: undefined,
  })
  const going = useRef(new Set<string>())
  const latest = useRef('')
  const key = wanted.join(',')
  useEffect(() => {
    const run = `${asked} ${tick}`
    latest.current = run
    const known = loaded.question === run ? loaded.pages : new Map<number, Row[]>()
    for (const page of wanted) {
      if (known.has(page) || going.current.has(`${run} ${page}`)) continue
      going.current.add(`${run} ${page}`)
      ask<Page>(`sessions?${asked}&offset=${page * PAGE}&limit=${PAGE}`).then(
        (head) => {
          going.current.delete(`${run} ${page}`)
          // An answer that comes late must not replace a newer one.
          if (latest.current !== run) return
          setLoaded((old) => {
            const pages = old.question === run ? old.pages : new Map<number, Row[]>()
            return { question: run, head, pages: new Map(pages).set(page, head.sessions), problem: undefined }
          })
        },
        (problem: Problem) => {
          going.current.delete(`${run} ${page}`)
          setLoaded((old) => ({ ...old, problem }))
        },
      )
    }
  }, [asked, tick, key, isOnline.value])
  return loaded
}

export function SessionsView(): JSX.Element {
  const asked = question()
  const scroller = useRef<HTMLDivElement>(null)
  const [top, setTop] = useState(0)
  const [height, setHeight] = useState(800)
  const first = Math.max(0, Math.floor(top / ROW) - OVERSCAN)
  const last = Math.ceil((top + height) / ROW) + OVERSCAN
  const pages = [...new Set([0, Math.floor(first / PAGE), Math.floor(last / PAGE)])]
  const { head, pages: rows, problem } = usePages(asked, pages)
  const total = head?.total ?? 0
  const rowAt = (i: number): Row | undefined => rows.get(Math.floor(i / PAGE))?.[i % PAGE]
  const [chosen, setChosen] = useListKeys(total, scroller, (i) => {
    const row = rowAt(i)
    if (row) go(sessionPath(row.session_uid))
  })
  usePlace(asked, scroller, head !== undefined, chosen, setChosen)
  useEffect(() => {
    const element = scroller.current
    if (!element) return
    const observer = new ResizeObserver(() => setHeight(element.clientHeight))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  const shown = Array.from({ length: Math.max(0, Math.min(total, last) - first) }, (_, i) => first + i)
  return (
    <div class="with-side">
      <aside
        class="facets"
        aria-label="narrow the list"
        hidden={head ? telling(head.facets).length === 0 : problem !== undefined}
      >
        {head && <Facets facets={head.facets} />}
      </aside>
      <div class="main-column">
        <ListHead total={total} isKnown={head !== undefined} />
        <div class="session-list" ref={scroller} onScroll={(event) => setTop(event.currentTarget.scrollTop)}>
          {!head && <Answered answer={{ data: undefined, problem, isLoading: true }}>{() => null}</Answered>}
          {head && total === 0 && <NothingFound />}
          <ol class="rows" style={{ height: `${total * ROW}px` }} aria-label={`${count(total)} sessions`}>
            {shown.map((i) => (
              <SessionRow key={i} row={rowAt(i)} at={i} isChosen={i === chosen} />
            ))}
          </ol>
        </div>
      </div>
    </div>
  )
}

/** Where the list was when it was last seen. */
const left = { asked: '', top: 0, chosen: -1 }

/** Another question begins at the top; the back button leads to the row one came from. */
function usePlace(
  asked: string,
  scroller: { current: HTMLDivElement | null },
  isLoaded: boolean,
  chosen: number,
  setChosen: (i: number) => void,
): void {
  // At once, both of them: an effect that waits for the next frame is lost when Enter leaves the list before it.
  useLayoutEffect(() => {
    if (!isLoaded) return
    const isBack = cameBack.value && left.asked === asked
    if (scroller.current) scroller.current.scrollTop = isBack ? left.top : 0
    setChosen(isBack ? left.chosen : -1)
    left.asked = asked
  }, [asked, isLoaded])
  useLayoutEffect(() => {
    const element = scroller.current
    return () => {
      if (left.asked === asked && element) left.top = element.scrollTop
    }
  }, [asked])
  useLayoutEffect(() => {
    if (isLoaded && left.asked === asked) left.chosen = chosen
  })
}

function ListHead({ total, isKnown }: { total: number; isKnown: boolean }): JSX.Element {
  const isNarrowed = NARROWING.some((name) => param(name) !== undefined)
  return (
    <div class="view-head">
      <h1>
        Sessions <span class="total">{isKnown ? count(total) : ''}</span>
      </h1>
      <input
        id="filter"
        type="search"
        placeholder="Filter by title, prompt, repository, branch, id   ( / )"
        aria-label="filter sessions"
        value={param('q') ?? ''}
        onInput={(event) => setParams({ q: event.currentTarget.value || undefined }, { replace: true })}
      />
      <select
        aria-label="order"
        value={param('sort') ?? 'recent'}
        onChange={(event) => setParams({ sort: event.currentTarget.value })}
      >
        {SORTS.map(([value, name]) => (
          <option value={value}>{name} first</option>
        ))}
      </select>
      {(['touched', 'tool'] as const)
        .filter((name) => param(name) !== undefined)
        .map((name) => (
          <button type="button" class="chip" onClick={() => setParams({ [name]: undefined })}>
            {name}: {param(name)} <span aria-hidden="true">×</span>
          </button>
        ))}
      {isNarrowed && (
        <a class="button" href="/sessions">
          clear
        </a>
      )}
    </div>
  )
}

function NothingFound(): JSX.Element {
  return (
    <Empty title="No session matches">
      <p>
        Take a condition away, or{' '}
        <a href={`/search?q=${encodeURIComponent(param('q') ?? '')}`}>search what was said</a> instead.
      </p>
    </Empty>
  )
}

/** j and k move, enter opens; the chosen row stays in sight. */
function useListKeys(
  total: number,
  scroller: { current: HTMLDivElement | null },
  open: (i: number) => void,
): [number, (i: number) => void] {
  const [chosen, setChosen] = useState(-1)
  const move = (by: number): void => {
    const next = Math.max(0, Math.min(total - 1, chosen + by))
    setChosen(next)
    const element = scroller.current
    if (!element) return
    const y = next * ROW
    if (y < element.scrollTop) element.scrollTop = y
    else if (y + ROW > element.scrollTop + element.clientHeight)
      element.scrollTop = y + ROW - element.clientHeight
  }
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    Enter: () => chosen >= 0 && open(chosen),
    '/': () => document.getElementById('filter')?.focus(),
  })
  return [chosen, setChosen]
}

function SessionRow({
  row,
  at,
  isChosen,
}: {
  row: Row | undefined
  at: number
  isChosen: boolean
}): JSX.Element {
  const style = { top: `${at * ROW}px`, height: `${ROW}px` }
  if (!row) return <li class="row pending" style={style} aria-hidden="true" />
  return (
    <li class={`row ${isChosen ? 'chosen' : ''}`} style={style} data-uid={row.session_uid}>
      <a class="row-link" href={sessionPath(row.session_uid)} aria-current={isChosen ? 'true' : undefined}>
        <span class="row-title">{titleOf(row)}</span>
        <span class="row-meta">
          <span>{row.flavor}</span>
          {row.repo && <span>{row.repo}</span>}
          <span class="row-model">{row.model ?? 'unknown model'}</span>
          <span class="narrow-only">
            {outcomeWord(row.outcome)}
            {row.error_count > 0 && `, ${plural(row.error_count, 'error')}`}
          </span>
          {row.is_pinned && <span>pinned</span>}
          {row.evicted_at && <span>raw evicted</span>}
          {row.commits > 0 && <span>{plural(row.commits, 'commit')}</span>}
        </span>
      </a>
      <span class="row-outcome">
        <OutcomeBadge outcome={row.outcome} />
      </span>
      <span class="row-spark">
        <Sparkline values={row.context_fill} label="context over time" />
      </span>
      <span class="row-number" title="events">
        {short(row.event_count)} <small>events</small>
      </span>
      <span class="row-number wide-only" title="active time">
        {duration(row.active_s)}
      </span>
      <span class={`row-number wide-only ${row.error_count > 0 ? 'has-errors' : ''}`}>
        {row.error_count > 0 ? plural(row.error_count, 'error') : ''}
      </span>
      <span class="row-number row-cost">{usd(row.cost_usd, row.unpriced_responses)}</span>
      <span class="row-when">
        <When at={row.started_at} />
      </span>
    </li>
  )
}
