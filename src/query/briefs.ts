// Every session as one line of a list: only what lists are narrowed, sorted and summed by, so that the first question after
// a start reads little. Held by a caller that lives on (the page's server) and brought up to date by what changed. The few
// sessions that are shown are then read in full.
import type { Outcome, Session } from '../model.ts'
import type { ReadHandle } from '../store/store.ts'
import { byStart } from './narrow.ts'
import { sessionsOf } from './sessions.ts'
import type { UsageQuestion } from './usage.ts'
import { usageReport } from './usage.ts'

/** Times are epoch milliseconds. */
export interface Line {
  session_uid: string
  flavor: string
  repo: string | null
  domain: string | null
  git_branch: string | null
  model: string | null
  title: string | null
  first_prompt: string
  relation: string
  outcome: Outcome
  started_at: number | null
  ended_at: number | null
  evicted_at: number | null
  is_sole_copy: number
  turns: number
  event_count: number
  error_count: number
  active_s: number
  tool_calls: number
  edits: number
  commits: number
  is_pinned: boolean
  total_tokens: number
  /** Exact decimal; null where nothing of it has a known price. */
  cost_usd: string | null
  unpriced_responses: number
  /** When something of it was last committed. */
  seen_at: number
}

/** A session with what its digest and the ledger say of it in a few figures. */
export interface Brief
  extends Session,
    Pick<
      Line,
      | 'relation'
      | 'event_count'
      | 'active_s'
      | 'tool_calls'
      | 'edits'
      | 'commits'
      | 'first_prompt'
      | 'is_pinned'
      | 'cost_usd'
      | 'unpriced_responses'
    > {}

type Prices = Pick<UsageQuestion, 'zone' | 'prices'>

// Every field of a line stands here, so that a row is a line as it comes: copying 20,000 of them is dearer than reading.
const LINES = `SELECT s.session_uid, s.flavor, s.repo, s.domain, s.git_branch, s.model, s.title,
  coalesce(substr(d.digest ->> '$.first_prompt', 1, 200), '') AS first_prompt, s.relation, s.outcome,
  s.started_at, s.ended_at, s.evicted_at, s.is_sole_copy, s.turn_count AS turns, s.event_count, s.error_count,
  coalesce(d.digest ->> '$.metrics.active_s', 0) AS active_s, coalesce(d.digest ->> '$.metrics.tool_calls', 0) AS tool_calls,
  coalesce(d.digest ->> '$.markers.edits', 0) AS edits, coalesce(json_array_length(d.digest, '$.commits'), 0) AS commits,
  0 AS is_pinned, 0 AS total_tokens, NULL AS cost_usd, 0 AS unpriced_responses,
  max(coalesce(s.ingested_at, 0), coalesce(s.analyzed_at, 0), coalesce(s.evicted_at, 0)) AS seen_at
  FROM sessions s LEFT JOIN digests d USING (session_uid)`

/** Newest first, as they were at the last `refresh`. */
export class Briefs {
  #lines: Line[] = []
  #byUid = new Map<string, Line>()
  #seenAt = 0

  get lines(): readonly Line[] {
    return this.#lines
  }

  find(uid: string): Line | undefined {
    return this.#byUid.get(uid)
  }

  /** Reads what changed since the last call; returns the uids of it. */
  refresh(handle: ReadHandle, prices: Prices): string[] {
    let changed = this.#byUid.size === 0 ? [] : this.#read(handle, this.#seenAt)
    const { count } = handle.memory.prepare('SELECT count(*) AS count FROM sessions').get() as {
      count: number
    }
    // The first time, and when one was forgotten.
    if (count !== this.#byUid.size) {
      this.#byUid = new Map()
      changed = this.#read(handle, 0)
    }
    if (changed.length > 0) this.#price(handle, prices)
    this.#pin(handle)
    this.#lines = [...this.#byUid.values()].sort(byStart)
    return changed
  }

  #read(handle: ReadHandle, since: number): string[] {
    // A commit may carry a time a little before it was seen: a second look at a few is cheap.
    const from = since - 5000
    const rows = handle.memory
      .prepare(
        since === 0
          ? LINES
          : `${LINES} WHERE s.ingested_at >= ?1 OR s.analyzed_at >= ?1 OR s.evicted_at >= ?1`,
      )
      .all(...(since === 0 ? [] : [from])) as unknown as Line[]
    for (const line of rows) {
      this.#seenAt = Math.max(this.#seenAt, line.seen_at)
      this.#byUid.set(line.session_uid, line)
    }
    return rows.map((line) => line.session_uid)
  }

  /** All of them: what one session has to pay for may move to another. */
  #price(handle: ReadHandle, prices: Prices): void {
    const { rows } = usageReport(handle, { group: 'session', ...prices })
    const spent = new Map(rows.map((row) => [row.key, row]))
    for (const line of this.#byUid.values()) {
      const row = spent.get(line.session_uid)
      line.total_tokens = row?.total_tokens ?? 0
      line.cost_usd = row?.cost_usd ?? null
      line.unpriced_responses = row?.unpriced_responses ?? 0
    }
  }

  #pin(handle: ReadHandle): void {
    const rows = handle.memory.prepare('SELECT session_uid AS uid FROM pins').all() as unknown as {
      uid: string
    }[]
    const pinned = new Set(rows.map((row) => row.uid))
    for (const line of this.#byUid.values()) line.is_pinned = pinned.has(line.session_uid)
  }
}

/** The sessions behind some lines, in their order. */
export function briefsOf(handle: Pick<ReadHandle, 'memory'>, lines: readonly Line[]): Brief[] {
  const byUid = new Map(lines.map((line) => [line.session_uid, line]))
  return sessionsOf(handle, [...byUid.keys()]).map((session) => {
    const line = byUid.get(session.session_uid) as Line
    return {
      ...session,
      cost: { ...session.cost, usd: line.cost_usd },
      relation: line.relation,
      event_count: line.event_count,
      active_s: line.active_s,
      tool_calls: line.tool_calls,
      edits: line.edits,
      commits: line.commits,
      first_prompt: line.first_prompt,
      is_pinned: line.is_pinned,
      cost_usd: line.cost_usd,
      unpriced_responses: line.unpriced_responses,
    }
  })
}
