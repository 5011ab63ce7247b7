// Two files of one session, in different directories: whichever is read first, the conversation is the same, in every form it
// is told in. Numbers differ, since they are given in the order of reading; what they are given to does not.

import { basename, dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findDigest } from '../src/digest/patterns.ts'
import { ExportSource, FORMATS } from '../src/export/index.ts'
import type { Session } from '../src/model.ts'
import { sessionEvents } from '../src/query/events.ts'
import { outlineOf } from '../src/query/outline.ts'
import { getSession } from '../src/query/sessions.ts'
import { transcript } from '../src/query/transcript.ts'
import { CACHE_MIGRATIONS } from '../src/store/cache-schema.ts'
import { databasesOf } from '../src/store/databases.ts'
import type { Reader } from '../src/store/reader/index.ts'
import { openStore } from '../src/store/sqlite.ts'
import { assistant, call, type Fields, result, SESSION, text, user, write } from './setup/claude.ts'
import { amountOf } from './setup/long.ts'
import fc from './setup/properties.ts'
import { cli, World } from './setup/sweeping.ts'

const UID = `claude:${SESSION}`
const FILES = { a: '-first', b: '-second' } as const
type File = keyof typeof FILES
const NUMBERED = new Set(['seqs', 'seq', 'failed_seq', 'resolved_seq', 'compactions', 'first_prompt'])

/** Each group of files is there at a sweep of its own. */
async function readIn(order: File[][], files: Record<File, unknown[]>): Promise<World> {
  const world = new World()
  for (const group of order) {
    for (const file of group)
      write(join(world.home, '.claude', 'projects', FILES[file], `${SESSION}.jsonl`), files[file])
    await world.sweep()
  }
  expect(world.verify().problems).toEqual([])
  return world
}

/** All that is told of the session, with native keys in the place of numbers. */
function told(handle: Reader): object {
  const rows = databasesOf(handle)
    .cache.prepare('SELECT seq, parent_seq, hex(key) AS key FROM events')
    .all() as unknown as {
    seq: number
    parent_seq: number | null
    key: string
  }[]
  const keys = new Map(rows.map(({ seq, key }) => [seq, key]))
  const named = (value: unknown, name = ''): unknown => {
    if (typeof value === 'number' && NUMBERED.has(name)) return keys.get(value) ?? value
    if (Array.isArray(value)) return value.map((one) => named(one, name))
    if (typeof value !== 'object' || value === null) return value
    const inside = (key: string): string => (name === 'evidence' ? 'seqs' : key)
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, named(one, inside(key))]))
  }
  const { price: _, ...digest } = findDigest(handle, UID) as NonNullable<ReturnType<typeof findDigest>>
  const { seq, call_seq, anchors, ...outline } = outlineOf(handle, UID)
  const session = getSession(handle, UID) as Session
  const unnumbered = (words: string): string =>
    words.replace(/#\d+/g, '#').replaceAll(new RegExp(`${UID}-\\d+`, 'g'), UID)
  const { cwd, repo, git_branch, task_ref, source_path } = session
  return {
    session: { cwd, repo, git_branch, task_ref, file: basename(dirname(source_path ?? '')) },
    digest: named(digest),
    prompt: [...handle.sessions.firstPrompts([UID]).values()],
    parents: Object.fromEntries(rows.map((row) => [row.key, keys.get(row.parent_seq ?? 0) ?? null])),
    entries: [...transcript(handle, UID)].map((entry) =>
      entry.type === 'agent'
        ? entry.name
        : [keys.get(entry.event.seq), entry.result && keys.get(entry.result.seq), entry.depth],
    ),
    events: [...sessionEvents(handle, UID)].map((event) => [keys.get(event.seq), event.ts, event.tokens]),
    outline: {
      ...outline,
      seq: named(seq, 'seqs'),
      call_seq: named(call_seq, 'seqs'),
      anchors: named(anchors, 'seqs'),
    },
    markdown: unnumbered([...FORMATS.md.write(new ExportSource(handle, session))].join('')),
    html: unnumbered([...FORMATS.html.write(new ExportSource(handle, session))].join('')),
  }
}

async function toldIn(order: File[][], files: Record<File, unknown[]>): Promise<object> {
  const world = await readIn(order, files)
  try {
    return world.read(told)
  } finally {
    world.remove()
  }
}

const step = fc.record({
  where: fc.constantFrom('a' as const, 'b' as const, 'both' as const),
  what: fc.constantFrom('prompt' as const, 'answer' as const, 'work' as const, 'test' as const),
  wait: fc.integer({ min: 1, max: 3000 }),
  isTimed: fc.boolean(),
  isLinked: fc.boolean(),
  /** Where the result of a call stands, which may be where the call does not. */
  whereResult: fc.constantFrom('same' as const, 'a' as const, 'b' as const, 'both' as const),
  /** Of a few commands: one that failed before is tried again, for a file that knows of it. */
  command: fc.integer({ min: 0, max: 2 }),
})
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

