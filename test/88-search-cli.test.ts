// `recollect search` and `recollect sessions` as people type them.
import { spawn } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { searchSessions } from '../src/query/search.ts'
import { openStore } from '../src/store/sqlite.ts'
import { workOf } from './setup/stopping.ts'
import { type CliResult, cli, cliPath, World } from './setup/sweeping.ts'
import { type Step, tell } from './setup/told.ts'

type Json = Record<string, unknown>

const world = new World()
afterAll(() => world.remove())
const run = (...args: string[]): CliResult => cli(world.env, ...args)
const json = (...args: string[]): Json => JSON.parse(run(...args, '--json').stdout) as Json

const cart = tell(
  world.home,
  'cart',
  [
    { ask: 'Why does the checkout round wrongly?' },
    {
      tool: 'Bash',
      input: { command: 'npm test' },
      output: 'AssertionError: expected 3 to equal 4',
      failed: true,
    },
    {
      tool: 'Edit',
      input: { file_path: '/w/shop/src/cart.ts', old_string: 'a', new_string: 'b' },
      output: 'ok',
    },
    { answer: 'The checkout is right now.' },
  ],
  { title: 'Rounding' },
)
const infra = tell(
  world.home,
  'infra',
  [{ ask: 'Checkout the branch, use --no-verify' }, { answer: 'Yes.' }],
  {
    cwd: '/w/infra',
    model: 'claude-opus-5-5',
    at: '2026-11-10T10:00:00Z',
  },
)
const gone = tell(world.home, 'gone', [{ ask: 'An old checkout story' }], { at: '2026-10-01T10:00:00Z' })
beforeAll(async () => {
  await world.sweep()
  const store = openStore(world.paths)
  store.archive.evict([{ uid: gone.uid, reason: 'soft_cap', bytes: 1 }], Date.now())
  store.close()
})

describe('search', () => {
  it.each([
    ['-checkout', 'without a minus'],
    ['"', 'without a minus'],
    ['*', 'without a minus'],
  ])('says what %s lacks', (query, hint) => {
    const { code, stderr } = run('search', '--', query)
    expect([code, stderr]).toEqual([2, expect.stringContaining(hint)])
  })

  it('shows sessions, their lines and the command that opens them', () => {
    const { stdout, code } = run('search', 'checkout')
    expect(code).toBe(0)
    const groups = stdout.trimEnd().split('\n\n')
    expect(groups).toHaveLength(3)
    const own = groups.find((group) => group.includes('Rounding')) as string
    expect(own).toMatch(/^63617274 {2}2026-11-01 .*claude {2}shop {2}Rounding$/m)
    expect(own).toMatch(/#1 {2}prompt +Why does the checkout round wrongly\?/)
    const [, shown] = /recollect (show \S+)/.exec(own) as unknown as [string, string]
    expect(run(...shown.split(' ')).stdout).toContain('Why does the checkout')
  })

  it('says of an evicted session when and why, and offers its digest', () => {
    const { stdout } = run('search', 'old', 'story')
    expect(stdout).toMatch(/events evicted \d{4}-\d\d-\d\d: /)
    const [, command] = /recollect (digest \S+)/.exec(stdout) as unknown as [string, string]
    expect(run(...command.split(' ')).stdout).toContain('An old checkout story')
  })

  it('gives a document of hits and sessions', () => {
    const document = json('search', 'checkout', '--kind', 'user_msg')
    expect(document['query']).toBe('checkout')
    expect((document['hits'] as Json[]).map((hit) => hit['kind'])).toEqual([
      'user_msg',
      'user_msg',
      'user_msg',
    ])
    expect((document['sessions'] as Json[]).map((one) => one['session_uid']).sort()).toEqual(
      [cart.uid, infra.uid, gone.uid].sort(),
    )
    const evicted = (document['sessions'] as Json[]).find((one) => one['session_uid'] === gone.uid)
    expect(evicted?.['evicted']).toMatchObject({ reason: 'soft_cap' })
  })

  it('leaves out the session an agent is in', () => {
    const found = json('search', 'checkout', '--exclude-session', cart.id)['sessions'] as Json[]
    expect(found.map((one) => one['session_uid'])).not.toContain(cart.uid)
    const only = json('search', 'checkout', '--session', cart.id)['sessions'] as Json[]
    expect(only.map((one) => one['session_uid'])).toEqual([cart.uid])
  })

  it.each([
    [['search', '-x'], 'no word'],
    [['search', '"(', '*'], 'no word'],
    [['search', 'a', '--literal', '--regex'], 'one of them'],
    [['search', '--regex', '['], 'as in JavaScript'],
    [['search', '--flavour', 'x'], 'did you mean --flavor?'],
    [['search', 'a', '--kind', 'eror'], 'did you mean error?'],
    [['search', 'a', '--outcome', 'sucess'], 'did you mean success?'],
    [['search', 'a', '--flavor', 'clade'], 'did you mean claude?'],
    [['search', 'a', '--repo', 'shp'], 'did you mean shop?'],
    [['search', 'a', '--tool', 'bsh'], 'did you mean Bash?'],
    [['search', 'a', '--limit', '-3'], 'whole number'],
    [['search', 'a', '--since', 'soon'], 'an age such as 7d'],
    [['search', 'a', '--since', '2026-02-01', '--until', '2026-01-01'], 'later than'],
    [['sessions', '--model', 'claude-opus-5-6'], 'did you mean claude-opus-5-5?'],
    [['sessions', '--sort', 'prise'], 'one of recent'],
  ])('%j is refused', (args, hint) => {
    const { code, stderr } = run(...args)
    expect([code, stderr.includes(hint)]).toEqual([2, true])
  })

  it('takes a flag that is none of ours for a word', () => {
    expect(run('search', '--no-verify').stdout).toContain('--no-verify')
    expect(run('search', '--', '--no-verify').stdout).toContain('--no-verify')
    expect(run('search', 'quetzal', '--flavor', 'codex')).toMatchObject({
      code: 0,
      stdout: 'nothing found\nwhat there is: recollect sessions\n',
    })
  })

  it('fits the width there is, with the words in view', () => {
    const narrow = cli({ ...world.env, COLUMNS: '50' }, 'search', 'AssertionError')
    const lines = narrow.stdout.split('\n')
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(56)
    expect(narrow.stdout).toContain('AssertionError')
  })
})

describe('sessions', () => {
  const uids = (...args: string[]): unknown[] =>
    (json('sessions', ...args)['sessions'] as Json[]).map((one) => one['session_uid'])

  it.each([
    [[], [infra.uid, cart.uid, gone.uid]],
    [
      ['--repo', 'shop'],
      [cart.uid, gone.uid],
    ],
    [['--model', 'claude-opus-5-5'], [infra.uid]],
    [['--touched', 'cart.ts'], [cart.uid]],
    [['--tool', 'bash'], [cart.uid]],
    [['--has-error'], [cart.uid]],
    [['--evicted'], [gone.uid]],
    [['--since', '2026-10-15', '--until', '2026-11-05'], [cart.uid]],
    [['--limit', '1'], [infra.uid]],
    [['--sort', 'errors', '--limit', '1'], [cart.uid]],
    [['--sort', 'duration', '--limit', '1'], [cart.uid]],
    [['--sort', 'tokens', '--limit', '1'], [cart.uid]],
  ])('%j', (args, expected) => {
    expect(uids(...args)).toEqual(expected)
  })

  it('sorts by cost, and tells it', async () => {
    const own = new World()
    const answers = (count: number): Step[] => Array.from({ length: count }, () => ({ answer: 'yes' }))
    const told = [3, 9, 1].map((count, at) =>
      tell(own.home, `cost${at}`, [{ ask: 'x' }, ...answers(count)], { model: 'claude-opus-4-5' }),
    )
    await own.sweep()
    const { stdout } = cli(own.env, 'sessions', '--sort', 'cost', '--json')
    const sessions = (JSON.parse(stdout) as { sessions: { session_uid: string; cost: { usd: string } }[] })
      .sessions
    expect(sessions.map((one) => one.session_uid)).toEqual([told[1]?.uid, told[0]?.uid, told[2]?.uid])
    expect(sessions.every((one) => Number(one.cost.usd) > 0)).toBe(true)
    own.remove()
  })

  it('is a table for people', () => {
    const { stdout } = cli({ ...world.env, COLUMNS: '80' }, 'sessions')
    const lines = stdout.trimEnd().split('\n')
    expect(lines).toHaveLength(4)
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80)
    expect(lines[0]).toMatch(/^STARTED +ID /)
    expect(stdout).toContain('Rounding')
    expect(stdout).toContain('Checkout the branch')
  })
})

