// Any sequence of growing, evicting, reading again, deleting and forking, held against a memory of the same files that was
// swept at the same moments and never lost anything: what outlives eviction is the same in both.

import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterAll, expect, it } from 'vitest'
import { databasesOf } from '../src/store/databases.ts'
import { openStore } from '../src/store/sqlite.ts'
import { accountOf } from './setup/account.ts'
import { differences } from './setup/dump.ts'
import { amountOf, IS_LONG } from './setup/long.ts'
import fc from './setup/properties.ts'
import { makeSession } from './setup/raw-memory.ts'
import { temporary, World } from './setup/sweeping.ts'

interface Script {
  name: string
  path: string
  lines: readonly string[]
  /** A file this one copied its first lines from: it begins when they are written. */
  after?: { name: string; lineCount: number }
}

const FILES = ['origin', 'helper', 'fork', 'second'] as const
type Name = (typeof FILES)[number]

/** Made once, so that a sequence that fails does so again when it is made shorter. */
const base = temporary('evicted-steps')
afterAll(() => rmSync(base, { recursive: true, force: true }))

/** An origin with a sub-agent's file, a fork of it, and a fork of that. Some calls fail. */
function scripts(saysWhatFollows: boolean): Record<Name, Script> {
  const asWritten = (line: string, at: number): string => {
    const written = line.replace('"type":"tool_result"', `"type":"tool_result","is_error":${at % 8 === 3}`)
    // Where an answer does not say that a call follows, the end of a turn is told, and taken back when it goes on.
    return saysWhatFollows
      ? written.replace(/("role":"assistant")(?!,"stop)/, '$1,"stop_reason":"tool_use"')
      : written
  }
  const make = (turns: number, inherited: readonly string[] = []) => {
    const made = makeSession(base, turns, inherited)
    return { ...made, lines: made.lines.map(asWritten), at: made.path.slice(base.length + 1) }
  }
  const origin = make(4)
  const id = origin.uid.slice('claude:'.length)
  const asHelper = (line: string): string =>
    JSON.stringify({ ...JSON.parse(line), sessionId: id, agentId: 'a1', isSidechain: true })
  const fork = make(2, origin.lines.slice(0, 8))
  const second = make(1, fork.lines.slice(0, 12))
  return {
    origin: { name: 'origin', path: origin.at, lines: origin.lines },
    helper: {
      name: 'helper',
      path: join(dirname(origin.at), id, 'subagents', 'agent-a1.jsonl'),
      lines: make(2).lines.map(asHelper),
    },
    fork: { name: 'fork', path: fork.at, lines: fork.lines, after: { name: 'origin', lineCount: 8 } },
    second: { name: 'second', path: second.at, lines: second.lines, after: { name: 'fork', lineCount: 12 } },
  }
}
const SCRIPTS = scripts(true)
const OLD_SCRIPTS = scripts(false)

type Step =
  | { do: 'grow'; file: Name; lines: number }
  | { do: 'evict'; which: number }
  | { do: 'touch' | 'copy' | 'forget version' | 'delete'; file: Name }
  | { do: 'sweep'; full: boolean }

const file = fc.constantFrom(...FILES)
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('grow' as const), file, lines: fc.integer({ min: 1, max: 12 }) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('evict' as const), which: fc.integer({ min: 1, max: 7 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom('touch' as const, 'copy' as const, 'forget version' as const),
      file,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), file }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('sweep' as const), full: fc.boolean() }) },
)

class Trial {
  readonly world = new World()
  readonly whole = new World(this.world.home)
  readonly #written = new Map<string, readonly string[]>()
  readonly #deleted = new Set<string>()
  readonly scripts: Record<Name, Script>
  readonly #shift: number
  #at = 0

  /** `shift`: of the times that are written, against those of the files. */
  constructor(shift = 0, scripts = SCRIPTS) {
    this.#shift = shift
    this.scripts = scripts
  }

  get hasLost(): boolean {
    return this.#deleted.size > 0
  }

  async sweep(full = false): Promise<void> {
    await this.world.sweep({ full })
    await this.whole.sweep({ full })
  }

