// What the real Claude Code left on disk, against what the scripted model really said. A difference is a failure unless
// the client itself did not write the fact; those are listed, and a listed one that no longer occurs fails too.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { EventItem } from '../src/adapters/adapter.ts'
import { claude } from '../src/adapters/claude/index.ts'
import { type Collected, collect } from './setup/collect.ts'
import { unpackAgent } from './setup/fixtures.ts'

interface Tokens {
  input: number
  cache_read: number
  cache_write: number
  output: number
}

interface Response {
  queue: string
  http_status: number
  response_id: string
  text: string | null
  thinking: string | null
  tool_calls: { id: string; name: string; input: unknown }[]
  usage: Tokens
  streamed: string | null
}

interface Expected {
  invocations: {
    mode: string
    prompt: string | null
    prompts?: string[]
    argv: string[]
    session_id: string | null
    served: number[]
  }[]
  responses: Response[]
}

const PLACEHOLDER = 'before 2.1.100 a line keeps the token count of the start of the stream'
const KILLED = 'the client was killed or interrupted before it wrote this down'
const UNFLUSHED = 'the client ended before its last lines were flushed'
const SILENT = 'this version does not write its retries down'
const POORER = 'the copy in a resumed session is written without toolUseResult'
const UNSAVED = '1.0 does not save what it compacts without a terminal, nor the prompt of a failed resume'

/** scenario → difference → why the client is to blame. */
const EXCEPTIONS: Record<string, Record<string, string>> = {
  'claude-1.0/api_retry': {
    'no error': SILENT,
  },
  'claude-1.0/compact': {
    'prompt missing: /compact keep the facts': UNSAVED,
    'prompt missing: What colour is the sky on Zorg?': UNSAVED,
    'summary missing: COMPACT-SUMMARY: the user said the sky is green on Zorg.': UNSAVED,
    'copy of user_msg missing': UNSAVED,
    'copy of assistant_msg missing': UNSAVED,
    'session of ': UNSAVED,
  },
  'claude-1.0/hooks': {
    'prompt missing: /compact': UNSAVED,
    'summary missing: HOOK-COMPACT': UNSAVED,
    'copy of error differs': POORER,
    'copy of tool_result differs': POORER,
    'session of 10,11': UNSAVED,
  },
  'claude-1.0/kill_tool': {
    'toolu_mock0001x0 result': KILLED,
  },
  'claude-1.0/slow_stream': {
    'msg_mock0001 output tokens': PLACEHOLDER,
    'msg_mock0005 output tokens': PLACEHOLDER,
  },
  'claude-2.0/api_retry': {
    'no error': SILENT,
  },
  'claude-2.0/interrupt': {
    'prompt missing: Write a long essay.': KILLED,
  },
  'claude-2.0/kill_tool': {
    'toolu_mock0001x0 result': KILLED,
  },
  'claude-2.1.200/kill_tool': {
    'toolu_mock0001x0 result': KILLED,
  },
  'claude-2.1.50/api_retry': {
    'msg_mock0003 output tokens': PLACEHOLDER,
    'no error': SILENT,
  },
  'claude-2.1.50/autocompact': {
    'msg_mock0001 output tokens': PLACEHOLDER,
    'msg_mock0004 output tokens': PLACEHOLDER,
    'msg_mock0006 output tokens': PLACEHOLDER,
  },
  'claude-2.1.50/big_unicode_secret': {
    'msg_mock0001 output tokens': PLACEHOLDER,
    'msg_mock0003 output tokens': PLACEHOLDER,
    'msg_mock0005 output tokens': PLACEHOLDER,
    'msg_mock0007 output tokens': PLACEHOLDER,
  },
  'claude-2.1.50/compact': {
    'msg_mock0001 output tokens': PLACEHOLDER,
    'msg_mock0003 output tokens': PLACEHOLDER,
  },
  'claude-2.1.50/fork': {
    'msg_mock0001 output tokens': PLACEHOLDER,
    'msg_mock0002 output tokens': PLACEHOLDER,
    'msg_mock0003 output tokens': PLACEHOLDER,
    'msg_mock0004 output tokens': PLACEHOLDER,
  },
  'claude-2.1.50/interrupt': {
    'prompt missing: Write a long essay.': KILLED,
  },
  'claude-2.1.50/kill_resume': {
    'toolu_mock0001x0 result': KILLED,
    'msg_mock0001 output tokens': PLACEHOLDER,
    'msg_mock0002 output tokens': PLACEHOLDER,
  },
  'claude-2.1.50/kill_stream': {
    'msg_mock0001 output tokens': PLACEHOLDER,
  },
  'claude-2.1.50/qa': {
    'msg_mock0001 output tokens': PLACEHOLDER,
  },
  'claude-2.1.50/resume': {
    'msg_mock0001 output tokens': PLACEHOLDER,
    'msg_mock0002 output tokens': PLACEHOLDER,
  },
  'claude-2.1.50/slow_stream': {
    'msg_mock0001 output tokens': PLACEHOLDER,
    'msg_mock0004 output tokens': PLACEHOLDER,
  },
  'claude-2.1.50/subagent': {
    'toolu_mock0001x0 result': UNFLUSHED,
    'msg_mock0005 text missing: The subagent counted 3 files.': UNFLUSHED,
    'msg_mock0001 output tokens': PLACEHOLDER,
    'msg_mock0002 output tokens': PLACEHOLDER,
    'msg_mock0004 output tokens': PLACEHOLDER,
    'msg_mock0005 tokens': UNFLUSHED,
  },
  'claude-2.1.50/tools': {
    'msg_mock0001 output tokens': PLACEHOLDER,
    'msg_mock0003 output tokens': PLACEHOLDER,
    'msg_mock0004 output tokens': PLACEHOLDER,
    'msg_mock0005 output tokens': PLACEHOLDER,
    'msg_mock0006 output tokens': PLACEHOLDER,
    'msg_mock0008 output tokens': PLACEHOLDER,
  },
  'claude/hooks_kill': {
    'toolu_mock0001x0 result': KILLED,
  },
  'claude/kill_tool': {
    'toolu_mock0001x0 result': KILLED,
  },
}

