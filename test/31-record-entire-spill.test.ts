// Content that other readers refuse: split off, and given back to the last bit.
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { EntireContent, EntireTranscript, JsonlGap } from '../src/record/index.ts'
import fc from './setup/properties.ts'
import {
  assistantBlocks,
  entireModifiedFiles,
  entireParse,
  entireRewrite,
  entireTokens,
  SCANNER_LIMIT,
} from './support/entire-reader.ts'
import { jqTypes, open, rawLines, read, USAGE, useProject } from './support/entire-session.ts'

useProject()

const MIB = 1024 * 1024
const spillNames = (transcript: EntireTranscript): string[] =>
  existsSync(join(transcript.directory, 'spill')) ? readdirSync(join(transcript.directory, 'spill')) : []

/** Entire reads every line, also after it has rewritten them; the longest line's bytes. */
function expectEntireReads(transcript: EntireTranscript, lineCount: number): void {
  const lines = entireParse(transcript.path)
  expect(lines).toHaveLength(lineCount)
  const copy = join(transcript.directory, '..', 'rewritten.jsonl')
  writeFileSync(copy, entireRewrite(lines))
  expect(entireParse(copy)).toEqual(lines)
}

const big = (size: number, seed = 'x'): string => seed.repeat(Math.ceil(size / seed.length)).slice(0, size)
const CASES: [string, EntireContent][] = [
  ['one huge string', big(20 * MIB)],
  ['just too long', big(10 * MIB - 200)],
  ['a huge tool result', [{ type: 'tool_result', tool_use_id: 't', content: big(11 * MIB, 'ü\n"') }]],
  [
    'a tool result in blocks',
    [{ type: 'tool_result', tool_use_id: 't', content: [{ type: 'text', text: big(12 * MIB) }] }],
  ],
  [
    'many medium strings',
    Array.from({ length: 300 }, (_, i) => ({ type: 'text', text: big(60_000, `${i} `) })),
  ],
  [
    'more strings than files are made for',
    Array.from({ length: 2000 }, (_, i) => ({ type: 'text', text: big(6000, `${i} `) })),
  ],
  [
    'a tool input of many small values',
    [
      { type: 'text', text: 'kept' },
      {
        type: 'tool_use',
        id: 't',
        name: 'Edit',
        input: { file_path: 'a.ts', edits: Array.from({ length: 5000 }, (_, i) => big(2500, `edit ${i}`)) },
      },
    ],
  ],
  [
    'a tool input of many small arguments',
    [
      {
        type: 'tool_use',
        id: 't',
        name: 'Many',
        input: Object.fromEntries(
          Array.from({ length: 5000 }, (_, i) => [`argument ${i}`, big(2500, `value ${i} `)]),
        ),
      },
    ],
  ],
  [
    'thousands of blocks',
    Array.from({ length: 5000 }, (_, i) => ({ type: 'text', text: big(2500, `${i} `) })),
  ],
  ['HTML that Entire makes six times as long', big(4 * MIB, '<&>')],
]

