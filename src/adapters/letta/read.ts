// A conversation: messages as pi's library writes them, one a line. The last line is written anew while an answer comes in. Times
// of what is no answer are a counter from the first of January, and ids begin anew in every home.
import { basename, dirname, join } from 'node:path'
import type { Item, Position, Source } from '../adapter.ts'
import { jsonBeside } from '../kit/document.ts'
import { edgeItem, factsItems } from '../kit/facts.ts'
import { type Fields, fields, list, str, time } from '../kit/guards.ts'
import { readLines } from '../kit/lines.ts'
import { messageEvents } from '../kit/messages.ts'
import { otherPart, type Part } from '../kit/parts.ts'
import { contentText, hashOf } from '../kit/text.ts'
import { newThread, recordName, type Thread } from '../kit/thread.ts'
import { exitCodeIn, toolsBy } from '../kit/tools.ts'
import { spokenIn, usageIn } from '../pi/messages.ts'
import { nameIn, ownerFile } from './names.ts'

const TOOLS = toolsBy({
  shell: 'Bash',
  edit: 'Edit MultiEdit Write',
  read: 'LS Read',
  search: 'Glob Grep',
  spawn: 'Agent Task',
  ask: 'AskUserQuestion',
  plan: 'TodoWrite',
})

interface State extends Thread {
  /** When the conversation was made: what is told to be earlier comes from the counter. */
  madeAt: number | null
  /** The agent whose conversation it is. */
  owner?: string
  /** What was sent last, until it is answered. */
  sent?: string | undefined
}

export function read({ path }: Source, from: Position | null): Iterable<Item> {
  const folder = dirname(path)
  const fresh = (): State => {
    const { value } = jsonBeside(join(folder, 'manifest.json'))
    return { ...newThread(nameIn(basename(folder))), madeAt: time(value['created_at']) }
  }
  return readLines(path, from, fresh, (state, { record }) => recordItems(state, record), {
    atEnd: (state) => besideItems(state, folder),
  })
}

function* recordItems(state: State, record: Fields): Generator<Item> {
  const { id, metadata, ...message } = record
  const about = fields(metadata)
  const [conversation, owner] = [str(about['conversation_id']), str(about['agent_id'])]
  if (state.last === null && conversation && owner) {
    state.session = `${conversation}@${owner}`
    state.owner = owner
  }
  const ts = realTime(state, message['timestamp'], about['created_at'])
  const name = recordName(state, record, str(id), ts)
  const { speaker, parts, facts } = spokenIn(message)
  const isPartial = speaker === 'assistant' && message['provider'] === 'local'
  const model = speaker === 'assistant' && !isPartial ? str(message['model']) : undefined
  const told = speaker === 'user' ? promptParts(state, parts) : parts.map(resultPart)
  yield* factsOf(state, told, model)
  yield* messageEvents(state, { name, ts, speaker, parts: told, facts }, TOOLS)
  if (speaker === 'assistant') yield* endItems(state, name, isPartial)
  if (speaker === 'tool') yield* spawnItems(state, message)
  if (!isPartial) yield* usageIn(state, message, { name, ts })
}

function realTime({ madeAt }: State, told: unknown, counted: unknown): number | null {
  const ts = time(told)
  if (ts === null) return null
  return (madeAt === null ? ts === time(counted) : ts < madeAt) ? null : ts
}

const REMINDER = /^\s*<system-reminder>/

/** Before the person's words stand those of the client. The very same once more is the client's own new try. */
function promptParts(state: State, parts: readonly Part[]): Part[] {
  const sent = hashOf(parts.map(({ raw }) => raw))
  const isRetry = state.sent === sent
  state.sent = sent
  let isPart = false
  return parts.map((part) => {
    if (part.is !== 'text') return { ...part, more: undefined }
    if (isRetry || REMINDER.test(part.text)) {
      const kind = isRetry && !REMINDER.test(part.text) ? 'retry' : 'lifecycle'
      const summary = kind === 'retry' ? 'request tried again' : 'reminder of the client'
      return otherPart('reminder', part.raw, { kind, summary, more: { role: 'system' } })
    }
    const more = isPart ? { isPart } : {}
    isPart = true
    return { ...part, more }
  })
}

