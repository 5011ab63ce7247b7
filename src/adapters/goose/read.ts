// Goose's database: rows of messages, written when all tools of a step have ended, and written anew when a conversation is
// compacted; tokens as totals of a session, and in newer databases also for each response. Ids of sessions count the days' sessions of one database.
import { basename, join } from 'node:path'
import type { EventItem, Item, Position, Read } from '../adapter.ts'
import { numbered } from '../kit/bounded.ts'
import {
  askDatabase,
  bounded,
  type ForeignDatabase,
  jsonRows,
  listIn,
  type Row,
  readSessionTables,
  type SessionTables,
} from '../kit/database.ts'
import { edgeItem, factsItems, usageItem } from '../kit/facts.ts'
import { type Fields, fields, fieldsIn, isRecord, list, num, str, time } from '../kit/guards.ts'
import { readLines } from '../kit/lines.ts'
import { messageEvents } from '../kit/messages.ts'
import { otherPart, type Part, toolCall } from '../kit/parts.ts'
import { speakerOf } from '../kit/shapes.ts'
import { contentText, firstLine } from '../kit/text.ts'
import { newThread, sharedName, type Thread } from '../kit/thread.ts'
import { disjointTokens, tokenCount } from '../kit/tokens.ts'
import { toolsBy } from '../kit/tools.ts'

export const read: Read = ({ path, ownRoots }, from) =>
  path.endsWith('.jsonl') ? readFile(path, from) : readSessionTables(path, from, tables(ownRoots))

const TOOLS = toolsBy({
  shell: 'developer__shell shell',
  edit: 'edit write',
  read: 'analyze',
  search: 'tree',
  spawn: 'delegate',
})

const tables = (ownRoots: readonly string[] | undefined): SessionTables => ({
  tables: ['sessions', 'messages'],
  updatedAt: (row) => utc(row['updated_at']),
  without: ['extension_data'],
  sums(database) {
    const flags = database.has('messages', 'metadata_json') ? 'octet_length(metadata_json)' : '0'
    const sizes = `sum(octet_length(content_json)) AS size, sum(${flags}) AS flags`
    return [['messages', `count(*) AS count, max(id) AS last, ${sizes}`]]
  },
  once: (database) => (ownRoots ? endingOf(database, ownRoots) : ''),
  // A copy may be older than what it is a copy of: of its totals the greater ones hold.
  tell: (database, row, ending) => tell(database, row, { ending, isOwn: ownRoots === undefined }),
})

/** An id from before the database: the time of the session's beginning. */
const IS_TIME = /^\d{8}_\d{6}$/

/** What tells a database from this machine's own, as an ending for the ids in it: when it was made. None for a copy of that one. */
function endingOf(database: ForeignDatabase, ownRoots: readonly string[]): string {
  const birth = birthOf(database)
  const isCopy = ownRoots.some((root) => askDatabase(join(root, 'sessions.db'), birthOf) === birth)
  return isCopy ? '' : `@${birth}`
}

function birthOf(database: ForeignDatabase): string {
  const [row] = database.has('schema_version', 'applied_at')
    ? database.rows('SELECT min(applied_at) AS at FROM schema_version')
    : database.rows('SELECT min(created_at) AS at FROM sessions')
  return String(utc(row?.['at']) ?? '')
}

