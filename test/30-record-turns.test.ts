// The turn log: schema, paths, reading, and what it refuses.
import {
  appendFileSync,
  chmodSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { TranscriptEntry, TranscriptWriter } from '../src/record/turns.ts'
import { temporaryDirectory } from './support/programs.ts'

const turn = (turnId: string, more: Partial<TranscriptEntry> = {}): TranscriptEntry => ({
  turnId,
  role: 'user',
  content: `text of ${turnId}`,
  ts: 1_750_000_000_000,
  ...more,
})

const FULL: TranscriptEntry = {
  turnId: 't',
  role: 'tool',
  content: 'line one\nline two \u2028 "quoted" \0 é \ud83d\ude00',
  toolCalls: [{ id: 'c1', name: 'read', args: { path: 'a', nested: { deep: [1, null, true] } } }],
  toolResults: [{ callId: 'c1', result: { any: ['thing'] }, error: 'none' }],
  metadata: { model: 'm', tokens: { prompt: 1, completion: 2 }, runId: 'r', provider: 'p' },
  ts: 1,
}

const withWriter = () => {
  const base = temporaryDirectory()
  return {
    base,
    writer: new TranscriptWriter(base, { flush: 'os' }),
    at: (...parts: string[]) => join(base, 'agents', ...parts),
  }
}

test('one turn is one line at the path of the seed, 0600 in directories of 0700', async () => {
  const { writer, at } = withWriter()
  await writer.append('a1', 's1', FULL)
  await writer.close()
  const path = at('a1', 'sessions', 's1.jsonl')
  expect(readFileSync(path, 'utf8')).toBe(`${JSON.stringify(FULL)}\n`)
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(statSync(at('a1')).mode & 0o777).toBe(0o700)
  expect(await writer.read('a1', 's1')).toEqual([FULL])
})

test('an existing file with a laxer mode is hardened', async () => {
  const { writer, at } = withWriter()
  mkdirSync(at('a', 'sessions'), { recursive: true })
  writeFileSync(at('a', 'sessions', 's.jsonl'), '')
  chmodSync(at('a', 'sessions', 's.jsonl'), 0o666)
  await writer.append('a', 's', turn('1'))
  await writer.close()
  expect(statSync(at('a', 'sessions', 's.jsonl')).mode & 0o777).toBe(0o600)
})

test('turns come back in the order of the calls; sessions and agents are apart', async () => {
  const { writer } = withWriter()
  const calls: Promise<void>[] = []
  for (let i = 0; i < 50; i++) {
    calls.push(
      writer.append('a', 's', turn(`s${i}`)),
      writer.append('a', 't', turn(`t${i}`)),
      writer.append('b', 's', turn(`b${i}`)),
    )
  }
  await Promise.all(calls)
  await writer.close()
  for (const [agent, session, letter] of [
    ['a', 's', 's'],
    ['a', 't', 't'],
    ['b', 's', 'b'],
  ] as const) {
    expect((await writer.read(agent, session)).map((entry) => entry.turnId)).toEqual(
      Array.from({ length: 50 }, (_, i) => `${letter}${i}`),
    )
  }
})

test('a base that ends in `agents` is that directory itself', async () => {
  const base = temporaryDirectory()
  const writer = new TranscriptWriter(join(base, 'agents'))
  expect(writer.resolvePath('a', 's')).toBe(new TranscriptWriter(base).resolvePath('a', 's'))
})

test('thousands of sessions in one writer, all written, in order', async () => {
  const { writer } = withWriter()
  for (let round = 0; round < 2; round++) {
    for (let i = 0; i < 1100; i++) await writer.append('a', `s${i}`, turn(`${i}.${round}`))
  }
  for (const i of [0, 1, 63, 64, 1023, 1024, 1099]) {
    expect((await writer.read('a', `s${i}`)).map((entry) => entry.turnId)).toEqual([`${i}.0`, `${i}.1`])
  }
  await writer.close()
})

test('a session without transcript has no turns; one that may not be read is an error', async () => {
  const { writer, at } = withWriter()
  expect(await writer.read('a', 'none')).toEqual([])
  mkdirSync(at('a', 'sessions', 'dir.jsonl'), { recursive: true })
  await expect(writer.read('a', 'dir')).rejects.toMatchObject({ code: 'NOT_A_FILE' })
  writeFileSync(at('b'), 'a file where a directory should be')
  await expect(writer.read('b', 's')).rejects.toMatchObject({ code: 'UNSAFE_PATH' })
})

test('fields we do not know stay on disk; reading gives those of the schema', async () => {
  const { writer, at } = withWriter()
  await writer.append('a', 's', { ...turn('1'), extra: { kept: true } } as TranscriptEntry)
  await writer.close()
  expect(readFileSync(at('a', 'sessions', 's.jsonl'), 'utf8')).toContain('"extra":{"kept":true}')
  expect(await writer.read('a', 's')).toEqual([turn('1')])
})

const circular: Record<string, unknown> = {}
circular['self'] = circular
let deep: unknown = 1
for (let i = 0; i < 100_000; i++) deep = [deep]
const call = (args: unknown) =>
  ({ toolCalls: [{ id: 'c', name: 'n', args }] }) as unknown as Partial<TranscriptEntry>

const INVALID: [string, unknown][] = [
  ['nothing', undefined],
  ['null', null],
  ['a string', 'turn'],
  ['an array', [turn('1')]],
  ['no turnId', { role: 'user', ts: 1 }],
  ['a role of its own', { ...turn('1'), role: 'agent' }],
  ['a time that is text', { ...turn('1'), ts: '1' }],
  ['a time that is NaN', { ...turn('1'), ts: Number.NaN }],
  [
    'endless tokens',
    { ...turn('1'), metadata: { tokens: { prompt: Number.POSITIVE_INFINITY, completion: 1 } } },
  ],
  ['args that are a list', turn('1', call([]))],
  ['args that are a Map', turn('1', call(new Map()))],
  ['a BigInt inside', turn('1', call({ big: 1n }))],
  ['a circle', turn('1', call(circular))],
  ['nesting beyond JSON.stringify', turn('1', call({ deep }))],
  ['its own toJSON', { ...turn('1'), toJSON: () => 'something else' }],
  ['toJSON in a part', turn('1', call({ toJSON: () => 7 }))],
  ['toJSON in metadata', turn('1', { metadata: { toJSON: () => 7 } as object })],
  ['fields that are inherited', Object.create(turn('1'))],
  [
    'fields that are getters of a class',
    new (class {
      get turnId() {
        return '1'
      }
      get role() {
        return 'user'
      }
      get ts() {
        return 1
      }
    })(),
  ],
  ['a hidden field', Object.defineProperty(turn('1'), 'turnId', { enumerable: false })],
  ['inherited fields of a call', turn('1', { toolCalls: [Object.create({ id: 'c', name: 'n', args: {} })] })],
  ['inherited tokens', turn('1', { metadata: { tokens: Object.create({ prompt: 1, completion: 1 }) } })],
  [
    'a getter that throws',
    {
      ...turn('1'),
      get content() {
        throw new Error('no')
      },
    },
  ],
]

test('each field is asked for once: what was checked is what is written', async () => {
  const { writer } = withWriter()
  let asked = 0
  const entry = Object.defineProperty(turn('1'), 'turnId', {
    enumerable: true,
    get: () => (asked++ === 0 ? '1' : 1),
  })
  await writer.append('a', 's', entry)
  expect(await writer.read('a', 's')).toEqual([turn('1')])
})

test('an object of a class is a turn by its own fields', async () => {
  const { writer } = withWriter()
  class Turn {
    turnId = '1'
    role = 'user' as const
    ts = 1
    toJSON(): string {
      return 'something else'
    }
  }
  await writer.append('a', 's', new Turn())
  expect(await writer.read('a', 's')).toEqual([{ turnId: '1', role: 'user', ts: 1 }])
})

test('a tool that returned nothing has no result, and its turn is read back', async () => {
  const { writer } = withWriter()
  const nothing = [{ callId: 'a', result: undefined }, { callId: 'b' }, { callId: 'c', result: null }]
  await writer.append('a', 's', turn('1', { toolResults: nothing }))
  const back = [{ callId: 'a' }, { callId: 'b' }, { callId: 'c', result: null }]
  expect(await writer.read('a', 's', { onCorrupt: 'stop' })).toEqual([turn('1', { toolResults: back })])
})

test.each(INVALID)('refused, with nothing written: %s', async (_, entry) => {
  const { writer } = withWriter()
  await writer.append('a', 's', turn('before'))
  await expect(writer.append('a', 's', entry as TranscriptEntry)).rejects.toMatchObject({ code: 'BAD_INPUT' })
  await writer.append('a', 's', turn('after'))
  await writer.close()
  expect((await writer.read('a', 's')).map((found) => found.turnId)).toEqual(['before', 'after'])
})

test('prototype names pollute nothing on the way in or out', async () => {
  const { writer } = withWriter()
  const args = JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"a":1}')
  await writer.append('a', 's', turn('1', { toolCalls: [{ id: 'c', name: 'n', args }] }))
  const result = JSON.parse('{"__proto__":{"polluted":1}}')
  await writer.append('__proto__', 'constructor', turn('2', { toolResults: [{ callId: 'c', result }] }))
  await writer.close()
  const [first] = await writer.read('a', 's')
  const found = first?.toolCalls?.[0]?.args as Record<string, unknown>
  expect(found['a']).toBe(1)
  expect(found['polluted']).toBeUndefined()
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
  expect(await writer.read('__proto__', 'constructor')).toHaveLength(1)
})

