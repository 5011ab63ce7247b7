// Digests every session that changed: reads its new rows, makes the digest, writes it in small groups. Goes on from what
// was kept of the rows read before; where one of those changed since, the store has thrown that away.
import { EVENT_KINDS, type EventKind, type Session } from '../model.ts'
import { getSession } from '../query/sessions.ts'
import { foldOf } from '../store/digests.ts'
import { FLAG, ROLES } from '../store/rows.ts'
import type { DigestRow, Fold, ReadHandle, Store } from '../store/store.ts'
import { entryOf } from './bounded.ts'
import { tellDecisions } from './decisions.ts'
import { buildDigest, type Coverage, type Digest, type Price, RULES, ruleVersion } from './digest.ts'
import type { DigestEvent } from './event.ts'
import { type Facts, Gatherer } from './facts.ts'
import { mergeDigests } from './merge.ts'
import type { Buckets } from './metrics.ts'
import { type Copies, recountDigest } from './recount.ts'

export interface DigestOptions {
  buckets: Buckets
  signal?: AbortSignal | undefined
  /** What a session's tokens cost. Without it digests tell no price. */
  priceOf?: (sessionUid: string) => Price | null
  /** How many events have to be new before what was gathered is kept: fewer are quicker gone through again. */
  keepFrom?: number
}

/** Each group is one commit: a kill loses at most so many digests, which the next sweep makes again. */
const GROUP = 256

/** Returns how many sessions were digested. */
export function digestChanged(store: Store, options: DigestOptions): number {
  const uids = store.undigested(ruleVersion(options.buckets))
  if (uids.length === 0) return 0
  const reader = sessionReader(store.read())
  let rows: DigestRow[] = []
  let count = 0
  for (const uid of uids) {
    if (options.signal?.aborted) break
    const row = digestRow(reader, uid, options)
    if (row) rows.push(row)
    if (rows.length < GROUP) continue
    store.writeDigests(rows)
    count += rows.length
    rows = []
  }
  store.writeDigests(rows)
  return count + rows.length
}

function digestRow(reader: SessionReader, uid: string, options: DigestOptions): DigestRow | undefined {
  const { buckets, priceOf } = options
  const session = reader.session(uid)
  if (!session) return undefined
  const price = priceOf?.(uid) ?? null
  const recount = (digest: string): Digest =>
    recountDigest(JSON.parse(digest) as Digest, session, price, copiesOf(reader, session, buckets), buckets)
  const frozen = reader.frozen(uid)
  if (frozen) return toRow(session, recount(frozen.digest), frozen.earlier_seq, frozen.earlier, null)
  const { facts, fold } = factsOf(reader, uid, options.keepFrom ?? KEEP_FROM)
  const digest = buildDigest({
    session,
    facts,
    coverage: reader.coverage(uid),
    children: reader.children(uid),
    buckets,
    price,
  })
  const earlier = reader.earlier(uid)
  if (earlier === undefined) return toRow(session, digest, 0, null, fold)
  const before = reader.copied(uid) ? recount(earlier.digest) : (JSON.parse(earlier.digest) as Digest)
  const whole = mergeDigests(before, digest, earlier.seq, buckets)
  return toRow(session, whole, earlier.seq, earlier.digest, fold)
}

