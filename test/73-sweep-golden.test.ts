// The homes real clients left behind, swept whole, against what the scripted model really said: the totals a person sees
// (tokens, prompts, calls, lineage), each thing counted once however often forks and streams repeat it. Differences that
// are the client's own doing are listed; a listed one that no longer occurs fails too.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Session, SessionEvent } from '../src/model.ts'
import { sessionEvents } from '../src/query/events.ts'
import { listSessions } from '../src/query/sessions.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { World } from './setup/sweeping.ts'

interface Response {
  seq: number
  response_id: string
  queue: string
  streamed: string | null
  tool_calls: { id: string; name: string; input: { prompt?: string } }[]
  usage: { input: number; cache_read: number; cache_write: number; output: number } | null
  wire_usage: unknown
}
interface Expected {
  invocations: {
    argv: string[]
    mode: string
    prompt: string | null
    prompts?: string[]
    session_id: string | null
    served: number[]
  }[]
  responses: Response[]
}
interface Swept {
  sessions: Session[]
  events: SessionEvent[]
  edges: { session_uid: string; kind: string; parent_uid: string }[]
  ledger: { session_uid: string; response_id: string; input: number }[]
}

const CLIENTS = readdirSync(join(import.meta.dirname, 'fixtures', 'agents'))
  .filter((name) => name.endsWith('.tgz'))
  .map((name) => name.slice(0, -'.tgz'.length))

const PLACEHOLDER = { 'output tokens': 'before 2.1.100 a line keeps the count of the start of the stream' }
const CUT = { 'output tokens': 'the stream was cut: its final count was never sent' }
const BEGUN = 'the beginning of a response that was interrupted counts'
const UNSAVED = { prompts: 'a prompt that was never answered, or failed to resume, is not saved' }
const ENDED = 'usage is written when a turn ends'
const KILLED = {
  'input tokens': ENDED,
  'cache tokens': ENDED,
  'output tokens': ENDED,
  'tokens per session': ENDED,
}
const APART = { 'tokens per session': 'sub-agents are sessions of their own' }
const SUMMED = 'the call that compacts is in the totals'
const COMPACTED = {
  'input tokens': SUMMED,
  'cache tokens': SUMMED,
  'output tokens': SUMMED,
  'tokens per session': SUMMED,
}
const BEGUN_TOKENS = {
  'input tokens': BEGUN,
  'cache tokens': BEGUN,
  'output tokens': BEGUN,
  'tokens per session': BEGUN,
}
const UNWRITTEN = 'the client writes only when it ends as it should'
const LOST = {
  'input tokens': UNWRITTEN,
  'cache tokens': UNWRITTEN,
  'output tokens': UNWRITTEN,
  prompts: UNWRITTEN,
  'tool calls': UNWRITTEN,
}
/** scenario → aspect → why the client is to blame. */
const EXCEPTIONS: Record<string, Record<string, string>> = {
  'claude-1.0/slow_stream': PLACEHOLDER,
  'claude-1.0/compact': { ...UNSAVED, forks: 'nor is what it compacts without a terminal' },
  'claude-2.0/interrupt': UNSAVED,
  ...Object.fromEntries(
    'api_retry autocompact big_unicode_secret compact fork kill_resume kill_stream qa resume slow_stream tools'
      .split(' ')
      .map((scenario) => [`claude-2.1.50/${scenario}`, PLACEHOLDER]),
  ),
  'claude-2.1.50/interrupt': UNSAVED,
  'claude-2.1.50/subagent': KILLED,
  'claude-tui/interrupt_esc': CUT,
  'claude/interrupt': CUT,
  'claude/mid_error': CUT,
  'claude-tui/bang_and_slash': {
    'tokens per session': '/clear goes on in a session that no run is named after',
  },
  'grok-tui/bash_mode': { 'tokens per session': 'the same of /new', prompts: '/new leaves no record' },
  'grok-tui/compact_rename': { prompts: '/rename and /compact of the interface leave no prompt' },
  'codex-0.145/kill_tool': KILLED,
  'codex-0.45/kill_tool': { ...KILLED, 'tool calls': 'a call is written when its tool has ended' },
  'codex-0.45/compact_auto': { 'tool calls': 'a call is written when its tool has ended' },
  'codex-0.80/compact_auto': COMPACTED,
  'cline/subagent': APART,
  'codex/subagent': APART,
  'codex-codemode/subagent': APART,
  'codex-codemode/subagent_fork': APART,
  'codex-tui/user_shell': { 'tokens per session': '/new', prompts: '/new and ! are no prompts' },
  'continue/api_fatal': { prompts: UNWRITTEN },
  'continue/api_retry': { prompts: UNWRITTEN },
  'continue/fork': { forks: 'a fork names no parent' },
  'continue/kill_resume': LOST,
  'continue/kill_stream': LOST,
  'continue/kill_tool': LOST,
  'droid/autocompact': COMPACTED,
  'goose/autocompact': {
    'input tokens': SUMMED,
    'output tokens': SUMMED,
    'tokens per session': SUMMED,
  },
  'goose/kill_tool': {
    'input tokens': ENDED,
    'output tokens': ENDED,
    'tokens per session': ENDED,
    'tool calls': 'a call is written when its tool has ended',
  },
  'goose/subagent': APART,
  'letta/subagent': APART,
  'omp/interrupt': BEGUN_TOKENS,
  'omp/subagent': APART,
  'opencode/kill_resume': KILLED,
  'opencode/subagent': APART,
  'pi-0.87/interrupt': UNSAVED,
  'pi-0.87/stream_cut': BEGUN_TOKENS,
  'pi/interrupt': UNSAVED,
  'pi/stream_cut': BEGUN_TOKENS,
  'kimi/autocompact': COMPACTED,
  'kimi/interrupt': { 'input tokens': BEGUN, 'cache tokens': BEGUN, 'tokens per session': BEGUN },
  'gemini/kill_resume': { 'tool calls': 'a call is written when its tool has ended' },
  'gemini/kill_tool': { 'tool calls': 'a call is written when its tool has ended' },
  'gemini/subagent': APART,
  'grok-1.0.5/kill_tool': KILLED,
  'grok/hooks_kill': KILLED,
  'grok/kill_resume': KILLED,
  'grok/kill_stream': KILLED,
  'grok/kill_tool': KILLED,
}

