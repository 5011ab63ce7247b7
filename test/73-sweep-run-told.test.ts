// What a run says of itself holds: its status is the outcome, its totals are the tokens, whatever the turns look like and
// in whatever order the states of its file are read.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findDigest } from '../src/digest/patterns.ts'
import { sessionEvents } from '../src/query/events.ts'
import fc from './setup/properties.ts'
import { World } from './setup/sweeping.ts'

const RUN = '2025-01-15-ticket-to-pr-TK421'

/** The example of the transcript format's own description, to the letter. */
const EXAMPLE = {
  runId: RUN,
  metadata: {
    flowId: 'ticket-to-pr',
    nodeId: 'generate-spec',
    input: { ticketId: 'TK-421' },
    startedAt: '2025-01-15T10:30:00Z',
    endedAt: '2025-01-15T10:45:32Z',
    status: 'completed',
    totalTokensIn: 5200,
    totalTokensOut: 8400,
    totalCost: 0.12,
  },
  turns: [
    {
      id: 1,
      role: 'system',
      content: 'You are an expert software architect...',
      timestamp: '2025-01-15T10:30:00Z',
    },
    {
      id: 2,
      role: 'user',
      content: 'Generate a spec for TK-421...',
      tokensIn: 1500,
      timestamp: '2025-01-15T10:30:01Z',
    },
    {
      id: 3,
      role: 'assistant',
      content: '# Technical Specification...',
      tokensOut: 2500,
      timestamp: '2025-01-15T10:30:45Z',
      toolCalls: [{ name: 'read_file', input: { path: 'api/handler.go' }, output: 'package api...' }],
    },
  ],
}

type Metadata = typeof EXAMPLE.metadata
interface State {
  metadata: Metadata
  turns: unknown[]
}

/** Each state of the file is swept; returns what is told of the run after the last. */
async function swept(
  ...states: State[]
): Promise<{ outcome: string; rule: string; tokens: [number, number] }> {
  const world = new World()
  try {
    const directory = join(world.home, '.devflow', 'runs', RUN)
    mkdirSync(directory, { recursive: true })
    for (const state of states) {
      writeFileSync(join(directory, 'transcript.json'), JSON.stringify({ ...EXAMPLE, ...state }))
      await world.sweep()
    }
    return world.read((handle) => {
      const digest = findDigest(handle, uidOf(handle.memory))
      return {
        outcome: digest?.outcome ?? '',
        rule: digest?.outcome_detail.rule ?? '',
        tokens: [digest?.cost.input_tokens ?? -1, digest?.cost.output_tokens ?? -1],
      }
    })
  } finally {
    world.remove()
  }
}

const uidOf = (memory: { prepare(sql: string): { get(): unknown } }): string =>
  (memory.prepare('SELECT session_uid FROM sessions').get() as { session_uid: string }).session_uid

const withMeta = (metadata: Partial<Metadata>, turns: unknown[] = EXAMPLE.turns): State => ({
  metadata: { ...EXAMPLE.metadata, ...metadata },
  turns,
})

describe('a run says of itself', () => {
  it.each([
    ['completed', 'success'],
    ['failed', 'fail'],
    ['canceled', 'abandoned'],
    ['running', 'unknown'],
  ])('%s: %s, whatever its last turn looks like', async (status, outcome) => {
    for (const turns of [EXAMPLE.turns, [...EXAMPLE.turns, { ...EXAMPLE.turns[2], id: 4, toolCalls: [] }]])
      expect(await swept(withMeta({ status }, turns))).toEqual({
        outcome,
        rule: 'told',
        tokens: [5200, 8400],
      })
  })

  it.each([
    ['completed', 'run completed'],
    ['failed', 'run failed'],
    ['canceled', 'run canceled'],
    ['running', null],
  ])('%s: the event that says so is its evidence, and each answer is one response', async (status, said) => {
    const world = new World()
    try {
      const directory = join(world.home, '.devflow', 'runs', RUN)
      mkdirSync(directory, { recursive: true })
      writeFileSync(
        join(directory, 'transcript.json'),
        JSON.stringify({ ...EXAMPLE, ...withMeta({ status }) }),
      )
      await world.sweep()
      const { told, responses } = world.read((handle) => {
        const uid = uidOf(handle.memory)
        const seqs = findDigest(handle, uid)?.outcome_detail.seqs ?? []
        const events = [...sessionEvents(handle, uid)].filter((event) => seqs.includes(event.seq))
        return {
          told: events.map((event) => event.summary),
          responses: handle.memory.prepare('SELECT sum(responses) AS n FROM usage_slots').get(),
        }
      })
      expect(told).toEqual(said === null ? [] : [said])
      expect(responses).toEqual({ n: 1 })
    } finally {
      world.remove()
    }
  })

  it('a status nobody described says nothing: the rules decide', async () => {
    expect((await swept(withMeta({ status: 'paused' }))).rule).not.toBe('told')
  })

  it('a run that was under way and ended is what its end says', async () => {
    const half = withMeta(
      { status: 'running', totalTokensIn: 1500, totalTokensOut: 0 },
      EXAMPLE.turns.slice(0, 2),
    )
    expect(await swept(half, withMeta({}))).toMatchObject({ outcome: 'success', tokens: [5200, 8400] })
    expect(await swept(half, withMeta({ status: 'failed' }))).toMatchObject({ outcome: 'fail' })
  })

  it('its totals are the tokens, through whatever states its file goes', async () => {
    const amount = fc.integer({ min: 0, max: 50 })
    const turn = fc.record({ tokensIn: amount, tokensOut: amount })
    const state = fc.record({ turns: fc.array(turn, { maxLength: 4 }), totals: fc.tuple(amount, amount) })
    await fc.assert(
      fc.asyncProperty(fc.array(state, { minLength: 1, maxLength: 3 }), async (states) => {
        // A program only ever adds turns.
        const all = states.flatMap((one) => one.turns)
        let count = 0
        const files = states.map(({ turns, totals: [totalTokensIn, totalTokensOut] }) => {
          count += turns.length
          const some = all
            .slice(0, count)
            .map((tokens, at) => ({ ...EXAMPLE.turns[2], id: at + 1, ...tokens }))
          return withMeta({ totalTokensIn, totalTokensOut }, some)
        })
        const [totalIn, totalOut] = (states.at(-1) as (typeof states)[number]).totals
        const sums = [
          all.reduce((sum, one) => sum + one.tokensIn, 0),
          all.reduce((sum, one) => sum + one.tokensOut, 0),
        ]
        const expected = totalIn > 0 || totalOut > 0 ? [totalIn, totalOut] : sums
        expect((await swept(...files)).tokens).toEqual(expected)
      }),
      { numRuns: 15 },
    )
  })
})
