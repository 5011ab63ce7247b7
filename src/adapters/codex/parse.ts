// One record → items. Knows the two envelopes (wrapped since 0.32, flat before) and sends each record type to the file
// that understands its family. Whatever nobody described is kept whole and counted by name.
import type { Item, SweepMemo } from '../adapter.ts'
import { isRecord, num, str, time } from '../kit/guards.ts'
import { chatMessage } from './chat.ts'
import { withTurnEnd } from './ending.ts'
import { datedBy } from './flat-times.ts'
import { agentLetter, agentMessage, message, reasoning, reasoningParts } from './messages.ts'
import { compacted, flatHeader, isCopied, plain, sessionMeta, turnContext } from './meta.ts'
import { notice } from './notices.ts'
import { type RolloutName, rolloutName } from './paths.ts'
import { withTokensTied } from './response.ts'
import { type Reverted, revertedFrom, takenBack } from './revert.ts'
import type { Spot, State } from './state.ts'
import { toolCall, toolNames, toolOutput } from './tools.ts'
import { usageRecord } from './usage.ts'

type Native = Record<string, unknown>

/** The parser of one file. */
export function parserOf(path: string, memo: SweepMemo): (state: State, line: { record: Native }) => Item[] {
  const name = rolloutName(path)
  let reverted: Reverted | undefined
  return (state, { record }) => {
    state.count++
    const payload = record['payload']
    const isWrapped = isRecord(payload)
    const type = str(record['type'])
    if (state.session === null) state.session = sessionOf(record, name)
    const ts = time(record['timestamp'])
    const ordinal = isWrapped ? nextOrdinal(state, record['ordinal']) : undefined
    // Only threads whose lines are numbered can be reverted.
    if (ordinal !== undefined) reverted ??= revertedFrom(path, name.thread, memo)
    const spot: Spot = {
      state,
      session: state.session,
      type: type ?? 'unnamed',
      payload: isWrapped ? payload : record,
      metadata: isRecord(record['metadata']) ? record['metadata'] : {},
      ordinal,
      segment: name.segment,
      ts,
      inherited: isCopied(state, record, ts),
      path,
      memo,
      goesOnElsewhere: reverted?.goesOnElsewhere ?? false,
    }
    const told = isWrapped ? wrapped(spot) : datedFlat(spot, record)
    const items = withTurnEnd(spot, withTokensTied(spot, told))
    const isTakenBack = ordinal !== undefined && reverted?.from !== undefined && ordinal >= reverted.from
    return isTakenBack ? takenBack(spot.session, items) : items
  }
}

/** Ordinals only grow; one that does not cannot name a line. */
function nextOrdinal(state: State, value: unknown): number | undefined {
  const ordinal = num(value)
  if (ordinal === undefined || !Number.isSafeInteger(ordinal) || ordinal <= state.lastOrdinal)
    return undefined
  state.lastOrdinal = ordinal
  return ordinal
}

/** The id of the first line if that names one; a thread never changes it later. */
function sessionOf(record: Native, name: RolloutName): string {
  const payload = record['payload']
  if (record['type'] === 'session_meta' && isRecord(payload)) return str(payload['id']) || name.thread
  if (record['type'] === undefined && record['record_type'] === undefined)
    return str(record['id']) || name.thread
  return name.thread
}

function wrapped(spot: Spot): Item[] {
  switch (spot.type) {
    case 'session_meta':
      return sessionMeta(spot)
    case 'response_item':
      return responseItem({ ...spot, type: str(spot.payload['type']) ?? 'unnamed' })
    case 'event_msg':
      return notice({ ...spot, type: str(spot.payload['type']) ?? 'unnamed' })
    case 'turn_context':
      return turnContext(spot)
    case 'token_usage_record': {
      const usage = usageRecord(spot)
      return usage.length > 0 ? usage : [plain(spot, 'token usage record without usage', spot.payload)]
    }
    case 'compacted':
      return compacted(spot)
    case 'inter_agent_communication_metadata':
      spot.state.triggersTurn = spot.payload['trigger_turn'] === true
      return [plain(spot, 'message from another agent', spot.payload)]
    case 'inter_agent_communication':
      return agentLetter(spot, spot.payload)
    case 'world_state':
    case 'security_risk_score':
      return [plain(spot, spot.type.replaceAll('_', ' '), spot.payload)]
    default:
      return [plain(spot, spot.type, spot.payload), { type: 'unknown', name: spot.type }]
  }
}

function datedFlat(spot: Spot, record: Native): Item[] {
  const { at, startedAt } = datedBy(spot.state, record)
  const items = flat(at === null ? spot : { ...spot, ts: at }, record)
  const { session } = spot
  return startedAt === undefined ? items : [{ type: 'session', session, onlyAt: startedAt }, ...items]
}

/** Lines before 0.32: a header, bare response items, and `{"record_type":"state"}` marks that say nothing. */
function flat(spot: Spot, record: Native): Item[] {
  if (record['record_type'] === 'state' && Object.keys(record).length === 1) return []
  if (record['type'] === undefined && typeof record['role'] === 'string') return chatMessage(spot)
  if (record['type'] === undefined && typeof record['id'] === 'string')
    return flatHeader({ ...spot, type: 'session_meta' })
  if (typeof record['type'] === 'string' && record['payload'] === undefined) return responseItem(spot)
  return [plain(spot, spot.type, record), { type: 'unknown', name: `flat/${spot.type}` }]
}

function responseItem(spot: Spot): Item[] {
  const { payload } = spot
  switch (spot.type) {
    case 'message':
      return message(spot)
    case 'agent_message':
      return agentMessage(spot)
    case 'reasoning':
      return reasoning(
        spot,
        'item',
        reasoningParts(payload['summary'], payload['content']),
        str(payload['id']),
      )
    case 'function_call':
    case 'custom_tool_call':
    case 'local_shell_call':
    case 'tool_search_call':
    case 'web_search_call':
    case 'image_generation_call':
      return toolCall(spot)
    case 'function_call_output':
    case 'custom_tool_call_output':
    case 'local_shell_call_output':
    case 'tool_search_output':
      return toolOutput(spot)
    case 'additional_tools':
      return [plain(spot, 'tools', { id: payload['id'], tools: toolNames(payload['tools']) })]
    case 'compaction':
    case 'context_compaction':
    case 'compaction_summary':
    case 'compaction_trigger':
    case 'ghost_snapshot':
    case 'other':
      return [plain(spot, spot.type.replaceAll('_', ' '), payload)]
    default:
      return [plain(spot, spot.type, payload), { type: 'unknown', name: `response_item/${spot.type}` }]
  }
}
