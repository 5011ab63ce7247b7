// Every session as one line of a list: only what lists are narrowed, sorted and summed by, so that the first question after
// a start reads little. Held by a caller that lives on (the page's server) and brought up to date by what changed. The few
// sessions that are shown are then read in full.
import type { Session } from '../model.ts'
import type { Reader } from '../store/reader/index.ts'
import type { Line } from '../store/reader/sessions.ts'
import { byStart } from './narrow.ts'
import type { UsageQuestion } from './usage.ts'
import { usageReport } from './usage.ts'

export type { Line } from '../store/reader/sessions.ts'

/** A session with what its digest and the ledger say of it in a few figures. */
export interface Brief
  extends Session,
    Pick<
      Line,
      | 'relation'
      | 'outcome_reason'
      | 'outcome_confidence'
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
  refresh(handle: Reader, prices: Prices): string[] {
    let changed = this.#byUid.size === 0 ? [] : this.#read(handle, this.#seenAt)
    const count = handle.sessions.countAll()
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

  #read(handle: Reader, since: number): string[] {
    // A commit may carry a time a little before it was seen: a second look at a few is cheap.
    const lines = handle.sessions.lines(since === 0 ? undefined : since - 5000)
    for (const line of lines) {
      this.#seenAt = Math.max(this.#seenAt, line.seen_at)
      this.#byUid.set(line.session_uid, line)
    }
    return lines.map((line) => line.session_uid)
  }

  /** All of them: what one session has to pay for may move to another. */
  #price(handle: Reader, prices: Prices): void {
    const { rows } = usageReport(handle, { group: 'session', ...prices })
    const spent = new Map(rows.map((row) => [row.key, row]))
    for (const line of this.#byUid.values()) {
      const row = spent.get(line.session_uid)
      line.total_tokens = row?.total_tokens ?? 0
      line.cost_usd = row?.cost_usd ?? null
      line.unpriced_responses = row?.unpriced_responses ?? 0
    }
  }

  #pin(handle: Reader): void {
    const pinned = handle.storage.pinned()
    for (const line of this.#byUid.values()) line.is_pinned = pinned.has(line.session_uid)
  }
}

/** The sessions behind some lines, in their order. */
export function briefsOf(handle: Reader, lines: readonly Line[]): Brief[] {
  const byUid = new Map(lines.map((line) => [line.session_uid, line]))
  return handle.sessions.of([...byUid.keys()]).map((session) => {
    const line = byUid.get(session.session_uid) as Line
    return {
      ...session,
      cost: { ...session.cost, usd: line.cost_usd },
      relation: line.relation,
      outcome_reason: line.outcome_reason,
      outcome_confidence: line.outcome_confidence,
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
