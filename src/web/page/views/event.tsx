// One step of a transcript: what was said, or a call with what it was given and what came back.

import type { ComponentChildren, JSX } from 'preact'
import { changesOf } from '../../../event/edits.ts'
import { givenText, subjectOf, wordsOf } from '../../../event/words.ts'
import { CALL_WORDS, isCall } from '../../../model.ts'
import type { EventWithBody } from '../../server/events.ts'
import { isUnread } from '../bodies.ts'
import { CopyButton } from '../copy.tsx'
import type { Folds } from '../folds.ts'
import { bytes, duration, time } from '../format.ts'
import { Terminal } from '../text/ansi.tsx'
import { Code, coloured } from '../text/code.tsx'
import { Diff, DiffSize, sizeOf } from '../text/diff.tsx'
import { Markdown } from '../text/markdown.tsx'
import { PictureView } from '../text/picture.tsx'
import { plainly, redacted } from '../text/plain.tsx'

export interface StepProps {
  event: EventWithBody
  answer: EventWithBody | undefined
  href: (seq: number) => string
  load: (seq: number) => void
  /** Below a sub-agent: who asks there is another agent. */
  isNested: boolean
  /** What stands open; on paper all of it does. */
  folds?: Folds | undefined
  /** What was looked for is in here: all of it is shown. */
  isFound?: boolean | undefined
}

/** A part that opens and closes; the address remembers it. */
function Fold(props: {
  step: StepProps
  class: string
  isOpenAtFirst: boolean
  head: ComponentChildren
  children: ComponentChildren
}): JSX.Element {
  const { event, folds, isFound } = props.step
  const isOpen = isFound === true || (folds?.isOpen(event.seq, props.isOpenAtFirst) ?? props.isOpenAtFirst)
  return (
    <details
      class={props.class}
      open={isOpen}
      onToggle={({ currentTarget }) => {
        if (currentTarget.open !== isOpen) folds?.set(event.seq, currentTarget.open, props.isOpenAtFirst)
      }}
    >
      <summary>{props.head}</summary>
      {props.children}
    </details>
  )
}

export function Step(props: StepProps): JSX.Element {
  const { event } = props
  const { isNested } = props
  if (event.kind === 'user_msg')
    return <Said {...props} who={isNested ? 'Task' : 'You'} class={isNested ? 'task' : 'prompt'} />
  if (event.kind === 'assistant_msg')
    return <Said {...props} who={isNested ? 'Sub-agent' : 'Agent'} class="answer" />
  if (event.kind === 'thinking') return <Thought {...props} />
  if (isCall(event)) return <Call {...props} />
  if (event.kind === 'tool_result' || event.kind === 'error') return <Loose {...props} />
  return <Note {...props} />
}

function Head({ event, children }: Pick<StepProps, 'event'> & { children: ComponentChildren }): JSX.Element {
  return (
    <span class="step-head">
      {children}
      {event.is_inherited && <span class="badge">inherited</span>}
      {event.is_superseded && <span class="badge">taken back</span>}
    </span>
  )
}

/** Stands beside the head, not in it: a link inside what opens and closes could not be reached. */
function Place({ event, answer, href }: StepProps): JSX.Element {
  const address = href(event.seq)
  const words = [event, answer].flatMap((one) => (one ? [wordsOf(one, one.told)] : [])).join('\n\n')
  return (
    <span class="step-place">
      <span class="step-acts">
        <CopyButton name="link" text={new URL(address, location.origin).href} />
        <CopyButton name="text" text={words} />
      </span>
      <a class="step-link" href={address} title={event.ts ?? ''}>
        {time(event.ts)} <span class="seq">#{event.seq}</span>
      </a>
    </span>
  )
}

/** The body is there, too large for a window, or cannot be read. */
function Missing({ event, load }: Pick<StepProps, 'event' | 'load'>): JSX.Element | null {
  if (event.payload_bytes !== undefined)
    return (
      <>
        <button type="button" class="quiet" onClick={() => load(event.seq)}>
          show all ({bytes(event.payload_bytes)})
        </button>
        <span class="print-only">[{bytes(event.payload_bytes)} left out]</span>
      </>
    )
  return isUnread(event) ? (
    <p class="muted">The body cannot be read from the cache; its summary stands in for it.</p>
  ) : null
}

function Pictures({ event }: { event: EventWithBody | undefined }): JSX.Element {
  return (
    <>
      {event?.pictures?.map((picture) => (
        <PictureView picture={picture} />
      ))}
    </>
  )
}

function Said(props: StepProps & { who: string; class: string }): JSX.Element {
  const { event } = props
  return (
    <article class={`step said ${props.class}`}>
      <Place {...props} />
      <Head event={event}>
        <strong>{props.who}</strong>
      </Head>
      <Markdown text={wordsOf(event, event.told)} />
      <Pictures event={event} />
      <Missing {...props} />
    </article>
  )
}

