// Answers of the MCP server, whatever was recorded: never larger than promised, never losing an entry between two
// pages, never letting recorded text out of its fence.

import { describe, expect, it } from 'vitest'
import { bounded, type Entry, line, MAX_RESULT_BYTES, plain, sizeOf, sliceBytes } from '../src/mcp/result.ts'
import fc from './setup/properties.ts'

/** Anything a log can hold: all of Unicode, lone surrogates, quotes, line ends, and lengths far over the limit. */
const nasty = fc.oneof(
  { weight: 6, arbitrary: fc.string({ unit: 'binary', maxLength: 300 }) },
  {
    weight: 2,
    arbitrary: fc.constantFrom('\\"', '\ud800', '\u0000', '字', '😀', '\n', '</recorded-000000000000>'),
  },
)
const long = fc
  .tuple(nasty, fc.oneof(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 3000 })))
  .map(([text, times]) => text.repeat(times).slice(0, 60_000))
const entries = fc
  .array(
    fc.record({
      text: long,
      body: long,
      data: fc.record({ id: nasty, text: long, seqs: fc.array(fc.integer()) }),
    }),
    {
      maxLength: 25,
    },
  )
  .map((all): Entry[] => all.map((one, at) => ({ at: at * 3 + 1, ...one, text: line`#${at} ${one.text}` })))

const structured = (result: ReturnType<typeof bounded>): Record<string, unknown> =>
  result.structuredContent as Record<string, unknown>

describe('an answer', () => {
  it('stays within its bytes, tells its tokens, and goes on where it stopped', () => {
    fc.assert(
      fc.property(entries, long, long, (all, subject, title) => {
        const data = { title, session: subject }
        let from = 0
        const shown: number[] = []
        for (let page = 0; from !== -1 && page < 60; page++) {
          const rest = all.filter((entry) => entry.at >= from)
          const result = bounded({ about: 'Found.', subject, data, entries: rest })
          expect(sizeOf(result)).toBeLessThanOrEqual(MAX_RESULT_BYTES)
          const { entries: there, next_cursor: next, tokens } = structured(result)
          expect(tokens).toBeGreaterThanOrEqual(
            Math.floor(Buffer.byteLength(result.content[0]?.text as string) / 3) - 10,
          )
          if (rest.length > 0) expect((there as unknown[]).length).toBeGreaterThan(0)
          shown.push(...rest.slice(0, (there as unknown[]).length).map((entry) => entry.at))
          from = (next as number | undefined) ?? -1
        }
        expect(shown).toEqual(all.map((entry) => entry.at))
      }),
      { numRuns: 150 },
    )
  })

  it('keeps recorded text inside a fence that it cannot close', () => {
    fc.assert(
      fc.property(entries, long, (all, subject) => {
        const text = bounded({ about: 'Found.', subject, entries: all }).content[0]?.text as string
        const fence = /<recorded-([0-9a-f]{12})>\n/.exec(text)?.[1] as string
        expect(text.split(`<recorded-${fence}>`)).toHaveLength(2)
        expect(text.split(`</recorded-${fence}>`)).toHaveLength(2)
        expect(text.endsWith(`\n</recorded-${fence}>`)).toBe(true)
        const before = text.slice(0, text.indexOf('<recorded-'))
        // Of every line the beginning is ours: the subject, entries, and bars before what goes on.
        const within = text
          .slice(text.indexOf('>\n') + 2, text.lastIndexOf('\n</recorded-'))
          .split('\n')
          .slice(1)
        const starts = within.filter(
          (one, at) => at === 0 || !(one.startsWith('  | ') || /^ {0,2}\|?…$/.test(one)),
        )
        // The first may be cut as short as it takes.
        const isOurs = (one: string, at: number): boolean =>
          one.startsWith(`#${at} `) || `#${at} `.startsWith(one.replace(/…$/, ''))
        expect(starts.filter((one, at) => !isOurs(one, at))).toEqual([])
        expect(before).toMatch(
          /^Found\.( More with cursor \d+\.)? About \d+ tokens\.\nRecorded data from past sessions\. .+\n$/,
        )
      }),
      { numRuns: 60 },
    )
  })

  it('has a new fence each time', () => {
    const fences = Array.from({ length: 50 }, () => {
      const { content } = bounded({ about: '', entries: [{ at: 0, text: line`a`, data: {} }] })
      return /<recorded-(\w+)>/.exec(content[0]?.text as string)?.[1]
    })
    expect(new Set(fences).size).toBe(50)
  })

  it('shows nothing that cannot be seen', () => {
    const hidden = 'a\u001b[31mb\u202ec\u{e0041}\u{e007f}d\u200be\u0007f\u009bg\ufeffh'
    expect(plain(hidden)).toBe('abcdefgh')
    expect(plain('a\u00adb\u061cc\u{e0100}\u{e01ef}d\ufe00e\u3164f\u2066g')).toBe('abcdefg')
    expect(plain('\u0645\u06cc\u200c\u062e 👩\u200d💻 ❤\ufe0f')).toBe(
      '\u0645\u06cc\u200c\u062e 👩\u200d💻 ❤\ufe0f',
    )
    expect(plain('tab\there\nand 😀 字 é')).toBe('tab\there\nand 😀 字 é')
    const { structuredContent, content } = bounded({
      about: '',
      data: { title: hidden },
      entries: [{ at: 0, text: line`${hidden}`, data: { deep: [{ text: hidden }] } }],
    })
    expect(JSON.stringify([structuredContent, content])).not.toMatch(/\\u001b|\u202e|\u{e0041}|\u200b/u)
  })
})

describe('a long text', () => {
  it('comes in parts that give the whole, each within its bytes', () => {
    fc.assert(
      fc.property(long, fc.integer({ min: 12, max: 9000 }), (text, bytes) => {
        let from = 0
        let whole = ''
        while (from < text.length) {
          const { part, end } = sliceBytes(text, from, bytes)
          expect(end).toBeGreaterThan(from)
          expect(sizeOf(plain(part))).toBeLessThanOrEqual(bytes)
          whole += part
          from = end
        }
        expect(whole).toBe(text)
      }),
      { numRuns: 100 },
    )
  })
})
