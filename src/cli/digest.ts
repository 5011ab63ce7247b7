// `digest`, `env` and `patterns`: thin over digest/, and all from Tier 2, so they answer without a cache.

import { Config } from '../config.ts'
import type { Digest } from '../digest/digest.ts'
import { getDigest, listPatterns, type Pattern } from '../digest/patterns.ts'
import { OUTCOME_WORDS } from '../model.ts'
import { resolveSession } from '../query/sessions.ts'
import { shortIds } from '../query/short-ids.ts'
import { openMemory, type StorePaths, storePaths } from '../store/reading.ts'
import type { ReadHandle } from '../store/store.ts'
import { paint } from './colour.ts'
import { formatCount, formatDay, formatDuration, formatTime, plural } from './format.ts'
import { print, printFolded, printJson, write } from './print.ts'
import { terminal } from './streams.ts'
import { oneLine } from './text.ts'
import { parseLimit, readTime } from './values.ts'

function withMemory<T>(work: (handle: Pick<ReadHandle, 'memory'>, paths: StorePaths) => T): T {
  const config = new Config()
  const paths = storePaths(config.home, config.get('store.db_path'))
  const handle = openMemory(paths)
  try {
    return work(handle, paths)
  } finally {
    handle.close()
  }
}

const findDigest = (typed: string): Digest =>
  withMemory((handle) => getDigest(handle, resolveSession(handle, typed)))

export function showDigest(typed: string, options: { json?: boolean }): void {
  const digest = findDigest(typed)
  if (options.json) printJson(digest)
  else printFolded(digestText(digest), (line) => (line.startsWith(' ') ? 0 : LABEL))
}

/** Single quotes keep everything as it is, but for a quote, and in fish a backslash: these stand escaped between two of them. */
const quoted = (text: string): string => `'${text.replace(/['\\]/g, (one) => `'\\${one}'`)}'`

const ENV_COMMENT =
  '# of one session, for tools that read HELIX_*: its id, repository, agent, tokens in and out, the share of calls that were plumbing, and the memory it stands in'

export function showEnv(typed: string): void {
  withMemory((handle, paths) => {
    const digest = getDigest(handle, resolveSession(handle, typed))
    const { cost } = digest
    // A shell gets every byte; a terminal must not obey any.
    const put = (line: string): void => write(terminal(1) ? `${oneLine(line)}\n` : `${line}\n`)
    put(`export HELIX_SESSION_UID=${quoted(digest.session_uid)}`)
    put(`export HELIX_REPO=${quoted(digest.repo)}`)
    put(`export HELIX_FLAVOR=${quoted(digest.flavor)}`)
    put(`export HELIX_TOKENS=${cost.input_tokens + cost.output_tokens}`)
    put(`export HELIX_INFRA_OVERHEAD_SHARE=${digest.metrics.infra_overhead_share}`)
    put(`export HELIX_STORE_DB=${quoted(paths.memoryPath)}`)
    // Behind them: whoever leaves the quotes around $(…) out has all of it on one line.
    put(ENV_COMMENT)
  })
}

export function showPatterns(options: { since?: string; limit?: string; json?: boolean }): void {
  const filter = {
    ...(options.since === undefined ? {} : { sinceAt: readTime(options.since, '--since') }),
    ...(options.limit === undefined ? {} : { limit: parseLimit(options.limit) }),
  }
  withMemory((handle) => {
    const patterns = listPatterns(handle, filter)
    const shorten = (uid: string): string => shortIds(handle, [uid]).get(uid) as string
    if (options.json) return printJson({ patterns })
    if (patterns.length === 0) return print(nothingTwice(options.since))
    printFolded(patterns.map((pattern) => patternText(pattern, shorten)).join('\n\n'))
  })
}

const nothingTwice = (since: string | undefined): string =>
  since === undefined ? 'nothing has happened twice' : `nothing that happened twice was seen since ${since}`

