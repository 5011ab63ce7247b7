// Small parts that several views share.
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Status } from '../../doctor/status.ts'
import { isRunning, LIVE_MS, OUTCOME_WORDS, type Outcome, sureness } from '../../model.ts'
import type { Brief } from '../../query/briefs.ts'
import type { Unread } from '../../query/unread.ts'
import type { SweepProgress } from '../../store/sweep-lock.ts'
import { type Answer, change, type Problem, useAnswer } from './api.ts'
import { CopyButton } from './copy.tsx'
import { bytes, count, exactly, plural, titleOf, when } from './format.ts'
import { sweeping } from './live.ts'
import { sessionPath } from './router.ts'

export { AsTable, ChartWithTable, type Column, Pager, Table } from './table.tsx'

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

/** What a verdict rests on. */
export interface Basis {
  reason: string
  confidence: number
}

export const basisOf = ({
  outcome_reason: reason,
  outcome_confidence: confidence,
}: Pick<Brief, 'outcome_reason' | 'outcome_confidence'>): Basis | null =>
  reason === null ? null : { reason, confidence: confidence ?? 0 }

/**
 * Sign and word, never the colour alone. With the time of its last event: one that was heard of just now and has not ended
 * is running; one whose agent had the last word may go on, so that its verdict is one so far.
 */
export function OutcomeBadge(props: {
  outcome: Outcome
  endedAt?: string | null
  basis?: Basis | null
}): JSX.Element {
  const { outcome, endedAt = null, basis } = props
  const title = basis ? `${basis.reason} (${sureness(basis.confidence)})` : undefined
  if (isRunning({ outcome, ended_at: endedAt }, Date.now()))
    return (
      <span class="badge outcome-running" title={title}>
        <span aria-hidden="true">▶</span> running
      </span>
    )
  const isOpen = isFresh(endedAt) && basis?.confidence !== 1
  return (
    <span class={`badge outcome-${outcome}`} title={title}>
      <span aria-hidden="true">{SIGNS[outcome] ?? '?'}</span> {outcomeWord(outcome)}
      {isOpen && ' so far'}
    </span>
  )
}

/** Heard of so lately that it may go on. */
export const isFresh = (at: string | null): boolean => at !== null && Date.now() - Date.parse(at) < LIVE_MS

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
  return (
    <span class="command">
      <code>{text}</code>
      <CopyButton name={text} text={text} label="copy" />
    </span>
  )
}

/** Reads in what agents left, in a process beside the server; how far it is comes by the feed. */
export function SweepButton({ label = 'Sweep now' }: { label?: string }): JSX.Element {
  const [state, setState] = useState<'idle' | 'running' | string>('idle')
  const progress = sweeping.value
  const run = (): void => {
    setState('running')
    change<{ code: number; output: string }>('sweep', {}).then(
      ({ code, output }) => setState(code === 0 || code === 4 ? 'idle' : output.trim()),
      (problem: Problem) => setState(problem.message),
    )
  }
  const isBusy = state === 'running' || progress !== null
  return (
    <span class="sweep">
      <button type="button" onClick={run} disabled={isBusy}>
        {isBusy ? 'Reading…' : label}
      </button>
      {isBusy && <SweepState progress={progress} />}
      {state !== 'idle' && state !== 'running' && <span role="alert">{state}</span>}
    </span>
  )
}

function SweepState({ progress }: { progress: SweepProgress | null }): JSX.Element {
  const { doneSources = 0, totalSources = 0, doneBytes = 0, totalBytes = 0 } = progress ?? {}
  if (totalSources === 0) return <span class="muted">looking for what is new</span>
  return (
    <span class="sweep-state" role="status">
      <progress max={Math.max(1, totalBytes)} value={doneBytes} aria-label="read so far" />
      <span class="muted">
        {count(doneSources)} of {plural(totalSources, 'file')}, {bytes(doneBytes)} of {bytes(totalBytes)}
      </span>
    </span>
  )
}

/** Nothing is remembered yet: what this is, what would be read, and a way to look around first. */
function FirstRun(): JSX.Element {
  const status = useAnswer<Status>('status')
  return (
    <div class="first-run">
      <h2>Nothing is remembered yet</h2>
      <p>
        Recollect reads the sessions that coding agents leave on this machine into a memory of its own: what
        was asked, done and spent, what failed and what fixed it. It only reads, secrets are taken out first,
        and nothing leaves this machine.
      </p>
      <AnsweredLine answer={status}>{(told) => <Places places={told.looked_in} />}</AnsweredLine>
      <div class="first-steps">
        <SweepButton />
        <DemoButton />
      </div>
      <p class="muted">
        The newest sessions come first and can be read while the rest follows. In a terminal:{' '}
        <Command text="recollect sweep" />
      </p>
    </div>
  )
}

