// The Entire-compatible transcript: the line format, the token counts and the directory of its specification, and what
// Entire's own readers demand beyond it.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { accumulateMessage, EntireLine, type JsonlGap, newEntireSessionId } from '../src/record/index.ts'
import { assistantBlocks, entireModifiedFiles, entireParse, entireTokens } from './support/entire-reader.ts'
import {
  conversation,
  jqTypes,
  open,
  project,
  rawLines,
  read,
  TOOL_RESULT,
  TOOL_USE,
  USAGE,
  useProject,
} from './support/entire-session.ts'

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const UUID4 = /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/

useProject()

describe('full.jsonl', () => {
  test('has the lines of the specification, one per turn, chained', async () => {
    const transcript = open()
    await conversation(transcript)
    const [first, second, third, fourth] = rawLines(transcript.path)
    expect(transcript.path).toBe(join(project.cwd, '.entire', 'metadata', transcript.sessionId, 'full.jsonl'))
    expect(first).toEqual({
      type: 'user',
      sessionId: transcript.sessionId,
      uuid: expect.stringMatching(UUID4),
      parentUuid: null,
      timestamp: expect.stringMatching(ISO),
      cwd: project.cwd,
      version: '0.0.44',
      message: { role: 'user', content: 'explain main.rs' },
    })
    expect(Object.keys(first as object)).toEqual(
      'type sessionId uuid parentUuid timestamp cwd version message'.split(' '),
    )
    expect(second).toMatchObject({ type: 'assistant', parentUuid: first?.['uuid'] })
    expect(second?.['message']).toEqual({
      role: 'assistant',
      id: 'msg_1',
      model: 'claude-x',
      content: [{ type: 'text', text: 'Let me read that file.' }, TOOL_USE],
      stop_reason: 'tool_use',
      usage: USAGE,
    })
    expect(third).toMatchObject({
      parentUuid: second?.['uuid'],
      message: { role: 'user', content: [TOOL_RESULT] },
    })
    expect(fourth).toMatchObject({ parentUuid: third?.['uuid'] })
    expect(new Set(rawLines(transcript.path).map((line) => line['uuid'])).size).toBe(4)
    for (const line of rawLines(transcript.path)) expect(EntireLine.safeParse(line).success).toBe(true)
    expect(await read(transcript.path)).toEqual(rawLines(transcript.path))
  })

  test('is on disk when a turn resolves, and already when an undisturbed call returns', async () => {
    const transcript = open()
    const pending = transcript.user('first')
    expect(rawLines(transcript.path)).toHaveLength(1)
    expect(await pending).toBe(rawLines(transcript.path)[0]?.['uuid'])
  })

  test('keeps order and chain of calls that nobody awaits', async () => {
    const transcript = open({ flush: 'fdatasync' })
    const uuids = await Promise.all(
      Array.from({ length: 50 }, (_, i) => (i % 2 ? transcript.assistant(`${i}`) : transcript.user(`${i}`))),
    )
    const lines = rawLines(transcript.path)
    expect(lines.map((line) => line['uuid'])).toEqual(uuids)
    expect(lines.map((line) => line['parentUuid'])).toEqual([null, ...uuids.slice(0, -1)])
  })

  test('takes time and content at the call, not when the write lands', async () => {
    let clock = 0
    const transcript = open({ now: () => new Date(Date.UTC(2026, 1, 10, 23, 31, clock++)) })
    const block = { type: 'text', text: 'before' }
    const calls = [transcript.user([block]), transcript.user('second')]
    block.text = 'after'
    await Promise.all(calls)
    const lines = await read(transcript.path)
    expect(lines.map((line) => line.timestamp)).toEqual([
      '2026-02-10T23:31:01.000Z',
      '2026-02-10T23:31:02.000Z',
    ])
    expect(lines[0]?.message.content).toEqual([{ type: 'text', text: 'before' }])
    expect(transcript.sessionId.startsWith('2026-02-10-')).toBe(true)
  })

  test('usage has all four counts as integers, what the API adds comes after them', async () => {
    const transcript = open()
    const usage = {
      service_tier: 'standard',
      output_tokens: 2,
      cache_read_input_tokens: null,
      input_tokens: 9,
    }
    await transcript.assistant('x', { usage })
    await transcript.assistant('y')
    const [first, second] = rawLines(transcript.path).map(
      (line) => line['message'] as Record<string, unknown>,
    )
    expect(Object.entries(first?.['usage'] as object)).toEqual([
      ['input_tokens', 9],
      ['output_tokens', 2],
      ['cache_creation_input_tokens', 0],
      ['cache_read_input_tokens', 0],
      ['service_tier', 'standard'],
    ])
    expect(second).not.toHaveProperty('usage')
    for (const bad of [{ input_tokens: 1.5 }, { output_tokens: -1 }, { input_tokens: '3' }]) {
      await expect(transcript.assistant('z', { usage: bad })).rejects.toMatchObject({ code: 'BAD_INPUT' })
    }
    expect(rawLines(transcript.path)).toHaveLength(2)
  })

  test('an accumulated stream goes in as it comes out', async () => {
    const events = [
      { type: 'message_start', message: { id: 'msg_9', model: 'claude-y', content: [], usage: USAGE } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'hi' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 400 } },
      { type: 'message_stop' },
    ]
    const message = await accumulateMessage(events)
    const transcript = open()
    await transcript.assistant(message.content, message)
    expect((await read(transcript.path))[0]?.message).toEqual({
      role: 'assistant',
      id: 'msg_9',
      model: 'claude-y',
      content: [{ type: 'text', text: 'hi' }],
      stop_reason: 'end_turn',
      usage: { ...USAGE, output_tokens: 400 },
    })
  })

  test('refuses content that is no turn, writing nothing', async () => {
    const transcript = open()
    const circular: Record<string, unknown> = { type: 'text' }
    circular['self'] = circular
    const bad: unknown[] = [undefined, null, 5, [5], [{}], [{ type: 1 }], [circular], [{ type: 'x', n: 1n }]]
    for (const content of bad) {
      await expect(transcript.user(content as string)).rejects.toMatchObject({ code: 'BAD_INPUT' })
    }
    expect(existsSync(join(project.cwd, '.entire'))).toBe(false)
  })

  test.each([
    ['toJSON in a block', [{ type: 'text', text: 'a', toJSON: () => 'b' }], {}],
    ['inherited fields', [Object.create({ type: 'text', text: 'a' })], {}],
    ['a model that is no text', 'a', { model: 5 }],
    ['an id that is no text', 'a', { id: 5 }],
    ['a stop reason that is no text', 'a', { stopReason: {} }],
    ['a request id that is no text', 'a', { requestId: 5 }],
    ['usage that is no object', 'a', { usage: 'abc' }],
    ['toJSON in usage', 'a', { usage: { input_tokens: 1, toJSON: () => 'b' } }],
    ['a response that is no object', 'a', 'b'],
  ])('refuses what no reader would take back: %s', async (_, content, response) => {
    const transcript = open()
    await transcript.user('before')
    await expect(transcript.assistant(content, response as never)).rejects.toMatchObject({
      code: 'BAD_INPUT',
    })
    await transcript.assistant('after')
    const gaps: JsonlGap[] = []
    expect(await read(transcript.path, gaps)).toHaveLength(2)
    expect(gaps).toEqual([])
  })

  test('refuses a clock or a model that no reader would take', async () => {
    for (const at of [Number.NaN, 8e15]) {
      const transcript = open({ sessionId: 'clock', now: () => new Date(at) })
      await expect(transcript.user('a')).rejects.toMatchObject({ code: 'BAD_INPUT' })
    }
    expect(() => open({ now: () => new Date(Number.NaN) })).toThrow(
      expect.objectContaining({ code: 'BAD_INPUT' }),
    )
    expect(() => open({ model: 5 as never })).toThrow(expect.objectContaining({ code: 'BAD_INPUT' }))
  })

  test('each line is valid for jq', async () => {
    const transcript = open()
    await transcript.user('quotes " and \\ and \u2028 and \ud800 and \n newline \u0000')
    await conversation(transcript)
    expect(jqTypes(transcript.path)?.length ?? 5).toBe(5)
    expect(rawLines(transcript.path)).toHaveLength(5)
  })
})

