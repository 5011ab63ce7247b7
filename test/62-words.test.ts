// Search: what a person types finds what was said, for code as for prose, in any script; and no query can break it.

import { afterAll, describe, expect, it } from 'vitest'
import { CACHE_MIGRATIONS } from '../src/store/cache-schema.ts'
import { emptyDatabase } from '../src/store/database.ts'
import { indexText, parseQuery } from '../src/store/words.ts'
import { searchable } from '../src/sweep/text.ts'
import fc from './setup/properties.ts'

const database = emptyDatabase(CACHE_MIGRATIONS)
afterAll(() => database.close())

/** Places of the texts that a query finds. */
function find(query: string, ...texts: string[]): number[] {
  database.exec('DELETE FROM words')
  const insert = database.prepare("INSERT INTO words (rowid, prompt, answer, work) VALUES (?, ?, '', '')")
  for (const [at, text] of texts.entries()) insert.run(at, indexText(text))
  const match = parseQuery(query)?.match
  if (match === undefined) return []
  const rows = database.prepare('SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid').all(match)
  return (rows as unknown as { rowid: number }[]).map((row) => row.rowid)
}

const finds = (query: string, text: string): boolean => find(query, text).length === 1

describe('what a tool printed', () => {
  it('is found at both ends, a listing without its line numbers', () => {
    const lines = Array.from({ length: 400 }, (_, at) => `${String(at + 1).padStart(6)}→word${at} is here`)
    const text = searchable(lines.join('\n'), 'tool_result')
    expect(text.length).toBeLessThan(2100)
    expect(finds('"word0 is here word1"', text)).toBe(true)
    expect(finds('"word398 is here word399"', text)).toBe(true)
    expect(finds('400', text)).toBe(false)
  })
})

describe('code', () => {
  it.each([
    ['parse_line', 'call parse_line(x) here'],
    ['parse', 'call parse_line(x) here'],
    ['--no-verify', 'git commit --no-verify -m x'],
    ['no-verify', 'git commit --no-verify -m x'],
    ['src/a/b.ts', 'changed src/a/b.ts twice'],
    ['b.ts', 'changed src/a/b.ts twice'],
    ['src/a', 'changed src/a/b.ts twice'],
    ['parseLine', 'the parseLine function'],
    ['parseline', 'the parseLine function'],
    ['line', 'the parseLine function'],
    ['html', 'new XMLHttpRequest and parseHTMLString'],
    ['http', 'new XMLHttpRequest'],
    ['request', 'new XMLHttpRequest'],
    ['utf8', 'readUtf8Text'],
    ['@scope/pkg', 'npm i @scope/pkg'],
    ['std::vec', 'use std::vec::Vec'],
    ['$HOME', 'cd $HOME && ls'],
    ['0x1f', 'at 0x1f00? no, 0x1f'],
    ['v1.2.3', 'released v1.2.3 today'],
    ['E0425', 'error[E0425]: cannot find'],
    ['foo(bar)', 'calls foo(bar);'],
    ['failed', '\x1b[31mfailed\x1b[0m'],
  ])('%s is found', (query, text) => {
    expect(finds(query, text)).toBe(true)
  })

  it.each([
    ['parse_line', 'parse the line and the parse tree'],
    ['--no-verify', 'verify: no'],
    ['src/a/b.ts', 'src/b/a.ts'],
    ['lines', 'parse_line'],
  ])('%s is not found in %s', (query, text) => {
    expect(finds(query, text)).toBe(false)
  })
})

describe('scripts', () => {
  it.each([
    ['日本語', 'これは日本語のテキストです'],
    ['テキスト', 'これは日本語のテキストです'],
    ['한국', '대한민국의 한국어'],
    ['中文搜索', '支持中文搜索功能'],
    ['𠮷野家', '今日は𠮷野家へ'],
    ['部署', 'fix部署bug'],
    ['привет', 'Привет, мир'],
    ['straße', 'Straße'],
    ['cafe', 'Café crème'],
    ['CAFÉ', 'cafe creme'],
    ['naïve', 'naive'],
    ['Ångström', 'angstrom'],
    ['Việt', 'Viet Nam'],
  ])('%s is found', (query, text) => {
    expect(finds(query, text)).toBe(true)
  })

  it('CJK characters must stand together', () => {
    expect(finds('日語', 'これは日本語です')).toBe(false)
  })
})

describe('the language of queries', () => {
  const texts = ['the quick brown fox', 'the brown quick dog', 'a brown bear', 'quickly']
  it.each([
    ['quick brown', [0, 1]],
    ['"quick brown"', [0]],
    ['"brown quick"', [1]],
    ['quick*', [0, 1, 3]],
    ['"quick br"*', [0]],
    ['brown -quick', [2]],
    ['brown -"quick brown"', [1, 2]],
    ['-quick', []],
    ['brown -', [0, 1, 2]],
    ['fox OR dog', []],
    ['', []],
    ['*', []],
    ['" "', []],
    ['"unclosed brown', []],
    ['prompt:quick', []],
    ['NEAR(quick brown)', []],
  ])('%s', (query, found) => {
    expect(find(query, ...texts)).toEqual(found)
  })

  it('takes a quote that is not closed for a word', () => {
    expect(find('"brown', ...texts)).toEqual([0, 1, 2])
  })

  it('never throws, whatever is typed', () => {
    const piece = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 12 }),
      fc.constantFrom(
        '"',
        '*',
        '-',
        '(',
        ')',
        'AND',
        'OR',
        'NOT',
        'NEAR(',
        '{a b}:',
        '^',
        '+',
        "'",
        '\0',
        '\ud800',
        ';--',
        'e\u0301',
        '日',
      ),
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        find(pieces.join(' '), 'some text')
        find(pieces.join(''), 'some text')
      }),
      { numRuns: 400 },
    )
  })

  it('is not broken by length', () => {
    const many = Array.from({ length: 5000 }, (_, at) => `word${at}`)
    expect(find(many.join(' '), many.join(' '))).toEqual([0])
    expect(find(`"${many.join(' ')}"`, many.join(' '))).toEqual([0])
    expect(finds('x'.repeat(100_000), 'x')).toBe(false)
    expect(
      find(
        `word1 ${many
          .slice(2)
          .map((word) => `-${word}`)
          .join(' ')}`,
        'word1',
      ),
    ).toEqual([0])
  })
})

it('whatever is indexed can be found by its own words', () => {
  const word = fc.stringMatching(/^[A-Za-z0-9_]{1,12}$/).filter((text) => /[A-Za-z0-9]/.test(text))
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 8 }), fc.nat(), (words, at) => {
      expect(finds(words[at % words.length] as string, words.join(' / '))).toBe(true)
    }),
    { numRuns: 300 },
  )
})