const PLACES = {
  a: { cwd: '/gone/shop', gitBranch: 'fix/SHOP-1' },
  b: { cwd: '/gone/till', gitBranch: 'fix/TILL-2' },
}

/** A conversation whose records lie in one file, the other, or both. */
function filesOf(steps: readonly Step[]): Record<File, Fields[]> {
  const files: Record<File, Fields[]> = { a: [], b: [] }
  let at = Date.parse('2026-11-15T12:00:00Z')
  let last: string | null = null
  const put = (one: Step, record: Fields): void => {
    at += one.wait
    const { timestamp: _, ...rest } = record
    // The first of each file has a time: without one nothing tells where the rest belongs.
    const isFirst = files.a.length === 0 || files.b.length === 0
    const timed = one.isTimed || isFirst ? { ...rest, timestamp: new Date(at).toISOString() } : rest
    for (const file of ['a', 'b'] as const)
      if (one.where === file || one.where === 'both') files[file].push({ ...timed, ...PLACES[file] })
    last = record['uuid'] as string
  }
  for (const [n, one] of steps.entries()) {
    const parent = one.isLinked ? last : null
    if (one.what === 'prompt') put(one, user(`u${n}`, parent, `prompt ${n}`))
    else if (one.what === 'answer') put(one, assistant(`u${n}`, parent, [text(`answer ${n}`)]))
    else {
      const input =
        one.what === 'test' ? { command: `npm test ${one.command}` } : { command: `make part${one.command}` }
      put(one, assistant(`u${n}`, parent, [call(`c${n}`, 'Bash', input)]))
      const failed = n % 2 === 0
      put(
        { ...one, wait: 1, where: one.whereResult === 'same' ? one.where : one.whereResult },
        user(`u${n}r`, `u${n}`, [result(`c${n}`, `Error: part ${n % 3} broke`, failed)]),
      )
    }
  }
  for (const file of ['a', 'b'] as const)
    if (files[file].length > 0)
      files[file].push({ type: 'ai-title', aiTitle: `Called by ${file}`, sessionId: SESSION })
  return files
}