describe('lines of 10 MiB and more', () => {
  test.each(CASES)('%s', async (_, content) => {
    const transcript = open()
    await transcript.user('before')
    await (typeof content === 'string'
      ? transcript.user(content)
      : transcript.assistant(content, { usage: USAGE }))
    await transcript.user('after')
    expectEntireReads(transcript, 3)
    const length = readFileSync(transcript.path).indexOf('\n{"type":"user"', 400)
    expect(length).toBeLessThan(SCANNER_LIMIT)
    const names = spillNames(transcript)
    expect(names.length).toBeGreaterThan(0)
    expect(names.length).toBeLessThanOrEqual(64)
    for (const name of names)
      expect(statSync(join(transcript.directory, 'spill', name)).mode & 0o777).toBe(0o600)
    const lines = await read(transcript.path)
    // Not toEqual: its report of a difference would be as long as the content.
    expect(JSON.stringify(lines[1]?.message.content) === JSON.stringify(content)).toBe(true)
    expect(lines[1]).not.toHaveProperty('recollectSpill')
    expect(lines.map((line) => line.parentUuid)).toEqual([null, lines[0]?.uuid, lines[1]?.uuid])
  })

  test('the longest line that fits is left alone', async () => {
    const transcript = open()
    await transcript.user('x')
    const head = readFileSync(transcript.path).length + 40
    await transcript.user(big(10 * MIB - head - 100))
    expect(spillNames(transcript)).toEqual([])
    expectEntireReads(transcript, 2)
  })

  test('Entire still finds tokens, files and sub-agents', async () => {
    const transcript = open()
    const write = {
      type: 'tool_use',
      id: 't',
      name: 'Write',
      input: { file_path: 'a.ts', content: big(11 * MIB) },
    }
    await transcript.assistant([{ type: 'text', text: 'writing' }, write], { id: 'm', usage: USAGE })
    const edits = Array.from({ length: 5000 }, (_, i) => [big(2500, `edit ${i}`)])
    await transcript.assistant([
      { type: 'tool_use', id: 'u', name: 'Edit', input: { file_path: 'b.ts', edits } },
    ])
    const text = `${big(11 * MIB)}\nagentId: a1b2c3`
    await transcript.user([{ type: 'tool_result', tool_use_id: 't', content: text }])
    const lines = entireParse(transcript.path)
    expect(entireModifiedFiles(lines)).toEqual(['a.ts', 'b.ts'])
    expect(entireTokens(lines)).toMatchObject({ output: 350, input: 1200 })
    expect(lines.flatMap(assistantBlocks).map((block) => block.type)).toEqual([
      'text',
      'tool_use',
      'tool_use',
    ])
    const [result] = (lines[2]?.message['content'] ?? []) as { content: string }[]
    expect(result?.content).toContain('agentId: a1b2c3')
    expect(result?.content.length).toBeLessThan(1000)
  })

  test('key actions name the true first argument, also when it was split off', async () => {
    const transcript = open()
    const input = Object.fromEntries(
      Array.from({ length: 5000 }, (_, i) => [`argument ${i}`, `value ${i}${' '.repeat(2500)}`]),
    )
    await transcript.assistant([{ type: 'tool_use', id: 't', name: 'Many', input }])
    await transcript.end()
    const context = readFileSync(join(transcript.directory, 'context.md'), 'utf8')
    expect(context).toContain('- **Many**: value 0…\n')
  })

  test('prompt.txt holds the whole prompt', async () => {
    const transcript = open()
    const prompt = big(11 * MIB, 'long ')
    await transcript.user(prompt)
    expect(readFileSync(join(transcript.directory, 'prompt.txt'), 'utf8') === prompt).toBe(true)
  })

  test('what is not content cannot be split off: refused, nothing written', async () => {
    const transcript = open()
    await expect(transcript.assistant('x', { model: big(11 * MIB) })).rejects.toMatchObject({
      code: 'TOO_LARGE',
    })
    await expect(transcript.assistant('x', { id: 'msg_\ud800' })).rejects.toMatchObject({ code: 'TOO_LARGE' })
    expect(existsSync(transcript.path)).toBe(false)
  })
})

describe('half a surrogate pair', () => {
  test('is not in the line, which jq reads, and comes back', async () => {
    const transcript = open()
    const contents: EntireContent[] = [
      'cut in an emoji \ud83d',
      [{ type: 'tool_use', id: 't', name: 'n', input: { '\udc00 key': 1, fine: 'C:\\\\udc00 \\ud800' } }],
      [{ type: 'text', text: 'fine 🧪', '\ud800': [1] }],
      Array.from({ length: 100 }, (_, i) => ({ type: 'text', text: `${i}\ud800` })),
    ]
    for (const content of contents) await transcript.user(content)
    expect((await read(transcript.path)).map((line) => line.message.content)).toEqual(contents)
    const raw = readFileSync(transcript.path, 'utf8')
    expect(
      /\p{Surrogate}/u.test(JSON.stringify(rawLines(transcript.path).map((line) => line['message']))),
    ).toBe(false)
    expect(raw).toContain('cut in an emoji \ufffd')
    expect(jqTypes(transcript.path)?.length ?? 4).toBe(4)
  })
})