test.each(['', '.', '..', '../x', 'a/b', 'a\\b', 'a\0b', 'x'.repeat(300), 'nul', '\uff0e\uff0e', 'a\u2215b'])(
  'id %j is refused as agent and as session, to read and to write',
  async (id) => {
    const { writer } = withWriter()
    await expect(writer.append(id, 's', turn('1'))).rejects.toMatchObject({ code: 'BAD_NAME' })
    await expect(writer.append('a', id, turn('1'))).rejects.toMatchObject({ code: 'BAD_NAME' })
    await expect(writer.read(id, 's')).rejects.toMatchObject({ code: 'BAD_NAME' })
    await expect(writer.read('a', id)).rejects.toMatchObject({ code: 'BAD_NAME' })
  },
)

test('links at every level are refused, to read and to write, and nothing outside changes', async () => {
  const outside = temporaryDirectory()
  const secret = `${JSON.stringify(turn('secret'))}\n`
  mkdirSync(join(outside, 'a', 'sessions'), { recursive: true })
  writeFileSync(join(outside, 'a', 'sessions', 's.jsonl'), secret)
  const arrange: ((base: string) => void)[] = [
    (base) => symlinkSync(outside, join(base, 'agents')),
    (base) => {
      mkdirSync(join(base, 'agents'))
      symlinkSync(join(outside, 'a'), join(base, 'agents', 'a'))
    },
    (base) => {
      mkdirSync(join(base, 'agents', 'a'), { recursive: true })
      symlinkSync(join(outside, 'a', 'sessions'), join(base, 'agents', 'a', 'sessions'))
    },
    (base) => {
      mkdirSync(join(base, 'agents', 'a', 'sessions'), { recursive: true })
      symlinkSync(join(outside, 'a', 'sessions', 's.jsonl'), join(base, 'agents', 'a', 'sessions', 's.jsonl'))
    },
    (base) => {
      mkdirSync(join(base, 'agents', 'a', 'sessions'), { recursive: true })
      linkSync(join(outside, 'a', 'sessions', 's.jsonl'), join(base, 'agents', 'a', 'sessions', 's.jsonl'))
    },
  ]
  for (const put of arrange) {
    const { base, writer } = withWriter()
    put(base)
    await expect(writer.append('a', 's', turn('1')), put.toString()).rejects.toMatchObject({
      code: 'UNSAFE_PATH',
    })
    await expect(writer.read('a', 's')).rejects.toMatchObject({ code: 'UNSAFE_PATH' })
  }
  expect(readFileSync(join(outside, 'a', 'sessions', 's.jsonl'), 'utf8')).toBe(secret)
})

