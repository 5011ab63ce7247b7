// The index of runs, `<base>/runs/index.jsonl`: one summary line per start and end of a run, the last line of a run
// counts. It only speeds up listing: whatever it lacks (runs a Go program wrote, lines lost in a crash) is found by
// comparing it with the directory, and `rebuildRunIndex` makes it anew from the runs themselves.
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod'
import { errnoOf, fromSystem, RecollectError, wordsOf } from '../errors.ts'
import { AppendFile } from '../files/append.ts'
import { replaceFile } from '../files/replace.ts'
import { checkOptions, checkText, misused } from './given.ts'
import { type ReadOptions, readRecords, reportGap } from './read.ts'
import { DIRECTORY_MODE, FILE_MODE, readStored, runsDirectory, type StoredRun } from './run-files.ts'
import { isEnded, readRun } from './run-load.ts'
import { ZERO_TIME } from './run-model.ts'
import { Amount, OptionalText, Text } from './shapes.ts'

const INDEX = 'index.jsonl'
const PROMPT_CHARACTERS = 200
const ERROR_CHARACTERS = 500

/** What the index knows of a run. `size` and `file` say where its turns were when the line was written. */
export const RunSummary = z.object({
  runId: Text,
  flowId: Text,
  nodeId: OptionalText,
  status: Text,
  startedAt: Text,
  /** Absent while the run has not ended. */
  endedAt: OptionalText,
  totalTokensIn: Amount,
  totalTokensOut: Amount,
  totalCost: Amount,
  error: OptionalText,
  turnCount: Amount,
  /** The beginning of the first user turn, white space folded. */
  prompt: OptionalText,
  size: Amount,
  file: Text,
})
export type RunSummary = z.infer<typeof RunSummary>

export interface RunFilter {
  /** The flow id. */
  flow?: string
  status?: string
  /** Started at or after this time. */
  since?: Date | string
  /** Started before this time. */
  until?: Date | string
}

/** The runs below `baseDir`, oldest first. Opens no run that the index knows to have ended. */
export async function listRuns(
  baseDir: string,
  filter: RunFilter = {},
  options: ReadOptions = {},
): Promise<RunSummary[]> {
  checkOptions(filter, 'filter')
  checkOptions(options)
  const since = filter.since === undefined ? -Infinity : instant(filter.since)
  const until = filter.until === undefined ? Infinity : instant(filter.until)
  const summaries = await upToDate(baseDir, options)
  return summaries
    .filter((run) => filter.flow === undefined || run.flowId === filter.flow)
    .filter((run) => filter.status === undefined || run.status === filter.status)
    .map((run) => ({ run, startedAt: Date.parse(run.startedAt) }))
    .filter(({ startedAt }) => startedAt >= since && startedAt < until)
    .sort((a, b) => a.startedAt - b.startedAt || (a.run.runId < b.run.runId ? -1 : 1))
    .map(({ run }) => run)
}

/** The runs whose id, flow, node, first prompt or error contain every word of `text`, in any case. */
export async function searchRuns(
  baseDir: string,
  text: string,
  filter: RunFilter = {},
  options: ReadOptions = {},
): Promise<RunSummary[]> {
  checkText(text, 'text')
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const runs = await listRuns(baseDir, filter, options)
  return runs.filter((run) => {
    const found = [run.runId, run.flowId, run.nodeId, run.prompt, run.error].join('\n').toLowerCase()
    return words.every((word) => found.includes(word))
  })
}

/** Writes the index anew from the runs on disk, opening each, and returns their number. */
export async function rebuildRunIndex(baseDir: string, options: ReadOptions = {}): Promise<number> {
  checkOptions(options)
  const runs = runsDirectory(baseDir)
  const lines: string[] = []
  for (const runId of runIdsIn(runs)) {
    const summary = summaryOnDisk(runs, runId, options)
    if (summary) lines.push(`${JSON.stringify(summary)}\n`)
    await new Promise(setImmediate)
  }
  // A line that a writer adds to the old index meanwhile is lost with it; the next listing notices and adds it again.
  if (existsSync(runs)) replaceFile(join(runs, INDEX), lines.join(''), { mode: FILE_MODE })
  return lines.length
}

