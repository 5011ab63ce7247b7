// The tree of sessions from the log alone: what each event means, and that no input breaks it.

import { describe, expect, it } from 'vitest'
import {
  buildSessionTree,
  renderSessionTree,
  type SessionHistoryEvent,
  type SessionTree,
} from '../src/record/index.ts'
import fc from './setup/properties.ts'

/** Events from `kind id<parent`, a minute apart. */
function log(...lines: string[]): SessionHistoryEvent[] {
  return lines.map((line, i) => {
    const [event, ids] = line.split(' ') as [string, string]
    const [session_id, parent_session_id = null] = ids.split('<') as [string, string?]
    return { session_id, event, timestamp: minute(i), parent_session_id }
  })
}
const minute = (i: number) => new Date(Date.UTC(2026, 0, 1, 0, i)).toISOString()

/** The tree as `id(child child(…))`. For small trees only: it recurses. */
function shape(tree: SessionTree): string {
  const one = (id: string): string => {
    const children = tree.nodes.get(id)?.children ?? []
    return children.length === 0 ? id : `${id}(${children.map(one).join(' ')})`
  }
  return tree.roots.map(one).join(' ')
}
const problems = (tree: SessionTree) =>
  tree.problems.map(({ kind, sessionId }) => (sessionId === undefined ? kind : `${kind} ${sessionId}`))

const EXAMPLE: SessionHistoryEvent[] = [
  ['04f89a40', 'created', '2026-02-17T03:38:00-08:00', null],
  ['e68c9109', 'compacted', '2026-02-17T18:46:00-08:00', '04f89a40'],
  ['d5ff8c62', 'bg_fork', '2026-02-18T09:00:00-08:00', 'e68c9109'],
  ['b78a11b9', 'interactive_fork', '2026-02-18T10:05:00-08:00', 'e68c9109'],
  ['3906f8d0', 'compacted', '2026-02-19T12:00:00-08:00', 'e68c9109'],
  ['e68c9109', 'cleared', '2026-02-20T11:00:00-08:00', null],
].map(([session_id, event, timestamp, parent_session_id]) => {
  return { session_id, event, timestamp, parent_session_id } as SessionHistoryEvent
})

