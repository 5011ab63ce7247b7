// A filter leaves out what does not fit and nothing else: whatever it is made of, what a filtered search finds is what
// fits among all that an unfiltered one finds. The sessions came in over two sweeps, so their events lie among each other's.
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { EVENT_KINDS, type Session } from '../src/model.ts'
import { type SearchHit, type SearchOptions, searchSessions } from '../src/query/search.ts'
import { openDatabase } from '../src/store/database.ts'
import { MEMORY_MIGRATIONS } from '../src/store/memory-schema.ts'
import fc from './setup/properties.ts'
import { World } from './setup/sweeping.ts'
import { type Step, tell } from './setup/told.ts'

const ALL = { limit: 100_000, perSession: 100_000 }
const TOOLS = ['Read', 'Bash', 'Grep']
const START = Date.parse('2026-03-01')
const DAY = 86_400_000
const SESSIONS = 36

const world = new World()
afterAll(() => world.remove())

/** `often` stands in every step, `seldom` in some, `once` in few; each group of kinds has less of them than are ranked. */
function steps(session: number): Step[] {
  const words = (at: number): string =>
    ['often', at % 5 === 0 ? 'seldom' : '', (session * 7 + at) % 97 === 0 ? 'once' : ''].join(' ')
  return Array.from({ length: 12 }, (_, at): Step => {
    if (at === 0) return { ask: `please ${words(at)}` }
    if (at % 4 === 1) return { answer: `so ${words(at)}` }
    const tool = TOOLS[(session + at) % TOOLS.length] as string
    const failed = session % 6 === 0 && at === 6
    return { tool, input: { command: 'x', file_path: `/w/f${session % 4}.ts` }, output: words(at), failed }
  })
}

const QUERIES = ['often', 'seldom', 'once', 'often seldom'] as const
type Found = { session: Session; hit: SearchHit }[]
/** Which file each session touched, by uid. */
const touched = new Map<string, string>()
let everything: Record<(typeof QUERIES)[number], Found>
beforeAll(async () => {
  const files = Array.from({ length: SESSIONS }, (_, session) => {
    const told = tell(world.home, `s${session + 10}-`, steps(session), {
      cwd: `/w/repo${session === 7 ? 'rare' : session % 3}`,
      model: `model-${session % 2}`,
      at: new Date(START + ((session * 11) % SESSIONS) * DAY).toISOString(),
    })
    touched.set(told.uid, `/w/f${session % 4}.ts`)
    return told
  }).map(({ path }) => ({ path, lines: readFileSync(path, 'utf8').split(/(?<=\n)/) }))
  for (const { path, lines } of files) writeFileSync(path, lines.slice(0, 9).join(''))
  await world.sweep()
  for (const { path, lines } of files) appendFileSync(path, lines.slice(9).join(''))
  await world.sweep()
  everything = Object.fromEntries(QUERIES.map((query) => [query, found(query, {})])) as typeof everything
})

const found = (query: string, options: SearchOptions): Found =>
  world.read((handle) =>
    searchSessions(handle, query, { ...ALL, ...options }).flatMap(({ session, hits }) =>
      hits.map((hit) => ({ session, hit })),
    ),
  )
const names = (list: Found): string[] => list.map(({ hit }) => `${hit.session_uid}#${hit.seq}`).sort()

function fits({ session, hit }: Found[number], options: SearchOptions): boolean {
  const is = <T>(wanted: T | undefined, has: T): boolean => wanted === undefined || wanted === has
  const time = Date.parse(hit.ts as string)
  return (
    is(options.repo, session.repo) &&
    is(options.model, session.model) &&
    is(options.session, session.session_uid) &&
    (options.excludeSession === undefined || options.excludeSession !== session.session_uid) &&
    (options.touched === undefined || `${touched.get(session.session_uid)}`.endsWith(options.touched)) &&
    is(options.hasError, session.error_count > 0) &&
    is(options.tool?.toLowerCase(), hit.tool?.toLowerCase()) &&
    (options.kinds === undefined || options.kinds.includes(hit.kind)) &&
    (options.sinceAt === undefined || time >= options.sinceAt) &&
    (options.untilAt === undefined || time <= options.untilAt)
  )
}

const FILE = 'f1.ts'
/** Digests that only the index knows, so that a file counts as one that many sessions touched. */
function touchOften(): void {
  const memory = openDatabase(world.paths.memoryPath, MEMORY_MIGRATIONS)
  const insert = memory.prepare('INSERT INTO digest_words (rowid, files) VALUES (?, ?)')
  for (let id = 1_000_000; id < 1_000_600; id++) insert.run(id, `/elsewhere/${FILE}`)
  memory.close()
}

it.each(['few', 'many'])(
  'finds what fits of what an unfiltered search finds, of a file that %s touched',
  (count) => {
    if (count === 'many') touchOften()
    const isOften = world.read((handle) => handle.search.touching({ touched: FILE }, 'few') === 'many')
    expect(isOften).toBe(count === 'many')
    const listed = world.read((handle) => handle.sessions.uids({ touched: FILE }))
    expect(listed.sort()).toEqual(
      [...touched.keys()].filter((uid) => touched.get(uid)?.endsWith(FILE)).sort(),
    )
    // Fewer than are ranked, more than are asked about at once: else nothing is shown here.
    const { often } = everything
    const tools = often.filter(({ hit }) => hit.kind === 'tool_result' || hit.kind === 'error').length
    expect([tools > 240, often.length < 600]).toEqual([true, true])
    const uids = [...new Set(often.map(({ hit }) => hit.session_uid))]
    expect(uids).toHaveLength(SESSIONS)
    const some = <T>(of: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
      fc.option(of, { nil: undefined, freq: 1 })
    const at = fc.integer({ min: -1, max: SESSIONS + 1 }).map((day) => START + day * DAY)
    const filter = fc.record({
      repo: some(fc.constantFrom('repo0', 'repo1', 'reporare', 'none')),
      model: some(fc.constantFrom('model-0', 'model-1')),
      tool: some(fc.constantFrom('Read', 'bash')),
      kinds: some(fc.uniqueArray(fc.constantFrom(...EVENT_KINDS), { minLength: 1 })),
      sinceAt: some(at),
      untilAt: some(at),
      hasError: some(fc.boolean()),
      touched: some(fc.constantFrom(FILE, `/w/${FILE}`, 'f2.ts', 'f9.ts')),
      limit: fc.option(fc.constant(3), { nil: undefined, freq: 3 }),
      session: fc.option(fc.constantFrom(...uids), { nil: undefined, freq: 5 }),
      excludeSession: some(fc.constantFrom(...uids)),
    })
    fc.assert(
      fc.property(fc.constantFrom(...QUERIES), filter, (query, given) => {
        const options = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
        const expected = everything[query].filter((one) => fits(one, options))
        const has = found(query, options)
        // With a limit, whole sessions are left out.
        const isLeftOut = ({ hit }: Found[number]): boolean =>
          !has.some((one) => one.hit.session_uid === hit.session_uid)
        if (given.limit !== undefined) {
          const sessions = new Set(expected.map(({ hit }) => hit.session_uid))
          expect(new Set(has.map(({ hit }) => hit.session_uid)).size).toBe(Math.min(3, sessions.size))
        }
        expect(names(has)).toEqual(
          names(given.limit === undefined ? expected : expected.filter((one) => !isLeftOut(one))),
        )
      }),
      { numRuns: 150 },
    )
  },
)