export function summarise({ transcript, file, size }: StoredRun): RunSummary {
  const { metadata, turns } = transcript
  const { input: _, endedAt, error, ...rest } = metadata
  const prompt = turns.find((turn) => turn.role === 'user')?.content
  const summary: RunSummary = { runId: transcript.runId, ...rest, turnCount: turns.length, size, file }
  if (endedAt !== ZERO_TIME) summary.endedAt = endedAt
  if (error !== undefined) summary.error = error.slice(0, ERROR_CHARACTERS).toWellFormed()
  // Cut before folding: the prompt may be megabytes.
  if (prompt)
    summary.prompt = prompt
      .slice(0, 4 * PROMPT_CHARACTERS)
      .replace(/\s+/g, ' ')
      .slice(0, PROMPT_CHARACTERS)
      .toWellFormed()
  return summary
}

/** Adds lines to the index. The runs do not depend on it, so a failure is a warning: listing repairs it. */
export async function addToIndex(runs: string, summaries: RunSummary[]): Promise<void> {
  if (summaries.length === 0) return
  const index = new AppendFile(join(runs, INDEX), { fileMode: FILE_MODE, directoryMode: DIRECTORY_MODE })
  try {
    await index.append(summaries.map((summary) => JSON.stringify(summary)).join('\n'))
  } catch (error) {
    const { code, message } = error as RecollectError
    process.emitWarning(`run index not updated: ${message}: ${join(runs, INDEX)}`, {
      code: `RECOLLECT_${code}`,
    })
  } finally {
    index.release()
  }
}

async function upToDate(baseDir: string, options: ReadOptions): Promise<RunSummary[]> {
  const runs = runsDirectory(baseDir)
  const known = await readIndex(runs, options)
  const current: RunSummary[] = []
  const changed: RunSummary[] = []
  for (const runId of runIdsIn(runs)) {
    const entry = known.get(runId)
    const fresh = entry ? endedSince(runs, entry, options) : summaryOnDisk(runs, runId, options)
    if (fresh) changed.push(fresh)
    if (fresh ?? entry) current.push((fresh ?? entry) as RunSummary)
  }
  await addToIndex(runs, changed)
  return current
}

async function readIndex(runs: string, options: ReadOptions): Promise<Map<string, RunSummary>> {
  const known = new Map<string, RunSummary>()
  const path = join(runs, INDEX)
  if (!existsSync(path)) return known
  for await (const summary of readRecords(path, RunSummary, options)) known.set(summary.runId, summary)
  return known
}

/** A run that the index has as running may have ended just before its writer was killed. */
function endedSince(runs: string, entry: RunSummary, options: ReadOptions): RunSummary | undefined {
  if (entry.status !== 'running') return undefined
  return unlessUnreadable(join(runs, entry.runId), options, (directory) => {
    const read = readStored(directory)
    return read.stored && isEnded(read) ? { ...summarise(read.stored), runId: entry.runId } : undefined
  })
}

/** Undefined for a directory without a run, which is none of our business. */
function summaryOnDisk(runs: string, runId: string, options: ReadOptions): RunSummary | undefined {
  // The directory is what the run is asked for by, whatever the file says.
  return unlessUnreadable(join(runs, runId), options, (directory) => ({
    ...summarise(readRun(directory, options)),
    runId,
  }))
}

/** A run that cannot be read is reported, and keeps no other from being listed. */
function unlessUnreadable(
  directory: string,
  options: ReadOptions,
  look: (directory: string) => RunSummary | undefined,
): RunSummary | undefined {
  try {
    return look(directory)
  } catch (error) {
    if (!(error instanceof RecollectError) || options.onCorrupt === 'stop') throw error
    if (error.code !== 'NOT_FOUND') {
      const detail = `${error.code}: ${error.message}`
      reportGap(directory, { gap: 'schema', detail, offset: 0, length: 0 }, options)
    }
    return undefined
  }
}

/** The directories that may be runs; none if there is no directory of runs yet. */
function runIdsIn(runs: string): string[] {
  try {
    const entries = readdirSync(runs, { withFileTypes: true })
    return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return []
    throw fromSystem(error, 'cannot list runs', runs, 'read')
  }
}

function instant(time: Date | string): number {
  const value =
    typeof time === 'string' ? Date.parse(time) : time instanceof Date ? time.getTime() : Number.NaN
  if (Number.isNaN(value)) throw misused(`since or until (${wordsOf(time)})`, 'a Date or an ISO 8601 time')
  return value
}
