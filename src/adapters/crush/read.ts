// Crush's database: messages whose parts grow in place. Times are seconds, whatever its comments say. Its token counts are
// those of the latest call alone, so only what a session cost is told, and once: a parent's cost holds its sub-agents'.
import { basename, dirname } from 'node:path'
import type { Item, Read } from '../adapter.ts'
import {
  bounded,
  type ForeignDatabase,
  jsonRows,
  listIn,
  type Row,
  readSessionTables,
  type SessionTables,
} from '../kit/database.ts'
import { edgeItem, factsItems, usageItem } from '../kit/facts.ts'
import { type Fields, fields, fieldsIn, num, str, time } from '../kit/guards.ts'
import { messageEvents } from '../kit/messages.ts'
import { otherPart, type Part, toolCall } from '../kit/parts.ts'
import { type Speaker, speakerOf } from '../kit/shapes.ts'
import { newThread, type Thread } from '../kit/thread.ts'
import { disjointTokens } from '../kit/tokens.ts'
import { exitCodeIn, toolsBy } from '../kit/tools.ts'

export const read: Read = ({ path }, from) => readSessionTables(path, from, tables(projectOf(path)))

/** Its database lies in a folder of the project, if not elsewhere. */
const projectOf = (path: string): string | undefined =>
  basename(dirname(path)) === '.crush' ? dirname(dirname(path)) : undefined

const TOOLS = toolsBy({ shell: 'bash', search: 'ls sourcegraph', spawn: 'agent', ask: 'question' })

const tables = (cwd: string | undefined): SessionTables => ({
  tables: ['sessions', 'messages'],
  updatedAt: (row) => time(row['updated_at']),
  sums: () => [['messages', 'count(*) AS count, max(updated_at) AS at, sum(octet_length(parts)) AS size']],
  tell: (database, row) => tell(database, row, cwd),
})

function* tell(database: ForeignDatabase, row: Row, cwd: string | undefined): Generator<Item> {
  const id = String(row['id'])
  const thread = newThread(id)
  yield* sessionItems(thread, row, cwd)
  const isSummary = database.has('messages', 'is_summary_message') ? 'is_summary_message' : '0'
  const rows = database.rows(
    `SELECT id, role, model, created_at, ${isSummary} AS is_summary, ${bounded('parts')}
     FROM messages WHERE session_id = ? ORDER BY created_at, rowid`,
    id,
  )
  for (const message of jsonRows(rows, 'messages', 'parts', listIn))
    if ('gap' in message) yield message.gap
    else yield* messageItems(thread, message.row, message.value)
}

function* sessionItems(thread: Thread, row: Row, cwd: string | undefined): Generator<Item> {
  const parent = str(row['parent_session_id'])
  const at = time(row['created_at'])
  const title = str(row['title'])
  yield* factsItems(thread, {
    startedAt: at ?? undefined,
    cwd,
    title: /^(?:Untitled Session|New (?:Agent )?Session|Generate a title)$/.test(title ?? '')
      ? undefined
      : title,
    relation: parent ? 'subagent' : undefined,
  })
  // `<message>$$<call>`: the call that started it.
  if (parent) yield edgeItem('subagent', thread.session, parent, at, thread.session.split('$$')[1])
  const usd = num(row['cost']) ?? 0
  if (parent || usd <= 0) return
  yield usageItem(thread, disjointTokens({}), {
    id: `crush:${thread.session}`,
    ts: at,
    scope: 'turn',
    responses: 0,
    isLatest: true,
    usd,
  })
}

function* messageItems(thread: Thread, row: Row, parts: readonly unknown[]): Generator<Item> {
  const speaker = speakerOf(row['role']) ?? 'system'
  const ts = time(row['created_at'])
  const model = str(row['model']) || undefined
  if (speaker === 'assistant') yield* factsItems(thread, { model })
  const isSummary = Number(row['is_summary']) === 1
  const seen = new Map<string, number>()
  for (const part of parts) {
    const { type, data } = fields(part)
    const name = str(type) ?? 'no type'
    const place = seen.get(name) ?? 0
    seen.set(name, place + 1)
    const id = `${row['id']}.${name}.${place}`
    for (const [index, told] of partsOf(name, fields(data), { id, speaker, isSummary }).entries()) {
      const key = index === 0 ? id : `${id}.end`
      yield* messageEvents(thread, { name: key, ts, speaker, parts: [told] }, TOOLS)
    }
  }
}