  async take(step: Step): Promise<void> {
    if (step.do === 'grow') await this.grow(this.scripts[step.file], step.lines)
    else if (step.do === 'evict') this.#evict(step.which)
    else if (step.do === 'sweep') await this.sweep(step.full)
    else this.#disturb(this.scripts[step.file], step.do)
  }

  #path = ({ path }: Script): string => join(this.world.home, path)
  #linesOf = ({ name }: Pick<Script, 'name'>): readonly string[] => this.#written.get(name) ?? []

  /** With the times of now, as an agent writes: a fork is told from its origin by whose file was there when they shared an event. */
  async grow(script: Script, count: number): Promise<void> {
    const { name, after } = script
    if (after && this.#linesOf(after).length < after.lineCount) return
    if (this.#deleted.has(name)) return
    const path = this.#path(script)
    if (!existsSync(path)) {
      // Times of files are coarser than ours, which run ahead of the clock.
      await setTimeout(Math.max(0, this.#at - Date.now()) + 20)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, '')
    }
    const written = this.#linesOf(script)
    const lines = script.lines.slice(written.length, written.length + count).map((line, at) => {
      const index = written.length + at
      const copied = after && index < after.lineCount ? this.#linesOf(after)[index] : undefined
      this.#at = Math.max(Date.now(), this.#at + 1)
      const timestamp = copied ? JSON.parse(copied).timestamp : new Date(this.#at + this.#shift).toISOString()
      return `${JSON.stringify({ ...JSON.parse(line), timestamp })}\n`
    })
    appendFileSync(path, lines.join(''))
    this.#written.set(name, [...written, ...lines])
  }

  #disturb(script: Script, what: 'touch' | 'copy' | 'forget version' | 'delete'): void {
    const path = this.#path(script)
    if (!existsSync(path)) return
    if (what === 'delete') {
      rmSync(path)
      this.#deleted.add(script.name)
    }
    if (what === 'touch') utimesSync(path, new Date(), new Date())
    // A copy is born anew, which forks and their origins are told apart by.
    if (what === 'copy' && script.name === 'helper') this.restore(script)
    if (what !== 'forget version') return
    for (const world of [this.world, this.whole]) {
      const store = openStore(world.paths)
      databasesOf(store.reader)
        .cache.prepare('UPDATE sources SET adapter_version = 0 WHERE path = ? AND adapter_version > 0')
        .run(path)
      store.close()
    }
  }

  restore(script: Script): void {
    const path = this.#path(script)
    cpSync(path, `${path}.new`)
    renameSync(`${path}.new`, path)
  }

  #evict(which: number): void {
    const store = openStore(this.world.paths)
    const here = databasesOf(store.reader)
      .cache.prepare(
        'SELECT session_uid AS uid FROM cached WHERE next_seq - 1 > evicted_seq ORDER BY session_uid',
      )
      .all() as unknown as { uid: string }[]
    const some = here.filter((_, at) => which & (1 << at))
    store.archive.evict(
      some.map(({ uid }) => ({ uid, reason: 'age' as const, bytes: 1 })),
      Date.now(),
    )
    store.close()
  }

  expectSame(when: string): void {
    expect(differences(accountOf(this.world), accountOf(this.whole)), when).toEqual([])
  }

  /** Whose a fork's first lines are may be open until it has some of its own: that they count once is not. */
  expectSameSums(when: string): void {
    const sums = (world: World) => {
      const { sessions, digests, usage } = accountOf(world)
      const sum = (numbers: readonly unknown[]): number =>
        numbers.reduce<number>((all, one) => all + Number(one ?? 0), 0)
      const counters = ['event_count', 'turn_count', 'retry_count', 'error_count'] as const
      return {
        sessions: counters.map((name) =>
          sum(Object.values(sessions as Record<string, Record<string, unknown>>).map((row) => row[name])),
        ),
        digested: sum(Object.values(digests as Record<string, unknown[]>).map(([count]) => count)),
        output: sum(usage.filter((row) => row['is_counted']).map((row) => row['output'])),
      }
    }
    expect(sums(this.world), when).toEqual(sums(this.whole))
  }

  remove(): void {
    this.whole.remove()
    this.world.remove()
  }
}

/** Files that were restored are born late, and tell nothing of who was first. */
const RESTORED = -86_400_000

const WORLDS = [
  ['', 0, SCRIPTS],
  [', of restored files', RESTORED, SCRIPTS],
  [', of turns whose end is inferred', 0, OLD_SCRIPTS],
  [', of both', RESTORED, OLD_SCRIPTS],
] as const

it.each(WORLDS)('counts what a memory counts that never evicted anything%s', async (_, shift, scripts) => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 24 }), async (steps) => {
      const trial = new Trial(shift, scripts)
      try {
        for (const one of steps) await trial.take(one)
        await trial.sweep()
        trial.expectSameSums('in between')
        for (const script of Object.values(scripts)) await trial.grow(script, 1000)
        await trial.sweep()
        // What turns out to be the other way round is read again, if it is still there.
        if (shift !== 0) await trial.sweep()
        const expectAll = (when: string): void =>
          shift !== 0 && trial.hasLost ? trial.expectSameSums(when) : trial.expectSame(when)
        expectAll('at the end')
        expect(trial.world.verify().problems).toEqual([])
        await trial.sweep(true)
        expectAll('read again')
      } finally {
        trial.remove()
      }
    }),
    { numRuns: amountOf('EVICTIONS', 3, 200) },
  )
})

