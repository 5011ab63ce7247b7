// Search over everything remembered: what ranks first, what filters leave, and what is still found when the events are gone.
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Config } from '../src/config.ts'
import { type SearchOptions, search, searchSessions } from '../src/query/search.ts'
import { forget } from '../src/retention/forget.ts'
import { policyOf } from '../src/retention/policy.ts'
import { openStore } from '../src/store/sqlite.ts'
import fc from './setup/properties.ts'
import { World } from './setup/sweeping.ts'
import { tell } from './setup/told.ts'

const world = new World()
afterAll(() => world.remove())

const find = (query: string, options: SearchOptions = {}) =>
  world.read((handle) => search(handle, query, options))
const uids = (query: string, options: SearchOptions = {}): string[] =>
  world
    .read((handle) => searchSessions(handle, query, options))
    .map((found) => found.session.session_uid)
    .sort()

const cart = tell(
  world.home,
  'cart',
  [
    { ask: 'Why does the checkout round prices wrongly?' },
    { think: 'maybe floating point' },
    {
      tool: 'Read',
      input: { file_path: '/w/shop/src/cart.ts' },
      output: 'export const checkout = roundPrice(cents)',
    },
    {
      tool: 'Bash',
      input: { command: 'npm test' },
      output: 'AssertionError: expected 3 to equal 4\n    at checkout (src/cart.ts:9:5)',
      failed: true,
    },
    { answer: 'I will look at the rounding next.' },
    {
      tool: 'Edit',
      input: { file_path: '/w/shop/src/cart.ts', old_string: 'a', new_string: 'b' },
      output: 'ok',
    },
    { answer: 'The rounding used floats; it uses cents now, and the checkout is right.' },
  ],
  { title: 'Rounding in the cart' },
)
const deploy = tell(
  world.home,
  'deploy',
  [
    {
      ask: 'Deploy with `git push --no-verify`, then run parse_line on src/a/b.ts. Größe prüfen, 日本語のテキスト.',
    },
    {
      tool: 'Bash',
      input: { command: 'git push --no-verify' },
      output: 'checkout checkout checkout checkout',
    },
    { answer: 'Done: parseHTMLString was the culprit.' },
  ],
  { cwd: '/w/infra', model: 'model-2', at: '2026-11-10T10:00:00Z' },
)
const noise = tell(
  world.home,
  'noise',
  [
    { ask: 'List the files.' },
    { tool: 'Bash', input: { command: 'ls' }, output: `${'checkout '.repeat(400)}\n` },
    { answer: 'There they are.' },
  ],
  { at: '2026-11-12T10:00:00Z' },
)
beforeAll(async () => {
  await world.sweep()
})

describe('ranking', () => {
  it('puts what was said before what tools printed', () => {
    const found = world.read((handle) => searchSessions(handle, 'checkout'))
    expect(found.map((one) => one.session.session_uid)[0]).toBe(cart.uid)
    expect(found.map((one) => one.session.session_uid)).toContain(noise.uid)
    expect(found[0]?.hits[0]?.kind).toBe('user_msg')
    const kinds = found[0]?.hits.map((hit) => hit.kind) ?? []
    expect(kinds.indexOf('assistant_msg')).toBeLessThan(
      kinds.includes('tool_result') ? kinds.indexOf('tool_result') : kinds.length,
    )
  })

  it('puts the answer a turn ends with before the one it goes on from', () => {
    const [first, second] = find('rounding', { session: cart.uid, kinds: ['assistant_msg'] })
    expect(first?.line).toContain('cents now')
    expect(second?.line).toContain('look at')
  })

  it('groups by session, with the best hits of each', () => {
    const found = world.read((handle) => searchSessions(handle, 'checkout', { perSession: 1 }))
    expect(found.every((one) => one.hits.length === 1)).toBe(true)
    expect(found.find((one) => one.session.session_uid === cart.uid)?.match_count).toBeGreaterThan(2)
    expect(find('checkout', { limit: 2 })).toHaveLength(2)
  })
})

