// What the timeline of a session is made of, from outlines made by hand.
import { describe, expect, it } from 'vitest'
import { EVENT_KINDS, type EventKind } from '../src/model.ts'
import type { Outline } from '../src/query/outline.ts'
import { ticksOf, timesOf, waterfallOf } from '../src/web/page/charts/waterfall.ts'

const MINUTE = 60_000

/** Kind, minutes after the beginning, tool, the call it answers. */
type Told = [kind: EventKind, minute: number, tool?: string, answers?: number]

function outlineOf(events: readonly Told[]): Outline {
  const tools = [...new Set(events.flatMap(([, , tool]) => tool ?? []))]
  return {
    session_uid: 'made:1',
    kinds: EVENT_KINDS,
    tools,
    agents: [],
    anchors: [],
    seq: events.map((_, i) => i + 1),
    kind: events.map(([kind]) => EVENT_KINDS.indexOf(kind)),
    tool: events.map(([, , tool]) => (tool === undefined ? -1 : tools.indexOf(tool))),
    agent: events.map(() => -1),
    at: events.map(([, minute]) => minute * MINUTE),
    started_at: '2026-01-01T00:00:00.000Z',
    duration_ms: events.map(() => null),
    exit_code: events.map(() => null),
    call_seq: events.map(([, , , answers]) => answers ?? 0),
    flags: events.map(() => 0),
    is_whole: false,
  }
}

describe('where the time went', () => {
  it('is waiting for somebody before a prompt, also where the program first notes that a turn begins', () => {
    const told = timesOf(
      outlineOf([
        ['user_msg', 0],
        ['assistant_msg', 1],
        ['lifecycle', 61],
        ['lifecycle', 61],
        ['user_msg', 61],
        ['assistant_msg', 62],
        ['lifecycle', 92],
        ['assistant_msg', 92],
      ]),
    )
    expect(told).toEqual({
      activeMs: 2 * MINUTE,
      waitingMs: 60 * MINUTE,
      callsMs: 0,
      otherMs: 30 * MINUTE,
    })
  })
})

describe('a lane', () => {
  it('shows the waiting before the first prompt, too', () => {
    const { lanes, spans } = waterfallOf(
      outlineOf([
        ['lifecycle', 0],
        ['user_msg', 20],
        ['assistant_msg', 21],
      ]),
    )
    expect(lanes[0]).toBe('waiting for you')
    expect(spans.filter((span) => span.lane === 0)).toMatchObject([
      { from: 0, to: 20 * MINUTE, kind: 'waiting', seq: 2 },
    ])
  })

  it('has a mark where a tool was called that never answered', () => {
    const { lanes, spans } = waterfallOf(
      outlineOf([
        ['user_msg', 0],
        ['tool_call', 1, 'Search'],
        ['tool_call', 2, 'Shell'],
        ['tool_result', 3, 'Shell', 3],
      ]),
    )
    const on = (name: string): unknown[] =>
      spans.filter((span) => span.lane === lanes.indexOf(name)).map(({ from, to, seq }) => [from, to, seq])
    expect(on('Search')).toEqual([[MINUTE, MINUTE, 2]])
    expect(on('Shell')).toEqual([[2 * MINUTE, 3 * MINUTE, 3]])
  })
})

it('two times at least stand over the lanes, however narrow they are', () => {
  for (const minutes of [3, 26, 45, 294, 700, 2000]) {
    const view = { from: 0, to: minutes * MINUTE }
    expect(ticksOf(view, 2.2, 0).length, `${minutes} minutes`).toBeGreaterThan(1)
  }
})
