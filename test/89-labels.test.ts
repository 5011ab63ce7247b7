// Titles, stars, tags and notes: written beside a session, told and found wherever it is, and gone only when they are removed.
import { rmSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { decide, undecide } from '../src/decide.ts'
import { getDigest } from '../src/digest/patterns.ts'
import { type LabelWish, label } from '../src/label.ts'
import type { Session } from '../src/model.ts'
import { answer } from '../src/query/answer.ts'
import { search } from '../src/query/search.ts'
import { getSession, listSessions } from '../src/query/sessions.ts'
import { forget } from '../src/retention/forget.ts'
import { databasesOf } from '../src/store/databases.ts'
import type { Reader } from '../src/store/reader/index.ts'
import { openForReading, storePaths } from '../src/store/reading.ts'
import { type MadeSession, Memory, makeSession, writeLines } from './setup/raw-memory.ts'
import { cli } from './setup/sweeping.ts'

let memory: Memory
let made: MadeSession
let other: MadeSession
beforeEach(async () => {
  memory = new Memory()
  made = makeSession(memory.env['HOME'] as string, 2)
  other = makeSession(memory.env['HOME'] as string, 2)
  writeLines(made)
  writeLines(other)
  await memory.sweep()
})
afterEach(() => memory.remove())

const change = (wish: LabelWish): Session => label(memory.config, made.uid, wish)
const read = <T>(work: (handle: Reader) => T): T => {
  const handle = openForReading(storePaths(memory.home))
  try {
    return work(handle)
  } finally {
    handle.close()
  }
}
const now = (): Session => read((handle) => getSession(handle, made.uid) as Session)
const evict = (): void => {
  memory.with((store) => store.archive.evict([{ uid: made.uid, reason: 'age', bytes: 1 }], Date.now()))
}
const run = (...args: string[]) => cli(memory.env, ...args)

const LABELS: LabelWish = {
  title: 'The quuxfs affair',
  star: true,
  addTags: ['Flaky', 'needs-review'],
  addNote: 'ran on a zorblat only',
  author: 'ada',
}

/** Everywhere labels are told, and all ways they are found. */
const expectTold = (): void =>
  read((handle) => {
    const session = getSession(handle, made.uid) as Session
    expect(session).toMatchObject({
      title: 'The quuxfs affair',
      title_source: 'person',
      tags: ['flaky', 'needs-review'],
      notes: [{ number: 1, text: 'ran on a zorblat only', author: 'ada' }],
    })
    expect(Date.parse(session.starred_at as string)).toBeGreaterThan(0)
    expect(getDigest(handle, made.uid)).toMatchObject({ title: 'The quuxfs affair', title_source: 'person' })
    for (const filter of [{ starred: true }, { tags: ['flaky'] }, { tags: ['flaky', 'needs-review'] }])
      expect(listSessions(handle, filter).map((one) => one.session_uid)).toEqual([made.uid])
    expect(listSessions(handle, { starred: false }).map((one) => one.session_uid)).toEqual([other.uid])
    expect(listSessions(handle, { tags: ['flaky', 'nothing'] })).toEqual([])
    for (const [query, found] of [
      ['quuxfs', 'title'],
      ['review', 'tag'],
      ['zorblat', 'note'],
    ] as const)
      expect(search(handle, query), query).toMatchObject([{ session_uid: made.uid, label: found, seq: null }])
    expect(search(handle, 'zorblat', { kinds: ['user_msg'] })).toEqual([])
    expect(search(handle, 'zorblat', { flavor: 'nobody' })).toEqual([])
    const word = made.words[0] as string
    expect(search(handle, word, { tags: ['flaky'] }).length).toBeGreaterThan(0)
    expect(search(handle, other.words[0] as string, { starred: true })).toEqual([])
    expect(handle.sessions.lines().find((one) => one.session_uid === made.uid)).toMatchObject({
      title: 'The quuxfs affair',
      tags: 'flaky needs-review',
      starred_at: expect.any(Number),
    })
  })

describe('labels', () => {
  it('survive reading everything again, a cache thrown away, and eviction', async () => {
    change(LABELS)
    expectTold()
    await memory.sweep({ full: true })
    expectTold()
    rmSync(memory.cache, { recursive: true })
    await memory.sweep()
    expectTold()
    evict()
    expectTold()
    await memory.sweep()
    expectTold()
    expect(memory.problems()).toEqual([])
  })

  it('are found by a question, too', async () => {
    change(LABELS)
    const handle = openForReading(storePaths(memory.home))
    try {
      const found = await answer(handle, 'which session ran on a zorblat')
      expect(found.sessions[0]?.session.session_uid).toBe(made.uid)
    } finally {
      handle.close()
    }
  })

  it('are removed one by one, and the title is as before, here and after eviction', async () => {
    const before = now()
    change(LABELS)
    change({ addNote: 'second' })
    expect(change({ removeNote: 1 }).notes.map((note) => note.number)).toEqual([2])
    expect(change({ removeTags: ['#FLAKY'] }).tags).toEqual(['needs-review'])
    expect(change({ star: false }).starred_at).toBeNull()
    expect(change({ title: null })).toMatchObject({ title: before.title, title_source: before.title_source })
    await memory.sweep()
    expect(now()).toMatchObject({ title: before.title, title_source: before.title_source })
    expect(read((handle) => search(handle, 'quuxfs'))).toEqual([])
    expect(read((handle) => getDigest(handle, made.uid).title)).toBe(before.title)
    evict()
    change({ title: 'Again quuxfs' })
    expect(change({ title: null }).title).toBe(before.title)
  })

  it('of what is not there are refused, and then nothing is changed', () => {
    change({ addTags: ['one'] })
    expect(() => change({ star: true, removeTags: ['one', 'two'] })).toThrow('nothing was changed')
    expect(() => change({ addTags: ['three'], removeNote: 7 })).toThrow('it has no note 7')
    expect(now()).toMatchObject({ tags: ['one'], starred_at: null, notes: [] })
    for (const tag of ['', 'two words', 'a,b', 'x'.repeat(51), '-v', 'a\u202eb'])
      expect(() => change({ addTags: [tag] }), JSON.stringify(tag)).toThrow(/tag/)
    expect(() => change({ title: ' ' })).toThrow('title is empty')
    expect(() => change({ addNote: 'x'.repeat(8001) })).toThrow('longer than 8000')
    expect(() => change({ addTags: Array.from({ length: 51 }, (_, at) => `t${at}`) })).toThrow('more than 50')
    expect(now().tags).toEqual(['one'])
  })

  it('hold no secret, and go with the session when it is forgotten', () => {
    const secret = `ghp_${'a1B2c3D4e5F6'.repeat(3)}`
    change({ ...LABELS, addNote: `token ${secret}` })
    expect(now().notes[0]?.text).not.toContain(secret)
    memory.with((store) => forget({ store, paths: storePaths(memory.home) }, made.uid))
    read((handle) => {
      const { memory: database } = databasesOf(handle)
      for (const table of ['tags', 'notes'])
        expect(database.prepare(`SELECT count(*) AS n FROM ${table}`).get()).toEqual({ n: 0 })
      expect(search(handle, 'quuxfs')).toEqual([])
    })
  })
})

describe('a decision that is taken back', () => {
  it('is nowhere any more; one that is not there is refused', () => {
    const { seq } = decide({
      config: memory.config,
      session: made.uid,
      text: 'keep the zorblat',
      author: 'ada',
    })
    expect(undecide({ config: memory.config, decision: `${made.uid}#${seq}` }).text).toBe('keep the zorblat')
    read((handle) => {
      expect(getSession(handle, made.uid)?.decisions).toEqual([])
      expect(getDigest(handle, made.uid)).toMatchObject({ decisions: [], markers: { decisions: 0 } })
      expect(search(handle, 'zorblat')).toEqual([])
    })
    for (const typed of [`${made.uid}#${seq}`, `${made.uid}#1`, made.uid])
      expect(() => undecide({ config: memory.config, decision: typed }), typed).toThrow('no such decision')
  })
})

describe('on the command line', () => {
  const id = (): string => made.uid.slice(0, 20)

  it('they are written, listed, filtered by and removed', () => {
    const titled = run('title', id(), 'The', 'quuxfs', 'affair')
    expect(titled.stderr).toBe('')
    expect(titled.stdout).toContain('title   The quuxfs affair\n')
    expect(run('tag', id(), 'Flaky', '#nfs').stdout).toContain('tags    flaky, nfs')
    expect(run('star', id()).stdout).toContain('starred ')
    expect(run('note', id(), 'ran', 'on a copy', '--author', 'ada').stdout).toContain(
      'note 1  ran on a copy (ada',
    )
    const listed = run('sessions', '--starred', '--tag', 'nfs', '--tag', 'FLAKY').stdout
    expect(listed).toContain('★ The quuxfs affair #flaky #nfs')
    expect(listed.trim().split('\n')).toHaveLength(2)
    expect(run('star').stdout).toBe(run('sessions', '--starred').stdout)
    expect(run('tag').stdout).toBe('flaky  1 session\nnfs  1 session\n')
    expect(run('note').stdout).toContain('ran on a copy')
    const shown = run('show', id()).stdout
    for (const words of ['The quuxfs affair', 'tags      flaky, nfs', 'note 1    ran on a copy (ada'])
      expect(shown).toContain(words)
    expect(run('search', 'copy', '--starred').stdout).toMatch(/note +ran on a copy/)
    expect(JSON.parse(run('tag', id(), 'nfs', '--remove', '--json').stdout)).toMatchObject({
      session_uid: made.uid,
      title: 'The quuxfs affair',
      tags: ['flaky'],
      notes: [{ number: 1 }],
    })
    expect(JSON.parse(run('note', id(), '--remove', '1', '--json').stdout)).toMatchObject({ notes: [] })
    expect(run('star', id(), '--remove').stdout).not.toContain('starred')
    expect(run('decide', id(), 'keep it').code).toBe(0)
    const { decisions } = JSON.parse(run('decide', '--json').stdout)
    expect(decisions).toMatchObject([{ session_uid: made.uid, text: 'keep it' }])
    expect(run('decide', id()).stdout).toContain('keep it')
    expect(run('decide', `${made.uid}#${decisions[0].seq}`, '--remove').stdout).toContain(
      'taken back: keep it',
    )
    expect(run('decide').stdout).toContain('no decision')
  })

  it('what cannot be is refused with exit code 2, and nothing is changed', () => {
    const before = now()
    for (const args of [
      ['tag', id(), 'two words'],
      ['tag', id(), '--remove'],
      ['note', id(), 'text', '--remove', '1'],
      ['note', id(), '--remove', 'first'],
      ['note', id(), ' '],
      ['title', id(), 'words', '--remove'],
      ['star', '--remove'],
      ['decide', id(), '--remove'],
      ['sessions', '--tag', 'nobody-has'],
      ['sessions', '--tag', ''],
    ]) {
      const { code, stderr } = run(...args)
      expect([args, code]).toEqual([args, 2])
      expect(stderr).toMatch(/^error: .*\n(.*\n)*try: /)
    }
    for (const args of [
      ['tag', id(), 'absent', '--remove'],
      ['note', id(), '--remove', '3'],
      ['star', 'nobody'],
    ])
      expect([args, run(...args).code]).toEqual([args, 1])
    expect(now()).toEqual(before)
  })
})