function Thought(props: StepProps): JSX.Element {
  return (
    <div class="step">
      <Place {...props} />
      <Fold
        step={props}
        class="thought"
        isOpenAtFirst={false}
        head={
          <Head event={props.event}>
            <em>thinking</em> <span class="muted clip">{redacted(plainly(props.event.summary))}</span>
          </Head>
        }
      >
        <Markdown text={wordsOf(props.event, props.event.told)} />
        <Missing {...props} />
      </Fold>
    </div>
  )
}

function Verdict({
  event,
  answer,
}: {
  event: EventWithBody
  answer: EventWithBody | undefined
}): JSX.Element {
  const ms = answer?.duration_ms ?? event.duration_ms
  const hasFailed = answer?.kind === 'error' || (answer?.exit_code ?? 0) !== 0
  const word = !answer
    ? CALL_WORDS.open
    : hasFailed
      ? answer.exit_code
        ? `exit ${answer.exit_code}`
        : CALL_WORDS.failed
      : CALL_WORDS.ok
  return (
    <span class={`verdict ${!answer ? 'open' : hasFailed ? 'failed' : 'ok'}`}>
      <span aria-hidden="true">{!answer ? '…' : hasFailed ? '✕' : '✓'}</span> {word}
      {ms !== null && ms !== undefined && <span class="muted"> {duration(ms / 1000)}</span>}
    </span>
  )
}

const LABELS: Record<string, string> = { test_run: 'test', edit: 'edit', retry: 'again' }

function Call(props: StepProps): JSX.Element {
  const { event, answer } = props
  return (
    <div class="step">
      <Place {...props} />
      <Fold
        step={props}
        class={`call kind-${event.kind}`}
        isOpenAtFirst={event.kind === 'edit' || answer?.kind === 'error'}
        head={
          <Head event={event}>
            <span class="tool">{event.tool}</span>
            {LABELS[event.kind] && <span class="badge">{LABELS[event.kind]}</span>}
            <span class="subject clip">{redacted(subjectOf(event))}</span>
            <Verdict event={event} answer={answer} />
          </Head>
        }
      >
        <Given event={event} answer={answer} />
        <Missing {...props} />
        {answer && <Came {...props} answer={answer} />}
      </Fold>
    </div>
  )
}

/** What the call was given, in the form that shows most: a change, a command, or its fields. */
function Given({ event, answer }: { event: EventWithBody; answer: EventWithBody | undefined }): JSX.Element {
  const { told } = event
  const changes = changesOf(told?.edits ?? (event.kind === 'edit' ? answer?.told?.edits : undefined) ?? [])
  if (changes.length > 0)
    return (
      <>
        {changes.slice(0, 20).map((change, i) => (
          <div class="file-change">
            <p class="path">
              {change.path} <DiffSize {...sizeOf(change.before, change.after)} />
            </p>
            <Diff
              before={change.before}
              after={change.after}
              label={`change ${i + 1} in #${event.seq}: ${change.path}`}
            />
          </div>
        ))}
      </>
    )
  if (told?.command !== undefined)
    return (
      <pre class="code shell">
        <span class="prompt-sign" aria-hidden="true">
          $
        </span>{' '}
        {coloured(told.command)}
      </pre>
    )
  return <Code text={(told && givenText(told, 2)) || event.summary} />
}

const MAX_LINES = 40

function Came({ answer, load, isFound }: StepProps & { answer: EventWithBody }): JSX.Element {
  const text = answer.told ? (answer.told.said ?? '') : answer.summary
  const lines = text.split('\n')
  const start = lines.slice(0, MAX_LINES).join('\n')
  return (
    <div class={`came ${answer.kind === 'error' ? 'is-error' : ''}`}>
      {text !== '' && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
        <pre class="terminal" tabIndex={0}>
          <Terminal text={start} />
        </pre>
      )}
      {lines.length > MAX_LINES && (
        <details open={isFound === true}>
          <summary>{lines.length - MAX_LINES} more lines</summary>
          <pre class="terminal">
            <Terminal text={lines.slice(MAX_LINES).join('\n')} />
          </pre>
        </details>
      )}
      <Pictures event={answer} />
      <Missing event={answer} load={load} />
    </div>
  )
}

/** An answer or error without a call of its own. */
function Loose(props: StepProps): JSX.Element {
  const { event } = props
  return (
    <div class={`step loose ${event.kind === 'error' ? 'is-error' : ''}`}>
      <Place {...props} />
      <Head event={event}>
        <strong>{event.kind === 'error' ? '✕ Error' : 'Result'}</strong>{' '}
        {event.tool && <span class="tool">{event.tool}</span>}
      </Head>
      <pre class="terminal">
        <Terminal text={wordsOf(event, event.told)} />
      </pre>
      <Missing {...props} />
    </div>
  )
}

const NOTES: Record<string, string> = {
  human_intervention: 'You stepped in',
  decision: 'Decision',
  completion: 'Turn ended',
  lifecycle: '·',
  retry: 'Asked again',
}

function Note(props: StepProps): JSX.Element {
  return (
    <p class={`step note kind-${props.event.kind}`}>
      <Place {...props} />
      <Head event={props.event}>
        <span class="note-kind">{NOTES[props.event.kind] ?? props.event.kind}</span>{' '}
        <span class="clip">{redacted(props.event.summary)}</span>
      </Head>
    </p>
  )
}
