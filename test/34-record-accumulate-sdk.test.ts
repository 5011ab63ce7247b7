// The same bytes through our accumulator and through Anthropic's own TypeScript SDK must give the same message.
import Anthropic from '@anthropic-ai/sdk'
import { describe, expect, test } from 'vitest'
import { accumulateMessage } from '../src/record/index.ts'
import fc from './setup/properties.ts'

type Event = Record<string, unknown> & { type: string }

async function throughSdk(chunks: Uint8Array[], beta = false): Promise<Record<string, unknown>> {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk)
      controller.close()
    },
  })
  const client = new Anthropic({
    apiKey: 'none',
    maxRetries: 0,
    logLevel: 'off',
    fetch: async () => new Response(body, { headers: { 'content-type': 'text/event-stream' } }),
  })
  const params = { model: 'm', max_tokens: 1, messages: [{ role: 'user' as const, content: 'x' }] }
  const stream = beta ? client.beta.messages.stream(params) : client.messages.stream(params)
  return JSON.parse(JSON.stringify(await stream.finalMessage())) as Record<string, unknown>
}

function splitAt(bytes: Uint8Array, cuts: number[]): Uint8Array[] {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b)
  return [0, ...places].map((place, i) => bytes.subarray(place, places[i] ?? bytes.length))
}

const text = fc.string({ unit: 'grapheme', maxLength: 12 })
const count = fc.nat(100_000)
const json = fc.dictionary(text, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 })

/** A block as its own events, in order: start, deltas, stop. */
const block = fc.oneof(
  fc
    .array(text, { maxLength: 5 })
    .map((parts) => [
      { type: 'text', text: '' },
      ...parts.map((part) => ({ type: 'text_delta', text: part })),
    ]),
  fc.array(text, { minLength: 1, maxLength: 3 }).map((parts) => [
    { type: 'text', text: '', citations: null },
    ...parts.map((part) => ({
      type: 'citations_delta',
      citation: { type: 'char_location', cited_text: part },
    })),
    { type: 'text_delta', text: parts.join() },
  ]),
  fc
    .tuple(fc.array(text, { maxLength: 4 }), text)
    .map(([parts, signature]) => [
      { type: 'thinking', thinking: '', signature: '' },
      ...parts.map((part) => ({ type: 'thinking_delta', thinking: part })),
      { type: 'signature_delta', signature },
    ]),
  text.map((data) => [{ type: 'redacted_thinking', data }]),
  json.map((result) => [{ type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [result] }]),
  fc
    .tuple(
      fc.constantFrom('tool_use', 'server_tool_use'),
      fc.option(json),
      fc.array(fc.nat(200), { maxLength: 6 }),
      fc.boolean(),
    )
    .map(([type, input, cuts, emptyFirst]) => {
      const whole = input === null ? '' : JSON.stringify(input)
      const places = [...new Set(cuts.map((cut) => cut % (whole.length + 1)))].sort((a, b) => a - b)
      const parts = [0, ...places].map((place, i) => whole.slice(place, places[i] ?? whole.length))
      return [
        { type, id: 'toolu_1', name: 'Bash', input: {} },
        ...(emptyFirst ? [''] : [])
          .concat(parts)
          .map((part) => ({ type: 'input_json_delta', partial_json: part })),
      ]
    }),
)

const startUsage = fc.record({
  input_tokens: count,
  output_tokens: count,
  cache_creation_input_tokens: fc.option(count),
  cache_read_input_tokens: fc.option(count),
  cache_creation: fc.constant({ ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 4 }),
  service_tier: fc.constant('standard'),
})
const deltaUsage = fc.record(
  {
    output_tokens: count,
    input_tokens: fc.option(count),
    cache_creation_input_tokens: fc.option(count),
    cache_read_input_tokens: fc.option(count),
    server_tool_use: fc.option(fc.record({ web_search_requests: count })),
    output_tokens_details: fc.option(fc.record({ thinking_tokens: count })),
  },
  { requiredKeys: ['output_tokens'] },
)
const noise = fc.constantFrom<Event>({ type: 'ping' }, { type: 'vendor_event', x: [1] })