type Around = { id: string; speaker: Speaker; isSummary: boolean }

function partsOf(type: string, raw: Fields, { id, speaker, isSummary }: Around): Part[] {
  const other = (summary: string): Part => otherPart(type, raw, { summary })
  switch (type) {
    case 'text': {
      const text = str(raw['text']) ?? ''
      if (text === '') return [other('(no text)')]
      const compaction = { kind: 'lifecycle', mark: 'compaction', summary: 'conversation compacted' } as const
      return [{ is: 'text', text, raw, more: isSummary ? compaction : undefined }]
    }
    case 'reasoning':
      return [{ is: 'thinking', text: str(raw['thinking']) ?? '', raw }]
    case 'tool_call':
      return [toolCall(raw['id'], raw['name'], raw['input'], raw)]
    case 'tool_result':
      return [resultOf(raw)]
    case 'shell_command':
      return shellParts(raw, id)
    case 'finish':
      return [speaker === 'assistant' ? finishOf(raw, isSummary) : other('[finish]')]
    case 'image_url':
    case 'binary':
      return [other(`[${type} ${str(raw['Path']) ?? ''}]`)]
    default:
      return [otherPart(`part ${type}`, raw, { isKnown: false })]
  }
}

/** What a person ran behind `!`, and what came of it. */
function shellParts(raw: Fields, id: string): Part[] {
  const { output, exit_code, ...asked } = raw
  const exitCode = num(exit_code)
  const ended = { text: str(output), failed: (exitCode ?? 0) !== 0, exitCode, durationMs: null }
  return [
    { is: 'call', id, tool: 'bash', input: asked, raw: asked, more: { role: 'user' } },
    { is: 'result', id, ...ended, raw: { output, exit_code } },
  ]
}

const CANCELLED = 'user cancelled assistant tool calling'

function resultOf(raw: Fields): Part {
  const text = str(raw['content'])
  const { start_time: start, end_time: end, background } = fieldsIn(raw['metadata'])
  const exitCode = raw['name'] === 'bash' ? exitCodeIn(text ?? '', /^Exit code (\d+)$/m) : undefined
  const tookMs = (num(end) ?? 0) - (num(start) ?? 0)
  return {
    is: 'result',
    id: str(raw['tool_call_id']),
    text,
    failed: raw['is_error'] === true || (exitCode ?? 0) !== 0,
    isRefused: raw['is_error'] === true && text === 'User denied permission',
    state: background === true ? 'background' : text?.includes(CANCELLED) ? 'stopped' : undefined,
    exitCode,
    durationMs: num(start) !== undefined && num(end) !== undefined && tookMs >= 0 ? tookMs : null,
    raw,
  }
}

function finishOf(raw: Fields, isSummary: boolean): Part {
  const reason = str(raw['reason']) ?? 'unknown'
  const more = { ts: time(raw['time']) }
  if (reason === 'end_turn' && !isSummary)
    return otherPart('finish', raw, { kind: 'completion', mark: 'turn-end', summary: 'turn complete', more })
  if (reason === 'canceled') {
    const stop = { kind: 'human_intervention', mark: 'interrupt', summary: 'stopped by the user' } as const
    return otherPart('finish', raw, { ...stop, more })
  }
  if (reason !== 'error' && reason !== 'content_filter')
    return otherPart('finish', raw, { summary: `step complete: ${reason}`, more })
  const told = [str(raw['message']), str(raw['details'])].filter(Boolean).join(': ')
  return otherPart('finish', raw, { kind: 'error', summary: told || reason, more })
}
