// What can be done with a session: taken up again, handed off, written beside, exported, forgotten.
import type { ComponentChildren, JSX } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Brief } from '../../../query/briefs.ts'
import type { ForgetDocument } from '../../../retention/json.ts'
import { change, type Problem, useAnswer } from '../api.ts'
import { CopyButton } from '../copy.tsx'
import { bytes, plural } from '../format.ts'
import { isTeam } from '../here.ts'
import { Answered, When } from '../parts.tsx'
import { go, param, sessionPath, setParams, to } from '../router.ts'
import { redacted } from '../text/plain.tsx'
import type { SessionDocument } from './session.tsx'

const FORMATS: [format: string, name: string][] = [
  ['md', 'Markdown'],
  ['html', 'HTML'],
  ['jsonl', 'JSON Lines'],
  ['atif', 'ATIF'],
  ['otlp', 'OpenTelemetry'],
]

/** Each opens a small window; the address tells which. */
const WINDOWS = ['note', 'tag', 'rename', 'decide', 'handoff', 'forget'] as const
type Act = (typeof WINDOWS)[number]
const NAMES: Record<Act, string> = {
  note: 'note',
  tag: 'tag',
  rename: 'rename',
  decide: 'decide',
  handoff: 'hand off',
  forget: 'forget',
}

export function SessionActs({ document: shown }: { document: SessionDocument }): JSX.Element {
  const { session } = shown
  const uid = session.session_uid
  const open = WINDOWS.find((name) => name === param('act'))
  const link = <CopyButton name="link" text={new URL(sessionPath(uid), location.origin).href} />
  // What is done with a session is done on its machine.
  if (isTeam) return <div class="acts">{link}</div>
  return (
    <div class="acts">
      <Toggle session={session} name="star" isOn={session.starred_at !== null} />
      <Toggle session={session} name="pin" isOn={session.is_pinned} />
      {shown.resume !== null && <CopyButton name="resume command" text={shown.resume} />}
      {link}
      <details class="menu">
        <summary>more</summary>
        <div class="menu-body">
          {WINDOWS.filter((name) => name !== 'forget').map((name) => (
            <Item act={name} />
          ))}
          <a class="item" href={to('/compare', { a: uid })}>
            compare with…
          </a>
          <span class="menu-part muted">export as</span>
          {FORMATS.map(([format, name]) => (
            <a
              class="item"
              href={`/api/sessions/${encodeURIComponent(uid)}/export?format=${format}`}
              download
            >
              {name}
            </a>
          ))}
          <span class="menu-part" />
          <Item act="forget" />
        </div>
      </details>
      <Labels session={session} />
      {open && (
        <Dialog title={`${NAMES[open][0]?.toUpperCase()}${NAMES[open].slice(1)}`}>
          <ActForm act={open} session={session} />
        </Dialog>
      )}
    </div>
  )
}

function Item({ act }: { act: Act }): JSX.Element {
  return (
    <button
      type="button"
      class={`item ${act}`}
      onClick={({ currentTarget }) => {
        currentTarget.closest('details')?.removeAttribute('open')
        setParams({ act })
      }}
    >
      {NAMES[act]}
    </button>
  )
}

/** A change that says why it failed. */
function useChange(): { run: (path: string, body: object, done?: () => void) => void; problem: string } {
  const [problem, setProblem] = useState('')
  return {
    problem,
    run: (path, body, done = () => {}) => {
      setProblem('')
      change(path, body).then(done, (error: Problem) =>
        setProblem(error.hint ? `${error.message}: ${error.hint}` : error.message),
      )
    },
  }
}

function Toggle(props: { session: Brief; name: 'star' | 'pin'; isOn: boolean }): JSX.Element {
  const { name, isOn } = props
  const { run, problem } = useChange()
  const uid = props.session.session_uid
  const toggle = (): void => {
    if (name === 'star') run('label', { session_uid: uid, star: !isOn })
    else run(isOn ? 'unpin' : 'pin', { session_uid: uid })
  }
  const words = { star: ['☆ star', '★ starred'], pin: ['pin', 'pinned: unpin'] }[name]
  return (
    <>
      <button
        type="button"
        class="quiet"
        aria-pressed={isOn}
        onClick={toggle}
        title={name === 'pin' ? 'a pinned session is never evicted' : 'stars can be listed alone'}
      >
        {words[Number(isOn)]}
      </button>
      {problem && <span role="alert">{problem}</span>}
    </>
  )
}

