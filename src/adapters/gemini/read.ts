// A session's lines: a header, messages, patches (`$set`), and rewinds. A message is written again, whole, when its calls
// have ended: the same keys again. A patch with `messages` is the model's history, told anew: of messages that are known it
// says less than they did themselves (no tokens, other times), so only what is new in it is told.
import { hash } from 'node:crypto'
import { basename, dirname, join } from 'node:path'
import type { EventItem, Item, Position, Source, SweepMemo } from '../adapter.ts'
import { remember } from '../kit/bounded.ts'
import { jsonBeside, readDocument, textBeside } from '../kit/document.ts'
import { edgeItem, factsItems, usageItem } from '../kit/facts.ts'
import { type Fields, fields, isRecord, list, str, time } from '../kit/guards.ts'
import { readLines } from '../kit/lines.ts'
import { newMemo } from '../kit/memo.ts'
import { INTERRUPT, messageEvents, noteEvent } from '../kit/messages.ts'
import { type Part, partsOf, toolCall } from '../kit/parts.ts'
import { leaves } from '../kit/text.ts'
import { newThread, recordName, type Thread } from '../kit/thread.ts'
import { disjointTokens, tokenCount } from '../kit/tokens.ts'
import { exitCodeIn, toolsBy } from '../kit/tools.ts'

const TOOLS = toolsBy({
  shell: 'run_shell_command',
  edit: 'replace write_file',
  read: 'read_file read_many_files list_directory read_mcp_resource get_internal_docs',
  search: 'glob grep_search search_file_content google_web_search',
  fetch: 'web_fetch',
  spawn: 'invoke_agent',
  ask: 'ask_user',
  plan: 'write_todos enter_plan_mode exit_plan_mode',
  other: 'complete_task',
})

interface State extends Thread {
  /** What the type of an answer is called: forks of the client have their own word. */
  answers: string
  /** When the process began that wrote the latest header. */
  startedAt: string
  first: string | null
  /** Short hashes of the ids of the latest messages. */
  known: string
  /** [id, key of the event before it] of the latest messages, which may be written again. */
  recent: [string, string | null][]
  /** The latest calls whose results were told: they stand in the file a second time, as a message. */
  answered: string[]
}

const SHORT = 6
const MAX_KNOWN = 4000 * (SHORT + 1)
const shortOf = (id: string): string => ` ${hash('sha1', id, 'base64').slice(0, SHORT)}`

const newState = (path: string, answers: string): State => ({
  ...newThread(basename(path).replace(/\.jsonl?$/, '')),
  answers,
  startedAt: '',
  first: null,
  known: '',
  recent: [],
  answered: [],
})

export const read = (source: Source, from: Position | null, memo = newMemo()): Iterable<Item> =>
  readSession(source.path, from, memo, 'gemini')

export function readSession(
  path: string,
  from: Position | null,
  memo: SweepMemo,
  answers: string,
): Iterable<Item> {
  if (path.endsWith('.jsonl'))
    return readLines(
      path,
      from,
      () => newState(path, answers),
      (state, { record }) => step(state, path, record),
      { atEnd: (state) => placed(state, path, memo) },
    )
  return readDocument(path, from, function* (document) {
    const state = newState(path, answers)
    const { messages, ...header } = isRecord(document) ? document : {}
    yield* step(state, path, header)
    for (const one of list(messages)) yield* step(state, path, isRecord(one) ? one : { message: one })
    yield* placed(state, path, memo)
  })
}

function* step(state: State, path: string, record: Fields): Generator<Item> {
  const patch = record['$set']
  const rewind = str(record['$rewindTo'])
  if (rewind !== undefined) yield* rewound(state, rewind)
  else if (str(record['id']) !== undefined) yield* message(state, record, false)
  else if (isRecord(patch)) yield* patched(state, patch)
  else if (str(record['sessionId']) !== undefined) yield* header(state, path, record)
  else yield* unknown(state, record, 'record without id')
  state.first ??= state.last
}

