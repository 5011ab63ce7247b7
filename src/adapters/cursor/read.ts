// One conversation of Cursor's may stand in a transcript and in a database, of which the database tells more and holds. An event
// is named by what is said or called; none has a time of its own, since two of the three places tell none.
import { existsSync, readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { EventItem, Item, Position, Read, SweepMemo } from '../adapter.ts'
import { numbered } from '../kit/bounded.ts'
import {
  askDatabase,
  bounded,
  type DatabaseReader,
  type ForeignDatabase,
  jsonIn,
  readDatabase,
} from '../kit/database.ts'
import { edgeItem, factsItems } from '../kit/facts.ts'
import { type Fields, fields, fieldsIn, isRecord, list, str, time } from '../kit/guards.ts'
import { readLines } from '../kit/lines.ts'
import { newMemo } from '../kit/memo.ts'
import { messageEvents, noteEvent } from '../kit/messages.ts'
import { otherPart, type Part } from '../kit/parts.ts'
import { type Speaker, speakerOf } from '../kit/shapes.ts'
import { contentText, hashOf, leaves } from '../kit/text.ts'
import { newThread, type Thread } from '../kit/thread.ts'
import { toolsBy } from '../kit/tools.ts'
import { editors } from './agent.ts'

export const read: Read = ({ path }, from, memo = newMemo()) => {
  if (path.endsWith('.jsonl')) return readTranscript(path, from, memo)
  const reader = path.endsWith('.vscdb') ? EDITOR : commandLine(basename(dirname(path)))
  const home = /^.*(?=[\\/](?:\.cursor|\.config|Library)[\\/])/.exec(path)?.[0] ?? ''
  const tell: DatabaseReader['read'] = (database, id, once) =>
    instead(reader.read(database, id, once), id, home, memo)
  return readDatabase(path, from, { ...reader, read: tell })
}

/**
 * What a database tells in the place of a transcript, which may have been there, and read, before it: its events have names
 * of their own, and those of the transcript count nowhere. (Before version 2 they had the transcript's.)
 */
function* instead(items: Iterable<Item>, id: string, home: string, memo: SweepMemo): Generator<Item> {
  const others = new Set<string>()
  for (const item of items) {
    if (item.type === 'event') others.add(item.key)
    yield item.type === 'event' ? renamed(item) : item
  }
  for (const path of transcriptsOf(id, home, memo))
    for (const item of linesOf(path, null)) if (item.type === 'event') others.add(item.key)
  const keys = [...others]
  if (keys.length > 0) yield { type: 'supersede', session: id, keys, isRepetition: true }
}

const ownName = (name: string): string => `db ${name}`

const renamed = ({ key, parentKey, callId, ...event }: EventItem): EventItem => ({
  ...event,
  key: ownName(key),
  ...(parentKey !== undefined && { parentKey: parentKey && ownName(parentKey) }),
  ...(callId && { callId: ownName(callId) }),
})

function transcriptsOf(id: string, home: string, memo: SweepMemo): string[] {
  const projects = join(home, '.cursor', 'projects')
  const folders = memo.get(`cursor ${projects}`, () => (existsSync(projects) ? readdirSync(projects) : []))
  return folders
    .map((folder) => join(projects, folder, 'agent-transcripts', id, `${id}.jsonl`))
    .filter((path) => existsSync(path))
}

const TOOLS = toolsBy({
  shell: 'run_terminal_cmd',
  edit: 'search_replace',
  search: 'codebase_search file_search list_dir',
  spawn: 'task',
})

/** Native ids of calls → our names of them. */
type Calls = Map<string, string>

function* say(thread: Thread, speaker: Speaker, part: Part, calls: Calls = new Map()): Generator<Item> {
  if (part.is === 'result') {
    const call = calls.get(part.id ?? '')
    const name = call === undefined ? numbered(thread.seen, hashOf(part.raw)) : `${call}.end`
    yield* messageEvents(thread, { name, ts: null, speaker, parts: [{ ...part, id: call }] }, TOOLS)
    return
  }
  const said = part.is === 'call' ? [part.tool, part.input] : part.is === 'other' ? part.raw : part.text
  const name = numbered(thread.seen, hashOf([part.is, said]))
  if (part.is === 'call' && part.id) calls.set(part.id, name)
  const told = part.is === 'call' ? { ...part, id: name } : part
  const more = part.raw['type'] === 'context' ? { role: 'system' as const } : {}
  yield* messageEvents(thread, { name, ts: null, speaker, parts: [told], more }, TOOLS)
}

/** The same body wherever it stands. */
const textPart = (is: 'text' | 'thinking', text: string, type: string = is): Part => ({
  is,
  text,
  raw: { type, text },
})

/** What a person asked is marked as such where a program adds words of its own. */
function wordsOf(text: string): Part {
  const [start, end] = [text.indexOf('<user_query>'), text.lastIndexOf('</user_query>')]
  const asked =
    start === -1 || end < start ? undefined : text.slice(start + '<user_query>'.length, end).trim()
  return asked === undefined && /^<\w+>/.test(text)
    ? textPart('text', text, 'context')
    : textPart('text', asked ?? text)
}

const callPart = (id: string | undefined, tool: string, given: unknown): Part => {
  const input = typeof given === 'string' ? fieldsIn(given) : given
  return { is: 'call', id, tool, input, raw: { type: 'tool-call', tool, input } }
}

/** Blocks of transcripts (`tool_use`) and of the command line (`tool-call`, `tool-result`). */
function partOf(block: unknown, isUser: boolean): Part {
  const raw = isRecord(block) ? block : { type: 'text', text: str(block) ?? '' }
  const text = str(raw['text']) ?? ''
  switch (raw['type']) {
    case 'text':
      return isUser ? wordsOf(text) : textPart('text', text)
    case 'reasoning':
    case 'redacted-reasoning':
      return textPart('thinking', text)
    case 'tool_use':
      return callPart(str(raw['id']), str(raw['name']) ?? 'unknown', raw['input'])
    case 'tool-call':
      return callPart(str(raw['toolCallId']), str(raw['toolName']) ?? 'unknown', raw['args'] ?? raw['input'])
    case 'tool-result': {
      const { result, output, isError } = raw
      const said = contentText(result ?? output) ?? leaves(result ?? output)
      const id = str(raw['toolCallId'])
      return { is: 'result', id, text: said, failed: isError === true, raw: { result, output } }
    }
    case 'image':
    case 'file':
      return otherPart(String(raw['type']), raw)
    default:
      return otherPart(`block ${str(raw['type']) ?? 'without type'}`, raw, { isKnown: false })
  }
}

const blocksOf = (content: unknown): unknown[] => (typeof content === 'string' ? [content] : list(content))

/** `<id>/<id>.jsonl`, and `<id>/subagents/<child>.jsonl`. What a database holds too is told from there, with its results. */
const readTranscript = (path: string, from: Position | null, memo: SweepMemo): Iterable<Item> =>
  isElsewhere(basename(path, '.jsonl'), path, memo) ? [] : linesOf(path, from)

function linesOf(path: string, from: Position | null): Iterable<Item> {
  const id = basename(path, '.jsonl')
  const [folder, parent] = [basename(dirname(path)), basename(dirname(dirname(path)))]
  const isChild = folder === 'subagents'
  return readLines(
    path,
    from,
    () => newThread(id),
    function* (thread, { record }) {
      for (const facts of factsItems(thread, { relation: isChild ? 'subagent' : undefined })) {
        yield facts
        yield edgeItem('subagent', id, parent ?? null, null)
      }
      const speaker = speakerOf(record['role'])
      if (speaker) {
        for (const block of blocksOf(fields(record['message'])['content']))
          yield* say(thread, speaker, partOf(block, speaker === 'user'))
        return
      }
      const name = numbered(thread.seen, hashOf(record))
      const isEnd = record['type'] === 'turn_ended'
      const summary = isEnd ? `turn ended: ${str(record['status']) ?? ''}` : '(not known)'
      const end = isEnd ? ({ kind: 'completion', mark: 'turn-end' } as const) : {}
      yield noteEvent(thread, { name, ts: null, summary, ...end, payload: record })
      if (!isEnd) yield { type: 'unknown', name: `record ${str(record['type']) ?? 'without type'}` }
    },
  )
}

function isElsewhere(id: string, path: string, memo: SweepMemo): boolean {
  const home = path.slice(0, path.lastIndexOf('.cursor'))
  const chats = join(home, '.cursor', 'chats')
  const folders = memo.get(`cursor ${chats}`, () => (existsSync(chats) ? readdirSync(chats) : []))
  if (folders.some((folder) => existsSync(join(chats, folder, id, 'store.db')))) return true
  const inEditor = memo.get(`cursor ${home}`, () => new Set(editors({ HOME: home }).flatMap(composersIn)))
  return inEditor.has(id)
}

/** The conversations in the editor's database that hold anything. */
const composersIn = (path: string): string[] =>
  askDatabase(path, (database) =>
    EDITOR.tables.every((table) => database.has(table)) ? [...composers(database)].map(({ id }) => id) : [],
  ) ?? []

/** One conversation: blobs by the hashes of their bytes, messages among them, and nodes that list others in order. */
const commandLine = (id: string): DatabaseReader => ({
  tables: ['blobs', 'meta'],
  *sessions(database) {
    const [count] = database.rows('SELECT count(*) AS count FROM blobs')
    yield { id, updatedAt: null, mark: [count, [...database.rows('SELECT value FROM meta')]] }
  },
  *read(database) {
    const [row] = database.rows("SELECT CAST(value AS TEXT) AS value FROM meta WHERE key = '0'")
    const text = str(row?.['value']) ?? ''
    const meta = fieldsIn(text.startsWith('7b') ? Buffer.from(text, 'hex').toString('utf8') : text)
    const thread = newThread(id)
    const startedAt = time(meta['createdAt']) ?? undefined
    yield* factsItems(thread, {
      startedAt,
      title: str(meta['name']),
      model: str(meta['lastUsedModel']),
    })
    const calls: Calls = new Map()
    for (const message of messagesFrom(database, str(meta['latestRootBlobId']) ?? '')) {
      const speaker = speakerOf(message['role']) ?? 'system'
      for (const block of blocksOf(message['content']))
        yield* say(thread, speaker, partOf(block, speaker === 'user'), calls)
    }
  },
})

const MAX_DEPTH = 64

function* messagesFrom(
  database: ForeignDatabase,
  id: string,
  seen = new Set<string>(),
  depth = 0,
): Generator<Fields> {
  if (seen.has(id) || depth > MAX_DEPTH) return
  seen.add(id)
  const [row] = database.rows('SELECT data FROM blobs WHERE id = ? AND octet_length(data) < 10485760', id)
  if (row === undefined) return
  const data =
    typeof row['data'] === 'string'
      ? Buffer.from(row['data'])
      : Buffer.from((row['data'] ?? []) as Uint8Array)
  if (data[0] === 0x7b) yield fieldsIn(data.toString('utf8'))
  else for (const child of hashesIn(data)) yield* messagesFrom(database, child, seen, depth + 1)
}

/** Fields 1 and 2 of 32 bytes each, wherever they stand. */
function* hashesIn(data: Buffer): Generator<string> {
  for (let at = 0; at + 34 <= data.length; at++)
    if ((data[at] === 0x0a || data[at] === 0x12) && data[at + 1] === 0x20) {
      yield data.toString('hex', at + 2, at + 34)
      at += 33
    }
}

/** Rows are put in anew when they change, so the latest number tells when. */
function* composers(database: ForeignDatabase): ReturnType<DatabaseReader['sessions']> & Generator {
  const rows = database.rows(
    `SELECT substr(key, 10, 36) AS id, count(*) AS count, sum(octet_length(value)) AS size, max(rowid) AS last
     FROM cursorDiskKV WHERE key >= 'bubbleId:' AND key < 'bubbleId;' GROUP BY 1`,
  )
  for (const { id, last, ...mark } of rows) yield { id: String(id), updatedAt: Number(last), mark }
}

const EDITOR: DatabaseReader = {
  tables: ['cursorDiskKV'],
  sessions: composers,
  *read(database, id) {
    const composer = yield* valueIn(database, `composerData:${id}`)
    const thread = newThread(id)
    yield* factsItems(thread, {
      startedAt: time(composer['createdAt']) ?? undefined,
      title: str(composer['name']),
      model: str(fields(composer['modelConfig'])['modelName']),
    })
    const calls: Calls = new Map()
    for (const header of list(composer['fullConversationHeadersOnly'])) {
      const bubble = yield* valueIn(database, `bubbleId:${id}:${str(fields(header)['bubbleId'])}`)
      const speaker = bubble['type'] === 1 ? 'user' : 'assistant'
      for (const part of bubbleParts(bubble)) yield* say(thread, speaker, part, calls)
    }
  },
}

function* valueIn(database: ForeignDatabase, key: string): Generator<Item, Fields> {
  const [row] = database.rows(
    `SELECT ${bounded('value')} FROM (SELECT CAST(value AS TEXT) AS value FROM cursorDiskKV WHERE key = ?)`,
    key,
  )
  const data = row && jsonIn(row, 'value', key)
  if (data && 'gap' in data) yield data.gap
  return data && 'value' in data ? data.value : {}
}

function bubbleParts(bubble: Fields): Part[] {
  const thought = str(fields(bubble['thinking'])['text'])
  const text = str(bubble['text'])
  const parts = [thought ? textPart('thinking', thought) : [], text ? textPart('text', text) : []].flat()
  const tool = fields(bubble['toolFormerData'])
  if (str(tool['name']) === undefined) return parts
  const id = str(tool['toolCallId']) ?? ''
  parts.push(callPart(id, String(tool['name']), tool['rawArgs'] ?? tool['params']))
  const { status, result, error } = tool
  if (status !== 'completed' && status !== 'error' && status !== 'cancelled' && status !== 'rejected')
    return parts
  const told = str(error) ?? str(result) ?? leaves(result ?? error)
  const failed = status !== 'completed'
  const state = status === 'cancelled' ? 'stopped' : undefined
  const raw = { status, result, error }
  return [...parts, { is: 'result', id, text: told, failed, isRefused: status === 'rejected', state, raw }]
}
