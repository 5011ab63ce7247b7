// Which lines of Claude Code's transcripts begin a turn, and which end one.
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { EventItem, Item, Position } from '../src/adapters/adapter.ts'
import { claude } from '../src/adapters/claude/index.ts'
import { hashOf } from '../src/adapters/kit/text.ts'
import {
  assistant,
  call,
  eventsOf,
  line,
  newProject,
  of,
  queued,
  readAll,
  readRecords,
  result,
  SESSION,
  text,
  user,
  write,
} from './setup/claude.ts'
import { filesBelow } from './setup/collect.ts'
import { unpackAgent } from './setup/fixtures.ts'

/** What holds in the end: the last telling of each event, without those that were given back. */
function holding(items: Item[]): EventItem[] {
  const byKey = new Map(eventsOf(items).map((event) => [event.key, event]))
  for (const { isRepetition, keys } of of(items, 'supersede'))
    for (const key of isRepetition ? (keys ?? []) : []) byKey.delete(key)
  return [...byKey.values()]
}
const kinds = (records: unknown[]) =>
  holding(readRecords(records)).map(({ kind, summary }) => `${kind} ${summary}`)
const keysOf = (records: unknown[], kind = 'completion') =>
  holding(readRecords(records)).flatMap((event) => (event.kind === kind ? [event.key] : []))

const CLIENTS = ['claude', 'claude-tui', 'claude-2.1.200', 'claude-2.1.50', 'claude-2.0', 'claude-1.0']

const command = (name: string, args = '') =>
  `<command-message>${name.slice(1)}</command-message>\n<command-name>${name}</command-name>\n<command-args>${args}</command-args>`

describe('a command', () => {
  test('that sets off work is a prompt, told once, as it was typed', () => {
    const records = [
      user('u1', null, command('/review', '42 now')),
      user('u2', 'u1', [text('Review pull request 42 now')], { isMeta: true }),
      assistant('a1', 'u2', [call('t1', 'Bash', { command: 'gh pr view 42' })]),
    ]
    expect(kinds(records)).toEqual([
      'user_msg /review 42 now',
      'lifecycle Review pull request 42 now',
      'tool_call Bash: gh pr view 42',
    ])
    const [prompt] = holding(readRecords(records))
    expect(prompt).toMatchObject({
      key: 'u1#0',
      role: 'user',
      said: '/review 42 now',
      payload: { type: 'text', text: command('/review', '42 now') },
    })
  })

  test('is a prompt when the model answers, or could not, without being given a text', () => {
    const asked = user('u1', null, command('/init'))
    const failed = assistant(
      'a1',
      'u1',
      [text('API Error')],
      { isApiErrorMessage: true },
      { model: '<synthetic>' },
    )
    expect(kinds([asked, assistant('a1', 'u1', [text('Hi')])])[0]).toBe('user_msg /init')
    expect(kinds([asked, failed])[0]).toBe('user_msg /init')
  })

  test.each<[string, unknown]>([
    ['its output', user('u2', 'u1', '<local-command-stdout>Set model to Opus</local-command-stdout>')],
    [
      'a notice of the client',
      line('u2', 'u1', { type: 'system', subtype: 'local_command', content: '<local-command-stdout>' }),
    ],
    ['the next prompt', user('u2', 'u1', 'go')],
    ['a filler', assistant('u2', 'u1', [text('No response requested.')], {}, { model: '<synthetic>' })],
    ['the caveat of another one', user('u2', 'u1', '<local-command-caveat>x', { isMeta: true })],
  ])('that only %s follows is housekeeping', (what, follows) => {
    const rest = [user('u3', 'u2', 'go'), assistant('a1', 'u3', [text('Done')])]
    const told = kinds([user('u1', null, command('/model')), follows, ...rest])
    expect([what, told[0]]).toEqual([what, 'lifecycle /model'])
    expect(told.filter((one) => one.startsWith('human_intervention'))).toEqual([])
  })

  test('behind `!` is a prompt where the client shows its output to the model', () => {
    const shell = [
      user('u1', null, '<bash-input>ls</bash-input>'),
      user('u2', 'u1', '<bash-stdout>a.ts</bash-stdout>'),
    ]
    expect(kinds(shell)[0]).toBe('lifecycle ! ls')
    expect(kinds([...shell, user('u3', 'u2', 'and?')])[0]).toBe('lifecycle ! ls')
    expect(kinds([...shell, assistant('a1', 'u2', [text('One file')])])[0]).toBe('user_msg ! ls')
  })

  test('with a picture is one turn', () => {
    const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: '' } }
    const events = holding(
      readRecords([user('u1', null, [text(command('/draw')), picture]), assistant('a1', 'u1', [text('ok')])]),
    )
    expect(events.filter((event) => event.kind === 'user_msg' && !event.isPart)).toHaveLength(1)
  })

  test('of more than a screenful is not carried over', () => {
    const source = claude.claim(
      write(join(newProject(), `${SESSION}.jsonl`), [user('u1', null, command('/fix', 'x'.repeat(100_000)))]),
    )
    const items = source ? [...claude.read(source, null)] : []
    expect(eventsOf(items)[0]?.kind).toBe('user_msg')
    for (const item of of(items, 'position')) expect(JSON.stringify(item).length).toBeLessThan(2000)
  })

  test('in the queue is heard once, when it comes', () => {
    const told = kinds([
      queued('/fix it'),
      user('u1', null, command('/fix', 'it')),
      assistant('a1', 'u1', [text('ok')]),
    ])
    expect(told.slice(0, 2)).toEqual(['lifecycle queue: delivered', 'user_msg /fix it'])
  })
})

