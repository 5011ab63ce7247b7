// One session: what it was, and the ways to look at it.
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import type { Digest } from '../../../digest/digest.ts'
import type { Brief } from '../../../query/briefs.ts'
import type { GapRow } from '../../../query/coverage.ts'
import type { Lineage } from '../../../query/lineage.ts'
import type { RawLost } from '../../../query/lost.ts'
import type { Receipt } from '../../../query/receipts.ts'
import type { TreeCost } from '../../../query/tree-cost.ts'
import type { Verdict } from '../../server/verdict.ts'
import { ask, useAnswer } from '../api.ts'
import { bytes, plural, titleOf } from '../format.ts'
import { here, isTeam } from '../here.ts'
import { useKeys } from '../keys.ts'
import { useOutlines } from '../outlines.ts'
import { Answered, ProblemBox, useCurrentInView, When } from '../parts.tsx'
import { go, param, sessionPath, uidInAddress, withParams } from '../router.ts'
import { redacted } from '../text/plain.tsx'
import { FilesTab } from './files.tsx'
import { LineageList } from './lineage.tsx'
import { RawTab } from './raw.tsx'
import { SessionActs } from './session-acts.tsx'
import { SignalsTab } from './signals.tsx'
import { ContextTab, CostTab } from './spend.tsx'
import { TimelineTab } from './timeline.tsx'
import { Transcript } from './transcript.tsx'
import { VerdictCard } from './verdict.tsx'

export interface SessionDocument {
  session: Brief
  receipts: Receipt[]
  raw_lost: RawLost | null
  digest: (Digest & { tree: TreeCost | null }) | null
  verdict: Verdict | null
  /** By which address the editor opens a file. */
  editor: string
  /** What takes it up again, to be typed; null where nothing does. */
  resume: string | null
  gaps: GapRow[]
  lineage: Lineage
}

const ALL_TABS = ['transcript', 'timeline', 'files', 'context', 'cost', 'lineage', 'signals', 'raw'] as const
type Tab = (typeof ALL_TABS)[number]
const TABS = here.tabs === null ? ALL_TABS : (here.tabs as Tab[])
const FIRST = TABS[0] as Tab
/** Those that show text: that it was read is written down by a team server. */
const WITH_TEXT: ReadonlySet<Tab> = new Set(['transcript', 'timeline', 'raw'])

interface Neighbours {
  newer: string | null
  older: string | null
}

/** One after the other: a key pressed twice goes two sessions on, also when the first answer is still on its way. */
let going: Promise<void> = Promise.resolve()

/** To the session before or after the one in the address, as the list has them. */
function goBeside(side: keyof Neighbours): void {
  going = going.then(async () => {
    const uid = uidInAddress()
    if (uid === undefined) return
    const found = await ask<Neighbours>(`sessions/${encodeURIComponent(uid)}/neighbours`).catch(
      () => undefined,
    )
    const next = found?.[side] ?? null
    // Whoever went elsewhere meanwhile stays there.
    if (next !== null && uidInAddress() === uid) go(sessionPath(next))
  })
}

export function SessionView({ uid }: { uid: string }): JSX.Element {
  useKeys(isTeam ? {} : { ']': () => goBeside('older'), '[': () => goBeside('newer') })
  const answer = useAnswer<SessionDocument>(`sessions/${encodeURIComponent(uid)}`)
  const isHere = answer.match({ loading: () => false, failed: () => false, answered: () => true })
  return (
    <>
      {!isHere && <h1 class="visually-hidden">Session</h1>}
      <Answered answer={answer}>{(document) => <Session document={document} />}</Answered>
    </>
  )
}

