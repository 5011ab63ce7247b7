// What is written to Tier 2 beside a sweep: decisions, titles, stars, tags and notes, and what others were told of the
// memory. Needs no cache, and no lock but SQLite's own.
import type { Decision } from '../model.ts'
import type { PreparedLimit } from './batch.ts'
import { type Database, openDatabase, row, rows, transaction } from './database.ts'
import { decisionsIn, dropDecision, insertDecision, type NewDecision } from './decisions.ts'
import { changeLabels, type LabelChange } from './labels.ts'
import { Limits } from './limits.ts'
import { MEMORY_MIGRATIONS } from './memory-schema.ts'
import { Pushes } from './pushes.ts'
import type { Reader } from './reader/index.ts'
import { lazyReader, type StorePaths } from './reading.ts'
import { Telemetry } from './telemetry.ts'

/** A digest or a decision that is told as a file. */
export interface ToldItem {
  session_uid: string
  /** `digest`, or the id of a decision. */
  item: string
  made_at: number
}

/** The same, with where and when it was last written; null for never. */
export interface OutboxItem extends ToldItem {
  directory: string | null
  written_at: number | null
}

/** Something that happened to the memory, on its way to a log or a hub. */
export interface OutboxEvent {
  session_uid: string
  at: number
  name: string
  /** JSON. */
  detail: string
  attempts: number
}

export type DeliveryState = 'waiting' | 'delivered' | 'given_up'

export interface Notes {
  readonly reader: Reader
  /** Writes a decision, and the digest that tells it where there is one, in one commit. */
  decide(decision: NewDecision, retell: Retell): Decision
  /** Takes one back, in the same way; false where there is none of this number. */
  undecide(uid: string, seq: number, retell: Retell): boolean
  /** All of it or nothing; false where what is to be removed is not there. */
  label(uid: string, change: LabelChange): boolean
  /** How allowances stand, as an agent tells them besides its transcript. */
  keepLimits(limits: readonly PreparedLimit[]): void
  readonly outbox: Outbox
  readonly telemetry: Telemetry
  readonly pushes: Pushes
  close(): void
}

/** A digest that tells the decisions there are now. */
export type Retell = (digest: string, decisions: Decision[]) => string

/** Throws NO_MEMORY when nothing was ever swept. */
export function openNotes(paths: StorePaths): Notes {
  // Never made here: reading refuses where there is none.
  openDatabase(paths.memoryPath, MEMORY_MIGRATIONS, { readOnly: true }).close()
  const memory = openDatabase(paths.memoryPath, MEMORY_MIGRATIONS)
  const reader = lazyReader(memory, paths)
  return {
    reader,
    outbox: new Outbox(memory),
    telemetry: new Telemetry(memory),
    pushes: new Pushes(memory),
    decide: (decision, retell) =>
      decided(memory, decision.sessionUid, retell, () => insertDecision(memory, decision)),
    undecide: (uid, seq, retell) => decided(memory, uid, retell, () => dropDecision(memory, uid, seq)),
    label: (uid, change) => label(memory, uid, change),
    keepLimits: (limits) => transaction(memory, () => new Limits(memory).write(limits)),
    close: () => reader.close(),
  }
}

function decided<T>(memory: Database, uid: string, retell: Retell, write: () => T): T {
  return transaction(memory, () => {
    const written = write()
    // Also of a session whose raw is gone, and whose digest nothing else will ever change again.
    const found = row<{ digest: string }>(memory, 'SELECT digest FROM digests WHERE session_uid = ?', uid)
    if (found)
      memory
        .prepare('UPDATE digests SET digest = ?, made_at = ? WHERE session_uid = ?')
        .run(retell(found.digest, decisionsIn(memory, [uid])), Date.now(), uid)
    return written
  })
}

function label(memory: Database, uid: string, change: LabelChange): boolean {
  try {
    return transaction(memory, () => {
      if (!changeLabels(memory, uid, change, Date.now())) throw NOTHING_TO_REMOVE
      return true
    })
  } catch (error) {
    if (error === NOTHING_TO_REMOVE) return false
    throw error
  }
}

/** Takes back what the same change has done already. */
const NOTHING_TO_REMOVE = Symbol('nothing to remove')

/** What others were told, and what they are still to be told. */
export class Outbox {
  readonly #memory: Database

  constructor(memory: Database) {
    this.#memory = memory
  }

  /** All there are to be told as files. */
  items(): OutboxItem[] {
    return rows(
      this.#memory,
      `SELECT i.session_uid, i.item, i.made_at, f.directory, f.made_at AS written_at FROM
         (SELECT session_uid, 'digest' AS item, made_at FROM digests
          UNION ALL SELECT session_uid, id, at FROM decisions) i
       LEFT JOIN hub_files f ON f.session_uid = i.session_uid AND f.item = i.item`,
    )
  }

  noteWritten(directory: string, items: readonly ToldItem[]): void {
    if (items.length === 0) return
    const insert = this.#memory.prepare(
      'INSERT OR REPLACE INTO hub_files (session_uid, item, directory, made_at) VALUES (?, ?, ?, ?)',
    )
    transaction(this.#memory, () => {
      for (const { session_uid, item, made_at } of items) insert.run(session_uid, item, directory, made_at)
    })
  }

  /** Written to a directory: of sessions that were forgotten, and decisions that were taken back. */
  removedIn(directory: string): ToldItem[] {
    return rows(
      this.#memory,
      `SELECT session_uid, item, made_at FROM hub_files f WHERE directory = ?
       AND (EXISTS (SELECT 1 FROM receipts r WHERE r.session_uid = f.session_uid AND r.reason = 'forgotten')
         OR (item <> 'digest' AND NOT EXISTS (SELECT 1 FROM decisions d WHERE d.session_uid = f.session_uid AND d.id = f.item)))`,
      directory,
    )
  }

  noteRemoved(items: readonly ToldItem[]): void {
    const noted = this.#memory.prepare('DELETE FROM hub_files WHERE session_uid = ? AND item = ?')
    transaction(this.#memory, () => {
      for (const { session_uid, item } of items) noted.run(session_uid, item)
    })
  }

  /** By which this memory is told from others. */
  memoryId(): string {
    return row<{ id: string }>(this.#memory, 'SELECT id FROM pair')?.id ?? ''
  }

  /** Events that a sink was not told yet, oldest first. */
  waiting(sink: string, limit: number): OutboxEvent[] {
    return rows(
      this.#memory,
      `SELECT e.session_uid, e.at, e.name, e.detail, coalesce(d.attempts, 0) AS attempts FROM events_log e
       LEFT JOIN deliveries d ON d.session_uid = e.session_uid AND d.at = e.at AND d.name = e.name AND d.sink = ?
       WHERE d.state IS NULL OR d.state = 'waiting' ORDER BY e.at, e.session_uid, e.name LIMIT ?`,
      sink,
      limit,
    )
  }

  noteDelivery(sink: string, event: OutboxEvent, state: DeliveryState, nextAt = 0): void {
    this.#memory
      .prepare(
        `INSERT OR REPLACE INTO deliveries (session_uid, at, name, sink, attempts, next_at, state)
         VALUES (?, ?, ?, ?, ?, ?, ?)`,
      )
      .run(event.session_uid, event.at, event.name, sink, event.attempts + 1, nextAt, state)
  }

  /** Until when a sink is left alone. */
  pausedUntil(sink: string): number {
    return (
      row<{ at: number | null }>(
        this.#memory,
        "SELECT max(next_at) AS at FROM deliveries WHERE sink = ? AND state = 'waiting'",
        sink,
      )?.at ?? 0
    )
  }
}
