// What every event has to tell, whoever's adapter it comes from: calls what they do, results how they ended; and that a stored
// body points at it in the record instead of holding it twice. Then Claude's, against what the scripted model really said.
import { copyFileSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Adapter, EventItem } from '../src/adapters/adapter.ts'
import { claude } from '../src/adapters/claude/index.ts'
import { codex } from '../src/adapters/codex/index.ts'
import { entire } from '../src/adapters/entire/index.ts'
import { grok } from '../src/adapters/grok/index.ts'
import { run as runs } from '../src/adapters/run/index.ts'
import { turns } from '../src/adapters/turns/index.ts'
import { packTold } from '../src/event/body.ts'
import { DEEDS, END_STATES, type EventKind, MARKS } from '../src/model.ts'
import { RunTranscript, TranscriptWriter } from '../src/record/index.ts'
import { toldBy } from '../src/sweep/told.ts'
import { collect, filesBelow } from './setup/collect.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { temporary } from './setup/temporary.ts'

const CODEX = [
  'codex',
  'codex-tui',
  'codex-codemode',
  'codex-0.45',
  'codex-0.80',
  'codex-0.121',
  'codex-0.145',
]
const GROK = ['grok', 'grok-tui', 'grok-chat', 'grok-messages', 'grok-1.0.5']
const CLAUDE = ['claude', 'claude-tui', 'claude-1.0', 'claude-2.0', 'claude-2.1.50', 'claude-2.1.200']
const CALLS: ReadonlySet<EventKind> = new Set(['tool_call', 'edit', 'test_run', 'retry'])
const isCall = ({ kind, tool, role }: EventItem): boolean =>
  tool !== undefined && role !== 'tool' && CALLS.has(kind)

const eventsBelow = (adapter: Adapter, directory: string): EventItem[] =>
  [...collect(adapter, directory).sessions.values()].flatMap(({ events }) => events)

const asIs = { text: (text: string) => text, value: (value: unknown) => value }

/** What is wrong with an event; empty when it tells all it should. */
function faultsOf(event: EventItem): string[] {
  const { act, state, mark, said, role, payload } = event
  const faults: string[] = []
  const must = (holds: boolean, fault: string): void => {
    if (!holds) faults.push(`${fault} (${event.kind} ${event.tool ?? ''} ${event.key})`)
  }
  must(said !== '', 'says nothing')
  must(isCall(event) === (act !== undefined), 'a call has an act, and nothing else has')
  must(act === undefined || DEEDS.includes(act.does), 'an unknown deed')
  must(act?.does !== 'shell' || act.command !== undefined, 'a shell runs a command')
  must(role !== 'tool' || state !== undefined, 'a result without an end')
  must(state === undefined || END_STATES.includes(state), 'an unknown end')
  must(mark === undefined || MARKS.includes(mark), 'an unknown mark')
  const packed = JSON.parse(packTold(toldBy(event), payload, payload, asIs).line || '{}') as Record<
    string,
    unknown
  >
  must(act?.input === undefined || Object.hasOwn(packed['input'] as object, '$'), 'stores the input twice')
  return faults
}

