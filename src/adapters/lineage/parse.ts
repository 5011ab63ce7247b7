// One line → one edge, and the sessions at its two ends. Sessions of this flavor have no events of their own, except for
// what an edge cannot say: kinds and fields nobody has described.
import { EDGE_KINDS, type EdgeKind } from '../../model.ts'
import type { Item, Position, SessionItem, Source } from '../adapter.ts'
import { str, time } from '../kit/guards.ts'
import { type Line, readLines } from '../kit/lines.ts'
import { hashOf } from '../kit/text.ts'

export function read(source: Source, from: Position | null): Generator<Item> {
  return readLines(
    source.path,
    from,
    () => null,
    (_, line) => lineItems(line),
  )
}

const isEdgeKind = (kind: string): kind is EdgeKind => (EDGE_KINDS as readonly string[]).includes(kind)
const RELATIONS: Partial<Record<EdgeKind, SessionItem['relation']>> = {
  created: 'main',
  compacted: 'main',
  interactive_fork: 'fork',
  bg_fork: 'fork',
}

/** Kinds that the first writer of the format has added since: sessions in the background, mostly without a parent. */
const ADDED: Record<string, EdgeKind> = { isolated_bg: 'bg_fork', persistent_bg: 'bg_fork' }

const edgeKindOf = (kind: string): EdgeKind | undefined =>
  isEdgeKind(kind) ? kind : Object.hasOwn(ADDED, kind) ? ADDED[kind] : undefined

function* lineItems({ record, offset, length }: Line): Generator<Item> {
  const { session_id, event, timestamp, parent_session_id, ...rest } = record
  const session = str(session_id)
  const name = str(event)
  if (!session || !name) {
    yield { type: 'gap', reason: 'schema', detail: 'no session id or no event', offset, length }
    return
  }
  const at = time(timestamp)
  const parent = str(parent_session_id) || null
  const kind = edgeKindOf(name)
  if (kind !== undefined) {
    if (parent !== null) yield { type: 'session', session: parent }
    const relation = name !== kind && parent === null ? undefined : RELATIONS[kind]
    const isBirth = kind !== 'cleared'
    yield {
      type: 'session',
      session,
      ...(relation && { relation }),
      ...(isBirth && at !== null && { startedAt: at }),
    }
    yield { type: 'edge', kind, session, parent, at, ...(name !== kind && { evidence: name }) }
  } else yield { type: 'unknown', name }
  const isOddParent = parent === null && parent_session_id !== null && parent_session_id !== undefined
  if (kind !== undefined && Object.keys(rest).length === 0 && !isOddParent) return
  const payload = { event, timestamp, parent_session_id, ...rest }
  yield {
    type: 'event',
    session,
    key: `${name}:${hashOf(payload)}`,
    ts: at,
    kind: 'lifecycle',
    role: 'system',
    summary: parent === null ? name : `${name} from ${parent}`,
    payload,
  }
}
