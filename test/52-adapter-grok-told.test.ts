// What Grok's adapter tells of an event beside its row: the words alone, what a call does, how it ended, what it means.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { EventItem } from '../src/adapters/adapter.ts'
import { grok } from '../src/adapters/grok/index.ts'
import { packTold } from '../src/event/body.ts'
import { toldBy } from '../src/sweep/told.ts'
import { collect } from './setup/collect.ts'
import { unpackAgent } from './setup/fixtures.ts'

const CLIENTS = ['grok', 'grok-tui', 'grok-chat', 'grok-messages', 'grok-1.0.5']
const CALLS = new Set(['tool_call', 'edit', 'test_run', 'retry'])
const SCENARIOS = new Map<string, EventItem[]>(
  CLIENTS.flatMap((client) => {
    const directory = unpackAgent(client)
    return readdirSync(directory).map((name): [string, EventItem[]] => {
      const sessions = [...collect(grok, join(directory, name)).sessions.values()]
      return [`${client}/${name}`, sessions.flatMap((one) => one.events)]
    })
  }),
)
const eventsOf = (name: string): EventItem[] => SCENARIOS.get(name) ?? []
const marks = (name: string): (string | undefined)[] =>
  eventsOf(name).flatMap((event) => (event.inherited ? [] : (event.mark ?? [])))

describe.each([...SCENARIOS])('%s', (_, events) => {
  test('every call tells what it does, every result how it ended', () => {
    const calls = events.filter((event) => event.tool !== undefined && CALLS.has(event.kind))
    const results = events.filter((event) => event.role === 'tool')
    expect(calls.filter((event) => event.act === undefined)).toEqual([])
    expect(results.filter((event) => event.state === undefined)).toEqual([])
    for (const { kind, state } of results) expect(state === 'failed').toBe(kind === 'error')
    expect(events.filter((event) => event.said === '')).toEqual([])
    const said = results.flatMap((event) => event.said ?? [])
    expect(said.filter((text) => /^exit: -?\d/.test(text))).toEqual([])
  })

  test('what stands in the record is not stored twice', () => {
    const plain = { text: (text: string) => text, value: (value: unknown) => value }
    for (const event of events) {
      const { line, told } = packTold(toldBy(event), event.payload, event.payload, plain)
      expect(told.said).toBe(event.said)
      expect(line.length).toBeLessThan(400)
    }
  })
})

test('deeds have the names of tools', () => {
  const deeds = new Map(
    [...SCENARIOS.values()].flat().flatMap((event) => (event.act ? [[event.tool, event.act.does]] : [])),
  )
  expect(Object.fromEntries(deeds)).toEqual({
    read_file: 'read',
    run_terminal_command: 'shell',
    search_replace: 'edit',
    spawn_subagent: 'spawn',
    get_command_or_subagent_output: 'other',
  })
})

test.each(['grok/tools', 'grok-chat/tools', 'grok-messages/tools'])('%s', (name) => {
  const events = eventsOf(name)
  const edits = events.filter((event) => event.kind === 'edit')
  expect(edits).toHaveLength(1)
  expect(edits[0]?.act?.edits).toMatchObject([
    { path: 'calc.js', before: 'return a - b;', after: 'return a + b;' },
  ])
  const run = events.filter((event) => event.act?.command === 'node test.js')
  const ends = run.map(({ callId }) => events.find((one) => one.role === 'tool' && one.callId === callId))
  expect(ends.map((end) => [end?.state, end?.exitCode])).toEqual([
    ['failed', 1],
    ['ok', 0],
  ])
  expect(ends[0]?.said).toContain('AssertionError')
  expect(ends[1]?.said).toMatch(/^ALL TESTS PASS\n/)
})

test('what goes on says so, and its end is told', () => {
  const ofJob = eventsOf('grok/background_bash').filter((event) => event.state !== undefined)
  expect(ofJob.map((event) => [event.role, event.state, event.said])).toEqual([
    ['tool', 'background', ofJob[0]?.said],
    ['system', 'ok', 'BG-DONE\n'],
  ])
  expect(ofJob[1]?.callId).toBe(ofJob[0]?.callId)
  const ofAgent = eventsOf('grok/subagent_bg').filter((event) => event.state !== undefined)
  expect(ofAgent.map((event) => [event.tool, event.state])).toEqual([
    ['spawn_subagent', 'background'],
    [undefined, 'ok'],
    ['get_command_or_subagent_output', 'ok'],
    ['run_terminal_command', 'ok'],
  ])
})

test('ends, interrupts and compactions are marked once', () => {
  expect(marks('grok/qa')).toEqual(['turn-end'])
  expect(marks('grok-tui/interrupt_esc')).toEqual(['interrupt', 'turn-end'])
  expect(marks('grok-tui/compact_rename')).toEqual(['turn-end', 'compaction', 'turn-end'])
  expect(marks('grok/autocompact').filter((mark) => mark === 'compaction')).toHaveLength(1)
  expect(marks('grok/compact_fail')).not.toContain('compaction')
  // The process that goes on says what became of the turn before.
  expect(marks('grok/kill_resume')).toEqual(['shutdown', 'turn-end'])
})
