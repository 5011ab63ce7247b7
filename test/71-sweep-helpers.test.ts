// Files of Claude Code's own helpers and tools beside a session: they must not change what the conversation itself says,
// in whichever order they are read, and what was read from them once stays.
import { appendFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { sessionEvents } from '../src/query/events.ts'
import { getSession } from '../src/query/sessions.ts'
import { spendOf } from '../src/query/spend.ts'
import { readOverrides } from '../src/usage/overrides.ts'
import { loadPrices } from '../src/usage/prices.ts'
import * as claude from './setup/claude.ts'
import { type Dump, differences } from './setup/dump.ts'
import { World } from './setup/sweeping.ts'

const worlds: World[] = []
afterEach(() => {
  for (const world of worlds.splice(0)) world.remove()
})
function newWorld(): World {
  const world = new World()
  worlds.push(world)
  return world
}

const project = '.claude/projects/-w'
const main = `${project}/${claude.SESSION}.jsonl`
const uid = `claude:${claude.SESSION}`
const usage = { input_tokens: 10, output_tokens: 5 }
const jsonl = (records: unknown[]) => records.map((record) => `${JSON.stringify(record)}\n`).join('')

function put(world: World, name: string, text: string): void {
  const path = join(world.home, name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

const uuid = (at: number) => `00000000-0000-4000-8000-${String(at).padStart(12, '0')}`
const said = [
  claude.user(uuid(1), null, 'do it'),
  claude.assistant(uuid(2), uuid(1), [claude.call('t1', 'Bash', { command: 'npm test' })], {}, { usage }),
  claude.user(uuid(3), uuid(2), [claude.result('t1', 'ok')], {
    toolUseResult: { stdout: 'ok', stderr: 'a warning', interrupted: false },
  }),
  claude.assistant(uuid(4), uuid(3), [claude.text('Done.')], {}, { usage }),
]

describe('a helper that begins with a part of the conversation', () => {
  const agentId = 'aside_question-0123456789abcdef'
  const helper = `${project}/${claude.SESSION}/subagents/agent-${agentId}.jsonl`
  const aside = { isSidechain: true, agentId }
  const repeated = said
    .slice(1)
    .map(({ toolUseResult: _, ...record }: claude.Fields) => ({ ...record, ...aside }))
  const files: Record<string, unknown[]> = {
    [main]: said,
    [helper]: [
      ...repeated,
      claude.user(uuid(8), uuid(4), 'what time is it?', aside),
      claude.assistant(uuid(9), uuid(8), [claude.text('Noon.')], aside, { usage }),
    ],
  }

  async function swept(...steps: [name: string, from: number, to: number][]): Promise<World> {
    const world = newWorld()
    for (const [name, from, to] of steps) {
      if (from === 0) put(world, name, '')
      appendFileSync(join(world.home, name), jsonl((files[name] ?? []).slice(from, to)))
      await world.sweep()
    }
    return world
  }
  const unordered = (dump: Dump) =>
    Object.fromEntries(
      Object.entries(dump.events[uid] ?? {}).map(([key, row]) => [key, { ...row, seq: null }]),
    )

  test.each<[string, [string, number, number][]]>([
    [
      'at once',
      [
        [main, 0, 4],
        [helper, 0, 9],
      ],
    ],
    [
      'while the session grows',
      [
        [main, 0, 2],
        [helper, 0, 1],
        [main, 2, 4],
        [helper, 1, 9],
      ],
    ],
    [
      'before the session',
      [
        [helper, 0, 9],
        [main, 0, 4],
      ],
    ],
  ])('changes nothing of it, read %s', async (_, steps) => {
    const world = await swept(...steps)
    const wanted = newWorld()
    for (const [name, records] of Object.entries(files)) put(wanted, name, jsonl(records))
    await wanted.sweep()
    expect(differences(unordered(world.dump()), unordered(wanted.dump()))).toEqual([])
    const events = world.read((handle) => [...sessionEvents(handle, uid)])
    expect(events.filter((event) => event.is_sidechain).map((event) => event.summary)).toEqual([
      'what time is it?',
      'Noon.',
    ])
    const session = world.read((handle) => getSession(handle, uid))
    expect(session?.cost).toMatchObject({ turns: 1, output_tokens: 15 })
  })

  test('comes after the session it helps', async () => {
    const world = newWorld()
    for (const [name, records] of Object.entries(files)) put(world, name, jsonl(records))
    await world.sweep()
    const events = world.read((handle) => [...sessionEvents(handle, uid)])
    expect(events.map((event) => [event.kind, event.is_sidechain])).toEqual([
      ['user_msg', false],
      ['test_run', false],
      ['tool_result', false],
      ['assistant_msg', false],
      ['completion', false],
      ['user_msg', true],
      ['assistant_msg', true],
    ])
    expect(world.read((handle) => getSession(handle, uid))?.outcome).toBe('success')
  })
})

test('an output that was too large for its line stays when its file goes', async () => {
  const world = newWorld()
  const file = `${project}/${claude.SESSION}/tool-results/b1.txt`
  put(world, file, 'the whole output')
  const words = `<persisted-output>\nFull output saved to: /h/.${file}\n\nPreview`
  const answer = claude.user(uuid(3), uuid(2), [claude.result('t1', words)])
  put(world, main, jsonl([...said.slice(0, 2), answer]))
  await world.sweep()
  const before = world.dump()
  rmSync(join(world.home, file))
  await world.sweep({ full: true })
  expect(differences(world.dump(), before)).toEqual([])
  expect(world.verify().problems).toEqual([])
  const kept = world.read((handle) => {
    const event = [...sessionEvents(handle, uid)][2]
    return handle.payload(String(event?.payload_ref).slice('blob://'.length))
  })
  expect(kept).toContain('the whole output')
})

test.each([
  ['bg_fork', { sessionKind: 'bg' }, {}],
  ['interactive_fork', {}, {}],
  ['interactive_fork', { sessionKind: 'bg' }, { sessionKind: 'bg' }],
])('a copy is a %s: %o of %o', async (kind, ofFork, ofParent) => {
  const world = newWorld()
  const own = claude.user(uuid(6), uuid(4), 'go on', { sessionId: claude.OTHER })
  const copies = [...said, own].map((record) => ({ ...record, ...ofFork, sessionId: claude.OTHER }))
  put(world, main, jsonl(said.map((record) => ({ ...record, ...ofParent }))))
  put(world, `${project}/${claude.OTHER}.jsonl`, jsonl(copies))
  await world.sweep()
  expect(world.dump().edges).toMatchObject([{ kind, session_uid: `claude:${claude.OTHER}`, parent_uid: uid }])
})

test('a hook that fails at the end is no failure of the session', async () => {
  const world = newWorld()
  const failed = { type: 'hook_non_blocking_error', hookName: 'Stop', stderr: 'not found', exitCode: 127 }
  put(
    world,
    main,
    jsonl([...said, claude.line(uuid(5), uuid(4), { type: 'attachment', attachment: failed })]),
  )
  await world.sweep()
  const session = world.read((handle) => getSession(handle, uid))
  expect([session?.outcome, session?.error_count]).toEqual(['success', 1])
})

test.each([
  ['completed (exit code 0)', 'success'],
  ['failed with exit code 1', 'fail'],
])('tests in the background have the verdict of their end: %s', async (ended, outcome) => {
  const world = newWorld()
  const notice = `<task-notification>\n<tool-use-id>t1</tool-use-id>\n<status>completed</status>\n<summary>Background command "x" ${ended}</summary>\n</task-notification>`
  put(
    world,
    main,
    jsonl([
      ...said.slice(0, 2),
      claude.user(uuid(3), uuid(2), [claude.result('t1', 'Command running in background with ID: b1')], {
        toolUseResult: { stdout: '', stderr: '', interrupted: false, backgroundTaskId: 'b1' },
      }),
      claude.user(uuid(4), uuid(3), notice, { origin: { kind: 'task-notification' } }),
      claude.assistant(uuid(5), uuid(4), [claude.text('See above.')], {}, { usage }),
    ]),
  )
  await world.sweep()
  expect(world.read((handle) => getSession(handle, uid))?.outcome).toBe(outcome)
})

test('a prompt with pictures is one turn, and what it cost is told of its words', async () => {
  const world = newWorld()
  const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } }
  put(
    world,
    main,
    jsonl([
      claude.user(uuid(1), null, [claude.text('look'), picture, picture]),
      claude.assistant(uuid(2), uuid(1), [claude.text('Nice.')], {}, { usage }),
    ]),
  )
  await world.sweep()
  const prices = await loadPrices(readOverrides({}, {}))
  world.read((handle) => {
    expect(getSession(handle, uid)?.cost.turns).toBe(1)
    expect(spendOf(handle, uid, prices).turns.map((turn) => [turn.prompt, turn.responses])).toEqual([
      ['look', 1],
    ])
  })
})
