// Session files as pi and its forks write them: a header, then a tree of entries by `id` and `parentId`. An entry that hangs
// on another than the one before it begins a branch; a fork's file begins with copies of its parent's entries.
import { basename } from 'node:path'
import type { EventItem, Item } from '../adapter.ts'
import { remember } from '../kit/bounded.ts'
import { edgeItem, factsItems } from '../kit/facts.ts'
import { type Fields, fields, isRecord, str, time } from '../kit/guards.ts'
import { messageEvents } from '../kit/messages.ts'
import { otherPart } from '../kit/parts.ts'
import { wordList } from '../kit/text.ts'
import { newThread, recordName, type Thread } from '../kit/thread.ts'
import type { Tools } from '../kit/tools.ts'
import { injected, type Spoken, spokenIn, usageIn } from './messages.ts'
import { SESSION_FILE, sessionIn } from './names.ts'

/** Carry-over between entries; plain, bounded JSON. */
export interface Session extends Thread {
  startedAt: number | null
  /** The session it was made from, until an entry shows in which way. */
  parent?: string | undefined
  isFork: boolean
  isSubagent: boolean
  /** The latest entries on the branch that lives. */
  branch: string[]
  /** The entry of the request that failed last. */
  failed?: string | undefined
}

/** Of a sub-agent's file: the session in whose folder it lies. */
export const newSession = (path: string, folder?: string): Session => ({
  ...newThread(sessionIn(path)),
  startedAt: null,
  isFork: false,
  isSubagent: folder !== undefined,
  ...(folder !== undefined && { parent: sessionIn(`${folder}.jsonl`) }),
  branch: [],
})

const BRANCH_LENGTH = 256

interface Entry {
  session: Session
  record: Fields
  name: string
  ts: number | null
  parent: string | null | undefined
}

export function* recordItems(session: Session, record: Fields, tools: Tools): Generator<Item> {
  const type = str(record['type']) ?? ''
  if (type === 'session') return yield* headerItems(session, record)
  // The place of the title, at the top of the file: it is written anew there.
  if (type === 'title') return yield* titleItems(session, record['title'], record['source'])
  const ts = time(record['timestamp'])
  yield* parentItems(session, ts)
  const name = recordName(session, record, str(record['id']), ts)
  const parent = record['parentId'] === undefined ? undefined : (str(record['parentId']) ?? null)
  yield* branchItems(session, name, parent)
  const entry: Entry = { session, record, name, ts, parent }
  if (type === 'message' && isRecord(record['message'])) yield* messageItems(entry, record['message'], tools)
  else yield* noteItems(entry, type)
}

function* headerItems(session: Session, record: Fields): Generator<Item> {
  const ts = time(record['timestamp'])
  if (session.last === null) {
    session.session = str(record['id']) || session.session
    session.startedAt = ts
    const parent = str(record['parentSession']) ?? str(record['branchedFrom'])
    if (parent && (!session.isSubagent || SESSION_FILE.test(basename(parent))))
      session.parent = sessionIn(parent)
    if (session.isSubagent) yield* parentItems(session, ts)
  }
  yield* factsItems(session, {
    startedAt: ts ?? undefined,
    cwd: str(record['cwd']),
    model: str(record['modelId']),
  })
  yield* titleItems(session, record['title'], record['titleSource'])
  const { type, id, timestamp, cwd, parentSession, branchedFrom, ...rest } = record
  // No other session has an equal body.
  const parts = [otherPart('session', { session: session.session, ...rest }, { summary: 'session begins' })]
  const name = session.last === null ? 'session' : recordName(session, record, undefined, ts)
  const entry: Entry = { session, record, name, ts, parent: session.last === null ? null : undefined }
  yield* tell(entry, { speaker: 'system', parts, facts: {} })
}

function* titleItems(session: Session, title: unknown, source: unknown): Generator<Item> {
  const text = str(title)?.trim()
  if (text) yield* factsItems(session, { title: text, ...(source === 'user' && { titleByPerson: true }) })
}

/** The first entry tells a fork, which begins with copies, from a session that only follows another. */
function* parentItems(session: Session, ts: number | null): Generator<Item> {
  const { parent, startedAt } = session
  if (parent === undefined) return
  delete session.parent
  session.isFork = !session.isSubagent && isBefore(ts, startedAt)
  if (session.isFork || session.isSubagent)
    yield* factsItems(session, { relation: session.isFork ? 'fork' : 'subagent' })
  const kind = session.isSubagent ? 'subagent' : session.isFork ? 'interactive_fork' : 'swapped'
  yield edgeItem(kind, session.session, parent, startedAt)
}

