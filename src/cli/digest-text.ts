// A digest as people read it: the verdict first, then what it rests on, then the rest.
import type { Digest, ErrorSnippet } from '../digest/digest.ts'
import { putsAside } from '../digest/meant.ts'
import { OUTCOME_WORDS, sureness } from '../model.ts'
import type { TreeCost } from '../query/tree-cost.ts'
import { knownUsd, shortUsd, unitsOf } from '../usage/money.ts'
import { paint } from './colour.ts'
import { formatCount, formatDay, formatDuration, formatTime, plural } from './format.ts'
import { oneLine } from './text.ts'

const SHOWN = 8
/** The width of the names at the left. */
export const LABEL = 10

export interface DigestSetting {
  /** It may still go on. */
  isRunning: boolean
  tree: TreeCost | null
}

export function digestText(digest: Digest, { isRunning, tree }: DigestSetting): string {
  const lines = [paint.bold(oneLine(digest.title || digest.first_prompt)), verdictText(digest, isRunning)]
  const list = (name: string, items: string[]): void => {
    for (const [at, item] of items.slice(0, SHOWN).entries())
      lines.push(`${(at === 0 ? name : '').padEnd(LABEL)}${oneLine(item)}`)
    if (items.length > SHOWN) lines.push(`${''.padEnd(LABEL)}… and ${items.length - SHOWN} more`)
  }
  list('error', decidingErrors(digest).map(errorText))
  list('tests', testsText(digest))
  list(
    'commits',
    digest.commits.map((one) => `${one.subject || 'without a subject'} ${seqsText(one.seqs)}`),
  )
  list(
    'pulls',
    digest.pull_requests.map((one) => `${one.url} ${seqsText(one.seqs)}`),
  )
  list('cost', [costText(digest, tree)])
  restText(digest, list)
  return lines.join('\n')
}

function verdictText({ outcome, outcome_detail: detail }: Digest, isRunning: boolean): string {
  if (isRunning) return `running: its last event is new, nothing has ended ${seqsText(detail.seqs)}`.trimEnd()
  const told = detail.rule === 'told' && outcome === 'unknown' ? 'running' : OUTCOME_WORDS[outcome]
  const reason = detail.reason ?? detail.rule
  return `${told}: ${oneLine(reason)} (${sureness(detail.confidence)}, ${Math.round(detail.confidence * 100)} %) ${seqsText(detail.seqs)}`.trimEnd()
}

/** What was never overcome and came last stands in the way; of a success nothing does. */
function decidingErrors({ outcome, error_snippets: all }: Digest): ErrorSnippet[] {
  if (outcome === 'success') return []
  const open = all.filter((one) => one.resolved_by === null)
  return open.sort((a, b) => (b.seqs.at(-1) ?? 0) - (a.seqs.at(-1) ?? 0)).slice(0, 1)
}

/** Without the marks of a sub-agent's report. What mended it is what one comes back for. */
function errorText({ sample, count, seqs, resolved_by: mend }: ErrorSnippet): string {
  const times = count > 1 ? `, ${count} times` : ''
  const step = mend?.steps.at(-1)
  const by = step ? `; mended by ${short(step.what, 60)} #${step.seq}` : ''
  return `${short(sample.replaceAll('**', ''), 110)}${times} ${seqsText(seqs)}${by}`
}

const short = (words: string, length: number): string =>
  words.length > length ? `${words.slice(0, length - 1).trimEnd()}…` : words

/** How many, how the last one ended, and those whose last run failed. */
function testsText({ tests, markers, signals }: Digest): string[] {
  const last = tests.at(-1)
  if (!last) return []
  if (tests.every((one) => putsAside(one.command)))
    return [
      `${plural(markers.test_runs, 'run')}, all without the work, which was put aside ${seqsText(last.seqs)}`,
    ]
  const left = signals.filter((one) => one.signal === 'tests_left_failing')
  return [
    `${plural(markers.test_runs, 'run')}, ${markers.test_failures} failed; the last ${last.verdict}: ${last.command} ${seqsText(last.seqs)}`,
    ...left.map((one) => `left failing: ${one.subject} ${seqsText(one.seqs)}`),
  ]
}