/** A whole stream: blocks start in order, everything after their start is interleaved at random. */
const events = fc
  .record({
    usage: startUsage,
    blocks: fc.array(block, { maxLength: 5 }),
    order: fc.array(fc.nat(), { minLength: 60, maxLength: 60 }),
    deltas: fc.array(fc.tuple(deltaUsage, fc.constantFrom('end_turn', 'tool_use', 'max_tokens')), {
      minLength: 1,
      maxLength: 3,
    }),
    noise: fc.array(fc.tuple(fc.nat(), noise), { maxLength: 4 }),
  })
  .map(({ usage, blocks, order, deltas, noise }): Event[] => {
    const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-x', content: [], usage }
    const out: Event[] = [
      { type: 'message_start', message: { ...message, stop_reason: null, stop_sequence: null } },
    ]
    const waiting = blocks.map(([start, ...rest], index): Event[] => [
      { type: 'content_block_start', index, content_block: start },
      ...rest.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ])
    let startedCount = 0
    for (let turn = 0; waiting.some((queue) => queue.length > 0); turn++) {
      const open = waiting.filter((queue, i) => queue.length > 0 && i <= startedCount)
      const queue = open[(order[turn % order.length] as number) % open.length] as Event[]
      const event = queue.shift() as Event
      if (event.type === 'content_block_start') startedCount++
      out.push(event)
    }
    for (const [used, stop_reason] of deltas) {
      out.push({ type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: used })
    }
    for (const [at, event] of noise) out.splice(1 + (at % out.length), 0, event)
    return [...out, { type: 'message_stop' }]
  })

const style = fc.record({
  newline: fc.constantFrom('\n', '\r\n', '\r'),
  space: fc.boolean(),
  pretty: fc.boolean(),
  comment: fc.boolean(),
  bom: fc.boolean(),
})

function toSse(list: Event[], how: typeof style extends fc.Arbitrary<infer T> ? T : never): Uint8Array {
  const lines: string[] = how.comment ? [': hello', 'retry: 10', ''] : []
  for (const event of list) {
    lines.push(`event:${how.space ? ' ' : ''}${event.type}`)
    for (const line of JSON.stringify(event, null, how.pretty ? 1 : 0).split('\n')) {
      lines.push(`data:${how.space ? ' ' : ''}${line}`)
    }
    lines.push('')
  }
  return new TextEncoder().encode(
    (how.bom ? '\ufeff' : '') + lines.map((line) => line + how.newline).join(''),
  )
}

const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

describe('against the official SDK', () => {
  test('content, stop reason and usage agree on any stream cut into any chunks', async () => {
    await fc.assert(
      fc.asyncProperty(events, style, fc.array(fc.nat(), { maxLength: 40 }), async (list, how, cuts) => {
        const chunks = splitAt(toSse(list, how), cuts)
        const [ours, theirs] = [await accumulateMessage(chunks), await throughSdk(chunks)]
        expect(asJson(ours.content)).toEqual(withoutSdkFields(theirs['content']))
        expect(ours.stopReason).toBe(theirs['stop_reason'])
        expect(ours.stopSequence).toBe(theirs['stop_sequence'])
        expect(asJson(ours.usage)).toEqual(theirs['usage'])
        expect([ours.id, ours.model, ours.complete]).toEqual([theirs['id'], theirs['model'], true])
        expect([ours.error, ours.unfinished, ours.unplaced]).toEqual([undefined, [], []])
      }),
      { numRuns: 200 },
    )
  })

  test('beta streams agree: compaction, fallback and MCP tool use', async () => {
    const bytes = toSse(
      [
        {
          type: 'message_start',
          message: { id: 'msg_b', model: 'asked', content: [], usage: { input_tokens: 5 } },
        },
        { type: 'content_block_start', index: 0, content_block: { type: 'compaction', content: null } },
        { type: 'content_block_delta', index: 0, delta: { type: 'compaction_delta', content: 'shorter' } },
        { type: 'content_block_stop', index: 0 },
        {
          type: 'content_block_start',
          index: 1,
          content_block: { type: 'fallback', to: { model: 'served' } },
        },
        { type: 'content_block_stop', index: 1 },
        {
          type: 'content_block_start',
          index: 2,
          content_block: { type: 'mcp_tool_use', id: 'm', input: {} },
        },
        {
          type: 'content_block_delta',
          index: 2,
          delta: { type: 'input_json_delta', partial_json: '{"a":[1]}' },
        },
        { type: 'content_block_stop', index: 2 },
        {
          type: 'message_delta',
          delta: { stop_reason: 'end_turn' },
          usage: { output_tokens: 9, iterations: [{ input_tokens: 5 }] },
        },
        { type: 'message_stop' },
      ],
      { newline: '\n', space: true, pretty: false, comment: false, bom: false },
    )
    const [ours, theirs] = [await accumulateMessage(bytes), await throughSdk([bytes], true)]
    expect(asJson(ours.content)).toEqual(withoutSdkFields(theirs['content']))
    expect([ours.model, ours.usage]).toEqual([theirs['model'], theirs['usage']])
    expect(ours.model).toBe('served')
  })
})