describe('what Entire reads', () => {
  test('tokens, modified files and blocks are all found', async () => {
    const transcript = open()
    await conversation(transcript)
    await transcript.assistant(
      [{ type: 'tool_use', id: 't', name: 'Write', input: { file_path: 'a.ts', content: 'x' } }],
      { id: 'msg_1', usage: { ...USAGE, output_tokens: 100 } },
    )
    const lines = entireParse(transcript.path)
    // msg_1 came twice: the greater output counts. The response without an id was given one.
    const tokens = { calls: 2, input: 2400, output: 357, cacheCreation: 0, cacheRead: 1600 }
    expect(entireTokens(lines)).toEqual(tokens)
    expect(entireModifiedFiles(lines)).toEqual(['a.ts'])
    expect(lines.flatMap(assistantBlocks).map((block) => block.text ?? block.name)).toEqual([
      'Let me read that file.',
      'read_file',
      'It prints.',
      'Write',
    ])
  })

  test('nothing else below .entire/ is touched', async () => {
    const state: Record<string, string> = {
      'settings.json': '{"strategy":"manual-commit",\n "enabled":true}',
      'settings.local.json': '{}',
      '.gitignore': 'tmp/\nmetadata/\n',
      current_session: 'abc',
      'tmp/pre-prompt-1.json': '{',
      'metadata/2026-01-01-other/full.jsonl': '{"torn',
      'metadata/2026-01-01-other/prompt.txt': 'theirs',
    }
    for (const [name, text] of Object.entries(state)) {
      mkdirSync(join(project.cwd, '.entire', name, '..'), { recursive: true })
      writeFileSync(join(project.cwd, '.entire', name), text)
    }
    const look = (): unknown[] =>
      Object.keys(state).map((name) => {
        const { mtimeNs, ctimeNs, ino, mode, size } = statSync(join(project.cwd, '.entire', name), {
          bigint: true,
        })
        return [
          name,
          readFileSync(join(project.cwd, '.entire', name), 'utf8'),
          mtimeNs,
          ctimeNs,
          ino,
          mode,
          size,
        ]
      })
    const before = look()
    const transcript = open()
    await conversation(transcript)
    await transcript.end()
    expect(look()).toEqual(before)
    expect(readdirSync(join(project.cwd, '.entire', 'metadata')).sort()).toEqual(
      ['2026-01-01-other', transcript.sessionId].sort(),
    )
    expect(readdirSync(join(project.cwd, '.entire')).sort()).toEqual(
      ['.gitignore', 'current_session', 'metadata', 'settings.json', 'settings.local.json', 'tmp'].sort(),
    )
  })
})