describe('a hit', () => {
  it('in what a fork copied is shown where it was said', async () => {
    const own = new World()
    const first = tell(own.home, 'origin', [{ ask: 'walnut one' }, { answer: 'walnut two' }])
    const fork = tell(own.home, 'forked', [{ ask: 'walnut three' }])
    const copied = readFileSync(first.path, 'utf8').replaceAll(first.id, fork.id)
    writeFileSync(fork.path, copied + readFileSync(fork.path, 'utf8'))
    await own.sweep()
    const hits = own.read((handle) => search(handle, 'walnut'))
    expect(hits.map((hit) => [hit.session_uid, hit.line]).sort()).toEqual(
      [
        [first.uid, 'walnut one'],
        [first.uid, 'walnut two'],
        [fork.uid, 'walnut three'],
      ].sort(),
    )
    own.remove()
  })

  it('shows the line that matches, and where', () => {
    const [hit] = find('AssertionError equal')
    expect(hit).toMatchObject({ kind: 'error', session_uid: cart.uid, is_evicted: false })
    expect(hit?.line).toBe('AssertionError: expected 3 to equal 4')
    expect(hit?.marks.map(([from, to]) => hit.line.slice(from, to))).toEqual(['AssertionError', 'equal'])
  })

  it.each([
    ['parse_line', 'parse_line'],
    ['--no-verify', 'no-verify'],
    ['src/a/b.ts', 'src/a/b.ts'],
    ['grosse OR', undefined],
    ['große', 'Größe'],
    ['größe', 'Größe'],
    ['GROSSE', undefined],
    ['prufen', 'prüfen'],
    ['日本', '日本'],
    ['html', 'HTML'],
    ['pars*', 'pars'],
    ['"parse line"', 'parse_line'],
  ])('%s marks %s', (query, marked) => {
    const [hit] = find(query, { session: deploy.uid })
    const marks = hit?.marks.map(([from, to]) => hit.line.slice(from, to)) ?? []
    if (marked === undefined) expect(hit).toBeUndefined()
    else expect(marks).toContain(marked)
  })

  it('carries nothing a terminal would obey', async () => {
    const own = new World()
    tell(own.home, 'esc', [
      { ask: 'colours please' },
      {
        tool: 'Bash',
        input: { command: 'x' },
        output: `${'y'.repeat(200)}\n\x1b[31mzebra\x1b[0m\ttabbed\u202e`,
      },
    ])
    await own.sweep()
    const [hit] = own.read((handle) => search(handle, 'zebra'))
    expect(hit?.line).toContain('zebra')
    expect(hit?.line).not.toMatch(/[\p{Cc}\p{Cf}]/u)
    own.remove()
  })
})

describe('filters', () => {
  it.each<[string, SearchOptions, string[]]>([
    ['flavor', { flavor: 'claude' }, [cart.uid, deploy.uid, noise.uid]],
    ['another flavor', { flavor: 'codex' }, []],
    ['repo', { repo: 'infra' }, [deploy.uid]],
    ['model', { model: 'model-2' }, [deploy.uid]],
    ['kind', { kinds: ['user_msg'] }, [cart.uid]],
    ['kind of work', { kinds: ['edit', 'error'] }, [cart.uid]],
    ['tool', { tool: 'bash' }, [cart.uid, deploy.uid, noise.uid]],
    ['tool of a call', { tool: 'Read' }, [cart.uid]],
    ['touched file', { touched: 'src/cart.ts' }, [cart.uid]],
    ['touched file, whole path', { touched: '/w/shop/src/cart.ts' }, [cart.uid]],
    ['touched file, elsewhere', { touched: '/w/other/src/cart.ts' }, []],
    ['touched file, its name', { touched: './cart.ts' }, [cart.uid]],
    ['part of a file name', { touched: 'art.ts' }, []],
    ['error', { hasError: true }, [cart.uid]],
    ['no error', { hasError: false }, [deploy.uid, noise.uid]],
    ['since', { sinceAt: Date.parse('2026-11-09') }, [deploy.uid, noise.uid]],
    ['until', { untilAt: Date.parse('2026-11-11') }, [cart.uid, deploy.uid]],
    ['session', { session: noise.uid }, [noise.uid]],
    ['all but a session', { excludeSession: cart.uid }, [deploy.uid, noise.uid]],
    ['evicted', { evicted: true }, []],
    ['several', { repo: 'shop', tool: 'Bash', hasError: false }, [noise.uid]],
  ])('by %s', (_, options, expected) => {
    expect(uids('checkout', options)).toEqual(expected.toSorted())
  })

  it('find what is rare in few sessions and common in all others, as without them', async () => {
    const own = new World()
    const wanted = tell(own.home, 'rare', [{ ask: 'common words' }], {
      cwd: '/w/rare',
      at: '2026-01-01T00:00:00Z',
    })
    const steps = Array.from({ length: 360 }, (_, at) => ({
      tool: 'Bash',
      input: { command: `common ${at}` },
      output: 'common',
    }))
    for (let at = 0; at < 15; at++) tell(own.home, `many${String.fromCharCode(97 + at)}`, steps)
    await own.sweep()
    const inRare = (options: SearchOptions) =>
      own.read((handle) => search(handle, 'common', options)).map((hit) => hit.session_uid)
    expect(inRare({ repo: 'rare' })).toEqual([wanted.uid])
    expect(inRare({ session: wanted.uid })).toEqual([wanted.uid])
    expect(inRare({ repo: 'rare', kinds: ['tool_call'] })).toEqual([])
    own.remove()
  })
})

describe('any query', () => {
  it.each([
    '',
    ' ',
    '"',
    '*',
    '-x',
    '--',
    '-"a b"',
    'NEAR(',
    '(((',
    '"unbalanced',
    "';--",
    'a AND',
    '^x',
    'prompt:x',
    '\0',
  ])('%j is no error', (query) => {
    expect(Array.isArray(find(query))).toBe(true)
  })

  it('and any filter value is no error', () => {
    const hostile = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 10 }),
      fc.constantFrom('"', "'", '*', 'a"b', '/', '..', '{files}', '\0', ')'),
    )
    fc.assert(
      fc.property(hostile, hostile, (query, value) => {
        const options = { touched: value, tool: value, repo: value, model: value, session: value }
        find(`checkout ${query}`, options)
        find(query, { touched: value })
        find('checkout', { tool: value })
      }),
      { numRuns: 60 },
    )
  })
})

