// Small parts that several views share.
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { OUTCOME_WORDS, type Outcome } from '../../model.ts'
import type { Brief } from '../../query/briefs.ts'
import type { Unread } from '../../query/unread.ts'
import { type Answer, change, type Problem } from './api.ts'
import { exactly, titleOf, when } from './format.ts'
import { sessionPath } from './router.ts'

export function Card(props: {
  title: string
  children: ComponentChildren
  aside?: ComponentChildren
  class?: string
}): JSX.Element {
  return (
    <section class={`card ${props.class ?? ''}`}>
      <header>
        <h2>{props.title}</h2>
        {props.aside && <div class="aside">{props.aside}</div>}
      </header>
      {props.children}
    </section>
  )
}

/** A row of links that is wider than the window is scrolled to where one is. */
export function useCurrentInView(selector: string, now: string): void {
  useEffect(() => {
    const row = document.querySelector(selector)
    const current = row?.querySelector('[aria-current]')
    if (!row || !current) return
    const [outer, inner] = [row.getBoundingClientRect(), current.getBoundingClientRect()]
    row.scrollLeft += inner.left - outer.left - (outer.width - inner.width) / 2
  }, [selector, now])
}

/** A figure with its name; the note says what it is made of. */
export function Figure(props: {
  name: string
  value: ComponentChildren
  note?: ComponentChildren
}): JSX.Element {
  return (
    <div class="figure">
      <dt>{props.name}</dt>
      <dd>
        <span class="value">{props.value}</span>
        {props.note && <span class="note">{props.note}</span>}
      </dd>
    </div>
  )
}

const SIGNS: Record<string, string> = { success: '✓', fail: '✕', abandoned: '◌' }

/** The word for an outcome; of a value that a newer program wrote, the value. */
export const outcomeWord = (outcome: string): string => OUTCOME_WORDS[outcome as Outcome] ?? outcome

/** Sign and word, never the colour alone. */
export function OutcomeBadge({ outcome }: { outcome: string }): JSX.Element {
  return (
    <span class={`badge outcome-${outcome}`}>
      <span aria-hidden="true">{SIGNS[outcome] ?? '?'}</span> {outcomeWord(outcome)}
    </span>
  )
}

export function When({ at }: { at: string | null }): JSX.Element {
  return (
    <time dateTime={at ?? ''} title={exactly(at)}>
      {when(at)}
    </time>
  )
}

export function SessionLink({
  session,
}: {
  session: Pick<Brief, 'session_uid' | 'title'> & { first_prompt?: string }
}): JSX.Element {
  return <a href={sessionPath(session.session_uid)}>{titleOf(session)}</a>
}

export function Empty(props: { title: string; children?: ComponentChildren; command?: string }): JSX.Element {
  return (
    <div class="empty">
      <p class="empty-title">{props.title}</p>
      {props.children}
      {props.command && <Command text={props.command} />}
    </div>
  )
}

/** A command to copy. */
export function Command({ text }: { text: string }): JSX.Element {
  const [isCopied, setCopied] = useState(false)
  const copy = (): void => {
    navigator.clipboard?.writeText(text).then(() => {
      setCopied(true)
      setTimeout(() => setCopied(false), 1500)
    })
  }
  return (
    <span class="command">
      <code>{text}</code>
      <button type="button" class="quiet" onClick={copy} aria-label={`copy: ${text}`}>
        {isCopied ? 'copied' : 'copy'}
      </button>
    </span>
  )
}

/** Reads in what agents left, in the server's own process tree. */
export function SweepButton({ label = 'Read in now' }: { label?: string }): JSX.Element {
  const [state, setState] = useState<'idle' | 'running' | string>('idle')
  const run = (): void => {
    setState('running')
    change<{ code: number; output: string }>('sweep', {}).then(
      ({ code, output }) => setState(code === 0 || code === 4 ? 'idle' : output.trim()),
      (problem: Problem) => setState(problem.message),
    )
  }
  return (
    <span class="sweep">
      <button type="button" onClick={run} disabled={state === 'running'}>
        {state === 'running' ? 'Reading…' : label}
      </button>
      {state !== 'idle' && state !== 'running' && <span role="alert">{state}</span>}
    </span>
  )
}

