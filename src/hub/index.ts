// Tells others what is remembered, as far as the configuration asks for it: digests and decisions as files in a
// directory, events to a log beside the memory and to a hub. Runs after the work it tells of, holds none of its locks,
// and fails by reporting: nothing here can stop or undo a sweep.
import { closeSync, constants, openSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { fromSystem, type RecollectError } from '../errors.ts'
import { tryLock } from '../files/lock.ts'
import { type Notes, type Outbox, openNotes } from '../store/notes.ts'
import type { Reader } from '../store/reader/index.ts'
import { storePaths } from '../store/reading.ts'
import { logEvents, type Posting, postEvents, unsent } from './events.ts'
import { type FileChanges, syncFiles } from './files.ts'
import { hubToken } from './token.ts'

export interface HubReport {
  /** Undefined without `hub.digests_dir`. */
  files?: FileChanges
  /** Undefined without `hub.url`. */
  posts?: Posting
  problems: RecollectError[]
}

/** Whether there is anything to be told, asked while the memory is open anyway. */
export function hasNews(config: Config, reader: Reader): boolean {
  return config.get('hub.digests_dir') !== '' || config.get('hub.url') !== '' || reader.storage.hasUnlogged()
}

/** Writes the files, then logs and posts the events. */
export async function tellHub(config: Config): Promise<HubReport> {
  const report: HubReport = { problems: [] }
  let notes: Notes | undefined
  try {
    notes = openAlone(config)
    if (!notes) return report
    const opened = notes
    // None of the three keeps the others from being told.
    await attempt(config, report, () => writeFiles(config, opened, report))
    await attempt(config, report, () => logEvents(opened.outbox, config.home))
    await attempt(config, report, () => postTo(config, opened.outbox, report))
  } catch (error) {
    report.problems.push(fromSystem(error, 'cannot tell the hub', config.home))
  } finally {
    notes?.close()
  }
  return report
}

async function attempt(config: Config, report: HubReport, step: () => void | Promise<void>): Promise<void> {
  try {
    await step()
  } catch (error) {
    report.problems.push(fromSystem(error, 'cannot tell the hub', config.home))
  }
}

async function postTo(config: Config, outbox: Outbox, report: HubReport): Promise<void> {
  const url = config.get('hub.url')
  if (url === '') return
  report.posts = await sendEvents(config, outbox, url)
  if (report.posts.problem) report.problems.push(report.posts.problem)
}

/** Without the token that is asked for nothing goes out: it would be refused, and tried in vain. */
async function sendEvents(config: Config, outbox: Outbox, url: string): Promise<Posting> {
  let token: string
  try {
    token = hubToken(config, process.env)
  } catch (error) {
    return unsent(outbox, url, error as RecollectError)
  }
  return await postEvents(outbox, { url, token, timeoutMs: config.get('hub.timeout') }, Date.now())
}

/** Only the files, at once. What is wrong with the directory is told by the next sweep, which tries again. */
export function tellFiles(config: Config): void {
  if (config.get('hub.digests_dir') === '') return
  let notes: Notes | undefined
  try {
    notes = openAlone(config)
    if (notes) writeFiles(config, notes, { problems: [] })
  } catch {
    return
  } finally {
    notes?.close()
  }
}

function writeFiles(config: Config, notes: Notes, report: HubReport): void {
  const directory = config.get('hub.digests_dir')
  if (directory === '') return
  report.files = syncFiles(notes, directory)
  report.problems.push(...report.files.problems)
}

/** One teller at a time: while another is at it there is nothing to do here, the next sweep tells the rest. */
function openAlone(config: Config): Notes | undefined {
  const flags = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW
  const fd = openSync(join(config.home, 'hub.lock'), flags, 0o600)
  try {
    if (tryLock(fd)) {
      const notes = openNotes(storePaths(config.home, config.get('store.db_path')))
      return {
        ...notes,
        close: () => {
          notes.close()
          closeSync(fd)
        },
      }
    }
  } catch (error) {
    closeSync(fd)
    throw error
  }
  closeSync(fd)
  return undefined
}
