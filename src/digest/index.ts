// Digests every session that changed: reads its new rows, makes the digest, writes it in small groups. Goes on from what
// was kept of the rows read before; where one of those changed since, the store has thrown that away.
import { parseStored } from '../errors.ts'
import type { Session } from '../model.ts'
import type { Order } from '../store/order.ts'
import type { SeqRange } from '../store/reader/digests.ts'
import type { DigestRow, Fold, Store } from '../store/store.ts'
import { tellDecisions } from './decisions.ts'
import { buildDigest, type Coverage, type Digest, type Price, RULES, ruleVersion } from './digest.ts'
import { FINGERPRINT_PREFIX } from './errors.ts'
import { type Facts, Gatherer } from './facts.ts'
import { joinedErrors, mergeDigests } from './merge.ts'
import type { Buckets } from './metrics.ts'
import { type SessionReader, sessionReader } from './reader.ts'
import { type Copies, recountDigest, withoutRepeated } from './recount.ts'
import { renameFailures } from './rename.ts'
import { NOTHING_ASKED, requestIn } from './title.ts'

export interface DigestOptions {
  buckets: Buckets
  signal?: AbortSignal | undefined
  /** What a session's tokens cost. Without it digests tell no price. */
  priceOf?: (sessionUid: string) => Price | null
  /** How many events have to be new before what was gathered is kept: fewer are quicker gone through again. */
  keepFrom?: number
  /** Told of bodies that are damaged or gone, and of which the digest therefore knows nothing. */
  onUnread?: (sessionUid: string, count: number) => void
  /** Told of each group that is in. */
  onWritten?: (count: number) => void
}

/** Each group is one commit: a kill loses at most so many digests, which the next sweep makes again. */
const GROUP = 256

/** Returns how many sessions were digested. */
export function digestChanged(store: Store, options: DigestOptions): number {
  let count = 0
  for (const uids of store.ingest.undigested(ruleVersion(options.buckets), FINGERPRINT_PREFIX))
    count += digestAll(store, uids, options)
  return count
}

/** The same of sessions that are known to have changed. */
export function digestAll(store: Store, uids: readonly string[], options: DigestOptions): number {
  if (uids.length === 0) return 0
  const reader = sessionReader(store.reader)
  let rows: DigestRow[] = []
  let count = 0
  for (const uid of uids) {
    if (options.signal?.aborted) break
    const row = digestRow(reader, uid, options)
    if (row) rows.push(row)
    if (rows.length < GROUP) continue
    store.ingest.writeDigests(rows)
    count += rows.length
    options.onWritten?.(rows.length)
    rows = []
  }
  store.ingest.writeDigests(rows)
  options.onWritten?.(rows.length)
  return count + rows.length
}

function digestRow(reader: SessionReader, uid: string, options: DigestOptions): DigestRow | undefined {
  const { buckets, priceOf } = options
  const session = reader.session(uid)
  if (!session) return undefined
  const price = priceOf?.(uid) ?? null
  const recount = (digest: string): Digest =>
    recountDigest(parseStored<Digest>(digest), session, price, copiesOf(reader, session, buckets), buckets)
  const frozen = reader.frozen(uid)
  if (frozen) {
    const told = reader.isMiscounted(uid) ? recount(frozen.digest) : parseStored<Digest>(frozen.digest)
    return toRow(session, nameFrozen(renameFailures(told)), frozen.earlier_seq, frozen.earlier, null)
  }
  const { facts, order, fold, unreadCount } = factsOf(reader, uid, options.keepFrom ?? KEEP_FROM)
  if (unreadCount > 0) {
    options.onUnread?.(uid, unreadCount)
    // What was told while they could be read is worth more.
    if (reader.hasDigest(uid)) return undefined
  }
  const digest = buildDigest({
    session,
    facts,
    coverage: reader.coverage(uid),
    children: reader.children(uid),
    buckets,
    price,
    toldOutcome: reader.toldOutcome(uid),
    placeOf: order.placeOf,
  })
  const earlier = reader.earlier(uid)
  if (earlier === undefined) return toRow(session, digest, 0, null, fold)
  const before = reader.copied(uid) ? recount(earlier.digest) : parseStored<Digest>(earlier.digest)
  const counted = withoutRepeated(before, reader.repeated(uid, earlier.seq))
  const whole = mergeDigests(renameFailures(counted), digest, earlier.seq, buckets)
  return toRow(session, whole, earlier.seq, earlier.digest, fold)
}

