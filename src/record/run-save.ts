// The first and the last step of a run on disk: claiming its directory and storing its end. A caller holds the run's lock.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import * as z from 'zod'
import { RecollectError } from '../errors.ts'
import { GZIPPED, JOURNAL, PLAIN } from './file-names.ts'
import { copyJson } from './go-json.ts'
import { lockRun, type RunLock, removeFile, runDirectory, type StoredRun, storeRun } from './run-files.ts'
import { addToIndex, summarise } from './run-index.ts'
import { isEmptyJournal } from './run-journal.ts'
import { RunTranscriptFile } from './run-model.ts'

/** Makes sure that no run is in the directory. A start that was never acknowledged does not count and is cleared away. */
export function claimRun(directory: string): void {
  for (const file of [GZIPPED, PLAIN]) if (existsSync(join(directory, file))) throw runExists(directory)
  if (!existsSync(join(directory, JOURNAL))) return
  if (!isEmptyJournal(directory)) throw runExists(directory)
  removeFile(join(directory, JOURNAL))
}

/** Undoes a start that failed, so that the caller can start again. Best effort: what made the start fail says more. */
export function takeBack(directory: string): void {
  try {
    for (const file of [JOURNAL, PLAIN, GZIPPED]) removeFile(join(directory, file), false)
  } catch {
    return
  }
}

export function runExists(directory: string): RecollectError {
  return new RecollectError('EXISTS', 'there is a run of this id', {
    where: directory,
    hint: 'give it a suffix (nextSuffix: true takes the next free one), or resume it if its writer was killed',
  })
}

/** Stores the end of a run. Durable whatever the flush policy: the journal, which could repeat it, goes. */
export async function finishRun(directory: string, transcript: RunTranscriptFile): Promise<StoredRun> {
  // Before this line a crash leaves the run running with all its turns; after it, ended.
  const stored = storeRun(directory, transcript)
  // A crash here leaves an index that has the run as running; listing looks such runs up.
  await addToIndex(dirname(directory), [summarise(stored)])
  // A crash here leaves a journal that nobody reads, since the transcript says the run has ended.
  removeFile(join(directory, JOURNAL))
  return stored
}

/** Removes what the writer of an ended run did not come to remove. Readers pass it over. */
export function clearLeftovers(directory: string, storedFile: string): void {
  if (storedFile === GZIPPED) removeFile(join(directory, PLAIN))
  removeFile(join(directory, JOURNAL))
}

/**
 * Stores a whole transcript, as the Go program's Save does, in place of whatever the run had. Throws LOCK_BUSY while the
 * run has a writer. Resolves to the path of the file.
 */
export async function saveRun(baseDir: string, transcript: RunTranscriptFile): Promise<string> {
  const checked = RunTranscriptFile.safeParse(transcript)
  if (!checked.success) {
    throw new RecollectError('BAD_INPUT', `not a run transcript: ${z.prettifyError(checked.error)}`, {
      where: checked.error.issues[0]?.path.join('.') || 'transcript',
      hint: 'see docs/formats/run.md; nothing was written',
    })
  }
  const copy = copyJson(checked.data, 'transcript') as RunTranscriptFile
  const directory = runDirectory(baseDir, copy.runId)
  const lock = lockOrThrow(directory, true)
  try {
    const { file } = await finishRun(directory, copy)
    return join(directory, file)
  } finally {
    lock.release()
  }
}

export function lockOrThrow(directory: string, durable: boolean): RunLock {
  const lock = lockRun(directory, durable)
  if (lock) return lock
  throw new RecollectError('LOCK_BUSY', 'the run is being written', {
    where: directory,
    hint: 'its writer is alive: end or close it first',
  })
}
