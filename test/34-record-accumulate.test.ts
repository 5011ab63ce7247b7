// The stream accumulator on its own: bytes cut anywhere, streams that break off, events nobody has seen yet.
import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { accumulateMessage, MessageAccumulator } from '../src/record/index.ts'
import fc from './setup/properties.ts'

const START = {
  type: 'message_start',
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-x',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: {
      input_tokens: 1200,
      output_tokens: 1,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 800,
    },
  },
}
const EVENTS = [
  START,
  { type: 'ping' },
  { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'héllo 🧪 ' } },
  {
    type: 'content_block_start',
    index: 1,
    content_block: { type: 'tool_use', id: 't1', name: 'Read', input: {} },
  },
  {
    type: 'content_block_delta',
    index: 1,
    delta: { type: 'input_json_delta', partial_json: '{"path":"src/' },
  },
  { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'sig' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: 'main.rs"}' } },
  { type: 'content_block_stop', index: 1 },
  {
    type: 'message_delta',
    delta: { stop_reason: 'tool_use', stop_sequence: null },
    usage: { output_tokens: 40 },
  },
  {
    type: 'message_delta',
    delta: {},
    usage: { output_tokens: 350, input_tokens: 1201, cache_read_input_tokens: null },
  },
  { type: 'message_stop' },
]
const EXPECTED = {
  id: 'msg_1',
  model: 'claude-x',
  content: [
    { type: 'thinking', thinking: 'héllo 🧪 ', signature: 'sig' },
    { type: 'tool_use', id: 't1', name: 'Read', input: { path: 'src/main.rs' } },
  ],
  stopReason: 'tool_use',
  stopSequence: null,
  usage: {
    input_tokens: 1201,
    output_tokens: 350,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 800,
  },
  complete: true,
  unfinished: [],
  unplaced: [],
  ignored: {},
  other: { type: 'message', role: 'assistant' },
}

const sse = (events: object[], end = '\n'): string =>
  events
    .map(
      (event) => `event: ${(event as { type: string }).type}${end}data: ${JSON.stringify(event)}${end}${end}`,
    )
    .join('')
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

describe('what goes in', () => {
  test('bytes, text, chunks of either, parsed events, sync or async', async () => {
    const text = sse(EVENTS)
    async function* later(): AsyncGenerator<object> {
      yield* EVENTS
    }
    const body = new Response(text).body as unknown as AsyncIterable<Uint8Array>
    for (const input of [text, bytesOf(text), [text], [bytesOf(text)], EVENTS, later(), body]) {
      expect(await accumulateMessage(input)).toEqual(EXPECTED)
    }
  })

  test.each(['\n', '\r\n', '\r'])('line ends %j, cut after every byte and every UTF-16 unit', async (end) => {
    const text = `\ufeff: comment${end}${sse(EVENTS, end)}`
    const single = [...bytesOf(text)].map((byte) => Uint8Array.of(byte))
    expect(await accumulateMessage(single)).toEqual(EXPECTED)
    expect(await accumulateMessage(text.split(''))).toEqual(EXPECTED)
    expect(await accumulateMessage(single.flatMap((byte) => [new Uint8Array(), byte]))).toEqual(EXPECTED)
  })

  test('bytes of another realm, as test runners have them', async () => {
    const bytes = runInNewContext('Uint8Array.from(bytes)', {
      bytes: [...bytesOf(sse(EVENTS))],
    }) as Uint8Array
    expect(bytes).not.toBeInstanceOf(Uint8Array)
    expect(await accumulateMessage(bytes)).toEqual(EXPECTED)
    expect(await accumulateMessage([bytes.subarray(0, 90), bytes.subarray(90)])).toEqual(EXPECTED)
  })

  test('a byte order mark before the first field, as bytes and as text', async () => {
    const text = `\ufeff${EVENTS.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')}`
    expect(await accumulateMessage(text)).toEqual(EXPECTED)
    expect(await accumulateMessage([...bytesOf(text)].map((byte) => Uint8Array.of(byte)))).toEqual(EXPECTED)
  })

  test('a long line in many small chunks takes linear time', async () => {
    const run = async (length: number): Promise<number> => {
      const delta = { type: 'text_delta', text: 'x'.repeat(length) }
      const text = sse([
        START,
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
        { type: 'content_block_delta', index: 0, delta },
      ])
      const before = process.cpuUsage()
      const chunks = text.match(/.{1,16}/gs) ?? []
      expect((await accumulateMessage(chunks)).content[0]?.['text']).toHaveLength(length)
      const { user, system } = process.cpuUsage(before)
      return user + system
    }
    await run(100_000)
    const small = await run(200_000)
    // Eight times the bytes: quadratic work would be 64 times as much.
    expect(await run(1_600_000)).toBeLessThan(Math.max(small, 20_000) * 32)
  })

  test('fields without a space, data over several lines, [DONE] and nonsense', async () => {
    const odd = [
      'data:{"type":"message_start",',
      'data:"message":{"id":"a","usage":{}}}',
      'id: 7',
      'nonsense',
      '',
      'data: [DONE]',
      '',
      'event: message_stop',
      'data: {}',
      '',
      'data: {broken',
      '',
      'data: 5',
      '',
    ].join('\n')
    const result = await accumulateMessage(odd)
    expect(result).toMatchObject({ id: 'a', complete: true })
    expect(result.ignored).toEqual({ '[DONE]': 1, 'not-json': 1, 'not-object': 1 })
  })
})