describe('every call says what it does, every result how it ended', () => {
  test.each([
    ...CODEX.map((client) => [client, codex] as const),
    ...GROK.map((client) => [client, grok] as const),
  ])('%s', (client, adapter) => {
    const events = eventsBelow(adapter, unpackAgent(client))
    expect(events.filter(isCall).length).toBeGreaterThan(0)
    expect(events.flatMap(faultsOf)).toEqual([])
  })

  test.each(CLAUDE)('%s, also where another adapter hands it on', (client) => {
    const directory = unpackAgent(client)
    const events = eventsBelow(claude, directory)
    expect(events.flatMap(faultsOf)).toEqual([])
    const tree = temporary('checkpoints')
    const transcripts = filesBelow(directory).filter((path) => claude.claim(path) && path.endsWith('.jsonl'))
    for (const [at, path] of transcripts.entries()) {
      const place = join(tree, 'ab', String(at).padStart(10, '0'), '0')
      mkdirSync(place, { recursive: true })
      copyFileSync(path, join(place, 'full.jsonl'))
    }
    const handed = eventsBelow(entire, tree)
    expect(handed.flatMap(faultsOf)).toEqual([])
    const calls = (all: EventItem[]) => new Set(all.filter(isCall).map((event) => event.callId))
    expect(calls(events).size).toBeGreaterThan(0)
    expect(calls(handed)).toEqual(calls(events))
  })

  const args = { command: ['bash', '-lc', 'npm test\nnpm run check'], cwd: '/w' }
  const act = { does: 'shell', input: args, command: 'npm test\nnpm run check', cwd: '/w' }

  test('turns', async () => {
    const directory = temporary('turns')
    const writer = new TranscriptWriter(directory, { flush: 'os' })
    await writer.append('helper', 's1', { turnId: '1', role: 'user', content: 'test it', ts: 1.7e12 })
    const toolCalls = [{ id: 'a', name: 'bash', args }]
    await writer.append('helper', 's1', { turnId: '2', role: 'assistant', toolCalls, ts: 1.7e12 })
    const toolResults = [{ callId: 'a', result: { out: ['1 failed', 'of 2'] }, error: 'exit 1' }]
    await writer.append('helper', 's1', { turnId: '3', role: 'tool', toolResults, ts: 1.7e12 })
    await writer.append('helper', 's1', { turnId: '4', role: 'tool', content: 'no call', ts: 1.7e12 })
    await writer.close()
    const events = eventsBelow(turns, directory)
    expect(events.flatMap(faultsOf)).toEqual([])
    expect(events).toMatchObject([
      { said: 'test it' },
      { kind: 'test_run', act },
      { state: 'failed', said: 'exit 1\n1 failed\nof 2' },
      { state: 'ok', said: 'no call' },
    ])
  })

  test('runs', async () => {
    const directory = temporary('runs')
    const runId = { flow: 'review', identifier: 'TK421', date: '2026-01-15' }
    const run = await RunTranscript.start(directory, { runId, input: { ticket: 'TK-421' }, flush: 'os' })
    await run.addTurn('assistant', 'testing', 1)
    await run.addToolCall('bash', args, '1 failed', { error: 'exit 1' })
    await run.addToolCall('read_file', { path: 'a.ts' }, 'text')
    await run.cancel()
    const events = eventsBelow(runs, directory)
    expect(events.flatMap(faultsOf)).toEqual([])
    expect(events).toMatchObject([
      { said: 'TK-421' },
      { said: 'testing' },
      { act },
      { state: 'failed', said: 'exit 1\n1 failed' },
      { act: { does: 'read' } },
      { state: 'ok', said: 'text' },
      { mark: 'interrupt' },
    ])
  })
})

interface Expected {
  responses: {
    response_id: string
    thinking: string | null
    tool_calls: { id: string; name: string; input: Record<string, unknown> }[]
  }[]
}

const DOES = { Bash: 'shell', Edit: 'edit', Write: 'edit', Read: 'read', Task: 'spawn', Agent: 'spawn' }

describe('what the model really thought and did', () => {
  test.each<[string, calls: number, thoughts: number]>([
    ['claude', 28, 4],
    ['claude-tui', 1, 0],
    ['claude-1.0', 18, 3],
    ['claude-2.0', 16, 2],
    ['claude-2.1.50', 17, 1],
    ['claude-2.1.200', 17, 1],
  ])('%s', (client, ...counts) => {
    const directory = unpackAgent(client)
    let [callCount, thoughtCount] = [0, 0]
    for (const scenario of readdirSync(directory)) {
      const events = eventsBelow(claude, join(directory, scenario))
      const path = join(directory, scenario, 'expected.json')
      const { responses } = JSON.parse(readFileSync(path, 'utf8')) as Expected
      for (const { tool_calls } of responses) {
        for (const { id, name, input } of tool_calls) {
          const call = events.find((event) => event.callId === id && isCall(event))
          if (!call) continue
          callCount++
          expect([id, call.act?.does]).toEqual([id, DOES[name as keyof typeof DOES]])
          expect(call.act?.input).toMatchObject(input)
          expect(call.act?.command).toBe(name === 'Bash' ? input['command'] : undefined)
          if (name === 'Edit')
            expect(call.act?.edits).toMatchObject([
              { path: input['file_path'], before: input['old_string'], after: input['new_string'] },
            ])
        }
      }
      // The client writes down some of them, and of others only that there was one.
      for (const { kind, said, payload } of events) {
        const { thinking } = payload as { thinking?: string }
        if (kind !== 'thinking' || !thinking) continue
        expect(said).toBe(thinking)
        expect(responses.map((response) => response.thinking)).toContain(said)
        thoughtCount++
      }
    }
    expect([callCount, thoughtCount]).toEqual(counts)
  })

  test('outputs that were put beside the transcript are read whole', () => {
    const spilled = CLAUDE.flatMap((client) => eventsBelow(claude, unpackAgent(client))).filter(
      ({ payload }) => Object.hasOwn(payload as object, 'spilled'),
    )
    expect(spilled.length).toBeGreaterThan(1)
    for (const { said, payload } of spilled) {
      const { content, spilled: file } = payload as { content: string; spilled: { text: string } }
      expect(content).toMatch(/^<persisted-output>/)
      expect(said).toBe(file.text)
      expect(said?.length).toBeGreaterThan(content.length)
    }
  })
})
