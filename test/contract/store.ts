// What every store must do, whatever it is made of. Each test runs twice: with the store kept open, and with the store
// closed and opened again between any two steps.

import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Item } from '../../src/adapters/adapter.ts'
import { rawOf } from '../../src/event/body.ts'
import type { SessionEvent } from '../../src/model.ts'
import { sessionEvents } from '../../src/query/events.ts'
import { search } from '../../src/query/search.ts'
import { getSession, listSessions } from '../../src/query/sessions.ts'
import type { Batch } from '../../src/store/batch.ts'
import { databasesOf } from '../../src/store/databases.ts'
import type { Place, SessionPlace, Store, WriteReport } from '../../src/store/store.ts'
import { batchesOf, event, usage, uuid } from '../setup/scripted.ts'
import { temporary } from '../setup/sweeping.ts'

type Open = (directory: string) => Store
const nowhere = (): Place => ({ repo: null, domain: null })
const A = 'test:a'

/** A store that may be reopened before each step, and the sources it has read. */
class Steps {
  readonly directory = temporary('store')
  readonly #open: Open
  readonly #reopens: boolean
  #store: Store

  constructor(open: Open, reopens: boolean) {
    this.#open = open
    this.#reopens = reopens
    this.#store = open(join(this.directory, 'memory'))
  }

  get store(): Store {
    if (this.#reopens) {
      this.#store.close()
      this.#store = this.#open(join(this.directory, 'memory'))
    }
    return this.#store
  }

  path(source: string): string {
    return join(this.directory, 'sources', source)
  }

  batches(source: string, items: Item[], isResumed = false): Batch[] {
    const path = this.path(source)
    return batchesOf(path, items, isResumed ? this.store.reader.sources.cursor(path) : undefined)
  }

  write(source: string, ...items: Item[]): WriteReport {
    const batches = this.batches(source, items)
    return this.store.ingest.write(batches)
  }

  append(source: string, ...items: Item[]): WriteReport {
    const batches = this.batches(source, items, true)
    return this.store.ingest.write(batches)
  }

  settle(place: (session: SessionPlace) => Place = nowhere): number {
    return this.store.ingest.settle(place)
  }

  events(uid = A): SessionEvent[] {
    return [...sessionEvents(this.store.reader, uid)]
  }

  session(uid = A) {
    const session = getSession(this.store.reader, uid)
    if (!session) throw new Error(`no session ${uid}`)
    return session
  }

  edges(): string[] {
    const rows = databasesOf(this.store.reader)
      .memory.prepare('SELECT * FROM edges ORDER BY session_uid')
      .all()
    return (rows as unknown as Record<string, string>[]).map(
      (row) => `${row['session_uid']} ${row['kind']} ${row['parent_uid']}`,
    )
  }

  gaps(): string[] {
    const rows = databasesOf(this.store.reader)
      .cache.prepare('SELECT * FROM gaps ORDER BY offset, reason, detail')
      .all()
    return (rows as unknown as Record<string, string>[]).map(
      (row) => `${row['offset']} ${row['reason']} ${row['detail']}`,
    )
  }

  end(): void {
    this.#store.close()
  }
}

export function storeContract(name: string, open: Open): void {
  describe.each([
    ['kept open', false],
    ['opened again before each step', true],
  ])(`${name}, %s`, (_, reopens) => {
    let it_: Steps
    const steps = (): Steps => it_
    beforeEach(() => {
      it_ = new Steps(open, reopens)
      return () => {
        expect(it_.store.archive.verify().problems).toEqual([])
        it_.end()
      }
    })
    writing(steps)
    repeating(steps)
    forking(steps)
    counting(steps)
    moving(steps)
    hostility(steps)
  })
}