/** As SQLite writes times: of Greenwich, without saying so. */
function utc(value: unknown): number | null {
  const text = str(value)
  if (text === undefined) return time(value)
  return time(/(?:Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text.replace(' ', 'T')}Z`)
}

type Place = { ending: string; isOwn: boolean }

function* tell(database: ForeignDatabase, row: Row, { ending, isOwn }: Place): Generator<Item> {
  const id = String(row['id'])
  const thread = newThread(IS_TIME.test(id) ? id : id + ending)
  const config = fieldsIn(row['model_config_json'])
  const ledger = yield* ledgerItems(thread, database, id)
  const facts = { ...row, model: config['model_name'], isOwn }
  yield* sessionItems(thread, facts, utc(row['created_at']), ledger)
  const columns = ['message_id', 'metadata_json'].filter((column) => database.has('messages', column))
  const rows = database.rows(
    `SELECT id, role, created_timestamp, ${[...columns, bounded('content_json')].join(', ')}
     FROM messages WHERE session_id = ? ORDER BY id`,
    id,
  )
  for (const message of jsonRows(rows, 'messages', 'content_json', listIn)) {
    const { message_id, role, created_timestamp: created, metadata_json } = message.row
    const metadata = fieldsIn(metadata_json)
    if ('gap' in message) yield message.gap
    else yield* messageItems(thread, { id: message_id, role, created, content: message.value, metadata })
  }
}

/** Files from before the database begin with what its row would say. What was moved there has the ids of its files. */
function readFile(path: string, from: Position | null): Iterable<Item> {
  const fresh = (): Thread => newThread(basename(path, '.jsonl'))
  return readLines(path, from, fresh, function* (thread, { record }) {
    if (record['role'] === undefined) yield* sessionItems(thread, record, utc(record['created_at']))
    else yield* messageItems(thread, record)
  })
}

const NO_TITLES = /^(?:CLI Session|New (?:session|chat).{0,20}|Delegated task|\d{8}_\d+)?$/i

/** What responses told of themselves is not a part of the total any more. */
const NOTHING_TOLD = { input: 0, output: 0, usd: 0 }

/** One row for each response, compactions included; what was cached is a part of the input. */
function* ledgerItems(
  thread: Thread,
  database: ForeignDatabase,
  id: string,
): Generator<Item, typeof NOTHING_TOLD> {
  const told = { ...NOTHING_TOLD }
  if (!database.has('usage_ledger', 'cache_read_tokens')) return told
  const rows = database.rows('SELECT rowid AS row, * FROM usage_ledger WHERE session_id = ?', id)
  for (const row of rows) {
    const counts = {
      input: row['input_tokens'],
      cacheRead: row['cache_read_tokens'],
      cacheWrite: row['cache_write_tokens'],
      output: row['output_tokens'],
    }
    const ts = time(row['created_timestamp'])
    const usd = num(row['cost']) ?? 0
    yield usageItem(thread, disjointTokens(counts, { inputHasCache: true }), {
      id: `goose:${thread.session}:${row['row']}@${ts ?? ''}`,
      ts,
      model: str(row['model']) ?? null,
      usd,
    })
    told.input += tokenCount(counts.input)
    told.output += tokenCount(counts.output)
    told.usd += usd
  }
  return told
}

function* sessionItems(thread: Thread, row: Fields, at: number | null, told = NOTHING_TOLD): Generator<Item> {
  const title = str(row['name']) || str(row['description']) || ''
  yield* factsItems(thread, {
    startedAt: at ?? undefined,
    cwd: str(row['working_dir']),
    model: str(row['model']),
    title: NO_TITLES.test(title) ? undefined : title,
    titleByPerson: Number(row['user_set_name']) === 1 || undefined,
    relation: row['session_type'] === 'sub_agent' ? 'subagent' : undefined,
  })
  const counts = {
    input: Math.max(0, tokenCount(row['accumulated_input_tokens']) - told.input),
    output: Math.max(0, tokenCount(row['accumulated_output_tokens']) - told.output),
  }
  if (counts.input + counts.output === 0) return
  const usd = (num(row['accumulated_cost']) ?? 0) - told.usd
  yield usageItem(thread, disjointTokens(counts), {
    id: `goose:${thread.session}:${at ?? ''}`,
    ts: at,
    // How much of the input came from a cache is not kept: by the model's prices it would cost too much.
    model: null,
    scope: 'turn',
    isLatest: row['isOwn'] !== false,
    usd,
  })
}

/** What can be seen of a message, by the person and by the model. */
type Shown = { isHuman: boolean; isModels: boolean }

function* messageItems(thread: Thread, message: Fields): Generator<Item> {
  const { id, role, created, content, metadata } = message
  const flags = fields(metadata)
  const shown = { isHuman: flags['userVisible'] !== false, isModels: flags['agentVisible'] !== false }
  const ts = time(created)
  // Rows change their numbers when a conversation is compacted, and a copied session keeps the rest; old files have no ids.
  const isOld = IS_TIME.test(thread.session)
  const name = numbered(thread.seen, sharedName([isOld ? null : (id ?? null), role, created, content]))
  const speaker = speakerOf(role) ?? 'system'
  for (const [at, block] of list(content).entries()) {
    const raw = isRecord(block) ? block : { value: block }
    const part = partOf(raw, speaker === 'user', shown)
    yield* messageEvents(thread, { name: `${name}.${at}`, ts, speaker, parts: [part] }, TOOLS)
    const child = part.is === 'result' ? childOf(raw, thread.session) : undefined
    if (child) yield edgeItem('subagent', child, thread.session, ts, str(raw['id']) ?? name)
  }
}

function partOf(raw: Fields, isUser: boolean, shown: Shown): Part {
  const type = str(raw['type']) ?? 'no type'
  const other = (summary: string, kind?: EventItem['kind']): Part =>
    otherPart(type, raw, { summary, ...(kind && { kind }) })
  switch (type) {
    case 'text':
      return textOf(raw, isUser, shown)
    case 'thinking':
    case 'redactedThinking':
      return { is: 'thinking', text: str(raw['thinking']) ?? '', raw }
    case 'toolRequest':
    case 'frontendToolRequest':
      return callOf(raw)
    case 'toolResponse':
      return resultOf(raw)
    case 'image':
      return other('[image]')
    case 'toolConfirmationRequest':
      return other(`asks whether to run ${str(raw['toolName']) ?? 'a tool'}`)
    case 'actionRequired': {
      const data = fields(raw['data'])
      if (data['actionType'] === 'elicitationResponse') return other('answered', 'decision')
      return other(str(data['message']) ?? `asks whether to run ${str(data['toolName']) ?? 'a tool'}`)
    }
    case 'systemNotification': {
      const isEnd = raw['notificationType'] === 'creditsExhausted'
      return other(str(raw['msg']) ?? 'notice', isEnd ? 'error' : undefined)
    }
    default:
      return otherPart(`content ${type}`, raw, { isKnown: false })
  }
}

function textOf(raw: Fields, isUser: boolean, { isHuman, isModels }: Shown): Part {
  const text = str(raw['text']) ?? ''
  const part: Part = { is: 'text', text, raw }
  if (isHuman) return part
  // A prompt is kept aside, and said again behind the account of what came before it.
  if (!isModels) return otherPart('text', raw, { summary: firstLine(text) })
  const isCompaction = !isUser && text.startsWith('Your context was compacted')
  const compaction = { summary: 'conversation compacted', mark: 'compaction' } as const
  return { ...part, more: { kind: 'lifecycle', role: 'system', ...(isCompaction && compaction) } }
}

function callOf(raw: Fields): Part {
  const { value } = fields(raw['toolCall'])
  const { name, arguments: input } = fields(value)
  const { path, before, after } = fields(input)
  const isEdit = typeof path === 'string' && typeof before === 'string' && typeof after === 'string'
  const edit = isEdit ? { act: { edits: [{ path, before, after }] } } : {}
  return { ...toolCall(raw['id'], name, input, raw), ...edit }
}

function resultOf(raw: Fields): Part {
  const { status, value, error } = fields(raw['toolResult'])
  const result = isRecord(value) ? value : { content: value }
  const printed = fields(result['structuredContent'])
  const exitCode = num(printed['exit_code'])
  const text = str(error) ?? contentText(result['content'])
  return {
    is: 'result',
    id: str(raw['id']),
    text,
    failed: status === 'error' || result['isError'] === true || (exitCode ?? 0) !== 0,
    isRefused: text?.startsWith('The user has declined to run this tool') === true,
    state: status === 'error' && /Interrupted by the user/.test(text ?? '') ? 'stopped' : undefined,
    exitCode,
    // The row of a result is made before its tool runs.
    durationMs: null,
    raw,
  }
}

/** The session of a sub-agent, of the same database: nothing else names it. */
function childOf({ toolResult }: Fields, parent: string): string | undefined {
  const id = str(fields(fields(fields(toolResult)['value'])['_meta'])['subagent_session_id'])
  const [, ending] = parent.split('@')
  return id && ending ? `${id}@${ending}` : id
}