const DIRECTORY = /^- \*\*Current working directory\*\*: (.+)$/m
const BRANCH = /^- \*\*Git repository\*\*: Yes \(branch: (.+)\)$/m
const VERSION = /^- \*\*Letta Code version\*\*: (.+)$/m

/** Where it runs stands only in the client's words to the model. */
function* factsOf(state: State, parts: readonly Part[], model: string | undefined): Generator<Item> {
  const texts = parts.flatMap((part) => (part.is === 'other' ? (str(part.raw['text']) ?? []) : []))
  const found = (pattern: RegExp): string | undefined =>
    texts.map((text) => pattern.exec(text)?.[1]).find(Boolean)
  yield* factsItems(state, {
    model,
    cwd: found(DIRECTORY),
    gitBranch: found(BRANCH),
    agentVersion: found(VERSION),
  })
}

const EXIT = /^Exit code: (-?\d+)\n?/
const GOES_ON = /^Command running in background/

/** A command that failed is a success to the client, with the code before its output. */
function resultPart(part: Part): Part {
  if (part.is !== 'result' || part.more?.tool !== 'Bash') return part
  const text = part.text ?? ''
  if (GOES_ON.test(text)) return { ...part, state: 'background' }
  const exitCode = exitCodeIn(text, EXIT) ?? (part.failed ? undefined : 0)
  const failed = part.failed || (exitCode ?? 0) !== 0
  return { ...part, failed, text: text.replace(EXIT, ''), exitCode: exitCode ?? part.exitCode }
}

/** An answer that is still coming in, or never came to its end, says that it ended and names no provider. */
function* endItems(state: State, name: string, isPartial: boolean): Generator<Item> {
  state.sent = undefined
  const key = `${name}#cut`
  const { session, last } = state
  if (!isPartial) {
    yield {
      type: 'supersede',
      session,
      keys: [key],
      isRepetition: true,
      toldAs: 'lifecycle',
    }
    return
  }
  const told = {
    kind: 'lifecycle',
    role: 'system',
    mark: 'shutdown',
    summary: 'the answer did not end',
  } as const
  const payload = { answer: key, session }
  yield { type: 'event', session, key, parentKey: last, ts: null, ...told, payload }
}

const SPAWNED = /\bagent_id=([^\s=]{1,200}) conversation_id=([^\s=]{1,200})/

function* spawnItems({ session }: State, message: Fields): Generator<Item> {
  if (message['toolName'] !== 'Agent' && message['toolName'] !== 'Task') return
  const found = SPAWNED.exec(contentText(message['content']) ?? '')
  const callId = str(message['toolCallId'])
  if (!found) return
  yield edgeItem('subagent', `${found[2]}@${found[1]}`, session, null, callId || undefined)
}

/** What the files beside it tell, which may be written later. Of a sub-agent, its own description says where it works. */
function* besideItems(state: State, folder: string): Generator<Item> {
  if (state.last === null) return
  const manifest = jsonBeside(join(folder, 'manifest.json'))
  const conversation = jsonBeside(join(folder, 'conversation.json'))
  const owner = state.owner ? jsonBeside(ownerFile(folder, state.owner)) : { value: {}, gaps: [] }
  yield* [...manifest.gaps, ...conversation.gaps, ...owner.gaps]
  const isSubagent = list(owner.value['tags']).includes('role:subagent')
  const place = /^Letta Code agent created in (\/.+)$/.exec(str(owner.value['description']) ?? '')?.[1]
  yield* factsItems(state, {
    startedAt: time(manifest.value['created_at']) ?? undefined,
    title: str(conversation.value['summary'])?.trim(),
    ...(isSubagent && { relation: 'subagent', cwd: place }),
  })
}
