// What retention needs to know of the sessions: what each holds in the cache, when it was analyzed, and what is pinned.
import { statSync } from 'node:fs'
import { errnoOf } from '../errors.ts'
import { type HeldRow, weightOf } from '../store/holdings.ts'
import type { IdSet } from '../store/id-set.ts'
import type { Reader } from '../store/reader/index.ts'
import type { RawSession } from './plan.ts'

/** Of a row of an event, what stands in indexes that are in no order (keys of events, hashes of payloads), measured. */
const SCATTERED_BYTES = 61
const BLOCK = 4096
/** What is kept of a source whatever goes: where reading goes on. */
const SOURCE_BYTES = 4096
/** What the database occupies without a session in it. */
const EMPTY_DATABASE_BYTES = 256 << 10

/** A session, what of its bytes is a file and what are rows, and which of these lie scattered in pages that other sessions fill as well. */
export interface HeldSession extends RawSession {
  fileBytes: number
  rowBytes: number
  scatteredBytes: number
}

/** What the cache holds of sessions. Which of them are only copies does not change while some go; the rest is read when it is asked for. */
export class Holdings {
  readonly #handle: Reader
  /** Looked at now: the agent may have deleted a file since the last sweep. */
  readonly #soleCopies: IdSet

  constructor(handle: Reader) {
    this.#handle = handle
    this.#soleCopies = handle.storage.withoutSource(isGone)
  }

  /**
   * Every session with raw in the cache. `databaseBytes` is shared out among them by events and payload: deleting rows
   * gives back pages, and whose pages they are is not recorded.
   */
  *sessions(databaseBytes: number, isAnalysisTried: (uid: string) => boolean): Generator<HeldSession> {
    const { weight, sourceCount } = this.#handle.storage.holdingSums()
    const sharedBytes = Math.max(0, databaseBytes - EMPTY_DATABASE_BYTES - sourceCount * SOURCE_BYTES)
    for (const row of this.#handle.storage.heldRows()) {
      const { uid, eventCount } = row
      const rowBytes = Math.floor((sharedBytes * weightOf(row)) / (weight || 1))
      yield {
        ...this.#known(row),
        ...sizes(row, rowBytes),
        isAnalysisTried: isAnalysisTried(uid),
        scatteredBytes: Math.min(eventCount * SCATTERED_BYTES, Math.floor(rowBytes / 2)),
      }
    }
  }

  #known({ id, uid }: HeldRow): Omit<RawSession, 'bytes' | 'isAnalysisTried'> {
    const facts = this.#handle.storage.knownFacts(uid)
    const { ingestedAt = null, analyzedAt = null, lastAt = null } = facts ?? {}
    return {
      uid,
      ingestedAt: ingestedAt ?? 0,
      lastAt,
      // A digest made before the last of the raw came in does not cover it.
      analyzedAt: analyzedAt !== null && analyzedAt >= (ingestedAt ?? 0) ? analyzedAt : null,
      isPinned: facts?.isPinned === 1,
      isSoleCopy: facts?.isSoleCopy === 1 || this.#soleCopies.has(id),
    }
  }
}

function sizes(
  { segmentSize }: HeldRow,
  rowBytes: number,
): Pick<HeldSession, 'bytes' | 'fileBytes' | 'rowBytes'> {
  const fileBytes = blocksOf(segmentSize)
  return { bytes: fileBytes + rowBytes, fileBytes, rowBytes }
}

const blocksOf = (size: number): number => Math.ceil(size / BLOCK) * BLOCK

/** What a session's file of payloads occupies. */
export const fileBytesOf = (handle: Reader, uid: string): number =>
  blocksOf(handle.storage.heldRow(uid)?.segmentSize ?? 0)

/** What is known of one session before it is forgotten. */
export function holdingOf(
  handle: Reader,
  uid: string,
): { rawBytes: number; isPinned: boolean; isSoleCopy: boolean } {
  const row = handle.storage.heldRow(uid)
  const facts = handle.storage.knownFacts(uid)
  return {
    rawBytes: row?.segmentSize ?? 0,
    isPinned: facts?.isPinned === 1,
    isSoleCopy: facts?.isSoleCopy === 1 || (row !== undefined && handle.storage.isWithoutSource(row, isGone)),
  }
}

/** A file that may not be looked at is not gone. */
function isGone(path: string): boolean {
  try {
    statSync(path)
    return false
  } catch (error) {
    return errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR'
  }
}