function writing(steps: () => Steps): void {
  it('numbers events from 1, links them and gives their bodies back', () => {
    const it_ = steps()
    it_.write(
      's',
      event('a', 'k1', { parentKey: null }),
      event('a', 'k2'),
      event('a', 'k3', { parentKey: 'k1' }),
    )
    expect(it_.append('s', event('a', 'k4')).newEventCount).toBe(1)
    expect(it_.events().map((one) => [one.seq, one.parent_seq])).toEqual([
      [1, null],
      [2, 1],
      [3, 1],
      [4, 3],
    ])
    const ref = it_.events()[2]?.payload_ref as string
    expect(rawOf(it_.store.reader.payload(ref) as string)).toEqual({ said: 'k3' })
    expect(it_.store.reader.payload(`blob://${'0'.repeat(32)}`)).toBeUndefined()
  })

  it('links a child that came before its parent', () => {
    const it_ = steps()
    it_.write('s', event('a', 'child', { parentKey: 'parent' }))
    it_.settle()
    expect(it_.events()[0]?.parent_seq).toBeNull()
    it_.append('s', event('a', 'parent', { parentKey: null }))
    it_.settle()
    expect(it_.events().map((one) => one.parent_seq)).toEqual([2, null])
  })

  it('hangs a root on the parent that is known later', () => {
    const it_ = steps()
    it_.write('s', event('a', 'root', { parentKey: null }), event('a', 'call', { parentKey: null }))
    it_.write('s', event('a', 'root', { parentKey: 'call' }), event('a', 'call', { parentKey: null }))
    it_.settle()
    expect(it_.events().map((one) => one.parent_seq)).toEqual([2, null])
  })

  it('keeps all of a write or nothing of it', () => {
    const it_ = steps()
    it_.write('s', event('a', 'k1'))
    const good = it_.batches('s', [event('a', 'k2'), usage('a', 'r1', 5)], true)
    const bad = it_.batches('t', [event('b', 'k1')])
    // biome-ignore lint/suspicious/noExplicitAny: a row no store may take
    ;(bad[0] as Batch).cursor.path = null as any
    expect(() => it_.store.ingest.write([...good, ...bad])).toThrow()
    expect(it_.events().map((one) => one.seq)).toEqual([1])
    expect(it_.store.reader.sources.cursor(it_.path('s'))?.offset).toBe(1)
    it_.store.ingest.write(good)
    expect(it_.events().map((one) => one.seq)).toEqual([1, 2])
    it_.settle()
    expect(it_.session().cost).toMatchObject({ output_tokens: 5, turns: 2 })
  })

  it('moves the cursor with the rows', () => {
    const it_ = steps()
    it_.write('s', event('a', 'k1'), event('a', 'k2'))
    const cursor = it_.store.reader.sources.cursor(it_.path('s'))
    expect(cursor).toMatchObject({ ...it_.store.reader.sources.mark(it_.path('s')) })
    expect(cursor).toMatchObject({ offset: 2, flavor: 'test', sessionUid: A, missingAt: null, generation: 0 })
    expect(JSON.parse(it_.store.reader.sources.cursor(it_.path('s'))?.state as string)).toMatchObject({
      adapter: { seen: 2 },
    })
  })

  it('keeps a body once, in one write, in two and in two sessions', () => {
    const it_ = steps()
    const body = { said: 'the same '.repeat(2000) }
    const same = { payload: body, said: body.said }
    const count = (): number =>
      (
        databasesOf(it_.store.reader).cache.prepare('SELECT count(*) AS n FROM payloads').get() as {
          n: number
        }
      ).n
    it_.write('s', event('a', 'k1', same), event('a', 'k2', same))
    expect(count()).toBe(1)
    it_.append('s', event('a', 'k3', same))
    it_.write('t', event('b', 'k1', same))
    expect(count()).toBe(1)
    const ref = it_.events('test:b')[0]?.payload_ref as string
    expect(rawOf(it_.store.reader.payload(ref) as string)).toEqual(body)
  })

  it('notes facts field by field; a person names a session for good', () => {
    const it_ = steps()
    const facts = (fields: object): Item => ({ type: 'session', session: 'a', ...fields })
    it_.write(
      's',
      facts({ cwd: '/x', title: 'made up' }),
      facts({ model: 'm', title: 'mine', titleByPerson: true }),
    )
    it_.append('s', facts({ title: 'made up later', gitBranch: 'fix/ABC-12-x' }))
    it_.settle((session) => ({ repo: `repo of ${session.cwd}`, domain: 'd' }))
    expect(it_.session()).toMatchObject({
      cwd: '/x',
      model: 'm',
      title: 'mine',
      git_branch: 'fix/ABC-12-x',
      task_ref: 'ABC-12',
      repo: 'repo of /x',
      domain: 'd',
    })
  })

  it('names gaps: pending ones until the next read, others for good, several at one place', () => {
    const it_ = steps()
    const gap = (offset: number, reason: string, detail: string, pending = false): Item => ({
      type: 'gap',
      offset,
      length: 1,
      reason,
      detail,
      pending,
    })
    it_.write('s', gap(0, 'companion', 'one', true), gap(0, 'companion', 'two', true), gap(0, 'torn', 'x'))
    expect(it_.gaps()).toEqual(['0 companion one', '0 companion two', '0 torn x'])
    it_.append('s', event('a', 'k1'), gap(9, 'torn', 'y', true))
    expect(it_.gaps()).toEqual(['0 torn x', '9 torn y'])
    it_.write('s', event('a', 'k1'))
    expect(it_.gaps()).toEqual([])
  })
}