describe('a session whose events are gone', () => {
  const own = new World()
  afterAll(() => own.remove())
  const old = tell(own.home, 'old', [
    { ask: 'Teach the zeppelin to land, see ABC-17' },
    {
      tool: 'Bash',
      input: { command: 'make helium' },
      output: 'Error: valve stuck at helium.ts',
      failed: true,
    },
    {
      tool: 'Edit',
      input: { file_path: '/w/shop/src/mooring.ts', old_string: 'a', new_string: 'b' },
      output: 'ok',
    },
    { tool: 'Bash', input: { command: 'ls' }, output: 'only in the raw: quokka' },
    { answer: 'It lands softly now.' },
  ])
  const kept = tell(own.home, 'kept', [{ ask: 'Paint the zeppelin' }, { answer: 'Painted.' }])
  const look = (query: string, options: SearchOptions = {}) =>
    own.read((handle) => searchSessions(handle, query, options))
  const evict = (uid: string): void => {
    const store = openStore(own.paths)
    store.archive.evict([{ uid, reason: 'age', bytes: 1 }], Date.now())
    store.close()
  }
  beforeAll(async () => {
    await own.sweep()
    expect(look('quokka')).toHaveLength(1)
    evict(old.uid)
  })

  it('is found by what its digest says, and marked with when and why', () => {
    const [found] = look('helium valve')
    expect(found?.session.session_uid).toBe(old.uid)
    expect(found?.evicted?.reason).toBe('age')
    expect(Date.parse(found?.evicted?.at ?? '')).toBeGreaterThan(Date.now() - 60_000)
    expect(found?.hits).toMatchObject([
      { is_evicted: true, kind: 'error', line: expect.stringContaining('valve') },
    ])
    expect(look('quokka')).toEqual([])
  })

  it.each([
    ['land', 'user_msg'],
    ['softly', 'assistant_msg'],
    ['mooring.ts', 'edit'],
    ['"make helium"', 'tool_call'],
  ])('%s is in its digest as %s', (query, kind) => {
    expect(look(query)[0]?.hits[0]).toMatchObject({ session_uid: old.uid, kind, is_evicted: true })
  })

  it('stands beside those whose events are here', () => {
    const found = look('zeppelin')
    expect(found.map((one) => [one.session.session_uid, one.evicted === null]).sort()).toEqual(
      [
        [old.uid, false],
        [kept.uid, true],
      ].sort(),
    )
  })

  it('is filtered like the others', () => {
    const sessions = (options: SearchOptions): string[] =>
      look('zeppelin', options).map((one) => one.session.session_uid)
    expect(sessions({ evicted: true })).toEqual([old.uid])
    expect(sessions({ evicted: false })).toEqual([kept.uid])
    expect(sessions({ touched: 'mooring.ts' })).toEqual([old.uid])
    expect(sessions({ tool: 'Edit' })).toEqual([old.uid])
    expect(sessions({ excludeSession: old.uid })).toEqual([kept.uid])
    expect(sessions({ kinds: ['error'] })).toEqual([])
  })

  it('is found without a cache, too', async () => {
    const bare = new World()
    const told = tell(bare.home, 'bare', [{ ask: 'Polish the astrolabe' }])
    await bare.sweep()
    const isWhole = () => bare.read(({ cache }) => cache.prepare('SELECT is_whole FROM pair').get())
    expect(isWhole()).toEqual({ is_whole: 1 })
    rmSync(join(bare.memory, 'cache'), { recursive: true })
    const uid = () => bare.read((handle) => search(handle, 'astrolabe'))[0]
    expect(uid()).toMatchObject({ session_uid: told.uid, is_evicted: true })
    // Its file is gone as well: the next sweep cannot bring it back.
    rmSync(told.path)
    tell(bare.home, 'other', [{ ask: 'Something else' }])
    await bare.sweep()
    expect(uid()).toMatchObject({ session_uid: told.uid, is_evicted: true })
    expect(isWhole()).toEqual({ is_whole: 0 })
    // It comes back: the sweep after the one that reads it finds the cache whole again.
    tell(bare.home, 'bare', [{ ask: 'Polish the astrolabe' }])
    await bare.sweep()
    await bare.sweep()
    expect(isWhole()).toEqual({ is_whole: 1 })
    expect(uid()).toMatchObject({ session_uid: told.uid, is_evicted: false })
    bare.remove()
  })

  it('is not found once it is forgotten', () => {
    const store = openStore(own.paths)
    const _policy = policyOf(new Config({ env: own.env }))
    forget({ store, paths: own.paths }, old.uid)
    store.close()
    expect(look('helium')).toEqual([])
    expect(look('zeppelin').map((one) => one.session.session_uid)).toEqual([kept.uid])
  })
})