describe('two files of one session', () => {
  it('are one conversation, whichever is read first', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 14 }), async (steps) => {
        const files = filesOf(steps)
        if (files.a.length === 0 || files.b.length === 0) return
        const together = await toldIn([['a', 'b']], files)
        expect(await toldIn([['a'], ['b']], files)).toEqual(together)
        expect(await toldIn([['b'], ['a']], files)).toEqual(together)
      }),
      { numRuns: amountOf('MERGES', 10, 100), endOnFailure: true },
    )
  })

  const ONCE = { whereResult: 'same', command: 0 } as const
  /** Asked in one directory, gone on with in another; the second file is read first. */
  const SPLIT = filesOf([
    { where: 'a', what: 'prompt', wait: 1000, isTimed: true, isLinked: false, ...ONCE },
    { where: 'a', what: 'work', wait: 1000, isTimed: true, isLinked: true, ...ONCE },
    { where: 'b', what: 'prompt', wait: 1000, isTimed: true, isLinked: true, ...ONCE },
    { where: 'b', what: 'test', wait: 1000, isTimed: true, isLinked: true, ...ONCE },
    { where: 'a', what: 'prompt', wait: 1000, isTimed: true, isLinked: false, ...ONCE },
    { where: 'b', what: 'answer', wait: 1000, isTimed: true, isLinked: false, ...ONCE },
  ])
  const SPOKEN = ['prompt 0', 'prompt 2', 'prompt 4', 'answer 5']

  it('stand in the order of their times, though the later was read first; numbers stay as given', async () => {
    const world = await readIn([['b'], ['a']], SPLIT)
    try {
      const { shown, prompt, seqs } = world.read((handle) => ({
        shown: [...sessionEvents(handle, UID)],
        prompt: findDigest(handle, UID)?.first_prompt,
        seqs: outlineOf(handle, UID).seq,
      }))
      const said = shown.filter((one) => one.kind === 'user_msg' || one.kind === 'assistant_msg')
      expect(said.map((one) => one.summary)).toEqual(SPOKEN)
      expect(prompt).toBe('prompt 0')
      expect(seqs).toEqual(shown.map((one) => one.seq))
      // What was read first has the first numbers.
      expect(shown.find((one) => one.summary === 'prompt 2')?.seq).toBeLessThan(
        shown.find((one) => one.summary === 'prompt 0')?.seq as number,
      )
      for (const format of ['text', 'md', 'html', 'json']) {
        const { stdout } = cli(world.env, 'show', UID, '--format', format)
        const places = SPOKEN.map((words) => stdout.lastIndexOf(words))
        expect(places, format).toEqual(places.toSorted((a, b) => a - b))
        expect(places, format).not.toContain(-1)
      }
    } finally {
      world.remove()
    }
  })

  it('was where the file says that goes on longest, though the other was read last', async () => {
    const longest = filesOf([
      { where: 'a', what: 'prompt', wait: 1000, isTimed: true, isLinked: false, ...ONCE },
      { where: 'b', what: 'prompt', wait: 1000, isTimed: true, isLinked: true, ...ONCE },
      { where: 'a', what: 'answer', wait: 1000, isTimed: true, isLinked: true, ...ONCE },
    ])
    for (const order of [
      [['a'], ['b']],
      [['b'], ['a']],
    ] as File[][][]) {
      const world = await readIn(order, longest)
      try {
        const session = world.read((handle) => getSession(handle, UID))
        expect(session).toMatchObject({ cwd: '/gone/shop', repo: 'shop', git_branch: 'fix/SHOP-1' })
        expect(session?.title).toBe('Called by a')
        expect([session?.task_ref, basename(dirname(session?.source_path ?? ''))]).toEqual([
          'SHOP-1',
          FILES.a,
        ])
      } finally {
        world.remove()
      }
    }
  })

  it('are read again, where they were read before each file told its own order', async () => {
    const world = await readIn([['b'], ['a']], SPLIT)
    try {
      const migration = CACHE_MIGRATIONS.find((one) => String(one).includes('DROP TABLE stretches')) as string
      const store = openStore(world.paths)
      databasesOf(store.reader).cache.exec(`ALTER TABLE source_sessions DROP COLUMN runs;
        ALTER TABLE source_sessions DROP COLUMN retries; CREATE TABLE stretches (session INTEGER); ${migration}`)
      store.close()
      expect((await world.sweep()).sources).toHaveLength(2)
      const shown = world.read((handle) => [...sessionEvents(handle, UID)])
      const said = shown.filter((one) => one.kind === 'user_msg' || one.kind === 'assistant_msg')
      expect(said.map((one) => one.summary)).toEqual(SPOKEN)
    } finally {
      world.remove()
    }
  })

  it('have neighbours in the conversation, not in the numbers', async () => {
    const world = await readIn([['b'], ['a']], SPLIT)
    try {
      const all = world.read((handle) => [...sessionEvents(handle, UID)])
      const at = all.findIndex((one) => one.summary === 'prompt 2')
      const { stdout } = cli(world.env, 'show', `${UID}#${all[at]?.seq}`, '--around', '1', '--json')
      const around = JSON.parse(stdout).events.map((one: { seq: number }) => one.seq)
      expect(around).toEqual(all.slice(at - 1, at + 2).map((one) => one.seq))
    } finally {
      world.remove()
    }
  })

  it('an outline that was sent is sent again whole when something comes before its end', async () => {
    const world = await readIn([['b']], SPLIT)
    try {
      const known = world.read((handle) => outlineOf(handle, UID))
      const last = Math.max(...known.seq)
      write(join(world.home, '.claude', 'projects', FILES.a, `${SESSION}.jsonl`), SPLIT.a)
      await world.sweep()
      const more = world.read((handle) => outlineOf(handle, UID, last))
      expect(more.is_whole).toBe(true)
      expect(more.seq).toHaveLength(world.read((handle) => [...sessionEvents(handle, UID)]).length)
      const rest = world.read((handle) => outlineOf(handle, UID, Math.max(...more.seq)))
      expect([rest.is_whole, rest.seq]).toEqual([false, []])
    } finally {
      world.remove()
    }
  })

  it('a digest that was gone on with tells the same as one made of all events', async () => {
    const many = filesOf(
      Array.from({ length: 400 }, (_, n) => ({
        where: n % 7 === 0 ? ('b' as const) : ('a' as const),
        what: n % 5 === 0 ? ('prompt' as const) : ('work' as const),
        wait: 500,
        isTimed: true,
        isLinked: n % 3 > 0,
        whereResult: 'same' as const,
        command: n,
      })),
    )
    const half = (records: Fields[]): Fields[] => records.slice(0, records.length / 2)
    const world = await readIn([['a', 'b']], { a: half(many.a), b: half(many.b) })
    try {
      for (const file of ['b', 'a'] as const) {
        write(join(world.home, '.claude', 'projects', FILES[file], `${SESSION}.jsonl`), many[file])
        await world.sweep()
      }
      expect(world.read(told)).toEqual(await toldIn([['a', 'b']], many))
    } finally {
      world.remove()
    }
  })
})
