// Reading in any number of steps gives what reading at once gives; content of any shape never stops the reader.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { grok } from '../src/adapters/grok/index.ts'
import { EVENT_KINDS } from '../src/model.ts'
import { type Collected, emptyCollection, filesBelow } from './setup/collect.ts'
import { unpackAgent } from './setup/fixtures.ts'
import {
  agent,
  bare,
  bytes,
  chunk,
  interjection,
  jsonl,
  type Line,
  readOn,
  row,
  temporaryHome,
  toolCall,
  toolUpdate,
  update,
  user,
  writeSession,
} from './setup/grok-session.ts'
import fc from './setup/properties.ts'

/** What is left when everything is merged, without the order in which the files were read, and what only stood in. */
function settled(read: Collected): unknown {
  const sessions = [...read.sessions].map(([id, { facts, events, superseded, repeated }]) => [
    id,
    facts,
    events
      .filter((event) => !repeated.has(event.key))
      .map((event) => JSON.stringify(event))
      .sort(),
    // Rows of events.jsonl have no place in the conversation: which of them lie between two prompts may differ.
    [...superseded].filter((key) => !key.startsWith('e') && !repeated.has(key)).sort(),
  ])
  const gaps = read.gaps.filter((gap) => !gap.pending).map((gap) => [gap.reason, gap.offset, gap.length])
  const edges = new Set(read.edges.map(({ kind, session, parent }) => `${kind} ${session} ${parent}`))
  return {
    sessions,
    gaps,
    usage: [...read.usage].sort(),
    edges: [...edges].sort(),
    unknown: [...read.unknown].sort(),
  }
}

interface Bytes {
  spine: Buffer
  events: Buffer
}

/** Grows a copy of a session from cut to cut; fractions say how much of each file there is. */
function inSteps(path: string, whole: Bytes, cuts: { spine: number; events: number }[]): Collected {
  const read = emptyCollection()
  for (const { spine, events } of [...cuts, { spine: 1, events: 1 }]) {
    writeFileSync(path, whole.spine.subarray(0, Math.round(whole.spine.length * spine)))
    writeFileSync(
      join(dirname(path), 'events.jsonl'),
      whole.events.subarray(0, Math.round(whole.events.length * events)),
    )
    readOn(path, read)
  }
  return read
}

const fraction = fc.double({ min: 0, max: 1, noNaN: true })
const cuts = fc.array(fc.record({ spine: fraction, events: fraction }), { maxLength: 5 }).map((list) => {
  const rising = (values: number[]): number[] => [...values].sort((a, b) => a - b)
  const [spine, events] = [rising(list.map((cut) => cut.spine)), rising(list.map((cut) => cut.events))]
  return spine.map((value, at) => ({ spine: value, events: events[at] as number }))
})

const spines = ['grok', 'grok-tui', 'grok-1.0.5'].flatMap((client) =>
  filesBelow(unpackAgent(client)).filter((path) => grok.claim(path) !== null),
)
// Before its first record a session takes its prompt from there, and gives it back afterwards: that is another test.
for (const path of spines) rmSync(join(dirname(path), '..', 'prompt_history.jsonl'), { force: true })
const content = (path: string): Bytes => ({
  spine: readFileSync(path),
  events: readFileSync(join(dirname(path), 'events.jsonl')),
})

describe('in steps', () => {
  it('real sessions, cut anywhere', () => {
    const bytesOf = new Map(spines.map((path) => [path, content(path)]))
    fc.assert(
      fc.property(fc.constantFrom(...spines), cuts, (path, where) => {
        const whole = bytesOf.get(path) as Bytes
        expect(settled(inSteps(path, whole, where))).toEqual(settled(inSteps(path, whole, [])))
      }),
      { numRuns: 100 },
    )
  })

  it('made-up sessions of old and new layouts, line by line and byte by byte', () => {
    fc.assert(
      fc.property(story, cuts, ({ lines, events, asBare }, where) => {
        const updates = lines.map((body) => (asBare ? bare(body) : update(body, { promptId: 'p' })))
        const path = writeSession({ updates, events })
        const whole = content(path)
        expect(settled(inSteps(path, whole, where))).toEqual(settled(inSteps(path, whole, [])))
      }),
      { numRuns: 100 },
    )
  })

  it('chat_history, cut anywhere', () => {
    const item = fc.oneof(
      fc.constantFrom('go', 'on').map((text): Line => ({ type: 'user', content: text, prompt_index: 0 })),
      fc.constantFrom('a', 'b').map((text): Line => ({ type: 'assistant', content: text })),
      fc.nat(5).map(
        (id): Line => ({
          type: 'assistant',
          content: '',
          tool_calls: [{ id: `c${id}`, name: 'bash', arguments: '{"command":"x"}' }],
        }),
      ),
      fc
        .nat(5)
        .map((id): Line => ({ type: 'tool_result', tool_call_id: `c${id}`, content: `exit: ${id % 2}\nx` })),
    )
    fc.assert(
      fc.property(fc.array(item, { maxLength: 20 }), cuts, (chat, where) => {
        const path = writeSession({ chat, events: [row('turn_ended', 1, { outcome: 'completed' })] })
        const whole = content(path)
        expect(settled(inSteps(path, whole, where))).toEqual(settled(inSteps(path, whole, [])))
      }),
      { numRuns: 60 },
    )
  })

  it('read twice change nothing', () => {
    for (const path of spines) {
      const once = settled(inSteps(path, content(path), []))
      const read = readOn(path)
      readOn(path, read)
      expect(settled(read)).toEqual(once)
    }
  })
})

