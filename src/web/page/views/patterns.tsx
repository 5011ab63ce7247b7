// What keeps failing, where, and what mended it last time.
import type { JSX } from 'preact'
import type { Mend } from '../../../digest/mends.ts'
import type { Pattern } from '../../../digest/patterns.ts'
import { useAnswer } from '../api.ts'
import { plural, titleOf } from '../format.ts'
import { Answered, Empty, When } from '../parts.tsx'
import { param, sessionPath } from '../router.ts'
import { redacted } from '../text/plain.tsx'
import { Chosen } from './sessions.tsx'

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

interface Patterns {
  patterns: Pattern[]
  /** What sessions are called, by uid. */
  names: Record<string, string>
}

const SPANS: [string, string][] = [
  ['', 'any time'],
  ['7d', 'last 7 days'],
  ['30d', 'last 30 days'],
  ['365d', 'last year'],
]
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
        <Chosen name="mended" label="fixed" choices={STATES} />
        <Chosen name="since" label="span" choices={SPANS} />
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

function PatternCard({ pattern, names }: { pattern: Pattern; names: Patterns['names'] }): JSX.Element {
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
        Seen in {[...pattern.repos, ...pattern.flavors].join(' · ')}:{' '}
        {pattern.evidence.slice(0, 5).map((one, i) => (
          <>
            {i > 0 && ', '}
            <SessionPlace uid={one.session_uid} seq={one.seqs[0] ?? 1} names={names} />
          </>
        ))}
        {pattern.sessions > 5 && `, and ${pattern.sessions - 5} more`}
      </p>
    </li>
  )
}

function SessionPlace(props: { uid: string; seq: number; names: Patterns['names'] }): JSX.Element {
  const name = titleOf({ session_uid: props.uid, title: props.names[props.uid] ?? null })
  return (
    <a href={sessionPath(props.uid, { seq: String(props.seq) })} title={props.uid}>
      {name.length > 60 ? `${name.slice(0, 60)}…` : name}
    </a>
  )
}

/** The steps, each where it was taken, and the sessions in which they worked. */
function Cure({ mend, names }: { mend: Mend; names: Patterns['names'] }): JSX.Element | null {
  const [newest, ...others] = mend.sessions
  if (!newest) return null
  return (
    <div class="cure">
      <strong>What fixed it</strong>{' '}
      <span>
        {mend.times > 1 ? `${mend.times} times, last` : 'once,'} <When at={mend.last_at} />
      </span>
      <ol>
        {mend.steps.map((step) => (
          <li>
            <a href={sessionPath(newest.session_uid, { seq: String(step.seq) })}>{redacted(step.what)}</a>
          </li>
        ))}
      </ol>
      <p>
        in <SessionPlace uid={newest.session_uid} seq={newest.resolved_seq} names={names} />
        {others.slice(0, 3).map((one) => (
          <>
            {', '}
            <SessionPlace uid={one.session_uid} seq={one.resolved_seq} names={names} />
          </>
        ))}
      </p>
    </div>
  )
}
