// What the digest says of a session, each statement with jumps to the events it rests on.
import type { ComponentChildren, JSX } from 'preact'
import type { Digest, ErrorSnippet } from '../../../digest/digest.ts'
import { duration, plural } from '../format.ts'
import { isTeam } from '../here.ts'
import { Card, Empty, When } from '../parts.tsx'
import { sessionPath } from '../router.ts'
import { redacted } from '../text/plain.tsx'
import { signalName } from './patterns.tsx'
import type { SessionDocument } from './session.tsx'

export function Jumps({ uid, seqs }: { uid: string; seqs: readonly number[] }): JSX.Element {
  return (
    <span class="jumps">
      {seqs.slice(0, 8).map((seq) => (
        <a href={sessionPath(uid, { seq: String(seq) })} aria-label={`event ${seq}`}>
          #{seq}
        </a>
      ))}
      {seqs.length > 8 && <span class="muted">+{seqs.length - 8}</span>}
    </span>
  )
}

/** Some agents do not show what git said. */
export const commitName = ({ sha, subject }: Digest['commits'][number]): string =>
  subject === '' && sha === '' ? 'a commit whose name was not shown' : subject

/** The steps that mended an error here, each a link to where it was taken. */
export function MendedBy({ uid, error }: { uid: string; error: ErrorSnippet }): JSX.Element | null {
  if (!error.resolved_by) return null
  return (
    <div class="mended-by">
      <span class="mended">✓ fixed by</span>{' '}
      {error.resolved_by.steps.map((step, i) => (
        <>
          {i > 0 && ', then '}
          <a href={sessionPath(uid, { seq: String(step.seq) })} title={step.what}>
            {redacted(step.what)}
          </a>
        </>
      ))}
    </div>
  )
}

export function SignalsTab({ document }: { document: SessionDocument }): JSX.Element {
  const { digest } = document
  if (!digest && isTeam) return <Empty title="Its machine pushes figures, and no digest of it" />
  if (!digest) return <Empty title="This session has no digest yet" command="recollect sweep" />
  return (
    <div class="columns">
      <div class="stack wide">
        <Listed title="Decisions" rows={document.session.decisions}>
          {(decision) => (
            <>
              {redacted(decision.text)}{' '}
              <span class="muted">
                {decision.author} · <When at={decision.ts} />
              </span>
            </>
          )}
        </Listed>
        <SignalList digest={digest} />
        <ErrorList digest={digest} />
      </div>
      <SideLists digest={digest} />
    </div>
  )
}

function SideLists({ digest }: { digest: Digest }): JSX.Element {
  const uid = digest.session_uid
  return (
    <div class="stack">
      <Listed title="Tests" rows={digest.tests}>
        {(test) => (
          <>
            <strong>{test.verdict}</strong> <code>{redacted(test.command)}</code>
            {test.duration_ms !== null && <span class="muted"> {duration(test.duration_ms / 1000)}</span>}{' '}
            <Jumps uid={uid} seqs={test.seqs} />
          </>
        )}
      </Listed>
      <Listed title="Commands" rows={digest.commands}>
        {(command) => (
          <>
            <code>{redacted(command.command)}</code>{' '}
            <span class="muted">
              {plural(command.runs, 'run')}
              {command.failures > 0 && `, ${command.failures} failed`}
            </span>{' '}
            <Jumps uid={uid} seqs={command.seqs} />
          </>
        )}
      </Listed>
      <Listed title="Files" rows={digest.files}>
        {(file) => (
          <>
            {file.path} <span class="muted">{file.edits > 0 ? plural(file.edits, 'edit') : 'read'}</span>{' '}
            <Jumps uid={uid} seqs={file.seqs} />
          </>
        )}
      </Listed>
      <Listed
        title="Commits and pull requests"
        rows={[
          ...digest.commits.map((one) => ({
            name: `${one.sha.slice(0, 8)} ${commitName(one)}`.trim(),
            seqs: one.seqs,
          })),
          ...digest.pull_requests.map((one) => ({ name: one.url, seqs: one.seqs })),
        ]}
      >
        {(one) => (
          <>
            {redacted(one.name)} <Jumps uid={uid} seqs={one.seqs} />
          </>
        )}
      </Listed>
    </div>
  )
}

const SHOWN = 12

function Listed<T>(props: {
  title: string
  rows: readonly T[]
  children: (row: T) => ComponentChildren
}): JSX.Element | null {
  if (props.rows.length === 0) return null
  const rest = props.rows.slice(SHOWN)
  return (
    <Card title={props.title} aside={<span class="muted">{props.rows.length}</span>}>
      <ul class="list">
        {props.rows.slice(0, SHOWN).map((row) => (
          <li>{props.children(row)}</li>
        ))}
      </ul>
      {rest.length > 0 && (
        <details>
          <summary>{rest.length} more</summary>
          <ul class="list">
            {rest.map((row) => (
              <li>{props.children(row)}</li>
            ))}
          </ul>
        </details>
      )}
    </Card>
  )
}

/** An error is known by a fingerprint, which tells nobody anything: what it said does. */
const subjectOf = ({ error_snippets: errors }: Digest, subject: string): string =>
  errors.find((error) => error.fingerprint === subject)?.sample.split('\n')[0] ?? subject

function SignalList({ digest }: { digest: Digest }): JSX.Element {
  return (
    <Card title="Signals" aside={<span class="muted">{digest.signals.length}</span>}>
      {digest.signals.length === 0 && (
        <p class="muted">Nothing notable: no loop, no churn, no tests left failing.</p>
      )}
      <ul class="list">
        {digest.signals.map((signal) => (
          <li>
            <strong>{signalName(signal.signal)}</strong>{' '}
            {signal.subject && <code>{redacted(subjectOf(digest, signal.subject))}</code>}{' '}
            <span class="muted">
              {signal.signal === 'cost_outlier' ? `$${signal.count}` : `×${signal.count}`}
            </span>{' '}
            <Jumps uid={digest.session_uid} seqs={signal.seqs} />
          </li>
        ))}
      </ul>
    </Card>
  )
}

function ErrorList({ digest }: { digest: Digest }): JSX.Element | null {
  if (digest.error_snippets.length === 0) return null
  return (
    <Card title="Errors" aside={<span class="muted">{plural(digest.error_snippets.length, 'kind')}</span>}>
      <ul class="list">
        {digest.error_snippets.map((error) => (
          <li class="error-kind">
            <pre class="plain sample">{redacted(error.sample)}</pre>
            <div>
              <span class="muted">
                {error.tool} {error.count > 1 && `×${error.count}`}
              </span>{' '}
              <Jumps uid={digest.session_uid} seqs={error.seqs} />
            </div>
            <MendedBy uid={digest.session_uid} error={error} />
          </li>
        ))}
      </ul>
    </Card>
  )
}
