// Reading lines: records, gaps, offsets; every byte accounted for, whatever the bytes are.
import { execFileSync } from 'node:child_process'
import { appendFileSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type JsonlItem, type JsonlOptions, readJsonl } from '../src/files/jsonl.ts'
import fc from './setup/properties.ts'
import { temporaryDirectory } from './support/programs.ts'

function fileOf(content: string | Uint8Array): string {
  const path = join(temporaryDirectory(), 'log')
  writeFileSync(path, content)
  return path
}

const read = (content: string | Uint8Array, options?: JsonlOptions) => [
  ...readJsonl(fileOf(content), options),
]
/** `{"id":…}` records as their id, gaps as `reason@offset+length`. */
const brief = (items: JsonlItem[]) =>
  items.map((item) => ('gap' in item ? `${item.gap}@${item.offset}+${item.length}` : item.record['id']))

test('records with their offsets, whatever ends the lines', () => {
  expect(read('{"id":1}\n\n \t\r\n{"id":"é"}\r\n{"id":3}')).toEqual([
    { record: { id: 1 }, offset: 0, length: 8 },
    { record: { id: 'é' }, offset: 14, length: 11 },
    { record: { id: 3 }, offset: 27, length: 8 },
  ])
  expect(read('')).toEqual([])
  expect(brief(read('{"id":1}\n{"id":2}', { readTail: false }))).toEqual([1])
})

test('a byte order mark is skipped at the start of the file only', () => {
  expect(brief(read('\ufeff{"id":1}\n\ufeff{"id":2}\n'))).toEqual([1, 'not-json@12+11'])
  expect(brief(read('\ufeff{"id":1}\n{"id":2}\n', { fromOffset: 12 }))).toEqual([2])
})

test('reading from an offset: at a line start the rest, in the middle of a line a gap first', () => {
  const text = '{"id":1}\n{"id":2}\n{"id":3}\n'
  expect(brief(read(text, { fromOffset: 9 }))).toEqual([2, 3])
  expect(brief(read(text, { fromOffset: 11 }))).toEqual(['not-json@11+6', 3])
  expect(brief(read(text, { fromOffset: 17 }))).toEqual([3])
  expect(brief(read(text, { fromOffset: 27 }))).toEqual([])
  expect(brief(read(text, { fromOffset: 100 }))).toEqual([])
  expect(brief(read(text, { fromOffset: 9, endOffset: 18 }))).toEqual([2])
  for (const fromOffset of [-1, 0.5, Number.NaN]) {
    expect(() => read(text, { fromOffset })).toThrow(expect.objectContaining({ code: 'BAD_INPUT' }))
  }
})

test('what is not a record is a gap with place and reason', () => {
  expect(brief(read('[1]\n7\nnull\n"x"\ntrue\n'))).toEqual([
    'not-object@0+3',
    'not-object@4+1',
    'not-object@6+4',
    'not-object@11+3',
    'not-object@15+4',
  ])
  expect(brief(read('{"id":1\n{"id":2}\n{"id"'))).toEqual(['not-json@0+7', 2, 'torn@17+5'])
  expect(brief(read('{"id":1}{"id":2}\n{"a":"{"} {"id":3\n'))).toEqual(['spliced@0+16', 'spliced@17+17'])
})

test('no text of the transcript gets into the reason', () => {
  const [gap] = read('{"password":hunter2}\n')
  expect(JSON.stringify(gap)).not.toContain('hunter2')
})

test('NULs are a gap; a whole record after them on the line is kept', () => {
  const nul = '\0'.repeat(5)
  expect(brief(read(`{"id":1}\n${nul}{"id":2}\n`))).toEqual([1, 'nul@9+5', 2])
  expect(brief(read(`{"id":1,"x":"a${nul}{"id":2}\n{"id":3}\n`))).toEqual(['nul@0+19', 2, 3])
  expect(brief(read(`{"id":1,"x":"a${nul}b"}\n{"id":3}\n`))).toEqual(['nul@0+19', 'not-json@19+3', 3])
  expect(brief(read(`{"id":1}\n${nul}`))).toEqual([1, 'nul@9+5'])
  expect(brief(read(`${nul}\n{"id":1}\n`))).toEqual(['nul@0+5', 1])
})

test('whole records on a line that is no JSON can be taken, up to a bound', () => {
  const joined = '{"id":1} {"id":"é}{"}{"id":3}\n'
  expect(read(joined, { splitJoined: true })).toEqual([
    { record: { id: 1 }, offset: 0, length: 8 },
    { record: { id: 'é}{' }, offset: 9, length: 13 },
    { record: { id: 3 }, offset: 22, length: 8 },
  ])
  expect(brief(read('{"id":1}{"id":2\n', { splitJoined: true }))).toEqual([1, 'torn@8+7'])
  expect(brief(read(`${'{}'.repeat(200_000)}\n{"id":1}\n`, { splitJoined: true }))).toEqual([
    'not-json@0+400000',
    1,
  ])
})

