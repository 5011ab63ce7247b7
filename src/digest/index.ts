// Digests every session that changed: reads its rows once, makes the digest, writes it in small groups.
import { EVENT_KINDS, type EventKind, type Session } from '../model.ts'
import { getSession } from '../query/sessions.ts'
import type { DigestRow, ReadHandle, Store } from '../store/store.ts'
import { FLAG, ROLES } from '../store/write.ts'
import { buildDigest, type Coverage, type Digest, ruleVersion } from './digest.ts'
import type { DigestEvent } from './event.ts'
import { type Facts, gatherFacts } from './facts.ts'
import type { Buckets } from './metrics.ts'

export interface DigestOptions {
  buckets: Buckets
  signal?: AbortSignal | undefined
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
    const row = digestRow(reader, uid, options.buckets)
    if (row) rows.push(row)
    if (rows.length < GROUP) continue
    store.writeDigests(rows)
    count += rows.length
    rows = []
  }
  store.writeDigests(rows)
  return count + rows.length
}

function digestRow(reader: SessionReader, uid: string, buckets: Buckets): DigestRow | undefined {
  const session = reader.session(uid)
  if (!session) return undefined
  const facts = gatherFacts(reader.events(uid))
  const digest = buildDigest({
    session,
    facts,
    coverage: reader.coverage(uid),
    children: reader.children(uid),
    buckets,
  })
  return toRow(session, facts, digest)
}

function toRow(session: Session, facts: Facts, digest: Digest): DigestRow {
  const times = new Map(facts.failures.map((failure) => [failure.fingerprint, failure]))
  return {
    sessionUid: session.session_uid,
    flavor: session.flavor,
    repo: session.repo,
    domain: session.domain,
    outcome: digest.outcome,
    startedAt: session.started_at === null ? null : Date.parse(session.started_at),
    endedAt: session.ended_at === null ? null : Date.parse(session.ended_at),
    ruleVersion: digest.rule_version,
    digest: JSON.stringify(digest),
    failures: digest.error_snippets.map((one) => ({
      fingerprint: one.fingerprint,
      tool: one.tool,
      sample: one.sample,
      count: one.count,
      firstAt: times.get(one.fingerprint)?.firstAt ?? null,
      lastAt: times.get(one.fingerprint)?.lastAt ?? null,
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
}

/** Prepared once for all sessions of a sweep. */
export function sessionReader(handle: ReadHandle): SessionReader {
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
