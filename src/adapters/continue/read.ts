// One document per session, written when the client ends. Messages have neither ids nor times: a message is named by what
// stands up to it. A fork is a copy that names no parent; what it counts itself tells where its own part begins.
import { basename, dirname, join } from 'node:path'
import type { Tokens } from '../../model.ts'
import type { Item, Position, Source, SweepMemo } from '../adapter.ts'
import { readDocument, textBeside } from '../kit/document.ts'
import { factsItems, usageItem } from '../kit/facts.ts'
import { type Fields, fields, isRecord, list, num, str, time } from '../kit/guards.ts'
import { newMemo } from '../kit/memo.ts'
import { messageEvents } from '../kit/messages.ts'
import { type CallPart, otherPart, type Part, partsOf, toolCall } from '../kit/parts.ts'
import { type Speaker, speakerOf } from '../kit/shapes.ts'
import { contentText, jsonOr } from '../kit/text.ts'
import { newThread, recordName, type Thread } from '../kit/thread.ts'
import { disjointTokens } from '../kit/tokens.ts'
import { exitCodeIn, toolsBy } from '../kit/tools.ts'

const TOOLS = toolsBy({
  shell: 'Bash run_terminal_command',
  edit: 'Edit MultiEdit Write create_new_file edit_existing_file multi_edit single_find_and_replace',
  read: 'List Read ls',
  search: 'Search file_glob_search grep_search',
  fetch: 'Fetch fetch_url_content search_web',
  spawn: 'Subagent',
  plan: 'Checklist',
})
const SHELLS = new Set(['Bash', 'run_terminal_command'])
const UNTITLED = new Set(['Untitled Session', 'New Session'])

export function read({ path }: Source, from: Position | null, memo: SweepMemo = newMemo()): Iterable<Item> {
  const folder = dirname(path)
  const index = memo.get(`continue ${folder}`, () => entriesIn(join(folder, 'sessions.json')))
  const id = basename(path, '.json')
  const createdAt = index.get(id) ?? null
  return readDocument(path, from, (document) => sessionItems(document, id, createdAt), `${createdAt}`)
}

/** When each session was made stands in the index alone, as a number in words. */
function entriesIn(path: string): Map<string, number> {
  const found = new Map<string, number>()
  // Where it is being written, the next sweep sees it whole.
  for (const entry of list(jsonOr(textBeside(path).text ?? ''))) {
    const { sessionId: id, dateCreated: at } = fields(entry)
    const ts = time(typeof at === 'string' && /^\d+$/.test(at) ? Number(at) : at)
    if (typeof id === 'string' && id && ts !== null) found.set(id, ts)
  }
  return found
}

function* sessionItems(document: unknown, name: string, createdAt: number | null): Generator<Item> {
  const session = fields(document)
  const thread = newThread(str(session['sessionId']) || name)
  const history = list(session['history'])
  const copied = copiedCount(history, session['usage'])
  const title = str(session['title'])
  yield* factsItems(thread, {
    startedAt: createdAt ?? undefined,
    cwd: plainPath(str(session['workspaceDirectory'])),
    title: title && !UNTITLED.has(title) ? title : undefined,
    relation: copied > 0 ? 'fork' : undefined,
  })
  // No response has a time: all of them count on the day their session was made.
  for (const [at, item] of history.entries())
    for (const told of itemEvents(thread, isRecord(item) ? item : { value: item }, at < copied))
      yield told.type === 'usage' ? { ...told, ts: createdAt } : told
}

const plainPath = (place: string | undefined): string | undefined =>
  place?.startsWith('file://') ? decodeURIComponent(place.slice('file://'.length)) : place

/** A fork's own total begins at zero: the messages at the end that add up to it are its own, those before them are copies. */
function copiedCount(history: readonly unknown[], told: unknown): number {
  if (!isRecord(told)) return 0
  let [prompt, completion] = [num(told['promptTokens']) ?? 0, num(told['completionTokens']) ?? 0]
  if (prompt + completion === 0) return 0
  let at = history.length
  while (at > 0 && (prompt > 0 || completion > 0)) {
    const usage = usageIn(history[--at])
    prompt -= num(usage?.['prompt_tokens']) ?? 0
    completion -= num(usage?.['completion_tokens']) ?? 0
  }
  if (prompt !== 0 || completion !== 0) return 0
  // The prompt that was answered is its own, too.
  while (at > 0 && usageIn(history[at - 1]) === undefined) at--
  return at
}

function usageIn(item: unknown): Fields | undefined {
  const { usage } = fields(fields(item)['message'])
  return isRecord(usage) ? usage : undefined
}

