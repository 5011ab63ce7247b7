// What every format is made of: one session with what Tier 2 knows of it, and its events one by one with their bodies.
import type { Digest } from '../digest/digest.ts'
import { findDigest } from '../digest/patterns.ts'
import type { Body } from '../event/body.ts'
import type { Session, SessionEvent, Tokens } from '../model.ts'
import { type EventWithCall, eventsWithCalls } from '../query/events.ts'
import { rawLost } from '../query/lost.ts'
import { type Receipt, receiptsOf } from '../query/receipts.ts'
import { getSession } from '../query/sessions.ts'
import { type Entry, transcript } from '../query/transcript.ts'
import { unreadOf } from '../query/unread.ts'
import { Bodies } from '../store/bodies.ts'
import { orderOf } from '../store/order.ts'
import { FLAG } from '../store/rows.ts'
import type { ReadHandle } from '../store/store.ts'

export interface ExportEvent extends EventWithCall {
  /** Undefined when it is gone. */
  body(): Body | undefined
}

export interface Response extends Tokens {
  id: string
  ts: number | null
  model: string | null
}

/** A session as it is exported. */
export class ExportSource {
  readonly #handle: ReadHandle
  readonly session: Session
  readonly receipts: Receipt[]
  /** Sub-agents with a session of their own. */
  readonly children: string[]
  /** Those of sub-agents too. */
  readonly bodies: Bodies

  constructor(handle: ReadHandle, session: Session, bodies = new Bodies(handle)) {
    this.#handle = handle
    this.session = session
    this.bodies = bodies
    this.receipts = receiptsOf(handle, session.session_uid)
    this.children = childrenOf(handle, session.session_uid)
  }

  /** Another session of the same memory; undefined when it is not remembered. */
  other(uid: string): ExportSource | undefined {
    const session = getSession(this.#handle, uid)
    return session && new ExportSource(this.#handle, session, this.bodies)
  }

  /** Why there are fewer events than there were; undefined when nothing is missing. */
  get loss(): string | undefined {
    const lost = rawLost(this.#handle, this.session.session_uid)
    if (lost) return lost.text
    const last = this.receipts.findLast((receipt) => !receipt.is_restored)
    if (!last) return undefined
    const what = `events ${last.first_seq} to ${last.last_seq} were evicted at ${last.evicted_at} (${last.reason})`
    return `${what}; what is left of them is the digest`
  }

  get agentVersion(): string | null {
    const row = this.#handle.memory
      .prepare('SELECT agent_version AS version FROM sessions WHERE session_uid = ?')
      .get(this.session.session_uid) as { version: string | null } | undefined
    return row?.version ?? null
  }

  get digest(): Digest | undefined {
    return findDigest(this.#handle, this.session.session_uid)
  }

  /** In order; `agent`: only of this sub-agent, null: only of the main chain. */
  *events(agent?: string | null): Generator<ExportEvent> {
    for (const { event, call } of eventsWithCalls(this.#handle, this.session.session_uid)) {
      if (agent !== undefined && sidechainOf(event) !== agent) continue
      yield { event, call: call && Buffer.from(call, 'latin1').toString('hex'), body: () => this.body(event) }
    }
  }

  /** In the order a person reads it, sub-agents where they were started. */
  entries(): Generator<Entry> {
    return transcript(this.#handle, this.session.session_uid)
  }

  /** Undefined when it is gone. */
  body(event: SessionEvent): Body | undefined {
    return this.bodies.body(event.payload_ref)
  }

  /** What is said of the bodies that could not be read up to now; undefined where all could. */
  get unread(): string | undefined {
    const unread = unreadOf(this.bodies.unread.size)
    return unread ? `${unread.text}: ${unread.fix}` : undefined
  }

  /** Sub-agents inside the session, with the event that started each, in the order they began. */
  sidechains(): { agent: string; anchorSeq: number | null }[] {
    const rows = this.#handle.cache
      .prepare(
        `SELECT coalesce(e.agent, '') AS agent, min(e.seq) AS seq, e.parent_seq AS anchorSeq FROM cached c
         JOIN events e ON e.session = c.id WHERE c.session_uid = ? AND e.flags & ${FLAG.sidechain} GROUP BY coalesce(e.agent, '')`,
      )
      .all(this.session.session_uid) as unknown as { agent: string; seq: number; anchorSeq: number | null }[]
    const { placeOf } = orderOf(this.#handle.cache, this.session.session_uid)
    rows.sort((a, b) => placeOf(a.seq) - placeOf(b.seq))
    return rows.map(({ agent, anchorSeq }) => ({ agent, anchorSeq }))
  }

  /** Each response of a model that counts here, by time. */
  responses(): Response[] {
    return this.#handle.memory
      .prepare(
        `SELECT response_id AS id, ts, model, input, cache_read AS cacheRead, cache_write_5m AS cacheWrite5m,
         cache_write_1h AS cacheWrite1h, output, reasoning FROM usage
         WHERE session_uid = ? AND is_counted AND NOT is_nested ORDER BY ts, response_id`,
      )
      .all(this.session.session_uid) as unknown as Response[]
  }
}

/** Which sub-agent inside its session an event is of; null for the main chain. */
export const sidechainOf = (event: SessionEvent): string | null =>
  event.is_sidechain ? (event.agent ?? '') : null

function childrenOf({ memory }: ReadHandle, uid: string): string[] {
  const rows = memory
    .prepare(
      "SELECT session_uid FROM edges WHERE parent_uid = ? AND kind = 'subagent' ORDER BY at, session_uid",
    )
    .all(uid) as unknown as { session_uid: string }[]
  return rows.map((row) => row.session_uid)
}

/** How deep sub-agents are followed. */
export const MAX_DEPTH = 5
