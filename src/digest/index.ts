// Digests every session that changed: reads its rows once, makes the digest, writes it in small groups.
import { EVENT_KINDS, type EventKind, type Session } from '../model.ts'
import { getSession } from '../query/sessions.ts'
import { FLAG, ROLES } from '../store/rows.ts'
import type { DigestRow, ReadHandle, Store } from '../store/store.ts'
import { buildDigest, type Coverage, type Digest, type Price, ruleVersion } from './digest.ts'
import type { DigestEvent } from './event.ts'
import { gatherFacts } from './facts.ts'
import { mergeDigests } from './merge.ts'
import type { Buckets } from './metrics.ts'

export interface DigestOptions {
  buckets: Buckets
  signal?: AbortSignal | undefined
  /** What a session's tokens cost. Without it digests tell no price. */
  priceOf?: (sessionUid: string) => Price | null
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
  const digest = buildDigest({
    session,
    facts: gatherFacts(reader.events(uid)),
    coverage: reader.coverage(uid),
    children: reader.children(uid),
    buckets,
    price: priceOf?.(uid) ?? null,
  })
  const earlier = reader.earlier(uid)
  if (earlier === undefined) return toRow(session, digest, 0, null)
  const whole = mergeDigests(JSON.parse(earlier.digest) as Digest, digest, earlier.seq, buckets)
  return toRow(session, whole, earlier.seq, earlier.digest)
}

function toRow(session: Session, digest: Digest, earlierSeq: number, earlier: string | null): DigestRow {
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
    digest: JSON.stringify(digest),
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
  }
}

interface SessionReader {
  session(uid: string): Session | undefined
  events(uid: string): Iterable<DigestEvent>
  coverage(uid: string): Coverage
  children(uid: string): string[]
  /** The digest of events that are no longer here, and the last of them; undefined while all are here. */
  earlier(uid: string): { seq: number; digest: string } | undefined
}

/** Prepared once for all sessions of a sweep. */
function sessionReader(handle: ReadHandle): SessionReader {
  const { cache, memory } = handle
  const rows = cache.prepare(
    `SELECT e.seq, e.ts, e.kind, e.role, e.tool, e.call, e.summary, e.flags, e.agent, e.exit_code, e.duration_ms, e.payload
     FROM cached c JOIN events e ON e.session = c.id WHERE c.session_uid = ? ORDER BY e.seq`,
  )
  const touched = cache.prepare(
    'SELECT t.seq, t.path FROM cached c JOIN touched t ON t.session = c.id WHERE c.session_uid = ?',
  )
  const understood = cache.prepare(
    `SELECT coalesce(sum(size), 0) AS size, coalesce(sum((SELECT sum(length) FROM gaps g WHERE g.path = s.path)), 0) AS gaps
     FROM sources s WHERE session_uid = ?`,
  )
  const children = memory.prepare(
    "SELECT session_uid FROM edges WHERE parent_uid = ? AND kind = 'subagent' ORDER BY session_uid",
  )
  const firstSeq = cache.prepare(
    'SELECT min(e.seq) AS seq FROM cached c JOIN events e ON e.session = c.id WHERE c.session_uid = ?',
  )
  const stored = memory.prepare('SELECT digest, earlier, earlier_seq FROM digests WHERE session_uid = ?')
  return {
    session: (uid) => getSession(handle, uid),
    *events(uid) {
      const files = new Map<number, string[]>()
      for (const { seq, path } of touched.all(uid) as unknown as { seq: number; path: string }[]) {
        const known = files.get(seq)
        if (known) known.push(path)
        else files.set(seq, [path])
      }
      for (const row of rows.all(uid) as unknown as Row[])
        yield toEvent(row, files.get(row.seq) ?? [], handle)
    },
    coverage(uid) {
      const { size, gaps } = understood.get(uid) as { size: number; gaps: number }
      const share = size === 0 ? 1 : Math.round((1 - Math.min(gaps, size) / size) * 10_000) / 10_000
      return { source_bytes: size, gap_bytes: gaps, share }
    },
    children: (uid) =>
      (children.all(uid) as unknown as { session_uid: string }[]).map((row) => row.session_uid),
    earlier(uid) {
      const { seq: first } = firstSeq.get(uid) as { seq: number | null }
      if (first === null || first <= 1) return undefined
      const row = stored.get(uid) as
        | { digest: string; earlier: string | null; earlier_seq: number }
        | undefined
      if (!row) return undefined
      // Once kept, the same part is added to every later digest; only a further eviction makes the digest so far the base.
      return row.earlier !== null && row.earlier_seq >= first - 1
        ? { seq: row.earlier_seq, digest: row.earlier }
        : { seq: first - 1, digest: row.digest }
    },
  }
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