describe('what events mean', () => {
  it('the example log', () => {
    const tree = buildSessionTree(EXAMPLE)
    expect(shape(tree)).toBe('04f89a40(e68c9109(d5ff8c62 b78a11b9 3906f8d0))')
    expect(tree.problems).toEqual([])
    expect(tree.nodes.get('e68c9109')).toMatchObject({
      parent: '04f89a40',
      birth: 'compacted',
      createdAt: '2026-02-17T18:46:00-08:00',
      clearedAt: '2026-02-20T11:00:00-08:00',
    })
    expect(renderSessionTree(tree)).toBe(
      `04f89a40  created  2026-02-17T03:38:00-08:00
└─ e68c9109  compacted  2026-02-17T18:46:00-08:00  cleared 2026-02-20T11:00:00-08:00
   ├─ d5ff8c62  bg_fork  2026-02-18T09:00:00-08:00
   ├─ b78a11b9  interactive_fork  2026-02-18T10:05:00-08:00
   └─ 3906f8d0  compacted  2026-02-19T12:00:00-08:00
`,
    )
  })

  it('a swap promotes a fork: the fork keeps its own birth and parent', () => {
    const tree = buildSessionTree(log('created a', 'interactive_fork f<a', 'compacted b<a', 'swapped f<b'))
    expect(shape(tree)).toBe('a(f b)')
    expect(tree.nodes.get('f')).toMatchObject({ birth: 'interactive_fork', createdAt: minute(1) })
    expect(tree.problems).toEqual([])
  })

  it('a swap to a session of unknown birth places it below the old main', () => {
    const tree = buildSessionTree(log('created a', 'swapped f<a'))
    expect(shape(tree)).toBe('a(f)')
    expect(tree.nodes.get('f')?.birth).toBe('swapped')
  })

  it('a swap back to an older session makes no cycle', () => {
    const tree = buildSessionTree(log('created a', 'compacted b<a', 'swapped a<b', 'compacted c<a'))
    expect(shape(tree)).toBe('a(b c)')
    expect(tree.problems).toEqual([])
  })

  it('a session that comes back after it was cleared lives again', () => {
    const events = log('created a', 'cleared a', 'created a', 'compacted b<a')
    expect(buildSessionTree(events.slice(0, 2)).nodes.get('a')?.clearedAt).toBe(minute(1))
    const tree = buildSessionTree(events)
    expect(tree.nodes.get('a')).toMatchObject({ clearedAt: null, createdAt: minute(0) })
    expect(shape(tree)).toBe('a(b)')
    expect(tree.problems).toEqual([])
    const swappedBack = buildSessionTree(log('created a', 'cleared a', 'created b', 'swapped a<b'))
    expect(swappedBack.nodes.get('a')?.clearedAt).toBeNull()
    expect(shape(swappedBack)).toBe('a b')
  })

  it('a log that begins in the middle: a session cleared or mentioned without a birth', () => {
    const tree = buildSessionTree(log('cleared x', 'bg_fork f<gone', 'bg_fork g<gone'))
    expect(shape(tree)).toBe('x gone(f g)')
    expect(tree.nodes.get('x')).toMatchObject({ birth: null, createdAt: null, clearedAt: minute(0) })
    expect(tree.nodes.get('x')).not.toHaveProperty('synthetic')
    expect(tree.nodes.get('gone')).toMatchObject({ synthetic: true, birth: null, events: [] })
    expect(problems(tree)).toEqual(['missing-parent gone'])
  })

  it('an unknown kind is kept, and gives birth only if it names a parent and nothing better does', () => {
    const tree = buildSessionTree(log('created a', 'subagent s<a', 'renamed a', 'subagent a<s'))
    expect(shape(tree)).toBe('a(s)')
    expect(tree.nodes.get('s')?.birth).toBe('subagent')
    expect(tree.nodes.get('a')?.events.map((event) => event.event)).toEqual([
      'created',
      'renamed',
      'subagent',
    ])
    expect(problems(tree)).toEqual(['unknown-kind s', 'unknown-kind a', 'unknown-kind a'])
  })

  it('two births: the first counts, the second is named', () => {
    const tree = buildSessionTree(
      log('created a', 'created b', 'compacted c<a', 'compacted c<b', 'created b'),
    )
    expect(shape(tree)).toBe('a(c) b')
    expect(problems(tree)).toEqual(['conflicting-parents c', 'duplicate-birth b'])
  })

  it('cycles are cut at the first born of each, also one of a single session', () => {
    const tree = buildSessionTree(
      log('compacted self<self', 'bg_fork tail<y', 'compacted x<z', 'compacted y<x', 'compacted z<y'),
    )
    expect(shape(tree)).toBe('self x(y(tail z))')
    expect(problems(tree)).toEqual(['cycle self', 'cycle x'])
  })

  it('time decides, not the line: offsets are compared as instants, ties by line', () => {
    const events: SessionHistoryEvent[] = [
      { session_id: 'c', event: 'compacted', timestamp: '2026-01-01T05:00:00+09:00', parent_session_id: 'b' },
      { session_id: 'c', event: 'compacted', timestamp: '2025-12-31T11:00:00-08:00', parent_session_id: 'a' },
      { session_id: 'a', event: 'created', timestamp: '2025-12-31T10:00:00-08:00', parent_session_id: null },
      { session_id: 'b', event: 'created', timestamp: '2025-12-31T10:00:00-08:00', parent_session_id: null },
      { session_id: 'late', event: 'created', timestamp: 'some day', parent_session_id: null },
    ]
    const tree = buildSessionTree(events)
    expect(shape(tree)).toBe('a(c) b late')
    expect(tree.problems.map(({ kind, index }) => `${kind} ${index}`)).toEqual([
      'out-of-order 1',
      'out-of-order 2',
      'out-of-order 3',
      'bad-timestamp 4',
      'conflicting-parents 0',
    ])
  })
})

