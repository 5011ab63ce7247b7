// Records about the thread itself: its first line, its settings, its compactions, and where copied parent lines end.

import type { EventItem, Item, SessionItem } from '../adapter.ts'
import { remember } from '../kit/bounded.ts'
import { isRecord, list, num, str, time } from '../kit/guards.ts'
import { shortHash } from '../kit/text.ts'
import { flatTimes } from './flat-times.ts'
import { threadName } from './names.ts'
import { supersedeReverted } from './revert.ts'
import { birthOf, eventAt, firstLine, type Spot, type State } from './state.ts'

// Copied lines are written in one burst and stamped with the time of the copy.
const BURST_MS = 500

const MAX_ANCESTORS = 16

/** Sessions of other agents that the desktop program took over stand in turns named so; no model of Codex's said any of it. */
export const isImported = (state: State): boolean => state.turn?.startsWith('external-import-turn-') ?? false

/** Whether the line was copied from a parent. Forks and spawned agents of legacy files begin with the parent's lines. */
export function isCopied(state: State, record: Record<string, unknown>, ts: number | null): boolean {
  const payload = record['payload']
  const turn = isRecord(payload) ? str(payload['turn_id']) : undefined
  if (turn) state.turn = turn
  if (isImported(state)) return true
  // A child's own turns, and its own lines, are younger than itself. (Some versions keep the times of what they copy.)
  const born = birthOf(state.session) ?? Number.NaN
  const isOlder = (birthOf(turn) ?? Number.NaN) < born
  const isEarlier = ts !== null && ts < born - BURST_MS
  if (state.copy === 'none' && (isOlder || isEarlier) && state.ancestors.length > 0) state.copy = 'reading'
  if (state.copy !== 'reading') return false
  const isPause = ts !== null && state.copyAt !== null && ts - state.copyAt > BURST_MS
  const ordinal = num(record['ordinal'])
  const goesOn =
    state.copyEnd !== null && ordinal !== undefined
      ? ordinal < state.copyEnd
      : isEarlier || (!isPause && (isOlder || birthOf(turn) === undefined || Number.isNaN(born)))
  if (goesOn) state.copyAt = ts
  else state.copy = 'over'
  return goesOn
}

/** `session_meta`: the first one is the thread's own; another id means that a parent's lines follow. */
export function sessionMeta(spot: Spot): Item[] {
  if (spot.state.count > 1) return laterMeta(spot)
  const { state, payload } = spot
  const parent = parentOf(payload)
  const end = num(payload['subagent_history_start_ordinal'])
  if (end !== undefined) {
    state.copy = 'reading'
    state.copyEnd = end
  }
  state.isContinued = isRecord(payload['history_base'])
  state.hasItems = payload['history_mode'] === 'paginated'
  const mayCopy = end !== undefined || (payload['history_mode'] !== 'paginated' && !payload['history_base'])
  if (parent && mayCopy) state.ancestors = [parent.id]
  return [facts(spot), ...lineage(spot, parent), metaEvent(spot), ...supersedeReverted(spot)]
}

/** A repetition of the thread's own (on resume), or the beginning of a parent's copied lines. */
function laterMeta(spot: Spot): Item[] {
  const { state } = spot
  const id = str(spot.payload['id'])
  const isForeign = id !== undefined && id !== spot.session
  const startsCopy = isForeign && state.count === 2 && state.copy === 'none'
  if (startsCopy) {
    state.copy = 'reading'
    state.copyAt = spot.ts
  }
  if (!isForeign || !(spot.inherited || startsCopy)) return [metaEvent(spot)]
  const isTold = state.ancestors.length > 0
  if (!state.ancestors.includes(id)) remember(state.ancestors, id, MAX_ANCESTORS)
  const edge = isTold ? [] : lineage(spot, { id, isSpawn: false })
  return [...edge, metaEvent({ ...spot, inherited: true })]
}

interface Parent {
  id: string
  isSpawn: boolean
}

function parentOf(payload: Record<string, unknown>): Parent | undefined {
  const source = payload['source']
  const subagent = isRecord(source) ? source['subagent'] : undefined
  const spawn = isRecord(subagent) ? subagent['thread_spawn'] : undefined
  const spawner =
    str(payload['parent_thread_id']) ?? (isRecord(spawn) ? str(spawn['parent_thread_id']) : undefined)
  if (spawner) return { id: spawner, isSpawn: true }
  const forked = str(payload['forked_from_id'])
  return forked ? { id: forked, isSpawn: false } : undefined
}

function lineage(spot: Spot, parent: Parent | undefined): Item[] {
  if (!parent || parent.id === spot.session) return []
  const kind = parent.isSpawn ? 'subagent' : 'interactive_fork'
  const relation = parent.isSpawn ? 'subagent' : 'fork'
  return [
    { type: 'edge', kind, session: spot.session, parent: parent.id, at: spot.ts },
    { type: 'session', session: spot.session, relation, ...guessIn(spot) },
  ]
}

/** Sub-agents, and threads Codex starts for itself (reviews, memory). */
function isByMachine(payload: Record<string, unknown>): boolean {
  const { source, thread_source } = payload
  if (isRecord(source) && (source['subagent'] !== undefined || source['internal'] !== undefined)) return true
  return (
    thread_source === 'subagent' || thread_source === 'memory_consolidation' || !!parentOf(payload)?.isSpawn
  )
}

/** Facts of the first line; flat files (before 0.32) have the same names at the top. */
function facts(spot: Spot): SessionItem {
  const { payload, state } = spot
  state.isSubagent = isByMachine(payload)
  state.isExec = payload['source'] === 'exec'
  const item: SessionItem = {
    type: 'session',
    session: spot.session,
    relation: state.isSubagent ? 'subagent' : 'main',
    ...guessIn(spot),
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
  const title = threadName(spot.path, spot.session, spot.memo)
  return title === undefined ? item : { ...item, title, titleByPerson: true }
}

/** An older file of a reverted thread only fills what the newer one leaves open. */
const guessIn = (spot: Spot): { isGuess?: true } => (spot.goesOnElsewhere ? { isGuess: true } : {})

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
  const header = metaEvent({ ...spot, ts: null })
  if (spot.state.count > 1) return [header]
  const { startedAt, ...item } = facts(spot)
  if (startedAt === undefined) return [item, header]
  spot.state.flat = flatTimes(spot.path, startedAt)
  return [{ ...item, onlyAt: startedAt }, header]
}

/** `priority` is dearer, and the list has no prices for it: its tokens stand under a name of their own. */
export function noteTier({ state }: Spot, settings: Record<string, unknown>): void {
  if ('service_tier' in settings) state.tier = settings['service_tier'] === 'priority' ? 'priority' : null
}

export function turnContext(spot: Spot): Item[] {
  const { state, payload } = spot
  const model = str(payload['model'])
  if (model) state.model = model
  noteTier(spot, payload)
  const items: Item[] = []
  if (model && !spot.inherited && model !== state.toldModel) {
    state.toldModel = model
    items.push({ type: 'session', session: spot.session, model, ...guessIn(spot) })
  }
  const hash = shortHash(JSON.stringify(payload))
  if (hash !== state.toldContext) items.push(plain(spot, `turn context${model ? `: ${model}` : ''}`, payload))
  state.toldContext = hash
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
  // A notice, or an item, tells the same a second time.
  return [{ ...event, mark: 'compaction', ...(text ? { said: text } : {}) }]
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
