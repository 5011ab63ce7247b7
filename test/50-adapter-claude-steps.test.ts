// Reading Claude Code's files in steps, and reading rubbish.
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Item, Position } from '../src/adapters/adapter.ts'
import { claude } from '../src/adapters/claude/index.ts'
import {
  assistant,
  call,
  eventsOf,
  type Fields,
  line,
  newProject,
  of,
  queued,
  readAll,
  result,
  SESSION,
  text,
  user,
  write,
} from './setup/claude.ts'
import { filesBelow } from './setup/collect.ts'
import { unpackAgent } from './setup/fixtures.ts'
import fc from './setup/properties.ts'

const fixtures = ['claude', 'claude-tui', 'claude-2.0', 'claude-1.0'].map(unpackAgent)

/**
 * The items of a file that hold, without positions. A last line that was still being written is not news, nor is the end of
 * a turn that was told at the end of a file and given back when the turn went on.
 */
function news(items: Item[]): Item[] {
  const isGivenBack = (item: Item) => item.type === 'supersede' && item.isRepetition
  const givenBack = of(items.filter(isGivenBack), 'supersede').flatMap((item) => item.keys ?? [])
  return items.filter(
    (item) =>
      item.type !== 'position' &&
      !(item.type === 'gap' && item.pending) &&
      !isGivenBack(item) &&
      !(item.type === 'event' && givenBack.includes(item.key)),
  )
}

describe('reading in steps', () => {
  const scenarios = [
    'subagent_parallel',
    'fork',
    'tools',
    'autocompact',
    'titles',
    'bang_and_slash',
    'subagent',
    'resume',
  ]
  // What no scenario holds: several blocks on a line, rewinds, retractions, late titles, modes that come back.
  const branches = write(join(newProject(), `${SESSION}.jsonl`), [
    { type: 'summary', summary: 'late title', leafUuid: 'a2' },
    { type: 'permission-mode', permissionMode: 'plan', sessionId: SESSION },
    ...['first', 'never delivered', '/compact now', 'second', '\nand third\n'].map(queued),
    user('u1', null, 'first'),
    assistant('a1', 'u1', [
      text('one'),
      call('t1', 'Task', { prompt: 'count' }),
      call('t2', 'Bash', { command: 'ls' }),
    ]),
    user('s1', null, 'count', { isSidechain: true }),
    user('u2', 'a1', [result('t2', 'Exit code 1', true), result('t1', '3')]),
    { type: 'permission-mode', permissionMode: 'auto', sessionId: SESSION },
    user('u3', 'u2', 'second\nand third'),
    user('c1', 'u2', '<command-name>/compact</command-name>\n<command-args>now</command-args>'),
    assistant('a2', 'u3', [call('t3', 'Bash', { command: 'ls' })]),
    { type: 'permission-mode', permissionMode: 'plan', sessionId: SESSION },
    line('r1', 'a2', { type: 'system', subtype: 'api_refusal', retractedMessageUuids: ['a1'] }),
    user('u4', 'u2', 'second, otherwise'),
    { type: 'last-prompt', leafUuid: '00000000-0000-0000-0000-000000000000', explicit: true },
    user('u5', null, 'from the start', { cwd: '/elsewhere' }),
    // Answers that do not say whether they are whole, commands that nobody knows to be prompts.
    assistant('a3', 'u5', [text('Looking')]),
    assistant('a4', 'a3', [text('Still looking')]),
    { type: 'file-history-snapshot', snapshot: {}, sessionId: SESSION },
    assistant('a5', 'a4', [call('t4', 'Bash', { command: 'ls' })]),
    user('u6', 'a5', [result('t4', 'a.ts')]),
    assistant('a6', 'u6', [text('One file')]),
    line('d1', 'a6', { type: 'system', subtype: 'turn_duration', durationMs: 5 }),
    user('c2', 'd1', '<command-name>/model</command-name>'),
    user('c3', 'c2', '<local-command-stdout>set</local-command-stdout>'),
    user('c4', 'c3', '<command-name>/review</command-name>'),
    user('c5', 'c4', 'Review it', { isMeta: true }),
    assistant('a7', 'c5', [text('I wi')]),
    user('u7', 'a7', '[Request interrupted by user]'),
    user('u8', 'u7', 'go on'),
    assistant('a8', 'u8', [text('Done')], {}, { stop_reason: 'end_turn' }),
  ])
  test('the hand-made transcript takes back what it should', () => {
    expect(of(readAll(branches), 'supersede').filter((item) => !item.isRepetition)).toHaveLength(3)
  })

  const transcripts = fixtures
    .flatMap(filesBelow)
    .filter((path) => claude.claim(path) && scenarios.some((name) => path.includes(`/${name}/`)))
    .concat(Array(16).fill(branches))

  test('at random bytes gives what reading at once gives', () => {
    const grown = join(newProject(), `${SESSION}.jsonl`)
    mkdirSync(dirname(grown), { recursive: true })
    fc.assert(
      fc.property(
        fc.constantFrom(...transcripts),
        fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 6 }),
        fc.boolean(),
        (path, cuts, atLines) => {
          const bytes = readFileSync(path)
          const ends = cuts
            .map((cut) => Math.floor(cut * bytes.length))
            .map((at) => (atLines ? bytes.indexOf(10, at) + 1 : at))
            .sort((a, b) => a - b)
          writeFileSync(grown, bytes)
          const whole = news(readAll(grown))
          const items: Item[] = []
          let position: Position | null = null
          let done = 0
          writeFileSync(grown, '')
          for (const end of [...ends, bytes.length]) {
            appendFileSync(grown, bytes.subarray(done, Math.max(done, end)))
            done = Math.max(done, end)
            for (const item of readAll(grown, position)) {
              if (item.type === 'position') position = JSON.parse(JSON.stringify(item.position)) as Position
              else items.push(item)
            }
          }
          expect(news(items)).toEqual(whole)
        },
      ),
      { numRuns: 60 },
    )
  })

  test('the carry-over stays small', () => {
    const records = Array.from({ length: 3000 }, (_, index) => [
      assistant(`a${index}`, null, [text('x'), call(`t${index}`, 'Task', { prompt: `p${index}` })]),
      user(`u${index}`, `a${index}`, `prompt ${index}`),
      { type: 'summary', summary: 's', leafUuid: `l${index}` },
    ]).flat()
    const source = claude.claim(write(join(newProject(), `${SESSION}.jsonl`), records))
    let state: unknown
    for (const item of source ? claude.read(source, null) : [])
      if (item.type === 'position') state = item.position.state
    expect(JSON.stringify(state).length).toBeLessThan(64 << 10)
  })
})

