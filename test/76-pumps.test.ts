// A whole sweep over texts that are hard for some expression, put where an agent's records have words of others: prompts,
// commands, outputs, edits. Of each it takes at most three times as long as of plain text of the same size.
// `npm run test:pump` takes more of them, and a megabyte of each.
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { PUMPED_FLAVORS, putPumped } from './setup/pumped-agents.ts'
import { cli, cliPath, World } from './setup/sweeping.ts'
import { expressionsIn } from './support/expressions.ts'
import { unitsOf } from './support/pumps.ts'

const OWN_READERS = ['claude', 'codex', 'grok', 'entire', 'run', 'turns', 'lineage']
const COUNT = Number(process.env['RECOLLECT_TEST_PUMPS'] ?? 6)
const BYTES = Number(process.env['RECOLLECT_TEST_PUMP_BYTES'] ?? 200_000)
const PLAIN = 'The quick brown fox reads 17 files, then says so.\n'

/** Those that were seen to stop a sweep, then an even choice of what the program's own expressions mind. */
function pumps(): string[] {
  const known = [
    'http://',
    '\\"',
    '{"',
    'git\n',
    '"message": "',
    '<user_query>',
    '[REDACTED:',
    '\u2028',
    '_',
    '+.',
    'a=',
    '/*',
  ]
  const all = [...new Set(expressionsIn().literals.flatMap((one) => unitsOf(one).slice(0, 4)))].sort()
  const more = Math.max(0, COUNT - known.length)
  const chosen = all.filter(
    (_, at) => Math.floor((at * more) / all.length) !== Math.floor(((at - 1) * more) / all.length),
  )
  return [...known, ...chosen].slice(0, COUNT)
}

const ID = '14444444-4444-4444-8444-444444444444'
const ROLLOUT = '019aaaaa-0000-7000-8000-000000000001'
const at = '2026-11-01T00:00:00.000Z'

/** One session of each agent in which the text stands in every place where words of others stand. */
function homeWith(unit: string): World {
  const world = new World()
  const text = unit.repeat(Math.ceil(BYTES / 4 / unit.length))
  const put = (path: string, records: unknown[]): void => {
    const file = join(world.home, path)
    mkdirSync(join(file, '..'), { recursive: true })
    writeFileSync(file, records.map((one) => `${JSON.stringify(one)}\n`).join(''))
  }
  const said = (uuid: string, role: string, content: unknown): unknown => ({
    type: role,
    uuid,
    parentUuid: null,
    sessionId: ID,
    timestamp: at,
    cwd: '/w',
    message: { role, content },
  })
  put(`.claude/projects/-w/${ID}.jsonl`, [
    said('1', 'user', text),
    said('2', 'assistant', [
      { type: 'tool_use', id: 'a', name: 'Bash', input: { command: `npm test; git push ${text}` } },
      {
        type: 'tool_use',
        id: 'b',
        name: 'Edit',
        input: { file_path: '/w/a.ts', old_string: 'x', new_string: text },
      },
    ]),
    said('3', 'user', [
      { type: 'tool_result', tool_use_id: 'a', is_error: true, content: `Exit code 1\nError: ${text}` },
      { type: 'tool_result', tool_use_id: 'b', content: 'done' },
    ]),
  ])
  const item = (payload: unknown): unknown => ({ timestamp: at, type: 'response_item', payload })
  put(`.codex/sessions/2026/11/01/rollout-2026-11-01T00-00-00-${ROLLOUT}.jsonl`, [
    { timestamp: at, type: 'session_meta', payload: { id: ROLLOUT, timestamp: at, cwd: '/w' } },
    item({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }),
    item({
      type: 'function_call',
      name: 'shell',
      call_id: 'c',
      arguments: JSON.stringify({ command: ['bash', '-lc', `git commit; gh pr create ${text}`] }),
    }),
    item({ type: 'function_call_output', call_id: 'c', output: `{"message": "${text}` }),
    item({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] }),
  ])
  const update = (update: unknown): unknown => ({
    timestamp: 1_793_491_200,
    method: 'session/update',
    params: { sessionId: ROLLOUT, update },
  })
  put(`.grok/sessions/%2Fw/${ROLLOUT}/updates.jsonl`, [
    update({ sessionUpdate: 'user_message_chunk', content: { type: 'text', text } }),
    update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } }),
  ])
  putOwn(put, text)
  // The one format without a home of its own.
  world.configure(`[sources.entire]\nroots = [${JSON.stringify(join(world.home, 'project'))}]\n`)
  return world
}