function* itemEvents(thread: Thread, item: Fields, inherited: boolean): Generator<Item> {
  const message = fields(item['message'])
  const usage = usageIn(item)
  // Equal sessions are not copies of each other: a person may ask the same twice.
  const name = recordName(thread, [thread.session, message], undefined, null)
  const role = str(message['role'])
  const speaker: Speaker = role === 'thinking' ? 'assistant' : (speakerOf(role) ?? 'system')
  const parts = [...partsIn(item, message, role), ...callParts(item, message)]
  const model = str(usage?.['model'])
  const more = inherited ? { inherited } : {}
  yield* factsItems(thread, { model })
  yield* messageEvents(thread, { name, ts: null, speaker, parts, facts: beside(item, message), more }, TOOLS)
  if (!usage || inherited) return
  const cents = num(usage['cost_cents']) ?? 0
  yield usageItem(thread, tokensIn(usage), {
    id: `continue:${thread.session}:${name}`,
    ts: null,
    model: model ?? null,
    event: `${name}#0`,
    reportedCost: cents > 0 ? Math.round(cents * 1e6) : undefined,
  })
}

function partsIn(item: Fields, message: Fields, role: string | undefined): Part[] {
  const { content, toolCallId } = message
  const thought = str(fields(item['reasoning'])['text'])
  const before: Part[] = thought
    ? [{ is: 'thinking', text: thought, raw: { reasoning: item['reasoning'] } }]
    : []
  const summary = str(item['conversationSummary'])
  const compacted = { mark: 'compaction', summary: 'conversation compacted' } as const
  if (summary) before.push(otherPart('summary', { conversationSummary: summary }, compacted))
  const text = contentText(content) ?? ''
  if (role === 'thinking') return [...before, { is: 'thinking', text, raw: { thinking: text } }]
  if (role === 'tool')
    return [...before, { is: 'result', id: str(toolCallId), text, failed: false, raw: { content } }]
  if (speakerOf(role) === undefined) return [otherPart(`role ${role ?? 'missing'}`, item, { isKnown: false })]
  // An answer of calls alone has an empty text.
  return [...before, ...partsOf(content).filter((part) => part.is !== 'text' || part.text !== '')]
}

/** Calls stand in the message, what came of them beside it. */
function callParts(item: Fields, message: Fields): Part[] {
  const states = [...list(item['toolCallStates']), item['toolCallState']].filter(isRecord)
  const calls = list(message['toolCalls']).filter(isRecord)
  const results: Part[] = []
  const asked = calls.map((call): Part => {
    const wanted = fields(call['function'])
    const part = toolCall(call['id'], wanted['name'], wanted['arguments'], call)
    const state = states.find((one) => one['toolCallId'] === call['id'])
    if (state && ENDED.has(state['status'])) results.push(resultPart(state, part))
    return part
  })
  return [...asked, ...results]
}

const HEAD = /^Error executing tool \S+: (?:Error \(exit code -?\d+\): )?/
const EXIT = /\(exit code (-?\d+)\)/

const ENDED: ReadonlySet<unknown> = new Set(['done', 'errored', 'canceled'])

function resultPart({ status, output }: Fields, { id, tool }: CallPart): Part {
  const text = list(output)
    .flatMap((one) => str(fields(one)['content']) ?? [])
    .join('\n')
  const failed = status === 'errored'
  // A command that failed without a word on stderr is done, too: what its code was, nobody knows.
  const exitCode = SHELLS.has(tool) && failed ? exitCodeIn(HEAD.exec(text)?.[0] ?? '', EXIT) : undefined
  const isRefused = status === 'canceled'
  const said = failed ? text.replace(HEAD, '') : text
  return { is: 'result', id, text: said, failed, isRefused, exitCode, raw: { status, output } }
}

/** What stands beside a message and is not told otherwise. */
function beside(item: Fields, message: Fields): Fields {
  const { message: _message, toolCallStates, toolCallState, editorState, contextItems, ...rest } = item
  const { role, content, toolCalls, usage, ...own } = message
  const context = list(contextItems).length > 0 ? { contextItems } : {}
  return { ...own, ...rest, ...context }
}

/** Only Anthropic's counts have a number for what was written to the cache, and only theirs are apart from the input. */
function tokensIn(usage: Fields): Tokens {
  const details = fields(usage['prompt_tokens_details'])
  const isApart = details['cache_write_tokens'] !== undefined
  return disjointTokens(
    {
      input: usage['prompt_tokens'],
      cacheRead: details['cache_read_tokens'] ?? details['cached_tokens'],
      cacheWrite: details['cache_write_tokens'],
      output: usage['completion_tokens'],
      reasoning: fields(usage['completion_tokens_details'])['reasoning_tokens'],
    },
    { inputHasCache: !isApart },
  )
}
