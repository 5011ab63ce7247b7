// What Codex's adapter tells of an event beside its row: the words alone, what a call does, how it ended, what it means.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { EventItem } from '../src/adapters/adapter.ts'
import { codex } from '../src/adapters/codex/index.ts'
import { packTold } from '../src/event/body.ts'
import { changesOf } from '../src/event/edits.ts'
import { toldBy } from '../src/sweep/told.ts'
import { collect, filesBelow } from './setup/collect.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { asked, item, type Json, meta, read, THREAD, told } from './setup/rollout.ts'

const CALLS = new Set(['tool_call', 'edit', 'test_run', 'retry'])
const WRAPPER =
  /^(?:Script \w+\n|Wall time|Chunk ID|Exit code: |Process exited|Original token count|Output:\n)/m

interface Scenario {
  name: string
  events: EventItem[]
  records: Json[]
}

function scenariosOf(client: string): Scenario[] {
  const directory = unpackAgent(client)
  return readdirSync(directory).map((name) => ({
    name,
    events: [...collect(codex, join(directory, name)).sessions.values()].flatMap((one) => one.events),
    records: filesBelow(join(directory, name))
      .filter((path) => /rollout-[^/]*\.jsonl$/.test(path))
      .flatMap((path) => readFileSync(path, 'utf8').split('\n').filter(Boolean))
      .map((line) => JSON.parse(line) as Json),
  }))
}

const CLIENTS = [
  'codex',
  'codex-codemode',
  'codex-tui',
  'codex-0.145',
  'codex-0.121',
  'codex-0.80',
  'codex-0.45',
]
const SCENARIOS = new Map(CLIENTS.map((client) => [client, scenariosOf(client)]))
const scenarios = (...clients: string[]): Scenario[] => clients.flatMap((one) => SCENARIOS.get(one) ?? [])
const payloadOf = (record: Json): Json => (record['payload'] ?? {}) as Json

describe.each(CLIENTS)('%s', (client) => {
  const events = scenarios(client).flatMap((one) => one.events)

  test('every call tells what it does, every result how it ended', () => {
    const calls = events.filter((event) => event.tool !== undefined && CALLS.has(event.kind))
    const results = events.filter((event) => event.role === 'tool')
    expect(calls.length).toBeGreaterThan(1)
    expect(results.length).toBeGreaterThan(1)
    expect(calls.filter((event) => event.act === undefined)).toEqual([])
    expect(results.filter((event) => event.state === undefined)).toEqual([])
    for (const event of results)
      expect(event.state === 'failed').toBe(event.kind === 'error' || !!event.exitCode)
    expect(events.filter((event) => event.said === '')).toEqual([])
  })

  test('outputs have nothing of the client around them', () => {
    const said = events.filter((event) => event.role === 'tool').flatMap((event) => event.said ?? [])
    expect(said.filter((text) => WRAPPER.test(text))).toEqual([])
    expect(said.filter((text) => text.startsWith('README.md\n')).length).toBeGreaterThan(0)
  })

  test('a turn that the client calls complete ends, one that a person stops is interrupted', () => {
    for (const { name, events: own, records } of scenarios(client)) {
      const marked = (mark: string) => own.filter((event) => event.mark === mark && !event.inherited).length
      const payloads = records.map(payloadOf)
      const ends = payloads.filter((one) => one['type'] === 'task_complete' && !one['error'])
      expect(marked('turn-end'), name).toBe(ends.length)
      // A sub-agent is stopped by the one that started it.
      const stops = payloads.filter((one) => one['type'] === 'turn_aborted')
      expect(marked('interrupt'), name).toBe(name.startsWith('subagent') ? 0 : stops.length)
      // A notice or an item tells each of them again.
      const compactions = records.filter((record) => record['type'] === 'compacted')
      expect(marked('compaction'), name).toBe(compactions.length)
    }
  })
})

