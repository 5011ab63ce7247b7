// Which sessions a collector of telemetry was sent: a cursor of its own, so that a slow or absent collector holds up nothing.
import { type Database, row, rows } from './database.ts'

export interface Unsent {
  uid: string
  /** As it was read in last. */
  ingestedAt: number
  /** What ended up to then was sent; 0 where nothing was. */
  untilAt: number
  attempts: number
}

/** How long a collector that is away is left alone. */
export interface Absence {
  times: number
  untilAt: number
}

/** The row that is about the collector itself, and no session's. */
const COLLECTOR = ''

/** So often one that is refused is tried, until it grows. */
const MOST_ATTEMPTS = 5

export class Telemetry {
  readonly #memory: Database

  constructor(memory: Database) {
    this.#memory = memory
  }

  /** New or grown since, the newest first. Sub-agents' too: they go out with the session that started them. */
  unsent(endpoint: string, limit: number): Unsent[] {
    return rows(
      this.#memory,
      `SELECT s.session_uid AS uid, s.ingested_at AS ingestedAt, iif(t.endpoint = ?1, t.until_at, 0) AS untilAt,
         iif(t.endpoint = ?1 AND t.ingested_at < s.ingested_at, t.attempts, 0) AS attempts
       FROM sessions s LEFT JOIN telemetry t USING (session_uid)
       WHERE s.event_count > 0 AND s.evicted_at IS NULL AND s.ingested_at IS NOT NULL
         AND (t.session_uid IS NULL OR t.endpoint <> ?1 OR t.ingested_at < s.ingested_at) AND coalesce(t.attempts, 0) < ?2
       ORDER BY s.started_at DESC, s.session_uid LIMIT ?3`,
      endpoint,
      MOST_ATTEMPTS,
      limit,
    )
  }

  /** How far one was sent. */
  sentUntil(endpoint: string, uid: string): number {
    return (
      row<{ at: number }>(
        this.#memory,
        'SELECT until_at AS at FROM telemetry WHERE session_uid = ? AND endpoint = ?',
        uid,
        endpoint,
      )?.at ?? 0
    )
  }

  noteSent(endpoint: string, { uid, ingestedAt }: Unsent, untilAt: number): void {
    this.#save(uid, endpoint, ingestedAt, untilAt, 0, 0)
  }

  noteFailed(endpoint: string, { uid, untilAt, attempts }: Unsent): void {
    this.#save(uid, endpoint, 0, untilAt, attempts + 1, 0)
  }

  /** It cannot be reached, as often in a row, and is left alone until then: that is no fault of a session's. */
  noteAbsent(endpoint: string, { times, untilAt }: Absence): void {
    this.#save(COLLECTOR, endpoint, 0, 0, times, untilAt)
  }

  /** It answered. */
  notePresent(): void {
    this.#memory.prepare('DELETE FROM telemetry WHERE session_uid = ?').run(COLLECTOR)
  }

  #save(uid: string, endpoint: string, ...told: number[]): void {
    this.#memory
      .prepare(
        `INSERT OR REPLACE INTO telemetry (session_uid, endpoint, ingested_at, until_at, attempts, next_at)
         VALUES (?, ?, ?, ?, ?, ?)`,
      )
      .run(uid, endpoint, ...told)
  }

  /** Undefined where the collector answered when it was last asked. */
  absence(endpoint: string): Absence | undefined {
    return row<Absence>(
      this.#memory,
      'SELECT attempts AS times, next_at AS untilAt FROM telemetry WHERE session_uid = ? AND endpoint = ?',
      COLLECTOR,
      endpoint,
    )
  }
}
