// The session history: every row of the trigger table, the two files in step, over restarts, crashes and rivals.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import {
  buildSessionTree,
  readSessionHistory,
  SessionHistory,
  SessionHistoryEvent,
  SessionHistoryEventType,
  type SessionHistoryOptions,
} from '../src/record/index.ts'
import { IS_LONG } from './setup/long.ts'
import { isHere } from './setup/programs.ts'

const CALL = join(import.meta.dirname, 'programs/lineage-call.mjs')
const RACE = join(import.meta.dirname, 'programs/lineage-race.mjs')

let base: string
let dir: string
let clock: number

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'recollect-lineage-'))
  dir = join(base, '.ollim-bot')
  clock = Date.parse('2026-02-17T11:38:00Z')
})
afterEach(() => {
  rmSync(base, { recursive: true, force: true })
  vi.unstubAllEnvs()
})

const open = (options: SessionHistoryOptions = {}) =>
  new SessionHistory(dir, { now: () => new Date(clock), ...options })
const currentPath = () => join(dir, 'sessions.json')
const historyPath = () => join(dir, 'session_history.jsonl')
const currentText = () => (existsSync(currentPath()) ? readFileSync(currentPath(), 'utf8') : null)

/** The log as `kind id<parent`, which reads well in assertions. */
const short = (event: SessionHistoryEvent) =>
  `${event.event} ${event.session_id}${event.parent_session_id === null ? '' : `<${event.parent_session_id}`}`
const logged = async () => (await readSessionHistory(dir)).map(short)

/** Puts the two files into a state by hand; ids as `kind id<parent`. */
function arrange(events: string[], current: string | null): void {
  mkdirSync(dir, { recursive: true })
  for (const event of events) {
    const [kind, ids] = event.split(' ') as [string, string]
    const [id, parent = null] = ids.split('<')
    const line = {
      session_id: id,
      event: kind,
      timestamp: '2026-02-17T03:38:00-08:00',
      parent_session_id: parent,
    }
    appendFileSync(historyPath(), `${JSON.stringify(line)}\n`)
  }
  if (current !== null) writeFileSync(currentPath(), current)
}