function* unknown(state: State, record: Fields, name: string): Generator<Item> {
  const ts = time(record['timestamp'])
  const key = `unknown ${recordName(state, record, undefined, ts)}`
  yield noteEvent(state, { name: key, ts, summary: `(${name})`, payload: record })
  yield { type: 'unknown', name }
}

function* header(state: State, path: string, record: Fields): Generator<Item> {
  const { sessionId, startTime, lastUpdated: _, projectHash: __, ...rest } = record
  const isFirst = state.first === null
  if (isFirst) state.session = str(sessionId) ?? state.session
  state.startedAt = str(startTime) ?? ''
  const ts = time(startTime)
  const parent = parentOf(path)
  if (isFirst && parent) yield edgeItem('subagent', state.session, parent, ts)
  // The header of a process that took the session up again.
  if (!isFirst) yield edgeItem('resumed', state.session, null, ts, 'header')
  const isSubagent = rest['kind'] === 'subagent' || parent !== undefined
  yield* factsItems(state, {
    startedAt: isFirst ? (ts ?? undefined) : undefined,
    cwd: str(list(rest['directories'])[0]),
    relation: isSubagent ? 'subagent' : undefined,
    title: isSubagent ? undefined : str(rest['summary']),
  })
  const summary = isFirst ? 'session began' : 'session resumed'
  const payload = { startTime, ...rest }
  yield noteEvent(state, { name: `header ${state.startedAt}`, ts, summary, payload })
}

/** A sub-agent's file lies in a folder that is called as its parent's id. */
const parentOf = (path: string): string | undefined =>
  basename(dirname(dirname(path))) === 'chats' ? basename(dirname(path)) : undefined

/** The file that says where the session is at work may come after the session's own: what it says holds. */
function* placed(state: State, path: string, memo: SweepMemo): Generator<Item> {
  if (state.first === null) return
  const { cwd, gaps } = cwdOf(dirname(dirname(parentOf(path) ? dirname(path) : path)), memo)
  yield* gaps
  if (!cwd || cwd === state.told.cwd) return
  state.told.cwd = cwd
  yield { type: 'session', session: state.session, cwd }
}

/** The project's folder says it itself; before it did, a list says which directory it stands for, by name or by hash. */
function cwdOf(project: string, memo: SweepMemo): { cwd: string | undefined; gaps: Item[] } {
  const { text, gaps } = textBeside(join(project, '.project_root'))
  if (text) return { cwd: text.trim(), gaps }
  const file = join(project, '..', '..', 'projects.json')
  const { value, gaps: more } = memo.get(`${file} of gemini`, () => jsonBeside(file))
  const folder = basename(project)
  const found = Object.entries(fields(value['projects'])).find(
    ([cwd, slug]) => slug === folder || hash('sha256', cwd, 'hex') === folder,
  )
  return { cwd: found?.[0], gaps: [...gaps, ...more] }
}

function* patched(state: State, patch: Fields): Generator<Item> {
  const { messages, lastUpdated: _, sessionId: __, summary, directories, ...rest } = patch
  for (const one of list(messages))
    if (isRecord(one) && str(one['id']) !== undefined) yield* message(state, one, true)
    else yield* unknown(state, isRecord(one) ? one : { message: one }, 'message without id')
  const title = state.told.relation === 'subagent' ? undefined : str(summary)
  yield* factsItems(state, { title, cwd: str(list(directories)[0]) })
  // What was said above is a fact; the rest is kept as it stands.
  if (title === undefined && summary !== undefined) rest['summary'] = summary
  if (directories !== undefined) rest['directories'] = directories
  if (Object.keys(rest).length === 0) return
  const name = `set ${recordName(state, rest, undefined, null)}`
  const keys = Object.keys(rest)
  yield noteEvent(state, { name, ts: null, summary: `set ${keys.join(', ')}`, payload: rest })
  for (const key of keys) if (!PATCHED.has(key)) yield { type: 'unknown', name: `$set.${key}` }
}

const PATCHED = new Set(['summary', 'directories', 'memoryScratchpad', 'kind', 'startTime', 'projectHash'])