describe('rubbish', () => {
  const samples = fixtures
    .flatMap((directory) => filesBelow(directory))
    .filter((path) => path.includes('/hooks/') || path.includes('/tools/') || path.includes('bang_and_slash'))
    .filter((path) => claude.claim(path))
    .flatMap((path) => readFileSync(path, 'utf8').trim().split('\n'))
    .filter((one) => one !== '')

  /** Puts a value into one of the places of a record, however deep. */
  function mutate(record: Fields, where: number, what: unknown): void {
    const places: [Fields, string][] = []
    const visit = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return
      for (const name of Object.keys(value)) {
        places.push([value as Fields, name])
        visit((value as Fields)[name])
      }
    }
    visit(record)
    const [holder, name] = places[where % places.length] ?? [record, 'type']
    holder[name] = what
  }

  test('any value in any place is read without a throw, and leaves a trace', () => {
    const path = join(newProject(), `${SESSION}.jsonl`)
    mkdirSync(dirname(path), { recursive: true })
    const value = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom<unknown>(null, 0, '', [], {}, [null], JSON.parse('{"__proto__":{"x":1}}')),
    )
    fc.assert(
      fc.property(
        fc.constantFrom(...samples),
        fc.array(fc.tuple(fc.nat(), value), { minLength: 1, maxLength: 5 }),
        (sample, changes) => {
          const record = JSON.parse(sample) as Fields
          for (const [where, what] of changes) mutate(record, where, structuredClone(what))
          write(path, [record])
          const items = readAll(path)
          expect(items.filter((item) => item.type !== 'position').length).toBeGreaterThan(0)
          for (const event of eventsOf(items)) {
            expect([typeof event.key, typeof event.summary, typeof event.session]).toEqual([
              'string',
              'string',
              'string',
            ])
            if (event.said !== undefined) expect(typeof event.said).toBe('string')
            JSON.stringify(event)
          }
          for (const usage of of(items, 'usage')) expect(usage.cacheWrite5m).toBeGreaterThanOrEqual(0)
        },
      ),
      { numRuns: 500 },
    )
    expect(({} as Fields)['x']).toBeUndefined()
  })
})
