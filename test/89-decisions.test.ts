// Decisions: written once, told everywhere, and gone only when the session is forgotten.

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { decide } from '../src/decide.ts'
import { getDigest } from '../src/digest/patterns.ts'
import { type Decision, FIRST_DECISION_SEQ } from '../src/model.ts'
import { sessionEvents } from '../src/query/events.ts'
import { search } from '../src/query/search.ts'
import { getSession, listSessions } from '../src/query/sessions.ts'
import { forget } from '../src/retention/forget.ts'
import { databasesOf } from '../src/store/databases.ts'
import type { Reader } from '../src/store/reader/index.ts'
import { openForReading, storePaths } from '../src/store/reading.ts'
import { type MadeSession, Memory, makeSession, wordsFound, writeLines } from './setup/raw-memory.ts'
import { cli } from './setup/sweeping.ts'

let memory: Memory
let made: MadeSession
beforeEach(async () => {
  memory = new Memory()
  made = makeSession(memory.env['HOME'] as string, 3)
  writeLines(made)
  await memory.sweep()
})
afterEach(() => memory.remove())

const TEXT = 'Keep the lock file: rename is not atomic on quuxfs'
const write = (text = TEXT, tags = ['locking']): Decision =>
  decide({ config: memory.config, session: made.uid, text, tags, author: 'ada' })
const read = <T>(work: (handle: Reader) => T): T => {
  const handle = openForReading(storePaths(memory.home))
  try {
    return work(handle)
  } finally {
    handle.close()
  }
}
const eventsOf = (handle: Reader, kinds?: ['decision']) => [
  ...sessionEvents(handle, made.uid, kinds ? { kinds } : {}),
]
/** Everywhere a decision is told. */
const expectTold = (decision: Decision): void =>
  read((handle) => {
    const { session_uid: _, ...told } = decision
    expect(getSession(handle, made.uid)?.decisions).toEqual([decision])
    expect(listSessions(handle, { withSubagents: true })[0]?.decisions).toEqual([decision])
    const digest = getDigest(handle, made.uid)
    expect(digest.decisions).toEqual([told])
    expect(digest.markers.decisions).toBe(1)
    const [event, ...rest] = eventsOf(handle, ['decision'])
    expect(rest).toEqual([])
    expect(event).toMatchObject({ kind: 'decision', seq: FIRST_DECISION_SEQ, summary: TEXT, ts: decision.ts })
    for (const query of ['quuxfs', 'locking', '"rename is not atomic"'])
      expect(search(handle, query)).toMatchObject([
        { session_uid: made.uid, seq: decision.seq, kind: 'decision' },
      ])
    expect(search(handle, 'quuxfs', { kinds: ['user_msg'] })).toEqual([])
    expect(search(handle, 'quuxfs', { flavor: 'nobody' })).toEqual([])
    expect(search(handle, 'quuxfs -rename')).toEqual([])
    const body = JSON.parse(handle.payload(event?.payload_ref as string) as string)
    expect(body).toEqual({ text: TEXT, tags: ['locking'], author: 'ada' })
  })
const evict = (): void => {
  memory.with((store) => store.archive.evict([{ uid: made.uid, reason: 'age', bytes: 1 }], Date.now()))
}

