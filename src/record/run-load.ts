// Reads a run in whatever state its writer left it. A stored transcript that says it ended is final. Otherwise a journal,
// if there is one, knows more than the stored snapshot.
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { errnoOf, RecollectError } from '../errors.ts'
import { JOURNAL } from './file-names.ts'
import { checkOptions } from './given.ts'
import { type ReadOptions, reportGap } from './read.ts'
import { readStored, runDirectory, type StoredRead, type StoredRun } from './run-files.ts'
import { replayJournal } from './run-journal.ts'
import type { RunTranscriptFile } from './run-model.ts'

/** Loads a run: ended, running or killed. A killed or running one has status `running` and every acknowledged turn. */
export async function loadRun(
  baseDir: string,
  runId: string,
  options: ReadOptions = {},
): Promise<RunTranscriptFile> {
  checkOptions(options)
  return readRun(runDirectory(baseDir, runId), options).transcript
}

/** `maxBytes`: of a stored transcript, unfolded. */
export function readRun(directory: string, options: ReadOptions, maxBytes?: number): StoredRun {
  let read = readStored(directory, maxBytes)
  let run = isEnded(read) ? read.stored : fromJournal(directory, options, read.stored?.transcript)
  if (!run) {
    // No journal: either there never was one, or the writer finished, and removed it, between the two looks.
    read = readStored(directory, maxBytes)
    run = read.stored
  }
  const { damaged } = read
  if (!run) {
    if (damaged) throw damaged.error
    throw new RecollectError('NOT_FOUND', 'no such run', {
      where: directory,
      hint: 'list them with listRuns',
    })
  }
  if (damaged) {
    const gap = { gap: 'not-json', detail: damaged.error.message, offset: 0, length: damaged.size } as const
    reportGap(damaged.path, gap, options)
  }
  return run
}

/** True when the stored transcript has the run's end. */
export function isEnded({ stored }: StoredRead): boolean {
  return stored !== undefined && stored.transcript.metadata.status !== 'running'
}

function fromJournal(
  directory: string,
  options: ReadOptions,
  snapshot?: RunTranscriptFile,
): StoredRun | undefined {
  try {
    const { size } = statSync(join(directory, JOURNAL))
    const transcript = replayJournal(directory, options, snapshot)
    return transcript && { transcript, file: JOURNAL, size }
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'NOT_FOUND') return undefined
    throw error
  }
}
