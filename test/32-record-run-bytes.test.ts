// The bytes of a run transcript, against files that the Go program of the format wrote (test/golden/run/README.md), and
// the run id.
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { copyJson, encodeGo } from '../src/record/go-json.ts'
import {
  buildRunId,
  loadRun,
  parseRunId,
  RunTranscript,
  RunTranscriptFile,
  saveRun,
} from '../src/record/index.ts'
import { decodeRun, encodeRun } from '../src/record/run-json.ts'
import { goTime, isTime } from '../src/record/run-model.ts'
import fc from './setup/properties.ts'

const GOLDEN = join(import.meta.dirname, 'golden/run')
const golden = (name: string) => readFileSync(join(GOLDEN, name), 'utf8')

let base: string
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'recollect-run-'))
})
afterEach(() => rmSync(base, { recursive: true }))

const STARTED = '2025-01-15T10:30:00Z'
const AT = '2025-01-15T10:30:01Z'
const ENDED = '2025-01-15T10:45:32Z'
const ZERO = '0001-01-01T00:00:00Z'

function run(number: string, metadata: object = {}, turns: object[] = []): RunTranscriptFile {
  return RunTranscriptFile.parse({
    runId: `2025-01-15-manual-run-${number}`,
    metadata: {
      flowId: 'manual-run',
      startedAt: STARTED,
      endedAt: ZERO,
      status: 'running',
      totalTokensIn: 0,
      totalTokensOut: 0,
      totalCost: 0,
      ...metadata,
    },
    turns: turns.map((turn, at) => ({ id: at + 1, role: 'user', content: '', timestamp: AT, ...turn })),
  })
}

const controls = Array.from({ length: 32 }, (_, code) => String.fromCharCode(code)).filter(
  (char) => char !== '\b' && char !== '\f',
)
const completed = { status: 'completed', endedAt: ENDED }

/** What each golden file holds. */
const VALUES: Record<string, RunTranscriptFile> = {
  '01-adr-example.json': {
    ...run(
      '',
      {
        ...completed,
        flowId: 'ticket-to-pr',
        nodeId: 'generate-spec',
        input: { ticketId: 'TK-421' },
        totalTokensIn: 5200,
        totalTokensOut: 8400,
        totalCost: 0.12,
      },
      [
        { role: 'system', content: 'You are an expert software architect...', timestamp: STARTED },
        { content: 'Generate a spec for TK-421...', tokensIn: 1500 },
        {
          role: 'assistant',
          content: '# Technical Specification...',
          tokensOut: 2500,
          timestamp: '2025-01-15T10:30:45Z',
          toolCalls: [{ name: 'read_file', input: { path: 'api/handler.go' }, output: 'package api...' }],
        },
      ],
    ),
    runId: '2025-01-15-ticket-to-pr-TK421',
  },
  '02-running.json': run('001'),
  '03-escapes.json': run('003', { ...completed, totalTokensIn: 1, totalTokensOut: 1 }, [
    {
      content: `${controls.join('')}\x7f\u0080 " \\ / ' <b>&</b> \u2028\u2029 é 😀 \ufffd`,
      tokensIn: 1,
    },
    {
      role: 'assistant',
      content: 'broken \ud800\udbff end',
      tokensOut: 1,
      toolCalls: [{ name: '<tool>', input: { '<&>': '\u2028' }, output: 'a&b' }],
    },
  ]),
  '04-backspace.json': run('004', {}, [{ content: 'bell \b form \f' }]),
  '05-map-keys.json': run('005', {
    input: JSON.parse(
      '{"10":1,"9":2,"a":3,"A":4,"":5,"é":6,"😀":7,"｡":8,"__proto__":9,"ab":10,"a-b":11,"deep":[{"z":1,"b":{"2":1,"10":2}}]}',
    ),
  }),
  '06-numbers.json': run('006', {
    totalTokensIn: Number.MAX_SAFE_INTEGER,
    totalCost: 0.0000005,
    input: {
      // biome-ignore format: one row, as in the golden file
      n: [0, 1, -1.5, -0, 1e-6, 9.99e-7, 1e-7, 1.5e-9, 1e-10, 1e-100, 1e20, 123456789012345680000, 1e21, 1.5e300,
        Number.MAX_VALUE, 5e-324, 0.1, 0.3, 1 / 3, Number.MAX_SAFE_INTEGER, 1e8, -1e-7, -1e21, 12345678901234567000],
    },
  }),
  '07-omitempty.json': run(
    '007',
    { status: 'failed', endedAt: ENDED, input: {}, nodeId: '', error: 'exit status 1: <killed>' },
    [
      { role: 'system', tokensIn: 0, toolCalls: [] },
      { durationMs: 0 },
      {
        role: 'assistant',
        toolCalls: [
          { id: '', name: '', input: null, output: '' },
          { name: 'x', input: {}, error: '' },
          { id: 'call_1', name: 'y', input: { a: null }, output: 'o', error: 'e' },
        ],
        durationMs: 1200,
      },
      { role: 'tool_result', content: 'done' },
    ],
  ),
  '08-times.json': run(
    '008',
    {
      status: 'canceled',
      startedAt: '2025-01-15T10:30:00.123456789+02:00',
      endedAt: '2025-01-15T10:30:00.5-07:30',
    },
    [
      ['2025-01-15T10:30:00.120Z', '2025-01-15T10:30:00.12Z'],
      ['2025-01-15T10:30:00.000001Z'],
      ['2025-01-15T10:30:00+00:00', '2025-01-15T10:30:00Z'],
      ['2024-02-29T23:59:59.999999999Z'],
      ['0000-01-01T00:00:00Z'],
      ['9999-12-31T23:59:59Z'],
    ].map(([content, timestamp]) => ({ content, timestamp: timestamp ?? content })),
  ),
  '09-nesting.json': run('009', {
    input: {
      empty: {},
      none: [],
      null: null,
      yes: true,
      no: false,
      list: [[], [1, ['x']], {}, { k: [null] }],
    },
  }),
}