function* rewound(state: State, id: string): Generator<Item> {
  const sinceKey = state.known.includes(shortOf(id)) ? `${id}#0` : state.first
  if (sinceKey !== null) yield { type: 'supersede', session: state.session, sinceKey }
  const before = state.recent.find((entry) => entry[0] === id)
  if (before) state.last = before[1]
  const name = `rewind ${recordName(state, { id, last: state.last }, undefined, null)}`
  const what = { kind: 'human_intervention', role: 'user', summary: 'rewound' } as const
  yield noteEvent(state, { name, ts: null, ...what, payload: { $rewindTo: id } })
}

const INFO: ReadonlySet<unknown> = new Set(['info', 'warning', 'error'])

function* message(state: State, record: Fields, isHistory: boolean): Generator<Item> {
  const id = str(record['id']) ?? ''
  const short = shortOf(id)
  const isKnown = state.known.includes(short)
  if (isKnown && isHistory) return
  if (!isKnown) state.known = (state.known + short).slice(-MAX_KNOWN)
  // Written again, it stands where it stood.
  const { last } = state
  const again = state.recent.find((entry) => entry[0] === id)
  if (again) [, state.last] = again
  else remember(state.recent, [id, isKnown ? null : last])
  const { type } = record
  if (type === 'user') yield* asked(state, record, id, isHistory)
  else if (type === 'gemini' || type === state.answers) yield* answered(state, record, id, isHistory)
  else if (INFO.has(type)) yield informed(state, record, id)
  else yield* unknown(state, record, `message ${str(type) ?? 'without type'}`)
  if (isKnown && state.recent.at(-1)?.[0] !== id) state.last = last
}

/** What the client tells the model before the first prompt has one id in all sessions, and differs from run to run. */
const CONTEXT = /^\s*<(?:session|hook)_context>/

function* asked(state: State, record: Fields, id: string, isHistory: boolean): Generator<Item> {
  const { content, displayContent } = record
  const parts = partsOf(displayContent ?? content).filter(
    (part) => !(part.is === 'result' && part.id !== undefined && state.answered.includes(part.id)),
  )
  if (parts.length === 0) return
  const text = parts.map((part) => (part.is === 'text' ? part.text : '')).join('\n')
  const isContext = CONTEXT.test(text)
  yield* messageEvents(
    state,
    {
      name: isContext ? `${id}@${state.startedAt}` : id,
      ts: time(record['timestamp']),
      // A person's words are written down when they are said: what only the history holds, the client made.
      speaker: isContext || isHistory ? 'system' : 'user',
      parts,
      facts: displayContent === undefined ? {} : { content },
      ...(isHistory && text.includes('<state_snapshot>') && { more: { mark: 'compaction' } }),
    },
    TOOLS,
  )
}

function* answered(state: State, record: Fields, id: string, isHistory: boolean): Generator<Item> {
  const ts = time(record['timestamp'])
  const model = str(record['model'])
  yield* factsItems(state, { model })
  const calls = list(record['toolCalls']).filter(isRecord)
  const thoughts = list(record['thoughts']).map(thought)
  const told = partsOf(record['content']).filter(
    (part) =>
      !(part.is === 'text' && part.text === '') &&
      !(part.is === 'thinking' && thoughts.length > 0) &&
      !(part.is === 'call' && calls.some((call) => call['id'] === part.id)),
  )
  const parts = [...thoughts, ...told, ...calls.map(callPart)]
  const speaker = isHistory && model === undefined ? 'system' : 'assistant'
  // One that only calls tools is empty until they have ended.
  if (parts.length > 0) yield* messageEvents(state, { name: id, ts, speaker, parts }, TOOLS)
  for (const call of calls) yield* ended(state, call, id)
  const { tokens } = record
  if (!isRecord(tokens)) return
  const counts = {
    input: tokenCount(tokens['input']) + tokenCount(tokens['tool']),
    cacheRead: tokens['cached'],
    output: tokens['output'],
    reasoning: tokens['thoughts'],
  }
  const disjoint = disjointTokens(counts, { inputHasCache: true, outputLacksReasoning: true })
  yield usageItem(state, disjoint, { id: `gemini:${id}`, ts, model: model ?? null, event: `${id}#0` })
}