const CLIENTS = ['claude', 'claude-tui', 'claude-2.1.200', 'claude-2.1.50', 'claude-2.0', 'claude-1.0']

for (const client of CLIENTS) {
  const directory = unpackAgent(client)
  describe(client, () => {
    test.each(readdirSync(directory).sort())('%s', (scenario) => {
      const expected = JSON.parse(
        readFileSync(join(directory, scenario, 'expected.json'), 'utf8'),
      ) as Expected
      const all = collect(claude, join(directory, scenario))
      expect(all.gaps).toEqual([])
      expect([...all.unknown]).toEqual([])
      const differences = [
        ...prompts(all, expected),
        ...answers(all, expected),
        ...tokens(all, expected),
        ...errors(all, expected),
        ...summaries(all, expected),
        ...lineage(all, expected),
      ]
      expect(differences).toEqual(Object.keys(EXCEPTIONS[`${client}/${scenario}`] ?? {}))
    })
  })
}

/** Every event once: forks repeat events under the same key. */
function distinct(all: Collected): EventItem[] {
  const events = new Map<string, EventItem>()
  for (const session of all.sessions.values())
    for (const event of session.events) if (!events.has(event.key)) events.set(event.key, event)
  return [...events.values()]
}

/** The response an event belongs to. */
function responseOf(event: EventItem): string | undefined {
  return (event.payload as { message?: { id?: string } }).message?.id
}

function prompts(all: Collected, expected: Expected): string[] {
  const typed = expected.invocations.flatMap(
    (one) => one.prompts ?? (one.prompt === null ? [] : [one.prompt]),
  )
  const heard = distinct(all)
    .filter((event) => event.role === 'user' && !event.isSidechain)
    .filter((event) => event.kind === 'user_msg' || /^[!/]/.test(event.summary))
    .map((event) => (event.kind === 'user_msg' ? event.said : event.summary) ?? '')
  return diff('prompt', typed, heard)
}

function answers(all: Collected, expected: Expected): string[] {
  const events = distinct(all)
  const of = (kind: string, id: string) =>
    events.filter((event) => event.kind === kind && responseOf(event) === id).map((event) => event.said ?? '')
  const calls = events.filter((event) => event.callId !== undefined && event.role === 'assistant')
  const results = events.filter((event) => event.callId !== undefined && event.role === 'tool')
  const found: string[] = []
  for (const response of expected.responses.filter(isConversation)) {
    const id = response.response_id
    found.push(...diff(`${id} text`, response.text ? [response.text] : [], of('assistant_msg', id)))
    found.push(
      ...diff(
        `${id} thinking`,
        response.thinking ? [response.thinking] : [],
        of('thinking', id).filter((text) => text !== ''),
      ),
    )
    for (const call of response.tool_calls) {
      const [event, ...more] = calls.filter((one) => one.callId === call.id)
      const input = (event?.payload as { input?: unknown } | undefined)?.input
      if (!event || more.length > 0 || event.tool !== call.name) found.push(`${call.id} call`)
      else if (!holds(input, call.input)) found.push(`${call.id} input`)
      const answered = results.filter((one) => one.callId === call.id)
      if (answered.length !== 1 || answered[0]?.tool !== call.name) found.push(`${call.id} result`)
    }
  }
  return found
}