const spoken = (expected: Expected): Response[] =>
  expected.responses.filter((one) => /^(?:main|sub)/.test(one.queue) && one.streamed === 'complete')
/** Warm-ups and answers cut short need not be on disk; where they are, they count. */
const paid = (expected: Expected, swept: Swept): Response[] =>
  expected.responses.filter(
    (one) =>
      spoken(expected).includes(one) || swept.ledger.some((row) => row.response_id === one.response_id),
  )
/** Only one of the three wires has a number for what was written to the cache. */
const cached = ({ usage, wire_usage: sent }: Response): number =>
  (usage?.cache_read ?? 0) +
  (JSON.stringify(sent).includes('cache_creation_input_tokens') ? (usage?.cache_write ?? 0) : 0)
/** This one keeps totals of all input, cached or not. */
const hasSplit = (client: string): boolean => client !== 'goose'
const inputOf = (one: Response, client: string): number =>
  (one.usage?.input ?? 0) + (hasSplit(client) ? 0 : cached(one))
/** Where every home has a conversation of the same name, its agent goes with it. */
const conversationOf = (id: string): string => id.replace(/@agent-local-[\w-]+$/, '')
const prompts = (expected: Expected): string[] =>
  expected.invocations.flatMap((one) => one.prompts ?? (one.prompt === null ? [] : [one.prompt]))
const sum = (numbers: number[]): number => numbers.reduce((total, one) => total + one, 0)

async function sweepHome(world: World): Promise<Swept> {
  const report = await world.sweep()
  expect(report.problems).toEqual([])
  return world.read((handle) => {
    const sessions = listSessions(handle, { withSubagents: true })
    return {
      sessions,
      events: sessions.flatMap((session) => [...sessionEvents(handle, session.session_uid)]),
      edges: handle.memory
        .prepare('SELECT session_uid, kind, parent_uid FROM edges')
        .all() as unknown as Swept['edges'],
      ledger: handle.memory
        .prepare('SELECT session_uid, response_id, input FROM usage WHERE is_counted AND NOT is_nested')
        .all() as unknown as Swept['ledger'],
    }
  })
}