function thought(value: unknown): Part {
  const raw = isRecord(value) ? value : { thought: value }
  const text = [raw['subject'], raw['description']].filter((one) => typeof one === 'string' && one !== '')
  return { is: 'thinking', text: text.join('\n'), raw }
}

function callPart(call: Fields): Part {
  const { result: _, resultDisplay: __, status: ___, timestamp: ____, agentId: _____, ...raw } = call
  return toolCall(call['id'], call['name'], call['args'], raw)
}

const ENDS: ReadonlySet<unknown> = new Set(['success', 'error', 'cancelled'])
const WRAPPED = /^(?:Output too large\. [^\n]*\n)?<untrusted_context>\n(.*)\n<\/untrusted_context>$/s

/** Call and result stand in one record; the result has a time of its own. */
function* ended(state: State, call: Fields, message: string): Generator<Item> {
  const { status, result, resultDisplay, agentId } = call
  const id = str(call['id']) ?? ''
  const ts = time(call['timestamp'])
  if (typeof agentId === 'string' && agentId !== state.session)
    yield edgeItem('subagent', agentId, state.session, ts, id)
  if (!ENDS.has(status)) return
  remember(state.answered, id)
  const given = list(result).map(outputOf).join('\n')
  const output = WRAPPED.exec(given)?.[1] ?? given
  const isShell = call['name'] === 'run_shell_command'
  const shown = isShell ? str(resultDisplay) : undefined
  // The client calls a command that failed a success.
  const exitCode = isShell ? exitCodeOf(output.slice(-400)) : undefined
  const isRefused = status === 'cancelled' && /denied execution|did not allow/.test(given)
  const isBackground = isShell && output.startsWith('Command moved to background')
  const part: Part = {
    is: 'result',
    id,
    text: shown || output,
    failed: status === 'error' || (exitCode !== undefined && exitCode !== 0),
    isRefused,
    state: status === 'cancelled' ? 'stopped' : isBackground ? 'background' : undefined,
    exitCode,
    original: str(fields(resultDisplay)['originalContent']),
    raw: { status, result, resultDisplay },
  }
  const isStopped = status === 'cancelled' && !isRefused
  const more = isStopped ? ({ kind: 'human_intervention', mark: 'interrupt' } as const) : handedIn(call)
  yield* messageEvents(state, { name: `${message}/${id}`, ts, speaker: 'tool', parts: [part], more }, TOOLS)
}

/** A sub-agent ends so, without another word. */
const handedIn = ({ name, status }: Fields): Partial<EventItem> =>
  name === 'complete_task' && status === 'success' ? { mark: 'turn-end' } : {}

/** Written behind an output, where it is not 0: of a command that a signal ended, its name stands there. */
function exitCodeOf(end: string): number | undefined {
  const isWhole = /\nProcess Group PGID: \d+$/.test(end) && !/^Signal: /m.test(end)
  return exitCodeIn(end, /^Exit Code: (-?\d+)$/m) ?? (isWhole ? 0 : undefined)
}

/** What a tool gave back: `output`, or `error`; or what is no answer of a tool. */
function outputOf(part: unknown): string {
  const { response } = fields(fields(part)['functionResponse'])
  if (!isRecord(response)) return leaves(response ?? part) ?? ''
  return str(response['output']) ?? str(response['error']) ?? leaves(response) ?? ''
}

function informed(state: State, record: Fields, id: string): Item {
  const { type, content } = record
  const text = leaves(content) ?? ''
  const note = { name: id, ts: time(record['timestamp']), payload: { type, content }, said: text }
  const summary = text || `(${str(type)})`
  if (text === 'Request cancelled.') return noteEvent(state, { ...note, summary, ...INTERRUPT })
  return noteEvent(state, { ...note, summary, kind: type === 'error' ? 'error' : 'lifecycle' })
}
