// The Entire-compatible transcript over time: prompt.txt at once, context.md at the end, sessions that are continued.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  existsSync,
  linkSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { lastUuid } from '../src/record/entire-read.ts'
import type { EntireTranscript, JsonlGap } from '../src/record/index.ts'
import {
  conversation,
  open,
  project,
  rawLines,
  read,
  TOOL_RESULT,
  useProject,
} from './support/entire-session.ts'

useProject()

describe('prompt.txt', () => {
  const prompt = (transcript: EntireTranscript): string =>
    readFileSync(join(transcript.directory, 'prompt.txt'), 'utf8')

  test('is the first non-empty input, on disk with its turn, and never changes', async () => {
    const transcript = open()
    await transcript.user('  \n')
    await transcript.user([TOOL_RESULT])
    expect(existsSync(join(transcript.directory, 'prompt.txt'))).toBe(false)
    await transcript.user([
      { type: 'text', text: 'piped' },
      { type: 'image' },
      { type: 'text', text: 'input' },
    ])
    expect(prompt(transcript)).toBe('piped\n\ninput')
    const { ino } = statSync(join(transcript.directory, 'prompt.txt'))
    await transcript.user('later')
    await transcript.end()
    expect(statSync(join(transcript.directory, 'prompt.txt')).ino).toBe(ino)
    expect(prompt(transcript)).toBe('piped\n\ninput')
  })

  test('that was deleted comes back as it was', async () => {
    const transcript = open()
    await transcript.user('the first')
    rmSync(join(transcript.directory, 'prompt.txt'))
    await transcript.user('the second')
    expect(prompt(transcript)).toBe('the first')
  })
})

describe('context.md', () => {
  const context = (transcript: EntireTranscript): string =>
    readFileSync(join(transcript.directory, 'context.md'), 'utf8')

  test('names session, model and start, then each tool with its first argument', async () => {
    const transcript = open({ model: 'claude-x', now: () => new Date('2026-02-10T23:31:00Z') })
    await conversation(transcript)
    await transcript.assistant([
      { type: 'tool_use', id: 'a', name: 'Bash', input: { command: 'cat <<E\n# x\nE', timeout: 3 } },
      { type: 'tool_use', id: 'b', name: 'Todo', input: { items: [1, { a: 2 }] } },
      { type: 'tool_use', id: 'c', name: 'Stop', input: {} },
      { type: 'tool_use', id: 'd', name: 'Long', input: { text: '🧪'.repeat(300) } },
    ])
    await transcript.end()
    expect(context(transcript)).toBe(
      [
        '# Session Context',
        `**Session ID:** ${transcript.sessionId}`,
        '**Model:** claude-x',
        '**Start Time:** 2026-02-10T23:31:00.000Z',
        '## Key Actions',
        [
          '- **read_file**: src/main.rs',
          '- **Bash**: cat <<E # x E',
          '- **Todo**: [1,{"a":2}]',
          '- **Stop**:',
          `- **Long**: ${'🧪'.repeat(200)}…`,
          '',
        ].join('\n'),
      ].join('\n\n'),
    )
    expect(existsSync(join(transcript.directory, 'summary.txt'))).toBe(false)
  })

  test('tells a continued session whole, and says what it could not read', async () => {
    const first = open({ now: () => new Date('2026-02-10T10:00:00Z') })
    await conversation(first)
    await first.close()
    appendFileSync(first.path, '{"torn')
    const second = open({ sessionId: first.sessionId })
    await second.assistant([{ type: 'tool_use', id: 'b', name: 'Second', input: { a: 'run' } }], {
      model: 'm2',
    })
    await second.end()
    const text = context(second)
    expect(text).toContain('**Start Time:** 2026-02-10T10:00:00.000Z')
    expect(text).toContain('**Model:** m2')
    expect(text).toContain('1 unreadable part(s)')
    expect(text.split('\n').filter((line) => line.startsWith('- '))).toEqual([
      '- **read_file**: src/main.rs',
      '- **Second**: run',
    ])
  })

  test('a session without turns leaves no trace; after the end no turn is taken', async () => {
    const transcript = open()
    await transcript.end()
    expect(readdirSync(project.cwd)).toEqual([])
    await expect(transcript.user('x')).rejects.toMatchObject({ code: 'CLOSED' })
    const other = open()
    const pending = [other.user('a'), other.assistant('b')]
    await other.end()
    await other.end()
    expect(rawLines(other.path)).toHaveLength(2)
    await Promise.all(pending)
  })
})