const dollars = (usd: string): string => shortUsd(unitsOf(usd))

export function costText({ price, cost }: Pick<Digest, 'price' | 'cost'>, tree: TreeCost | null): string {
  const tokens = `${formatCount(cost.input_tokens)} in, ${formatCount(cost.output_tokens)} out, ${formatCount(cost.cache_tokens)} cache`
  const alone = price?.usd
    ? dollars(price.usd)
    : price
      ? `no price known for ${price.unpriced_models.join(', ')}`
      : 'not known'
  return `${alone}${treeText(tree)}; tokens: ${tokens}`
}

/** Behind what it cost alone. */
export function treeText(tree: TreeCost | null): string {
  if (tree === null || tree.cost_usd === null) return ''
  return ` (${knownUsd(tree)} with ${plural(tree.sessions - 1, 'sub-agent')})`
}

function restText(digest: Digest, list: (name: string, items: string[]) => void): void {
  const { cost, metrics } = digest
  const errorCount = digest.error_snippets.reduce((sum, { count }) => sum + count, 0)
  list(
    'asked',
    digest.title_source === 'prompt' && digest.first_prompt.length < 100
      ? []
      : [digest.first_prompt].filter(Boolean),
  )
  list('ended', [digest.last_assistant].filter(Boolean))
  list('where', [[digest.repo, digest.git_branch, digest.domain].filter(Boolean).join('  ') || '?'])
  list('when', [
    `${formatTime(digest.started_at || null)}, ${formatDuration(metrics.wall_clock_s * 1000)}, active ${formatDuration(metrics.active_s * 1000)}`,
  ])
  list('model', [digest.model || '?'])
  list('activity', [
    `${plural(cost.turns, 'turn')}, ${plural(metrics.tool_calls, 'call')}, ${plural(errorCount, 'error')}, ${cost.retries === 1 ? '1 retry' : `${cost.retries} retries`}`,
  ])
  // What lies elsewhere (drafts, notes of the agent) is not what the session was about.
  const isElsewhere = ({ path }: { path: string }): boolean => /^(?:[/~]|[A-Za-z]:)/.test(path)
  const edited = digest.files
    .filter((file) => file.edits > 0)
    .sort((a, b) => Number(isElsewhere(a)) - Number(isElsewhere(b)))
  list(
    'edited',
    edited.map((file) => `${file.path} ×${file.edits} ${seqsText(file.seqs)}`),
  )
  list('errors', digest.error_snippets.map(errorText))
  list('signals', signalLines(digest))
  list(
    'decided',
    (digest.decisions ?? []).map((one) => `${one.text} (${one.author}, ${formatDay(one.ts)}) #${one.seq}`),
  )
  if (digest.coverage.share < 1)
    list('read', [`${(digest.coverage.share * 100).toFixed(2)} % of the source was understood`])
  list('session', [digest.session_uid])
}

/** A failure is named by what it says, not by its fingerprint. */
function signalLines({ signals, error_snippets }: Digest): string[] {
  const samples = new Map(error_snippets.map((one) => [one.fingerprint, one.sample]))
  return signals.map((one) =>
    one.signal === 'cost_outlier'
      ? `cost outlier: $${one.count} ${seqsText(one.seqs)}`
      : `${one.signal.replaceAll('_', ' ')}${one.subject ? `: ${short(samples.get(one.subject) ?? one.subject, 110)}` : ''} ×${one.count} ${seqsText(one.seqs)}`,
  )
}

const seqsText = (seqs: readonly number[]): string =>
  seqs.length === 0 ? '' : `#${seqs.slice(0, 3).join(' #')}`