function repeating(steps: () => Steps): void {
  it('changes nothing when the same is written again', () => {
    const it_ = steps()
    const items = [
      event('a', 'k1', { payload: { password: 'AKIAIOSFODNN7EXAMPLE' } }),
      event('a', 'k2', { kind: 'error', role: 'tool', files: ['/f'] }),
      usage('a', 'r', 7),
    ]
    it_.write('s', ...items)
    it_.settle()
    const before = [it_.events(), { ...it_.session(), ingested_at: null }]
    const report = it_.write('s', ...items)
    it_.settle()
    expect([report.newEventCount, report.changedEventCount]).toEqual([0, 0])
    expect([it_.events(), { ...it_.session(), ingested_at: null }]).toEqual(before)
    expect(Object.keys(it_.session().redactions).length).toBe(1)
    expect(it_.settle()).toBe(0)
  })

  it('replaces an event in its place: kind, counters, words, redactions, also when the body stays', () => {
    const it_ = steps()
    it_.write(
      's',
      event('a', 'k1'),
      event('a', 'k2', { kind: 'tool_result', role: 'tool', said: 'before', payload: 1 }),
    )
    it_.settle()
    const again = it_.append(
      's',
      event('a', 'k2', { kind: 'error', role: 'tool', said: 'after', payload: 1 }),
    )
    it_.settle()
    expect(again).toMatchObject({ newEventCount: 0, changedEventCount: 1 })
    expect(it_.events().map((one) => [one.seq, one.kind])).toEqual([
      [1, 'user_msg'],
      [2, 'error'],
    ])
    expect(search(it_.store.reader, 'before')).toEqual([])
    expect(search(it_.store.reader, 'after')).toMatchObject([{ seq: 2 }])
    it_.append('s', event('a', 'k1', { kind: 'lifecycle', role: 'system' }))
    it_.settle()
    expect(it_.session().cost.turns).toBe(0)
  })

  it('hangs the next event on the last one, not on one given out again', () => {
    const it_ = steps()
    it_.write(
      's',
      event('a', 'call'),
      event('a', 'talk'),
      event('a', 'call', { payload: 'more' }),
      event('a', 'next'),
    )
    it_.append('s', event('a', 'call', { payload: 'most' }), event('a', 'last'))
    expect(it_.events().map((one) => one.parent_seq)).toEqual([null, 1, 2, 3])
  })

  it('marks what was taken back, and only that', () => {
    const it_ = steps()
    const at = (second: number) => ({ ts: 1_794_000_000_000 + second * 1000 })
    const items: Item[] = [
      event('a', 'k1', at(1)),
      event('a', 'k2', at(2)),
      event('a', 'beside', { ...at(2), parentKey: 'k1', isSidechain: true }),
      event('a', 'below', { ...at(2), parentKey: 'k2', isSidechain: true }),
      event('a', 'k3', { ...at(3), parentKey: 'k2' }),
      { type: 'supersede', session: 'a', sinceKey: 'k2' },
      event('a', 'k4', at(4)),
    ]
    const taken = () => it_.events().map((one) => one.is_superseded)
    it_.write('s', ...items)
    expect(taken()).toEqual([false, true, false, true, true, false])
    it_.write('s', ...items)
    expect(taken()).toEqual([false, true, false, true, true, false])
    it_.append('s', { type: 'supersede', session: 'a', keys: ['k4', 'never'] })
    expect(taken()).toEqual([false, true, false, true, true, true])
    // What hangs on it and comes later is taken back with it.
    it_.append('s', event('a', 'late', { ...at(9), parentKey: 'below', isSidechain: true }))
    expect(taken()).toEqual([false, true, false, true, true, true, true])
  })
}