function Session({ document: shown }: { document: SessionDocument }): JSX.Element {
  const { session } = shown
  const asked = param('tab') as Tab | undefined
  const tab = asked !== undefined && TABS.includes(asked) ? asked : FIRST
  useCurrentInView('.tabs', tab)
  useEffect(() => {
    document.title = `${titleOf(session)} · Recollect`
  }, [session])
  return (
    <div class={`session is-${tab}`}>
      <SessionHead document={shown} />
      <nav class="tabs" aria-label="ways to look at it">
        {TABS.map((name) => (
          <a
            href={withParams({ tab: name === FIRST ? undefined : name })}
            aria-current={name === tab ? 'page' : undefined}
          >
            {name[0]?.toUpperCase()}
            {name.slice(1)}
            {name === 'signals' && shown.digest && shown.digest.signals.length > 0 && (
              <span class="total">{shown.digest.signals.length}</span>
            )}
          </a>
        ))}
      </nav>
      <TabBody tab={tab} document={shown} />
    </div>
  )
}

function TabBody({ tab, document: shown }: { tab: Tab; document: SessionDocument }): JSX.Element {
  const uid = shown.session.session_uid
  const toggled = (param('agents') ?? '').split(',').filter((one) => one !== '')
  const subagents = shown.lineage.nodes.filter((node) => node.edge?.kind === 'subagent')
  const open = subagents.map((node) => node.session_uid).filter((one) => toggled.includes(one))
  const { outlines, problem } = useOutlines(isTeam && !WITH_TEXT.has(tab) ? [] : [uid, ...open])
  const outline = outlines.get(uid)
  if (tab === 'files')
    return <FilesTab uid={uid} editor={shown.editor} edits={shown.digest?.markers.edits ?? 0} />
  if (tab === 'context') return <ContextTab uid={uid} />
  if (tab === 'cost') return <CostTab uid={uid} />
  if (tab === 'lineage') return <LineageList lineage={shown.lineage} here={uid} />
  if (tab === 'signals') return <SignalsTab document={shown} />
  if (problem) return <ProblemBox problem={problem} />
  if (!outline) return <div class="loading" role="status" aria-label="loading" />
  if (tab === 'timeline') return <TimelineTab uid={uid} outline={outline} subagents={subagents} />
  if (tab === 'raw') return <RawTab document={shown} outline={outline} />
  const told = { outlines, subagents, toggled: new Set(toggled) }
  return <Transcript uid={uid} told={told} title={titleOf(shown.session)} />
}

function SessionHead({ document: shown }: { document: SessionDocument }): JSX.Element {
  return (
    <header class="session-head">
      <div class="session-title">
        <h1>{redacted(titleOf(shown.session))}</h1>
        <SessionActs document={shown} />
      </div>
      <VerdictCard document={shown} />
      <Warnings document={shown} />
    </header>
  )
}

/** What is not here: gaps, evicted parts, secrets taken out. */
function Warnings({ document: shown }: { document: SessionDocument }): JSX.Element | null {
  const { session, receipts, raw_lost: lost, gaps } = shown
  const secrets = Object.entries(session.redactions)
  if (receipts.length + gaps.length + secrets.length === 0 && !lost && !session.is_sole_copy) return null
  return (
    <ul class="warnings">
      {gaps.length > 0 && (
        <li>
          <a href={sessionPath(session.session_uid, { tab: 'raw' })}>
            {plural(gaps.length, 'gap')}: {bytes(gaps.reduce((sum, gap) => sum + gap.length, 0))} of its log
            could not be read
          </a>
        </li>
      )}
      {receipts.map((receipt) => (
        <li>
          events {receipt.first_seq}–{receipt.last_seq} were evicted <When at={receipt.evicted_at} /> (
          {receipt.reason.replace('_', ' ')}, {bytes(receipt.bytes)})
          {receipt.is_restored && ', and read in again since'}
        </li>
      ))}
      {secrets.length > 0 && (
        <li>
          {plural(
            secrets.reduce((sum, [, n]) => sum + n, 0),
            'secret',
          )}{' '}
          taken out: {secrets.map(([rule, n]) => `${rule} ×${n}`).join(', ')}
        </li>
      )}
      {lost && <li>{lost.text}</li>}
      {session.is_sole_copy && !lost && <li>the agent’s own file is gone: this is the only copy</li>}
    </ul>
  )
}