test('compactions are there to be counted', () => {
  const all = scenarios(...CLIENTS).flatMap((one) => one.events)
  expect(all.filter((event) => event.mark === 'compaction')).toHaveLength(3)
  expect(all.filter((event) => event.mark === 'interrupt').length).toBeGreaterThan(1)
})

describe('code mode', () => {
  const found = scenarios('codex-codemode', 'codex-tui')
  const events = found.flatMap((one) => one.events)
  const commands = found
    .flatMap((one) => one.records)
    .map((record) => payloadOf(record)['item'] as Json | undefined)
    .filter((one) => one?.['type'] === 'CommandExecution') as Json[]

  test('the commands of scripts: what was run, what it gave, how it ended', () => {
    expect(commands).toHaveLength(14)
    for (const command of commands) {
      const own = events.filter((event) => event.callId === command['id'])
      const [call, result] = own
      const line = (command['command'] as string[])[2]
      expect(own).toHaveLength(2)
      expect(call?.act).toEqual({ does: 'shell', command: line, cwd: '/home/dev/proj' })
      expect(result?.said).toBe(command['aggregated_output'])
      expect(result?.exitCode).toBe(command['exit_code'])
      expect(result?.state).toBe(command['exit_code'] === 0 ? 'ok' : 'failed')
    }
  })

  test('the scripts themselves name the command, and count nothing a second time', () => {
    const scripts = events.filter((event) => event.tool === 'exec' && event.role === 'assistant')
    const named = scripts.filter((event) => event.act?.command !== undefined)
    expect(scripts.length).toBe(19)
    expect(named.length).toBe(16)
    for (const script of scripts) {
      expect(script).toMatchObject({ kind: 'tool_call', act: { does: 'other' } })
      expect(script.act?.input).toBe((script.payload as Json)['input'])
    }
    for (const script of named) {
      const result = events.find(
        (event) =>
          event.role === 'tool' && event.callId === script.callId && event.session === script.session,
      )
      if (!result) continue
      const own = commands.find((one) => one['aggregated_output'] === result.said)
      expect(own?.['command']).toEqual(['/bin/bash', '-lc', script.act?.command])
      expect([result.exitCode, result.kind]).toEqual([own?.['exit_code'], 'tool_result'])
    }
  })

  test('a patch is an edit of the files it names', () => {
    const edits = events.filter((event) => event.act?.does === 'edit')
    expect(edits.map((event) => [event.kind, event.files])).toEqual([['edit', ['/home/dev/proj/calc.js']]])
    const [change] = changesOf(edits[0]?.act?.edits ?? [])
    expect(change).toMatchObject({ path: '/home/dev/proj/calc.js', isWhole: false })
    expect(change?.after).toContain('return a + b;')
  })

  test('sub-agents are spawned', () => {
    const spawns = events.filter((event) => event.act?.does === 'spawn' && !event.inherited)
    expect(spawns.map((event) => event.tool)).toEqual(['spawn_agent', 'spawn_agent'])
  })
})

test('direct tools: a patch stays a patch', () => {
  for (const client of ['codex', 'codex-0.145', 'codex-0.121', 'codex-0.80', 'codex-0.45']) {
    const edits = scenarios(client)
      .flatMap((one) => one.events)
      .filter((event) => event.kind === 'edit')
    expect(edits, client).toHaveLength(1)
    expect(edits[0]?.files).toEqual(['calc.js'])
    expect(edits[0]?.act?.edits).toEqual([
      {
        path: '',
        patch:
          '*** Begin Patch\n*** Update File: calc.js\n@@\n-  return a - b;\n+  return a + b;\n*** End Patch',
      },
    ])
  }
})

test('what stands in the record is not stored twice', () => {
  const plain = { text: (text: string) => text, value: (value: unknown) => value }
  const events = scenarios('codex', 'codex-codemode').flatMap((one) => one.events)
  for (const event of events) {
    const { line, told } = packTold(toldBy(event), event.payload, event.payload, plain)
    expect(told.said).toBe(event.said)
    expect(line.length).toBeLessThan(300)
  }
})

