// Keeps out what is gone on purpose: an evicted session comes back only when its source grew or everything is read
// again; a forgotten one never.
import { evictedUids, forgottenUids } from '../retention/sessions.ts'
import { type Change, type FileFacts, hasSameEnds, isSameFile } from '../sources/identity.ts'
import { type Batch, type Cursor, ID_BYTES } from '../store/batch.ts'
import { startOver } from '../store/start-over.ts'
import type { ReadHandle } from '../store/store.ts'

interface Task {
  cursor: Cursor | undefined
  isResumed: boolean
}

export class Gone {
  readonly #cache: ReadHandle['cache']
  /** All of them, and those of which only something is gone. */
  readonly #evicted: Set<string>
  readonly #evictedInPart: Set<string>
  readonly #forgotten: Set<string>
  /** Sources that were only touched. */
  readonly #touched: [path: string, facts: FileFacts][] = []

  constructor(handle: ReadHandle) {
    this.#cache = handle.cache
    this.#evicted = evictedUids(handle)
    this.#evictedInPart = evictedUids(handle, 'in part')
    this.#forgotten = forgottenUids(handle)
  }

  /** Whether a source has to be left as it is. Of one that was only touched, or has a newer adapter, nothing is news. */
  isSettled(cursor: Cursor | undefined, facts: FileFacts, change: Change, isFull: boolean): boolean {
    const uid = cursor?.sessionUid
    if (!cursor || !uid) return false
    if (this.#forgotten.has(uid)) return true
    if (change !== 'changed' || isFull || !this.#evicted.has(uid)) return false
    // The cache got another memory, which knows nothing of the session: it has to be read.
    if (cursor.adapterVersion < 0) return false
    if (facts.size !== cursor.size || facts.companions !== cursor.companions) return false
    if (isSameFile(facts, cursor) && facts.modifiedAt === cursor.modifiedAt) return true
    if (!hasSameEnds(cursor)) return false
    this.#touched.push([cursor.path, facts])
    return true
  }

  /** So that the next sweep need not open these files again. */
  noteTouched(): void {
    const note = this.#cache.prepare(
      'UPDATE sources SET device = ?, inode = ?, born_at = ?, modified_at = ? WHERE path = ?',
    )
    for (const [path, { device, inode, bornAt, modifiedAt }] of this.#touched)
      note.run(device, inode, bornAt, modifiedAt, path)
  }

  /**
   * A session all of whose sources are read again from the beginning gets its old numbers back. One of which a part is
   * read goes on numbering, and keeps saying which part is gone.
   */
  revive(tasks: readonly Task[]): void {
    const sources = this.#cache.prepare('SELECT count(*) AS count FROM sources WHERE session_uid = ?')
    const waiting = new Map<string, number>()
    for (const { cursor, isResumed } of tasks) {
      const uid = cursor?.sessionUid
      if (!uid || isResumed || !this.#evictedInPart.has(uid)) continue
      const count = waiting.get(uid) ?? (sources.get(uid) as { count: number }).count
      waiting.set(uid, count - 1)
      if (count === 1) startOver(this.#cache, uid)
    }
  }

  /** A batch without what is forgotten: the same object where there is nothing of it. */
  strip(batch: Batch): Batch {
    if (this.#forgotten.size === 0) return batch
    const stays = ({ sessionUid }: { sessionUid: string }): boolean => !this.#forgotten.has(sessionUid)
    const kept = [...batch.events.keys()].filter((at) => stays(batch.events[at] as { sessionUid: string }))
    const ids = new Uint8Array(kept.length * ID_BYTES)
    for (const [to, from] of kept.entries())
      ids.set(batch.ids.subarray(from * ID_BYTES, (from + 1) * ID_BYTES), to * ID_BYTES)
    const isMain = batch.cursor.sessionUid !== null && this.#forgotten.has(batch.cursor.sessionUid)
    return {
      ...batch,
      cursor: isMain ? { ...batch.cursor, state: 'null' } : batch.cursor,
      events: batch.events.filter(stays),
      ids,
      usage: batch.usage.filter(stays),
      facts: batch.facts.filter(stays),
      titles: batch.titles.filter(stays),
      names: batch.names.filter(stays),
      edges: batch.edges.filter((edge) => stays(edge) && !this.#forgotten.has(edge.parentUid ?? '')),
      supersedes: batch.supersedes.filter(stays),
      gaps: isMain ? [] : batch.gaps,
      unknown: isMain ? {} : batch.unknown,
      findings: Object.fromEntries(
        Object.entries(batch.findings).filter(([sessionUid]) => stays({ sessionUid })),
      ),
    }
  }
}
