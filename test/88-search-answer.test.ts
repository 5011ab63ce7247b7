// Answers where the index alone has none: words inside long outputs, text as it is typed, questions, slips of the pen; and
// what is said where there is no answer.
import { cpSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { RecollectError } from '../src/errors.ts'
import { type Answer, type AnswerOptions, answer } from '../src/query/answer.ts'
import { formsOf, isCommon } from '../src/query/common-words.ts'
import { distanceOf } from '../src/query/spelling.ts'
import { openForReading } from '../src/store/reading.ts'
import { segmentPath } from '../src/store/segments.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { cli, World } from './setup/sweeping.ts'
import { tell } from './setup/told.ts'

const world = new World()
afterAll(() => world.remove())

const SHA = '3f9c1d27ab64e05c9182f7d3b6a45e0c8d71f2a9'
const filler = (count: number): string =>
  Array.from({ length: count }, (_, at) => `line ${at} of the log says nothing`).join('\n')

const log = tell(world.home, 'log', [
  { ask: 'Build the parcel service.' },
  {
    tool: 'Bash',
    input: { command: 'make all' },
    output: `${filler(300)}\nlinker reports quetzalcoatl at <std::vector> "café"\n${filler(300)}`,
  },
  { answer: 'It builds.' },
])
const cpp = tell(world.home, 'cpp', [
  { ask: 'Port the C++ code, then call order.items?.id on it' },
  { answer: 'The c compiler was used before.' },
])
const flaky = tell(world.home, 'flaky', [
  { ask: 'The invoice export is flaky on Mondays.' },
  { tool: 'Bash', input: { command: 'npm test' }, output: 'Timezone mismatch in exporter', failed: true },
  { answer: `Pinned the timezone in ${SHA}; the exports are stable.` },
])
const short = tell(
  world.home,
  'short',
  [{ ask: 'Which commit was it?' }, { answer: `Look at ${SHA.slice(0, 8)} and checkoutRounding.` }],
  { cwd: '/w/infra', at: '2026-11-10T10:00:00Z' },
)
beforeAll(async () => {
  await world.sweep()
})

async function ask(query: string, options: AnswerOptions = {}, from = world): Promise<Answer> {
  const handle = openForReading(from.paths)
  try {
    return await answer(handle, query, options)
  } finally {
    handle.close()
  }
}
const uidsOf = (found: Answer): string[] => found.sessions.map((one) => one.session.session_uid)

describe('a word that no index holds', () => {
  it('is found by reading the bodies, and the answer says so', async () => {
    const found = await ask('quetzalcoatl')
    expect(found).toMatchObject({ holds: 'all_in_event', found_by: 'bodies', session_count: 1 })
    expect(found.sessions[0]?.hits[0]).toMatchObject({
      session_uid: log.uid,
      kind: 'tool_result',
      line: expect.stringContaining('linker reports quetzalcoatl'),
    })
    expect(found.scanned).toMatchObject({ is_all: true, damaged: 0 })
    expect(found.scanned?.bytes).toBeGreaterThan(10_000)
  })

  it('is looked for only where the filters let it, and not at all where that is not wanted', async () => {
    expect(await ask('quetzalcoatl', { repo: 'infra' })).toMatchObject({ holds: 'nothing', sessions: [] })
    expect(await ask('quetzalcoatl', { kinds: ['user_msg'] })).toMatchObject({ holds: 'nothing' })
    expect(await ask('quetzalcoatl', { scan: false })).toMatchObject({ holds: 'nothing', scanned: null })
    expect(uidsOf(await ask('quetzalcoatl', { repo: 'shop', kinds: ['tool_result'] }))).toEqual([log.uid])
  })

  it('does not keep what the index finds from being found there', async () => {
    expect(await ask('parcel')).toMatchObject({ found_by: 'index', scanned: null })
  })

  it('is found among others that say less, which are left out where nothing else is there', async () => {
    const found = await ask('where did quetzalcoatl fail in the parcel service')
    expect(found).toMatchObject({ holds: 'most', found_by: 'bodies', ignored: ['where', 'did', 'in', 'the'] })
    expect(uidsOf(found)).toEqual([log.uid])
    expect(found.sessions[0]?.missing).toEqual(['fail'])
    expect(await ask('where is quetzalcoatl parcel')).toMatchObject({ holds: 'all_in_session' })
    expect(await ask('quetzalcoatl parcel', { scan: false })).toMatchObject({ holds: 'nothing' })
    expect(await ask('quetzalcoatl alpaca sweater')).toMatchObject({ holds: 'nothing' })
  })

  it('is not found beside what must not be there', async () => {
    expect(uidsOf(await ask('quetzalcoatl -kubernetes'))).toEqual([log.uid])
    expect(uidsOf(await ask('quetzalcoatl -linker'))).toEqual([])
  })

  it('is offered to be looked for where other words have an answer', async () => {
    const found = await ask('invoice export flaky_on_sundays')
    expect(found).toMatchObject({ holds: 'most', scanned: null })
    expect(found.next).toEqual([{ query: 'flaky_on_sundays', why: 'bodies' }])
  })

  it('nor words that it holds, but apart, are found as they stand there', async () => {
    const own = new World()
    try {
      for (const word of ['amber', 'basalt', 'cobalt', 'dolerite'])
        tell(own.home, word, [{ ask: `Polish the ${word}.` }])
      const output = `${filler(200)}\namber: basalt, cobalt; Dolerite\n${filler(200)}`
      const { uid } = tell(own.home, 'stones', [
        { ask: 'List them.' },
        { tool: 'Bash', input: { command: 'x' }, output },
      ])
      await own.sweep()
      const found = await ask('amber basalt cobalt dolerite', {}, own)
      expect(found).toMatchObject({ holds: 'all_in_event', found_by: 'bodies' })
      expect(uidsOf(found)).toEqual([uid])
      expect((await ask('amber basalt dolerite cobalt', {}, own)).holds).toBe('nothing')
    } finally {
      own.remove()
    }
  })

  it('is found until the reading is ended', async () => {
    const found = await ask('quetzalcoatl', { signal: AbortSignal.abort() })
    expect(found.scanned).toMatchObject({ is_all: false })
  })

  it('is found in spite of damage elsewhere, which is counted', async () => {
    const own = new World()
    try {
      const [a, b] = ['one', 'two'].map((name) =>
        tell(own.home, name, [
          { ask: name },
          { tool: 'Bash', input: { command: 'x' }, output: `${filler(200)}\nquetzal\n${filler(200)}` },
        ]),
      )
      await own.sweep()
      writeFileSync(segmentPath(join(own.paths.cacheDirectory, 'blobs'), a?.uid ?? ''), 'no chunk at all')
      const found = await ask('quetzal', {}, own)
      expect(uidsOf(found)).toEqual([b?.uid])
      expect(found.scanned?.damaged).toBe(1)
      rmSync(segmentPath(join(own.paths.cacheDirectory, 'blobs'), a?.uid ?? ''))
      expect((await ask('quetzal', {}, own)).scanned?.damaged).toBe(1)
    } finally {
      own.remove()
    }
  })
})

describe('text', () => {
  it('is found exactly as it is, quotes, brackets and accents too', async () => {
    for (const text of ['<std::vector> "café"', 'order.items?.id', 'C++ code,'])
      expect((await ask(text, { how: 'literal' })).sessions, text).toHaveLength(1)
    expect((await ask('c++ code,', { how: 'literal' })).sessions).toEqual([])
  })

  it('may be a regular expression, line by line', async () => {
    const found = await ask('^linker .* quetz\\w+ at', { how: 'regex' })
    expect(found.sessions[0]?.hits[0]?.marks).toEqual([[0, 'linker reports quetzalcoatl at'.length]])
    expect(uidsOf(await ask('/TIMEZONE m[a-z]{6}/i', { how: 'regex' }))).toEqual([flaky.uid])
    expect((await ask('TIMEZONE m', { how: 'regex' })).sessions).toEqual([])
    expect((await ask('(quetz|nothing-else)al', { how: 'regex' })).sessions).toHaveLength(1)
    expect((await ask('qu?e{1}tza*l\\w', { how: 'regex' })).sessions).toHaveLength(1)
    await expect(ask('(', { how: 'regex' })).rejects.toThrow(RecollectError)
  })

  it('whose signs say more than its letters is found with them', async () => {
    expect(uidsOf(await ask('C++'))).toEqual([cpp.uid])
    expect(await ask('c#')).toMatchObject({ found_by: 'index' })
    expect((await ask('?.')).found_by).toBe('bodies')
    expect((await ask('⭐️')).holds).toBe('nothing')
  })

  it('that is a commit is found in full and shortened', async () => {
    expect(uidsOf(await ask(SHA))).toEqual([flaky.uid])
    const other = `${SHA.slice(0, 8)}${'0'.repeat(32)}`
    expect((await ask(SHA.slice(0, 7))).instead).toEqual([{ typed: SHA.slice(0, 7), meant: '3f9c1d2*' }])
    expect(uidsOf(await ask(SHA.slice(0, 7))).sort()).toEqual([flaky.uid, short.uid].sort())
    expect((await ask(other)).instead).toEqual([{ typed: other, meant: '3f9c1d2*' }])
  })
})

describe('a question', () => {
  it('is answered by the session that holds all of it, in several events', async () => {
    const found = await ask('why was the invoice export failing because of a timezone?')
    expect(uidsOf(found)[0]).toBe(flaky.uid)
    expect(found).toMatchObject({ found_by: 'index', ignored: ['why', 'was', 'the', 'because', 'of', 'a'] })
    const both = await ask('invoices pinned timezone')
    expect(both).toMatchObject({ holds: 'all_in_session' })
    expect(both.sessions[0]).toMatchObject({ holds: 'all_in_session', missing: [] })
    // Each word is shown where it stands.
    const lines = both.sessions[0]?.hits.map((hit) => hit.line).join('\n') ?? ''
    expect([/invoice/, /Pinned/].every((word) => word.test(lines))).toBe(true)
  })

  it('is answered by what holds most of it, and what that lacks is told', async () => {
    const found = await ask('flaky invoice export in kubernetes')
    expect(found.holds).toBe('most')
    expect(found.sessions[0]).toMatchObject({ holds: 'most', missing: ['kubernetes'] })
    expect(found.sessions[0]?.session.session_uid).toBe(flaky.uid)
  })

  it('is answered first by what holds most of it together, not by words that stand somewhere in a long session', async () => {
    const own = new World()
    try {
      const far = (word: string) => ({ tool: 'Bash', input: { command: `echo ${word}` }, output: filler(9) })
      tell(own.home, 'long', [
        { ask: 'Tidy up.' },
        ...['toaster', 'handle', 'melted', 'summer'].map(far),
        { answer: 'I went through all of it, and it is tidy.' },
      ])
      const near = tell(own.home, 'near', [
        { ask: 'The handle of the toaster melted again, what can we do?' },
        { answer: 'Use another plastic.' },
      ])
      await own.sweep()
      const found = await ask('why did the handle of the toaster melt in summer', {}, own)
      expect(found.holds).toBe('all_in_session')
      expect(uidsOf(found)[0]).toBe(near.uid)
      expect(found.sessions.map((one) => one.holds)).toEqual(['most', 'all_in_session'])
      // Some long text holds every word of a sentence by chance, common ones as well.
      const odd =
        'why is it that did not melt, of all in the drawer: a handle, and in summer the toaster was cold'
      tell(own.home, 'chance', [
        { ask: 'List it.' },
        { tool: 'Bash', input: { command: 'ls' }, output: `${odd}\n${filler(30)}` },
      ])
      await own.sweep()
      const both = await ask('why did the handle of the toaster melt in summer', {}, own)
      expect(uidsOf(both)).toHaveLength(3)
      expect(uidsOf(both)[0]).toBe(near.uid)
    } finally {
      own.remove()
    }
  })

  it('that nothing is about has no answer', async () => {
    for (const query of ['how do I knit an alpaca sweater', 'flaky alpaca sweater', 'what is it about'])
      expect(await ask(query), query).toMatchObject({ sessions: [] })
  })

  it('keeps what must not be there out', async () => {
    const found = await ask('invoices timezone pinned -exporter')
    const hits = found.sessions.flatMap((one) => one.hits)
    expect(hits.map((hit) => hit.kind).sort()).toEqual(['assistant_msg', 'user_msg'])
  })

  it('knows forms of words, and words that say nothing', () => {
    expect(formsOf('migrations')).toContain('migration')
    expect(formsOf('stopping')).toContain('stop')
    expect(formsOf('cache')).toContain('caching')
    expect(formsOf('ts')).toEqual(['ts'])
    expect(['What', 'the', 'is?'].map(isCommon)).toEqual([true, true, true])
    expect(['error', '--not', 'parse'].map(isCommon)).toEqual([false, false, false])
  })
})

describe('a slip', () => {
  it('is put right where it is clear what was meant', async () => {
    const found = await ask('invocie')
    expect(found).toMatchObject({ instead: [{ typed: 'invocie', meant: 'invoice' }], found_by: 'index' })
    expect(uidsOf(found)).toEqual([flaky.uid])
    expect((await ask('flaky invocie exports')).instead).toEqual([{ typed: 'invocie', meant: 'invoice' }])
    expect((await ask('checkout-roundign')).instead).toEqual([{ typed: 'roundign', meant: 'rounding' }])
  })

  it('beside another one is offered with both put right', async () => {
    const own = new World()
    try {
      tell(own.home, 'exit', [{ ask: 'The loader must exist.' }])
      tell(own.home, 'exit2', [{ ask: 'The importer must exit.' }])
      await own.sweep()
      // Two words are as near to the second slip: which was meant nobody knows.
      expect((await ask('laoder exsit', {}, own)).next).toContainEqual({
        query: 'loader exist',
        why: 'spelling',
      })
    } finally {
      own.remove()
    }
  })

  it('is measured in letters', () => {
    expect(distanceOf('checkout', 'checkout', 2)).toBe(0)
    expect(distanceOf('cehckout', 'checkout', 2)).toBe(1)
    expect(distanceOf('chekout', 'checkout', 2)).toBe(1)
    expect(distanceOf('checkuot', 'chekout', 2)).toBe(2)
    expect(distanceOf('abc', 'xyz', 2)).toBe(3)
  })
})

describe('no answer', () => {
  it('is told with a question that has one', async () => {
    expect((await ask('parcel', { repo: 'infra' })).next).toContainEqual({
      query: 'parcel',
      why: 'unfiltered',
    })
    expect((await ask('parcelservice')).next).toEqual([{ query: 'parcel*', why: 'beginning' }])
    const fewer = await ask('parcel xylophone', { scan: false })
    expect(fewer.next).toContainEqual({ query: 'parcel', why: 'fewer' })
    expect(fewer.next).toContainEqual({ query: 'parcel xylophone', why: 'bodies' })
  })
})

describe('sessions of one task', () => {
  const own = new World()
  afterAll(() => own.remove())

  it('take one place in an answer', async () => {
    cpSync(join(unpackAgent('codex'), 'subagent'), own.home, { recursive: true })
    await own.sweep()
    const found = await ask('files', { limit: 10 }, own)
    expect(found.session_count).toBe(2)
    expect(found.sessions).toHaveLength(1)
    const [one] = found.sessions
    expect([one?.session.session_uid, ...(one?.also_in ?? [])].includes(one?.task_uid ?? '')).toBe(true)
    expect(one?.also_in).toHaveLength(1)
    const child = await ask('files', { session: one?.also_in[0] ?? '' }, own)
    expect(uidsOf(child)).toEqual(one?.also_in)
  })
})

describe('recollect search', () => {
  const run = (...args: string[]) => cli(world.env, 'search', ...args)

  it('says how it found what it found', () => {
    expect(run('quetzalcoatl').stdout).toMatch(
      /^not in the index: found by reading the bodies, .+ of text in \d+ sessions/,
    )
    expect(run('invocie').stdout).toContain('nothing holds invocie: these hold invoice')
    expect(run('flaky', 'invoice', 'export', 'in', 'kubernetes').stdout).toMatch(
      /nothing holds all words.*not looked for: in.*without kubernetes/s,
    )
    expect(run('parcel').stdout).not.toMatch(/index|nothing/)
  })

  it('offers what to ask next', () => {
    expect(run('parcel', '--repo', 'infra').stdout).toContain('without the filters: recollect search parcel')
    expect(run('parcelservice').stdout).toContain("a beginning: recollect search 'parcel*'")
  })

  it('is never left alone with nothing', () => {
    expect(run('xqzvvk').stdout).toMatch(/what there is: recollect sessions\n$/)
    expect(run('xqzvvk', 'alpaca', 'sweater').stdout).toMatch(/what there is: recollect sessions\n$/)
    // Only what would find something is offered.
    expect(run('knit', 'alpaca', 'invocie').stdout).not.toContain('did you mean')
  })

  it('takes one way to look at a time, and says what is wrong with an expression', () => {
    expect(run('--literal', '--regex', 'x')).toMatchObject({ code: 2 })
    for (const how of ['--literal', '--regex']) expect(run(how, ''), how).toMatchObject({ code: 2 })
    const { code, stderr } = run('--regex', '(')
    expect([code, stderr]).toEqual([2, expect.stringContaining('is no regular expression')])
    expect(run('--literal', 'order.items?.id').stdout).toContain('order.items?.id')
  })
})