const ASPECTS: Record<string, (expected: Expected, swept: Swept, client: string) => [unknown, unknown]> = {
  'input tokens': (expected, swept, client) => [
    sum(paid(expected, swept).map((one) => inputOf(one, client))),
    sum(swept.sessions.map((one) => one.cost.input_tokens)),
  ],
  'cache tokens': (expected, swept, client) => [
    hasSplit(client) ? sum(paid(expected, swept).map(cached)) : 0,
    sum(swept.sessions.map((one) => one.cost.cache_tokens)),
  ],
  'output tokens': (expected, swept) => [
    sum(paid(expected, swept).map((one) => one.usage?.output ?? 0)),
    sum(swept.sessions.map((one) => one.cost.output_tokens)),
  ],
  'tokens per session': (expected, swept, client) => {
    const wanted: Record<string, number> = {}
    const found: Record<string, number> = {}
    for (const { session_id: id, served } of expected.invocations) {
      const here = spoken(expected).filter((one) => served.includes(one.seq))
      if (id !== null) wanted[id] = (wanted[id] ?? 0) + sum(here.map((one) => inputOf(one, client)))
    }
    const aside = new Set(
      expected.responses.filter((one) => !spoken(expected).includes(one)).map((one) => one.response_id),
    )
    for (const id of Object.keys(wanted)) {
      const rows = swept.ledger.filter(
        (row) => conversationOf(row.session_uid).endsWith(`:${id}`) && !aside.has(row.response_id),
      )
      found[id] = sum(rows.map((row) => row.input))
    }
    const sorted = (record: Record<string, number>) => Object.entries(record).sort()
    return [sorted(wanted), sorted(found)]
  },
  // A command of the interface is no prompt.
  prompts: (expected, { sessions, edges }, client) => [
    prompts(expected).filter((one) => !(client.startsWith('claude') ? /^\// : /^\/compact\b/).test(one))
      .length,
    sum(
      sessions
        .filter(
          (one) => !edges.some((edge) => edge.kind === 'subagent' && edge.session_uid === one.session_uid),
        )
        .map((one) => one.cost.turns),
    ),
  ],
  'tool calls': (expected, { events }) => {
    // On one wire a client puts a mark before the names of its tools, and takes it off again.
    const wanted = spoken(expected).flatMap((one) => one.tool_calls.map(({ name }) => name.replace(/^_/, '')))
    const found = events
      .filter((one) => one.tool !== null && one.role === 'assistant' && !one.is_inherited)
      .map((one) => one.tool as string)
    // A script the model wrote makes calls of its own, which are events as well.
    return [wanted.sort(), found.filter((tool) => !wanted.includes('exec') || wanted.includes(tool)).sort()]
  },
  forks: (expected, { edges, sessions }) => {
    const known = new Set(sessions.map((one) => one.native_session_id))
    const first = expected.invocations[0]?.session_id ?? null
    const forks = expected.invocations.flatMap(({ argv, mode, session_id: id }) => {
      const at = argv.indexOf('--resume')
      const parent = at !== -1 && known.has(argv[at + 1] ?? '') ? argv[at + 1] : mode === 'fork' ? first : id
      return id === null || parent === id ? [] : [[id, parent]]
    })
    const native = (uid: string): string => uid.slice(uid.indexOf(':') + 1)
    return [
      forks.sort(),
      edges
        .filter((one) => one.kind === 'interactive_fork')
        .map((one) => [native(one.session_uid), native(one.parent_uid)])
        .sort(),
    ]
  },
  sessions: (expected, { sessions }) => {
    const ids = new Set(sessions.map((one) => conversationOf(one.native_session_id)))
    const wanted = [...new Set(expected.invocations.flatMap((one) => one.session_id ?? []))]
    return [wanted, wanted.filter((id) => ids.has(id))]
  },
}

for (const client of CLIENTS) {
  const directory = unpackAgent(client)
  describe(client, () => {
    test.each(readdirSync(directory).sort())('%s', async (scenario) => {
      const home = join(directory, scenario)
      const world = new World(home)
      const expected = JSON.parse(readFileSync(join(home, 'expected.json'), 'utf8')) as Expected
      const swept = await sweepHome(world)
      const differing: string[] = []
      for (const [name, aspect] of Object.entries(ASPECTS)) {
        const [wanted, found] = aspect(expected, swept, client)
        if (JSON.stringify(wanted) !== JSON.stringify(found)) differing.push(name)
      }
      expect(differing).toEqual(Object.keys(EXCEPTIONS[`${client}/${scenario}`] ?? {}))
      expect(world.verify().problems).toEqual([])
      world.remove()
    })
  })
}
