// Tokens stand on the event of their response, allowances are told when they change, and turns of old versions end.
import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Item, LimitItem, Position, UsageItem } from '../src/adapters/adapter.ts'
import { codex } from '../src/adapters/codex/index.ts'
import { filesBelow } from './setup/collect.ts'
import { unpackAgent } from './setup/fixtures.ts'
import {
  asked,
  counted,
  eventsOf,
  item,
  itemsOf,
  type Json,
  jsonl,
  line,
  meta,
  nameOf,
  newHome,
  read,
  said,
  THREAD,
  told,
  writeRollout,
} from './setup/rollout.ts'
import { held, readAll } from './setup/steps.ts'

const call = (id: string): Json =>
  item({ type: 'function_call', name: 'exec_command', call_id: id, arguments: '{"cmd":"ls"}' })
const output = (id: string, text = 'done'): Json =>
  item({ type: 'function_call_output', call_id: id, output: text })
const thought = (text: string): Json => told('agent_reasoning', { text })
const thinking = (text: string): Json =>
  item({ type: 'reasoning', summary: [{ type: 'summary_text', text }] })

/** Counts in which each response puts out its number of tokens. */
function counts(): (tokens: number) => Json {
  let total = 0
  return (tokens) => {
    total += tokens
    return counted([10, 0, total, 10 + total], [10, 0, tokens, 10 + tokens])
  }
}

/** [tokens, what the event that shows them says], in the order they were told last. */
function shown(items: Item[]): (readonly [number, string | undefined])[] {
  const summaries = new Map(eventsOf(items).map((event) => [event.key, event.callId ?? event.said]))
  const usage = items.filter((one): one is UsageItem => one.type === 'usage')
  const last = new Map(usage.map((one) => [one.id, one]))
  return [...last.values()].map((one) => [one.output, summaries.get(one.event ?? '')] as const)
}

describe('a response shows its tokens on its first event', () => {
  test('where the count stands behind it', () => {
    const count = counts()
    const { items } = read([
      ...[meta(THREAD), asked('go'), thought('hm'), thinking('hm'), call('a'), call('b'), count(1)],
      ...[output('a'), output('b'), call('c'), count(2), output('c'), said('so'), count(3)],
      ...[asked('on'), said('yes'), count(4)],
    ])
    expect(shown(items)).toEqual([
      [1, 'hm'],
      [2, 'c'],
      [3, 'so'],
      [4, 'yes'],
    ])
  })

  test('where it stands behind the first words and before the calls, as up to 0.65', () => {
    const count = counts()
    const { items } = read([
      ...[meta(THREAD), asked('go'), thought('hm'), count(1), thinking('hm'), call('a'), output('a')],
      ...[count(2), call('b'), output('b'), count(3), call('c'), output('c')],
      ...[told('agent_message', { message: 'so' }), count(4), said('so'), asked('on'), count(5), call('d')],
    ])
    expect(shown(items)).toEqual([
      [1, 'hm'],
      [2, 'b'],
      [3, 'c'],
      [4, 'so'],
      [5, 'd'],
    ])
  })

  test('where it stands behind the outputs as well, as in 0.145', () => {
    const count = counts()
    const { items } = read([
      ...[meta(THREAD), asked('go'), said('well'), call('a'), call('b'), output('a'), output('b'), count(1)],
      ...[call('c'), output('c'), count(2), said('so'), count(3)],
    ])
    expect(shown(items)).toEqual([
      [1, 'well'],
      [2, 'c'],
      [3, 'so'],
    ])
  })

  test('a compaction on its own record, and what a script did on none', () => {
    const count = counts()
    const ran = told('item_completed', {
      item: { type: 'CommandExecution', id: 'exec-1', command: ['ls'], exit_code: 0 },
    })
    const { items } = read([
      ...[meta(THREAD), asked('go'), said('one'), count(1)],
      ...[count(2), line('compacted', { message: 'the summary' })],
      ...[call('a'), count(3), ran, output('a'), said('two'), count(4)],
    ])
    expect(shown(items)).toEqual([
      [1, 'one'],
      [2, 'the summary'],
      [3, 'a'],
      [4, 'two'],
    ])
  })
})