it.each(IS_LONG ? [1, 4, 7, 8] : [4])(
  'a fork whose copied lines arrive in pieces counts only its own: %d at first',
  async (count) => {
    for (const which of [1, 2, 3])
      for (const [early, shift] of [
        [8, 0],
        [16, 0],
        [8, RESTORED],
        [16, RESTORED],
      ] as const) {
        const trial = new Trial(shift)
        const evict: Step = { do: 'evict', which }
        try {
          await trial.grow(SCRIPTS.origin, early)
          await trial.grow(SCRIPTS.fork, count)
          await trial.sweep()
          await trial.take(evict)
          await trial.grow(SCRIPTS.fork, 8 - count)
          await trial.sweep()
          await trial.take(evict)
          await trial.grow(SCRIPTS.origin, 1000)
          await trial.grow(SCRIPTS.fork, 1000)
          await trial.sweep()
          trial.expectSameSums('at first')
          // Where both went on, and it turns out that the wrong one was taken for the origin, they are read again.
          await trial.sweep()
          trial.expectSame(`evicted: ${which}, the origin had ${early} lines, times moved by ${shift}`)
        } finally {
          trial.remove()
        }
      }
  },
)

it('an origin of which the beginning is evicted is not taken for a copy of its fork', async () => {
  for (const count of [1, 3, 5, 7]) {
    const trial = new Trial(RESTORED)
    try {
      await trial.grow(SCRIPTS.origin, count)
      await trial.sweep()
      await trial.take({ do: 'evict', which: 1 })
      await trial.grow(SCRIPTS.origin, 1000)
      await trial.grow(SCRIPTS.fork, 1000)
      await trial.sweep()
      trial.expectSame(`${count} lines evicted`)
    } finally {
      trial.remove()
    }
  }
})

it.each([1, 3])(
  'a turn that goes on after its evicted end is counted without that end (%d sessions)',
  async (which) => {
    for (const [first, more] of [
      [2, 1],
      [6, 2],
      [10, 7],
    ] as const) {
      const trial = new Trial(0, OLD_SCRIPTS)
      try {
        await trial.grow(OLD_SCRIPTS.origin, first)
        await trial.grow(OLD_SCRIPTS.fork, first)
        await trial.sweep()
        await trial.take({ do: 'evict', which })
        await trial.grow(OLD_SCRIPTS.origin, more)
        await trial.sweep()
        trial.expectSame(`${first} lines, then ${more}`)
        await trial.grow(OLD_SCRIPTS.origin, 1000)
        await trial.sweep()
        trial.expectSame(`${first} lines, then all`)
        await trial.take({ do: 'evict', which })
        await trial.sweep(true)
        trial.expectSame(`${first} lines, read again`)
      } finally {
        trial.remove()
      }
    }
  },
)