function kitHome(unit: string): World {
  const world = new World()
  putPumped(world.home, unit.repeat(Math.ceil(BYTES / 4 / unit.length)))
  return world
}

/** The formats of our own recorder. */
function putOwn(put: (path: string, records: unknown[]) => void, text: string): void {
  put('project/.entire/metadata/2026-11-01-s/full.jsonl', [
    { type: 'user', uuid: '1', timestamp: at, message: { content: text } },
    {
      type: 'assistant',
      uuid: '2',
      timestamp: at,
      message: {
        id: 'm',
        content: [
          { type: 'text', text },
          { type: 'tool_use', id: 'a', name: 'Bash', input: { command: `git push ${text}` } },
        ],
      },
    },
  ])
  put('.devflow/runs/r1/transcript.json', [
    {
      runId: 'r1',
      metadata: {
        runId: 'r1',
        flowId: text.slice(0, 1000),
        startedAt: at,
        status: 'failed',
        error: text,
        input: { text },
      },
      turns: [
        {
          id: 1,
          role: 'assistant',
          content: text,
          timestamp: at,
          toolCalls: [{ id: 'c', name: 'bash', input: { command: text }, output: text }],
        },
      ],
    },
  ])
  put('.ollim-bot/session_history.jsonl', [
    { session_id: 'l1', event: 'created', timestamp: at, parent_session_id: null, note: text },
    { session_id: 'l2', event: text.slice(0, 1000), timestamp: at, parent_session_id: text },
  ])
  put('.homeagent/agents/a/sessions/s.jsonl', [
    { turnId: 't1', role: 'user', content: text, ts: at },
    {
      turnId: 't2',
      role: 'assistant',
      content: text,
      ts: at,
      toolCalls: [{ id: 'x', name: 'bash', args: { command: text } }],
    },
  ])
}

type Coverage = { flavor: string; gaps: Record<string, number> }

/** Seconds of CPU: others may be using the machine as well. */
function cpuOf(world: World): number {
  // `times` says what the shell has used, and on the next line, what the programs have that it ran.
  const run = spawnSync('sh', ['-c', '"$0" "$1" sweep >/dev/null; times', process.execPath, cliPath], {
    env: { ...process.env, ...world.env },
    encoding: 'utf8',
    timeout: 600_000,
  })
  const times = [...(run.stdout.trim().split('\n').at(-1) ?? '').matchAll(/(\d+)m([\d.]+)s/g)]
  expect(times).toHaveLength(2)
  const seconds = times.reduce((sum, [, minutes, rest]) => sum + Number(minutes) * 60 + Number(rest), 0)
  return run.signal === null ? seconds : Number.POSITIVE_INFINITY
}

/** Seconds of CPU of a sweep over plain text, then over every pump; those that take more than three times as long. */
function slowOf(home: (unit: string) => World, units: readonly string[]): string[] {
  const plain = Math.max(cpuOf(home(PLAIN)), cpuOf(home(PLAIN)))
  let most = 0
  const slow = units.flatMap((unit) => {
    let took = cpuOf(home(unit))
    // Again: what else runs on the machine costs it time as well.
    for (let again = 0; again < 3 && took > 3 * plain; again++) took = Math.min(took, cpuOf(home(unit)))
    most = Math.max(most, took)
    return took <= 3 * plain ? [] : [`${JSON.stringify(unit)}: ${took} s, plain text ${plain} s`]
  })
  console.log(`plain text: ${plain} s of CPU; the slowest of ${units.length} pumps: ${most} s`)
  return slow
}

/** What of it was read, by agent, without a gap. */
function flavorsRead(world: World): string[] {
  const { coverage } = JSON.parse(cli(world.env, 'sweep', '--json').stdout) as { coverage: Coverage[] }
  expect(coverage.flatMap((one) => Object.keys(one.gaps))).toEqual([])
  return [...new Set(coverage.map((one) => one.flavor))].sort()
}

describe(`a sweep takes no more than three times as long over any of ${COUNT} pumps`, () => {
  it(`${BYTES} bytes in the formats that have readers of their own`, () => {
    expect(flavorsRead(homeWith(PLAIN))).toEqual([...OWN_READERS].sort())
    expect(slowOf(homeWith, pumps())).toEqual([])
  })

  it('and in those of the clients on the kit', () => {
    expect(flavorsRead(kitHome(PLAIN))).toEqual([...PUMPED_FLAVORS].sort())
    // Their readers are the same: a part of the pumps with every change.
    expect(slowOf(kitHome, COUNT > 8 ? pumps() : pumps().slice(0, 2))).toEqual([])
  })
})
