// Files of one session that come in an unlucky order: a sweep in between must not leave anything double or unlinked.
import { appendFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { ADAPTERS } from '../src/adapters/index.ts'
import { FLAG } from '../src/store/rows.ts'
import * as claude from './setup/claude.ts'
import { type Dump, differences } from './setup/dump.ts'
import * as grok from './setup/grok-session.ts'
import fc from './setup/properties.ts'
import { World } from './setup/sweeping.ts'

const worlds: World[] = []
afterEach(() => {
  for (const world of worlds.splice(0)) world.remove()
})

type Tree = Record<string, string>

function put(world: World, files: Tree): void {
  for (const [name, text] of Object.entries(files)) {
    const path = join(world.home, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
}

function newWorld(): World {
  const world = new World()
  worlds.push(world)
  return world
}

/** The memory after one sweep of all the files. */
async function sweptAtOnce(files: Tree): Promise<Dump> {
  const world = newWorld()
  put(world, files)
  await world.sweep()
  return world.dump()
}

/** In whichever order they were seen. */
function unordered(rows: Record<string, Record<string, unknown>> = {}): typeof rows {
  return Object.fromEntries(Object.entries(rows).map(([key, row]) => [key, { ...row, seq: null }]))
}

describe('a sub-agent read before the call that started it is on disk', () => {
  const project = '.claude/projects/-w'
  const main = `${project}/${claude.SESSION}.jsonl`
  const agent = `${project}/${claude.SESSION}/subagents/agent-x1.jsonl`
  const sidecar = agent.replace('.jsonl', '.meta.json')
  const [asked, called, told, answered] = [
    claude.user('u1', null, 'go'),
    claude.assistant('a1', 'u1', [
      claude.text('ok'),
      claude.call('t1', 'Task', { prompt: 'count', description: 'Count' }),
    ]),
    claude.user('s1', null, 'other words', { isSidechain: true, agentId: 'x1' }),
    claude.assistant('s2', 's1', [claude.text('3')], { isSidechain: true, agentId: 'x1' }),
  ].map((record) => grok.jsonl([record]))
  const returned = grok.jsonl([claude.user('u2', 'a1', [claude.result('t1', '3')])])
  const files: Tree = {
    [main]: `${asked}${called}${returned}`,
    [agent]: `${told}${answered}`,
    [sidecar]: JSON.stringify({ toolUseId: 't1' }),
  }
  const uid = `claude:${claude.SESSION}`

  test.each([
    ['the parent goes on', { [main]: asked }, [main, `${called}${returned}`]],
    ['the parent comes', { [main]: '' }, [main, files[main]]],
    ['its result comes first', { [main]: `${asked}${returned}` }, [main, called]],
  ])('%s', async (_, early, [grown, text]) => {
    const world = newWorld()
    put(world, { ...files, ...early } as Tree)
    await world.sweep()
    appendFileSync(join(world.home, grown as string), text as string)
    await world.sweep()
    expect(world.verify().problems).toEqual([])
    const wanted = await sweptAtOnce({ ...files, [main]: `${early[main]}${text}` })
    expect(Object.values(wanted.events[uid] ?? {}).filter((row) => row['parent'] === null)).toHaveLength(1)
    expect(differences(unordered(world.dump().events[uid]), unordered(wanted.events[uid]))).toEqual([])
  })

  test('the sidecar comes before the call', async () => {
    const world = newWorld()
    put(world, { ...files, [main]: asked as string })
    rmSync(join(world.home, sidecar))
    await world.sweep()
    put(world, { [sidecar]: files[sidecar] as string })
    await world.sweep()
    appendFileSync(join(world.home, main), `${called}${returned}`)
    await world.sweep()
    const wanted = await sweptAtOnce(files)
    expect(differences(unordered(world.dump().events[uid]), unordered(wanted.events[uid]))).toEqual([])
  })
})

describe('sub-agents of the old layout, which only the result of the call names', () => {
  const project = '.claude/projects/-w'
  const task = (id: string, prompt: string) =>
    claude.assistant(`a-${id}`, 'u1', [claude.text('ok'), claude.call(id, 'Task', { prompt })])
  const done = (id: string, agentId: string) =>
    claude.user(`r-${id}`, `a-${id}`, [claude.result(id, 'done')], { toolUseResult: { agentId } })
  const told = (agentId: string, prompt: string) =>
    claude.user(`s-${agentId}`, null, prompt, { isSidechain: true, agentId })
  // Two were told the same; one was killed, so nothing but what it was told leads to its call; one nobody called.
  const lines: Record<string, unknown[]> = {
    [`${project}/${claude.SESSION}.jsonl`]: [
      claude.user('u1', null, 'go'),
      task('t1', 'count'),
      task('t2', 'count'),
      task('t3', 'look'),
      done('t2', 'x2'),
      done('t1', 'x1'),
    ],
    [`${project}/agent-x1.jsonl`]: [told('x1', 'count')],
    [`${project}/agent-x2.jsonl`]: [told('x2', 'count')],
    [`${project}/agent-x3.jsonl`]: [told('x3', 'look')],
    [`${project}/agent-x4.jsonl`]: [told('x4', 'Warmup')],
  }
  const uid = `claude:${claude.SESSION}`
  const whole: Tree = Object.fromEntries(
    Object.entries(lines).map(([name, records]) => [name, grok.jsonl(records as grok.Line[])]),
  )

  test('hang on their own calls', async () => {
    const world = newWorld()
    put(world, whole)
    await world.sweep()
    const parents = world.read(({ cache }) =>
      cache
        .prepare(
          `SELECT c.agent, p.summary, p.seq FROM events c LEFT JOIN events p ON p.seq = c.parent_seq WHERE c.flags & ${FLAG.sidechain} ORDER BY 1`,
        )
        .all(),
    ) as { agent: string; summary: string | null; seq: number | null }[]
    expect(parents.map((one) => [one.agent, one.summary, one.seq])).toEqual([
      ['x1', 'Task: count', 3],
      ['x2', 'Task: count', 5],
      ['x3', 'Task: look', 7],
      ['x4', null, null],
    ])
  })

  test('the same in whichever order their files grow and are swept', async () => {
    const wanted = unordered((await sweptAtOnce(whole)).events[uid])
    const names = Object.keys(lines)
    const steps = fc.array(fc.tuple(fc.nat(names.length - 1), fc.boolean()), { minLength: 4, maxLength: 14 })
    await fc.assert(
      fc.asyncProperty(steps, async (order) => {
        const world = newWorld()
        const grown = Object.fromEntries(names.map((name) => [name, 0]))
        for (const [at, sweeps] of order) {
          const name = names[at] as string
          grown[name] = Math.min((grown[name] ?? 0) + 1, lines[name]?.length ?? 0)
          put(world, { [name]: grok.jsonl((lines[name] ?? []).slice(0, grown[name]) as grok.Line[]) })
          if (sweeps) await world.sweep()
        }
        put(world, whole)
        await world.sweep()
        expect(differences(unordered(world.dump().events[uid]), wanted)).toEqual([])
        expect(world.verify().problems).toEqual([])
        world.remove()
      }),
      { numRuns: 15 },
    )
  })
})

describe('a session seen in its chat before its updates are there', () => {
  const project = '.grok/sessions/%2Fhome%2Fdev%2Fproj'
  const directory = `${project}/${grok.SESSION}`
  const chat = `${directory}/chat_history.jsonl`
  const updates = `${directory}/updates.jsonl`
  const uid = `grok:${grok.SESSION}`
  const started = [
    { type: 'system', content: 'You are an agent' },
    { type: 'user', content: '<user_info>here</user_info>', synthetic_reason: 'system_reminder' },
  ]
  const talked = [
    { type: 'user', content: '<user_query>fix it</user_query>', prompt_index: 0 },
    { type: 'assistant', content: 'reading', tool_calls: [{ id: 'c1', name: 'read_file', arguments: '{}' }] },
    { type: 'tool_result', tool_call_id: 'c1', content: 'text' },
    { type: 'nobody knows', content: 'x' },
  ]
  const files: Tree = {
    [chat]: grok.jsonl([...started, ...talked]),
    [updates]: grok.jsonl([
      grok.update(grok.user('fix it', 0)),
      grok.update(grok.agent('reading')),
      grok.update(grok.toolCall('c1', 'read_file', {})),
      grok.update(grok.toolUpdate('c1', { status: 'completed', content: [] })),
      grok.update({ sessionUpdate: 'turn_completed', prompt_id: 'p1', stop_reason: 'end_turn' }),
    ]),
    [`${directory}/events.jsonl`]: grok.jsonl([grok.row('turn_started', 1, { turn_number: 0 })]),
    [`${directory}/summary.json`]: JSON.stringify({ created_at: '2026-11-06T20:40:00Z' }),
    [`${project}/prompt_history.jsonl`]: grok.jsonl([
      { timestamp: '2026-11-06T20:40:00Z', session_id: grok.SESSION, prompt: 'fix it', is_bash: false },
    ]),
  }
  const present = (dump: Dump) =>
    Object.fromEntries(
      Object.entries(unordered(dump.events[uid]))
        .filter(([, row]) => !((row['flags'] as number) & FLAG.superseded))
        .map(([key, row]) => [key, { ...row, parent: null }]),
    )

  /** What is not an event; what was told again counts as nothing but an event. */
  const beside = ({ events: _, sessions, ...dump }: Dump) => ({
    ...dump,
    sessions: sessions.map(({ event_count: _, ...row }) => row),
  })

  test.each([
    ['nothing is asked yet', started],
    ['in the middle of a turn', [...started, ...talked]],
  ])('%s', async (_, early) => {
    const world = newWorld()
    const { [updates]: spine = '', ...others } = files
    put(world, { ...others, [chat]: grok.jsonl(early) })
    await world.sweep()
    put(world, { [chat]: files[chat] as string, [updates]: spine })
    await world.sweep({ touched: [join(world.home, updates)] })
    const dump = world.dump()
    const wanted = await sweptAtOnce(files)
    expect(differences(present(dump), present(wanted))).toEqual([])
    expect(differences(beside(dump), beside(wanted))).toEqual([])
    expect(world.verify().problems).toEqual([])
    expect((await world.sweep()).counts).toMatchObject({ new: 0, appended: 0, changed: 0, missing: 0 })
    expect(differences(world.dump(), dump)).toEqual([])
  })

  test('a kill after the taking over loses nothing of it', async () => {
    const world = newWorld()
    const { [updates]: spine = '', ...others } = files
    put(world, others)
    await world.sweep()
    put(world, { [updates]: spine })
    const broken = ADAPTERS.map((adapter) => ({
      ...adapter,
      read(): never {
        throw new Error('killed')
      },
    }))
    expect((await world.sweep({ adapters: broken })).problems).toMatchObject([
      { reason: 'Error: killed', code: 'INTERNAL' },
    ])
    await world.sweep()
    const wanted = await sweptAtOnce(files)
    expect(differences(present(world.dump()), present(wanted))).toEqual([])
  })
})
