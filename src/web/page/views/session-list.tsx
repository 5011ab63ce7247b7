// A list of sessions of any length, of which only what is seen is drawn: alone, or beside a session on wide screens.
import type { JSX } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Brief } from '../../../query/briefs.ts'
import { type BriefPage, FACETS } from '../../../query/narrow.ts'
import { ask, changes, isOnline, type Problem } from '../api.ts'
import { Sparkline } from '../charts/lines.tsx'
import { count, duration, plural, titleOf, usd } from '../format.ts'
import { isTeam } from '../here.ts'
import { basisOf, isFresh, Loading, OutcomeBadge, ProblemBox, When } from '../parts.tsx'
import { cameBack, paramValues, sessionPath } from '../router.ts'

type Row = Brief & { context_fill: number[] }
/** `newest`: of so many alone, where a server has more. */
type Page = Omit<BriefPage, 'sessions'> & { sessions: Row[]; newest?: number | null }

const ROW = 52
const PAGE = 100
const OVERSCAN = 8

export const NARROWING = [...FACETS, 'since', 'until', 'touched', 'tool'] as const

/** What of the address asks the server. */
export function questionHere(): string {
  const query = new URLSearchParams()
  for (const name of ['q', 'sort', 'all', ...NARROWING])
    for (const value of paramValues(name)) query.append(name, value)
  return query.toString()
}

interface Loaded {
  asked: string
  tick: number
  head: Page | undefined
  pages: Map<number, Row[]>
  problem: Problem | undefined
}

/** Pages of the list as they come into view. Rows of another question are never shown; a change of the memory replaces them as it is read. */
function usePages(asked: string, wanted: readonly number[]): Loaded & { retry: () => void } {
  const tick = changes.value
  const nothing: Loaded = { asked, tick, head: undefined, pages: new Map(), problem: undefined }
  const [loaded, setLoaded] = useState<Loaded>(nothing)
  const going = useRef(new Set<string>())
  const latest = useRef('')
  const key = wanted.join(',')
  useEffect(() => {
    const run = `${asked} ${tick}`
    latest.current = run
    const isSame = loaded.asked === asked && loaded.tick === tick
    for (const page of wanted) {
      if ((isSame && loaded.pages.has(page)) || going.current.has(`${run} ${page}`)) continue
      going.current.add(`${run} ${page}`)
      ask<Page>(`sessions?${asked}&offset=${page * PAGE}&limit=${PAGE}`)
        .finally(() => going.current.delete(`${run} ${page}`))
        .then(
          (head) => {
            // An answer that comes late must not replace a newer one.
            if (latest.current !== run) return
            setLoaded((old) => {
              const isKept = old.asked === asked && old.tick === tick
              const pages = new Map(isKept ? old.pages : []).set(page, head.sessions)
              return { asked, tick, head, pages, problem: undefined }
            })
          },
          (problem: Problem) => {
            if (latest.current !== run) return
            setLoaded((old) => ({ ...(old.asked === asked ? old : nothing), problem }))
          },
        )
    }
  }, [asked, tick, key, isOnline.value])
  const retry = (): void => {
    setLoaded((old) => ({ ...old, problem: undefined }))
    changes.value++
  }
  return { ...(loaded.asked === asked ? loaded : nothing), retry }
}

/** Where the list was when it was last seen. */
const left = { asked: '', top: 0, chosen: -1 }
/** The list one came from, to be shown beside a session. */
export const lastAsked = (): string => left.asked

export interface SessionList {
  scroller: { current: HTMLDivElement | null }
  head: Page | undefined
  problem: Problem | undefined
  retry: () => void
  total: number
  shown: number[]
  rowAt: (i: number) => Row | undefined
  setTop: (top: number) => void
}