describe('session id and directory', () => {
  test('date and UUID v4; another form must suit Entire', () => {
    expect(newEntireSessionId(new Date('2026-02-10T23:59:59Z'))).toMatch(
      new RegExp(`^2026-02-10-${UUID4.source}$`),
    )
    expect(open().sessionId).toMatch(/^\d{4}-\d\d-\d\d-/)
    for (const sessionId of ['', '..', 'a/b', 'a\\b', 'a.b', 'a b', 'ä', 'con', 'a\n', 'x'.repeat(300)]) {
      expect(() => open({ sessionId }), sessionId).toThrow(expect.objectContaining({ code: 'BAD_NAME' }))
    }
  })

  test('comes with the first turn, private, and only in a directory that exists', async () => {
    const transcript = open()
    expect(existsSync(join(project.cwd, '.entire'))).toBe(false)
    await conversation(transcript)
    await transcript.end()
    expect(readdirSync(transcript.directory).sort()).toEqual(['context.md', 'full.jsonl', 'prompt.txt'])
    for (const name of readdirSync(transcript.directory)) {
      expect(statSync(join(transcript.directory, name)).mode & 0o777).toBe(0o600)
    }
    expect(statSync(transcript.directory).mode & 0o777).toBe(0o700)
    expect(() => open({ cwd: join(project.cwd, 'absent') })).toThrow(
      expect.objectContaining({ code: 'NOT_FOUND' }),
    )
  })

  test.each(['.entire', '.entire/metadata', '.entire/metadata/s', '.entire/metadata/s/full.jsonl'])(
    'a symbolic link at %s is refused',
    async (place) => {
      const elsewhere = mkdtempSync(join(tmpdir(), 'recollect-elsewhere-'))
      try {
        mkdirSync(join(project.cwd, place, '..'), { recursive: true })
        symlinkSync(place.endsWith('.jsonl') ? join(elsewhere, 'file') : elsewhere, join(project.cwd, place))
        const attempt = async (): Promise<unknown> => open({ sessionId: 's' }).user('x')
        await expect(attempt()).rejects.toMatchObject({ code: 'UNSAFE_PATH' })
        expect(readdirSync(elsewhere)).toEqual([])
      } finally {
        rmSync(elsewhere, { recursive: true })
      }
    },
  )
})
