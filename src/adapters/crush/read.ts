// Crush's database: messages whose parts grow in place. Times are seconds, whatever its comments say. Its token counts are
// those of the latest call alone, so only what a session cost is told, and once: a parent's cost holds its sub-agents'.
import { basename, dirname } from 'node:path'
import type { Read } from '../adapter.ts'
import {
  bounded,
  type DatabaseReader,
  type Deed,
  disjointTokens,
  type EventItem,
  exitCodeIn,
  type Fields,
  type ForeignDatabase,
  factsItems,
  fields,
  fieldsIn,
  type Item,
  listIn,
  type Marked,
  messageEvents,
  newThread,
  num,
  type Part,
  type Row,
  readDatabase,
  type Speaker,
  speakerOf,
  str,
  type Thread,
  time,
  usageItem,
} from '../kit/index.ts'

export const read: Read = ({ path }, from) => readDatabase(path, from, reader(projectOf(path)))

/** Its database lies in a folder of the project, if not elsewhere. */
const projectOf = (path: string): string | undefined =>
  basename(dirname(path)) === '.crush' ? dirname(dirname(path)) : undefined

const TOOLS: Readonly<Record<string, Deed>> = {
  agent: 'spawn',
  bash: 'shell',
  ls: 'search',
  question: 'ask',
  sourcegraph: 'search',
}

const reader = (cwd: string | undefined): DatabaseReader => ({
  tables: ['sessions', 'messages'],
  sessions,
  read: (database, id) => tell(database, id, cwd),
})

function* sessions(database: ForeignDatabase): Generator<Marked> {
  const marks = new Map<unknown, unknown>()
  for (const { id, ...mark } of database.rows(
    `SELECT session_id AS id, count(*) AS count, max(updated_at) AS at, sum(octet_length(parts)) AS size
     FROM messages GROUP BY session_id`,
  ))
    marks.set(id, mark)
  for (const row of database.rows('SELECT * FROM sessions'))
    yield { id: String(row['id']), updatedAt: time(row['updated_at']), mark: [row, marks.get(row['id'])] }
}

function* tell(database: ForeignDatabase, id: string, cwd: string | undefined): Generator<Item> {
  const [row] = database.rows('SELECT * FROM sessions WHERE id = ?', id)
  if (!row) return
  const thread = newThread(id)
  yield* sessionItems(thread, row, cwd)
  const isSummary = database.has('messages', 'is_summary_message') ? 'is_summary_message' : '0'
  const rows = database.rows(
    `SELECT id, role, model, created_at, ${isSummary} AS is_summary, ${bounded('parts')}
     FROM messages WHERE session_id = ? ORDER BY created_at, rowid`,
    id,
  )
  for (const message of rows) {
    const parts = listIn(message, 'parts', `messages/${message['id']}`)
    if ('gap' in parts) yield parts.gap
    else yield* messageItems(thread, message, parts.value)
  }
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
  if (parent) {
    // `<message>$$<call>`: the call that started it.
    const evidence = thread.session.split('$$')[1]
    const edge = { type: 'edge', kind: 'subagent', session: thread.session, parent, at } as const
    yield evidence === undefined ? edge : { ...edge, evidence }
  }
  const usd = num(row['cost']) ?? 0
  if (parent || usd <= 0) return
  yield usageItem(thread, disjointTokens({}), {
    id: `crush:${thread.session}`,
    ts: at,
    scope: 'turn',
    responses: 0,
    isLatest: true,
    reportedCost: Math.round(usd * 1e8),
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
      const { at = ts, more = {} } = told
      yield* messageEvents(thread, { name: key, ts: at, speaker, parts: [told.part], more }, TOOLS)
    }
  }
}

type Told = { part: Part; at?: number | null; more?: Partial<EventItem> }

type Around = { id: string; speaker: Speaker; isSummary: boolean }

function partsOf(type: string, raw: Fields, { id, speaker, isSummary }: Around): Told[] {
  const other = (summary: string): Told => ({
    part: { is: 'other', name: type, isKnown: true, summary, raw },
  })
  switch (type) {
    case 'text': {
      const text = str(raw['text']) ?? ''
      if (text === '') return [other('(no text)')]
      const compaction = { kind: 'lifecycle', mark: 'compaction', summary: 'conversation compacted' } as const
      return [{ part: { is: 'text', text, raw }, ...(isSummary && { more: compaction }) }]
    }
    case 'reasoning':
      return [{ part: { is: 'thinking', text: str(raw['thinking']) ?? '', raw } }]
    case 'tool_call': {
      const { input } = raw
      return [{ part: { is: 'call', id: str(raw['id']), tool: str(raw['name']) ?? 'unknown', input, raw } }]
    }
    case 'tool_result':
      return [{ part: resultOf(raw) }]
    case 'shell_command':
      return shellParts(raw, id)
    case 'finish':
      return [speaker === 'assistant' ? finishOf(raw, isSummary) : other('[finish]')]
    case 'image_url':
    case 'binary':
      return [other(`[${type} ${str(raw['Path']) ?? ''}]`)]
    default:
      return [{ part: { is: 'other', name: `part ${type}`, isKnown: false, raw } }]
  }
}

/** What a person ran behind `!`, and what came of it. */
function shellParts(raw: Fields, id: string): Told[] {
  const { output, exit_code: code, ...asked } = raw
  const failed = (num(code) ?? 0) !== 0
  const exit = num(code) === undefined ? {} : { exitCode: num(code) as number }
  return [
    { part: { is: 'call', id, tool: 'bash', input: asked, raw: asked }, more: { role: 'user' } },
    {
      part: {
        is: 'result',
        id,
        text: str(output),
        failed,
        ...exit,
        durationMs: null,
        raw: { output, exit_code: code },
      },
    },
  ]
}

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
    ...(raw['is_error'] === true && text === 'User denied permission' && { isRefused: true }),
    ...(text?.includes('user cancelled assistant tool calling') && { state: 'stopped' as const }),
    ...(background === true && { state: 'background' as const }),
    ...(exitCode !== undefined && { exitCode }),
    durationMs: num(start) !== undefined && num(end) !== undefined && tookMs >= 0 ? tookMs : null,
    raw,
  }
}

function finishOf(raw: Fields, isSummary: boolean): Told {
  const reason = str(raw['reason']) ?? 'unknown'
  const told = [str(raw['message']), str(raw['details'])].filter(Boolean).join(': ')
  const end = {
    is: 'other',
    name: 'finish',
    isKnown: true,
    raw,
    summary: `step complete: ${reason}`,
  } as const
  const part: Part =
    reason === 'end_turn' && !isSummary
      ? { ...end, kind: 'completion', mark: 'turn-end', summary: 'turn complete' }
      : reason === 'canceled'
        ? { ...end, kind: 'human_intervention', mark: 'interrupt', summary: 'stopped by the user' }
        : reason === 'error' || reason === 'content_filter'
          ? { ...end, kind: 'error', summary: told || reason }
          : end
  return { at: time(raw['time']), part }
}