describe('golden files', () => {
  test('every file that Go wrote is compared', () => {
    const elsewhere = ['04-backspace-go119.json', '10-large.json.gz', '11-recorded.json', 'README.md']
    const files = readdirSync(GOLDEN).filter((name) => !/\.(in|out)\.json$/.test(name))
    expect(files.sort()).toEqual([...Object.keys(VALUES), ...elsewhere].sort())
  })

  test.each(Object.entries(VALUES))('%s: written byte for byte', (name, value) => {
    expect(encodeRun(value)).toBe(golden(name))
  })

  test.each(Object.keys(VALUES))('%s: loaded and saved unchanged', async (name) => {
    // Only the escape for what is not Unicode is not kept: it is read as U+FFFD, and Go saves that raw.
    const expected = golden(name).replaceAll('\\ufffd', '\ufffd')
    const path = await saveRun(base, decodeRun(golden(name), name))
    expect(readFileSync(path, 'utf8')).toBe(expected)
    const again = await loadRun(base, decodeRun(golden(name), name).runId)
    expect(encodeRun(again)).toBe(expected)
  })

  test('a file from Go before 1.22 is read, and saved as the later ones do', () => {
    expect(encodeRun(decodeRun(golden('04-backspace-go119.json'), ''))).toBe(golden('04-backspace.json'))
  })

  test.each(['20-lenient', '21-surrogates'])('%s: read as Go reads it', (name) => {
    expect(encodeRun(decodeRun(golden(`${name}.in.json`), name))).toBe(golden(`${name}.out.json`))
  })

  test('a gzip stream from Go is read', async () => {
    const bytes = readFileSync(join(GOLDEN, '10-large.json.gz'))
    const runId = '2025-01-15-manual-run-010'
    await saveRun(base, { ...run('010'), turns: [] })
    writeFileSync(join(base, 'runs', runId, 'transcript.json.gz'), bytes)
    const loaded = await loadRun(base, runId)
    expect(loaded.turns[0]?.content).toBe('0123456789abcdef'.repeat(7000))
    expect(encodeRun(loaded)).toBe(gunzipSync(bytes).toString())
  })

  test('the same calls give the same bytes', async () => {
    const times = [STARTED, ...Array<string>(5).fill(AT), ENDED].map((time) => new Date(time))
    const recorded = await RunTranscript.start(base, {
      runId: { date: '2025-01-15', flow: 'ticket-to-pr', identifier: 'TK421' },
      nodeId: 'generate-spec',
      input: { ticketId: 'TK-421', draft: false },
      now: () => times.shift() as Date,
    })
    await recorded.addTurn('system', 'You are an expert.', 500)
    await recorded.addTurn('user', 'Write <the> spec & tests', 1200)
    await recorded.addTurn('assistant', 'Reading.', 90)
    await recorded.addToolCall('read_file', { path: 'a.go' }, 'package a')
    await recorded.addToolCall('list', {})
    await recorded.addTurn('tool_result', 'package a')
    await recorded.addTurn('assistant', 'Done.', 10)
    await recorded.addCost(0.1)
    await recorded.addCost(0.2)
    const path = await recorded.fail(new Error('tests failed'))
    expect(readFileSync(path, 'utf8')).toBe(golden('11-recorded.json'))
    const { mode } = statSync(path)
    expect(mode & 0o777).toBe(0o644 & ~process.umask())
    expect(statSync(join(path, '..')).mode & 0o777).toBe(0o755 & ~process.umask())
  })
})

