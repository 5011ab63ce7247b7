// A session is one document of messages, written anew after each, and a manifest beside it. Sub-agents' documents lie in
// the same folder.
import { basename, dirname, join } from 'node:path'
import { editsIn } from '../../event/edits.ts'
import type { EventItem, Item, Position, Source } from '../adapter.ts'
import { jsonBeside, readDocument } from '../kit/document.ts'
import { edgeItem, factsItems, usageItems } from '../kit/facts.ts'
import { type Fields, fields, isRecord, list, num, str, time } from '../kit/guards.ts'
import { newMemo } from '../kit/memo.ts'
import { INTERRUPT, messageEvents, noteEvent } from '../kit/messages.ts'
import { type Part, partsOf, type ResultPart } from '../kit/parts.ts'
import { speakerOf } from '../kit/shapes.ts'
import { leaves } from '../kit/text.ts'
import { newThread, recordName, type Thread } from '../kit/thread.ts'
import { namedTokens } from '../kit/tokens.ts'
import { exitCodeIn, type Tools } from '../kit/tools.ts'
import { readTask } from './tasks.ts'

const TOOLS: Tools = {
  run_commands: 'shell',
  editor: 'edit',
  apply_patch: 'edit',
  read_files: 'read',
  search_codebase: 'search',
  fetch_web_content: 'fetch',
  spawn_agent: 'spawn',
  ask_question: 'ask',
  switch_to_act_mode: 'plan',
  submit_and_exit: 'other',
  skills: 'other',
}

export function read(source: Source, from: Position | null, memo = newMemo()): Iterable<Item> {
  const { path } = source
  if (basename(path) === 'ui_messages.json') return readTask(path, from, memo)
  return readMessages(path, from)
}

function* readMessages(path: string, from: Position | null): Generator<Item> {
  const folder = dirname(path)
  const { value: manifest, gaps } = jsonBeside(join(folder, `${basename(folder)}.json`))
  yield* gaps
  const id = basename(path, '.messages.json')
  const tell = function* (document: unknown): Generator<Item> {
    const record = isRecord(document) ? document : {}
    const thread = newThread(str(record['sessionId']) || id)
    const isLead = record['agent'] !== 'subagent'
    yield* told(thread, record, manifest, isLead)
    const fork = forkOf(manifest)
    for (const one of list(record['messages']))
      yield* message(thread, isRecord(one) ? one : { message: one }, isLead ? fork.at : null)
    if (isLead) yield* ended(thread, manifest)
  }
  yield* readDocument(path, from, tell, JSON.stringify(manifest))
}

function forkOf(manifest: Fields): { parent: string | undefined; at: number | null } {
  const fork = fields(fields(manifest['metadata'])['fork'])
  return { parent: str(fork['forkedFromSessionId']), at: time(fork['forkedAt']) }
}

function* told(thread: Thread, record: Fields, manifest: Fields, isLead: boolean): Generator<Item> {
  const { session } = thread
  const origin = fields(record['origin'])
  const metadata = fields(manifest['metadata'])
  const fork = forkOf(manifest)
  const above = isLead ? undefined : str(origin['parentThreadId'])
  const first = fields(list(record['messages'])[0])
  if (above) yield edgeItem('subagent', session, above, time(first['ts']))
  if (isLead && fork.parent) yield edgeItem('interactive_fork', session, fork.parent, fork.at)
  yield* factsItems(thread, {
    startedAt: (isLead ? time(manifest['started_at']) : time(first['ts'])) ?? undefined,
    cwd: str(manifest['cwd']) ?? str(manifest['workspace_root']),
    gitBranch: str(fields(metadata['git'])['branch']),
    agentVersion: str(origin['version']),
    title: isLead ? str(metadata['title']) : undefined,
    relation: isLead ? (fork.parent ? 'fork' : undefined) : 'subagent',
  })
  // What the model is told about itself: the same in every session, and long.
  const instructions = str(record['system_prompt'])
  if (instructions)
    yield noteEvent(thread, {
      name: 'instructions',
      ts: null,
      kind: 'lifecycle',
      summary: 'instructions of the client',
      payload: { system_prompt: instructions },
    })
}

function* message(thread: Thread, record: Fields, forkedAt: number | null): Generator<Item> {
  const { id, role, content, ts: at, modelInfo, metrics, ...facts } = record
  const ts = time(at)
  const name = recordName(thread, record, str(id), ts)
  const metadata = fields(record['metadata'])
  const displayed = str(metadata['displayRole'])
  const model = str(fields(modelInfo)['id'])
  const more = forkedAt !== null && ts !== null && ts < forkedAt ? { inherited: true } : {}
  if (displayed === 'error') {
    // The client's words, in an answer's place.
    const text = leaves(content) ?? ''
    const payload = { content, ...facts }
    yield noteEvent(thread, { name, ts, kind: 'error', summary: text, said: text, payload, ...more })
    return
  }
  const speaker = displayed === 'system' || displayed === 'status' ? 'system' : speakerOf(role)
  if (speaker === undefined) yield { type: 'unknown', name: `message ${str(role) ?? 'without role'}` }
  const isSummary = str(metadata['kind'])?.startsWith('compaction') === true
  const parts = partsOf(content).map(speaker === 'user' ? typedPart : calledPart)
  const mark = isSummary ? ({ mark: 'compaction' } as const) : {}
  const all = { parts, facts, more: { ...more, ...mark } }
  yield* messageEvents(thread, { name, ts, speaker: speaker ?? 'system', ...all }, TOOLS)
  if (speaker === 'assistant') yield* counted(thread, name, ts, model, fields(metrics))
}

