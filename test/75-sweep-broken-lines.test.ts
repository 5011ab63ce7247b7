// What is saved from a line that is no JSON: never a record that nobody wrote, never one less than is whole.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { grok as adapter } from '../src/adapters/grok/index.ts'
import { type JsonlItem, parseLine } from '../src/files/jsonl.ts'
import { GROK, grok, line, put } from './corpus/records.mjs'

const read = (text: string | Buffer, ended = true): JsonlItem[] => [
  ...parseLine(Buffer.from(text), 0, ended, true),
]
const recordsIn = (items: JsonlItem[]) => items.flatMap((item) => ('record' in item ? [item] : []))

/** Everything that looks like the beginning of a record without being one. */
const NASTY = {
  type: 'assistant',
  tokens: ['{', ':', '}', ' {', ':1}', ',{"a":1}'],
  content: [
    { type: 'text', text: 'say {"type":"user"} and "x{"' },
    { type: 'text', text: 'end' },
  ],
  'a{': { 'b{"c': [{ d: 1 }, { e: { f: 'ö€\\' } }] },
  last: { type: 'user' },
}
const NEXT = { type: 'user', uuid: 'next', message: { role: 'user', content: 'hi' } }

describe('a record cut off at any byte', () => {
  const whole = Buffer.from(JSON.stringify(NASTY))
  const cuts = Array.from({ length: whole.length - 1 }, (_, n) => n + 1)

  it('gives one gap and no record', () => {
    for (const cut of cuts) {
      const items = read(whole.subarray(0, cut))
      expect(items.map((item) => ['gap' in item, item.offset, item.length])).toEqual([[true, 0, cut]])
    }
  })

  it('loses nothing but itself when the next one follows on its line', () => {
    let savedCount = 0
    for (const cut of cuts) {
      const items = read(Buffer.concat([whole.subarray(0, cut), Buffer.from(JSON.stringify(NEXT))]))
      const records = recordsIn(items)
      // Right behind `:`, `,` or `[` it could be part of the torn record: then all of it is a gap.
      if (records.length === 0)
        expect(':,['.includes(String.fromCharCode(whole[cut - 1] as number))).toBe(true)
      else {
        savedCount++
        expect(records.map(({ record, offset }) => [record, offset])).toEqual([[NEXT, cut]])
      }
      expect(items.reduce((sum, item) => sum + item.length, 0)).toBe(cut + JSON.stringify(NEXT).length)
    }
    expect(savedCount).toBeGreaterThan(cuts.length * 0.7)
  })

  it('leaves the whole one before it', () => {
    for (const cut of cuts) {
      const before = JSON.stringify(NEXT)
      for (const ended of [true, false]) {
        const items = read(Buffer.concat([Buffer.from(before), whole.subarray(0, cut)]), ended)
        expect(recordsIn(items).map(({ record }) => record)).toEqual([NEXT])
        expect(items.at(-1)).toMatchObject({ gap: 'torn', offset: before.length, length: cut })
      }
    }
  })
})

describe('joined records', () => {
  it('have exact places behind bytes that are no UTF-8', () => {
    const first = Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xff, 0xe2, 0x82]), Buffer.from('"}')])
    const items = read(Buffer.concat([first, Buffer.from(' {"b":2}')]))
    expect(items).toEqual([
      { record: { a: '\ufffd\ufffd' }, offset: 0, length: first.length },
      { record: { b: 2 }, offset: first.length + 1, length: 7 },
    ])
  })

  it('are taken up to a bound, the rest is a gap', () => {
    const items = read('{"a":1}'.repeat(5000))
    expect(recordsIn(items)).toHaveLength(1000)
    expect(items.at(-1)).toMatchObject({ gap: 'torn', offset: 7000, length: 28_000 })
  })

  it('cost no more than a few passes when none is whole', () => {
    const items = read('x{"a":'.repeat(500_000))
    expect(items).toMatchObject([{ gap: 'not-json', length: 3_000_000 }])
  })
})

describe('a companion with very many rows', () => {
  it('can be left in the middle: places to stop come often', () => {
    const directory = mkdtempSync(join(tmpdir(), 'recollect-rows-'))
    try {
      const spine = put(directory, GROK, line(grok(1, 'first')) + line(grok(2, 'second')))
      const row = (n: number) =>
        line({ ts: new Date(1_794_000_000_000 + n).toISOString(), type: 'odd_row', n })
      put(
        directory,
        join(dirname(GROK), 'events.jsonl'),
        Array.from({ length: 10_000 }, (_, n) => row(n)).join(''),
      )
      let sinceStop = 0
      let longest = 0
      let rowCount = 0
      for (const item of adapter.read({ path: spine }, null)) {
        sinceStop = item.type === 'position' ? 0 : sinceStop + 1
        longest = Math.max(longest, sinceStop)
        if (item.type === 'unknown') rowCount++
      }
      expect(rowCount).toBe(10_000)
      expect(longest).toBeLessThan(10_000)
    } finally {
      rmSync(directory, { recursive: true })
    }
  })
})
