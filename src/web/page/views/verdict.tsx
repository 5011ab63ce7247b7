// The verdict on top of a session: how it ended and why, what decided it, what was checked and kept, what it cost.
import type { ComponentChildren, JSX } from 'preact'
import type { ChangeSummary } from '../../../digest/changes.ts'
import type { ErrorSnippet } from '../../../digest/digest.ts'
import { LIVE_MS, sureness } from '../../../model.ts'
import { useAnswer } from '../api.ts'
import { ago, count, duration, plural, short, usd } from '../format.ts'
import { hasTab, isTeam } from '../here.ts'
import { LIVE_WORDS, type LiveState, liveState, useNow } from '../live-state.ts'
import { OutcomeBadge, When } from '../parts.tsx'
import { param, sessionPath, setParams, to } from '../router.ts'
import { DiffSize } from '../text/diff.tsx'
import { plainly, redacted } from '../text/plain.tsx'
import type { SessionDocument } from './session.tsx'
import { commitName, Jumps, MendedBy } from './signals.tsx'

interface Props {
  document: SessionDocument
}

/** Folded to its first line once somebody reads a place in the session or looks at another side of it, unless the address says otherwise. */
const isFolded = (): boolean => {
  const isOpenAtFirst = param('seq') === undefined && param('tab') === undefined
  return (param('card') ?? (isOpenAtFirst ? '1' : '0')) === '0'
}

export function VerdictCard({ document: shown }: Props): JSX.Element {
  const { session, digest } = shown
  const isRecent = session.ended_at !== null && Date.now() - Date.parse(session.ended_at) < LIVE_MS
  const now = useNow(isRecent)
  const live = liveState(shown, now)
  const folded = isFolded()
  return (
    <section class={`verdict-card ${live ? 'is-live' : `is-${session.outcome}`}`} aria-label="verdict">
      <header>
        {live ? (
          <LiveLine live={live} endedAt={session.ended_at} />
        ) : (
          <>
            <OutcomeBadge outcome={session.outcome} />
            <Basis document={shown} />
          </>
        )}
        {folded && <Brief document={shown} />}
        <button
          type="button"
          class="quiet"
          aria-expanded={!folded}
          onClick={() => setParams({ card: folded ? '1' : '0' }, { replace: true })}
        >
          {folded ? 'more' : 'less'}
        </button>
      </header>
      {!folded && (
        <dl class="verdict-facts">
          {digest && <Deciding document={shown} isLive={live !== undefined} />}
          {digest && <Words name="Asked" of="first_prompt" document={shown} />}
          {digest && <Words name="Last answer" of="last_assistant" document={shown} />}
          {digest && <Checked document={shown} />}
          {digest && <Changed document={shown} />}
          <Cost document={shown} />
          <Time document={shown} />
          <Where document={shown} />
          {digest && <Kept document={shown} />}
          {digest && <Mended document={shown} />}
        </dl>
      )}
    </section>
  )
}

function Fact(props: {
  name: string
  children: ComponentChildren
  size?: 'is-wide' | 'is-half'
  /** Where it stands in the session. */
  seqs?: { uid: string; seqs: readonly number[] }
}): JSX.Element {
  const { name, children, seqs } = props
  return (
    <div class={`verdict-fact ${props.size ?? ''}`}>
      <dt>
        {name} {seqs && <Jumps {...seqs} />}
      </dt>
      <dd>{children}</dd>
    </div>
  )
}

const LIVE_SIGNS: Record<LiveState, string> = { running: '▶', idle: '…', waiting: '◉' }
const LIVE_NOTES: Record<LiveState, string> = {
  running: 'how it ends is not known yet',
  idle: 'in the middle of a turn, and nothing was heard for a while: it may wait for a permission or for a long call',
  waiting: 'its last turn is over; what it reached is told once it has been quiet for ten minutes',
}

function LiveLine({ live, endedAt }: { live: LiveState; endedAt: string | null }): JSX.Element {
  return (
    <>
      <span class={`badge live-${live}`}>
        <span aria-hidden="true">{LIVE_SIGNS[live]}</span> {LIVE_WORDS[live]}
      </span>
      <span>
        {LIVE_NOTES[live]}; last heard of {ago(endedAt)}
      </span>
    </>
  )
}

/** By which rule, how sure, and where to look. */
function Basis({ document: { digest, session } }: Props): JSX.Element {
  if (!digest) return <span class="muted">there is no digest of it {isTeam ? 'here' : 'yet'}</span>
  const { reason, rule, confidence, seqs } = digest.outcome_detail
  const understood = digest.coverage.share
  return (
    <span>
      {reason || rule}{' '}
      <span class="muted" title={`rule ${rule}, right in ${Math.round(confidence * 100)} of 100 cases`}>
        ({sureness(confidence)})
      </span>{' '}
      <Jumps uid={session.session_uid} seqs={seqs} />
      {understood < 1 && (
        <span class="muted"> {(understood * 100).toFixed(2)} % of its log was understood</span>
      )}
    </span>
  )
}

