// Transcripts of agents that have no adapter: what can be told is told, everything else is kept and named.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { EventItem, Item } from '../src/adapters/adapter.ts'
import { entire } from '../src/adapters/entire/index.ts'
import fc from './setup/properties.ts'
import { news, readAll, readInSteps, resumed } from './setup/steps.ts'

const base = mkdtempSync(join(tmpdir(), 'recollect-dialects-'))
const path = join(base, '.entire', 'metadata', 's-1', 'full.jsonl')
beforeAll(() => mkdirSync(dirname(path), { recursive: true }))
afterAll(() => rmSync(base, { recursive: true, force: true }))

const AT = '2026-01-20T10:00:00.000Z'
function read(content: string | unknown[]): Item[] {
  const text =
    typeof content === 'string' ? content : content.map((one) => `${JSON.stringify(one)}\n`).join('')
  writeFileSync(path, text)
  return readAll(entire, path)
}
const eventsOf = (items: Item[]) => items.filter((item): item is EventItem => item.type === 'event')
const told = (items: Item[]): string[] =>
  eventsOf(items).map(({ kind, tool, summary }) => [kind, tool, summary].filter(Boolean).join(' | '))
const unknown = (items: Item[]) => items.flatMap((item) => (item.type === 'unknown' ? [item.name] : []))
const usage = (items: Item[]) =>
  items.flatMap((item) =>
    item.type === 'usage'
      ? [[item.input, item.cacheRead, item.cacheWrite5m, item.output, item.reasoning]]
      : [],
  )

const COPILOT = [
  {
    type: 'session.start',
    data: { sessionId: 'x', copilotVersion: '1.0', context: { cwd: '/p', branch: 'main' } },
    id: 'e0',
    parentId: null,
  },
  {
    type: 'user.message',
    data: { content: 'fix it', transformedContent: 'fix it, and more' },
    id: 'e1',
    parentId: 'e0',
  },
  {
    type: 'assistant.message',
    data: { messageId: 'm', content: 'on it', reasoningText: 'hm', model: 'g', toolRequests: [] },
    id: 'e2',
    parentId: 'e1',
  },
  {
    type: 'tool.execution_start',
    data: { toolCallId: 'c', toolName: 'bash', arguments: { command: 'pytest' } },
    id: 'e3',
    parentId: 'e2',
  },
  {
    type: 'tool.execution_complete',
    data: { toolCallId: 'c', success: false, error: { message: 'no such file' } },
    id: 'e4',
    parentId: 'e3',
  },
  { type: 'abort', data: { reason: 'user_initiated' }, id: 'e5', parentId: 'e4' },
].map((record) => ({ ...record, timestamp: AT }))

const GEMINI = {
  sessionId: 'g-1',
  projectHash: 'h',
  messages: [
    { id: 'm1', timestamp: AT, type: 'user', content: [{ text: 'fix it' }] },
    {
      id: 'm2',
      timestamp: AT,
      type: 'gemini',
      content: 'done',
      model: 'gem',
      thoughts: [{ subject: 'Plan', description: 'look first' }],
      tokens: { input: 100, output: 20, cached: 60, thoughts: 5, total: 125 },
      toolCalls: [
        {
          id: 'c1',
          name: 'replace',
          args: { file_path: 'a.ts' },
          status: 'success',
          result: [{ functionResponse: { response: { output: 'ok' } } }],
        },
        { id: 'c2', name: 'run_shell_command', args: { command: 'ls' }, status: 'cancelled', result: [] },
      ],
    },
    { id: 'm3', timestamp: AT, type: 'info', content: 'update available' },
  ],
}

const OPENCODE = {
  info: { id: 'ses_1', title: 'a title' },
  messages: [
    {
      info: { id: 'msg_1', role: 'user', time: { created: 1768903200000 } },
      parts: [{ type: 'text', text: 'fix it' }],
    },
    {
      info: {
        id: 'msg_2',
        role: 'assistant',
        modelID: 'om',
        time: { created: 1768903201000 },
        tokens: { input: 10, output: 4, reasoning: 3, cache: { read: 7, write: 2 } },
      },
      parts: [
        { type: 'step-start' },
        { type: 'reasoning', text: 'hm' },
        {
          type: 'tool',
          callID: 'c1',
          tool: 'edit',
          state: { status: 'completed', input: { filePath: 'a.ts' }, output: 'ok' },
        },
        {
          type: 'tool',
          callID: 'c2',
          tool: 'bash',
          state: { status: 'error', input: { command: 'ls' }, error: 'denied' },
        },
        { type: 'text', text: 'done' },
      ],
    },
  ],
}