function forking(steps: () => Steps): void {
  const said = (session: string, keys: number[], own?: number) =>
    keys.map((key) => event(session, uuid(key), { ts: 1_794_000_000_000 + (own ?? key) * 1000 }))
  const inherited = (it_: Steps, uid: string) => it_.events(uid).map((one) => one.is_inherited)

  it('counts what a fork copied once, whichever of the two came first', () => {
    const it_ = steps()
    it_.write('fork', ...said('f', [1, 2, 3]), usage('f', 'r1', 5), usage('f', 'r3', 6))
    it_.settle()
    expect(it_.session('test:f').cost).toMatchObject({ turns: 3, output_tokens: 11 })
    it_.write('parent', ...said('p', [1, 2]), usage('p', 'r1', 5))
    it_.settle()
    expect(inherited(it_, 'test:f')).toEqual([true, true, false])
    expect(inherited(it_, 'test:p')).toEqual([false, false])
    expect(it_.session('test:f').cost).toMatchObject({ turns: 1, output_tokens: 6 })
    expect(it_.session('test:p').cost).toMatchObject({ turns: 2, output_tokens: 5 })
    expect(it_.edges()).toEqual(['test:f interactive_fork test:p'])
  })

  it('finds the nearest parent over three generations, in any order', () => {
    for (const order of ['abc', 'acb', 'bac', 'bca', 'cab', 'cba']) {
      const it_ = steps()
      const name = (letter: string) => `${letter}-${order}`
      const keys: Record<string, number[]> = { a: [1, 2], b: [1, 2, 3, 4], c: [1, 2, 3, 4, 5] }
      for (const letter of order) {
        const ids = (keys[letter] as number[]).map((key) => uuid(`${order}${key}`))
        it_.write(
          name(letter),
          ...ids.map((id, at) => event(name(letter), id, { ts: 1_794_000_000_000 + at * 1000 })),
          ...ids.map((id) => usage(name(letter), id, 1)),
        )
        it_.settle()
      }
      const edges = it_.edges().filter((edge) => edge.includes(order))
      expect(edges, order).toEqual([
        `test:b-${order} interactive_fork test:a-${order}`,
        `test:c-${order} interactive_fork test:b-${order}`,
      ])
      const turns = ['a', 'b', 'c'].map((letter) => it_.session(`test:${name(letter)}`).cost)
      expect(turns.map((cost) => [cost.turns, cost.output_tokens])).toEqual([
        [2, 2],
        [2, 2],
        [1, 1],
      ])
    }
  })

  it('takes siblings for children of their common origin', () => {
    const it_ = steps()
    it_.write('p', ...said('p', [1, 2]))
    it_.write('x', ...said('x', [1, 2, 3]))
    it_.write('y', ...said('y', [1, 2, 4]))
    it_.settle()
    expect(it_.edges()).toEqual(['test:x interactive_fork test:p', 'test:y interactive_fork test:p'])
  })

  it('believes the format where it names the parent', () => {
    const it_ = steps()
    it_.write('p', ...said('p', [1, 2, 9]))
    it_.write('f', ...said('f', [1, 2, 3]), {
      type: 'edge',
      kind: 'interactive_fork',
      session: 'f',
      parent: 'p',
      at: null,
    })
    it_.settle()
    expect(it_.edges()).toEqual(['test:f interactive_fork test:p'])
    expect(inherited(it_, 'test:f')).toEqual([true, true, false])
  })

  it('keeps the relation and the order when a fork is read again', () => {
    const it_ = steps()
    const main: Item = { type: 'session', session: 'f', relation: 'main' }
    it_.write('p', ...said('p', [1, 2]))
    it_.write('f', main, ...said('f', [1, 2, 3]))
    it_.settle()
    it_.write('f', main, ...said('f', [1, 2, 3]))
    it_.settle()
    const row = databasesOf(it_.store.reader)
      .memory.prepare("SELECT relation FROM sessions WHERE session_uid = 'test:f'")
      .get()
    expect(row).toEqual({ relation: 'fork' })
    expect(it_.session('test:f').cost.turns).toBe(1)
  })

  it('goes on counting after a settle', () => {
    const it_ = steps()
    it_.write('p', ...said('p', [1, 2]))
    it_.write('f', ...said('f', [1, 2, 3]))
    it_.settle()
    it_.append('f', ...said('f', [4]))
    it_.settle()
    expect(it_.session('test:f').cost.turns).toBe(2)
    expect(it_.session('test:p').cost.turns).toBe(2)
  })
}

function counting(steps: () => Steps): void {
  it('counts a response once: its greatest output, however it is split', () => {
    const it_ = steps()
    it_.write('s', usage('a', 'r1', 1), usage('a', 'r1', 9), usage('a', 'r1', 4))
    it_.append('s', usage('a', 'r1', 9), usage('a', 'r2', 1), usage('a', 'r1', 2))
    it_.settle()
    expect(it_.session().cost).toMatchObject({ input_tokens: 20, cache_tokens: 12, output_tokens: 10 })
  })

  it('takes the fuller input of two equal outputs', () => {
    const it_ = steps()
    it_.write('s', usage('a', 'r1', 5, { input: 1, cacheRead: 0 }), usage('a', 'r1', 5, { input: 8 }))
    it_.settle()
    expect(it_.session().cost.input_tokens).toBe(8)
  })

  it('gives the owner the greatest output any copy tells', () => {
    const it_ = steps()
    it_.write('p', event('p', uuid(1), { ts: 1 }), usage('p', 'r1', 1))
    it_.write('f', event('f', uuid(1), { ts: 1 }), event('f', uuid(2), { ts: 2 }), usage('f', 'r1', 50))
    it_.settle()
    expect(it_.session('test:p').cost.output_tokens).toBe(50)
    expect(it_.session('test:f').cost.output_tokens).toBe(0)
  })

  it('keeps what is contained elsewhere, and never adds it', () => {
    const it_ = steps()
    it_.write('s', usage('a', 'turn', 9))
    it_.write('c', usage('child', 'inner', 4, { nested: true }))
    it_.settle()
    const all = listSessions(it_.store.reader, { withSubagents: true })
    expect(all.reduce((sum, one) => sum + one.cost.output_tokens, 0)).toBe(9)
  })
}