/** What a folded card still says. */
function Brief({ document: { session } }: Props): JSX.Element {
  return (
    <span class="muted brief">
      {usd(session.cost_usd, session.unpriced_responses)} · {duration(session.cost.wall_clock_s)} ·{' '}
      <When at={session.started_at} />
    </span>
  )
}

function Sample({ uid, error }: { uid: string; error: ErrorSnippet }): JSX.Element {
  const last = error.seqs.at(-1)
  return (
    <div class="error-told">
      <code class="error-line">{redacted(error.sample.split('\n')[0] ?? '')}</code>{' '}
      <span class="muted">
        {error.tool} {error.count > 1 && `×${error.count}`}
      </span>{' '}
      {last !== undefined && <Jumps uid={uid} seqs={[last]} />}
    </div>
  )
}

function Deciding({ document: shown, isLive }: Props & { isLive: boolean }): JSX.Element | null {
  const { session, verdict } = shown
  const error = verdict?.error
  if (!error || isLive) return null
  const [mend] = verdict.mends
  const [there] = mend?.sessions ?? []
  return (
    <Fact name="Deciding error" size="is-wide">
      <Sample uid={session.session_uid} error={error} />
      {mend && there && (
        <p>
          Fixed in {plural(mend.times, 'other session')} by{' '}
          <span class="mend-steps">
            {mend.steps
              .map((step) => redacted(step.what))
              .flatMap((step, i) => (i === 0 ? [step] : [', then ', step]))}
          </span>{' '}
          <a href={sessionPath(there.session_uid, { seq: String(there.resolved_seq) })}>see how</a>
        </p>
      )}
      {!mend && <p class="muted">Nothing is known to have fixed it, here or in another session.</p>}
    </Fact>
  )
}

/** Leads to another side of the session, where there is one. */
function SideLink(props: { uid: string; tab: string; children: ComponentChildren }): JSX.Element {
  const { uid, tab, children } = props
  return hasTab(tab) ? <a href={sessionPath(uid, { tab })}>{children}</a> : <span>{children}</span>
}

/** What was asked first, and what the agent said last: who comes back after a week begins here. */
function Words(props: Props & { name: string; of: 'first_prompt' | 'last_assistant' }): JSX.Element | null {
  const { digest } = props.document
  const text = digest?.[props.of]
  if (!digest || !text) return null
  return (
    <Fact
      name={props.name}
      size="is-half"
      seqs={{ uid: digest.session_uid, seqs: digest.evidence[props.of] ?? [] }}
    >
      <p class="few-lines">{redacted(plainly(text))}</p>
    </Fact>
  )
}

const SHOWN_MENDS = 2

function Mended({ document: { digest, session } }: Props): JSX.Element | null {
  const errors = digest?.error_snippets ?? []
  const mended = errors.filter((error) => error.resolved_by !== null)
  if (errors.length === 0) return null
  const uid = session.session_uid
  return (
    <Fact name="Errors on the way" size="is-wide">
      {mended.slice(0, SHOWN_MENDS).map((error) => (
        <div class="mended-error">
          <Sample uid={uid} error={error} />
          <MendedBy uid={uid} error={error} />
        </div>
      ))}
      <p class="muted">
        {plural(errors.length, 'kind')}, {mended.length} mended here{' '}
        <a href={sessionPath(uid, { tab: 'signals' })}>all of them</a>
      </p>
    </Fact>
  )
}

function Checked({ document: { digest, session } }: Props): JSX.Element {
  const { test_runs: runs = 0, test_failures: failures = 0 } = digest?.markers ?? {}
  const last = digest?.tests.at(-1)
  if (!last)
    return (
      <Fact name="Tests">{runs > 0 ? plural(runs, 'run') : <span class="muted">none were run</span>}</Fact>
    )
  const sign = { passed: '✓', failed: '✕', unknown: '?' }[last.verdict]
  return (
    <Fact name="Tests">
      <span class={`test-${last.verdict}`}>
        {sign} {last.verdict === 'unknown' ? 'result not shown' : last.verdict}
      </span>{' '}
      <code class="clip">{redacted(last.command)}</code>{' '}
      <Jumps uid={session.session_uid} seqs={last.seqs.slice(-1)} />
      {runs > 1 && (
        <span class="muted">
          {' '}
          last of {runs}, {failures} failed
        </span>
      )}
    </Fact>
  )
}