describe('the trigger table', () => {
  it('created: the first id, without a parent', async () => {
    const event = await open().saveSessionId('a')
    expect(event).toMatchObject({ session_id: 'a', event: 'created', parent_session_id: null })
    expect(await logged()).toEqual(['created a'])
    expect(currentText()).toBe('a')
  })

  it('created: an empty or blank current file is no prior id', async () => {
    arrange([], ' \n')
    await open().saveSessionId('a')
    expect(await logged()).toEqual(['created a'])
  })

  it('compacted: another id, the old one is the parent', async () => {
    const history = open()
    await history.saveSessionId('a')
    await history.saveSessionId('b')
    expect(await logged()).toEqual(['created a', 'compacted b<a'])
    expect(currentText()).toBe('b')
  })

  it('compacted: from an id saved before there was a log, with a newline as an editor leaves it', async () => {
    arrange([], 'old\n')
    await open().saveSessionId('new')
    expect(await logged()).toEqual(['compacted new<old'])
  })

  it('no event for the same id again, and neither file is touched', async () => {
    const history = open()
    await history.saveSessionId('a')
    const before = [statSync(currentPath()).ino, statSync(historyPath()).size]
    expect(await history.saveSessionId('a')).toBeUndefined()
    expect(await open().saveSessionId('a')).toBeUndefined()
    expect([statSync(currentPath()).ino, statSync(historyPath()).size]).toEqual(before)
  })

  it('swapped: the old main is the parent, and the saves that follow log nothing', async () => {
    const history = open()
    await history.saveSessionId('a')
    await history.interactiveFork('f')
    await history.swap('f')
    await history.saveSessionId('f')
    await open().saveSessionId('f')
    expect(await logged()).toEqual(['created a', 'interactive_fork f<a', 'swapped f<a'])
    expect(await history.current()).toBe('f')
  })

  it('swapped: a save of the new id while the swap is under way is not a compaction', async () => {
    const history = open()
    await history.saveSessionId('a')
    await Promise.all([history.swap('f'), history.saveSessionId('f'), history.saveSessionId('f')])
    expect(await logged()).toEqual(['created a', 'swapped f<a'])
  })

  it('swapped: to the session that is main already is nothing; with no main there is no parent', async () => {
    const history = open()
    await history.swap('f')
    expect(await history.swap('f')).toBeUndefined()
    expect(await logged()).toEqual(['swapped f'])
  })

  it('cleared: the current id without a parent; the current file is deleted, the log stays', async () => {
    const history = open()
    await history.saveSessionId('a')
    const event = await history.clear()
    expect(event).toMatchObject({ session_id: 'a', event: 'cleared', parent_session_id: null })
    expect(existsSync(currentPath())).toBe(false)
    expect(await history.current()).toBeNull()
    expect(await history.saveSessionId('b')).toMatchObject({ event: 'created', parent_session_id: null })
    expect(await logged()).toEqual(['created a', 'cleared a', 'created b'])
  })

  it('cleared: nothing to clear is no event and leaves no file', async () => {
    expect(await open().clear()).toBeUndefined()
    expect(await open().current()).toBeNull()
    expect(existsSync(dir)).toBe(false)
  })

  it('cleared: calls keep their order even when nobody waits for them', async () => {
    const history = open()
    await Promise.all([
      history.saveSessionId('a'),
      history.clear(),
      history.saveSessionId('a'),
      history.clear(),
      history.saveSessionId('b'),
    ])
    expect(await logged()).toEqual(['created a', 'cleared a', 'created a', 'cleared a', 'created b'])
    expect(currentText()).toBe('b')
  })

  it('interactive_fork: once, though every StreamEvent calls; the main session does not change', async () => {
    const history = open()
    await history.saveSessionId('a')
    await Promise.all(Array.from({ length: 50 }, () => history.interactiveFork('f')))
    await history.interactiveFork('f')
    expect(await logged()).toEqual(['created a', 'interactive_fork f<a'])
    expect(currentText()).toBe('a')
  })

  it('bg_fork: after the run; the main of the start can be given', async () => {
    const history = open()
    await history.saveSessionId('a')
    await history.saveSessionId('b')
    await history.backgroundFork('g', 'a')
    await history.backgroundFork('h')
    await history.backgroundFork('i', null)
    expect((await logged()).slice(2)).toEqual(['bg_fork g<a', 'bg_fork h<b', 'bg_fork i'])
  })

  it('forks: once also after a restart, and in another process', async () => {
    await open().saveSessionId('a')
    await open().interactiveFork('f')
    await open().backgroundFork('g')
    await open().saveSessionId('b')
    expect(await open().interactiveFork('f')).toBeUndefined()
    expect(await open().backgroundFork('g')).toBeUndefined()
    expect(execFileSync(process.execPath, [CALL, dir, 'interactiveFork', 'f'], { encoding: 'utf8' })).toBe(
      'null',
    )
    expect(await open().interactiveFork('new')).toMatchObject({ parent_session_id: 'b' })
    expect(await logged()).toEqual([
      'created a',
      'interactive_fork f<a',
      'bg_fork g<a',
      'compacted b<a',
      'interactive_fork new<b',
    ])
  })

  it('forks: with no main session there is no parent; the main session is no fork of itself', async () => {
    const history = open()
    await history.interactiveFork('f')
    await history.swap('g')
    expect(await history.interactiveFork('g')).toBeUndefined()
    expect(await logged()).toEqual(['interactive_fork f', 'swapped g'])
  })
})

