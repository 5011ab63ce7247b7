// Records about the thread itself: its first line, its settings, its compactions, and where copied parent lines end.
import type { EventItem, Item, SessionItem } from '../adapter.ts'
import { isRecord, list, num, str, time } from '../guards.ts'
import { supersedeReverted } from './revert.ts'
import { eventAt, firstLine, type Spot, type State, shortHash } from './state.ts'

/** Milliseconds since 1970 in a version 7 uuid. */
function birthOf(id: string | null | undefined): number | undefined {
  return id && /^[0-9a-f]{8}-[0-9a-f]{4}-7/i.test(id)
    ? Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
    : undefined
}

// Copied lines are written in one burst and stamped with the time of the copy.
const BURST_MS = 500

/** Whether the line was copied from a parent. Forks and spawned agents of legacy files begin with the parent's lines. */
export function isCopied(state: State, record: Record<string, unknown>, ts: number | null): boolean {
  if (state.copy !== 'reading') return false
  if (copyGoesOn(state, record, ts)) {
    state.copyAt = ts
    return true
  }
  state.copy = 'over'
  return false
}

function copyGoesOn(state: State, record: Record<string, unknown>, ts: number | null): boolean {
  const ordinal = num(record['ordinal'])
  if (state.copyEnd !== null && ordinal !== undefined) return ordinal < state.copyEnd
  if (ts !== null && state.copyAt !== null && ts - state.copyAt > BURST_MS) return false
  const payload = record['payload']
  const turn = birthOf(isRecord(payload) ? str(payload['turn_id']) : undefined)
  const thread = birthOf(state.session)
  return turn === undefined || thread === undefined || turn < thread
}

/** `session_meta`: the first one is the thread's own; another id means that a parent's lines follow. */
export function sessionMeta(spot: Spot): Item[] {
  const { state, payload } = spot
  const id = str(payload['id'])
  if (state.count > 1) {
    const startsCopy = state.count === 2 && state.copy === 'none' && id !== undefined && id !== spot.session
    if (startsCopy) {
      state.copy = 'reading'
      state.copyAt = spot.ts
    }
    if (spot.inherited || startsCopy) {
      const isFirst = state.parent === null
      state.parent = id ?? state.parent
      const edge = isFirst && startsCopy && id ? lineage(spot, { forked_from_id: id }) : []
      return [...edge, metaEvent({ ...spot, inherited: true })]
    }
    return [metaEvent(spot)]
  }
  const end = num(payload['subagent_history_start_ordinal'])
  if (end !== undefined) {
    state.copy = 'reading'
    state.copyEnd = end
    state.parent = parentOf(payload)?.id ?? null
  }
  return [facts(spot), ...lineage(spot, payload), metaEvent(spot), ...supersedeReverted(spot)]
}

function parentOf(payload: Record<string, unknown>): { id: string; isSpawn: boolean } | undefined {
  const source = payload['source']
  const subagent = isRecord(source) ? source['subagent'] : undefined
  const spawn = isRecord(subagent) ? subagent['thread_spawn'] : undefined
  const spawner =
    str(payload['parent_thread_id']) ?? (isRecord(spawn) ? str(spawn['parent_thread_id']) : undefined)
  if (spawner) return { id: spawner, isSpawn: true }
  const forked = str(payload['forked_from_id'])
  return forked ? { id: forked, isSpawn: false } : undefined
}

function lineage(spot: Spot, payload: Record<string, unknown>): Item[] {
  const parent = parentOf(payload)
  if (!parent || parent.id === spot.session) return []
  const kind = parent.isSpawn ? 'subagent' : 'interactive_fork'
  return [
    { type: 'edge', kind, session: spot.session, parent: parent.id, at: spot.ts },
    { type: 'session', session: spot.session, relation: parent.isSpawn ? 'subagent' : 'fork' },
  ]
}

/** Facts of the first line; flat files (before 0.32) have the same names at the top. */
function facts(spot: Spot): SessionItem {
  const { payload, state } = spot
  const source = payload['source']
  state.isSubagent = isRecord(source) && source['subagent'] !== undefined
  const item: SessionItem = {
    type: 'session',
    session: spot.session,
    relation: state.isSubagent ? 'subagent' : 'main',
  }
  const cwd = str(payload['cwd'])
  const git = isRecord(payload['git']) ? payload['git'] : {}
  const branch = str(git['branch'])
  const remote = str(git['repository_url'])
  const version = str(payload['cli_version'])
  const startedAt = time(payload['timestamp']) ?? spot.ts
  if (cwd) item.cwd = cwd
  if (branch) item.gitBranch = branch
  if (remote) item.gitRemote = remote
  if (version) item.agentVersion = version
  if (startedAt !== null) item.startedAt = startedAt
  state.hasCwd = cwd !== undefined
  return item
}

function metaEvent(spot: Spot): EventItem {
  const { id, session_id: _, base_instructions, instructions, ...rest } = spot.payload
  const payload: Record<string, unknown> = { type: 'session_meta', ...rest }
  const told =
    str(isRecord(base_instructions) ? base_instructions['text'] : base_instructions) ?? str(instructions)
  // The same twenty kilobytes in each session of a version.
  if (told) payload['instructions'] = { characters: told.length, sha1: shortHash(told) }
  const version = str(rest['cli_version'])
  return eventAt(spot, {
    origin: `session_meta:${str(id) ?? shortHash(JSON.stringify(payload))}`,
    kind: 'lifecycle',
    role: 'system',
    summary: `session of Codex${version ? ` ${version}` : ''}`,
    payload,
  })
}

/** The first line of a flat file, or of the single-JSON files before them. */
export function flatHeader(spot: Spot): Item[] {
  return spot.state.count > 1 ? [metaEvent(spot)] : [facts(spot), metaEvent(spot)]
}

export function turnContext(spot: Spot): Item[] {
  const { state, payload } = spot
  const model = str(payload['model'])
  if (model) state.model = model
  const items: Item[] = []
  if (model && !spot.inherited && model !== state.toldModel) {
    state.toldModel = model
    items.push({ type: 'session', session: spot.session, model })
  }
  items.push(plain(spot, `turn context${model ? `: ${model}` : ''}`, payload))
  return items
}

/** `compacted`: the summary is kept; the history it replaces stands above it in the same thread. */
export function compacted(spot: Spot): Item[] {
  const { replacement_history, replacement_history_metadata: _, retained_context: __, ...rest } = spot.payload
  const { latest_token_usage_record: ___, resume_metadata: ____, ...kept } = rest
  const payload: Record<string, unknown> = { type: 'compacted', ...kept }
  if (replacement_history !== undefined) payload['replaced_by_items'] = list(replacement_history).length
  const text = str(payload['message'])
  const event = plain(spot, `compacted: ${firstLine(text ?? '')}`, payload)
  return [text ? { ...event, text } : event]
}

/** A record kept as it is, that a search need not find. */
export function plain(spot: Spot, summary: string, payload: Record<string, unknown>): EventItem {
  const id = str(payload['turn_id']) ?? str(payload['id'])
  return eventAt(spot, {
    origin: `${spot.type}:${id ?? shortHash(JSON.stringify(payload))}`,
    kind: 'lifecycle',
    role: 'system',
    summary,
    payload: { type: spot.type, ...payload },
  })
}