const SAFE_LINK = /^https?:\/\//
const SHOWN_KEPT = 6

function Kept({ document: { digest, session } }: Props): JSX.Element | null {
  const [commits, requests] = [digest?.commits ?? [], digest?.pull_requests ?? []]
  if (commits.length + requests.length === 0) return null
  const rest = commits.length - SHOWN_KEPT
  return (
    <Fact name={requests.length > 0 ? 'Commits and pull requests' : 'Commits'} size="is-wide">
      <div class="kept">
        {requests.map(({ url, seqs }) => (
          <p>
            {SAFE_LINK.test(url) ? (
              <a href={url} target="_blank" rel="noopener noreferrer nofollow">
                {redacted(url)}
              </a>
            ) : (
              redacted(url)
            )}{' '}
            <Jumps uid={session.session_uid} seqs={seqs.slice(0, 1)} />
          </p>
        ))}
        {commits.slice(0, SHOWN_KEPT).map((commit) => (
          <p>
            {commit.sha !== '' && <code>{commit.sha.slice(0, 8)}</code>} {redacted(commitName(commit))}{' '}
            <Jumps uid={session.session_uid} seqs={commit.seqs.slice(0, 1)} />
          </p>
        ))}
      </div>
      {rest > 0 && <p class="muted">and {plural(rest, 'more commit')}</p>}
    </Fact>
  )
}

function Changed({ document: { digest, session } }: Props): JSX.Element | null {
  const uid = session.session_uid
  const edits = digest?.markers.edits ?? 0
  const data = useAnswer<ChangeSummary>(
    edits === 0 || !hasTab('files') ? undefined : `sessions/${encodeURIComponent(uid)}/changes?limit=1`,
  ).match<ChangeSummary | undefined>({
    loading: () => undefined,
    // The files' own tab says why; the digest knows how many there are.
    failed: () => undefined,
    answered: (summary) => summary,
  })
  if (edits === 0)
    return (
      <Fact name="Changes">
        <span class="muted">no edit of a file</span>
      </Fact>
    )
  const shown = data?.edit_count ?? 0
  return (
    <Fact name="Changes">
      <SideLink uid={uid} tab="files">
        {shown > 0 && `${plural(data?.file_count ?? 0, 'file')}, `}
        {plural(shown > 0 ? shown : edits, 'edit')}
      </SideLink>{' '}
      {data && <DiffSize {...data} />}
      {shown > 0 && edits > shown && <p class="muted">and {edits - shown} whose text is not known</p>}
    </Fact>
  )
}

function Cost({ document: { digest, session } }: Props): JSX.Element {
  const { cost } = session
  const tokens = cost.input_tokens + cost.output_tokens + cost.cache_tokens
  const tree = digest?.tree ?? null
  const inside = digest?.subagents.filter((one) => one.session_uid === '').length ?? 0
  return (
    <Fact name="Cost">
      <SideLink uid={session.session_uid} tab="cost">
        <strong>{usd(session.cost_usd, session.unpriced_responses)}</strong>
      </SideLink>{' '}
      <span class="muted" title={`${count(tokens)} tokens`}>
        {short(tokens)} tokens{inside > 0 && `, with ${plural(inside, 'sub-agent')} inside it`}
      </span>
      {tree && (
        <p>
          <strong>{usd(tree.cost_usd, tree.unpriced_responses)}</strong> with{' '}
          {plural(tree.sessions - 1, 'sub-agent')}{' '}
          <span class="muted">
            {tree.sessions === 2 ? 'that has a session of its own' : 'that have sessions of their own'}
          </span>
        </p>
      )}
    </Fact>
  )
}

function Time({ document: { digest, session } }: Props): JSX.Element {
  return (
    <Fact name="When">
      <When at={session.started_at} /> <span class="muted">for {duration(session.cost.wall_clock_s)}</span>
      <p class="muted">
        {(digest || !isTeam) && `${duration(session.active_s)} active · `}
        {plural(session.cost.turns, 'turn')}
        {(digest || !isTeam) && ` · ${plural(session.tool_calls, 'tool call')}`}
      </p>
    </Fact>
  )
}

function Where({ document: { session } }: Props): JSX.Element {
  return (
    <Fact name="Where">
      <a href={to('/sessions', { flavor: session.flavor })}>{session.flavor}</a>
      {session.repo && (
        <>
          {' '}
          · <a href={to('/sessions', { repo: session.repo })}>{session.repo}</a>
        </>
      )}
      {session.git_branch && <span class="muted"> · {session.git_branch}</span>}
      {session.model && (
        <>
          {' '}
          · <a href={to('/sessions', { model: session.model })}>{session.model}</a>
        </>
      )}
    </Fact>
  )
}