it('answers while a sweep runs', async () => {
  const own = new World()
  const steps = Array.from({ length: 60 }, (_, at): Step => ({ answer: `walrus number ${at}` }))
  for (let at = 0; at < 40; at++) tell(own.home, `s${at}`, [{ ask: `walrus ${at}` }, ...steps])
  tell(own.home, 'first', [{ ask: 'walrus, the first' }])
  await own.sweep()
  for (let at = 40; at < 120; at++) tell(own.home, `s${at}`, [{ ask: `walrus ${at}` }, ...steps])
  // Until it was asked while one ran, however the processors were shared.
  for (let during = 0; during < 2; ) {
    const child = spawn(process.execPath, [cliPath, 'sweep', '--full'], {
      env: { ...process.env, ...own.env },
    })
    let isRunning = true
    const ended = new Promise<number | null>((resolve) =>
      child.on('exit', (code) => {
        isRunning = false
        resolve(code)
      }),
    )
    while (isRunning) {
      const found = own.read((handle) =>
        searchSessions(handle, 'walrus', { limit: 5, excludeSession: 'none' }),
      )
      expect(found).toHaveLength(5)
      expect(cli(own.env, 'search', 'walrus', '--repo', 'shop').code).toBe(0)
      await new Promise((resolve) => setTimeout(resolve, 5))
      if (isRunning) during++
    }
    expect(await ended).toBe(0)
  }
  expect(own.read((handle) => searchSessions(handle, 'walrus 119'))).toHaveLength(1)
  own.remove()
})

it('an expression without an end is ended by Ctrl-C, which says how far it was', async () => {
  const own = new World()
  tell(own.home, 'fine', [{ ask: 'a walrus' }], { at: '2026-01-02T10:00:00Z' })
  // Older, so looked at after the other one.
  tell(own.home, 'hard', [{ ask: `${'a'.repeat(60)}b walrus` }], { at: '2026-01-01T10:00:00Z' })
  await own.sweep()
  const child = spawn(process.execPath, [cliPath, 'search', '--regex', '(a+)+ walrus'], {
    env: { ...process.env, ...own.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [shown, said] = ['', '']
  child.stdout.on('data', (bytes) => {
    shown += bytes
  })
  child.stderr.on('data', (bytes) => {
    said += bytes
  })
  const ended = new Promise((resolve) => child.on('close', resolve))
  // Far longer than it takes to start.
  while ((workOf(child) ?? 1e9) < 1000) await new Promise((resolve) => setTimeout(resolve, 20))
  child.kill('SIGINT')
  expect(await ended).toBe(130)
  expect(said).toMatch(/^ended by you after \d+ B of text in the newest 1 session\n$/)
  expect(shown).toContain('a walrus')
  own.remove()
})