/** Says how many bodies cannot be read, and what tells more. */
export function UnreadNote({ unread }: { unread: Unread | null }): JSX.Element | null {
  if (unread === null) return null
  return (
    <p class="unread" role="note">
      {unread.text}: <Command text={unread.fix} />
    </p>
  )
}

/** What to say when there is no answer: which memory, what happened, what to do. */
export function ProblemBox({ problem }: { problem: Problem }): JSX.Element {
  if (problem.code === 'NO_MEMORY') {
    return (
      <Empty title="Nothing is remembered yet">
        <p>Recollect reads the sessions that coding agents leave on this machine. It has not looked yet.</p>
        <p>
          <SweepButton /> or run <Command text="recollect sweep" />
        </p>
      </Empty>
    )
  }
  const command = COMMAND.exec(problem.hint ?? '')?.[0]
  const title = problem.code === 'CORRUPT' ? 'The memory cannot be read' : problem.message
  return (
    <div class="empty problem" role="alert">
      <p class="empty-title">{title}</p>
      <p>
        {title !== problem.message && problem.message} <code>{problem.code}</code>
      </p>
      {problem.where && <p class="muted">at {problem.where}</p>}
      {problem.hint && <p>{problem.hint}</p>}
      {command && <Command text={command} />}
      {problem.code === 'NOT_FOUND' && (
        <p>
          <a href="/sessions">All sessions</a>
        </p>
      )}
    </div>
  )
}

/** What of a sentence can be typed. */
const COMMAND = /recollect (?:(?:hooks|schedule|mcp|record) [a-z]+|[a-z]+)(?: [a-z]+:[\w-]+)?(?: --[\w-]+)*/

/** The answer, or why there is none. */
export function Answered<T>(props: {
  answer: Answer<T>
  children: (data: T) => ComponentChildren
}): JSX.Element {
  const { data, problem } = props.answer
  if (data !== undefined) return <>{props.children(data)}</>
  if (problem) return <ProblemBox problem={problem} />
  return (
    <div class="loading" role="status">
      <span class="visually-hidden">loading</span>
    </div>
  )
}

export interface Column<T> {
  title: string
  cell: (row: T) => ComponentChildren
  isNumber?: boolean
}

export function Table<T>(props: {
  columns: Column<T>[]
  rows: readonly T[]
  caption: string
  limit?: number
}): JSX.Element {
  const [isAll, setAll] = useState(false)
  const limit = isAll ? props.rows.length : (props.limit ?? 100)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
    <section class="table-scroll" tabIndex={0} aria-label={props.caption}>
      <table>
        <caption class="visually-hidden">{props.caption}</caption>
        <thead>
          <tr>
            {props.columns.map((column) => (
              <th scope="col" class={column.isNumber ? 'number' : ''}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {props.rows.slice(0, limit).map((row) => (
            <tr>
              {props.columns.map((column) => (
                <td class={column.isNumber ? 'number' : ''}>{column.cell(row)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {props.rows.length > limit && (
        <button type="button" class="quiet" onClick={() => setAll(true)}>
          show all {props.rows.length}
        </button>
      )}
    </section>
  )
}

/** A drawing with the same figures as a table, one click away and always there for screen readers. */
export function ChartWithTable<T>(props: {
  name: string
  columns: Column<T>[]
  rows: readonly T[]
  children: ComponentChildren
}): JSX.Element {
  return (
    <div class="chart">
      <div class="drawing">{props.children}</div>
      <details class="as-table">
        <summary>as a table</summary>
        <Table columns={props.columns} rows={props.rows} caption={props.name} />
      </details>
    </div>
  )
}