/** What a person wrote beside it. */
function Labels({ session }: { session: Brief }): JSX.Element | null {
  const { run, problem } = useChange()
  const uid = session.session_uid
  if (session.tags.length + session.notes.length === 0) return null
  return (
    <div class="labels">
      {session.tags.map((tag) => (
        <span class="chip">
          <a href={to('/sessions', { tag })}>{redacted(tag)}</a>{' '}
          <button
            type="button"
            class="quiet"
            aria-label={`remove tag ${tag}`}
            onClick={() => run('label', { session_uid: uid, remove_tag: tag })}
          >
            ×
          </button>
        </span>
      ))}
      {session.notes.map((note) => (
        <p class="note-line">
          {redacted(note.text)}{' '}
          <span class="muted">
            {redacted(note.author)} · <When at={note.ts} />
          </span>{' '}
          <button
            type="button"
            class="quiet"
            aria-label={`remove note ${note.number}`}
            onClick={() => run('label', { session_uid: uid, remove_note: note.number })}
          >
            ×
          </button>
        </p>
      ))}
      {problem && <span role="alert">{problem}</span>}
    </div>
  )
}

const close = (): void => setParams({ act: undefined }, { replace: true })

function Dialog({ title, children }: { title: string; children: ComponentChildren }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null)
  useLayoutEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog ref={dialog} class="act-window" aria-label={title} onClose={close}>
      <h2>{title}</h2>
      {children}
      <form method="dialog">
        <button type="submit" class="quiet">
          Close
        </button>
      </form>
    </dialog>
  )
}

function ActForm({ act, session }: { act: Act; session: Brief }): JSX.Element {
  if (act === 'forget') return <Forget session={session} />
  if (act === 'handoff') return <Handoff session={session} />
  return <Writing act={act} session={session} />
}

const WRITING: Record<'note' | 'tag' | 'rename' | 'decide', { field: string; label: string; path: string }> =
  {
    note: { field: 'add_note', label: 'What is worth knowing about it', path: 'label' },
    tag: { field: 'add_tag', label: 'A word to file it under', path: 'label' },
    rename: { field: 'title', label: 'What it shall be called', path: 'label' },
    decide: { field: 'text', label: 'What was decided, in a sentence or two', path: 'decide' },
  }

function Writing({ act, session }: { act: keyof typeof WRITING; session: Brief }): JSX.Element {
  const { run, problem } = useChange()
  const { field, label, path } = WRITING[act]
  const input = useRef<HTMLTextAreaElement>(null)
  const save = (event: Event): void => {
    event.preventDefault()
    run(path, { session_uid: session.session_uid, [field]: input.current?.value ?? '' }, close)
  }
  return (
    <form class="writing" onSubmit={save}>
      <label for="writing">{label}</label>
      <textarea
        id="writing"
        ref={input}
        rows={act === 'note' || act === 'decide' ? 4 : 1}
        required
        defaultValue={act === 'rename' ? (session.title ?? '') : ''}
      />
      {problem && <p role="alert">{problem}</p>}
      <button type="submit">Save</button>{' '}
      {act === 'rename' && session.title_source === 'person' && (
        <button
          type="button"
          class="quiet"
          onClick={() => run(path, { session_uid: session.session_uid, title: null }, close)}
        >
          call it as before
        </button>
      )}
    </form>
  )
}

function Handoff({ session }: { session: Brief }): JSX.Element {
  const path = `sessions/${encodeURIComponent(session.session_uid)}/handoff`
  const answer = useAnswer<{ briefing: string }>(path)
  return (
    <Answered answer={answer}>
      {({ briefing }) => (
        <>
          <p>
            A briefing for whoever goes on. <CopyButton name="briefing" text={briefing} />
          </p>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard */}
          <pre class="plain briefing" tabIndex={0}>
            {redacted(briefing)}
          </pre>
        </>
      )}
    </Answered>
  )
}

function Forget({ session }: { session: Brief }): JSX.Element {
  const uid = session.session_uid
  const answer = useAnswer<{ would_go: ForgetDocument }>(`sessions/${encodeURIComponent(uid)}/forgetting`)
  const [problem, setProblem] = useState('')
  const forget = (): void => {
    change<{ code: number; output: string }>('forget', { session_uid: uid }).then(
      ({ code, output }) => (code === 0 ? go('/sessions') : setProblem(output.trim())),
      (error: Problem) => setProblem(error.message),
    )
  }
  return (
    <Answered answer={answer}>
      {({ would_go: plan }) => (
        <>
          <p>This would go, for good, and no sweep brings it back:</p>
          <ul class="list">
            <li>
              {plural(plan.events, 'event')}, {bytes(plan.raw_bytes)} of raw, with its digest and usage
            </li>
            {plan.decisions > 0 && <li>{plural(plan.decisions, 'decision')}</li>}
            {plan.notes > 0 && <li>{plural(plan.notes, 'note')}</li>}
            {plan.is_pinned && <li>it is pinned, which does not keep it</li>}
            {plan.is_sole_copy && <li>the agent’s own file is gone: this is the only copy</li>}
          </ul>
          <p class="muted">
            The agent’s own file is not touched{plan.source_path && `: ${plan.source_path}`}.
          </p>
          {problem && <p role="alert">{problem}</p>}
          <button type="button" class="danger" onClick={forget}>
            Forget it
          </button>
        </>
      )}
    </Answered>
  )
}
