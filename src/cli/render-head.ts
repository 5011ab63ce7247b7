// The head of a shown session: what it was about, where, when, what it cost, how it ended, and what is missing of it.
import { resumeCommand } from '../adapters/resume.ts'
import type { Digest } from '../digest/digest.ts'
import { shellWord } from '../files/shell.ts'
import { isRunning, OUTCOME_WORDS, type Session, sureness } from '../model.ts'
import type { RawLost } from '../query/lost.ts'
import type { Receipt } from '../query/receipts.ts'
import { paint } from './colour.ts'
import { formatBytes, formatCount, formatDuration, formatTime, plural } from './format.ts'
import { textWidth } from './print.ts'
import { REASONS } from './retention-report.ts'
import { cut, fold, oneLine } from './text.ts'

export interface SessionHead {
  session: Session
  /** Undefined before the first sweep that analyzed it. */
  digest: Digest | undefined
  /** In US dollars, as people read it; undefined where nothing has a known price. */
  cost: string | undefined
  receipts: readonly Receipt[]
  lost: RawLost | null
  gaps: readonly { reason: string; count: number; bytes: number }[]
}

const LABEL = 10

export function headLines(head: SessionHead): string[] {
  const { session, digest } = head
  const width = textWidth()
  const title = oneLine(session.title || digest?.first_prompt || '')
  const lines = [
    ...(title === '' ? [] : [paint.bold(cut(title, width))]),
    paint.dim(session.session_uid),
    joined([session.repo, session.git_branch, session.model, session.domain]),
    joined([timeText(session, digest), activityText(digest)]),
    joined([tokenText(session), head.cost, outcomeText(session, digest)]),
  ]
    .filter((line) => line !== '')
    .flatMap((line) => fold(line, width))
  const add = (name: string, text: string): void => {
    for (const [at, part] of fold(text, width - LABEL).entries())
      lines.push(`${paint.dim((at === 0 ? name : '').padEnd(LABEL))}${part}`)
  }
  if (session.starred_at !== null) add('starred', formatTime(session.starred_at))
  if (session.tags.length > 0) add('tags', session.tags.map(oneLine).join(', '))
  for (const note of session.notes)
    add(`note ${note.number}`, `${oneLine(note.text)} (${oneLine(note.author)}, ${formatTime(note.ts)})`)
  const commits = digest?.commits ?? []
  for (const commit of commits.slice(0, 5)) add('commit', `${commit.sha} ${oneLine(commit.subject)}`)
  if (commits.length > 5) add('', `… and ${plural(commits.length - 5, 'more commit')}`)
  const resume = resumeCommand(session.flavor, session.native_session_id)
  // In one piece, however long: it is there to be copied.
  if (resume && !session.evicted_at)
    lines.push(`${paint.dim('$')} ${session.cwd ? `cd ${shellWord(oneLine(session.cwd))} && ` : ''}${resume}`)
  const redactions = Object.entries(session.redactions)
  if (redactions.length > 0)
    add('redacted', redactions.map(([rule, count]) => (count > 1 ? `${rule} ×${count}` : rule)).join(', '))
  if (session.is_sole_copy && !head.lost) add('kept', "the agent's own file is gone: this is the only copy")
  for (const gap of head.gaps)
    add(
      'gap',
      `${paint.yellow('▲')} ${gap.reason} ×${gap.count}: ${formatBytes(gap.bytes)} could not be understood`,
    )
  for (const receipt of head.receipts) add('evicted', goneText(receipt))
  return lines
}

const joined = (parts: (string | null | undefined)[]): string =>
  parts
    .filter((part) => part)
    .map((part) => oneLine(part as string))
    .join(' · ')

function timeText(session: Session, digest: Digest | undefined): string {
  if (session.started_at === null) return 'unknown time'
  const wall = formatDuration(session.cost.wall_clock_s * 1000)
  const active = digest ? formatDuration(digest.metrics.active_s * 1000) : wall
  return `${formatTime(session.started_at)}, ${wall}${active === wall ? '' : ` (${active} active)`}`
}

function activityText(digest: Digest | undefined): string {
  if (!digest) return ''
  const { metrics, markers, subagents } = digest
  const parts = [plural(metrics.turns, 'turn'), plural(metrics.tool_calls, 'call')]
  if (markers.errors > 0) parts.push(plural(markers.errors, 'error'))
  if (subagents.length > 0) parts.push(plural(subagents.length, 'sub-agent'))
  return parts.join(', ')
}

function tokenText({ cost }: Session): string {
  const total = cost.input_tokens + cost.output_tokens + cost.cache_tokens
  if (total === 0) return ''
  return `${formatCount(total)} tokens (${formatCount(cost.input_tokens)} in, ${formatCount(cost.output_tokens)} out, ${formatCount(cost.cache_tokens)} cache)`
}

function outcomeText(session: Session, digest: Digest | undefined): string {
  if (isRunning(session, Date.now())) return 'running'
  if (session.outcome === 'unknown') return ''
  const word = OUTCOME_WORDS[session.outcome]
  if (!digest) return word
  const { rule, reason, confidence } = digest.outcome_detail
  return `${word}: ${reason ?? rule} (${sureness(confidence)})`
}

function goneText({ first_seq, last_seq, evicted_at, bytes, reason, is_restored }: Receipt): string {
  const again = is_restored ? '; read in again since' : ''
  return `events ${first_seq}–${last_seq} on ${formatTime(evicted_at)} (${formatBytes(bytes)}): ${REASONS[reason]}${again}`
}