describe('the bytes', () => {
  const EXAMPLE = `{"session_id": "04f89a40", "event": "created", "timestamp": "2026-02-17T03:38:00-08:00", "parent_session_id": null}
{"session_id": "e68c9109", "event": "compacted", "timestamp": "2026-02-17T18:46:00-08:00", "parent_session_id": "04f89a40"}
{"session_id": "d5ff8c62", "event": "bg_fork", "timestamp": "2026-02-18T09:00:00-08:00", "parent_session_id": "e68c9109"}
{"session_id": "b78a11b9", "event": "interactive_fork", "timestamp": "2026-02-18T10:05:00-08:00", "parent_session_id": "e68c9109"}
{"session_id": "3906f8d0", "event": "compacted", "timestamp": "2026-02-19T12:00:00-08:00", "parent_session_id": "e68c9109"}
{"session_id": "e68c9109", "event": "cleared", "timestamp": "2026-02-20T11:00:00-08:00", "parent_session_id": null}
`

  it('are those of the example log, made by the calls that make such a log', async () => {
    vi.stubEnv('TZ', 'America/Los_Angeles')
    const history = open()
    const at = (time: string) => {
      clock = Date.parse(time)
    }
    at('2026-02-17T11:38:00Z')
    await history.saveSessionId('04f89a40')
    at('2026-02-18T02:46:00.999Z')
    await history.saveSessionId('e68c9109')
    at('2026-02-18T17:00:00Z')
    await history.backgroundFork('d5ff8c62')
    at('2026-02-18T18:05:00Z')
    await history.interactiveFork('b78a11b9')
    at('2026-02-19T20:00:00Z')
    await history.saveSessionId('3906f8d0')
    // In the example the older session is cleared: the user had put it back by hand.
    writeFileSync(currentPath(), 'e68c9109')
    at('2026-02-20T19:00:00Z')
    await history.clear()
    expect(readFileSync(historyPath(), 'utf8')).toBe(EXAMPLE)
  })

  it.skipIf(!isHere('python3'))(
    'are those of python3 for every character an id may have (skipped without it)',
    async () => {
      const ids = ['naïve "id" \\ /', '会話-😀', '\u00ad\u2028x', '</script>']
      const history = open()
      for (const id of ids) await history.saveSessionId(id)
      const program =
        'import json,sys\nfor l in open(sys.argv[1], encoding="ascii"): print(json.dumps(json.loads(l)) == l.rstrip("\\n"))'
      const out = execFileSync('python3', ['-c', program, historyPath()], { encoding: 'utf8' })
      expect(out).toBe('True\n'.repeat(ids.length))
      expect((await readSessionHistory(dir)).map((event) => event.session_id)).toEqual(ids)
      expect(currentText()).toBe('</script>')
    },
  )

  it.each([
    ['UTC', '+00:00'],
    ['Asia/Kathmandu', '+05:45'],
    ['America/St_Johns', '-03:30'],
  ])('carry the local offset in %s', async (zone, offset) => {
    vi.stubEnv('TZ', zone)
    const event = await open().saveSessionId('a')
    expect(event?.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d$/)
    expect(event?.timestamp.slice(19)).toBe(offset)
    expect(Date.parse(event?.timestamp ?? '')).toBe(clock)
  })

  it('are private to the user', async () => {
    await open().saveSessionId('a')
    expect(readdirSync(dir).sort()).toEqual([
      '.session_history.lock',
      'session_history.jsonl',
      'sessions.json',
    ])
    for (const name of readdirSync(dir)) expect(statSync(join(dir, name)).mode & 0o777).toBe(0o600)
    expect(statSync(dir).mode & 0o777).toBe(0o700)
  })
})