const CLIENTS = [
  'codex',
  'codex-codemode',
  'codex-tui',
  'codex-0.145',
  'codex-0.121',
  'codex-0.80',
  'codex-0.45',
]

interface Served {
  text: string | null
  tool_calls: { id: string }[] | null
  wire_usage: { output_tokens: number } | null
  queue: string
}

test.each(CLIENTS)(
  'all tokens of %s stand on words or calls of the response that the server sent',
  (client) => {
    const directory = unpackAgent(client)
    let tied = 0
    for (const path of filesBelow(directory).filter((one) => /rollout-.*\.jsonl$/.test(one))) {
      const scenario = path.slice(directory.length + 1).split('/')[0] as string
      const { responses } = JSON.parse(readFileSync(join(directory, scenario, 'expected.json'), 'utf8')) as {
        responses: Served[]
      }
      const items = itemsOf(path)
      const events = eventsOf(items)
      const last = new Map(
        items.filter((one): one is UsageItem => one.type === 'usage').map((one) => [one.id, one]),
      )
      for (const { output: tokens, event, session } of last.values()) {
        if (session !== events[0]?.session) continue
        const at = events.findIndex((one) => one.key === event)
        expect(at, `${path}: ${tokens} tokens on no event`).toBeGreaterThan(-1)
        tied++
        const words = events.slice(at).find((one) => one.kind !== 'thinking')
        const isOf = ({ queue, text, tool_calls, wire_usage }: Served): boolean =>
          wire_usage?.output_tokens === tokens &&
          (queue === 'compact' ||
            (text !== null && text === words?.said) ||
            (tool_calls ?? []).some((one) => one.id === words?.callId))
        expect(responses.some(isOf), `${path}: ${tokens} tokens on ${words?.summary}`).toBe(true)
      }
    }
    expect(tied).toBeGreaterThan(4)
  },
)

describe('allowances', () => {
  const limits = (used: number, more: Json = {}): Json =>
    told('token_count', {
      info: null,
      rate_limits: {
        primary: { used_percent: used, window_minutes: 300, resets_at: 1_764_019_117 },
        secondary: { used_percent: 19, window_minutes: 10_080, resets_at: 1_764_460_072 },
        ...more,
      },
    })
  const found = (records: Json[]): LimitItem[] =>
    read([meta(THREAD), ...records]).items.filter((one): one is LimitItem => one.type === 'limit')

  test('are told when something of them changed', () => {
    const told = found([limits(1), limits(1), limits(2), limits(2), limits(2, { plan_type: 'plus' })])
    expect(told.map(({ name, usedPercent, plan }) => [name, usedPercent, plan])).toEqual([
      ['codex:primary', 1, undefined],
      ['codex:secondary', 19, undefined],
      ['codex:primary', 2, undefined],
      ['codex:primary', 2, 'plus'],
      ['codex:secondary', 19, 'plus'],
    ])
    expect(told[0]).toMatchObject({ windowMinutes: 300, resetsAt: 1_764_019_117_000 })
  })

  test('of other shapes: seconds until the reset, an id, bought credits, nothing', () => {
    const early = { used_percent: 3, window_minutes: 299, resets_in_seconds: 600 }
    const records = [early, { ...early, resets_in_seconds: 599.99 }].map((primary) =>
      told('token_count', { info: null, rate_limits: { primary, secondary: null } }),
    )
    const [one, ...rest] = found(records)
    expect(rest).toEqual([])
    expect((one?.resetsAt ?? 0) % 60_000).toBe(0)
    const credits = { has_credits: true, unlimited: false, balance: '12.5' }
    const named = found([limits(1, { limit_id: 'other', secondary: null, credits })])
    expect(named.map(({ name, usedPercent, left }) => [name, usedPercent, left])).toEqual([
      ['other:primary', 1, undefined],
      ['other:credits', null, '12.5'],
    ])
    expect(found([limits(1, { primary: null, secondary: { used_percent: 'x' }, credits: null })])).toEqual([])
  })
})

