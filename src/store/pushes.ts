// What a team server was told of this memory, and what it is still to be told. The memory itself is the spool: a session is due
// until the server acknowledged it as it is now, whatever happens in between.
import { type Database, row, rows } from './database.ts'
import { slotsTable } from './slots.ts'

export interface PushedSegment {
  sha256: string
  bytes: number
  first_seq: number
  last_seq: number
}

export interface DueSession {
  uid: string
  /** Changes with everything that is pushed of it. */
  mark: string
  /** The one the server was last known to have; 0 for none. */
  generation: number
  /** What it acknowledged. */
  segments: PushedSegment[]
}

export interface PushFacts {
  host_id: string
  host_name: string
  user: string
  flavor: string
  repo: string | null
  domain: string | null
  model: string | null
  relation: string
  helper: string | null
  started_at: number | null
  ended_at: number | null
  outcome: string
  turns: number
  retries: number
  errors: number
  events: number
  digest: string | null
}

export interface PushResponse {
  id: string
  at: number | null
  model: string | null
  input: number
  cache_read: number
  cache_write_5m: number
  cache_write_1h: number
  output: number
  reasoning: number
  responses: number
  is_turn: number
  reported_cost: number | null
  counts: number
}

export interface PushFailure {
  fingerprint: string
  tool: string
  count: number
  first_at: number | null
  last_at: number | null
  is_mended: number
}

export class Pushes {
  readonly #memory: Database

  constructor(memory: Database) {
    this.#memory = memory
  }

  /** Oldest first. Sessions that are only named have nothing to be told. */
  due(server: string, level: string): DueSession[] {
    const found = rows<{ uid: string; mark: string; generation: number | null; segments: string | null }>(
      this.#memory,
      `SELECT * FROM (SELECT s.session_uid AS uid, p.generation, p.segments, p.mark AS known, s.started_at,
         json_array(?2, s.ingested_at, s.analyzed_at, s.event_count, s.repo, s.domain, s.outcome, s.host, h.name, h.user, d.made_at, u.responses, u.tokens,
           (SELECT count(*) FROM edges e WHERE e.session_uid = s.session_uid)) AS mark
         FROM sessions s LEFT JOIN hosts h USING (host) LEFT JOIN digests d ON d.session_uid = s.session_uid
         LEFT JOIN (SELECT session_uid, sum(responses) AS responses, sum(input + cache_read + cache_write_5m + cache_write_1h + output) AS tokens
           FROM ${slotsTable(this.#memory)} GROUP BY session_uid) u ON u.session_uid = s.session_uid
         LEFT JOIN pushes p ON p.session_uid = s.session_uid AND p.server = ?1
         WHERE (s.event_count > 0 OR s.evicted_at IS NOT NULL) AND h.id IS NOT NULL)
       WHERE known IS NOT mark ORDER BY started_at, uid`,
      server,
      level,
    )
    return found.map(({ uid, mark, generation, segments }) => ({
      uid,
      mark,
      generation: generation ?? 0,
      segments: segments === null ? [] : (JSON.parse(segments) as PushedSegment[]),
    }))
  }

  facts(uid: string): PushFacts | undefined {
    return row(
      this.#memory,
      `SELECT h.id AS host_id, h.name AS host_name, h.user, s.flavor, s.repo, s.domain, s.model, s.relation, s.helper, s.started_at, s.ended_at,
         s.outcome, s.turn_count AS turns, s.retry_count AS retries, s.error_count AS errors, s.event_count AS events, d.digest
       FROM sessions s JOIN hosts h USING (host) LEFT JOIN digests d ON d.session_uid = s.session_uid WHERE s.session_uid = ?`,
      uid,
    )
  }

  ledger(uid: string): PushResponse[] {
    return rows(
      this.#memory,
      `SELECT response_id AS id, CASE WHEN ts >= 0 THEN ts END AS at, model, input, cache_read, cache_write_5m, cache_write_1h, output, reasoning, responses,
         scope <> 'response' AS is_turn, reported_cost, is_counted AND NOT is_nested AS counts
       FROM usage WHERE session_uid = ? ORDER BY response_id`,
      uid,
    )
  }

  edges(uid: string): { kind: string; parent_uid: string; at: number | null }[] {
    return rows(
      this.#memory,
      'SELECT kind, parent_uid, CASE WHEN at >= 0 THEN at END AS at FROM edges WHERE session_uid = ? ORDER BY kind, parent_uid',
      uid,
    )
  }

  failures(uid: string): PushFailure[] {
    return rows(
      this.#memory,
      `SELECT fingerprint, tool, count, first_at, last_at, resolved_by IS NOT NULL AS is_mended FROM failures WHERE session_uid = ? ORDER BY fingerprint`,
      uid,
    )
  }

  /** After the server's answer, never before it. */
  note(server: string, hostId: string, { uid, mark, generation, segments }: DueSession): void {
    this.#memory
      .prepare(
        'INSERT OR REPLACE INTO pushes (session_uid, server, host_id, mark, generation, segments) VALUES (?, ?, ?, ?, ?, ?)',
      )
      .run(uid, server, hostId, mark, generation, JSON.stringify(segments))
  }

  /** What the server has of sessions that were forgotten here. */
  forgotten(server: string): { uid: string; hostId: string }[] {
    return rows(
      this.#memory,
      `SELECT p.session_uid AS uid, p.host_id AS hostId FROM pushes p WHERE p.server = ?
       AND EXISTS (SELECT 1 FROM receipts r WHERE r.session_uid = p.session_uid AND r.reason = 'forgotten')`,
      server,
    )
  }

  noteForgotten(server: string, uid: string): void {
    this.#memory.prepare('DELETE FROM pushes WHERE session_uid = ? AND server = ?').run(uid, server)
  }
}
