// Tasks of the extensions: what the editor showed, in one list that is written anew. Calls are there, and the outputs of
// commands and servers; what came of reading and changing files is not. Not verified: built from documented formats.
import { basename, dirname, join } from 'node:path'
import type { Item, Position, SweepMemo } from '../adapter.ts'
import { numbered } from '../kit/bounded.ts'
import { jsonBeside, readDocument, textBeside } from '../kit/document.ts'
import { edgeItem, factsItems, usageItems } from '../kit/facts.ts'
import { type Fields, fieldsIn, isRecord, list, num, str, time } from '../kit/guards.ts'
import { INTERRUPT, messageEvents, type Note, noteEvent } from '../kit/messages.ts'
import { type Part, toolCall } from '../kit/parts.ts'
import { jsonOr, wordSet } from '../kit/text.ts'
import { newThread, type Thread } from '../kit/thread.ts'
import { disjointTokens } from '../kit/tokens.ts'
import { toolsBy } from '../kit/tools.ts'

const TOOLS = toolsBy({
  edit: 'editedExistingFile appliedDiff newFileCreated insertContent searchAndReplace fileDeleted',
  read: 'readFile listFilesTopLevel listFilesRecursive listCodeDefinitionNames',
  search: 'searchFiles codebaseSearch webSearch',
  fetch: 'webFetch',
  spawn: 'newTask',
  plan: 'updateTodoList switchMode',
})

interface Task extends Thread {
  /** The call that goes on, and whether the agent had said that it was done. */
  call: string | null
  isDone: boolean
  models: [number, string][]
}

export function* readTask(path: string, from: Position | null, memo: SweepMemo): Generator<Item> {
  const folder = dirname(path)
  const own = jsonBeside(join(folder, 'history_item.json'))
  const metadata = jsonBeside(join(folder, 'task_metadata.json'))
  const all = memo.get(`tasks beside ${dirname(folder)}`, () => tasksOf(dirname(dirname(folder))))
  yield* [...own.gaps, ...metadata.gaps]
  const history = { ...all.get(basename(folder)), ...own.value }
  const tell = function* (document: unknown): Generator<Item> {
    const thread: Task = { ...newThread(basename(folder)), call: null, isDone: true, models: [] }
    for (const one of list(metadata.value['model_usage']))
      if (isRecord(one)) thread.models.push([time(one['ts']) ?? 0, str(one['model_id']) ?? ''])
    yield* told(thread, history, document)
    for (const one of list(document)) yield* shown(thread, isRecord(one) ? one : { message: one })
  }
  yield* readDocument(path, from, tell, JSON.stringify([history, metadata.value]))
}

/** The list of all tasks, which one of the extensions keeps in a file of its own. */
function tasksOf(storage: string): Map<string, Fields> {
  const { text } = textBeside(join(storage, 'state', 'taskHistory.json'))
  try {
    const entries = list(JSON.parse(text ?? '[]')).filter(isRecord)
    return new Map(entries.map((entry) => [String(entry['id']), entry]))
  } catch {
    return new Map()
  }
}

function* told(thread: Task, history: Fields, document: unknown): Generator<Item> {
  const [first] = list(document)
  const at = isRecord(first) ? time(first['ts']) : null
  const parent = str(history['parentTaskId'])
  if (parent) yield edgeItem('subagent', thread.session, parent, at)
  yield* factsItems(thread, {
    startedAt: at ?? undefined,
    cwd: str(history['workspace']) ?? str(history['cwdOnTaskInitialization']),
    model: thread.models.at(-1)?.[1] ?? str(history['modelId']),
    relation: parent ? 'subagent' : undefined,
  })
}

const ERRORS = new Set(['error', 'diff_error', 'api_req_failed', 'mistake_limit_reached', 'rooignore_error'])
const RETRIES = new Set(['api_req_retried', 'api_req_retry_delayed'])
const CALLS = new Set(['tool', 'command', 'use_mcp_server', 'browser_action_launch', 'browser_action'])
const RESULTS = new Set(['command_output', 'mcp_server_response', 'browser_action_result'])
const SILENT = wordSet(`
  api_req_finished api_req_deleted checkpoint_created checkpoint_saved completion_result resume_task
  resume_completed_task shell_integration_warning mcp_server_request_started load_mcp_documentation info
  subtask_result task_progress codebase_search_result user_edit_todos auto_approval_max_req_reached
  command_permission_denied deleted_api_reqs clineignore_error generate_explanation new_task`)