const id = fc.nat(3).map((number) => `c${number}`)
const text = fc.constantFrom('a', 'b\n', 'ü', ' ')
const body: fc.Arbitrary<Line> = fc.oneof(
  { weight: 3, arbitrary: text.map(agent) },
  text.map((one) => chunk('agent_thought_chunk', one)),
  text.map((one) => user(one)),
  text.map((one) => user(interjection(one))),
  fc.tuple(text, fc.nat(3)).map(([one, index]) => user(one, index)),
  fc
    .tuple(id, fc.boolean())
    .map(([one, full]) => toolCall(one, 'bash', full ? { command: 'make' } : undefined)),
  fc
    .tuple(id, text)
    .map(([one, output]) =>
      toolUpdate(one, { rawInput: { command: 'make' }, rawOutput: { type: 'Bash', output: bytes(output) } }),
    ),
  fc.tuple(id, fc.nat(1)).map(([one, exit]) =>
    toolUpdate(one, {
      status: 'completed',
      rawOutput: { type: 'Bash', output: bytes('x'), exit_code: exit },
    }),
  ),
  fc.nat(3).map((index): Line => ({ sessionUpdate: 'rewind_marker', target_prompt_index: index })),
  fc.nat(3).map(
    (turn): Line => ({
      sessionUpdate: 'turn_completed',
      prompt_id: `p${turn}`,
      stop_reason: 'end_turn',
      usage: { inputTokens: 5, outputTokens: turn },
    }),
  ),
  fc.constant<Line>({ sessionUpdate: 'retry_state', type: 'failed', message: 'm' }),
  fc.constant<Line>({ sessionUpdate: 'never_seen' }),
)
const eventRow = fc.oneof(
  fc.constantFrom('turn_started', 'phase_changed', 'first_token', 'strange').map((type) => row(type, 1)),
  fc.constantFrom('completed', 'error').map((outcome) => row('turn_ended', 2, { outcome })),
  fc.constant(row('interjected', 3, { source: 'direct' })),
)
const story = fc.record({
  lines: fc.array(body, { maxLength: 30 }),
  events: fc.array(eventRow, { maxLength: 10 }),
  asBare: fc.boolean(),
})

describe('of any shape', () => {
  const records = spines.flatMap((path) =>
    filesBelow(dirname(path))
      .filter((one) => /(?:updates|events|chat_history)\.jsonl$/.test(one))
      .flatMap((one) =>
        readFileSync(one, 'utf8')
          .split('\n')
          .filter((line) => line !== '' && line.length < 5000),
      ),
  )
  const odd = fc.oneof(
    fc.constantFrom<unknown>(null, 0, -1, 1e300, '', '__proto__', [], {}, true, [null], [[1]], { text: 3 }),
    fc.constant(JSON.parse('{"__proto__": {"x": 1}, "constructor": 2}') as unknown),
  )

  /** Replaces the value at a random place of a record. */
  function spoil(value: unknown, path: number[], by: unknown): unknown {
    const [step, ...rest] = path
    if (step === undefined || typeof value !== 'object' || value === null) return by
    const names = Object.keys(value)
    const name = names[step % Math.max(1, names.length)]
    if (name === undefined) return by
    const copy = (Array.isArray(value) ? [...value] : { ...value }) as Record<string, unknown>
    copy[name] = spoil(copy[name], rest, by)
    return copy
  }

  const spoiled = fc
    .tuple(fc.constantFrom(...records), fc.array(fc.nat(20), { maxLength: 6 }), odd)
    .map(([line, path, by]) => {
      const value = spoil(JSON.parse(line), path, by)
      return typeof value === 'object' && value !== null && !Array.isArray(value)
        ? (value as Line)
        : { value }
    })

  it('records give events with keys, kinds and summaries, and never an exception', () => {
    fc.assert(
      fc.property(fc.array(spoiled, { maxLength: 12 }), fc.boolean(), spoiled, (lines, asChat, summary) => {
        const files = asChat ? { chat: lines } : { updates: lines }
        const more = {
          'usage.json': JSON.stringify({ turns: lines }),
          'subagents/a/meta.json': JSON.stringify(summary),
        }
        const read = readOn(writeSession({ ...files, events: lines, summary, more }))
        for (const { events } of read.sessions.values()) {
          for (const event of events) {
            expect(typeof event.key).toBe('string')
            expect(EVENT_KINDS).toContain(event.kind)
            expect(typeof event.summary).toBe('string')
            expect(event.said === undefined || typeof event.said === 'string').toBe(true)
            expect(event.ts === null || Number.isFinite(event.ts)).toBe(true)
          }
        }
        expect(Object.prototype).not.toHaveProperty('x')
      }),
      { numRuns: 250 },
    )
  })

  it('files beside the session may be anything, or nothing', () => {
    const home = temporaryHome()
    const path = writeSession(
      { updates: [update(user('x', 0))], more: { 'summary.json': '[]', 'usage.json': 'no' } },
      { home },
    )
    mkdirSync(join(dirname(path), 'subagents', 'empty'), { recursive: true })
    writeFileSync(join(dirname(path), 'events.jsonl'), `not json\n${jsonl([row('turn_started', 1)])}{"torn`)
    const read = readOn(path)
    expect(read.gaps.map((gap) => [gap.reason, gap.pending])).toEqual([
      ['companion', true],
      ['events-not-json', false],
      ['events-torn', true],
    ])
  })
})