describe('the end of a turn that no record tells', () => {
  const ends = (items: Item[]): (string | undefined)[] =>
    eventsOf(held(items))
      .filter((event) => event.kind === 'completion')
      .map((event) => event.parentKey ?? undefined)

  test('is told behind its last answer: before the next prompt, and at the end of the file', () => {
    const { items, events } = read([
      meta(THREAD),
      asked('a'),
      said('A'),
      call('x'),
      output('x'),
      said('B'),
      asked('b'),
      said('C'),
    ])
    const keys = new Map(events.map((event) => [event.key, event.said]))
    expect(ends(items).map((key) => keys.get(key ?? ''))).toEqual(['B', 'C'])
    expect(events.find((event) => event.kind === 'completion')).toMatchObject({
      role: 'system',
      summary: 'ended with an answer',
      payload: { inferred: 'end of a turn' },
    })
  })

  test('is not told where the client tells it, or where the turn was stopped, failed or killed', () => {
    const stopped = told('turn_aborted', { reason: 'interrupted' })
    expect(ends(read([meta(THREAD), asked('a'), said('A'), stopped]).items)).toEqual([])
    expect(ends(read([meta(THREAD), asked('a'), said('A'), told('error', { message: 'x' })]).items)).toEqual(
      [],
    )
    expect(ends(read([meta(THREAD), asked('a'), said('A'), call('x')]).items)).toEqual([])
    const native = [told('task_started', {}), asked('a'), said('A'), told('task_complete', {})]
    expect(ends(read([meta(THREAD), ...native]).items)).toEqual([undefined])
  })

  test('is taken back when the turn goes on, and told once whatever the steps', () => {
    const records = [meta(THREAD), asked('a'), said('A'), call('x'), output('x'), said('B'), asked('b')]
    const path = writeRollout(newHome(), nameOf(THREAD), '')
    const items: Item[] = []
    let position: Position | null = null
    for (const record of records) {
      appendFileSync(path, jsonl([record]))
      // Also where nothing is new.
      for (let time = 0; time < 2; time++)
        for (const one of readAll(codex, path, position)) {
          if (one.type === 'position') position = JSON.parse(JSON.stringify(one.position)) as Position
          else items.push(one)
        }
    }
    expect(items.some((one) => one.type === 'supersede' && one.isRepetition)).toBe(true)
    expect(held(items)).toEqual(held(itemsOf(path)))
    expect(ends(items)).toHaveLength(1)
  })
})

test('what a person stopped at once is one act', () => {
  const kinds = (records: Json[]): string[] =>
    read([meta(THREAD), asked('go'), ...records])
      .events.slice(2)
      .map((event) => event.kind)
  const aborted = told('turn_aborted', { reason: 'interrupted' })
  const stopped = 'aborted by user after 1.0s'
  expect(kinds([call('a'), call('b'), output('a', stopped), output('b', stopped), aborted])).toEqual([
    'tool_call',
    'tool_call',
    'human_intervention',
    'error',
    'lifecycle',
  ])
  expect(kinds([call('a'), aborted])).toEqual(['tool_call', 'human_intervention'])
  // The agent went on after the refusal.
  const refused = output('a', 'exec command rejected by user')
  expect(kinds([call('a'), refused, said('then not'), aborted])).toEqual([
    'tool_call',
    'human_intervention',
    'assistant_msg',
    'human_intervention',
  ])
})

test('tokens of the priority service stand under a name of their own', () => {
  const count = counts()
  const settings = (service_tier: string): Json =>
    told('thread_settings_applied', { thread_settings: { model: 'gpt-5.5', service_tier } })
  const rollout = [
    meta(THREAD),
    settings('priority'),
    asked('go'),
    said('one'),
    count(5),
    settings('default'),
    said('two'),
    count(7),
  ]
  expect(read(rollout).usage.map((one) => one.model)).toEqual(['gpt-5.5-priority', 'gpt-5.5'])
})
