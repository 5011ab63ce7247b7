// Keeps out what is gone on purpose: an evicted session comes back only when its source grew or everything is read
// again; a forgotten one never.
import { type Change, type FileFacts, hasSameEnds, isSameFile } from '../sources/identity.ts'
import { type Batch, type Cursor, ID_BYTES } from '../store/batch.ts'
import type { Reader } from '../store/reader/index.ts'
import type { Ingest, TouchedSource } from '../store/store.ts'

interface Task {
  cursor: Cursor | undefined
  isResumed: boolean
  facts: FileFacts
}

export class EvictedFilter {
  readonly #reader: Reader
  readonly #hasEvicted: boolean
  readonly #hasForgotten: boolean
  /** Sources that were only touched. */
  #touched: TouchedSource[] = []

  constructor(reader: Reader) {
    this.#reader = reader
    this.#hasEvicted = reader.storage.hasEvicted()
    this.#hasForgotten = reader.storage.hasForgotten()
  }

  /** Whether a source has to be left as it is. Of one that was only touched, or has a newer adapter, nothing is news. */
  isSettled(cursor: Cursor | undefined, facts: FileFacts, change: Change, isFull: boolean): boolean {
    const uid = cursor?.sessionUid
    if (!cursor || !uid) return false
    if (this.#isForgotten(uid)) return true
    if (change !== 'changed' || isFull || this.#reader.storage.evictedPart(uid) !== 'all') return false
    // The cache got another memory, which knows nothing of the session: it has to be read.
    if (cursor.adapterVersion < 0) return false
    if (facts.size !== cursor.size || facts.companions !== cursor.companions) return false
    if (isSameFile(facts, cursor) && facts.modifiedAt === cursor.modifiedAt) return true
    if (!hasSameEnds(cursor)) return false
    this.#touched.push({ ...facts, path: cursor.path })
    return true
  }

  /** So that the next sweep need not open these files again. */
  noteTouched(ingest: Ingest): void {
    ingest.markTouched(this.#touched)
    this.#touched = []
  }

  /**
   * A session all of whose sources are read again from the beginning, and still say all they said, gets its old numbers
   * back. Of any other, what is gone stays gone: its keys tell.
   */
  revive(ingest: Ingest, tasks: readonly Task[]): void {
    if (!this.#hasEvicted) return
    const { sources } = this.#reader
    const whole = new Set<string>()
    const concerned = new Set<string>()
    for (const { cursor, isResumed, facts } of tasks) {
      if (!cursor || isResumed) continue
      const evicted = sources
        .sessionsIn(cursor.path)
        .filter((uid) => this.#reader.storage.evictedPart(uid) !== 'none')
      if (evicted.length === 0 || facts.size < cursor.offset || !saysTheSame(cursor)) continue
      whole.add(cursor.path)
      for (const uid of evicted) concerned.add(uid)
    }
    for (const uid of concerned) if (sources.of(uid).every((path) => whole.has(path))) ingest.startOver(uid)
  }

  #isForgotten(uid: string): boolean {
    return this.#hasForgotten && this.#reader.storage.isForgotten(uid)
  }

  /** A batch without what is forgotten: the same object where there is nothing of it. */
  strip(batch: Batch): Batch {
    if (!this.#hasForgotten) return batch
    const known = new Map<string, boolean>()
    const isGone = (uid: string): boolean => {
      const isKnown = known.get(uid) ?? this.#isForgotten(uid)
      known.set(uid, isKnown)
      return isKnown
    }
    const stays = ({ sessionUid }: { sessionUid: string }): boolean => !isGone(sessionUid)
    const kept = [...batch.events.keys()].filter((at) => stays(batch.events[at] as { sessionUid: string }))
    const ids = new Uint8Array(kept.length * ID_BYTES)
    for (const [to, from] of kept.entries())
      ids.set(batch.ids.subarray(from * ID_BYTES, (from + 1) * ID_BYTES), to * ID_BYTES)
    const isMain = batch.cursor.sessionUid !== null && isGone(batch.cursor.sessionUid)
    return {
      ...batch,
      isForgotten: isMain,
      cursor: isMain ? { ...batch.cursor, state: 'null' } : batch.cursor,
      events: batch.events.filter(stays),
      ids,
      usage: batch.usage.filter(stays),
      facts: batch.facts.filter(stays),
      titles: batch.titles.filter(stays),
      names: batch.names.filter(stays),
      edges: batch.edges.filter((edge) => stays(edge) && !isGone(edge.parentUid ?? '')),
      supersedes: batch.supersedes.filter(stays),
      gaps: isMain ? [] : batch.gaps,
      unknown: isMain ? {} : batch.unknown,
      findings: Object.fromEntries(
        Object.entries(batch.findings).filter(([sessionUid]) => stays({ sessionUid })),
      ),
    }
  }
}

/** One that cannot be read is named by whoever tries to read it all. */
function saysTheSame(cursor: Cursor): boolean {
  try {
    return hasSameEnds(cursor)
  } catch {
    return false
  }
}