const isBefore = (ts: number | null, start: number | null): boolean =>
  ts !== null && start !== null && ts < start

/** An entry that does not follow the one before it: the person went back, and what came after is left behind. */
function* branchItems(session: Session, name: string, parent: string | null | undefined): Generator<Item> {
  const { branch } = session
  if (parent !== undefined && branch.length > 0 && branch.at(-1) !== parent) {
    const at = parent === null ? -1 : branch.indexOf(parent)
    const first = parent === null || at !== -1 ? branch[at + 1] : undefined
    branch.splice(at + 1)
    if (first !== undefined) yield { type: 'supersede', session: session.session, sinceKey: `${first}#0` }
  }
  remember(branch, name, BRANCH_LENGTH)
}

/** The events of an entry. */
function* tell({ session, name, ts, parent }: Entry, spoken: Spoken, tools?: Tools): Generator<Item> {
  const isCopy = session.isFork && isBefore(ts, session.startedAt)
  yield* messageEvents(
    session,
    { name, ts, parent, ...spoken, more: isCopy ? { inherited: true } : {} },
    tools,
  )
}

function* messageItems(entry: Entry, message: Fields, tools: Tools): Generator<Item> {
  const { session, name } = entry
  const spoken = spokenIn(message)
  const isAnswer = spoken.speaker === 'assistant'
  if (isAnswer) yield* factsItems(session, { model: str(message['model']) })
  yield* tell(entry, spoken, tools)
  session.failed = message['stopReason'] === 'error' ? name : undefined
  yield* usageIn(session, message, entry)
}

/** Names that were described, and what is read of them in a list. */
const NOTES: Readonly<Record<string, string>> = {
  archive: 'a branch put away',
  branch_summary: 'summary of the branch that was left',
  compaction: 'conversation compacted',
  context_edit: 'context changed',
  context_transform: 'context changed',
  credential_pin: 'account chosen',
  custom: 'note of an extension',
  custom_message: 'message of an extension',
  ephemeral: 'context of one request',
  label: 'label',
  mcp_tool_selection: 'tools chosen',
  mode_change: 'mode changed',
  model_change: 'model changed',
  model_usage: 'a request beside the conversation',
  reset_boundary: 'context cleared',
  service_tier_change: 'service tier changed',
  session_info: 'session named',
  session_init: 'sub-agent begins',
  thinking_level_change: 'thinking level changed',
  title_change: 'title changed',
  ttsr_injection: 'rules added',
  usage: 'a request beside the conversation',
}
/** The one word that tells more. */
const DETAILS = wordList('kind purpose modelId model thinkingLevel label name title mode customType agent')

function* noteItems(entry: Entry, type: string): Generator<Item> {
  const { session, record } = entry
  const known = Object.hasOwn(NOTES, type) ? NOTES[type] : undefined
  const detail = DETAILS.map((field) => str(record[field])).find(Boolean)
  const summary = [known ?? `[${type || 'no type'}]`, ...(detail ? [detail] : [])].join(': ')
  const isKnown = known !== undefined
  const name = isKnown ? type : `entry ${type || 'without type'}`
  const parts = [{ ...injected(record), name, summary, isKnown, ...meaning(entry, type) }]
  if (type === 'model_change')
    yield* factsItems(session, {
      model: str(record['modelId']) ?? str(record['model'])?.replace(/^[^/]*\//, ''),
    })
  if (type === 'session_info') yield* titleItems(session, record['name'], 'user')
  if (type === 'title_change') yield* titleItems(session, record['title'], record['source'])
  yield* tell(entry, { speaker: 'system', parts, facts: {} })
  yield* usageIn(session, record, entry)
}

function meaning(
  { session, record }: Entry,
  type: string,
): Pick<Partial<EventItem>, 'mark' | 'kind' | 'summary'> {
  if (type === 'compaction') return { mark: 'compaction' }
  // A request that failed is taken out of the context before it is tried again.
  const isRetry =
    type === 'context_edit' && record['targetId'] === session.failed && record['replacement'] === null
  if (isRetry) return { kind: 'retry', summary: 'request tried again' }
  const data = fields(record['data'])
  if (type !== 'custom' || record['customType'] !== 'session_exit' || data['kind'] === 'normal') return {}
  return { mark: 'shutdown', summary: `the program ended: ${str(data['reason']) ?? 'no reason given'}` }
}
