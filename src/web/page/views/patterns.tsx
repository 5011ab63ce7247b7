// What keeps failing, where, and what mended it last time.
import type { JSX } from 'preact'
import type { Pattern } from '../../../digest/patterns.ts'
import { useAnswer } from '../api.ts'
import { idOf, plural } from '../format.ts'
import { Answered, Empty, When } from '../parts.tsx'
import { param, sessionPath, setParams } from '../router.ts'
import { redacted } from '../text/plain.tsx'

const KIND_NAMES: Record<string, string> = {
  error: 'Error',
  retry_loop: 'Retry loop',
  test_fixed: 'Test that was mended',
  tests_left_failing: 'Tests left failing',
  repeated_interruption: 'Interrupted again and again',
  permission_denied: 'Permission denied',
  context_thrash: 'Context thrown away again and again',
  tool_never_succeeds: 'Tool that never succeeds',
  edit_churn: 'File edited again and again',
  request_trouble: 'Trouble with the model’s service',
}

export const signalName = (kind: string): string => KIND_NAMES[kind] ?? kind.replaceAll('_', ' ')

export function PatternsView(): JSX.Element {
  const since = param('since')
  const answer = useAnswer<{ patterns: Pattern[] }>(`patterns?limit=100${since ? `&since=${since}` : ''}`)
  return (
    <>
      <div class="view-head">
        <h1>Patterns</h1>
        <p class="muted">What happened in more than one session, most widespread first.</p>
        <select
          aria-label="span"
          value={since ?? ''}
          onChange={(event) => setParams({ since: event.currentTarget.value || undefined })}
        >
          <option value="">ever</option>
          <option value="7d">last 7 days</option>
          <option value="30d">last 30 days</option>
        </select>
      </div>
      <Answered answer={answer}>
        {({ patterns }) =>
          patterns.length === 0 ? (
            <Empty title="Nothing has happened twice">
              <p>
                Errors, loops and interruptions that come back in several sessions will stand here, with what
                mended them.
              </p>
            </Empty>
          ) : (
            <ol class="patterns">
              {patterns.map((pattern) => (
                <PatternCard pattern={pattern} />
              ))}
            </ol>
          )
        }
      </Answered>
    </>
  )
}

function PatternCard({ pattern }: { pattern: Pattern }): JSX.Element {
  const cure = pattern.last_resolution
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
      <p class="muted">
        {[...pattern.repos, ...pattern.flavors].join(' · ')} · seen in{' '}
        {pattern.evidence.slice(0, 6).map((one, i) => (
          <>
            {i > 0 && ', '}
            <a href={sessionPath(one.session_uid, { seq: String(one.seqs[0] ?? 1) })}>
              {idOf(one.session_uid)}
            </a>
          </>
        ))}
      </p>
      {cure && (
        <div class="cure">
          <strong>Mended last time</strong> in{' '}
          <a href={sessionPath(cure.session_uid, { seq: String(cure.resolved_seq) })}>
            {idOf(cure.session_uid)}
          </a>
          , after
          <ol>
            {cure.steps.map((step) => (
              <li>
                <a href={sessionPath(cure.session_uid, { seq: String(step.seq) })}>{redacted(step.what)}</a>
              </li>
            ))}
          </ol>
        </div>
      )}
    </li>
  )
}