const given = (output: unknown): EventItem | undefined =>
  read([
    meta(THREAD),
    item({ type: 'function_call', name: 'shell', call_id: 'c', arguments: '{"command":["ls"]}' }),
    item({ type: 'function_call_output', call_id: 'c', output }),
  ]).events.at(-1)

test.each<[string, unknown, Json]>([
  ['failed', 'failed in sandbox: no such option\n', { said: 'no such option\n' }],
  ['failed', 'failed in sandbox None with execution error: command timed out', { said: 'command timed out' }],
  [
    'failed',
    'failed in sandbox MacosSeatbelt with execution error: sandbox denied exec error, exit code: 1, stdout: a\n, stderr: b\n',
    { said: 'a\n\nb\n', exitCode: 1 },
  ],
  ['stopped', 'Wall time: 406.9 seconds\naborted by user', { said: 'aborted by user', mark: 'interrupt' }],
  ['refused', 'exec command rejected by user', { kind: 'human_intervention', mark: 'denied' }],
  ['refused', 'patch rejected: outside of the project', { kind: 'error', mark: 'denied' }],
  [
    'refused',
    'exec_command failed: CreateProcess { message: "Rejected(\\"not allowed\\")" }',
    { kind: 'error', mark: 'denied' },
  ],
  ['ok', JSON.stringify({ output: 'Total output lines: 9\n\nx', metadata: { exit_code: 0 } }), { said: 'x' }],
  ['ok', 'Script completed\nWall time 0.1 seconds\nOutput:\nplain', { said: 'plain' }],
  [
    'failed',
    'Script completed\nWall time 0.1 seconds\nOutput:\n{"exit_code":3,"output":"no\\n"}',
    { said: 'no\n', exitCode: 3, kind: 'error' },
  ],
  [
    'ok',
    'Script completed\nWall time 0.1 seconds\nOutput:\n{"exit_code":3,"mine":1}',
    { kind: 'tool_result' },
  ],
])('%s: %j', (state, output, wanted) => {
  expect(given(output)).toMatchObject({ state, ...wanted })
})

test('a script that goes on ends when somebody waits for it', () => {
  const { events } = read([
    meta(THREAD),
    item({ type: 'custom_tool_call', name: 'exec', call_id: 'c1', input: 'await tools.exec_command(x)' }),
    item({
      type: 'custom_tool_call_output',
      call_id: 'c1',
      output: 'Script running with cell ID 7\nWall time 9.0 seconds\nOutput:\n',
    }),
    item({ type: 'function_call', name: 'wait', call_id: 'c2', arguments: '{"cell_id":"7"}' }),
    item({
      type: 'function_call_output',
      call_id: 'c2',
      output: [
        { type: 'input_text', text: 'Script completed\nWall time 1.0 seconds\nOutput:\n' },
        { type: 'input_text', text: 'done it' },
      ],
    }),
  ])
  const results = events.filter((event) => event.role === 'tool')
  expect(results.map((event) => [event.callId, event.tool, event.state, event.said])).toEqual([
    ['c1', 'exec', 'background', undefined],
    ['c2', 'wait', 'ok', 'done it'],
    ['c1', 'exec', 'ok', 'done it'],
  ])
})

const actOf = (name: string, input: Json | string): EventItem['act'] => {
  const call =
    typeof input === 'string'
      ? { type: 'custom_tool_call', input }
      : { type: 'function_call', arguments: JSON.stringify(input) }
  return read([meta(THREAD), item({ ...call, name, call_id: 'c' })]).events.at(-1)?.act
}

