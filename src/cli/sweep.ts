// `recollect sweep`: one sweep, with a progress bar on a terminal and a report of what was and was not understood.
import type { AnyAdapter } from '../adapters/adapter.ts'
import { flavorNamed } from '../adapters/flavors.ts'
import { sweepInTurn } from '../capture/turn.ts'
import { Config } from '../config.ts'
import { RecollectError } from '../errors.ts'
import { grouped } from '../figures.ts'
import type { CopyReport } from '../remote/copy.ts'
import { adaptersOf } from '../sources/plugins.ts'
import { addProblem } from '../sources/problem.ts'
import type { SweepProgress } from '../store/sweep-lock.ts'
import { type SweepOptions, sweep } from '../sweep/index.ts'
import { preview } from '../sweep/preview.ts'
import type { SweepReport } from '../sweep/report.ts'
import { printCsv } from './csv.ts'
import { placeLines } from './empty.ts'
import { EXIT } from './exit.ts'
import { formatBytes, formatDuration, plural, printable } from './format.ts'
import { hubJson, reportHub, telemetryJson } from './hub-report.ts'
import { bar, Progress, print, printFolded, printJson } from './print.ts'
import { repairJson, repairLines } from './repair-report.ts'
import { reportRetentionEvent, retentionJson, retentionLines } from './retention-report.ts'
import { Stop } from './stop.ts'
import { flavorPlace, parseChoice } from './values.ts'

/** What a person reads: a tree of a million links must not drown the report. */
const SHOWN_PROBLEMS = 20

export interface SweepCommand {
  flavor?: string
  full?: boolean
  repair?: boolean
  spool?: boolean
  dryRun?: boolean
  from?: string
  json?: boolean
  csv?: boolean
}

export async function runSweep(options: SweepCommand): Promise<void> {
  const config = new Config()
  const adapters = await pickAdapters(config, options.flavor)
  if (options.spool && (options.flavor !== undefined || options.full))
    throw new RecollectError('USAGE', '--spool goes with neither --flavor nor --full', {
      where: '--spool',
      hint: 'leave one out: --spool looks where hooks said, the others everywhere',
    })
  if (options.repair && (options.spool || options.dryRun || options.flavor !== undefined))
    throw new RecollectError('USAGE', '--repair goes with none of --flavor, --spool and --dry-run', {
      where: '--repair',
      hint: 'recollect verify only looks; recollect sweep --repair fixes the whole memory',
    })
  if (options.from !== undefined && (options.spool || options.repair || options.dryRun))
    throw new RecollectError('USAGE', '--from goes with none of --spool, --repair and --dry-run', {
      where: '--from',
      hint: 'leave one out: what another machine has is known when it was asked',
    })
  if (options.dryRun) return showPreview(config, adapters, options)
  if (options.from === undefined) return await sweepOnce(config, { adapters, env: process.env }, options)
  const [{ copyFrom }, { destinationOf }] = await Promise.all([
    import('../remote/index.ts'),
    import('../remote/destination.ts'),
  ])
  const copies = await copyFrom(destinationOf(options.from), config.home, adapters)
  try {
    await sweepOnce(config, copies, options)
  } finally {
    copies.close()
  }
}

/** Of this machine, or of copies of another one's files. */
type Place = Pick<SweepOptions, 'adapters' | 'env' | 'host'> & { report?: CopyReport }

async function sweepOnce(
  config: Config,
  { report: copied, ...place }: Place,
  options: SweepCommand,
): Promise<void> {
  const stop = new Stop()
  const shown = new Progress()
  try {
    const run = options.spool ? sweepInTurn : sweep
    const report = await run({
      config,
      ...place,
      full: options.full ?? false,
      repair: options.repair ?? false,
      signal: stop.signal,
      onDeaf: (isDeaf) => stop.listen(!isDeaf),
      onEvent: reportRetentionEvent,
      onProgress: (progress) => shown.show(() => progressLine(progress)),
    })
    shown.clear()
    for (const problem of copied?.problems ?? []) addProblem(report, problem)
    const from = copied
      ? { from: options.from, files: copied.copiedCount, bytes: copied.copiedBytes }
      : undefined
    if (options.json) printJson({ ...toJson(report), ...(from ? { copied: from } : {}) })
    else if (options.csv) printCsv(report.sources.map(coverageJson))
    else {
      if (from) print(`copied ${plural(from.files, 'file')} of ${options.from}, ${formatBytes(from.bytes)}`)
      printFolded(toText(report))
    }
    reportHub(report.hub)
    reportHub(report.telemetry)
    await pushAfter(config, stop.exitCode)
    process.exitCode = stop.exitCode ?? exitCodeOf(report)
  } finally {
    shown.clear()
    stop.listen(false)
  }
}

/** With the report told: a team server that is slow or down holds up nothing. */
async function pushAfter(config: Config, exitCode: number | undefined): Promise<void> {
  if (config.get('push.url') === '' || exitCode !== undefined) return
  const [{ push }, { reportPush }] = await Promise.all([
    import('../fleet/push/index.ts'),
    import('./push.ts'),
  ])
  reportPush(await push(config, config.get('push.timeout')))
}