describe('damage to what was split off', () => {
  const cases: [string, (file: string) => void, string][] = [
    ['missing', (file) => rmSync(file), 'ENOENT'],
    ['shorter', (file) => writeFileSync(file, 'x'), 'bytes instead of'],
    ['changed', (file) => writeFileSync(file, big(11 * MIB, 'y')), 'was changed'],
    [
      'a link',
      (file) => {
        rmSync(file)
        symlinkSync('/dev/zero', file)
      },
      'symbolic link',
    ],
  ]
  test.each(cases)('%s: a gap by name, never another text', async (_, damage, detail) => {
    const transcript = open()
    await transcript.user('before')
    await transcript.user(big(11 * MIB))
    await transcript.user('after')
    damage(join(transcript.directory, 'spill', spillNames(transcript)[0] as string))
    const gaps: JsonlGap[] = []
    expect((await read(transcript.path, gaps)).map((line) => line.message.content)).toEqual([
      'before',
      'after',
    ])
    expect(gaps).toMatchObject([{ gap: 'spill' }])
    expect(gaps[0]?.detail).toContain(detail)
    await expect(read(transcript.path, [], { onCorrupt: 'stop' })).rejects.toMatchObject({ code: 'CORRUPT' })
    // The line itself, with its preview, can still be had.
    const [, line] = await read(transcript.path, [], { restore: false })
    expect(line?.recollectSpill).toHaveLength(1)
  })

  test('a forged reference reaches no other file', async () => {
    const transcript = open()
    await transcript.user('x')
    const [line] = rawLines(transcript.path)
    const forged = (reference: object): string =>
      `${JSON.stringify({ ...line, recollectSpill: [reference] })}\n`
    const sha256 = 'a'.repeat(64)
    writeFileSync(
      transcript.path,
      forged({ at: '/message/content', sha256: '../../full', bytes: 1, as: 'text' }) +
        forged({ at: '/__proto__/polluted', sha256, bytes: 1, as: 'text' }) +
        forged({ at: '', sha256, bytes: 1, as: 'text' }),
    )
    const gaps: JsonlGap[] = []
    expect(await read(transcript.path, gaps)).toEqual([])
    expect(gaps.map((gap) => gap.gap)).toEqual(['schema', 'spill', 'spill'])
  })

  test.each([
    ['its type', '/type', '"x"'],
    ['its uuid', '/uuid', '"x"'],
    ['content by what is none', '/message/content', '5'],
    ['a block by what is none', '/message/content/0', '"x"'],
  ])('a forged reference replaces no part of a line but content: %s', async (_, at, json) => {
    const transcript = open()
    await transcript.user([{ type: 'text', text: 'a' }])
    mkdirSync(join(transcript.directory, 'spill'))
    const sha256 = createHash('sha256').update(json).digest('hex')
    writeFileSync(join(transcript.directory, 'spill', `${sha256}.json`), json)
    const [line] = rawLines(transcript.path)
    const recollectSpill = [{ at, sha256, bytes: json.length, as: 'json' }]
    writeFileSync(transcript.path, `${JSON.stringify({ ...line, recollectSpill })}\n`)
    const gaps: JsonlGap[] = []
    expect(await read(transcript.path, gaps)).toEqual([])
    expect(gaps).toMatchObject([{ gap: 'spill' }])
  })

  test('content cannot pass for a reference', async () => {
    const transcript = open()
    const content = [
      { type: 'text', text: 'x', recollectSpill: [{ at: '/message', sha256: 'a'.repeat(64) }] },
    ]
    await transcript.user(content)
    expect((await read(transcript.path))[0]?.message.content).toEqual(content)
  })
})

describe('any content', () => {
  const anyString = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: fc.nat(0xffff).map((code) => String.fromCharCode(code)) }),
    fc.tuple(fc.string(), fc.nat(2000)).map(([text, times]) => text.repeat(times)),
  )
  const value = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      anyString,
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.constantFrom(null, true, false),
      fc.array(tie('value'), { maxLength: 5 }),
      fc
        .array(fc.tuple(fc.oneof(anyString, fc.constant('__proto__')), tie('value')), { maxLength: 5 })
        .map(asObject),
    ),
  })).value
  const block = fc
    .array(fc.tuple(fc.oneof(fc.string(), fc.constantFrom('text', 'input', 'content', '__proto__')), value))
    .map((entries) => asObject([...entries, ['type', 'any']]) as { type: string })
  const content = fc.oneof(anyString, fc.array(block, { maxLength: 4 }))

  test('comes back exactly, through lines that every reader takes', async () => {
    const transcript = open()
    await fc.assert(
      fc.asyncProperty(content, fc.boolean(), async (given, isUser) => {
        rmSync(transcript.directory, { recursive: true, force: true })
        const session = open({ sessionId: transcript.sessionId })
        await (isUser ? session.user(given) : session.assistant(given))
        await session.close()
        const gaps: JsonlGap[] = []
        const [line] = await read(session.path, gaps)
        expect(gaps).toEqual([])
        const expected = isUser || typeof given !== 'string' ? given : [{ type: 'text', text: given }]
        expect(JSON.stringify(line?.message.content)).toBe(JSON.stringify(expected))
        expect(isWellFormed(rawLines(session.path))).toBe(true)
        expectEntireReads(session, 1)
      }),
      { numRuns: 150 },
    )
  })
})

/** JSON's way: every key its own property, also `__proto__`. */
function asObject(entries: [string, unknown][]): Record<string, unknown> {
  return Object.fromEntries(entries)
}

function isWellFormed(value: unknown): boolean {
  if (typeof value === 'string') return !/\p{Surrogate}/u.test(value)
  if (typeof value !== 'object' || value === null) return true
  return Object.entries(value).every(([key, inner]) => isWellFormed(key) && isWellFormed(inner))
}