/** The client adds defaults to an input before it writes it down. */
function holds(input: unknown, told: unknown): boolean {
  const has = (input ?? {}) as Record<string, unknown>
  return Object.entries(told as object).every(
    ([name, value]) => JSON.stringify(has[name]) === JSON.stringify(value),
  )
}

/** Compactions leave a summary instead of an answer; auxiliary calls (titles, warm-ups) need not be kept. */
function isConversation(response: Response): boolean {
  return response.streamed === 'complete' && response.queue !== 'aux' && response.queue !== 'compact'
}

function tokens(all: Collected, expected: Expected): string[] {
  const found: string[] = []
  const wanted = new Map(expected.responses.map((response) => [response.response_id, response]))
  for (const id of all.usage.keys()) if (!wanted.has(id)) found.push(`invented tokens ${id}`)
  for (const [id, response] of wanted) {
    const usage = all.usage.get(id)
    if (!usage) {
      if (isConversation(response)) found.push(`${id} tokens`)
      continue
    }
    const { input, cacheRead, cacheWrite5m, cacheWrite1h, output } = usage
    const { usage: told } = response
    if (
      input !== told.input ||
      cacheRead !== told.cache_read ||
      cacheWrite5m + cacheWrite1h !== told.cache_write
    )
      found.push(`${id} input tokens`)
    // How much of the output was reasoning was never sent to the client.
    if (response.streamed === 'complete' && output !== told.output) found.push(`${id} output tokens`)
  }
  return found
}

/** What is left of a compacted conversation. */
function summaries(all: Collected, expected: Expected): string[] {
  const kept = distinct(all).filter((event) => event.kind === 'lifecycle' && event.said !== undefined)
  return expected.responses
    .filter((response) => response.queue === 'compact' && response.streamed === 'complete')
    .map((response) => (response.text ?? '').replace(/<analysis>.*<\/analysis>|<\/?summary>/g, '').trim())
    .filter((text) => !kept.some((event) => event.said?.includes(text)))
    .map((text) => `summary missing: ${text}`)
}

function errors(all: Collected, expected: Expected): string[] {
  const refused = expected.responses.filter(
    (one) => one.http_status >= 400 || /error|hung|gone/.test(one.streamed ?? ''),
  ).length
  const fatal = expected.responses.some((one) => one.http_status >= 400)
  const told = distinct(all).filter(
    (event) => event.role === 'system' && (event.kind === 'retry' || event.kind === 'error'),
  )
  return fatal && told.length === 0
    ? ['no error']
    : refused === 0 && told.length > 0
      ? ['invented error']
      : []
}

const CONVERSATION = [
  'user_msg',
  'assistant_msg',
  'thinking',
  'tool_call',
  'tool_result',
  'edit',
  'test_run',
  'error',
]

/** A fork holds what its parent held when it was made, event by event and byte by byte. */
function lineage(all: Collected, expected: Expected): string[] {
  const found: string[] = []
  for (const { argv, session_id: id, served } of expected.invocations) {
    const child = id === null ? undefined : all.sessions.get(id)
    if (!child) {
      found.push(`session of ${served.join(',')}`)
      continue
    }
    const resumed = argv.indexOf('--resume')
    const parentId = resumed === -1 ? undefined : argv[resumed + 1]
    const parent = parentId === undefined || parentId === id ? undefined : all.sessions.get(parentId)
    if (!parent) continue
    const inherited = new Map(child.events.map((event) => [event.key, event]))
    const keys = new Set(parent.events.map((event) => event.key))
    const forkedAt = Math.min(
      ...child.events.filter((event) => !keys.has(event.key)).map((event) => event.ts ?? Infinity),
    )
    for (const event of parent.events) {
      if (event.isSidechain || !CONVERSATION.includes(event.kind) || (event.ts ?? 0) >= forkedAt) continue
      const copy = inherited.get(event.key)
      if (!copy) found.push(`copy of ${event.kind} missing`)
      else if (JSON.stringify(copy.payload) !== JSON.stringify(event.payload))
        found.push(`copy of ${event.kind} differs`)
    }
  }
  return found
}

function diff(what: string, wanted: string[], found: string[]): string[] {
  const rest = [...found]
  const missing = wanted.filter((one) => {
    const at = rest.indexOf(one)
    if (at !== -1) rest.splice(at, 1)
    return at === -1
  })
  return [
    ...missing.map((one) => `${what} missing: ${one}`),
    ...rest.map((one) => `${what} invented: ${one}`),
  ]
}