describe('raw events and reading', () => {
  it('log appends as told, fills in the time and leaves the current file alone', async () => {
    const history = open()
    await history.log({ session_id: 'x', event: 'bg_fork', parent_session_id: 'y' })
    await history.log({
      session_id: 'z',
      event: 'swapped',
      timestamp: '2026-01-01T00:00:00Z',
      parent_session_id: null,
    })
    expect(await logged()).toEqual(['bg_fork x<y', 'swapped z'])
    expect((await history.read())[1]?.timestamp).toBe('2026-01-01T00:00:00Z')
    expect(currentText()).toBeNull()
  })

  it.each([
    ['kind', { session_id: 'x', event: 'ended', parent_session_id: null }],
    ['extra field', { session_id: 'x', event: 'created', parent_session_id: null, more: 1 }],
    ['time', { session_id: 'x', event: 'created', timestamp: 'yesterday', parent_session_id: null }],
    ['parent', { session_id: 'x', event: 'created', parent_session_id: 7 }],
    ['nothing', null],
  ])('log refuses a bad %s and writes nothing', async (_what, event) => {
    await expect(open().log(event as never)).rejects.toMatchObject({ code: 'BAD_INPUT' })
    expect(existsSync(historyPath())).toBe(false)
  })

  it('says what is in the way when a log is read', async () => {
    writeFileSync(join(base, 'file'), '')
    const where = join(base, 'file', 'log')
    await expect(readSessionHistory(where)).rejects.toMatchObject({ code: 'UNSAFE_PATH', where })
    expect(await readSessionHistory(join(base, 'nothing'))).toEqual([])
  })

  it('takes an id of any length that the current file can hold, and no longer one', async () => {
    const history = open()
    const longest = '\u{1f600}'.repeat(2048)
    await history.saveSessionId(longest)
    expect(await open().current()).toBe(longest)
    await expect(history.saveSessionId('x'.repeat(70_000))).rejects.toMatchObject({ code: 'BAD_INPUT' })
    expect(await open().current()).toBe(longest)
  })

  it.each(['', ' a', 'a\n', 'a\0b', '\ud800', 7, undefined])('every call refuses the id %j', async (id) => {
    const history = open()
    const bad = id as string
    for (const call of [
      history.saveSessionId(bad),
      history.swap(bad),
      history.interactiveFork(bad),
      history.backgroundFork(bad),
      history.backgroundFork('f', bad === undefined ? '' : bad),
    ]) {
      await expect(call).rejects.toMatchObject({ code: 'BAD_INPUT' })
    }
    expect(existsSync(dir)).toBe(false)
  })

  it('keeps unknown kinds and fields, takes a missing parent as null, and names what it cannot read', async () => {
    mkdirSync(dir)
    writeFileSync(
      historyPath(),
      '{"session_id":"a","event":"teleported","timestamp":"t","by":"me"}\nnot json\n{"event":"created"}\n{"session_id":"b","ev',
    )
    const gaps: string[] = []
    const events = await readSessionHistory(historyPath(), { onGap: (gap) => gaps.push(gap.gap) })
    expect(events).toEqual([
      { session_id: 'a', event: 'teleported', timestamp: 't', by: 'me', parent_session_id: null },
    ])
    expect(gaps).toEqual(['not-json', 'schema', 'torn'])
    expect(SessionHistoryEventType.safeParse('teleported').success).toBe(false)
    expect(SessionHistoryEvent.safeParse({ session_id: '' }).success).toBe(false)
    expect(await readSessionHistory(join(base, 'nowhere'))).toEqual([])
  })

  it('ends a torn line before it appends, and counts a whole line that lacks only its newline', async () => {
    arrange(['created a'], 'a')
    appendFileSync(historyPath(), '{"session_id": "b", "ev')
    await open().interactiveFork('f')
    const size = statSync(historyPath()).size
    truncateSync(historyPath(), size - 1)
    expect(await open().interactiveFork('f')).toBeUndefined()
    await open().saveSessionId('b')
    const events = await readSessionHistory(dir, { onGap: () => undefined })
    expect(events.map(short)).toEqual(['created a', 'interactive_fork f<a', 'compacted b<a'])
  })

  it('refuses a current file that holds no id, and links in place of either file', async () => {
    arrange([], 'one\ntwo')
    await expect(open().saveSessionId('a')).rejects.toMatchObject({ code: 'CORRUPT' })
    rmSync(currentPath())
    writeFileSync(join(base, 'elsewhere'), '')
    symlinkSync(join(base, 'elsewhere'), historyPath())
    await expect(open().saveSessionId('a')).rejects.toMatchObject({ code: 'UNSAFE_PATH' })
    rmSync(historyPath())
    symlinkSync(join(base, 'elsewhere'), currentPath())
    await expect(open().saveSessionId('a')).rejects.toMatchObject({ code: 'UNSAFE_PATH' })
    expect(readFileSync(join(base, 'elsewhere'), 'utf8')).toBe('')
    expect(() => open({ historyFile: '../x' })).toThrow(expect.objectContaining({ code: 'BAD_NAME' }))
    expect(() => open({ historyFile: 'x', currentFile: 'x' })).toThrow(/another name than historyFile/)
  })

  it('follows a log that was deleted or replaced under it', async () => {
    const history = open()
    await history.saveSessionId('a')
    await history.interactiveFork('f')
    rmSync(historyPath())
    await history.saveSessionId('b')
    expect(await logged()).toEqual(['compacted b<a'])
  })
})

