// What every format is made of: one session with what Tier 2 knows of it, and its events one by one with their bodies.
import type { Digest } from '../digest/digest.ts'
import { findDigest } from '../digest/patterns.ts'
import type { Body } from '../event/body.ts'
import type { Session, SessionEvent } from '../model.ts'
import { type EventWithCall, eventsWithCalls } from '../query/events.ts'
import { rawLost } from '../query/lost.ts'
import { type Receipt, receiptsOf } from '../query/receipts.ts'
import { getSession } from '../query/sessions.ts'
import { type Entry, transcript } from '../query/transcript.ts'
import { unreadOf } from '../query/unread.ts'
import { Bodies } from '../store/bodies.ts'
import type { SidechainEvent } from '../store/reader/events.ts'
import type { Reader } from '../store/reader/index.ts'
import type { Response } from '../store/reader/usage.ts'

export type { Response } from '../store/reader/usage.ts'

export interface ExportEvent extends EventWithCall {
  /** Undefined when it is gone. */
  body(): Body | undefined
}

/** A session as it is exported. */
export class ExportSource {
  readonly #handle: Reader
  readonly session: Session
  readonly receipts: Receipt[]
  /** Sub-agents with a session of their own. */
  readonly children: string[]
  /** Those of sub-agents too. */
  readonly bodies: Bodies

  constructor(handle: Reader, session: Session, bodies = new Bodies(handle)) {
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
    return this.#handle.sessions.agentVersion(this.session.session_uid)
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
    const firsts = new Map<string, SidechainEvent>()
    for (const one of this.#handle.events.sidechains(this.session.session_uid))
      if (!firsts.has(one.agent ?? '')) firsts.set(one.agent ?? '', one)
    const { placeOf } = this.#handle.events.order(this.session.session_uid)
    return [...firsts]
      .sort(([, a], [, b]) => placeOf(a.seq) - placeOf(b.seq))
      .map(([agent, { parentSeq }]) => ({ agent, anchorSeq: parentSeq }))
  }

  /** Each response of a model that counts here, by time. */
  responses(): Response[] {
    return this.#handle.usage
      .responses(this.session.session_uid)
      .filter((response) => response.is_counted === 1)
  }
}

/** Which sub-agent inside its session an event is of; null for the main chain. */
export const sidechainOf = (event: SessionEvent): string | null =>
  event.is_sidechain ? (event.agent ?? '') : null

/** In the order they were started. */
function childrenOf(handle: Reader, uid: string): string[] {
  const children = handle.lineage.subagents(uid)
  return children
    .sort((a, b) => (a.at ?? Number.NEGATIVE_INFINITY) - (b.at ?? Number.NEGATIVE_INFINITY) || 0)
    .map((child) => child.uid)
}

/** How deep sub-agents are followed. */
export const MAX_DEPTH = 5
