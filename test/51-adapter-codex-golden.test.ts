// Sessions of real Codex releases against what the scripted model is known to have said, called and cost.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { EventItem } from '../src/adapters/adapter.ts'
import { codex } from '../src/adapters/codex/index.ts'
import { type Collected, collect } from './setup/collect.ts'
import { unpackAgent } from './setup/fixtures.ts'

const CLIENTS = [
  'codex',
  'codex-codemode',
  'codex-tui',
  'codex-0.145',
  'codex-0.121',
  'codex-0.80',
  'codex-0.45',
]

/** Facts the client itself did not write down. The tests fail when one of these is no longer needed. */
const EXCEPTIONS: Record<string, { what: string; reason: string }[]> = {
  'codex/kill_tool': [{ what: 'results', reason: 'killed while the tool ran' }],
  'codex-codemode/kill_tool': [{ what: 'results', reason: 'killed while the tool ran' }],
  'codex-codemode/hooks_kill': [{ what: 'results', reason: 'killed while the tool ran' }],
  'codex-0.145/kill_tool': [
    { what: 'results', reason: 'killed while the tool ran' },
    { what: 'tokens', reason: 'counted only when the tool has ended' },
  ],
  'codex-0.121/kill_tool': [{ what: 'results', reason: 'killed while the tool ran' }],
  'codex-0.80/kill_tool': [{ what: 'results', reason: 'killed while the tool ran' }],
  'codex-0.80/api_fatal': [{ what: 'errors', reason: 'errors were not recorded before 0.145' }],
  'codex-0.45/kill_tool': [
    { what: 'calls', reason: 'a call is written only when the tool has ended' },
    { what: 'results', reason: 'killed while the tool ran' },
    { what: 'tokens', reason: 'counted only when the tool has ended' },
  ],
  'codex-0.45/compact_auto': [
    {
      what: 'answers',
      reason: 'the client took the second answer for its summary, and says so in words of its own',
    },
    { what: 'calls', reason: 'the call beside that answer was not made' },
    { what: 'results', reason: 'the call beside that answer was not made' },
  ],
}

interface Call {
  id: string
  name: string
  input: unknown
}

interface Response {
  queue: string
  http_status: number
  response_id: string
  model: string
  text: string | null
  thinking: string | null
  tool_calls: Call[] | null
  wire_usage: {
    input_tokens: number
    input_tokens_details: { cached_tokens: number }
    output_tokens: number
    output_tokens_details: { reasoning_tokens: number }
  } | null
  streamed: string | null
}

interface Expected {
  invocations: {
    mode: string
    prompt: string | null
    prompts?: string[]
    session_id: string | null
    killed_by: string | null
    signal: string | null
  }[]
  responses: Response[]
}

interface Scenario {
  expected: Expected
  found: Collected
  /** Events of all sessions in order of time, without what a fork copied. */
  events: EventItem[]
}

const CALLS = new Set(['tool_call', 'edit', 'test_run', 'retry', 'decision'])

function load(directory: string): Scenario {
  const expected = JSON.parse(readFileSync(join(directory, 'expected.json'), 'utf8')) as Expected
  const found = collect(codex, directory)
  const events = [...found.sessions.values()]
    .flatMap((session) => session.events)
    .filter((event) => !event.inherited)
  return { expected, found, events: events.sort((a, b) => (a.ts ?? 0) - (b.ts ?? 0)) }
}

const completed = (expected: Expected): Response[] =>
  expected.responses.filter(
    (one) => one.queue !== 'aux' && one.http_status === 200 && one.streamed === 'complete',
  )

const sorted = (texts: (string | null | undefined)[]): string[] =>
  texts.filter((text) => typeof text === 'string').sort()

