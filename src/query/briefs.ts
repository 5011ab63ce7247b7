// Every session as one line of a list, with what a list is sorted and narrowed by. Held by a caller that lives on (the
// page's server) and brought up to date by what changed: a question then costs no query, however many sessions there are.
import type { Session } from '../model.ts'
import type { ReadHandle } from '../store/store.ts'
import { byStart } from './narrow.ts'
import { getSession, listSessions } from './sessions.ts'
import type { UsageQuestion } from './usage.ts'
import { usageReport } from './usage.ts'

/** A session with what its digest and the ledger say of it in a few figures. */
export interface Brief extends Session {
  relation: string
  event_count: number
  error_count: number
  active_s: number
  tool_calls: number
  edits: number
  commits: number
  first_prompt: string
  is_pinned: boolean
  /** Exact decimal; null where nothing of it has a known price. */
  cost_usd: string | null
  unpriced_responses: number
}

type Prices = Pick<UsageQuestion, 'zone' | 'prices'>

interface Extra {
  session_uid: string
  relation: string
  event_count: number
  error_count: number
  active_s: number | null
  tool_calls: number | null
  edits: number | null
  commits: number | null
  first_prompt: string | null
}

const EXTRAS = `SELECT s.session_uid, s.relation, s.event_count, s.error_count,
  d.digest ->> '$.metrics.active_s' AS active_s, d.digest ->> '$.metrics.tool_calls' AS tool_calls,
  d.digest ->> '$.markers.edits' AS edits, json_array_length(d.digest, '$.commits') AS commits,
  substr(d.digest ->> '$.first_prompt', 1, 200) AS first_prompt
  FROM sessions s LEFT JOIN digests d USING (session_uid)`

/** Newest first, as they were at the last `refresh`. */
export class Briefs {
  #rows: Brief[] = []
  #byUid = new Map<string, Brief>()
  #seenAt = 0
  #loaded = 0

  get rows(): readonly Brief[] {
    return this.#rows
  }

  find(uid: string): Brief | undefined {
    return this.#byUid.get(uid)
  }

  /** Reads what changed since the last call; returns the uids of it. */
  refresh(handle: ReadHandle, prices: Prices): string[] {
    const { count } = handle.memory.prepare('SELECT count(*) AS count FROM sessions').get() as {
      count: number
    }
    const changed = this.#loaded === 0 || count < this.#loaded ? this.#all(handle) : this.#changed(handle)
    this.#loaded = count
    if (changed.length > 0) this.#price(handle, prices)
    this.#pins(handle)
    this.#rows = [...this.#byUid.values()].sort(byStart)
    return changed
  }

  #all(handle: ReadHandle): string[] {
    const extras = new Map(
      (handle.memory.prepare(EXTRAS).all() as unknown as Extra[]).map((row) => [row.session_uid, row]),
    )
    this.#byUid = new Map()
    for (const session of listSessions(handle, { withSubagents: true })) {
      const extra = extras.get(session.session_uid)
      if (extra) this.#keep(session, extra)
    }
    return [...this.#byUid.keys()]
  }

  #changed(handle: ReadHandle): string[] {
    // A commit may carry a time a little before it was seen: a second look at a few is cheap.
    const since = this.#seenAt - 5000
    const rows = handle.memory
      .prepare(`${EXTRAS} WHERE s.ingested_at >= ?1 OR s.analyzed_at >= ?1 OR s.evicted_at >= ?1`)
      .all(since) as unknown as Extra[]
    for (const extra of rows) {
      const session = getSession(handle, extra.session_uid)
      if (session) this.#keep(session, extra)
    }
    return rows.map((row) => row.session_uid)
  }

  #keep(session: Session, extra: Extra): void {
    for (const at of [session.ingested_at, session.analyzed_at, session.evicted_at])
      if (at) this.#seenAt = Math.max(this.#seenAt, Date.parse(at))
    this.#byUid.set(session.session_uid, {
      ...session,
      relation: extra.relation,
      event_count: extra.event_count,
      error_count: extra.error_count,
      active_s: Number(extra.active_s ?? 0),
      tool_calls: Number(extra.tool_calls ?? 0),
      edits: Number(extra.edits ?? 0),
      commits: extra.commits ?? 0,
      first_prompt: extra.first_prompt ?? '',
      is_pinned: false,
      cost_usd: null,
      unpriced_responses: 0,
    })
  }

  #price(handle: ReadHandle, prices: Prices): void {
    for (const row of usageReport(handle, { group: 'session', ...prices }).rows) {
      const brief = row.key === null ? undefined : this.#byUid.get(row.key)
      if (!brief) continue
      brief.cost_usd = row.cost_usd
      brief.unpriced_responses = row.unpriced_responses
    }
  }

  #pins(handle: ReadHandle): void {
    const pinned = new Set(
      (
        handle.memory.prepare('SELECT session_uid FROM pins').all() as unknown as { session_uid: string }[]
      ).map((row) => row.session_uid),
    )
    for (const brief of this.#byUid.values()) brief.is_pinned = pinned.has(brief.session_uid)
  }
}