function moving(steps: () => Steps): void {
  it('follows a source to another name', () => {
    const it_ = steps()
    it_.write('s', { type: 'session', session: 'a', cwd: '/x' }, event('a', 'k1'))
    it_.settle()
    it_.store.ingest.moveSource(it_.path('s'), it_.path('t'))
    expect([...it_.store.reader.sources.marks()].map((one) => one.path)).toEqual([it_.path('t')])
    expect(it_.session().source_path).toBe(it_.path('t'))
    it_.append('t', event('a', 'k2'))
    expect(it_.events().map((one) => one.parent_seq)).toEqual([null, 1])
  })

  it('marks the sole copy while every source is gone, whatever else is settled', () => {
    const it_ = steps()
    it_.write('s', event('a', 'k1'), event('within', 'k1'))
    it_.write('t', event('a', 'k2'))
    it_.settle()
    const sole = () => [it_.session().is_sole_copy, it_.session('test:within').is_sole_copy]
    it_.store.ingest.markMissing([it_.path('s')], 5)
    expect(sole()).toEqual([false, true])
    it_.store.ingest.markMissing([it_.path('t')], 6)
    expect(sole()).toEqual([true, true])
    // A relative of it is written to: it is settled again, and still the only copy.
    it_.write('u', event('a', 'k3'))
    it_.settle()
    it_.store.ingest.markMissing([it_.path('u')], 7)
    it_.settle()
    expect(sole()).toEqual([true, true])
    it_.store.ingest.markMissing([it_.path('s')], null)
    expect(sole()).toEqual([false, false])
    expect(it_.store.reader.sources.mark(it_.path('s'))?.missingAt).toBeNull()
  })
}

function hostility(steps: () => Steps): void {
  it('takes any text and number in any place, and gives it back readable', () => {
    const it_ = steps()
    const nasty = `a\0b\ud800c${'x'.repeat(5000)}`
    const items: Item[] = [
      event(nasty, nasty, {
        summary: nasty,
        said: nasty,
        tool: nasty,
        agent: nasty,
        callId: nasty,
        files: [nasty, nasty],
        payload: { [nasty]: nasty },
        ts: 8.64e15 + 1,
        exitCode: 2 ** 60,
        durationMs: Number.POSITIVE_INFINITY,
      }),
      event(`${nasty}2`, 'other', { ts: Number.NaN, parentKey: nasty }),
      event(nasty, 'b', { ts: -8.64e15 }),
      usage(nasty, nasty, 1e300, {
        model: nasty,
        ts: 1e300,
        input: -5,
        cacheRead: Number.NaN,
        reportedCost: 2 ** 70,
      }),
      usage(nasty, `${nasty}2`, 2 ** 53),
      {
        type: 'session',
        session: nasty,
        cwd: nasty,
        title: nasty,
        model: nasty,
        gitBranch: nasty,
        startedAt: 1e18,
      },
      { type: 'edge', kind: 'subagent', session: nasty, parent: nasty, at: 1e18, evidence: nasty },
      { type: 'supersede', session: nasty, keys: [nasty], sinceKey: nasty },
      { type: 'gap', offset: 0, length: 1, reason: nasty, detail: nasty },
      { type: 'unknown', name: nasty },
      { type: 'unknown', name: '__proto__' },
    ]
    it_.write('s', ...items)
    it_.settle()
    expect(it_.write('s', ...items)).toMatchObject({ newEventCount: 0, changedEventCount: 0 })
    it_.settle()
    const sessions = listSessions(it_.store.reader, { withSubagents: true })
    expect(sessions.length).toBe(2)
    const text = JSON.stringify([sessions, ...sessions.map((one) => it_.events(one.session_uid))])
    expect(text).not.toMatch(/\\u0000|\\ud800/)
    expect(sessions.map((one) => it_.events(one.session_uid).length).sort()).toEqual([1, 2])
  })
}