describe('without a note only the current file decides, as the design has it', () => {
  it.each<
    [string, string[], string | null, (history: SessionHistory) => Promise<unknown>, string, string | null]
  >([
    ['missing, the last created id', ['created a'], null, (h) => h.saveSessionId('a'), 'created a', 'a'],
    ['empty, the last created id', ['created a'], ' \n', (h) => h.saveSessionId('a'), 'created a', 'a'],
    [
      'set by hand, the last compacted id',
      ['created a', 'compacted b<a'],
      'a',
      (h) => h.saveSessionId('b'),
      'compacted b<a',
      'b',
    ],
    [
      'set by hand, the last swapped id saved',
      ['created a', 'swapped f<a'],
      'a',
      (h) => h.saveSessionId('f'),
      'compacted f<a',
      'f',
    ],
    [
      'set by hand, the last swapped id swapped',
      ['created a', 'swapped f<a'],
      'a',
      (h) => h.swap('f'),
      'swapped f<a',
      'f',
    ],
    ['set by hand after a clear', ['created a', 'cleared a'], 'a', (h) => h.clear(), 'cleared a', null],
  ])('%s', async (_what, events, current, call, line, after) => {
    arrange(events, current)
    await call(open())
    expect(await logged()).toEqual([...events, line])
    expect(currentText()).toBe(after)
  })

  it('what the user does by hand is believed', async () => {
    const history = open()
    await history.saveSessionId('a')
    await history.saveSessionId('b')
    writeFileSync(currentPath(), 'a')
    expect(await history.current()).toBe('a')
    expect(await history.saveSessionId('a')).toBeUndefined()
    await history.saveSessionId('c')
    rmSync(currentPath())
    await history.saveSessionId('d')
    expect(await logged()).toEqual(['created a', 'compacted b<a', 'compacted c<a', 'created d'])
  })
})

describe('killed in the middle', () => {
  // Each is counted by itself: strace's `when` is per system call.
  const CHANGES = ['ftruncate', 'pwrite64', 'write', 'rename', 'unlink']
  // A kill before a flush leaves what a kill before the next change leaves.
  const POINTS = IS_LONG ? [...CHANGES, 'fdatasync', 'fsync'] : CHANGES
  const strace = spawnSync('strace', ['-e', 'trace=none', 'true']).status === 0

  /** Runs one call in a real process that is killed as it enters the n-th system call of a kind; true if it was. */
  function killedAt(point: string, n: number, method: string, ...args: string[]): boolean {
    const inject = `inject=${point}:signal=KILL:when=${n}`
    const all = ['-qq', '-o', join(base, 'trace'), '-e', `trace=${point}`, '-e', inject]
    const child = spawnSync('strace', [...all, process.execPath, CALL, dir, method, ...args])
    if (child.signal === null && child.status !== 0) throw new Error(String(child.stderr))
    return child.signal === 'SIGKILL'
  }

  it.skipIf(!strace).each<[string, string[], string, string]>([
    ['saveSessionId', ['b'], 'compacted b<a', 'b'],
    // It takes the same way.
    ...(IS_LONG ? [['swap', ['f'], 'swapped f<a', 'f'] as [string, string[], string, string]] : []),
    ['clear', [], 'cleared a', ''],
  ])(
    '%s: at every step both files are old, or the next call carries both to new',
    async (method, args, line, to) => {
      const target = to || null
      const outcomes = new Set<string>()
      for (const point of POINTS) {
        for (let n = 1; ; n++) {
          rmSync(dir, { recursive: true, force: true })
          arrange(['created a'], 'a')
          const killed = killedAt(point, n, method, ...args)
          const found = await readSessionHistory(dir, { onGap: () => undefined })
          const wasLogged = found.length > 1
          expect(found.map(short)).toEqual(wasLogged ? ['created a', line] : ['created a'])
          outcomes.add(`${wasLogged ? 'logged' : 'not logged'}, ${currentText() === target ? 'new' : 'old'}`)
          expect(await open().current()).toBe(wasLogged ? target : 'a')
          await (target === null ? open().clear() : open().saveSessionId(target))
          expect(await open().current()).toBe(target)
          expect(await logged()).toHaveLength(2)
          expect(statSync(join(dir, '.session_history.lock')).size).toBe(0)
          if (!killed) break
        }
      }
      expect([...outcomes].sort()).toEqual(['logged, new', 'logged, old', 'not logged, old'])
    },
  )

  it('a change whose second half failed is carried on by the next call, whichever that is', async () => {
    const history = open()
    await history.saveSessionId('a')
    const failing = { session_id: 'f', event: 'swapped', parent_session_id: 'a' } as const
    const offset = statSync(historyPath()).size
    const event = await history.log(failing)
    const note = { from: 'a', to: 'f', event: JSON.stringify(event), offset }
    writeFileSync(join(dir, '.session_history.lock'), JSON.stringify(note))
    await history.saveSessionId('c')
    expect(await logged()).toEqual(['created a', 'swapped f<a', 'compacted c<f'])
  })

  it('a change whose second half fails says so: it is logged, and the next call carries it on', async () => {
    mkdirSync(dir)
    const current = join(dir, 'sessions.json')
    // Between the look at the file and its replacement something that cannot be replaced comes to stand there.
    const history = open({
      now: () => {
        mkdirSync(current)
        return new Date(clock)
      },
    })
    const failure = { code: 'NOT_A_FILE', message: expect.stringContaining('is logged'), where: current }
    await expect(history.saveSessionId('a')).rejects.toMatchObject(failure)
    rmSync(current, { recursive: true })
    expect(await history.current()).toBe('a')
    expect(await logged()).toEqual(['created a'])
  })

  it('a note whose line never came, or that is spoilt, is dropped', async () => {
    const event = {
      session_id: 'b',
      event: 'swapped',
      timestamp: '2026-02-17T03:38:00-08:00',
      parent_session_id: 'a',
    }
    for (const text of [
      JSON.stringify({ from: 'a', to: 'b', event: JSON.stringify(event), offset: 0 }),
      JSON.stringify({ from: 'a', to: 'b', event: JSON.stringify(event), offset: 1e9 }),
      '{"from": "a", "to"',
      '\0\0\0\0',
      '{"to": 7}',
    ]) {
      rmSync(dir, { recursive: true, force: true })
      arrange(['created a'], 'a')
      writeFileSync(join(dir, '.session_history.lock'), text)
      expect(await open().current()).toBe('a')
      expect(await open().saveSessionId('a')).toBeUndefined()
      expect(await logged()).toEqual(['created a'])
      expect(statSync(join(dir, '.session_history.lock')).size).toBe(0)
    }
  })
})