function showPreview(
  config: Config,
  adapters: readonly AnyAdapter[],
  { full = false, json, csv, spool }: SweepCommand,
): void {
  if (spool)
    throw new RecollectError('USAGE', '--dry-run does not go with --spool', {
      where: '--spool',
      hint: 'leave --spool out: --dry-run looks at everything',
    })
  const report = preview({ config, adapters, env: process.env, full })
  if (json || csv) {
    if (json) printJson(toJson(report, true))
    else printCsv(report.sources.map(coverageJson))
    return
  }
  const shown = report.sources.slice(0, SHOWN_PROBLEMS)
  const lines = [
    filesText(report.counts),
    ...shown.map(
      (one) =>
        `  ${NAMES[one.change].padEnd(7)}  ${formatBytes(one.size).padStart(8)}  ${printable(one.path)}`,
    ),
    ...(report.sourceCount > shown.length
      ? [`  and ${report.sourceCount - shown.length} more: see --json`]
      : []),
    ...problemLines(report),
    `would read ${formatBytes(report.readBytes)}; nothing was read or changed`,
  ]
  print(lines.join('\n'))
}

async function pickAdapters(config: Config, flavor: string | undefined): Promise<readonly AnyAdapter[]> {
  const all = await adaptersOf(config)
  if (flavor === undefined) return all
  const names = all.map((adapter) => adapter.flavor)
  const name = parseChoice(flavorNamed(flavor), names, flavorPlace(), 'flavor')
  return all.filter((adapter) => adapter.flavor === name)
}

function progressLine({ doneBytes, totalBytes, doneSources, totalSources }: SweepProgress): string {
  const share = totalBytes === 0 ? 1 : Math.min(1, doneBytes / totalBytes)
  return `${bar(share, 24)} ${Math.floor(share * 100)}% ${doneSources}/${totalSources} files, ${formatBytes(doneBytes)}`
}

function exitCodeOf(report: SweepReport): number {
  if (report.interrupted) return EXIT.interrupted
  const hasGaps = Object.keys(report.gaps).length > 0
  return hasGaps || report.problemCount > 0 ? EXIT.partial : EXIT.ok
}

const coverageJson = (source: SweepReport['sources'][number]): object => ({
  path: source.path,
  flavor: source.flavor,
  change: source.change,
  size: source.size,
  understood_bytes: source.understoodBytes,
  gap_bytes: source.gapBytes,
  pending_bytes: source.pendingBytes,
  gaps: source.gaps,
  unknown: source.unknown,
})

function toJson(report: SweepReport, isDryRun = false): Record<string, unknown> {
  const { sessionUids, startedAt, endedAt, ...rest } = report
  return {
    dry_run: isDryRun,
    started_at: new Date(startedAt).toISOString(),
    duration_ms: endedAt - startedAt,
    interrupted: rest.interrupted,
    scope: rest.isFull ? 'all' : 'touched',
    sources: rest.counts,
    read_bytes: rest.readBytes,
    new_events: rest.newEventCount,
    changed_events: rest.changedEventCount,
    session_count: rest.sessions.size,
    sessions: sessionUids.toSorted(),
    roots: rest.roots,
    coverage_count: rest.sourceCount,
    coverage: rest.sources.map(coverageJson),
    problem_count: rest.problemCount,
    problems: rest.problems,
    ...(rest.repaired ? { repaired: repairJson(rest.repaired) } : {}),
    ...(rest.retention ? { retention: retentionJson(rest.retention) } : {}),
    ...(rest.hub ? { hub: hubJson(rest.hub) } : {}),
    ...(rest.telemetry ? { telemetry: telemetryJson(rest.telemetry) } : {}),
  }
}

function toText(report: SweepReport): string {
  const took = formatDuration(report.endedAt - report.startedAt)
  const lines = [
    `${filesText(report.counts)}`,
    `${plural(report.newEventCount, 'new event')} in ${plural(report.sessions.size, 'session')}, ${formatBytes(report.readBytes)} read in ${took}`,
  ]
  const { gaps, unknown } = report
  if (Object.keys(gaps).length > 0) lines.push(`not understood: ${listCounts(gaps)}`)
  if (Object.keys(unknown).length > 0) lines.push(`record types never described: ${listCounts(unknown)}`)
  lines.push(...problemLines(report))
  if (report.repaired) lines.push(...repairLines(report.repaired))
  if (report.roots.every((root) => !root.exists)) {
    lines.push('no agent has left anything here:', ...placeLines(report.roots))
  }
  if (report.retention) lines.push(...retentionLines(report.retention))
  if (report.interrupted) lines.push('interrupted: everything up to here is kept, the next sweep goes on')
  return lines.join('\n')
}

function problemLines({ problems, problemCount }: SweepReport): string[] {
  const shown = problems.slice(0, SHOWN_PROBLEMS)
  const rest = problemCount - shown.length
  return [
    // A hint stands once, below the last of those it is for.
    ...shown.flatMap(({ path, reason, hint }, at) => [
      `skipped ${printable(path)}: ${reason}`,
      ...(shown[at + 1]?.hint === hint ? [] : [`  → ${hint}`]),
    ]),
    ...(rest > 0 ? [`skipped ${rest} more: see --json`] : []),
  ]
}

const NAMES = {
  new: 'new',
  appended: 'grown',
  changed: 'changed',
  moved: 'moved',
  missing: 'gone',
  unchanged: 'unchanged',
}

/** What came of the files; what did not happen is not told. */
function filesText(counts: SweepReport['counts']): string {
  const parts = Object.entries(NAMES)
    .map(([name, word]) => [counts[name as keyof typeof NAMES], word] as const)
    .filter(([count]) => count > 0)
  return parts.length === 0
    ? 'no files'
    : `files: ${parts.map(([count, word]) => `${grouped(count)} ${word}`).join(', ')}`
}

const listCounts = (counts: Record<string, number>): string =>
  Object.entries(counts)
    .map(([name, count]) => `${name} ×${count}`)
    .join(', ')