function patternText(pattern: Pattern, shorten: (uid: string) => string): string {
  const about = pattern.sample || pattern.subject || 'the session as a whole'
  const repos = pattern.repos.length === 1 ? pattern.repos[0] : `${pattern.repos.length} repositories`
  const [first, last] = [pattern.first_seen, pattern.last_seen].map((at) => (at ? formatDay(at) : '?'))
  const seen = first === last ? first : `${first} to ${last}`
  const where = [plural(pattern.sessions, 'session'), repos, pattern.flavors.join(' '), seen].filter(Boolean)
  const lines = [
    paint.bold(`${pattern.kind}  ${oneLine(about)}`),
    `  ${pattern.count}× in ${where.join(', ')}`,
  ]
  const [newest] = pattern.evidence
  if (newest) lines.push(`  recollect show ${shorten(newest.session_uid)}#${newest.seqs[0]}`)
  const cure = pattern.last_resolution
  if (cure) {
    lines.push(`  resolved in ${shorten(cure.session_uid)}#${cure.resolved_seq} after:`)
    for (const step of cure.steps) lines.push(`    #${step.seq} ${oneLine(step.what)}`)
  }
  return lines.join('\n')
}

const SHOWN = 8
/** The width of the names at the left. */
const LABEL = 10

function digestText(digest: Digest): string {
  const { cost, metrics, outcome_detail: detail } = digest
  const lines = [
    oneLine(digest.session_uid),
    oneLine(digest.title || digest.first_prompt),
    `outcome   ${OUTCOME_WORDS[digest.outcome]} (${detail.rule}, ${Math.round(detail.confidence * 100)} %, see ${seqsText(detail.seqs)})`,
    `where     ${[digest.repo, digest.git_branch, digest.domain].filter(Boolean).map(oneLine).join('  ') || '?'}`,
    `when      ${formatTime(digest.started_at || null)}, ${formatDuration(metrics.wall_clock_s * 1000)}, active ${formatDuration(metrics.active_s * 1000)}`,
    `model     ${oneLine(digest.model) || '?'}, ${formatCount(cost.input_tokens)} in, ${formatCount(cost.output_tokens)} out, ${formatCount(cost.cache_tokens)} cache`,
    `activity  ${plural(cost.turns, 'turn')}, ${plural(metrics.tool_calls, 'call')}, ${plural(digest.markers.errors, 'error')}, ${cost.retries === 1 ? '1 retry' : `${cost.retries} retries`}`,
  ]
  const list = (name: string, items: string[]): void => {
    for (const [at, item] of items.slice(0, SHOWN).entries())
      lines.push(`${(at === 0 ? name : '').padEnd(LABEL)}${oneLine(item)}`)
    if (items.length > SHOWN) lines.push(`${''.padEnd(LABEL)}… and ${items.length - SHOWN} more`)
  }
  const edited = digest.files.filter((file) => file.edits > 0)
  list(
    'edited',
    edited.map((file) => `${file.path} ×${file.edits} ${seqsText(file.seqs)}`),
  )
  list(
    'tests',
    digest.tests.map((test) => `${test.verdict} ${test.command} ${seqsText(test.seqs)}`),
  )
  list(
    'commits',
    digest.commits.map((commit) => `${commit.sha} ${commit.subject} ${seqsText(commit.seqs)}`),
  )
  list(
    'pulls',
    digest.pull_requests.map((one) => `${one.url} ${seqsText(one.seqs)}`),
  )
  list(
    'errors',
    digest.error_snippets.map((error) => `${error.count}× ${error.sample} ${seqsText(error.seqs)}`),
  )
  list(
    'signals',
    digest.signals.map((one) => `${one.signal} ${one.subject} ×${one.count} ${seqsText(one.seqs)}`),
  )
  list(
    'decided',
    (digest.decisions ?? []).map((one) => `${one.text} (${one.author}, ${formatDay(one.ts)}) #${one.seq}`),
  )
  if (digest.last_assistant !== '') lines.push(`ended     ${oneLine(digest.last_assistant)}`)
  if (digest.coverage.share < 1)
    lines.push(`read      ${(digest.coverage.share * 100).toFixed(2)} % of the source was understood`)
  return lines.join('\n')
}

const seqsText = (seqs: readonly number[]): string =>
  seqs.length === 0 ? '' : `#${seqs.slice(0, 3).join(' #')}`