describe('dialects', () => {
  test.each([
    ['create', { path: 'a.ts', file_text: 'x' }, 'edit'],
    ['Create', { file_path: 'a.ts', content: 'x' }, 'edit'],
    ['create', { path: 'a.ts' }, 'tool_call'],
    ['create_issue', { title: 'a', content: 'x' }, 'tool_call'],
  ])('a call of %s with %j is %s', (toolName, input, kind) => {
    const start = { toolCallId: 't1', toolName, arguments: input }
    const record = { type: 'tool.execution_start', id: 'e1', timestamp: '2026-01-20T10:00:00Z', data: start }
    expect(eventsOf(read([record])).map((event) => event.kind)).toEqual([kind])
  })

  test('Copilot events', () => {
    const items = read(COPILOT)
    expect(told(items)).toEqual([
      'lifecycle | session.start',
      'user_msg | fix it',
      'thinking | hm',
      'assistant_msg | on it',
      'test_run | bash | bash: pytest',
      'error | bash | no such file',
      'human_intervention | stopped: user_initiated',
    ])
    expect(unknown(items)).toEqual(['copilot transcript'])
    expect(eventsOf(items).map((event) => event.parentKey)).toEqual([
      null,
      'e0#0',
      'e1#0',
      'e2#0',
      'e2#1',
      'e3#0',
      'e4#0',
    ])
    const [, asked, , , call, result, stop] = eventsOf(items)
    expect([asked?.said, result?.said, result?.state, stop?.mark]).toEqual([
      'fix it',
      'no such file',
      'failed',
      'interrupt',
    ])
    expect(call?.act).toEqual({ does: 'shell', input: { command: 'pytest' }, command: 'pytest' })
    expect(items).toContainEqual(
      expect.objectContaining({ type: 'session', cwd: '/p', gitBranch: 'main', agentVersion: '1.0' }),
    )
  })

  const geminiTold = [
    'user_msg | fix it',
    'thinking | Plan',
    'assistant_msg | done',
    'edit | replace | replace a.ts',
    'tool_result | replace | ok',
    'tool_call | run_shell_command | run_shell_command: ls',
    'human_intervention | run_shell_command | (no output)',
    'lifecycle | info',
  ]
  test('Gemini: one document, pretty-printed or not, and lines', () => {
    for (const text of [JSON.stringify(GEMINI, null, 2), JSON.stringify(GEMINI)]) {
      const items = read(text)
      expect(told(items)).toEqual(['lifecycle | document', ...geminiTold])
      expect(usage(items)).toEqual([[40, 60, 0, 25, 5]])
      expect(unknown(items)).toEqual(['gemini transcript', 'gemini transcript'])
    }
    const items = read(GEMINI.messages)
    expect(told(items)).toEqual(geminiTold)
    expect(eventsOf(items)[6]).toMatchObject({ state: 'refused', mark: 'denied' })
  })

  test('a document that is rewritten keeps its keys; one that is torn waits', () => {
    const keys = eventsOf(read(JSON.stringify(GEMINI, null, 2))).map((event) => event.key)
    const longer = {
      ...GEMINI,
      lastUpdated: AT,
      messages: [...GEMINI.messages, { id: 'm4', type: 'user', content: 'more' }],
    }
    expect(eventsOf(read(JSON.stringify(longer, null, 2))).map((event) => event.key)).toEqual([
      ...keys,
      'm4#0',
    ])
    const position = readAll(entire, path).find((item) => item.type === 'position')?.position ?? null
    expect(readAll(entire, path, position)).toEqual([])
    const torn = read(JSON.stringify(GEMINI, null, 2).slice(0, 300))
    expect(torn).toEqual([
      expect.objectContaining({ type: 'gap', reason: 'torn', pending: true, offset: 0, length: 300 }),
    ])
    for (const odd of ['[\n1,\n{"role":"user","content":"x"}]', '{\n"messages": 5, "x": 1}', '[\n]'])
      expect(() => read(odd)).not.toThrow()
    expect(told(read('[\n1,\n{"role":"user","content":"x"}]'))).toEqual([
      'lifecycle | a record without a type',
      'user_msg | x',
    ])
    expect(eventsOf(read('{\n"messages": 5, "x": 1}'))[0]?.payload).toMatchObject({ messages: 5, x: 1 })
  })

  test('a document in parts is one conversation, also when a part comes later', () => {
    const whole = read(JSON.stringify(GEMINI))
    const part = (from: number, to?: number) => JSON.stringify({ messages: GEMINI.messages.slice(from, to) })
    writeFileSync(join(dirname(path), 'metadata.json'), '{"agent":"Gemini CLI"}')
    try {
      const first = read(part(0, 1))
      expect(told(first)).toEqual(geminiTold.slice(0, 1))
      const position = first.find((item) => item.type === 'position')?.position ?? null
      writeFileSync(`${path}.001`, part(1, 2))
      writeFileSync(`${path}.002`, part(2).slice(0, 20))
      const torn = readAll(entire, path, position)
      expect(torn.at(-1)).toMatchObject({ type: 'gap', reason: 'torn', length: 20, pending: true })
      writeFileSync(`${path}.002`, part(2))
      const items = readAll(entire, path, position)
      expect(told(items)).toEqual(geminiTold)
      const responses = (all: Item[]) => all.flatMap((item) => (item.type === 'usage' ? [item.id] : []))
      expect(responses(items)).toEqual(responses(whole))
      const keys = (all: Item[]) => eventsOf(all).map((event) => event.key)
      expect(keys(items)).toEqual(keys(whole).slice(1))
      const end = items.findLast((item) => item.type === 'position')?.position ?? null
      expect(readAll(entire, path, end)).toEqual([])
    } finally {
      for (const name of ['metadata.json', 'full.jsonl.001', 'full.jsonl.002'])
        rmSync(join(dirname(path), name), { force: true })
    }
  })

  test('opencode: an export', () => {
    const items = read(JSON.stringify(OPENCODE, null, 2))
    expect(told(items)).toEqual([
      'lifecycle | document',
      'user_msg | fix it',
      'lifecycle | [step-start]',
      'thinking | hm',
      'edit | edit | edit a.ts',
      'tool_result | edit | ok',
      'tool_call | bash | bash: ls',
      'error | bash | denied',
      'assistant_msg | done',
    ])
    expect(usage(items)).toEqual([[10, 7, 2, 7, 3]])
  })

  test.each<[string, unknown[], string[], string[]]>([
    [
      'Cursor',
      [
        { role: 'user', message: { content: [{ type: 'text', text: 'again' }] } },
        {
          role: 'assistant',
          message: { content: [{ type: 'tool_use', name: 'write', input: { path: 'a' } }] },
        },
        { role: 'user', message: { content: [{ type: 'text', text: 'again' }] } },
        { type: 'turn_ended', status: 'ok' },
      ],
      ['user_msg | again', 'edit | write | write a', 'user_msg | again', 'lifecycle | turn_ended'],
      ['cursor transcript'],
    ],
    [
      'pi',
      [
        { type: 'session', version: 3, id: 'p', timestamp: AT },
        { type: 'message', id: '1', parentId: null, message: { role: 'user', content: 'fix it' } },
        {
          type: 'message',
          id: '2',
          parentId: '1',
          message: {
            role: 'assistant',
            content: [{ type: 'toolCall', id: 'c', name: 'bash', arguments: { command: 'ls' } }],
          },
        },
        {
          type: 'message',
          id: '3',
          parentId: '2',
          message: {
            role: 'toolResult',
            toolCallId: 'c',
            content: [{ type: 'text', text: 'gone' }],
            isError: true,
          },
        },
      ],
      ['lifecycle | session', 'user_msg | fix it', 'tool_call | bash | bash: ls', 'error | bash | gone'],
      ['pi transcript'],
    ],
    [
      'Qwen',
      [
        {
          uuid: 'q1',
          parentUuid: null,
          type: 'user',
          isSidechain: false,
          message: { role: 'user', parts: [{ text: 'fix it' }] },
        },
        {
          uuid: 'q2',
          parentUuid: 'q1',
          type: 'assistant',
          message: {
            role: 'model',
            parts: [{ text: 'hm', thought: true }, { functionCall: { id: 'c', name: 'edit', args: {} } }],
          },
        },
        {
          uuid: 'q3',
          parentUuid: 'q2',
          type: 'tool_result',
          message: { parts: [{ functionResponse: { id: 'c', response: { error: 'no' } } }] },
        },
      ],
      ['user_msg | fix it', 'thinking | hm', 'edit | edit | edit', 'error | edit | no'],
      [],
    ],
    [
      'chat messages',
      [
        { role: 'system', content: 'be good' },
        { role: 'user', content: 'fix it' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'c', function: { name: 'bash', arguments: '{"command":"npm test"}' } }],
        },
        { role: 'tool', tool_call_id: 'c', content: 'ok' },
      ],
      [
        'lifecycle | be good',
        'user_msg | fix it',
        'test_run | bash | bash: npm test',
        'tool_result | bash | ok',
      ],
      [],
    ],
    [
      'nobody knows',
      [{ kind: 'ping' }, { type: 'pong', id: 'x' }],
      ['lifecycle | a record without a type', 'lifecycle | pong'],
      ['unnamed transcript', 'unnamed transcript'],
    ],
  ])('%s', (_, records, expected, names) => {
    const items = read(records)
    expect(told(items)).toEqual(expected)
    expect(unknown(items)).toEqual(names)
    const keys = eventsOf(items).map((event) => event.key)
    expect(new Set(keys).size).toBe(keys.length)
    const bytes = readFileSync(path)
    for (const again of resumed(entire, path)) expect(again).toEqual(news(items))
    expect(readInSteps(entire, path, bytes, [0.5, 0.8])).toEqual(news(items))
  })
})