describe('no input breaks it', () => {
  it('a chain and a ring of 100,000 sessions', () => {
    const count = 100_000
    const events = Array.from({ length: count }, (_, i) => ({
      session_id: `s${i}`,
      event: 'compacted',
      timestamp: minute(i),
      parent_session_id: i === 0 ? null : `s${i - 1}`,
    }))
    const tree = buildSessionTree(events)
    expect(tree.roots).toEqual(['s0'])
    expect(tree.problems).toEqual([])
    expect(renderSessionTree(tree)).toContain(`\n[${count - 1}] s${count - 1}  `)
    const ring = buildSessionTree(
      events.map((event, i) => (i ? event : { ...event, parent_session_id: `s${count - 1}` })),
    )
    expect(ring.roots).toEqual(['s0'])
    expect(problems(ring)).toEqual(['cycle s0'])
  })

  it('draws no control characters', () => {
    const text = renderSessionTree(buildSessionTree(log('created \u001b[2Ja\u202e')))
    expect(text).not.toMatch(/[\u001b\u202e]/)
  })

  const id = fc.constantFrom('a', 'b', 'c', 'd', 'e', '__proto__', 'constructor', '')
  const kind = fc.constantFrom(
    'created',
    'compacted',
    'swapped',
    'cleared',
    'interactive_fork',
    'bg_fork',
    'odd',
  )
  const event = fc.record({
    session_id: id,
    event: kind,
    timestamp: fc.oneof(
      fc.integer({ min: 0, max: 20 }).map(minute),
      fc.constantFrom('', 'x', '2026-13-45', '2026-01-01T09:00:00+09:00'),
    ),
    parent_session_id: fc.option(id),
  })

  /** Every session once, below its parent, and reachable from a root. */
  function checkForest(tree: SessionTree): void {
    const seen = new Set<string>()
    const open = tree.roots.map((root) => ({ id: root, parent: null as string | null }))
    for (let next = open.pop(); next; next = open.pop()) {
      expect(seen.has(next.id)).toBe(false)
      seen.add(next.id)
      const node = tree.nodes.get(next.id)
      expect(node?.parent).toBe(next.parent)
      for (const child of node?.children ?? []) open.push({ id: child, parent: next.id })
    }
    expect(seen).toEqual(new Set(tree.nodes.keys()))
    expect(renderSessionTree(tree).split('\n')).toHaveLength(seen.size + 1)
  }

  it('any events, and things that are none, give a forest that holds every event', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof({ weight: 9, arbitrary: event }, fc.anything())), (events) => {
        const tree = buildSessionTree(events)
        checkForest(tree)
        const bad = tree.problems.filter((problem) => problem.kind === 'bad-event').length
        const kept = [...tree.nodes.values()].reduce((sum, node) => sum + node.events.length, 0)
        expect(kept + bad).toBe(events.length)
        for (const node of tree.nodes.values()) expect(node.synthetic === true).toBe(node.events.length === 0)
      }),
    )
  })

  it('the order of the lines changes nothing when no two events share an instant', () => {
    const distinct = fc
      .array(event, { maxLength: 30 })
      .map((events) => events.map((one, i) => ({ ...one, timestamp: minute(i) })))
    const withShuffle = distinct.chain((events) =>
      fc.tuple(fc.constant(events), fc.shuffledSubarray(events, { minLength: events.length })),
    )
    const told = (tree: SessionTree) =>
      tree.problems
        .filter(({ kind }) => kind !== 'out-of-order')
        .map(({ kind, detail, sessionId }) => `${kind} ${sessionId} ${detail}`)
        .sort()
    fc.assert(
      fc.property(withShuffle, ([events, shuffled]) => {
        const [one, other] = [buildSessionTree(events), buildSessionTree(shuffled)]
        expect([...other.nodes]).toEqual([...one.nodes])
        expect(other.roots).toEqual(one.roots)
        expect(told(other)).toEqual(told(one))
      }),
    )
  })

  it('a forest written as events comes back as it was', () => {
    // Node i has a parent before it, or none: every forest has this form.
    const parents = fc.array(fc.nat(), { maxLength: 40 }).map((seeds) =>
      seeds.map((seed, i) => {
        const pick = seed % (i + 1)
        return pick === i ? null : pick
      }),
    )
    const kinds = ['compacted', 'interactive_fork', 'bg_fork', 'swapped']
    fc.assert(
      fc.property(parents, fc.nat(), (links, salt) => {
        const events = links.map((parent, i) => ({
          session_id: `s${i}`,
          event: parent === null ? 'created' : (kinds[(i + salt) % kinds.length] as string),
          timestamp: minute(i),
          parent_session_id: parent === null ? null : `s${parent}`,
        }))
        const tree = buildSessionTree(events)
        expect(tree.problems).toEqual([])
        links.forEach((parent, i) => {
          expect(tree.nodes.get(`s${i}`)?.parent).toBe(parent === null ? null : `s${parent}`)
        })
        checkForest(tree)
      }),
    )
  })
})