test('a directory turned into a link while the session is open does not lead the writer away', async () => {
  const { writer, at } = withWriter()
  const outside = temporaryDirectory()
  await writer.append('a', 's', turn('1'))
  writeFileSync(join(outside, 's.jsonl'), readFileSync(at('a', 'sessions', 's.jsonl')))
  renameSync(at('a', 'sessions'), at('a', 'moved'))
  symlinkSync(outside, at('a', 'sessions'))
  await expect(writer.append('a', 's', turn('2'))).rejects.toMatchObject({ code: 'REPLACED' })
  await expect(writer.append('a', 's', turn('2'))).rejects.toMatchObject({ code: 'UNSAFE_PATH' })
  expect(readFileSync(join(outside, 's.jsonl'), 'utf8')).not.toContain('"2"')
})

async function damaged(): Promise<{ writer: TranscriptWriter; path: string }> {
  const { writer } = withWriter()
  await writer.append('a', 's', turn('1'))
  const path = writer.resolvePath('a', 's')
  appendFileSync(path, 'garbage\n{"turnId":"x","role":"nobody","ts":1}\n')
  await writer.append('a', 's', turn('2'))
  await writer.close()
  return { writer, path }
}

test('corrupt lines are skipped and reported with offset and reason', async () => {
  const { writer } = await damaged()
  const first = JSON.stringify(turn('1')).length + 1
  const gaps: unknown[] = []
  const found = await writer.read('a', 's', { onGap: (gap) => gaps.push(gap) })
  expect(found.map((entry) => entry.turnId)).toEqual(['1', '2'])
  expect(gaps).toEqual([
    { gap: 'not-json', detail: expect.any(String), offset: first, length: 7 },
    { gap: 'schema', detail: 'role: invalid_value', offset: first + 8, length: 37 },
  ])
})