export function useSessionList(asked: string): SessionList {
  const scroller = useRef<HTMLDivElement>(null)
  const [top, setTop] = useState(0)
  const [height, setHeight] = useState(800)
  const first = Math.max(0, Math.floor(top / ROW) - OVERSCAN)
  const last = Math.ceil((top + height) / ROW) + OVERSCAN
  const wanted = [...new Set([0, Math.floor(first / PAGE), Math.floor(last / PAGE)])]
  const { head, pages, problem, retry } = usePages(asked, wanted)
  const total = head?.total ?? 0
  useEffect(() => {
    const element = scroller.current
    if (!element) return
    const observer = new ResizeObserver(() => setHeight(element.clientHeight))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  return {
    scroller,
    head,
    problem,
    retry,
    total,
    shown: Array.from({ length: Math.max(0, Math.min(total, last) - first) }, (_, i) => first + i),
    rowAt: (i) => pages.get(Math.floor(i / PAGE))?.[i % PAGE],
    setTop,
  }
}

/** Another question begins at the top; the back button leads to the row one came from. */
export function usePlace(
  asked: string,
  { scroller, head }: SessionList,
  chosen: number,
  setChosen: (i: number) => void,
): void {
  const isLoaded = head !== undefined
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

/** Beside a session the list stands where it is: where one left it, or where the list of all sessions has it. */
export function usePlaceBeside(uid: string, list: SessionList): void {
  const isLoaded = list.head !== undefined
  useLayoutEffect(() => {
    const element = list.scroller.current
    if (!isLoaded || !element) return
    if (left.asked !== '') {
      element.scrollTop = left.top
      return
    }
    // A team server does not say.
    if (isTeam) return
    ask<{ place: number }>(`sessions/${encodeURIComponent(uid)}/neighbours`).then(
      ({ place }) => {
        const [top, height] = [place * ROW, element.clientHeight]
        const isInSight = top >= element.scrollTop && top + ROW <= element.scrollTop + height
        if (!isInSight) element.scrollTop = top - (height - ROW) / 2
      },
      // The list stands at its beginning then.
      () => {},
    )
  }, [uid, isLoaded])
}

/** The row stays in sight. */
export function scrollTo({ scroller }: SessionList, at: number): void {
  const element = scroller.current
  if (!element) return
  const y = at * ROW
  if (y < element.scrollTop) element.scrollTop = y
  else if (y + ROW > element.scrollTop + element.clientHeight)
    element.scrollTop = y + ROW - element.clientHeight
}

export function ListBox(props: {
  list: SessionList
  isChosen: (row: Row, at: number) => boolean
  empty: JSX.Element
}): JSX.Element {
  const { list } = props
  const { total, problem, head } = list
  return (
    <div
      class="session-list"
      ref={list.scroller}
      onScroll={(event) => list.setTop(event.currentTarget.scrollTop)}
    >
      {problem && <ProblemBox problem={problem} what="the list of sessions" retry={list.retry} />}
      {!head && !problem && <Loading what="the list of sessions" />}
      {head && total === 0 && props.empty}
      <ol class="rows" style={{ height: `${total * ROW}px` }} aria-label={`${count(total)} sessions`}>
        {list.shown.map((i) => {
          const row = list.rowAt(i)
          return (
            <SessionRow key={i} row={row} at={i} isChosen={row !== undefined && props.isChosen(row, i)} />
          )
        })}
      </ol>
    </div>
  )
}

function SessionRow(props: { row: Row | undefined; at: number; isChosen: boolean }): JSX.Element {
  const { row, at, isChosen } = props
  const style = { top: `${at * ROW}px`, height: `${ROW}px` }
  if (!row) return <li class="row pending" style={style} aria-hidden="true" />
  return (
    <li class={`row ${isChosen ? 'chosen' : ''}`} style={style} data-uid={row.session_uid}>
      <a class="row-link" href={sessionPath(row.session_uid)} aria-current={isChosen ? 'true' : undefined}>
        <span class="row-title">
          {row.starred_at !== null && (
            <>
              <span aria-hidden="true">★ </span>
              <span class="visually-hidden">starred: </span>
            </>
          )}
          {titleOf(row)}
        </span>
        <span class="row-meta">
          <span class="narrow-only">
            <When at={row.started_at} />
          </span>
          <span>{row.flavor}</span>
          {isTeam && <span>{row.user}</span>}
          {isTeam && <span>{row.host}</span>}
          {row.repo && <span>{row.repo}</span>}
          <span class="row-model">{row.model ?? 'unknown model'}</span>
          <span class="narrow-only">{row.error_count > 0 && plural(row.error_count, 'error')}</span>
          <span class="row-model">{plural(row.event_count, 'event')}</span>
          {row.tags.map((tag) => (
            <span>#{tag}</span>
          ))}
          {row.is_pinned && <span>pinned</span>}
          {row.evicted_at && <span>raw evicted</span>}
          {row.commits > 0 && <span>{plural(row.commits, 'commit')}</span>}
        </span>
      </a>
      <span class="row-outcome">
        <OutcomeBadge outcome={row.outcome} endedAt={row.ended_at} basis={basisOf(row)} />
        <small class="row-reason">{row.outcome_reason}</small>
      </span>
      <RowFigures row={row} />
    </li>
  )
}

function RowFigures({ row }: { row: Row }): JSX.Element {
  return (
    <>
      <span class="row-spark">
        <Sparkline values={row.context_fill} label="context over time" />
      </span>
      <span class="row-number wide-only" title="active time">
        {row.active_s > 0 ? duration(row.active_s) : ''}
      </span>
      <span class={`row-number wide-only ${row.error_count > 0 ? 'has-errors' : ''}`}>
        {row.error_count > 0 ? plural(row.error_count, 'error') : ''}
      </span>
      <span class={`row-number row-cost ${row.cost_usd === null ? '' : 'is-known'}`}>
        {usd(row.cost_usd, row.unpriced_responses)}
      </span>
      <span class="row-when">
        {isFresh(row.ended_at) && <span class="live-dot" aria-hidden="true" />} <When at={row.started_at} />
      </span>
    </>
  )
}