/** What an evicted session turned out to have copied, told by the origin's events; null where those are gone as well. */
function copiesOf(reader: SessionReader, session: Session, buckets: Buckets): Copies | null {
  const copied = reader.copied(session.session_uid)
  if (!copied) return null
  const isIn = (ranges: readonly SeqRange[], seq: number): boolean =>
    ranges.some(([first, last]) => seq >= first && seq <= last)
  const gatherer = new Gatherer()
  let missing = copied.originSeqs.reduce((sum, [first, last]) => sum + last - first + 1, 0)
  for (const event of reader.events(copied.originUid, reader.order(copied.originUid), 0)) {
    if (!isIn(copied.originSeqs, event.seq)) continue
    gatherer.add({ ...event, isInherited: false })
    missing--
  }
  if (missing > 0) return null
  const facts = gatherer.finish()
  const coverage: Coverage = { source_bytes: 0, gap_bytes: 0, share: 1 }
  return {
    originUid: copied.originUid,
    isCopied: (seq) => isIn(copied.seqs, seq),
    digest: buildDigest({ session, facts, coverage, children: [], buckets }),
  }
}

export const KEEP_FROM = 256

/** The facts of all events of a session; of those looked at before only what was kept of them is read. */
export function factsOf(
  reader: SessionReader,
  uid: string,
  keepFrom: number,
): { facts: Facts; order: Order; fold: Fold | null; unreadCount: number } {
  const unreadBefore = reader.unreadCount()
  const order = reader.order(uid)
  const kept = reader.fold(uid, order)
  const gatherer = new Gatherer(kept?.state)
  let { firstSeq = Number.MAX_SAFE_INTEGER, lastSeq = 0 } = kept ?? {}
  let count = 0
  for (const event of reader.events(uid, order, lastSeq)) {
    gatherer.add(event)
    firstSeq = Math.min(firstSeq, event.seq)
    lastSeq = Math.max(lastSeq, event.seq)
    count++
  }
  const state = count < keepFrom ? undefined : gatherer.save()
  const facts = gatherer.finish()
  const unreadCount = reader.unreadCount() - unreadBefore
  // What could not be read would be missing for good in all that goes on from there.
  const isKept = state !== undefined && unreadCount === 0
  const fold = isKept ? { rules: RULES, firstSeq, lastSeq, state } : null
  return { facts, order, fold, unreadCount }
}

/** The events of an older digest are gone, but not what was asked. */
function nameFrozen(digest: Digest): Digest {
  if (digest.title) return { ...digest, title_source: digest.title_source ?? 'agent' }
  const title = requestIn(digest.first_prompt)
  return { ...digest, title: title || NOTHING_ASKED.text, title_source: title ? 'prompt' : 'none' }
}

const madeName = ({ title, title_source }: Digest): Pick<DigestRow, 'madeTitle' | 'madeSource'> =>
  title_source === 'person' || title_source === 'agent'
    ? { madeTitle: null, madeSource: null }
    : { madeTitle: title, madeSource: title_source }

function toRow(
  session: Session,
  digest: Digest,
  earlierSeq: number,
  earlier: string | null,
  fold: Fold | null,
): DigestRow {
  const at = (time: string | null): number | null => (time ? Date.parse(time) : null)
  return {
    sessionUid: session.session_uid,
    flavor: session.flavor,
    repo: session.repo,
    domain: session.domain,
    outcome: digest.outcome,
    startedAt: at(session.started_at),
    endedAt: at(session.ended_at),
    ruleVersion: digest.rule_version,
    digest: JSON.stringify(tellDecisions(digest, session.decisions)),
    ...madeName(digest),
    helper: digest.helper ?? null,
    earlierSeq,
    earlier,
    failures: joinedErrors(digest.error_snippets).map((one) => ({
      fingerprint: one.fingerprint,
      tool: one.tool,
      sample: one.sample,
      count: one.count,
      firstAt: at(one.first_at),
      lastAt: at(one.last_at),
      seqs: JSON.stringify(one.seqs),
      resolvedBy: one.resolved_by && JSON.stringify(one.resolved_by),
    })),
    signals: digest.signals.map(({ seqs, ...one }) => ({ ...one, seqs: JSON.stringify(seqs) })),
    fold,
  }
}
