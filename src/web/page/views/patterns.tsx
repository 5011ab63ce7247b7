// What keeps failing, where, and what mended it last time.
import type { JSX } from 'preact'
import type { Mend } from '../../../digest/mends.ts'
import type { Pattern } from '../../../digest/patterns.ts'
import { useAnswer } from '../api.ts'
import { plural, titleOf } from '../format.ts'
import { Answered, Empty, When } from '../parts.tsx'
import { param, sessionPath } from '../router.ts'
import { redacted } from '../text/plain.tsx'
import { Chosen, SPANS } from './sessions.tsx'

const KIND_NAMES: Record<string, string> = {
  error: 'Error',
  retry_loop: 'Retry loop',
  test_fixed: 'Test that was fixed',
  tests_left_failing: 'Tests left failing',
  repeated_interruption: 'Interrupted again and again',
  permission_denied: 'Permission denied',
  context_thrash: 'Context thrown away again and again',
  tool_never_succeeds: 'Tool that never succeeds',
  edit_churn: 'File edited again and again',
  request_trouble: 'Trouble with the model’s service',
}

export const signalName = (kind: string): string =>
  KIND_NAMES[kind] ?? `${kind[0]?.toUpperCase()}${kind.slice(1).replaceAll('_', ' ')}`

/** A team server counts where it was seen, and does not say where. */
type TeamPattern = Pattern & { where?: string[] }

interface Patterns {
  patterns: TeamPattern[]
  /** What sessions are called, by uid. */
  names: Record<string, string>
}

const STATES: [string, string][] = [
  ['', 'fixed or not'],
  ['yes', 'fixed before'],
  ['no', 'never fixed'],
]

export function PatternsView(): JSX.Element {
  const since = param('since')
  const answer = useAnswer<Patterns>(`patterns?limit=100${since ? `&since=${since}` : ''}`)
  return (
    <>
      <div class="view-head">
        <h1>Patterns</h1>
        <p class="muted">What happened in more than one session, most widespread first.</p>
        <div class="head-choices">
          <Chosen name="mended" label="fixed" choices={STATES} />
          <Chosen name="since" label="span" choices={SPANS} />
        </div>
      </div>
      <Answered answer={answer}>{(found) => <PatternList {...found} />}</Answered>
    </>
  )
}

function PatternList({ patterns, names }: Patterns): JSX.Element {
  const wanted = param('mended')
  const shown = patterns.filter((one) => wanted === undefined || one.mends.length > 0 === (wanted === 'yes'))
  if (patterns.length === 0)
    return (
      <Empty title="Nothing has happened twice">
        <p>
          Errors, loops and interruptions that come back in several sessions will stand here, with what fixed
          them.
        </p>
      </Empty>
    )
  if (shown.length === 0) return <Empty title={`None of ${patterns.length} patterns is of this kind`} />
  return (
    <ol class="patterns">
      {shown.map((pattern) => (
        <PatternCard pattern={pattern} names={names} />
      ))}
    </ol>
  )
}

function PatternCard({ pattern, names }: { pattern: TeamPattern; names: Patterns['names'] }): JSX.Element {
  const [best, ...others] = pattern.mends
  return (
    <li class="card pattern">
      <header>
        <h2>
          <span class={`badge ${pattern.kind === 'error' ? 'outcome-fail' : ''}`}>
            {signalName(pattern.kind)}
          </span>{' '}
          {pattern.tool && <span class="muted">{pattern.tool}</span>}
        </h2>
        <span class="muted">
          {plural(pattern.count, 'time')} in {plural(pattern.sessions, 'session')} ·{' '}
          <When at={pattern.first_seen} /> to <When at={pattern.last_seen} />
        </span>
      </header>
      <pre class="plain sample">
        {redacted(pattern.sample || pattern.subject || 'the session as a whole')}
      </pre>
      {best && <Cure mend={best} names={names} />}
      {others.length > 0 && (
        <details>
          <summary>{plural(others.length, 'other way')} that worked</summary>
          {others.map((mend) => (
            <Cure mend={mend} names={names} />
          ))}
        </details>
      )}
      <p class="muted">
        {pattern.where !== undefined
          ? `Seen in ${pattern.where.join(' · ')}`
          : `Seen${pattern.repos.length > 0 ? ` in ${pattern.repos.join(' · ')}` : ''} with ${pattern.flavors.join(' · ')}`}
      </p>
      <Places
        all={pattern.evidence.map((one) => ({ uid: one.session_uid, seq: one.seqs[0] ?? 1 }))}
        total={pattern.sessions}
        names={names}
      />
    </li>
  )
}

const SHOWN_PLACES = 3

/** Sessions that are called the same stand here once: the first of them leads on. */
function Places(props: {
  all: readonly { uid: string; seq: number }[]
  total: number
  names: Patterns['names']
}): JSX.Element {
  const called = new Map<string, { uid: string; seq: number }>()
  for (const one of props.all) {
    const name = titleOf({ session_uid: one.uid, title: props.names[one.uid] ?? null })
    if (!called.has(name)) called.set(name, one)
  }
  const shown = [...called].slice(0, SHOWN_PLACES)
  return (
    <ul class="places">
      {shown.map(([name, { uid, seq }]) => (
        <li>
          <a class="clip" href={sessionPath(uid, { seq: String(seq) })} title={name}>
            {name}
          </a>
        </li>
      ))}
      {shown.length > 0 && props.total > shown.length && (
        <li class="muted">and {props.total - shown.length} more</li>
      )}
    </ul>
  )
}

/** The steps, each where it was taken, and the sessions in which they worked. */
function Cure({ mend, names }: { mend: Mend; names: Patterns['names'] }): JSX.Element | null {
  const [newest] = mend.sessions
  if (!newest) return null
  return (
    <div class="cure">
      <strong>What fixed it</strong>{' '}
      <span>
        in {plural(mend.times, 'session')}, {mend.times > 1 && 'last'} <When at={mend.last_at} />
      </span>
      <ol>
        {mend.steps.map((step) => (
          <li>
            <a href={sessionPath(newest.session_uid, { seq: String(step.seq) })}>{redacted(step.what)}</a>
          </li>
        ))}
      </ol>
      <Places
        all={mend.sessions.map((one) => ({ uid: one.session_uid, seq: one.resolved_seq }))}
        total={mend.times}
        names={names}
      />
    </div>
  )
}
