// One document per thread: messages in the blocks of the Messages API, whose results say more (`run`). Tokens stand at the
// answers; in some threads only in a ledger. What sub-agents used stands nowhere.
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Item, Position, Source } from '../adapter.ts'
import { readDocument } from '../kit/document.ts'
import { factsItems, usageItem } from '../kit/facts.ts'
import { type Fields, fields, isRecord, list, num, str, time } from '../kit/guards.ts'
import { messageEvents } from '../kit/messages.ts'
import { otherPart, type Part, partsOf, type ResultPart } from '../kit/parts.ts'
import { speakerOf } from '../kit/shapes.ts'
import { leaves } from '../kit/text.ts'
import { newThread, recordName, type Thread } from '../kit/thread.ts'
import { disjointTokens, tokenCount } from '../kit/tokens.ts'
import { toolsBy } from '../kit/tools.ts'

const TOOLS = toolsBy({
  shell: 'Bash',
  edit: 'edit_file create_file undo_edit apply_patch',
  read: 'Read',
  search: 'Grep glob finder codebase_search_agent web_search',
  fetch: 'read_web_page',
  spawn: 'Task oracle',
  plan: 'todo_write todo_read',
})

export const read = ({ path }: Source, from: Position | null): Iterable<Item> =>
  readDocument(path, from, (document) => tell(fields(document), basename(path, '.json')))

function* tell(document: Fields, name: string): Generator<Item> {
  const thread = newThread(str(document['id']) || name)
  const initial = fields(fields(document['env'])['initial'])
  const tree = fields(list(initial['trees'])[0])
  const repository = fields(tree['repository'])
  yield* factsItems(thread, {
    startedAt: time(document['created']) ?? undefined,
    title: str(document['title']),
    cwd: pathOf(str(tree['uri'])),
    gitRemote: str(repository['url']),
    gitBranch: str(repository['ref'])?.replace(/^refs\/heads\//, ''),
    agentVersion: str(fields(initial['platform'])['clientVersion']),
  })
  const messages = list(document['messages']).map((one) => (isRecord(one) ? one : { message: one }))
  for (const one of messages) yield* message(thread, one)
  if (!messages.some((one) => isRecord(one['usage']))) yield* ledger(thread, document)
}

function pathOf(uri: string | undefined): string | undefined {
  try {
    return uri === undefined ? undefined : fileURLToPath(uri)
  } catch {
    return undefined
  }
}

function* message(thread: Thread, record: Fields): Generator<Item> {
  const { role, messageId, content, usage, ...facts } = record
  const counts = fields(usage)
  const ts = time(fields(record['meta'])['sentAt']) ?? time(counts['timestamp'])
  const id = num(messageId) ?? str(messageId)
  const name = recordName(thread, record, id === undefined ? undefined : `m${id}`, ts)
  const speaker = speakerOf(role)
  if (speaker === undefined) yield { type: 'unknown', name: `message ${str(role) ?? 'without role'}` }
  const model = str(counts['model'])
  yield* factsItems(thread, { model })
  const parts = partsOf(content).map((part) => (part.is === 'result' ? resultPart(part) : part))
  if (fields(record['state'])['type'] === 'cancelled') parts.push(STOPPED)
  const answer = speaker === 'assistant' ? { model } : {}
  yield* messageEvents(thread, { name, ts, speaker: speaker ?? 'system', parts, facts, ...answer }, TOOLS)
  if (!isRecord(usage)) return
  const written = tokenCount(usage['cacheCreationInputTokens'])
  // Of models that have no such thing, it is what was not cached.
  const isPlain = model?.startsWith('gpt-') === true
  const tokens = disjointTokens({
    input: tokenCount(usage['inputTokens']) + (isPlain ? written : 0),
    cacheRead: usage['cacheReadInputTokens'],
    cacheWrite: isPlain ? 0 : written,
    output: usage['outputTokens'],
  })
  const about = { id: `amp:${thread.session}:${name}`, ts, model: model ?? null, event: `${name}#0` }
  yield usageItem(thread, tokens, { ...about, isLatest: true })
}

const STOP = { kind: 'human_intervention', mark: 'interrupt', summary: 'cancelled' } as const
const STOPPED = otherPart('cancelled', { state: 'cancelled' }, STOP)

const ENDS = { done: 'ok', error: 'failed', cancelled: 'stopped', 'rejected-by-user': 'refused' } as const

function resultPart(part: ResultPart): Part {
  const run = fields(part.raw['run'])
  const id = str(part.raw['toolUseID']) ?? part.id
  const status = str(run['status']) ?? ''
  // Still under way when it was written.
  const state = Object.hasOwn(ENDS, status) ? ENDS[status as keyof typeof ENDS] : undefined
  if (state === undefined && !isRecord(part.raw['run'])) return { ...part, id }
  const { result, error, reason } = run
  const output = str(fields(result)['output']) ?? str(result) ?? leaves(result)
  const exitCode = num(fields(result)['exitCode'])
  const failed = state === 'failed' || (exitCode ?? 0) !== 0
  return {
    ...part,
    id,
    text: str(fields(error)['message']) ?? str(error) ?? output ?? str(reason),
    failed,
    isRefused: state === 'refused',
    state: state === 'stopped' ? state : state === undefined ? 'background' : undefined,
    exitCode,
  }
}

/** One entry per response, where the answers themselves tell nothing. */
function* ledger(thread: Thread, document: Fields): Generator<Item> {
  for (const one of list(fields(document['usageLedger'])['events']).filter(isRecord)) {
    const ts = time(one['timestamp'])
    const told = fields(one['tokens'])
    const to = num(one['toMessageId']) ?? str(one['toMessageId'])
    const name = recordName(thread, one, str(one['id']), ts)
    yield usageItem(thread, disjointTokens({ input: told['input'], output: told['output'] }), {
      id: `amp:${thread.session}:ledger ${name}`,
      ts,
      model: str(one['model']) ?? null,
      event: to === undefined ? undefined : `m${to}#0`,
    })
  }
}