function* shown(thread: Task, record: Fields): Generator<Item> {
  // Still being written; it comes whole.
  if (record['partial'] === true) return
  const { ts: at, text: _, ...facts } = record
  const ts = time(at)
  const what = str(record['say']) ?? str(record['ask']) ?? ''
  const text = str(record['text']) ?? ''
  const name = numbered(thread.seen, `${num(at) ?? 'no time'} ${what}`)
  const frame = { name, ts, facts }
  const tell = (speaker: 'user' | 'assistant' | 'tool', part: Part, more = {}) =>
    messageEvents(thread, { ...frame, speaker, parts: [part], more }, TOOLS)
  const words = (is: 'text' | 'thinking'): Part => ({ is, text, raw: { text } })
  const isFirst = thread.last === null
  if (what === 'task' || (isFirst && what === 'text')) yield* tell('user', words('text'))
  else if (what === 'user_feedback' || what === 'user_feedback_diff') {
    // After the agent had said that it was done it is the next prompt; before, somebody stepped in.
    yield* tell('user', words('text'), thread.isDone ? {} : { kind: 'human_intervention' })
  } else if (what === 'text' || what === 'plan_mode_respond') yield* tell('assistant', words('text'))
  else if (what === 'reasoning') yield* tell('assistant', words('thinking'))
  else if (CALLS.has(what)) {
    thread.call = name
    yield* tell('assistant', callPart(what, text, name))
  } else if (RESULTS.has(what) && thread.call !== null) {
    const part: Part = { is: 'result', id: thread.call, text, failed: false, raw: { text } }
    yield* tell('tool', part)
  } else if (what === 'followup') yield* tell('assistant', words('text'), { kind: 'decision' })
  else if (what === 'completion_result' && record['say'] !== undefined)
    yield* tell('assistant', words('text'), { kind: 'completion' })
  else yield* noted(thread, record, what, frame)
  thread.isDone = what === 'completion_result' || what.startsWith('resume_') || what === 'followup'
}

function callPart(what: string, text: string, id: string): Part {
  if (what === 'command') {
    const act = { does: 'shell', command: text } as const
    return { ...toolCall(id, what, { command: text }, { text }), act }
  }
  const given = jsonOr(text)
  const input = isRecord(given) ? given : { text }
  return toolCall(id, str(input['tool']) ?? str(input['toolName']) ?? what, input, { text })
}

type Frame = { name: string; ts: number | null; facts: Fields }

function* noted(thread: Task, record: Fields, what: string, { name, ts, facts }: Frame): Generator<Item> {
  const text = str(record['text']) ?? ''
  const note = { name: `${name}#0`, ts, payload: { text, ...facts }, summary: text || what }
  if (what === 'api_req_started') yield* request(thread, note, text)
  else if (ERRORS.has(what)) yield noteEvent(thread, { ...note, kind: 'error', said: text })
  else if (RETRIES.has(what)) yield noteEvent(thread, { ...note, kind: 'retry' })
  else if (what === 'condense_context' || what === 'summarize_task')
    yield noteEvent(thread, { ...note, mark: 'compaction' })
  else {
    yield noteEvent(thread, note)
    if (!SILENT.has(what) && !RESULTS.has(what)) yield { type: 'unknown', name: `shown ${what || 'nothing'}` }
  }
}

/** Written when a request begins, and again with its tokens when it has ended. */
function* request(thread: Task, note: Note, text: string): Generator<Item> {
  const told = fieldsIn(text)
  const reason = str(told['cancelReason'])
  if (reason === 'user_cancelled')
    yield noteEvent(thread, { ...note, ...INTERRUPT, summary: 'request cancelled' })
  else if (reason) {
    const summary = str(told['streamingFailedMessage']) ?? reason
    yield noteEvent(thread, { ...note, kind: 'error', summary })
  } else yield noteEvent(thread, { ...note, summary: 'request' })
  const tokens = disjointTokens({
    input: told['tokensIn'],
    cacheRead: told['cacheReads'],
    cacheWrite: told['cacheWrites'],
    output: told['tokensOut'],
  })
  const model = thread.models.findLast(([since]) => since <= (note.ts ?? 0))?.[1] ?? thread.told.model ?? null
  yield* usageItems(thread, tokens, {
    id: `cline:${thread.session}:${note.name}`,
    ts: note.ts,
    model,
    event: note.name,
    isLatest: true,
    usd: num(told['cost']),
  })
}