/** An answer that was cut off has zeros: nothing is known of it. */
function* counted(
  thread: Thread,
  name: string,
  ts: number | null,
  model: string | undefined,
  metrics: Fields,
): Generator<Item> {
  yield* factsItems(thread, { model })
  yield* usageItems(thread, namedTokens(metrics, { inputHasCache: true }), {
    id: `cline:${name}`,
    ts,
    model: model ?? null,
    event: `${name}#0`,
    usd: num(metrics['cost']),
  })
}

const TYPED = /^\s*<user_input\b[^>]*>(.*)<\/user_input>\s*$/s
const NOTICE = /<mode_notice>[^<]*<\/mode_notice>\s*/g

/** A person's words without what the client puts around them; results without their envelope. */
function typedPart(part: Part): Part {
  if (part.is === 'text') {
    const typed = TYPED.exec(part.text)?.[1]
    return typed === undefined ? part : { ...part, text: typed.replace(NOTICE, '') }
  }
  return part.is === 'result' ? resultPart(part) : part
}

function calledPart(told: Part): Part {
  if (told.is !== 'call') return told
  const part = { ...told, more: shownAs(told) }
  const commands = fields(part.input)['commands']
  const lines = (typeof commands === 'string' ? [commands] : list(commands)).map((one) =>
    typeof one === 'string' ? one : (leaves(one) ?? ''),
  )
  if (part.tool === 'run_commands' && lines.length > 0) return { ...part, act: { command: lines.join('\n') } }
  const edits = part.tool === 'apply_patch' ? editsIn(fields(part.input)['input'] ?? part.input) : []
  return edits.length > 0 ? { ...part, act: { edits } } : part
}

/** Of calls that say it in fields of their own: which files, and what is asked of a sub-agent. */
function shownAs(part: Extract<Part, { is: 'call' }>): Partial<EventItem> | undefined {
  const { files, task } = fields(part.input)
  if (part.tool === 'spawn_agent' && str(task) !== undefined) return { summary: `spawn_agent: ${str(task)}` }
  const paths = list(files).flatMap((file) => str(file) ?? str(fields(file)['path']) ?? [])
  const isRead = part.tool === 'read_files' && paths.length > 0
  return isRead ? { files: paths, summary: `read_files ${paths[0]}` } : undefined
}

/** A list with one entry for each command or file of the call, or one entry as JSON in a string. */
function resultPart(part: ResultPart): Part {
  const { content } = part.raw
  const entries = (typeof content === 'string' ? [parsed(content)] : list(content)).map(fields)
  const texts = entries.map((entry) => str(entry['result']) ?? str(entry['text']) ?? str(entry['error']))
  const wrong = entries.find(
    ({ success, error }) => success === false || (success === undefined && str(error)),
  )
  const said = texts.filter((text) => text !== undefined).join('\n')
  const failed = part.failed || wrong !== undefined
  const isShell = part.raw['name'] === 'run_commands'
  const told = wrong
    ? (exitCodeIn(str(wrong['error']) ?? '') ?? exitCodeIn(said, EXITED))
    : failed
      ? undefined
      : 0
  return {
    ...part,
    text: (said || part.text)?.replace(EXITED, ''),
    failed,
    isRefused: failed && REFUSED.test(str(wrong?.['error']) ?? said),
    exitCode: isShell && entries.length > 0 ? told : undefined,
  }
}

const EXITED = /^\[Command exited with code (\d+)\]\s*/
// The last is how it tells the model in all the ways of asking, also where nobody is there to be asked.
const REFUSED =
  /\bdenied by user\b|\bwas not approved\b|\brejected by the user\b|\bNOT a tool or system failure\b/i

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return { text }
  }
}

/** How it ended, as the manifest says by now. Of a process that was killed it says nothing, for ever. */
function* ended(thread: Thread, manifest: Fields): Generator<Item> {
  const ts = time(manifest['ended_at'])
  const status = str(manifest['status'])
  if (ts === null || status === undefined) return
  const { exit_code, ended_at } = manifest
  const note = { name: 'end', ts, payload: { status, exit_code, ended_at } }
  if (status === 'cancelled') yield noteEvent(thread, { ...note, ...INTERRUPT, summary: 'cancelled' })
  else yield noteEvent(thread, { ...note, summary: `session ${status}` })
}
