// chat_history.jsonl where it is all there is, or all there is of the beginning: with the times, durations and failures
// that events.jsonl has of it, against what updates.jsonl says of the same sessions of the real client.
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { EventItem } from '../src/adapters/adapter.ts'
import { grok } from '../src/adapters/grok/index.ts'
import { type Collected, collect, collectFile, emptyCollection, filesBelow } from './setup/collect.ts'
import { unpackAgent } from './setup/fixtures.ts'
import {
  type Files,
  type Line,
  readOn,
  row,
  SESSION,
  update,
  user,
  writeSession,
} from './setup/grok-session.ts'

const left = (read: Collected): EventItem[] =>
  [...read.sessions.values()].flatMap(({ events, superseded }) =>
    events.filter((event) => !superseded.has(event.key) && !event.inherited),
  )

/** Of what both files tell: which event it is, when it was, and whether it failed. */
function timesOf(read: Collected, kinds: readonly string[]): Map<string, EventItem> {
  const found = new Map<string, EventItem>()
  for (const event of left(read)) {
    const isEnd = event.role === 'tool'
    const name = event.callId ? `${event.callId}${isEnd ? ' end' : ''}` : `${event.kind} ${event.said}`
    if (kinds.includes(event.kind)) found.set(`${event.session} ${name}`, event)
  }
  return found
}

const SPOKEN = [
  'user_msg',
  'assistant_msg',
  'thinking',
  'tool_call',
  'edit',
  'test_run',
  'retry',
  'tool_result',
  'error',
]
/** Between a row of events.jsonl and the update of the same moment. */
const CLOSE_MS = 60

describe.each(['grok', 'grok-chat', 'grok-messages', 'grok-tui', 'grok-1.0.5'])('chats of %s', (client) => {
  const directory = unpackAgent(client)

  it('have the times and failures of the updates', () => {
    const whole = timesOf(collect(grok, directory), SPOKEN)
    for (const path of filesBelow(directory))
      if (/(?:updates|prompt_history)\.jsonl$/.test(path)) rmSync(path)
    const fromChat = [...timesOf(collect(grok, directory), SPOKEN)].filter(([name]) => whole.has(name))
    const undated = fromChat.filter(([, event]) => event.ts === null).map(([name]) => name)
    expect(fromChat.length).toBeGreaterThan(10)
    // Forks have no rows of what they copied, and a compaction leaves nothing that would lead to a turn.
    expect(undated.length).toBeLessThan(fromChat.length / 3)
    for (const [name, event] of fromChat) {
      const wanted = whole.get(name) as EventItem
      expect(event.kind, name).toBe(wanted.kind)
      if (event.ts === null) continue
      expect(Math.abs(event.ts - (wanted.ts as number)), name).toBeLessThanOrEqual(CLOSE_MS)
      if (wanted.durationMs !== undefined)
        expect(Math.abs((event.durationMs ?? -1e6) - wanted.durationMs), name).toBeLessThanOrEqual(CLOSE_MS)
    }
  })
})