describe('a decision', () => {
  it('is told with the session, in its digest and among its events', () => {
    const before = read((handle) => eventsOf(handle).map((event) => event.seq))
    const decision = write()
    expect(decision.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expectTold(decision)
    expect(read((handle) => eventsOf(handle).map((event) => event.seq))).toEqual([...before, decision.seq])
    expect(memory.problems()).toEqual([])
  })

  it('survives reading everything again, a cache thrown away, and eviction', async () => {
    const decision = write()
    await memory.sweep({ full: true })
    expectTold(decision)
    rmSync(memory.cache, { recursive: true })
    expectTold(decision)
    await memory.sweep()
    expectTold(decision)
    evict()
    expectTold(decision)
    await memory.sweep()
    expectTold(decision)
  })

  it('can be made of a session that is evicted, and stays when that session goes on', async () => {
    evict()
    const first = write()
    expectTold(first)
    const more = makeSession(memory.env['HOME'] as string, 2, made.lines)
    const line = (one: string): string =>
      JSON.stringify({ ...JSON.parse(one), sessionId: made.uid.replace('claude:', '') })
    writeLines({ ...made, lines: more.lines.slice(made.lines.length).map(line) })
    await memory.sweep()
    expectTold(first)
    read((handle) => expect(getDigest(handle, made.uid).frozen?.until_seq).toBeGreaterThan(0))
    evict()
    await memory.sweep()
    expectTold(first)
  })

  it('is numbered beside others and stands among the events by time', () => {
    const [first, second] = [write(), write('And never again', [])]
    expect([first.seq, second.seq]).toEqual([FIRST_DECISION_SEQ, FIRST_DECISION_SEQ + 1])
    expect(first.id < second.id || first.ts === second.ts).toBe(true)
    memory.with((store) => {
      const at = Date.parse(eventsOf(store.reader)[3]?.ts as string) - 1
      databasesOf(store.reader).memory.prepare('UPDATE decisions SET at = ? WHERE id = ?').run(at, first.id)
    })
    read((handle) => expect(eventsOf(handle)[3]?.seq).toBe(first.seq))
  })

  it('goes when the session is forgotten', () => {
    write()
    memory.with((store) => {
      forget({ store, paths: storePaths(memory.home) }, made.uid)
    })
    expect(memory.rows('SELECT * FROM decisions')).toEqual([])
    expect(wordsFound(memory.home, ['quuxfs'])).toEqual([])
  })

  it('is kept without its secrets', () => {
    const secret = `ghp_${'a1B2c3D4e5F6'.repeat(3)}`
    const decision = write(`Rotate ${secret} at once`, [secret])
    expect(decision.text).toMatch(/^Rotate \[REDACTED:[^\]]+\] at once$/)
    expect(wordsFound(memory.home, [secret])).toEqual([])
  })

  it.each([
    ['', []],
    ['   \n', []],
    ['x'.repeat(8001), []],
    ['half a character \ud800', []],
    ['fine', ['']],
    ['fine', Array.from({ length: 21 }, (_, at) => `t${at}`)],
  ])('that cannot be kept is refused (%#)', (text, tags) => {
    expect(() => write(text, tags)).toThrow(expect.objectContaining({ code: 'BAD_INPUT' }))
    expect(memory.rows('SELECT * FROM decisions')).toEqual([])
  })
})

describe('recollect decide', () => {
  it('writes, shows and answers in JSON', () => {
    const run = cli(memory.env, 'decide', '@last', 'Keep', 'the lock', '--tag', 'a', '--tag', 'b', '--json')
    expect(run.code).toBe(0)
    const decision = JSON.parse(run.stdout) as Decision
    expect(decision).toMatchObject({ session_uid: made.uid, text: 'Keep the lock', tags: ['a', 'b'] })
    expect(cli(memory.env, 'show', made.uid).stdout).toContain('Keep the lock')
    expect(cli(memory.env, 'show', `${made.uid}#${decision.seq}`).stdout).toContain('Keep the lock')
    expect(cli(memory.env, 'digest', made.uid).stdout).toContain('Keep the lock')
    const { sessions } = JSON.parse(cli(memory.env, 'sessions', '--json').stdout)
    expect(sessions[0].decisions).toEqual([decision])
  })

  it('names what is wrong', () => {
    expect(cli(memory.env, 'decide', 'nobody', 'x')).toMatchObject({ code: 1 })
    expect(cli(memory.env, 'decide', made.uid, ' ')).toMatchObject({ code: 2 })
    expect(cli(memory.env, 'decide', made.uid, '--remove')).toMatchObject({ code: 2 })
    const nowhere = { ...memory.env, RECOLLECT_HOME: join(memory.root, 'nowhere') }
    expect(cli(nowhere, 'decide', '@last', 'x').stderr).toContain('recollect sweep')
  })
})