describe('the end of a turn', () => {
  const prompt = user('u1', null, 'go')
  const whole = { stop_reason: 'end_turn' }

  test('follows the answer that says so, as an event of its own', () => {
    const events = holding(readRecords([prompt, assistant('a1', 'u1', [text('Done')], {}, whole)]))
    expect(events.map((event) => event.kind)).toEqual(['user_msg', 'assistant_msg', 'completion'])
    expect(events[2]).toEqual({
      type: 'event',
      session: SESSION,
      key: 'a1#end',
      parentKey: 'a1#0',
      ts: events[1]?.ts,
      kind: 'completion',
      role: 'system',
      summary: 'ended with an answer',
      payload: { inferred: 'end of a turn', answer: hashOf('Done') },
    })
  })

  test('is one for each turn, also where answers do not say so', () => {
    const records = [
      prompt,
      assistant('a1', 'u1', [text('Looking')]),
      assistant('a2', 'a1', [call('t1', 'Bash', { command: 'ls' })]),
      user('u2', 'a2', [result('t1', 'a.ts')]),
      assistant('a3', 'u2', [text('One file')]),
      user('u3', 'a3', 'and now?'),
      assistant('a4', 'u3', [text('Nothing')]),
    ]
    expect(keysOf(records)).toEqual(['a3#end', 'a4#end'])
    // It may have been told when the file was shorter.
    expect(of(readRecords(records), 'supersede').map((item) => item.keys)).toEqual([['a1#end']])
  })

  test.each<[string, unknown[]]>([
    [
      'interrupted',
      [assistant('a1', 'u1', [text('I wi')]), user('u2', 'a1', '[Request interrupted by user]')],
    ],
    ['killed in a call', [assistant('a1', 'u1', [call('t1', 'Bash', { command: 'ls' })])]],
    [
      'cut before the call it announces',
      [assistant('a1', 'u1', [text('Looking')], {}, { stop_reason: 'tool_use' })],
    ],
    [
      'ended by an error',
      [assistant('a1', 'u1', [text('API Error')], { isApiErrorMessage: true }, { model: '<synthetic>' })],
    ],
    ['not answered', []],
  ])('is not told of one that was %s', (_, records) => {
    expect(keysOf([prompt, ...records])).toEqual([])
  })

  test('is not told of sub-agents', () => {
    const records = [prompt, assistant('a1', 'u1', [text('Counted')], { isSidechain: true }, whole)]
    expect(keysOf(records)).toEqual([])
  })

  test('is the client’s own word where there is no answer', () => {
    const duration = line('s1', 'a1', { type: 'system', subtype: 'turn_duration', durationMs: 5 })
    const thought = assistant('a1', 'u1', [{ type: 'thinking', thinking: 'hm' }], {}, whole)
    expect(keysOf([prompt, thought, duration])).toEqual(['s1#0'])
    expect(keysOf([prompt, assistant('a1', 'u1', [text('Done')], {}, whole), duration])).toEqual(['a1#end'])
    expect(keysOf([prompt, assistant('a1', 'u1', [text('Done')]), duration])).toEqual(['a1#end'])
  })

  test('is given back when the turn goes on after all', () => {
    const records = [
      prompt,
      assistant('a1', 'u1', [text('Looking')]),
      { type: 'file-history-snapshot', snapshot: {} },
      assistant('a2', 'a1', [call('t1', 'Bash', { command: 'ls' })]),
    ]
    expect(keysOf(records)).toEqual([])
    expect(of(readRecords(records), 'supersede')).toMatchObject([{ keys: ['a1#end'], isRepetition: true }])
  })

  test('is told at the end of a file as it is, and not while a line is being written', () => {
    const path = write(join(newProject(), `${SESSION}.jsonl`), [
      prompt,
      assistant('a1', 'u1', [text('Done')]),
    ])
    const stopped = readFileSync(path)
    appendFileSync(path, '{"type":"user"')
    expect(holding(readAll(path)).map((event) => event.kind)).toEqual(['user_msg', 'assistant_msg'])
    writeFileSync(path, stopped)
    const first = readAll(path)
    expect(holding(first).at(-1)?.kind).toBe('completion')
    const { position } = of(first, 'position').at(-1) as { position: Position }
    // Nothing new is nothing told.
    expect(readAll(path, position)).toEqual([])
    appendFileSync(path, `${JSON.stringify(user('u2', 'a1', 'thanks'))}\n`)
    expect(eventsOf(readAll(path, position)).map((event) => event.key)).toEqual(['u2#0'])
  })

  test('the beginning is a record of the client, or the prompt itself: none is made up', () => {
    const begin = { lifecycle: 0, prompt: 0 }
    for (const name of CLIENTS)
      for (const path of filesBelow(unpackAgent(name)).filter((one) => claude.claim(one)?.path === one)) {
        const [first] = holding(readAll(path))
        if (!first || first.isSidechain) continue
        const record = JSON.parse(readFileSync(path, 'utf8').split('\n', 1)[0] as string)
        if (first.kind === 'lifecycle') begin.lifecycle++
        else {
          begin.prompt++
          expect([path, first.kind, first.key]).toEqual([path, 'user_msg', `${record.uuid}#0`])
          expect(record.version).toMatch(/^1\./)
        }
      }
    expect(begin).toEqual({ lifecycle: 84, prompt: 16 })
  })

  test('is known of every real session that ended with an answer', () => {
    const ended: string[] = []
    for (const name of CLIENTS)
      for (const path of filesBelow(unpackAgent(name)).filter((one) => claude.claim(one)?.path === one)) {
        const main = holding(readAll(path)).filter((event) => !event.isSidechain)
        const last = main.findLast(({ kind }) => kind !== 'lifecycle' && kind !== 'completion')
        if (last?.kind !== 'assistant_msg') continue
        ended.push(path)
        expect([
          path,
          main.some((event) => event.parentKey === last.key && event.kind === 'completion'),
        ]).toEqual([path, true])
      }
    expect(ended.length).toBeGreaterThan(70)
  })
})