describe('a chat with events beside it', () => {
  const talk: Line[] = [
    { type: 'user', content: '<user_query>fix it</user_query>', prompt_index: 0 },
    {
      type: 'assistant',
      content: 'reading',
      tool_calls: [
        { id: 'c1', name: 'read_file', arguments: '{}' },
        { id: 'c2', name: 'read_file', arguments: '{"a":1}' },
      ],
    },
    { type: 'tool_result', tool_call_id: 'c1', content: 'text' },
    { type: 'tool_result', tool_call_id: 'c2', content: 'no such file' },
    { type: 'user', content: 'faster', synthetic_reason: 'interjection' },
    {
      type: 'user',
      content: '<user_query>go on</user_query>',
      prompt_index: 1,
      prior_turn_interrupt: 'mid_turn_abort',
    },
  ]
  const rows: Line[] = [
    row('turn_started', 1, { turn_number: 0 }),
    row('loop_started', 2, { loop_index: 0 }),
    row('first_token', 3),
    row('tool_started', 4, { tool_name: 'read_file' }),
    row('tool_started', 5, { tool_name: 'read_file' }),
    row('tool_completed', 6, {
      tool_name: 'read_file',
      duration_ms: 1500,
      outcome: 'success',
      tool_call_id: 'c1',
    }),
    row('tool_completed', 7, {
      tool_name: 'read_file',
      duration_ms: 1900,
      outcome: 'error',
      tool_call_id: 'c2',
    }),
    row('interjected', 8, { source: 'tui' }),
    row('turn_ended', 9, { outcome: 'cancelled' }),
    row('turn_started', 20, { turn_number: 1 }),
  ]
  const START = Date.parse(rows[0]?.['ts'] as string) - 1000
  const seconds = (event: EventItem): number | null => (event.ts === null ? null : (event.ts - START) / 1000)
  const shown = (read: Collected) =>
    left(read)
      .filter((event) => event.kind !== 'lifecycle')
      .map((event) => [event.kind, event.summary, seconds(event), event.durationMs])

  it('tells when each thing happened, how long tools took, and how they ended; an intervention once', () => {
    const read = readOn(writeSession({ chat: talk, events: rows }))
    expect(shown(read)).toEqual([
      ['user_msg', 'fix it', 1, undefined],
      ['assistant_msg', 'reading', 3, undefined],
      ['tool_call', 'read_file', 4, undefined],
      ['tool_call', 'read_file', 5, undefined],
      ['tool_result', 'text', 6, 1500],
      ['error', 'no such file', 7, 1900],
      ['human_intervention', 'faster', null, undefined],
      ['human_intervention', 'turn ended: cancelled', 9, undefined],
      ['user_msg', 'go on', 20, undefined],
    ])
  })

  it.each([
    [
      'the rows come first',
      [
        [2, 10],
        [6, 10],
      ],
    ],
    [
      'the rows come later',
      [
        [6, 2],
        [6, 10],
      ],
    ],
    [
      'both by turns',
      [
        [1, 1],
        [2, 3],
        [3, 6],
        [4, 8],
        [6, 10],
      ],
    ],
  ])('the same in steps: %s', (_, steps) => {
    const whole = readOn(writeSession({ chat: talk, events: rows }))
    const read = emptyCollection()
    const files = (chat: number, events: number): Files => ({
      chat: talk.slice(0, chat),
      events: rows.slice(0, events),
    })
    const home = dirname(dirname(dirname(dirname(writeSession(files(1, 1))))))
    for (const [chat, events] of steps as [number, number][])
      readOn(writeSession(files(chat, events), { home }), read)
    const sorted = (one: Collected) => shown(one).map(String).sort()
    expect(sorted(read)).toEqual(sorted(whole))
  })

  it('an old chat numbers no prompts: they are counted, unless a compaction wrote it anew', () => {
    const old = [
      { role: 'user', content: 'fix it' },
      { role: 'assistant', content: 'done' },
      { role: 'user', content: 'go on' },
    ]
    expect(
      shown(readOn(writeSession({ chat: old, events: rows }))).filter(([kind]) => kind === 'user_msg'),
    ).toEqual([
      ['user_msg', 'fix it', 1, undefined],
      ['user_msg', 'go on', 20, undefined],
    ])
    const anew = [{ type: 'user', content: 'sum', synthetic_reason: 'compaction_meta' }, ...old]
    const read = readOn(writeSession({ chat: anew, events: rows }))
    expect(
      shown(read)
        .filter(([kind]) => kind === 'user_msg')
        .map(([, , at]) => at),
    ).toEqual([null, null])
  })
})