test('lines over the limit are counted, not held, also over many chunks', () => {
  const long = `{"id":"${'x'.repeat(3 << 20)}"}`
  const text = `{"id":1}\n${long}\n{"id":2}\n${long}`
  expect(brief(read(text, { maxLineBytes: 1000 }))).toEqual([
    1,
    `oversize@9+${long.length}`,
    2,
    `oversize@${long.length + 19}+${long.length}`,
  ])
  expect(read(text).map((item) => item.length)).toEqual([8, long.length, 8, long.length])
})

test('a line of too many values is refused before it fills the memory', () => {
  const many = `{"a":[${'[],'.repeat(4_000_001)}0]}`
  expect(brief(read(`${many}\n{"id":1}\n`))).toEqual([`oversize@0+${many.length}`, 1])
  // The same characters inside a string are text.
  const text = `{"id":1,"text":"${'[],'.repeat(4_000_001)}\\\\\\""}`
  expect(brief(read(`${text}\n`))).toEqual([1])
})

test('hostile JSON: deep nesting, duplicate keys, prototype names, huge numbers, lone surrogates', () => {
  const deep = `{"id":1,"a":${'['.repeat(1e6)}${']'.repeat(1e6)}}`
  expect(brief(read(`${deep}\n`))).toEqual([1])
  expect(brief(read('{"id":1,"id":2}\n'))).toEqual([2])
  const [item] = read('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}\n')
  expect(item && 'record' in item && Object.keys(item.record)).toEqual(['__proto__', 'constructor'])
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  expect(brief(read('{"id":1e400}\n{"id":"\\ud800"}\n'))).toEqual([Number.POSITIVE_INFINITY, '\ud800'])
})

test('invalid UTF-8 is read as U+FFFD and marked; a real U+FFFD is not', () => {
  const bytes = Buffer.concat([
    Buffer.from('{"id":"a'),
    Buffer.from([0xff, 0xc3]),
    Buffer.from('"}\n{"id":"\ufffd"}\n'),
  ])
  expect(read(bytes)).toMatchObject([{ record: { id: 'a\ufffd\ufffd' } }, { record: { id: '\ufffd' } }])
})

test('what is appended while reading belongs to the next read; a file cut meanwhile ends early', () => {
  const path = fileOf('{"id":1}\n{"id":2}\n')
  const reader = readJsonl(path)
  reader.next()
  appendFileSync(path, '{"id":3}\n')
  expect(brief([...reader])).toEqual([2])
  const big = fileOf(`${'{"id":1}\n'.repeat(300_000)}`)
  const cut = readJsonl(big)
  cut.next()
  truncateSync(big, 9 * 200_000 + 4)
  expect(brief([...cut]).at(-1)).toBe('torn@1800000+4')
})

test('only regular files are read, and no link is followed', async () => {
  const directory = temporaryDirectory()
  const at = (name: string) => join(directory, name)
  mkdirSync(at('directory'))
  execFileSync('mkfifo', [at('pipe')])
  symlinkSync('/etc/hosts', at('link'))
  const server = createServer().listen(at('socket'))
  await new Promise((resolve) => server.once('listening', resolve))
  const codes = {
    directory: 'NOT_A_FILE',
    pipe: 'NOT_A_FILE',
    socket: 'NOT_A_FILE',
    link: 'UNSAFE_PATH',
    nothing: 'NOT_FOUND',
  }
  for (const [name, code] of Object.entries(codes)) {
    expect(() => [...readJsonl(at(name))], name).toThrow(expect.objectContaining({ code }))
  }
  server.close()
})

test('every byte lies in exactly one item or is white space', () => {
  const piece = fc.oneof(
    fc.constantFrom(
      '{"id":1}',
      '\n',
      '\r\n',
      ' ',
      '\0',
      '\0\0',
      '{',
      '}',
      '"',
      '[1]',
      '{"a":"\\n"}',
      '\ufeff',
      '{"id":2}{"id":3}',
    ),
    fc.string(),
  )
  const path = fileOf('')
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 20 }), fc.boolean(), (pieces, splitJoined) => {
      const bytes = Buffer.from(pieces.join(''))
      writeFileSync(path, bytes)
      let end = 0
      for (const item of readJsonl(path, { splitJoined })) {
        expect(item.offset).toBeGreaterThanOrEqual(end)
        const between = bytes.subarray(end, item.offset).toString()
        expect(between.replace(/^\ufeff/, '').trim()).toBe('')
        end = item.offset + item.length
        if ('record' in item) {
          expect(JSON.parse(bytes.subarray(item.offset, end).toString())).toEqual(item.record)
        }
      }
      expect(
        bytes
          .subarray(end)
          .toString()
          .replace(/^\ufeff/, '')
          .trim(),
      ).toBe('')
    }),
    { numRuns: 2000 },
  )
})