describe('continuing', () => {
  test('after a torn line the chain goes on from the last good one', async () => {
    const first = open()
    await conversation(first)
    await first.close()
    const whole = rawLines(first.path)
    for (const torn of [5, 1]) truncateSync(first.path, statSync(first.path).size - torn)
    const second = open({ sessionId: first.sessionId })
    await second.user('again')
    await second.user('and again')
    const gaps: JsonlGap[] = []
    const lines = await read(first.path, gaps)
    expect(gaps).toHaveLength(1)
    expect(lines.map((line) => line.parentUuid)).toEqual(
      [null, whole[0], whole[1], whole[2], lines[3]].map((line) => line?.['uuid'] ?? null),
    )
    expect(readFileSync(join(first.directory, 'prompt.txt'), 'utf8')).toBe('explain main.rs')
  })

  test('finds the last line behind a long line, NULs and garbage', async () => {
    const first = open()
    const uuid = await first.user('x'.repeat(300_000))
    await first.close()
    appendFileSync(first.path, `${'\0'.repeat(5000)}\n{"uuid":5}\nnot json\n${'y'.repeat(200_000)}`)
    const second = open({ sessionId: first.sessionId })
    await second.user('next')
    expect((await read(first.path)).at(-1)?.parentUuid).toBe(uuid)
  })

  test('two writers of one session make one chain', async () => {
    const one = open()
    const other = open({ sessionId: one.sessionId })
    const calls = Array.from({ length: 20 }, (_, i) => (i % 3 ? one.user(`${i}`) : other.assistant(`${i}`)))
    await Promise.all(calls)
    const lines = await read(one.path)
    expect(lines).toHaveLength(20)
    expect(lines.map((line) => line.parentUuid)).toEqual([
      null,
      ...lines.slice(0, -1).map((line) => line.uuid),
    ])
  })

  test('so do several processes at once, and one of their prompts is kept', async () => {
    const program = join(import.meta.dirname, 'programs/entire-race.mjs')
    const sessionId = 'shared'
    const children = ['a', 'b', 'c'].map((name) =>
      spawn(process.execPath, [program, project.cwd, sessionId, name, '40'], {
        stdio: ['pipe', 'pipe', 'inherit'],
      }),
    )
    await Promise.all(children.map((child) => once(child.stdout, 'data')))
    const exits = children.map((child) => once(child, 'exit'))
    for (const child of children) child.stdin.write('go')
    expect((await Promise.all(exits)).map(([code]) => code)).toEqual([0, 0, 0])
    const transcript = open({ sessionId })
    const gaps: JsonlGap[] = []
    const lines = await read(transcript.path, gaps)
    expect(gaps).toEqual([])
    expect(lines).toHaveLength(120)
    expect(lines.map((line) => line.parentUuid)).toEqual([
      null,
      ...lines.slice(0, -1).map((line) => line.uuid),
    ])
    const prompt = readFileSync(join(transcript.directory, 'prompt.txt'), 'utf8')
    expect(prompt).toBe(lines[0]?.message.content)
  })

  test('nothing follows a line whose append was reported as failed, even if it is there', async () => {
    const transcript = open()
    const uuids = [await transcript.user('kept'), await transcript.user('reported as failed')]
    const { size } = statSync(transcript.path)
    expect(lastUuid(transcript.path, size, new Set())).toBe(uuids[1])
    expect(lastUuid(transcript.path, size, new Set([uuids[1] as string]))).toBe(uuids[0])
    expect(lastUuid(transcript.path, size, new Set(uuids))).toBe(null)
  })

  test('a file or directory deleted under the writer is made anew by the next turn', async () => {
    const transcript = open()
    await transcript.user('one')
    await transcript.user('two')
    rmSync(transcript.path)
    const third = await transcript.user('three')
    await transcript.assistant('four')
    const lines = await read(transcript.path)
    expect(lines.map((line) => line.parentUuid)).toEqual([null, third])
    rmSync(transcript.directory, { recursive: true })
    await transcript.user('five')
    const anew = await read(transcript.path)
    expect(anew.map((line) => [line.parentUuid, line.message.content])).toEqual([[null, 'five']])
    expect(readFileSync(join(transcript.directory, 'prompt.txt'), 'utf8')).toBe('five')
    expect(statSync(transcript.path).mode & 0o777).toBe(0o600)
    await transcript.end()
  })

  test('turns that nobody waited for all go to the file that was made anew, in one chain', async () => {
    const transcript = open()
    await transcript.user('before')
    rmSync(transcript.directory, { recursive: true })
    const uuids = await Promise.all(['a', 'b', 'c'].map((text) => transcript.user(text)))
    const lines = await read(transcript.path)
    expect(lines.map((line) => line.uuid)).toEqual(uuids)
    expect(lines.map((line) => line.parentUuid)).toEqual([null, ...uuids.slice(0, -1)])
  })

  test('a file put in its place, of the same size, is gone on with from its own last line', async () => {
    const transcript = open()
    const first = await transcript.user('one')
    const other = first.replace(/^......../, '00000000')
    const replaced = readFileSync(transcript.path, 'utf8').replaceAll(first, other)
    renameSync(transcript.path, `${transcript.path}.old`)
    writeFileSync(transcript.path, replaced)
    await transcript.user('after')
    expect((await read(transcript.path)).map((line) => line.parentUuid)).toEqual([null, other])
    expect(await read(`${transcript.path}.old`)).toHaveLength(1)
  })

  test('a failed append is not part of the chain', async () => {
    const transcript = open()
    const first = await transcript.user('one')
    linkSync(transcript.path, `${transcript.path}.second`)
    await expect(transcript.user('lost')).rejects.toMatchObject({ code: 'UNSAFE_PATH' })
    rmSync(`${transcript.path}.second`)
    await transcript.user('two')
    expect((await read(transcript.path)).map((line) => line.parentUuid)).toEqual([null, first])
  })
})