/** The SDK adds this to text blocks for its structured-output helper; it is no part of the message. */
function withoutSdkFields(content: unknown): unknown {
  return (content as Record<string, unknown>[]).map(({ parsed_output: _, parsed: __, ...rest }) => rest)
}

// Where we differ on purpose. Each shows what the SDK does on the same bytes, so that a change there is noticed.
describe('deliberate differences', () => {
  const plain = { newline: '\n', space: true, pretty: false, comment: false, bom: false } as const
  const start: Event = {
    type: 'message_start',
    message: {
      id: 'msg_1',
      model: 'm',
      role: 'assistant',
      content: [],
      usage: { input_tokens: 1, output_tokens: 1 },
    },
  }
  const stop: Event[] = [
    {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: 2 },
    },
    { type: 'message_stop' },
  ]
  const tool = (partial_json: string): Event[] => [
    {
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'tool_use', id: 't', name: 'n', input: {} },
    },
    { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json } },
    { type: 'content_block_stop', index: 0 },
  ]

  test('a later null stop_reason does not erase the one that came: the SDK loses it', async () => {
    const list = [
      start,
      ...stop.slice(0, 1),
      { ...stop[0], delta: { stop_reason: null } } as Event,
      stop[1] as Event,
    ]
    const bytes = toSse(list, plain)
    expect((await throughSdk([bytes]))['stop_reason']).toBe(null)
    expect((await accumulateMessage(bytes)).stopReason).toBe('end_turn')
  })

  test('usage fields the SDK does not know are taken from message_delta too: the SDK drops them', async () => {
    const delta = { ...stop[0], usage: { output_tokens: 2, new_counter: 7 } } as Event
    const bytes = toSse([start, delta, stop[1] as Event], plain)
    expect((await throughSdk([bytes]))['usage']).not.toHaveProperty('new_counter')
    expect((await accumulateMessage(bytes)).usage).toMatchObject({ output_tokens: 2, new_counter: 7 })
  })

  test('broken tool input is kept as text: the SDK guesses an input', async () => {
    const bytes = toSse([start, ...tool('{"a":"b","c":"cut he'), ...stop], plain)
    const theirs = (await throughSdk([bytes]))['content'] as { input: unknown }[]
    expect(theirs[0]?.input).toEqual({ a: 'b' })
    const ours = await accumulateMessage(bytes)
    expect(ours.content[0]).toMatchObject({ input: {}, partial_json: '{"a":"b","c":"cut he' })
  })

  test('blocks that start out of order are put in order: the SDK gives deltas to the wrong block', async () => {
    const list = [1, 0].flatMap((index): Event[] => [
      { type: 'content_block_start', index, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index, delta: { type: 'text_delta', text: `block ${index}` } },
    ])
    const bytes = toSse([start, ...list, ...stop], plain)
    const theirs = (await throughSdk([bytes]))['content'] as { text: string }[]
    expect(theirs.map((part) => part.text)).not.toEqual(['block 0', 'block 1'])
    const ours = await accumulateMessage(bytes)
    expect(ours.content.map((part) => part['text'])).toEqual(['block 0', 'block 1'])
  })

  test('events without a name are read by their type: the SDK skips them', async () => {
    const bytes = new TextEncoder().encode(
      [start, ...tool('{}'), ...stop].map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''),
    )
    await expect(throughSdk([bytes])).rejects.toThrow()
    expect(await accumulateMessage(bytes)).toMatchObject({ complete: true, stopReason: 'end_turn' })
  })

  test('an error event and a cut stream give what had arrived: the SDK throws it away', async () => {
    const error = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }
    for (const tail of [[error], []]) {
      const bytes = toSse([start, ...tool('{"a":1}'), ...tail], plain)
      await expect(throughSdk([bytes])).rejects.toThrow()
      const ours = await accumulateMessage(bytes)
      expect(ours).toMatchObject({ complete: false, stopReason: null, content: [{ input: { a: 1 } }] })
      expect(ours.error?.type).toBe(tail[0]?.error.type)
    }
  })

  test('a last event without its blank line counts: the SDK drops it', async () => {
    const bytes = toSse([start, ...stop], plain).subarray(0, -2)
    await expect(throughSdk([bytes])).rejects.toThrow()
    expect((await accumulateMessage(bytes)).complete).toBe(true)
  })
})