describe('a session that a client without updates began', () => {
  const directory = unpackAgent('grok')
  /** Real sessions with a second prompt, the updates of whose first turn are taken away. */
  const spines = filesBelow(directory).filter((path) =>
    /\/(?:resume|kill_resume)\/.*updates\.jsonl$/.test(path),
  )

  const isSecond = (line: Line): boolean => {
    const { update: body } = line['params'] as { update: Line }
    return (body['_meta'] as Line | undefined)?.['promptIndex'] === 1
  }
  const parse = (path: string): Line[] =>
    readFileSync(path, 'utf8')
      .trimEnd()
      .split('\n')
      .map((text) => JSON.parse(text) as Line)
  const said = (
    read: Collected,
    kinds = ['user_msg', 'assistant_msg', 'thinking', 'tool_call', 'test_run', 'edit', 'retry'],
  ) =>
    left(read)
      .filter((event) => kinds.includes(event.kind))
      .map((event) => `${event.kind} ${event.said}`)

  it('is told whole and once, in order and with its times', () => {
    expect(spines.length).toBe(2)
    for (const path of spines) {
      const whole = collectOne(path)
      const lines = parse(path)
      const later = lines.slice(lines.findIndex(isSecond))
      writeFileSync(path, later.map((line) => `${JSON.stringify(line)}\n`).join(''))
      const read = collectOne(path)
      expect(said(read), path).toEqual(said(whole))
      const prompts = (one: Collected) =>
        left(one)
          .filter((event) => event.kind === 'user_msg')
          .map((event) => event.ts as number)
      for (const [at, ts] of prompts(whole).entries())
        expect(Math.abs((prompts(read)[at] ?? 0) - ts), path).toBeLessThan(3)
      // And the tokens of the turn whose end is not there.
      const sum = (one: Collected) => [...one.usage.values()].reduce((all, usage) => all + usage.output, 0)
      expect(sum(read), path).toBe(sum(whole))
    }
  })

  const collectOne = (path: string): Collected => {
    const read = emptyCollection()
    collectFile(grok, path, null, read)
    return read
  }

  const chat: Line[] = [
    { type: 'system', content: 'You are' },
    { type: 'user', content: '<user_query>old</user_query>', prompt_index: 0 },
    { type: 'assistant', content: 'old answer' },
    { type: 'user', content: '<user_query>new</user_query>', prompt_index: 1 },
    { type: 'assistant', content: 'new answer' },
  ]
  const agentSaid = (text: string) =>
    update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } })

  it('before its first prompt is there, the chat stands in for it', () => {
    const loaded = update({ sessionUpdate: 'available_commands_update' })
    const path = writeSession({ chat: chat.slice(0, 3), updates: [loaded] })
    const read = readOn(path)
    expect(said(read)).toEqual(['user_msg old', 'assistant_msg old answer'])
    writeSession(
      { chat, updates: [loaded, update(user('new', 1)), agentSaid('new answer')] },
      { home: dirname(dirname(dirname(dirname(path)))) },
    )
    readOn(path, read)
    expect(said(read)).toEqual([
      'user_msg old',
      'assistant_msg old answer',
      'user_msg new',
      'assistant_msg new answer',
    ])
  })

  it('can be rewound to what only the chat has', () => {
    const back = update({ sessionUpdate: 'rewind_marker', target_prompt_index: 0 })
    const updates = [update(user('new', 1)), agentSaid('new answer'), back, update(user('other', 0))]
    const read = readOn(writeSession({ chat, updates }))
    expect(said(read)).toEqual(['user_msg other'])
  })

  it.each<[string, Line[], Line[], string[]]>([
    [
      'the prompt is not in the chat yet',
      chat.slice(0, 3),
      [update(user('new', 1))],
      ['user_msg old', 'assistant_msg old answer', 'user_msg new'],
    ],
    [
      'the chat numbers nothing',
      chat.map(({ prompt_index: _, ...item }) => item),
      [update(user('new', 1))],
      ['user_msg old', 'assistant_msg old answer', 'user_msg new'],
    ],
    [
      'nothing numbers anything',
      chat.map(({ prompt_index: _, ...item }) => item),
      [update(user('new'))],
      ['user_msg old', 'assistant_msg old answer', 'user_msg new'],
    ],
    [
      'it began with updates',
      chat,
      [update(user('old', 0)), agentSaid('x')],
      ['user_msg old', 'assistant_msg x'],
    ],
    [
      'it began with updates that number nothing',
      chat,
      [update(user('old')), agentSaid('x')],
      ['user_msg old', 'assistant_msg x'],
    ],
    [
      'the chat was written anew, and the prompt is not in it',
      [
        { type: 'user', content: 'sum', synthetic_reason: 'compaction_meta' },
        { type: 'user', content: '<user_query>later</user_query>' },
      ],
      [update(user('new', 1))],
      ['user_msg new'],
    ],
  ])('%s', (_, said0, updates, wanted) => {
    const read = readOn(writeSession({ chat: said0, updates }))
    expect(said(read)).toEqual(wanted)
    expect(read.sessions.has(SESSION)).toBe(true)
  })
})

it('a chat that was written anew has one compaction, at its summary', () => {
  const told = (text: string): Line => ({ type: 'user', content: text, synthetic_reason: 'compaction_meta' })
  const chat = [
    told('<user_info>\nOS</user_info>'),
    told('Summary: all of it'),
    { type: 'assistant', content: 'on' },
  ]
  const events = [...readOn(writeSession({ chat })).sessions.values()].flatMap((one) => one.events)
  expect(events.map(({ mark }) => mark)).toEqual([undefined, 'compaction', undefined])
})