/** What each check demands; a check yields the differences it found, by name. */
const CHECKS: Record<string, (scenario: Scenario) => void> = {
  gaps({ found }) {
    expect(found.gaps).toEqual([])
    expect([...found.unknown.keys()]).toEqual([])
  },
  sessions({ expected, found }) {
    for (const { session_id } of expected.invocations)
      if (session_id) expect([...found.sessions.keys()]).toContain(session_id)
    for (const session of found.sessions.values()) {
      expect(session.facts.cwd).toBe('/home/dev/proj')
      expect(session.facts.gitBranch).toBe('main')
      expect(session.facts.agentVersion).toMatch(/^0\.\d+\.\d+$/)
      const keys = session.events.map((event) => event.key)
      expect(new Set(keys).size).toBe(keys.length)
    }
  },
  prompts({ expected, found, events }) {
    const typed = expected.invocations
      .flatMap((one) => one.prompts ?? [one.prompt])
      .filter((prompt) => prompt && !/^[!/]/.test(prompt))
    const told = events.filter(
      (event) =>
        event.kind === 'user_msg' &&
        event.role === 'user' &&
        found.sessions.get(event.session)?.facts.relation !== 'subagent',
    )
    expect(told.map((event) => event.said)).toEqual(typed)
  },
  answers({ expected, events }) {
    const said = completed(expected).filter((one) => one.queue !== 'compact')
    const told = events.filter((event) => event.kind === 'assistant_msg')
    expect(sorted(told.map((event) => event.said))).toEqual(sorted(said.map((one) => one.text)))
  },
  summaries({ expected, events }) {
    const compactions = completed(expected).filter((one) => one.queue === 'compact')
    const told = events.filter((event) => event.summary.startsWith('compacted'))
    for (const one of compactions)
      expect(told.some((event) => event.said?.includes(one.text ?? '?'))).toBe(true)
  },
  thinking({ expected, events }) {
    const told = events.filter((event) => event.kind === 'thinking')
    expect(sorted(told.map((event) => event.said))).toEqual(
      sorted(completed(expected).map((one) => one.thinking)),
    )
  },
  calls({ expected, events }) {
    const called = completed(expected).flatMap((one) => one.tool_calls ?? [])
    const told = events.filter((event) => CALLS.has(event.kind) && event.callId?.startsWith('call_mock'))
    expect(told.map((event) => event.callId)).toEqual(called.map((call) => call.id))
    for (const [at, call] of called.entries()) {
      const payload = told[at]?.payload as { arguments?: unknown; input?: unknown }
      expect(told[at]?.tool).toBe(call.name)
      expect(payload.arguments ?? payload.input).toEqual(call.input)
    }
  },
  results({ expected, events }) {
    const called = completed(expected).flatMap((one) => one.tool_calls ?? [])
    const told = events.filter((event) => event.role === 'tool' && event.callId?.startsWith('call_mock'))
    expect(sorted(told.map((event) => event.callId))).toEqual(sorted(called.map((call) => call.id)))
    for (const event of told) {
      expect(event.tool).toBe(called.find((call) => call.id === event.callId)?.name)
      expect(event.said).not.toBe('')
    }
  },
  errors({ expected, events }) {
    const refused = expected.responses.filter(
      (one) => one.http_status === 400 || one.streamed === 'mid-stream-error',
    )
    const told = events.filter((event) => event.kind === 'error' && event.tool === undefined)
    expect(told.length).toBe(refused.length)
  },
  tokens({ expected, found }) {
    const cost = (one: Response) => {
      const usage = one.wire_usage
      const cached = usage?.input_tokens_details.cached_tokens ?? 0
      return [
        (usage?.input_tokens ?? 0) - cached,
        cached,
        usage?.output_tokens,
        usage?.output_tokens_details.reasoning_tokens,
        one.model,
      ].join(' ')
    }
    const told = [...found.usage.values()]
    expect(
      told.map((one) => [one.input, one.cacheRead, one.output, one.reasoning, one.model].join(' ')).sort(),
    ).toEqual(completed(expected).map(cost).sort())
    if (told.some((one) => one.id.startsWith('resp_')))
      expect(sorted(told.map((one) => one.id))).toEqual(
        sorted(completed(expected).map((one) => one.response_id)),
      )
  },
  lineage({ expected, found }) {
    const first = expected.invocations[0]?.session_id
    const forks = expected.invocations.filter((one) => one.mode === 'fork')
    // Resumes are compared for all agents at once, in 54-adapter-resumed.
    const born = found.edges.filter((edge) => edge.kind !== 'resumed')
    const edges = new Set(born.map((edge) => `${edge.kind} ${edge.session} ${edge.parent}`))
    const subagents = [...found.sessions].filter(([, session]) => session.facts.relation === 'subagent')
    expect(subagents.length).toBe(expected.responses.some((one) => one.queue.startsWith('sub')) ? 1 : 0)
    const wanted = [
      ...forks.map((one) => `interactive_fork ${one.session_id} ${first}`),
      ...subagents.map(([id]) => `subagent ${id} ${first}`),
    ]
    expect([...edges].sort()).toEqual(wanted.sort())
  },
}

const seen = new Set<string>()

for (const client of CLIENTS) {
  describe(client, () => {
    const directory = unpackAgent(client)
    for (const scenario of readdirSync(directory).sort()) {
      const name = `${client}/${scenario}`
      seen.add(name)
      const loaded = load(join(directory, scenario))
      const excused = EXCEPTIONS[name] ?? []
      test(`${scenario}: exceptions name checks`, () => {
        expect(Object.keys(CHECKS)).toEqual(expect.arrayContaining(excused.map((one) => one.what)))
      })
      for (const [what, check] of Object.entries(CHECKS)) {
        const exception = excused.find((one) => one.what === what)
        if (!exception) test(`${scenario}: ${what}`, () => check(loaded))
        else
          test(`${scenario}: ${what} (not written: ${exception.reason})`, () => {
            expect(() => check(loaded), 'the exception is no longer needed').toThrow()
          })
      }
    }
  })
}

test('every exception names a scenario', () => {
  expect([...seen]).toEqual(expect.arrayContaining(Object.keys(EXCEPTIONS)))
})