describe('two bots at once', () => {
  it('give one beginning and an unbroken chain', async () => {
    mkdirSync(dir)
    const rounds = 30
    const bots = ['p', 'q'].map((name) => spawn(process.execPath, [RACE, dir, name, String(rounds)]))
    onTestFinished(() => bots.forEach((bot) => void bot.kill()))
    const errors: string[] = []
    for (const bot of bots) bot.stderr.on('data', (text) => errors.push(String(text)))
    const allSay = () => Promise.all(bots.map((bot) => once(bot.stdout, 'data')))
    const start = () => bots.map((bot) => bot.stdin.write('go'))
    await allSay()
    const saved = allSay()
    start()
    await saved
    expect(await logged()).toEqual(['created first'])
    const ends = bots.map((bot) => once(bot, 'exit'))
    start()
    const codes = (await Promise.all(ends)).map(([code]) => code)
    expect([codes, errors]).toEqual([[0, 0], []])

    const gaps: unknown[] = []
    const events = await readSessionHistory(dir, { onGap: (gap) => gaps.push(gap) })
    expect(gaps).toEqual([])
    let main: string | null = null
    for (const event of events) {
      if (event.event === 'cleared') expect(event.session_id).toBe(main)
      else expect(short(event)).toBe(short({ ...event, parent_session_id: main }))
      if (event.event === 'created') expect(main).toBeNull()
      if (event.event === 'cleared') main = null
      else if (!event.event.endsWith('fork')) main = event.session_id
    }
    expect(currentText()).toBe(main)
    const forks = events
      .filter((event) => event.event === 'interactive_fork')
      .map((event) => event.session_id)
    expect([...new Set(forks)]).toHaveLength(forks.length)
    expect(buildSessionTree(events).nodes.size).toBeGreaterThan(rounds)
  })

  it('also two objects in one process', async () => {
    const [one, two] = [open(), open()]
    await Promise.all([
      one.saveSessionId('a'),
      two.saveSessionId('a'),
      one.interactiveFork('f'),
      two.interactiveFork('f'),
    ])
    expect((await logged()).filter((line) => line.startsWith('created'))).toEqual(['created a'])
    expect((await logged()).filter((line) => line.includes('fork'))).toHaveLength(1)
  })
})