describe('rubbish', () => {
  const value = fc.jsonValue({ maxDepth: 2 })
  const field = fc.constantFrom(
    'type',
    'role',
    'message',
    'content',
    'data',
    'payload',
    'info',
    'parts',
    'uuid',
    'id',
    'parentUuid',
    'timestamp',
    'recollectSpill',
    'toolCalls',
    'thoughts',
    'tokens',
    'usage',
    'cwd',
    'version',
    'messages',
    '__proto__',
  )
  const odd: fc.Arbitrary<unknown> = fc.oneof(
    value,
    fc.constantFrom<unknown>(
      'user',
      'assistant',
      'tool',
      'tool.execution_start',
      'response_item',
      'session_meta',
      AT,
      1e30,
    ),
    fc.array(
      fc.dictionary(
        fc.constantFrom(
          'type',
          'text',
          'id',
          'name',
          'input',
          'content',
          'tool_use_id',
          'state',
          'functionCall',
          'at',
          'sha256',
        ),
        fc.oneof(value, fc.constantFrom('text', 'tool_use', 'tool_result', 'tool', 'thinking')),
      ),
      { maxLength: 3 },
    ),
    fc.dictionary(fc.constantFrom('role', 'content', 'usage', 'id', 'parts', 'toolCallId', 'result'), value),
  )
  const record = fc.array(fc.tuple(field, odd), { maxLength: 7 })

  test('records of any shape never throw, and each leaves something behind', () => {
    fc.assert(
      fc.property(fc.array(record, { minLength: 1, maxLength: 5 }), (records) => {
        const lines = records.map(
          (pairs) =>
            `{${pairs.map(([name, one]) => `${JSON.stringify(name)}:${JSON.stringify(one)}`).join(',')}}`,
        )
        const items = read(`${lines.join('\n')}\n`)
        const kept = items.filter((item) => item.type === 'event' || item.type === 'gap')
        const last = items.findLast((item) => item.type === 'position')
        const dialect = (last?.position.state as { dialect: string } | undefined)?.dialect
        // The other dialects are held to this where they are at home.
        if (dialect === 'lines') expect(kept.length).toBeGreaterThanOrEqual(lines.length)
        for (const item of items) expect(() => JSON.stringify(item)).not.toThrow()
      }),
      { numRuns: 400 },
    )
  })

  test('bytes of any kind never throw', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        writeFileSync(path, bytes)
        for (const item of readAll(entire, path))
          expect(['gap', 'position', 'event', 'unknown', 'session']).toContain(item.type)
      }),
      { numRuns: 100 },
    )
  })
})