function Places({ places }: { places: Status['looked_in'] }): JSX.Element {
  const found = [...new Set(places.filter((one) => one.exists).map((one) => one.flavor))]
  const rest = new Set(places.map((one) => one.flavor)).size - found.length
  return (
    <>
      {found.length === 0 ? (
        <p>
          No agent has left anything where they usually do. Look around in the demo, or tell where to look:{' '}
          <a href="/health">what was looked for</a>.
        </p>
      ) : (
        <p>
          Found here: <strong>{found.join(', ')}</strong>
          {rest > 0 && <span class="muted">, and nothing of {plural(rest, 'other agent')}</span>}
        </p>
      )}
      <details>
        <summary>Where it looks</summary>
        <ul class="list">
          {places.map((one) => (
            <li>
              <span>{one.flavor}</span> <span class="path">{one.path}</span>{' '}
              <span class="muted">{one.exists ? 'has files' : 'nothing'}</span>
            </li>
          ))}
        </ul>
      </details>
    </>
  )
}

/** Opens a page over the bundled samples, in this tab; this memory is not touched. */
function DemoButton(): JSX.Element {
  const [state, setState] = useState<'idle' | 'running' | string>('idle')
  const run = (): void => {
    setState('running')
    change<{ url: string }>('demo', {}).then(
      ({ url }) => location.assign(url),
      (problem: Problem) => setState(problem.message),
    )
  }
  return (
    <>
      <button type="button" class="quiet" onClick={run} disabled={state === 'running'}>
        {state === 'running' ? 'Opening…' : 'Look around in the demo'}
      </button>
      {state !== 'idle' && state !== 'running' && <span role="alert">{state}</span>}
    </>
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

/** What could not be read, why, and what to do about it. */
export function ProblemBox(props: { problem: Problem; what?: string; retry?: () => void }): JSX.Element {
  const { problem, retry } = props
  if (problem.code === 'NO_MEMORY') return <FirstRun />
  const command = COMMAND.exec(problem.hint ?? '')?.[0]
  const title =
    problem.code === 'CORRUPT'
      ? 'The memory cannot be read'
      : problem.code === 'NOT_FOUND' || props.what === undefined
        ? problem.message
        : `${props.what[0]?.toUpperCase()}${props.what.slice(1)} could not be read`
  return (
    <div class="empty problem" role="alert">
      <p class="empty-title">{title}</p>
      <p>
        {title !== problem.message && problem.message} <code>{problem.code}</code>
      </p>
      {problem.where && <p class="muted">at {problem.where}</p>}
      {problem.hint && <p>{problem.hint}</p>}
      {command && <Command text={command} />}
      {retry && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
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

/** What a question is about, for whoever reads that it failed. */
const SUBJECTS: [RegExp, string][] = [
  [/^overview/, 'the figures of this span'],
  [/^doctor/, 'what doctor found'],
  [/^health/, 'how much of the logs was understood'],
  [/^storage/, 'what is stored'],
  [/^search/, 'the search'],
  [/^usage/, 'tokens and cost'],
  [/^patterns/, 'what keeps failing'],
  [/^tools/, 'what the tools did'],
  [/^retro/, 'the account of these days'],
  [/^lineage|\/lineage$/, 'the lineage'],
  [/^compare/, 'the comparison'],
  [/\/spend$/, 'tokens and cost of this session'],
  [/\/changes/, 'the files of this session'],
  [/^sessions\?/, 'the list of sessions'],
  [/^sessions\//, 'this session'],
  [/^status/, 'the state of the memory'],
]
export const subjectOf = (path: string): string => SUBJECTS.find(([is]) => is.test(path))?.[1] ?? 'the answer'

export function Loading({ what }: { what?: string }): JSX.Element {
  return (
    <div class="loading" role="status">
      <span class="visually-hidden">loading {what}</span>
      <span />
      <span />
      <span />
    </div>
  )
}

/** The answer; or that it is being asked for; or what failed, why, and a way to try again. */
export function Answered<T>(props: {
  answer: Answer<T>
  children: (data: T) => ComponentChildren
}): JSX.Element {
  const what = subjectOf(props.answer.path)
  return props.answer.match({
    loading: () => <Loading what={what} />,
    failed: (problem) => <ProblemBox problem={problem} what={what} retry={props.answer.retry} />,
    answered: (data) => <>{props.children(data)}</>,
  })
}

/** The same in one line, where a part of a view is asked for by itself. */
export function AnsweredLine<T>(props: {
  answer: Answer<T>
  children: (data: T) => ComponentChildren
}): JSX.Element {
  const what = subjectOf(props.answer.path)
  return props.answer.match({
    loading: () => (
      <p class="muted part-loading" role="status">
        reading {what}…
      </p>
    ),
    failed: ({ message, code }) => (
      <p class="part-problem" role="alert">
        {what} could not be read: {message} <code>{code}</code>{' '}
        <button type="button" class="quiet" onClick={props.answer.retry}>
          try again
        </button>
      </p>
    ),
    answered: (data) => <>{props.children(data)}</>,
  })
}