test.each<[string, Json, Json]>([
  ['shell', { command: ['bash', '-lc', 'a\nb'] }, { does: 'shell', command: 'a\nb' }],
  ['shell', { command: ['git', 'commit', '-m', "it's"] }, { command: String.raw`git commit -m 'it'\''s'` }],
  ['shell', { command: ['python', '-c', 'x()'] }, { command: "python -c 'x()'" }],
  [
    'shell',
    { command: ['pwsh', '-NoProfile', '-Command', 'ls'], workdir: '/w' },
    { command: 'ls', cwd: '/w' },
  ],
  ['shell', { command: ['apply_patch', '*** Begin Patch\n*** End Patch'] }, { does: 'edit' }],
  ['exec_command', { cmd: 'npm test' }, { does: 'shell', command: 'npm test', input: { cmd: 'npm test' } }],
  ['update_plan', { plan: [] }, { does: 'plan' }],
  ['request_user_input', { questions: [] }, { does: 'ask' }],
  ['mcp__files__write', { path: 'x' }, { does: 'other' }],
])('%s %j', (name, input, wanted) => {
  expect(actOf(name, input)).toMatchObject(wanted)
})

test.each<[string, string | undefined, string]>([
  [`await tools.exec_command({ cmd: "a \\"b\\"", yield_time_ms: 10, });`, 'a "b"', 'shell'],
  ["text(await tools.shell_command({command: 'a\\nb\\u0041'}))", 'a\nbA', 'shell'],
  ['await tools.exec_command({ cmd: `ls` })', 'ls', 'shell'],
  ['await tools.exec_command({ cmd: `ls $' + '{x}` })', undefined, 'shell'],
  ['await tools.exec_command({ cmd: "a" + b })', undefined, 'shell'],
  ['await tools.exec_command({ cmd })', undefined, 'shell'],
  ['await tools.exec_command({cmd: "a"}); await tools.exec_command({cmd: "b"})', undefined, 'shell'],
  ['await tools.exec_command({cmd: "a"}); await tools.update_plan({})', undefined, 'other'],
  ['const { update_plan } = tools; await tools.exec_command({cmd: "a"})', undefined, 'shell'],
  ['text("hello")', undefined, 'other'],
])('the command of a script is certain only where it is written out: %s', (script, command, does) => {
  const act = actOf('exec', script)
  expect([act?.command, act?.does]).toEqual([command, does])
})

test('a script of a thread without items is the edit itself', () => {
  const patch = '*** Begin Patch\n*** Add File: a.txt\n+x\n*** End Patch'
  const input = `await tools.apply_patch(${JSON.stringify(patch)})`
  const call = item({ type: 'custom_tool_call', name: 'exec', call_id: 'c', input })
  const last = (more: Json) => read([meta(THREAD, more), call]).events.at(-1)
  const told = { kind: 'edit', files: ['a.txt'], act: { does: 'edit', edits: [{ path: '', patch }] } }
  expect(last({})).toMatchObject(told)
  const beside = last({ history_mode: 'paginated' })
  expect([beside?.kind, beside?.files, beside?.act?.does]).toEqual(['tool_call', undefined, 'other'])
})

test.each([
  '# Context from my IDE setup:\n\n## Active file: a.ts\n\n## My request for Codex:\nMend it.\n',
  '# Files mentioned by the user:\n\n## a.png: /tmp/a.png\n\n## My request for Codex:\nMend it.',
  '## Code review guidelines:\nbe kind\n\n## My request for Codex:\nMend it.',
  '## My request for Codex:\nMend it.',
])('a prompt is what the person asked for: %j', (text) => {
  for (const one of [asked(text), told('user_message', { message: text })]) {
    const event = read([meta(THREAD), one]).events.at(-1)
    expect(event).toMatchObject({ kind: 'user_msg', summary: 'Mend it.', said: 'Mend it.' })
    expect(JSON.stringify(event?.payload)).toContain(JSON.stringify(text).slice(1, -1))
  }
  const quoted = `See this:\n${text}`
  expect(read([meta(THREAD), asked(quoted)]).events.at(-1)?.said).toBe(quoted)
})