describe('streams that break off', () => {
  test('cut at any byte: no throw, marked, and only what had arrived', async () => {
    const bytes = bytesOf(sse(EVENTS))
    await fc.assert(
      fc.asyncProperty(fc.nat(bytes.length), async (cut) => {
        const result = await accumulateMessage(bytes.subarray(0, cut))
        const atEnd = bytes.length - cut <= 2 // only the blank line is missing
        expect(result.complete).toBe(atEnd)
        const [thinking, tool] = result.content
        expect('héllo 🧪 '.startsWith(String(thinking?.['thinking'] ?? ''))).toBe(true)
        if (tool?.['partial_json'] !== undefined) expect(tool['input']).toEqual({})
        else expect([{}, { path: 'src/main.rs' }]).toContainEqual(tool?.['input'] ?? {})
      }),
    )
  })

  test('unfinished blocks are named and half a tool input stays as text', async () => {
    const result = await accumulateMessage(EVENTS.slice(0, 6))
    expect(result.content[1]).toEqual({
      type: 'tool_use',
      id: 't1',
      name: 'Read',
      input: {},
      partial_json: '{"path":"src/',
    })
    expect(result).toMatchObject({ complete: false, unfinished: [0, 1], stopReason: null })
    // The placeholder of message_start: exact input, output not final.
    expect(result.usage).toEqual(START.message.usage)
  })

  test('a source that throws gives what had arrived and the reason', async () => {
    const reset = new Error('read ECONNRESET')
    async function* source(): AsyncGenerator<string> {
      yield sse(EVENTS.slice(0, 4))
      throw reset
    }
    const result = await accumulateMessage(source())
    expect(result.error).toEqual({ type: 'source_failed', message: 'read ECONNRESET', cause: reset })
    expect(result).toMatchObject({ complete: false, content: [{ thinking: 'héllo 🧪 ' }] })
  })

  test('an error event ends the message, also when its data is no JSON', async () => {
    const error = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }
    const cut = await accumulateMessage([...EVENTS.slice(0, 4), error, ...EVENTS.slice(4)])
    expect(cut.error).toEqual({ type: 'overloaded_error', message: 'Overloaded' })
    expect(cut.content).toHaveLength(1)
    expect(cut.ignored).toMatchObject({ content_block_start: 1, message_stop: 1 })
    const plain = await accumulateMessage('event: error\ndata: upstream died\n\n')
    expect(plain).toMatchObject({ complete: false, error: { message: 'upstream died' }, usage: null })
  })

  test('a second message_start never mixes two messages', async () => {
    const second = { ...START, message: { ...START.message, id: 'msg_2' } }
    const result = await accumulateMessage([...EVENTS.slice(0, 4), second, ...EVENTS.slice(2)])
    expect(result).toMatchObject({ id: 'msg_1', complete: false, error: { type: 'second_message_start' } })
    expect(result.content).toHaveLength(1)
  })

  test('events in another order: message_start may come late, and without it nothing is complete', async () => {
    const [first, ...rest] = EVENTS
    const delta = EVENTS.find((event) => (event as { type: string }).type === 'message_delta') as object
    const late = await accumulateMessage([delta, ...EVENTS])
    expect(late).toEqual(EXPECTED)
    const none = await accumulateMessage(rest)
    expect(none).toMatchObject({ complete: false, content: EXPECTED.content, id: null })
    expect(first).toBe(START)
  })

  test('a result is a copy: changing it changes no later one', () => {
    const accumulator = new MessageAccumulator()
    for (const event of EVENTS) accumulator.push(event)
    const early = accumulator.result()
    if (early.usage) early.usage['input_tokens'] = 0
    early.content.length = 0
    expect(accumulator.result()).toEqual(EXPECTED)
  })

  test('nothing at all', async () => {
    const empty = { id: null, model: null, content: [], stopReason: null, usage: null, complete: false }
    expect(await accumulateMessage([])).toMatchObject(empty)
  })
})