const text = fc.string({ unit: 'binary', maxLength: 30 })
const json = fc.jsonValue({ stringUnit: 'binary', maxDepth: 3 }).filter((value) => value !== undefined)
const map = fc.dictionary(text, json, { maxKeys: 5 })
const time = fc
  .date({ min: new Date('0000-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59Z'), noInvalidDate: true })
  .map(goTime)
const filled = <T>(arbitrary: fc.Arbitrary<T>) =>
  arbitrary.filter(
    (value) => Boolean(value) && (typeof value !== 'object' || Object.keys(value as object).length > 0),
  )
const count = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })
const toolCall = fc.record(
  { id: filled(text), name: text, input: fc.option(map), output: filled(text), error: filled(text) },
  { requiredKeys: ['name', 'input'] },
)
const turn = fc.record(
  {
    id: count,
    role: text,
    content: text,
    tokensIn: count,
    tokensOut: count,
    timestamp: time,
    toolCalls: fc.array(toolCall, { minLength: 1, maxLength: 3 }),
    durationMs: count,
  },
  { requiredKeys: ['id', 'role', 'content', 'timestamp'] },
)
const metadata = fc.record(
  {
    flowId: text,
    nodeId: filled(text),
    input: filled(map),
    startedAt: time,
    endedAt: time,
    status: text,
    totalTokensIn: count,
    totalTokensOut: count,
    totalCost: fc.double({ noDefaultInfinity: true, noNaN: true }),
    error: filled(text),
  },
  {
    requiredKeys: [
      'flowId',
      'startedAt',
      'endedAt',
      'status',
      'totalTokensIn',
      'totalTokensOut',
      'totalCost',
    ],
  },
)
const transcript = fc.record({
  runId: fc.constant('2025-01-15-a-b'),
  metadata,
  turns: fc.array(turn, { maxLength: 4 }),
})

describe('any transcript', () => {
  test('encoded and decoded is the same, and the same bytes again', () => {
    fc.assert(
      fc.property(transcript, (value) => {
        const bytes = encodeRun(value as RunTranscriptFile)
        const decoded = decodeRun(bytes, '')
        expect(decoded).toEqual(copyJson(value, ''))
        expect(encodeRun(decoded)).toBe(bytes)
        expect(decodeRun(encodeGo(JSON.parse(bytes)), '')).toEqual(decoded)
        expect(RunTranscriptFile.parse(decoded)).toEqual(decoded)
      }),
      { numRuns: 300 },
    )
  })

  test('saved and loaded is the same', async () => {
    await fc.assert(
      fc.asyncProperty(transcript, async (value) => {
        await saveRun(base, value as RunTranscriptFile)
        expect(await loadRun(base, value.runId)).toEqual(copyJson(value, ''))
      }),
      { numRuns: 30 },
    )
  })
})

describe('what the reader refuses', () => {
  test.each([
    ['text', 'not json'],
    ['an array', '[]'],
    ['a cut file', golden('01-adr-example.json').slice(0, -1)],
    ['a string id', '{"turns":[{"id":"1"}]}'],
    ['half an id', '{"turns":[{"id":1.5}]}'],
    ['a count beyond 2^53', '{"metadata":{"totalTokensIn":9007199254740993}}'],
    ['a number no float64 holds', '{"metadata":{"input":{"n":[1e999]}}}'],
    ['a day that does not exist', '{"metadata":{"startedAt":"2025-02-29T00:00:00Z"}}'],
    ['turns that are no list', '{"turns":{}}'],
    ['a list as input', '{"metadata":{"input":[1]}}'],
  ])('%s', (_, text) => {
    expect(() => decodeRun(text, 'file')).toThrow(expect.objectContaining({ code: 'CORRUPT' }))
  })

  test('a damaged file does not show its text in the error', () => {
    expect(() => decodeRun('{"runId": "secret words', 'file')).toThrow(/^not JSON, or cut short$/)
  })

  test.each([
    ['2025-01-15T10:30:00Z', true],
    ['2025-01-15T10:30:00.1234567891+23:59', true],
    ['2025-01-15t10:30:00Z', false],
    ['2025-01-15T10:30:00', false],
    ['2025-01-15T10:30:60Z', false],
    ['2025-01-15T24:00:00Z', false],
    ['2025-01-15T10:30:00,5Z', false],
    ['2025-01-15T10:30:00+24:00', false],
    ['2025-13-15T10:30:00Z', false],
  ])('time %s: %s', (value, good) => {
    expect(isTime(value)).toBe(good)
  })
})