test('or they stop the reader, with the same offset and reason', async () => {
  const { writer, path } = await damaged()
  const offset = JSON.stringify(turn('1')).length + 1
  await expect(writer.read('a', 's', { onCorrupt: 'stop' })).rejects.toMatchObject({
    code: 'CORRUPT',
    where: `${path}:${offset}`,
    message: expect.stringContaining('not-json'),
  })
})

test('without a listener they are warnings: the first few, then the number', async () => {
  const { writer } = withWriter()
  await writer.append('a', 's', turn('1'))
  appendFileSync(writer.resolvePath('a', 's'), 'garbage\n'.repeat(100))
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
  try {
    expect(await writer.read('a', 's')).toHaveLength(1)
    expect(warn).toHaveBeenCalledTimes(11)
    expect(warn.mock.lastCall?.[0]).toContain('100')
  } finally {
    warn.mockRestore()
  }
})

test('a reader that stops early gives its descriptor back', async () => {
  const { readdirSync } = await import('node:fs')
  const { writer } = withWriter()
  for (let i = 0; i < 10; i++) await writer.append('a', 's', turn(`${i}`))
  await writer.close()
  const before = readdirSync('/proc/self/fd').length
  for (let i = 0; i < 50; i++) {
    for await (const entry of writer.readStream('a', 's')) if (entry.turnId === '3') break
  }
  expect(readdirSync('/proc/self/fd').length).toBe(before)
})

test('a writer can be used again after close, and refuses a base that is none', async () => {
  const { writer } = withWriter()
  await writer.append('a', 's', turn('1'))
  await writer.close()
  await writer.append('a', 's', turn('2'))
  await writer.close()
  expect(await writer.read('a', 's')).toHaveLength(2)
  for (const base of ['', undefined, 7]) {
    expect(() => new TranscriptWriter(base as string)).toThrow(expect.objectContaining({ code: 'BAD_INPUT' }))
  }
})

test('the schema is the one of the seed', () => {
  expect(TranscriptEntry.parse(FULL)).toEqual(FULL)
  expect(Object.keys(TranscriptEntry.shape)).toEqual([
    'turnId',
    'role',
    'content',
    'toolCalls',
    'toolResults',
    'metadata',
    'ts',
  ])
  expect(dirname(new TranscriptWriter('/x').resolvePath('a', 's'))).toBe('/x/agents/a/sessions')
})