describe('what nobody has seen yet', () => {
  test('unknown blocks stay as they are; unknown or misplaced deltas are kept beside the message', async () => {
    const future = { type: 'hologram', beams: [1, { deep: true }] }
    const deltas = [
      { index: 0, delta: { type: 'beam_delta', beam: 2 } },
      { index: 0, delta: { type: 'text_delta', text: 'not a text block' } },
      { index: 9, delta: { type: 'text_delta', text: 'no such block' } },
    ]
    const late = { index: 1, delta: { type: 'text_delta', text: 'after its end' } }
    const result = await accumulateMessage([
      START,
      { type: 'content_block_start', index: 0, content_block: future },
      ...deltas.map((delta) => ({ type: 'content_block_delta', ...delta })),
      { type: 'content_block_stop', index: 0 },
      { type: 'content_block_start', index: 1, content_block: { type: 'text', text: 'done' } },
      { type: 'content_block_stop', index: 1 },
      { type: 'content_block_delta', ...late },
      { type: 'model_mood', mood: 'fine' },
      { type: 'model_mood', mood: 'better' },
      { type: 'message_stop' },
    ])
    expect(result.content).toEqual([future, { type: 'text', text: 'done' }])
    expect(result.unplaced).toEqual([...deltas, late])
    expect(result.ignored).toEqual({ model_mood: 2 })
    expect(result.complete).toBe(true)
  })

  test('keys like __proto__ stay data', async () => {
    const evil = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}'
    const result = await accumulateMessage(
      [
        `{"type":"message_start","message":{"id":"a","usage":${evil}}}`,
        `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","input":{},"__proto__":{"polluted":1}}}`,
        `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":${JSON.stringify(evil)}}}`,
        `{"type":"content_block_stop","index":0}`,
        `{"type":"message_delta","delta":${evil},"usage":${evil}}`,
        `{"type":"__proto__"}`,
      ].map((line) => `data: ${line}\n\n`),
    )
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
    for (const object of [result, result.content[0], result.usage, result.other, result.ignored]) {
      expect((object as Record<string, unknown>)['polluted']).toBeUndefined()
    }
    expect(JSON.stringify(result.content[0]?.['input'])).toBe(evil)
    expect(Object.keys(result.ignored)).toEqual(['__proto__'])
  })

  test('anything at all may be pushed', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.object(), fc.string(), fc.uint8Array())), (chunks) => {
        const accumulator = new MessageAccumulator()
        for (const chunk of chunks) accumulator.push(chunk)
        accumulator.end()
        expect(accumulator.result().complete).toBe(false)
      }),
    )
    const types = fc.constantFrom(...new Set(EVENTS.map((event) => event.type)), 'error')
    const event = fc.record({
      type: types,
      index: fc.oneof(fc.nat(2), fc.anything()),
      message: fc.oneof(fc.constant(START.message), fc.anything()),
      content_block: fc.oneof(fc.record({ type: fc.constantFrom('text', 'tool_use') }), fc.anything()),
      delta: fc.oneof(fc.record({ type: fc.constantFrom('text_delta', 'input_json_delta') }), fc.anything()),
      usage: fc.anything(),
      error: fc.anything(),
    })
    fc.assert(
      fc.property(fc.array(event), (list) => {
        const accumulator = new MessageAccumulator()
        for (const item of list) accumulator.push(item)
        accumulator.end()
        expect(Array.isArray(accumulator.result().content)).toBe(true)
      }),
    )
  })
})

test('the result may be asked for while the stream runs, and does not change afterwards', () => {
  const accumulator = new MessageAccumulator()
  const seen = EVENTS.map((event) => {
    accumulator.push(event)
    const result = accumulator.result()
    return { ...result, atThatTime: JSON.stringify(result) }
  })
  expect(seen.map((result) => result.content.length)).toEqual([0, 0, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2])
  expect(accumulator.result()).toEqual(EXPECTED)
  for (const { atThatTime, ...result } of seen) expect(JSON.stringify(result)).toBe(atThatTime)
  expect(seen[4]?.complete).toBe(false)
  // The caller's events are not changed either.
  expect(START.message.usage.output_tokens).toBe(1)
})
