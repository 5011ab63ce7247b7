// Whose transcript a full.jsonl is. Content decides, because labels are missing or wrong in the field; the label in
// metadata.json decides where the content fits several.

import { readJsonl } from '../../files/jsonl.ts'
import { readBeginning } from '../../files/reading.ts'
import { isRecord, str } from '../kit/guards.ts'
import { wordList } from '../kit/text.ts'

/** `lines` are Recollect's own and those of agents without an adapter; a `document` is one JSON value over many lines. */
export type Dialect = 'claude' | 'codex' | 'lines' | 'document'

export interface Sniffed {
  dialect: Dialect
  /** Who wrote it, as far as that can be told: names what nobody described. */
  agent: string
  /** The agent's own id of the session. */
  session: string | undefined
}

/** Written by an agent that records itself, with our library or in the same format. */
export const OWN = 'recollect'

const PEEK_ITEMS = 200
const PEEK_BYTES = 4096
const DOCUMENT = /^\uFEFF?\s*(?:\[|\{\s*\n)/

export function sniff(path: string, label: string | undefined): Sniffed {
  const agent = label === undefined ? 'unnamed' : label.toLowerCase()
  if (DOCUMENT.test(readBeginning(path, PEEK_BYTES).bytes.toString('utf8')))
    return { dialect: 'document', agent, session: undefined }
  let found: Pick<Sniffed, 'dialect' | 'agent'> | undefined
  let session: string | undefined
  let count = 0
  let isConversation = false
  for (const item of readJsonl(path, { splitJoined: true })) {
    if (++count > PEEK_ITEMS || (count > 2 && found && session !== undefined)) break
    if (!('record' in item)) continue
    isConversation = Array.isArray(item.record['messages'])
    found ??= verdict(item.record, label)
    session ??= sessionIn(item.record)
  }
  // A document on one line.
  if (count === 1 && isConversation) return { dialect: 'document', agent, session }
  return { ...(found ?? byLabel(label, agent)), session }
}

function byLabel(label: string | undefined, agent: string): Pick<Sniffed, 'dialect' | 'agent'> {
  if (label === 'Claude Code') return { dialect: 'claude', agent }
  return { dialect: label === 'Codex' ? 'codex' : 'lines', agent }
}

// Types that stand at the beginning of a file and that nobody else writes.
const CLAUDE_TYPES = new Set(
  wordList(`
  summary file-history-snapshot queue-operation attachment custom-title ai-title last-prompt mode
  permission-mode progress`),
)
const CODEX_TYPES = new Set(['session_meta', 'response_item', 'event_msg', 'turn_context', 'compacted'])

/** Undefined where the record could be anybody's. */
function verdict(
  record: Record<string, unknown>,
  label: string | undefined,
): Pick<Sniffed, 'dialect' | 'agent'> | undefined {
  const { type, message, payload, data } = record
  const name = str(type)
  if (name !== undefined && isRecord(payload) && CODEX_TYPES.has(name))
    return { dialect: 'codex', agent: 'codex' }
  if (record['record_type'] === 'state') return { dialect: 'codex', agent: 'codex' }
  if (name?.includes('.') && isRecord(data)) return { dialect: 'lines', agent: 'copilot' }
  if (isRecord(message) && Array.isArray(message['parts'])) return { dialect: 'lines', agent: 'qwen' }
  if (name === 'gemini' || record['projectHash'] !== undefined) return { dialect: 'lines', agent: 'gemini' }
  if (record['isSidechain'] !== undefined || record['userType'] !== undefined)
    return { dialect: 'claude', agent: 'claude' }
  if (name !== undefined && CLAUDE_TYPES.has(name)) return { dialect: 'claude', agent: 'claude' }
  if (name === 'session' && record['version'] !== undefined) return { dialect: 'lines', agent: 'pi' }
  if (name === 'session_start' || (name === 'message' && isRecord(message)))
    return { dialect: 'lines', agent: 'droid' }
  if (!isRecord(message)) return undefined
  if (name === undefined && record['role'] !== undefined) return { dialect: 'lines', agent: 'cursor' }
  if (name !== 'user' && name !== 'assistant') return undefined
  // Recollect writes these on every line; what Entire's rewind leaves of a line has neither.
  if (record['cwd'] !== undefined && record['version'] !== undefined) return { dialect: 'lines', agent: OWN }
  return label === 'Claude Code' ? { dialect: 'claude', agent: 'claude' } : undefined
}

function sessionIn(record: Record<string, unknown>): string | undefined {
  const { payload, data, type } = record
  if (isRecord(payload)) return type === 'session_meta' ? str(payload['id']) || undefined : undefined
  const inner = isRecord(data) ? str(data['sessionId']) : undefined
  const own = str(record['sessionId']) ?? str(record['session_id']) ?? inner
  if (own) return own
  return type === 'session' || type === 'session_start' ? str(record['id']) || undefined : undefined
}
