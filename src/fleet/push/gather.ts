// What would leave this machine of one session, at a level: the body of a push, and the segments it names.
import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { hasLocalIds } from '../../adapters/flavors.ts'
import { CONTRACT_VERSION, type Level, MAX_SEGMENT_BYTES, type SessionPush } from '../../contract.ts'
import { parseStored } from '../../errors.ts'
import { toldDocument } from '../../event/document.ts'
import { ExportSource } from '../../export/source.ts'
import { getSession } from '../../query/sessions.ts'
import type { Findings, Redactor } from '../../redact/index.ts'
import type { Notes } from '../../store/notes.ts'
import type { DueSession, PushedSegment } from '../../store/pushes.ts'

export interface Gathered {
  push: SessionPush
  /** Bytes by name, of what is still here. */
  segments: Map<string, Buffer>
}

export interface Gathering {
  notes: Pick<Notes, 'reader' | 'pushes'>
  redactor: Redactor
  level: Level
  /** Whether the machine was given a name for others: its own host name stays here. */
  isNamed: boolean
}

/** A session as a server knows it: where ids are a machine's own, with the id of the machine. */
export const uidThere = (uid: string, hostId: string): string => (hasLocalIds(uid) ? `${uid}@${hostId}` : uid)

/** Events in one segment: by number, so that one that did not change has the same name each time. */
const SEQS = 400

const flat = (text: string | null): string | null => text?.replace(/\p{Cc}/gu, ' ') ?? null

/** Undefined for one that is not here any more. */
export function gather(
  { notes, redactor, level, isNamed }: Gathering,
  due: DueSession,
): Gathered | undefined {
  const facts = notes.pushes.facts(due.uid)
  if (!facts) return undefined
  const clean = <T>(value: T): T => redactor.value(value, {} as Findings)
  const isText = level !== 'ledger'
  const there = (uid: string): string => uidThere(uid, facts.host_id)
  const digest =
    isText && facts.digest !== null
      ? { ...clean(parseStored<Record<string, unknown>>(facts.digest)), session_uid: there(due.uid) }
      : null
  const { list, bytes } = level === 'full' ? segmentsOf(notes, redactor, due) : { list: [], bytes: new Map() }
  const push: SessionPush = {
    version: CONTRACT_VERSION,
    level,
    from: due.generation,
    host: {
      id: facts.host_id,
      name: (isNamed && flat(facts.host_name)) || `host-${facts.host_id.slice(0, 6)}`,
    },
    user: flat(facts.user) as string,
    session: clean({
      uid: there(due.uid),
      flavor: facts.flavor,
      repo: flat(facts.repo),
      domain: flat(facts.domain),
      model: flat(facts.model),
      relation: facts.relation as SessionPush['session']['relation'],
      is_helper: facts.helper !== null,
      started_at: facts.started_at,
      ended_at: facts.ended_at,
      outcome: facts.outcome as SessionPush['session']['outcome'],
      turns: facts.turns,
      retries: facts.retries,
      errors: facts.errors,
      events: facts.events,
    }),
    ledger: notes.pushes.ledger(due.uid).map((one) => ({
      ...one,
      id: hasLocalIds(due.uid) ? `${one.id}@${facts.host_id}` : one.id,
      is_turn: one.is_turn === 1,
      counts: one.counts === 1,
    })),
    edges: notes.pushes
      .edges(due.uid)
      .map((one) => ({ ...one, parent_uid: there(one.parent_uid) })) as SessionPush['edges'],
    failures: notes.pushes
      .failures(due.uid)
      .map((one) => ({ ...one, tool: flat(one.tool) as string, is_mended: one.is_mended === 1 })),
    digest,
    segments: list,
  }
  return { push, segments: bytes }
}

interface Made {
  list: PushedSegment[]
  bytes: Map<string, Buffer>
}

/** What was evicted here stays as the server has it: its events cannot be told again. */
function segmentsOf(notes: Gathering['notes'], redactor: Redactor, due: DueSession): Made {
  const session = getSession(notes.reader, due.uid)
  const parts = new Map<number, string[]>()
  const firsts = new Map<number, number>()
  if (session)
    for (const { event, call, body: read } of new ExportSource(notes.reader, session).events()) {
      const part = Math.floor(event.seq / SEQS)
      const body = read()
      const line = { ...event, call, told: body ? toldDocument(body) : null, payload: body?.raw ?? null }
      const lines = parts.get(part) ?? []
      parts.set(part, lines)
      lines.push(JSON.stringify(redactor.value(line, {} as Findings)))
      firsts.set(part, Math.min(firsts.get(part) ?? event.seq, event.seq))
    }
  const bytes = new Map<string, Buffer>()
  const made = [...parts].flatMap(([part, lines]) => sealed(part * SEQS, lines, bytes))
  const known = due.segments.filter(({ first_seq, last_seq }) => {
    const first = firsts.get(Math.floor(first_seq / SEQS))
    // A part of which the beginning is gone here.
    return first === undefined || (first > first_seq && last_seq >= first)
  })
  const kept = new Set(known.map((one) => one.first_seq))
  const list = [...known, ...made.filter((one) => !kept.has(one.first_seq))].sort(
    (a, b) => a.first_seq - b.first_seq,
  )
  return { list, bytes }
}

/** Halved until it is small enough to be sent; one event that is too large alone stays here. */
function sealed(firstSeq: number, lines: readonly string[], bytes: Map<string, Buffer>): PushedSegment[] {
  const packed = gzipSync(`${lines.join('\n')}\n`, { level: 6 })
  if (packed.length > MAX_SEGMENT_BYTES) {
    if (lines.length === 1) return []
    const half = Math.ceil(lines.length / 2)
    return [
      ...sealed(firstSeq, lines.slice(0, half), bytes),
      ...sealed(firstSeq + half, lines.slice(half), bytes),
    ]
  }
  const sha256 = createHash('sha256').update(packed).digest('hex')
  bytes.set(sha256, packed)
  return [{ sha256, bytes: packed.length, first_seq: firstSeq, last_seq: firstSeq + SEQS - 1 }]
}
