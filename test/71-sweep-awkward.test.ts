// One session of Claude Code with everything that is awkward: a split response, a failure tried again, a queued prompt, a
// compaction, rewinds, retractions, sub-agents, a helper that repeats it, and both kinds of forks. However its files
// grow and are swept, the memory is that of one sweep of the whole.
import { createHash } from 'node:crypto'
import { appendFileSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { FLAG } from '../src/store/rows.ts'
import {
  assistant,
  call,
  type Fields,
  line,
  OTHER,
  queued,
  result,
  SESSION,
  text,
  user,
} from './setup/claude.ts'
import { type Dump, differences } from './setup/dump.ts'
import { amountOf } from './setup/long.ts'
import fc from './setup/properties.ts'
import { World } from './setup/sweeping.ts'

const BRANCH = '33333333-3333-4333-8333-333333333333'
const PROJECT = '.claude/projects/-w'

/** Only keys that are uuids are the same in a fork. */
function id(name: string): string {
  const hex = createHash('md5').update(name).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`
}
const said = (name: string, parent: string | null, content: unknown, fields: Fields = {}) =>
  user(id(name), parent && id(parent), content, fields)
const told = (name: string, parent: string, content: unknown[], output: number, fields: Fields = {}) =>
  assistant(id(name), id(parent), content, fields, {
    id: `msg_of_${name.replace(/'$/, '')}_1234`,
    usage: { input_tokens: 7, output_tokens: output },
  })
const noted = (name: string, parent: string | null, fields: Fields) =>
  line(id(name), parent && id(parent), fields)
const marker = (fields: Fields) => ({ type: 'last-prompt', sessionId: SESSION, ...fields })
const mode = (permissionMode: string) => ({ type: 'permission-mode', permissionMode, sessionId: SESSION })
const make = call('t2', 'Bash', { command: 'make' })

const main: Fields[] = [
  { type: 'summary', summary: 'a title', leafUuid: id('a3') },
  mode('plan'),
  said('u1', null, 'first'),
  told("a1'", 'u1', [{ type: 'thinking', thinking: 'hm', signature: 's' }], 1),
  told('a1', "a1'", [text('x'), call('t1', 'Task', { prompt: 'count' }), make], 50),
  said('r2', 'a1', [result('t2', 'Exit code 1\nbad', true)], { toolUseResult: 'Error: Exit code 1\nbad' }),
  said('r1', 'a1', [result('t1', '3')], { toolUseResult: { agentId: 'x1', totalDurationMs: 5 } }),
  queued('also this'),
  noted('q1', 'r1', {
    type: 'attachment',
    attachment: { type: 'queued_command', prompt: 'also this', commandMode: 'prompt' },
  }),
  mode('auto'),
  told('a2', 'q1', [{ ...make, id: 't3' }, call('t5', 'Workflow', { script: 'x' })], 4),
  said('r5', 'a2', [result('t5', 'Workflow launched')], { toolUseResult: { runId: 'wf_1' } }),
  said('r3', 'r5', [result('t3', 'fine')], { toolUseResult: { stdout: 'fine', interrupted: false } }),
  told('a3', 'r3', [text('done')], 9),
  noted('d1', 'a3', { type: 'system', subtype: 'turn_duration', durationMs: 10 }),
  noted('b1', null, { type: 'system', subtype: 'compact_boundary', logicalParentUuid: id('d1') }),
  said('s1', 'b1', 'all of it', { isCompactSummary: true }),
  said('u2', 's1', [text('second'), { type: 'image', source: { media_type: 'image/png', data: 'iVBO' } }]),
  told(
    'a4',
    'u2',
    [call('t4', 'Edit', { file_path: '/w/a.ts' }), call('t6', 'Agent', { prompt: 'again' })],
    2,
  ),
  said('r6', 'a4', [result('t6', '4')], { toolUseResult: { agentId: 'x4' } }),
  said('r4', 'r6', [result('t4', 'ok')]),
  told('a5', 'r4', [text('two')], 2),
  marker({ leafUuid: id('s1'), rewound: true }),
  said('c1', 's1', '<command-name>/plan</command-name><command-args>x</command-args>'),
  told('a6', 'c1', [text('bad'), text('words')], 2),
  noted('f1', 'a6', { type: 'system', subtype: 'api_refusal', retractedMessageUuids: [id('a6')] }),
  told('a7', 'f1', [text('better')], 2, { supersedesUuids: [id('a6')] }),
  marker({ leafUuid: '00000000-0000-0000-0000-000000000000', explicit: true }),
  said('u3', 's1', 'third'),
  told('a8', 'u3', [text('so')], 3),
  { type: 'ai-title', aiTitle: 'made', sessionId: SESSION },
  { type: 'custom-title', customTitle: 'mine', sessionId: SESSION },
  { type: 'pr-link', prUrl: 'https://example.org/a/pull/1', sessionId: SESSION },
  queued('never heard'),
]
const chain = main.filter((record) => record['uuid'] !== undefined)
const upTo = (name: string) => chain.slice(0, chain.findIndex((record) => record['uuid'] === id(name)) + 1)
const going = (name: string, parent: string, sessionId: string) => [
  said(`${name}u`, parent, 'own', { sessionId }),
  told(`${name}a`, `${name}u`, [text('yes')], 2, { sessionId }),
]
const moved = (uuid: unknown) => (typeof uuid === 'string' ? id(`moved ${uuid}`) : uuid)
const branched = upTo('a5').map((record) => ({
  ...record,
  sessionId: BRANCH,
  uuid: moved(record['uuid']),
  parentUuid: moved(record['parentUuid']),
  ...(record['logicalParentUuid'] ? { logicalParentUuid: moved(record['logicalParentUuid']) } : {}),
  forkedFrom: { sessionId: SESSION, messageUuid: record['uuid'] },
}))
const beside = (agentId: string) => ({ isSidechain: true, agentId })
const HELPER = 'aside_question-0123456789abcdef'
const signed = [text('1'), text('agentId: x2 (for resuming)')]

const MAIN = `${PROJECT}/${SESSION}.jsonl`
const HELP = `${PROJECT}/${SESSION}/subagents/agent-${HELPER}.jsonl`
const files: Record<string, Fields[]> = {
  [MAIN]: main,
  [`${PROJECT}/${OTHER}.jsonl`]: [
    ...upTo('a3').map((record) => ({ ...record, sessionId: OTHER })),
    ...going('fork', 'a3', OTHER),
  ],
  [`${PROJECT}/${BRANCH}.jsonl`]: [...branched, ...going('branch', `moved ${id('a5')}`, BRANCH)],
  [`${PROJECT}/${SESSION}/subagents/agent-x1.jsonl`]: [
    said('x1', null, 'count', beside('x1')),
    told('x2', 'x1', [call('t9', 'Agent', { prompt: 'deeper' })], 3, beside('x1')),
    said('x3', 'x2', [result('t9', signed)], beside('x1')),
    told('x4', 'x3', [text('3')], 3, beside('x1')),
  ],
  [`${PROJECT}/${SESSION}/subagents/agent-x2.jsonl`]: [
    said('y1', null, 'deeper', beside('x2')),
    told('y2', 'y1', [text('1')], 3, beside('x2')),
  ],
  // Taken back with the call that started it; it goes on all the same.
  [`${PROJECT}/${SESSION}/subagents/agent-x4.jsonl`]: [
    said('v1', null, 'again', beside('x4')),
    told('v2', 'v1', [call('t8', 'Agent', { prompt: 'and deeper' })], 3, beside('x4')),
    said('v3', 'v2', [result('t8', [text('1'), text('agentId: x5 (for resuming)')])], beside('x4')),
    told('v4', 'v3', [text('4')], 3, beside('x4')),
  ],
  [`${PROJECT}/${SESSION}/subagents/agent-x5.jsonl`]: [
    said('w5', null, 'and deeper', beside('x5')),
    told('w6', 'w5', [text('1')], 3, beside('x5')),
  ],
  [`${PROJECT}/${SESSION}/subagents/workflows/wf_1/agent-x3.jsonl`]: [
    said('z1', null, 'look', beside('x3')),
    told('z2', 'z1', [text('seen')], 3, beside('x3')),
  ],
  [HELP]: [
    ...upTo('a3').map(({ toolUseResult: _, ...record }) => ({ ...record, ...beside(HELPER) })),
    said('h1', 'a3', 'by the way?', beside(HELPER)),
    told('h2', 'h1', [text('no')], 3, beside(HELPER)),
  ],
  [`${PROJECT}/agent-x9.jsonl`]: [
    said('w1', null, 'Warmup', beside('x9')),
    told('w2', 'w1', [text('ready')], 1, beside('x9')),
  ],
}
const names = Object.keys(files)

class Growing extends World {
  readonly #done = new Map<string, number>()

  grow(name: string, count: number): void {
    const from = this.#done.get(name) ?? 0
    // It repeats what has been written.
    if (name === HELP && (this.#done.get(MAIN) ?? 0) < main.indexOf(upTo('a3').at(-1) as Fields) + 1) return
    const records = (files[name] ?? []).slice(from, from + count)
    const path = join(this.home, name)
    mkdirSync(dirname(path), { recursive: true })
    appendFileSync(path, records.map((record) => `${JSON.stringify(record)}\n`).join(''))
    this.#done.set(name, from + records.length)
  }

  async finish(): Promise<Omit<Dump, 'sources' | 'redactions'>> {
    for (const name of names) this.grow(name, main.length)
    await this.sweep()
    const { sources: _, redactions: __, ...dump } = this.dump()
    this.remove()
    // Which of several files came first decides the numbers.
    for (const rows of Object.values(dump.events)) for (const row of Object.values(rows)) row['seq'] = null
    return dump
  }
}

const worlds: World[] = []
afterAll(() => {
  for (const world of worlds) world.remove()
})

test('grows into what it is', async () => {
  const whole = await new Growing().finish()
  const counted = whole.usage.filter((row) => row['is_counted'] === 1)
  expect(new Set(counted.map((row) => row['response_id'])).size).toBe(counted.length)
  expect(whole.sessions.map((row) => [row['turn_count'], row['title'], row['outcome']])).toEqual([
    [4, 'mine', 'success'],
    [1, null, 'success'],
    [1, null, 'success'],
  ])
  const rows = Object.values(whole.events[`claude:${SESSION}`] ?? {})
  const roots = rows.filter((row) => row['parent'] === null).map((row) => row['summary'])
  expect(roots.sort()).toEqual(['Warmup', 'first', 'a title'].sort())
  // Taken back, sub-agents and all; what they spent was spent.
  const taken = rows.filter((row) => (row['flags'] as number) & FLAG.superseded && row['agent'] !== null)
  expect(taken.map((row) => row['agent']).sort()).toEqual(['x4', 'x4', 'x4', 'x4', 'x5', 'x5'])
  const spent = counted.map((row) => row['response_id'])
  expect(spent).toEqual(expect.arrayContaining(['msg_of_v2_1234', 'msg_of_v4_1234', 'msg_of_w6_1234']))
  const step = fc.tuple(fc.nat(names.length - 1), fc.integer({ min: 1, max: 12 }), fc.boolean())
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 16 }), async (steps) => {
      const world = new Growing()
      worlds.push(world)
      for (const [at, count, sweeps] of steps) {
        world.grow(names[at] as string, count)
        if (sweeps) await world.sweep()
      }
      expect(differences(await world.finish(), whole)).toEqual([])
    }),
    { numRuns: amountOf('RUNS', 10, 100) },
  )
})