/** What an evicted session turned out to have copied, told by the origin's events; null where those are gone as well. */
function copiesOf(reader: SessionReader, session: Session, buckets: Buckets): Copies | null {
  const copied = reader.copied(session.session_uid)
  if (!copied) return null
  const isIn = (ranges: readonly Range[], seq: number): boolean =>
    ranges.some(([first, last]) => seq >= first && seq <= last)
  const gatherer = new Gatherer()
  let missing = copied.originSeqs.reduce((sum, [first, last]) => sum + last - first + 1, 0)
  for (const event of reader.events(copied.originUid, 0)) {
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

const KEEP_FROM = 256

/** The facts of all events of a session; of those looked at before only what was kept of them is read. */
function factsOf(reader: SessionReader, uid: string, keepFrom: number): { facts: Facts; fold: Fold | null } {
  const kept = reader.fold(uid)
  const gatherer = new Gatherer(kept?.state)
  let { firstSeq = 0, lastSeq = 0 } = kept ?? {}
  let count = 0
  for (const event of reader.events(uid, lastSeq)) {
    gatherer.add(event)
    firstSeq ||= event.seq
    lastSeq = event.seq
    count++
  }
  const fold = count < keepFrom ? null : { rules: RULES, firstSeq, lastSeq, state: gatherer.save() }
  return { facts: gatherer.finish(), fold }
}

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
    earlierSeq,
    earlier,
    failures: digest.error_snippets.map((one) => ({
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

interface SessionReader {
  session(uid: string): Session | undefined
  /** Where the last digest stopped; undefined to begin at the beginning. */
  fold(uid: string): Fold | undefined
  events(uid: string, afterSeq: number): Iterable<DigestEvent>
  coverage(uid: string): Coverage
  children(uid: string): string[]
  /** The digest of a session none of whose events are here. */
  frozen(uid: string): StoredDigest | undefined
  /** What it copied, as far as that was found out after its events had gone. */
  copied(uid: string): { originUid: string; seqs: Range[]; originSeqs: Range[] } | undefined
  /** The digest of events that are no longer here, and the last of them; undefined while all are here. */
  earlier(uid: string): { seq: number; digest: string } | undefined
}

type Range = [first: number, last: number]

interface StoredDigest {
  digest: string
  earlier: string | null
  earlier_seq: number
}

/** Prepared once for all sessions of a sweep. */
function sessionReader(handle: ReadHandle): SessionReader {
  const { cache, memory } = handle
  const cached = cache.prepare('SELECT id FROM cached WHERE session_uid = ?')
  const idOf = (uid: string): number => (cached.get(uid) as { id: number } | undefined)?.id ?? -1
  const rows = cache.prepare(
    `SELECT seq, ts, kind, role, tool, call, summary, flags, agent, exit_code, duration_ms, payload
     FROM events WHERE session = ? AND seq > ? ORDER BY seq LIMIT ${AT_ONCE}`,
  )
  const touched = cache.prepare('SELECT seq, path FROM touched WHERE session = ? AND seq > ? AND seq <= ?')
  const understood = cache.prepare(
    `SELECT coalesce(sum(size), 0) AS size, coalesce(sum((SELECT sum(length) FROM gaps g WHERE g.path = s.path)), 0) AS gaps
     FROM sources s WHERE session_uid = ?`,
  )
  const children = memory.prepare(
    "SELECT session_uid FROM edges WHERE parent_uid = ? AND kind = 'subagent' ORDER BY session_uid",
  )
  const firstSeq = cache.prepare('SELECT min(seq) AS seq FROM events WHERE session = ?')
  const stored = memory.prepare('SELECT digest, earlier, earlier_seq FROM digests WHERE session_uid = ?')
  const copied = memory.prepare(
    "SELECT origin_uid, seqs, origin_seqs FROM copied WHERE session_uid = ? AND origin_uid <> ''",
  )
  return {
    session: (uid) => getSession(handle, uid),
    frozen(uid) {
      const { seq } = firstSeq.get(idOf(uid)) as { seq: number | null }
      return seq === null ? (stored.get(uid) as StoredDigest | undefined) : undefined
    },
    copied(uid) {
      const row = copied.get(uid) as { origin_uid: string; seqs: string; origin_seqs: string } | undefined
      return (
        row && {
          originUid: row.origin_uid,
          seqs: JSON.parse(row.seqs) as Range[],
          originSeqs: JSON.parse(row.origin_seqs) as Range[],
        }
      )
    },
    fold(uid) {
      const fold = foldOf(cache, idOf(uid))
      return fold?.rules === RULES ? fold : undefined
    },
    *events(uid, afterSeq) {
      const id = idOf(uid)
      for (let after = afterSeq; ; ) {
        const some = rows.all(id, after) as unknown as Row[]
        const last = some.at(-1)
        if (!last) return
        const files = new Map<number, string[]>()
        for (const { seq, path } of touched.all(id, after, last.seq) as unknown as Touched[])
          entryOf(files, seq, () => [] as string[]).push(path)
        for (const row of some) yield toEvent(row, files.get(row.seq) ?? [], handle)
        after = last.seq
      }
    },
    coverage(uid) {
      const { size, gaps } = understood.get(uid) as { size: number; gaps: number }
      const share = size === 0 ? 1 : Math.round((1 - Math.min(gaps, size) / size) * 10_000) / 10_000
      return { source_bytes: size, gap_bytes: gaps, share }
    },
    children: (uid) =>
      (children.all(uid) as unknown as { session_uid: string }[]).map((row) => row.session_uid),
    earlier(uid) {
      const { seq: first } = firstSeq.get(idOf(uid)) as { seq: number | null }
      if (first === null || first <= 1) return undefined
      const row = stored.get(uid) as StoredDigest | undefined
      if (!row) return undefined
      // Once kept, the same part is added to every later digest; only a further eviction makes the digest so far the base.
      return row.earlier !== null && row.earlier_seq >= first - 1
        ? { seq: row.earlier_seq, digest: row.earlier }
        : { seq: first - 1, digest: row.digest }
    },
  }
}

/** So many events are held at a time. */
const AT_ONCE = 4096

interface Touched {
  seq: number
  path: string
}

interface Row {
  seq: number
  ts: number | null
  kind: number
  role: number
  tool: string | null
  call: Uint8Array | null
  summary: string
  flags: number
  agent: string | null
  exit_code: number | null
  duration_ms: number | null
  payload: Uint8Array
}

function toEvent(row: Row, files: readonly string[], handle: ReadHandle): DigestEvent {
  return {
    seq: row.seq,
    ts: row.ts,
    kind: EVENT_KINDS[row.kind] as EventKind,
    role: ROLES[row.role] ?? 'system',
    tool: row.tool,
    call: row.call && Buffer.from(row.call).toString('latin1'),
    summary: row.summary,
    isSidechain: (row.flags & FLAG.sidechain) !== 0,
    isInherited: (row.flags & (FLAG.inherited | FLAG.copied)) !== 0,
    isSuperseded: (row.flags & FLAG.superseded) !== 0,
    agent: row.agent,
    exitCode: row.exit_code,
    durationMs: row.duration_ms,
    files,
    payload() {
      const body = handle.payload(Buffer.from(row.payload).toString('hex'))
      return body === undefined ? undefined : (JSON.parse(body) as unknown)
    },
  }
}