describe('values a caller may give', () => {
  test('members that are undefined are left out; the copy is its own', () => {
    const given = { a: undefined, b: [1, { c: 'x' }] }
    const copy = copyJson(given, 'input')
    given.b.push(2)
    expect(copy).toEqual({ b: [1, { c: 'x' }] })
    expect(Object.keys(copy as object)).toEqual(['b'])
  })

  const circle: Record<string, unknown> = {}
  circle['self'] = circle
  test.each([
    ['NaN', { a: { b: Number.NaN } }, 'input.a.b'],
    ['a function', { a: [() => 1] }, 'input.a[0]'],
    ['a bigint', { a: 1n }, 'input.a'],
    ['a Date', { a: new Date() }, 'input.a'],
    ['undefined in a list', { a: [undefined] }, 'input.a[0]'],
    ['itself', circle, expect.stringMatching(/^input\.self/)],
  ])('%s is refused, by its place', (_, value, where) => {
    expect(() => copyJson(value, 'input')).toThrow(expect.objectContaining({ code: 'BAD_INPUT', where }))
  })
})

describe('run id', () => {
  test.each([
    ['2025-01-15-ticket-to-pr-TK421', 'ticket-to-pr', 'TK421'],
    ['2025-01-15-review-pr-123', 'review-pr', '123'],
    ['2025-01-15-manual-run-001', 'manual-run', '001'],
  ])('%s', (id, flow, identifier) => {
    const parts = { date: '2025-01-15', flow, identifier }
    expect(buildRunId(parts)).toBe(id)
    expect(parseRunId(id)).toEqual({ ...parts, ambiguous: true })
    expect(parseRunId(id, [flow, 'other'])).toEqual({ ...parts, ambiguous: false })
  })

  test('known flows find the suffix', () => {
    expect(parseRunId('2025-01-15-review-pr-123', ['review'])).toEqual({
      date: '2025-01-15',
      flow: 'review',
      identifier: 'pr',
      suffix: '123',
      ambiguous: false,
    })
    expect(parseRunId('2025-01-15-a-b-c', ['a', 'a-b'])).toMatchObject({ flow: 'a-b', ambiguous: true })
    expect(parseRunId('2025-01-15-a-b')).toMatchObject({ flow: 'a', identifier: 'b', ambiguous: false })
  })

  const word = fc.stringMatching(/^[A-Za-z0-9_]{1,8}$/)
  test('built and parsed is the same; parsed and built too', () => {
    const flow = fc.array(word, { minLength: 1, maxLength: 4 }).map((words) => words.join('-'))
    fc.assert(
      fc.property(
        flow,
        word,
        fc.option(word, { nil: undefined }),
        fc.array(flow),
        (flow, identifier, suffix, others) => {
          const parts = { date: '2024-02-29', flow, identifier, ...(suffix === undefined ? {} : { suffix }) }
          const id = buildRunId(parts)
          expect(parseRunId(id, [flow])).toEqual({ ...parts, ambiguous: false })
          expect(buildRunId(parseRunId(id))).toBe(id)
          expect(buildRunId(parseRunId(id, others))).toBe(id)
        },
      ),
    )
  })

  test('today is the day in UTC', () => {
    const date = new Date('2025-01-15T23:59:59Z')
    expect(buildRunId({ date, flow: 'f', identifier: 'i' })).toBe('2025-01-15-f-i')
    expect(buildRunId({ flow: 'f', identifier: 'i' })).toMatch(/^\d{4}-\d\d-\d\d-f-i$/)
  })

  test.each([
    ['2025-02-29-f-i', 'BAD_INPUT'],
    ['2025-1-15-f-i', 'BAD_INPUT'],
    ['2025-01-15-f', 'BAD_INPUT'],
    ['2025-01-15-f--i', 'BAD_INPUT'],
    ['2025-01-15_f-i', 'BAD_INPUT'],
    ['run', 'BAD_INPUT'],
    ['2025-01-15-../x-i', 'BAD_NAME'],
    ['', 'BAD_NAME'],
  ])('%s is refused: %s', (id, code) => {
    expect(() => parseRunId(id)).toThrow(expect.objectContaining({ code }))
  })

  test.each([
    [{ flow: '', identifier: 'i' }, 'BAD_INPUT'],
    [{ flow: 'f-', identifier: 'i' }, 'BAD_INPUT'],
    [{ flow: 'f', identifier: 'TK-421' }, 'BAD_INPUT'],
    [{ flow: 'f', identifier: 'i', suffix: '' }, 'BAD_INPUT'],
    [{ flow: 'f/g', identifier: 'i' }, 'BAD_NAME'],
    [{ date: '2025-00-01', flow: 'f', identifier: 'i' }, 'BAD_INPUT'],
    [{ date: new Date(Number.NaN), flow: 'f', identifier: 'i' }, 'BAD_INPUT'],
  ])('%j is not built: %s', (parts, code) => {
    expect(() => buildRunId(parts)).toThrow(expect.objectContaining({ code }))
  })
})
