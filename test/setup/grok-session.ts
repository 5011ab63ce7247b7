// Builds session directories as the agent would leave them, and reads them in one or many steps.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Position } from '../../src/adapters/adapter.ts'
import { grok } from '../../src/adapters/grok/index.ts'
import { type Collected, collectFile, emptyCollection } from './collect.ts'
import { temporary } from './temporary.ts'

export type Line = Record<string, unknown>
export interface Files {
  updates?: Line[]
  chat?: Line[]
  events?: Line[]
  summary?: unknown
  /** More files, by path within the session's directory. */
  more?: Record<string, string>
}

export const SESSION = '01a1e078-0000-7000-8000-000000000001'

export const temporaryHome = (): string => temporary('grok')

export const jsonl = (lines: Line[]): string => lines.map((line) => `${JSON.stringify(line)}\n`).join('')

/** Writes a session and returns the path of its spine. */
export function writeSession(
  files: Files,
  { home = temporaryHome(), project = '%2Fhome%2Fdev%2Fproj', session = SESSION } = {},
): string {
  const directory = join(home, 'sessions', project, session)
  mkdirSync(directory, { recursive: true })
  const put = (name: string, text: string): void => {
    mkdirSync(join(directory, name, '..'), { recursive: true })
    writeFileSync(join(directory, name), text)
  }
  if (files.updates) put('updates.jsonl', jsonl(files.updates))
  if (files.chat) put('chat_history.jsonl', jsonl(files.chat))
  if (files.events) put('events.jsonl', jsonl(files.events))
  if (files.summary !== undefined) put('summary.json', JSON.stringify(files.summary))
  for (const [name, text] of Object.entries(files.more ?? {})) put(name, text)
  return join(directory, files.updates ? 'updates.jsonl' : 'chat_history.jsonl')
}

/** One more read of a session, from where the last one stopped; positions go through JSON as they do in the cursor. */
export function readOn(path: string, all: Collected = emptyCollection()): Collected {
  const stopped = all.positions.get(path)
  const from = stopped ? (JSON.parse(JSON.stringify(stopped)) as Position) : null
  collectFile(grok, path, from, all)
  return all
}

let number = 0
const START = 1_794_000_000_000

/** An update in today's envelope; numbers and times go up from call to call. */
export function update(body: Line, meta: Line = {}, session = SESSION): Line {
  number++
  const at = START + number * 1000
  return {
    timestamp: Math.floor(at / 1000),
    method: '_x.ai/session/update',
    params: {
      sessionId: session,
      update: body,
      _meta: { eventId: `${session}-${number}`, agentTimestampMs: at, ...meta },
    },
  }
}

/** The same, as lines were before they had an envelope, ids and times. */
export const bare = (body: Line): Line => ({ sessionId: SESSION, update: body })

export const chunk = (kind: string, text: string, meta?: Line): Line => ({
  sessionUpdate: kind,
  content: { type: 'text', text },
  ...(meta ? { _meta: meta } : {}),
})
export const user = (text: string, promptIndex?: number): Line =>
  chunk(
    'user_message_chunk',
    text,
    promptIndex === undefined ? undefined : { promptIndex, modelId: 'grok-4.6' },
  )
/** How the client tells the model what was typed while it worked. */
export const interjection = (text: string): string =>
  `The user sent a message while you were working:\n<user_query>\n${text}\n</user_query>\nMake sure to complete any unfinished tasks from previous turns.`
export const agent = (text: string): Line => chunk('agent_message_chunk', text)
export const toolCall = (id: string, tool: string, rawInput?: Line): Line => ({
  sessionUpdate: 'tool_call',
  toolCallId: id,
  title: tool,
  ...(rawInput ? { rawInput } : {}),
})
export const toolUpdate = (id: string, rest: Line): Line => ({
  sessionUpdate: 'tool_call_update',
  toolCallId: id,
  ...rest,
})
export const row = (type: string, atSeconds: number, rest: Line = {}): Line => ({
  ts: new Date(START + atSeconds * 1000).toISOString(),
  type,
  ...rest,
})
export const bytes = (text: string): number[] => [...Buffer.from(text)]
