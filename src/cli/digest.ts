// `digest`, `env` and `patterns`: thin over digest/, and all from Tier 2, so they answer without a cache.
import { Config } from '../config.ts'
import type { Digest } from '../digest/digest.ts'
import { getDigest, listPatterns, type Pattern } from '../digest/patterns.ts'
import { resolveSession } from '../query/sessions.ts'
import { openMemory, type StorePaths, storePaths } from '../store/sqlite.ts'
import type { ReadHandle } from '../store/store.ts'
import { print } from './print.ts'
import { parseCount, parseTime } from './values.ts'

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
  print(options.json ? JSON.stringify(digest, null, 2) : digestText(digest))
}

/** Single quotes keep everything as it is; a quote inside ends, escapes and begins anew. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

export function showEnv(typed: string): void {
  withMemory((handle, paths) => {
    const digest = getDigest(handle, resolveSession(handle, typed))
    const { cost } = digest
    print(`export HELIX_SESSION_UID=${quoted(digest.session_uid)}`)
    print(`export HELIX_REPO=${quoted(digest.repo)}`)
    print(`export HELIX_FLAVOR=${quoted(digest.flavor)}`)
    print(`export HELIX_TOKENS=${cost.input_tokens + cost.output_tokens}`)
    print(`export HELIX_INFRA_OVERHEAD_SHARE=${digest.metrics.infra_overhead_share}`)
    print(`export HELIX_STORE_DB=${quoted(paths.memoryPath)}`)
  })
}

export function showPatterns(options: { since?: string; limit?: string; json?: boolean }): void {
  const filter = {
    ...(options.since === undefined ? {} : { sinceAt: parseTime(options.since, '--since') }),
    ...(options.limit === undefined ? {} : { limit: parseCount(options.limit, '--limit') }),
  }
  const patterns = withMemory((handle) => listPatterns(handle, filter))
  if (options.json) print(JSON.stringify({ patterns }, null, 2))
  else if (patterns.length === 0) print('nothing has happened twice')
  else print(patterns.map(patternText).join('\n\n'))
}

function patternText(pattern: Pattern): string {
  const about = pattern.sample || pattern.subject || 'the session as a whole'
  const where = `${pattern.count}× in ${pattern.sessions} sessions, ${pattern.repos.length} repositories, ${pattern.flavors.join(' ')}`
  const seen = `${pattern.first_seen?.slice(0, 10) ?? '?'} to ${pattern.last_seen?.slice(0, 10) ?? '?'}`
  const lines = [`${pattern.kind}  ${about}`, `  ${where}, ${seen}`]
  const [newest] = pattern.evidence
  if (newest) lines.push(`  see ${newest.session_uid}#${newest.seqs[0]}`)
  const cure = pattern.last_resolution
  if (cure) {
    lines.push(`  resolved in ${cure.session_uid}#${cure.resolved_seq} after:`)
    for (const step of cure.steps) lines.push(`    #${step.seq} ${step.what}`)
  }
  return lines.join('\n')
}

const SHOWN = 8

function digestText(digest: Digest): string {
  const { cost, metrics, outcome_detail: detail } = digest
  const lines = [
    digest.session_uid,
    digest.title || digest.first_prompt,
    `outcome   ${digest.outcome} (${detail.rule}, ${Math.round(detail.confidence * 100)} %, see ${seqsText(detail.seqs)})`,
    `where     ${[digest.repo, digest.git_branch, digest.domain].filter(Boolean).join('  ') || '?'}`,
    `when      ${digest.started_at.slice(0, 16).replace('T', ' ')}, ${Math.round(metrics.wall_clock_s)} s, active ${Math.round(metrics.active_s)} s`,
    `model     ${digest.model || '?'}, ${cost.input_tokens} in, ${cost.output_tokens} out, ${cost.cache_tokens} cache`,
    `activity  ${cost.turns} turns, ${metrics.tool_calls} calls, ${digest.markers.errors} errors, ${cost.retries} retries`,
  ]
  const list = (name: string, items: string[]): void => {
    for (const [at, item] of items.slice(0, SHOWN).entries())
      lines.push(`${(at === 0 ? name : '').padEnd(10)}${item}`)
    if (items.length > SHOWN) lines.push(`${''.padEnd(10)}… and ${items.length - SHOWN} more`)
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
    (digest.decisions ?? []).map(
      (one) => `${one.text.replace(/\s+/g, ' ')} (${one.author}, ${one.ts.slice(0, 10)}) #${one.seq}`,
    ),
  )
  if (digest.last_assistant !== '') lines.push(`ended     ${digest.last_assistant}`)
  if (digest.coverage.share < 1)
    lines.push(`read      ${(digest.coverage.share * 100).toFixed(2)} % of the source was understood`)
  return lines.join('\n')
}

const seqsText = (seqs: readonly number[]): string =>
  seqs.length === 0 ? '' : `#${seqs.slice(0, 3).join(' #')}`
