// Transcripts in Entire's layout: our own, copies of other agents' made into checkpoints, and strangers' dialects.
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { Adapter, EventItem, Item, UsageItem } from '../src/adapters/adapter.ts'
import { claude } from '../src/adapters/claude/index.ts'
import { codex } from '../src/adapters/codex/index.ts'
import { entire } from '../src/adapters/entire/index.ts'
import { type EntireBlock, EntireTranscript } from '../src/record/index.ts'
import { collect, filesBelow } from './setup/collect.ts'
import { unpackAgent } from './setup/fixtures.ts'
import fc from './setup/properties.ts'
import { held, news, readAll, readInSteps, resumed } from './setup/steps.ts'

const base = mkdtempSync(join(tmpdir(), 'recollect-entire-'))
afterAll(() => rmSync(base, { recursive: true, force: true }))
let count = 0
const fresh = (): string => {
  const directory = join(base, String(count++))
  mkdirSync(directory)
  return directory
}
const UUID = '0b0c0d0e-1111-4222-8333-444455556666'
const CUTS = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 5 })

const eventsOf = (items: Item[]) => items.filter((item): item is EventItem => item.type === 'event')
const usageOf = (items: Item[]) => items.filter((item): item is UsageItem => item.type === 'usage')
const json = (value: unknown): string => JSON.stringify(value)
const lines = (records: unknown[]): string => records.map((record) => `${json(record)}\n`).join('')

/** Writes one session of a checkpoint, as exported from Entire's branch. */
function checkpoint(
  tree: string,
  id: string,
  content: string | Buffer,
  metadata?: Record<string, unknown>,
): string {
  const directory = join(tree, id.slice(0, 2), id.slice(2), '0')
  mkdirSync(directory, { recursive: true })
  writeFileSync(join(directory, 'full.jsonl'), content)
  if (metadata) writeFileSync(join(directory, 'metadata.json'), json({ checkpoint_id: id, ...metadata }))
  return join(directory, 'full.jsonl')
}

describe('our own transcripts', () => {
  const text = fc.string({ unit: 'binary', maxLength: 30 })
  const args = fc
    .dictionary(fc.constantFrom('path', 'command', 'other'), fc.jsonValue({ maxDepth: 1 }), { maxKeys: 3 })
    .map((one) => JSON.parse(json(one)) as Record<string, unknown>)
  const block: fc.Arbitrary<EntireBlock> = fc.oneof(
    fc.record({ type: fc.constant('text'), text }),
    fc.record({ type: fc.constant('thinking'), thinking: text, signature: fc.constant('c2ln') }),
    fc.record({
      type: fc.constant('tool_use'),
      id: fc.uuid(),
      name: fc.constantFrom('edit_file', 'bash'),
      input: args,
    }),
  )
  const result = fc.record({
    type: fc.constant('tool_result'),
    tool_use_id: fc.uuid(),
    content: text,
    is_error: fc.boolean(),
  })
  const usage = fc.record({
    input_tokens: fc.nat(9999),
    output_tokens: fc.nat(9999),
    cache_read_input_tokens: fc.nat(9999),
    cache_creation_input_tokens: fc.nat(9999),
  })
  const turn = fc.oneof(
    fc.record({
      by: fc.constant('user' as const),
      content: fc.oneof(text, fc.array(result, { minLength: 1, maxLength: 3 })),
    }),
    fc.record({
      by: fc.constant('assistant' as const),
      content: fc.array(block, { minLength: 1, maxLength: 4 }),
      usage,
    }),
  )

  const KINDS: Record<string, string> = {
    text: 'assistant_msg',
    thinking: 'thinking',
    tool_use: 'call',
    tool_result: 'result',
  }
  const expected = (one: { by: string; content: string | EntireBlock[] }): string[] =>
    typeof one.content === 'string'
      ? [`user_msg ${json(one.content)}`]
      : one.content.map((part) => {
          const body = part['text'] ??
            part['thinking'] ??
            part['content'] ?? [part['id'], part['name'], part['input']]
          return `${part.type === 'tool_result' && part['is_error'] ? 'error' : KINDS[part.type]} ${json(body)}`
        })
  const found = ({ kind, role, payload }: EventItem): string => {
    const part = payload as Record<string, unknown>
    const body = part['text'] ??
      part['thinking'] ??
      part['content'] ?? [part['id'], part['name'], part['input']]
    const name =
      kind === 'tool_result' ? 'result' : role === 'assistant' && part['type'] === 'tool_use' ? 'call' : kind
    return `${name} ${json(body)}`
  }

  test('every block comes back, in one chain, with the tokens of each response', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(turn, { minLength: 1, maxLength: 8 }), CUTS, async (turns, cuts) => {
        const cwd = fresh()
        const transcript = new EntireTranscript({ cwd, version: '1.2.3', model: 'm-1', flush: 'os' })
        for (const one of turns)
          if (one.by === 'user') await transcript.user(one.content)
          else await transcript.assistant(one.content, { usage: one.usage })
        await transcript.end()

        const read = collect(entire, cwd)
        const id = transcript.sessionId.slice('2026-01-01-'.length)
        expect([...read.sessions.keys()]).toEqual([id])
        const events = read.sessions.get(id)?.events ?? []
        expect(events.map(found)).toEqual(turns.flatMap(expected))
        expect(events.map((event) => event.parentKey)).toEqual([
          null,
          ...events.slice(0, -1).map((event) => event.key),
        ])
        expect(read.sessions.get(id)?.facts).toMatchObject({ cwd, agentVersion: '1.2.3' })
        const tokens = [...read.usage.values()].map((one) => [
          one.input,
          one.output,
          one.cacheRead,
          one.cacheWrite5m,
        ])
        const given = turns.flatMap((one) =>
          one.by === 'user'
            ? []
            : [
                [
                  one.usage.input_tokens,
                  one.usage.output_tokens,
                  one.usage.cache_read_input_tokens,
                  one.usage.cache_creation_input_tokens,
                ],
              ],
        )
        expect(tokens).toEqual(given)
        expect([read.gaps, [...read.unknown]]).toEqual([[], []])

        const whole = news(readAll(entire, transcript.path))
        for (const items of resumed(entire, transcript.path)) expect(items).toEqual(whole)
        if (!existsSync(join(transcript.directory, 'spill')))
          expect(readInSteps(entire, transcript.path, readFileSync(transcript.path), cuts)).toEqual(whole)
      }),
      { numRuns: 40 },
    )
  })

  test('what was split off is put back; what is lost is a gap, and the line is read with its preview', async () => {
    const cwd = fresh()
    const transcript = new EntireTranscript({ cwd, version: '1', flush: 'os' })
    const big = `needle ${'x'.repeat(11 << 20)}`
    await transcript.user(big)
    expect(eventsOf(readAll(entire, transcript.path)).map((event) => event.said)).toEqual([big])
    rmSync(join(transcript.directory, 'spill'), { recursive: true })
    const items = readAll(entire, transcript.path)
    expect(items.filter((item) => item.type === 'gap').map((item) => item.reason)).toEqual(['spill'])
    expect(eventsOf(items).map((event) => event.kind)).toEqual(['user_msg'])
    expect(eventsOf(items)[0]?.said).toMatch(/^needle x+\n\[/)
    expect(json(items)).not.toContain('recollectSpill')
  })

  test('one response on two lines counts once, with the greater output', async () => {
    const cwd = fresh()
    const transcript = new EntireTranscript({ cwd, version: '1', flush: 'os' })
    await transcript.assistant('half', { id: 'msg_1', usage: { input_tokens: 5, output_tokens: 1 } })
    await transcript.assistant('whole', { id: 'msg_1', usage: { input_tokens: 5, output_tokens: 9 } })
    const worldwide = 'msg_01XFDUDYJgAACzvnptvVoYEL'
    await transcript.user('and more')
    await transcript.assistant('half', { id: worldwide, usage: { input_tokens: 5, output_tokens: 2 } })
    await transcript.assistant('whole', { id: worldwide, usage: { input_tokens: 5, output_tokens: 8 } })
    const [first, second, ...more] = [...collect(entire, cwd).usage.values()]
    expect(more).toEqual([])
    expect([first?.output, second?.output, second?.id]).toEqual([9, 8, worldwide])
  })

  test('an id that a server gives to many responses does not make them one', async () => {
    const cwd = fresh()
    const usage = { input_tokens: 5, output_tokens: 1 }
    for (const _ of [1, 2]) {
      const transcript = new EntireTranscript({ cwd, version: '1', flush: 'os' })
      await transcript.assistant('one', { id: 'chatcmpl-7', usage })
      await transcript.user('again')
      await transcript.assistant('two', { id: 'chatcmpl-7', usage })
      await transcript.assistant('between')
      await transcript.assistant('three', { id: 'chatcmpl-7', usage })
    }
    expect(collect(entire, cwd).usage.size).toBe(6)
  })

  test('a block keeps its own fields, whatever they are called', async () => {
    const cwd = fresh()
    const transcript = new EntireTranscript({ cwd, version: '1', flush: 'os' })
    const block = { type: 'error', message: 'it broke', record: 7 }
    await transcript.assistant([block], { stopReason: 'refusal', usage: { output_tokens: 1 } })
    const [event] = eventsOf(readAll(entire, transcript.path))
    expect(event?.payload).toMatchObject({ ...block, message_: { stop_reason: 'refusal' } })
  })

  test('a damaged line is a gap between the turns around it', async () => {
    const cwd = fresh()
    const transcript = new EntireTranscript({ cwd, version: '1', flush: 'os' })
    await transcript.user('one')
    writeFileSync(transcript.path, `${readFileSync(transcript.path, 'utf8')}{"type":"assi\n`)
    await transcript.user('two').catch(() => transcript.user('two'))
    const items = readAll(entire, transcript.path)
    expect(eventsOf(items).map((event) => event.said)).toEqual(['one', 'two'])
    expect(items.filter((item) => item.type === 'gap').map((item) => item.reason)).toEqual(['not-json'])
  })
})

describe('transcripts of agents with an adapter', () => {
  const fixtures = {
    claude: unpackAgent('claude'),
    codex: unpackAgent('codex'),
    'codex-0.45': unpackAgent('codex-0.45'),
  }
  const transcriptsOf = (adapter: Adapter, directory: string): string[] =>
    filesBelow(directory).filter(
      (path) =>
        adapter.claim(path) &&
        path.endsWith('.jsonl') &&
        !basename(path).startsWith('agent-') &&
        !path.includes('/subagents/') &&
        // Outputs that Claude Code keeps in files of their own are not in Entire's copy.
        !existsSync(join(path.slice(0, -'.jsonl'.length), 'tool-results')),
    )
  const native = [
    ...transcriptsOf(claude, fixtures.claude).map((path) => ({
      adapter: claude,
      label: 'Claude Code',
      path,
    })),
    ...transcriptsOf(codex, fixtures.codex).map((path) => ({ adapter: codex, label: 'Codex', path })),
    ...transcriptsOf(codex, fixtures['codex-0.45']).map((path) => ({ adapter: codex, label: 'Codex', path })),
  ]
  const idOf = (path: string): string =>
    /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(basename(path))?.[0] ?? ''
  const told = (events: EventItem[]) =>
    events.map(({ kind, said, summary, tool, callId, ts, exitCode }) => ({
      kind,
      said,
      summary,
      tool,
      callId,
      ts,
      exitCode,
    }))

  test('give what their own adapter gives, under the id Entire uses', () => {
    expect(native.length).toBeGreaterThan(40)
    for (const { adapter, label, path } of native) {
      for (const hasLabel of [true, false]) {
        const project = fresh()
        const directory = join(project, '.entire', 'metadata', `2026-01-20-${idOf(path)}`)
        mkdirSync(directory, { recursive: true })
        copyFileSync(path, join(directory, 'full.jsonl'))
        if (hasLabel) writeFileSync(join(directory, 'metadata.json'), json({ agent: label }))
        const copy = collect(entire, project)
        const own = readAll(adapter, path)
        const session = copy.sessions.get(idOf(path))
        expect(told(session?.events ?? []), path).toEqual(told(uniqueByKey(eventsOf(own))))
        expect(new Set(copy.usage.keys())).toEqual(new Set(usageOf(own).map((one) => one.id)))
        expect(copy.gaps.length).toBe(own.filter((item) => item.type === 'gap').length)
        // Every link leads to an event, as far as the original's do.
        const keys = new Set(session?.events.map((event) => event.key))
        if (adapter === codex)
          expect(session?.events.filter((event) => event.parentKey && !keys.has(event.parentKey))).toEqual([])
      }
    }
  })
  const uniqueByKey = (events: EventItem[]): EventItem[] => [
    ...new Map(events.map((event) => [event.key, event])).values(),
  ]

  test('sub-agents hang on the calls that the directories of their files name', () => {
    const home = join(unpackAgent('claude'), 'subagent')
    const files = filesBelow(home).filter((path) => claude.claim(path))
    const agent = files.find((path) => basename(path).startsWith('agent-')) as string
    const main = files.find((path) => !basename(path).startsWith('agent-')) as string
    const session = basename(main, '.jsonl')
    const tree = join(fresh(), '.entire', 'metadata', `2026-01-20-${session}`)
    const copy = join(tree, 'tasks', 'toolu_of_it', basename(agent))
    mkdirSync(dirname(copy), { recursive: true })
    copyFileSync(main, join(tree, 'full.jsonl'))
    copyFileSync(agent, copy)

    const own = readAll(claude, agent)
    const items = readAll(entire, copy)
    expect(items.filter((item) => item.type === 'gap')).toEqual([])
    expect(
      eventsOf(items).map((event) => [event.key, event.session, event.isSidechain, event.agent]),
    ).toEqual(eventsOf(own).map((event) => [event.key, session, true, event.agent]))
    const roots = eventsOf(items).filter((event) => event.parentKey === null)
    expect(roots.map((event) => event.parentCall)).toEqual(roots.map(() => 'toolu_of_it'))
    expect(roots.length).toBeGreaterThan(0)
    expect(usageOf(items).map((one) => one.id)).toEqual(usageOf(own).map((one) => one.id))
    for (const step of resumed(entire, copy)) expect(step).toEqual(news(items))
    expect([...collect(entire, tree).sessions.keys()]).toEqual([session])
  })

  test('lineage keeps its ends: parents have the id their own copy would have', () => {
    const forks = native.filter(({ path }) => path.includes('/fork/') || path.includes('/subagent'))
    const edges = forks.flatMap(({ adapter, path }) => {
      const copied = readAll(entire, checkpoint(fresh(), 'aabbccddeeff', readFileSync(path))).filter(
        (item) => item.type === 'edge',
      )
      expect(copied.map((edge) => edge.parent)).toEqual(
        readAll(adapter, path)
          .filter((item) => item.type === 'edge')
          .map((edge) => edge.parent),
      )
      return copied
    })
    expect(edges.length).toBeGreaterThan(0)
  })

  test('cumulative checkpoints of one session are one session without doubles', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...native),
        fc.double({ min: 0.2, max: 1, noNaN: true }),
        fc.array(fc.nat(), { maxLength: 3 }),
        (one, share, lost) => {
          const all = readFileSync(one.path, 'utf8').split('\n').filter(Boolean)
          const tree = fresh()
          const early = all.slice(0, Math.max(1, Math.floor(all.length * share)))
          // A checkpoint that is no prefix of the next: some lines are missing in the middle.
          const without = early.filter((_, at) => at === 0 || !lost.some((line) => line % all.length === at))
          checkpoint(tree, 'aa0000000001', `${without.join('\n')}\n`, {
            session_id: `2026-01-20-${UUID}`,
            agent: one.label,
          })
          checkpoint(tree, 'bb0000000002', `${all.join('\n')}\n`, { session_id: UUID, agent: one.label })
          const merged = collect(entire, tree)
          const whole = collect(
            entire,
            dirname(
              checkpoint(fresh(), 'bb0000000002', all.join('\n'), { session_id: UUID, agent: one.label }),
            ),
          )
          expect([...merged.sessions.keys()]).toContain(UUID)
          const keys = (read: typeof merged) =>
            new Set(read.sessions.get(UUID)?.events.map((event) => event.key))
          // A checkpoint that stops behind an answer concludes that the turn was over.
          const more = [...keys(merged)].filter((key) => !keys(whole).has(key) && !key.includes('#end'))
          // A line whose meaning hangs on a lost one (a repetition of it, say) may be told in the earlier checkpoint only.
          const allowance = lost.length === 0 ? 1 : 1 + 2 * lost.length
          expect(more.length).toBeLessThanOrEqual(allowance)
          expect(more).toContain('checkpoint:aa0000000001')
          for (const key of keys(whole)) expect(keys(merged).has(key)).toBe(true)
          const output = (read: typeof merged) =>
            [...read.usage.values()].reduce((sum, usage) => sum + usage.output, 0)
          if (lost.length === 0) expect(output(merged)).toBe(output(whole))
        },
      ),
      { numRuns: 60 },
    )
  })

  test('reading in steps gives what reading at once gives', () => {
    const directory = join(fresh(), '.entire', 'metadata', UUID)
    mkdirSync(directory, { recursive: true })
    const copy = join(directory, 'full.jsonl')
    fc.assert(
      fc.property(fc.constantFrom(...native), CUTS, ({ path }, cuts) => {
        copyFileSync(path, copy)
        const whole = news(readAll(entire, copy))
        expect(readInSteps(entire, copy, readFileSync(path), cuts)).toEqual(whole)
      }),
      { numRuns: 40 },
    )
  })

  test('a transcript in parts is read as one, also from a position inside a part', () => {
    for (const { path } of [native[0], native.at(-1)].flatMap((one) => one ?? [])) {
      const all = readFileSync(path, 'utf8').trimEnd().split('\n')
      const whole = held(news(readAll(entire, checkpoint(fresh(), 'aabbccddeeff', all.join('\n')))))
      const [one, two] = [Math.ceil(all.length / 3), Math.ceil((2 * all.length) / 3)]
      const first = checkpoint(fresh(), 'aabbccddeeff', all.slice(0, one).join('\n'))
      writeFileSync(`${first}.001`, all.slice(one, two).join('\n'))
      writeFileSync(`${first}.002`, all.slice(two).join('\n'))
      expect(entire.claim(`${first}.001`)).toBeNull()
      expect(entire.claim(first)?.companions).toContain(`${first}.002`)
      // The end of a part may look like the end of a turn.
      expect(held(news(readAll(entire, first)))).toEqual(whole)
      for (const items of resumed(entire, first)) expect(held(items)).toEqual(whole)
      // Damage in a part is placed behind the bytes of the parts before it, and never waits for more.
      writeFileSync(first, `${all.slice(0, one).join('\n')}\n{"torn`)
      const gap = readAll(entire, first).find((item) => item.type === 'gap')
      expect(gap).toMatchObject({ reason: 'torn' })
      expect(gap).not.toHaveProperty('pending')
    }
  })
})

describe('checkpoints', () => {
  test('a checkpoint and its summary come last; its token counts are never counted', () => {
    const path = checkpoint(
      fresh(),
      'aabbccddeeff',
      lines([{ type: 'user', uuid: 'u1', message: { role: 'user', content: 'hello' } }]),
      {
        session_id: UUID,
        created_at: '2026-01-20T10:00:00Z',
        branch: 'main',
        model: 'm-1',
        agent: 'Some Agent',
        token_usage: { output_tokens: 99 },
        summary: { intent: 'greet', outcome: 'greeted', learnings: { code: [{ finding: 'a wave' }] } },
      },
    )
    const items = readAll(entire, path)
    expect(items[0]).toEqual({ type: 'session', session: UUID, gitBranch: 'main', model: 'm-1' })
    expect(
      eventsOf(items).map(({ key, parentKey, kind, summary }) => ({ key, parentKey, kind, summary })),
    ).toEqual([
      { key: 'u1#0', parentKey: null, kind: 'user_msg', summary: 'hello' },
      {
        key: 'checkpoint:aabbccddeeff',
        parentKey: 'u1#0',
        kind: 'lifecycle',
        summary: 'checkpoint aabbccddeeff',
      },
      {
        key: 'checkpoint:aabbccddeeff:summary',
        parentKey: 'checkpoint:aabbccddeeff',
        kind: 'completion',
        summary: 'greeted',
      },
    ])
    expect(eventsOf(items)[2]?.said).toContain('a wave')
    expect(usageOf(items)).toEqual([])
  })

  test.each([
    ['/p/.entire/metadata/2026-01-20-x/full.jsonl', true],
    ['/p/.entire/metadata/x/full.log', true],
    ['/t/ab/cdef012345/0/full.jsonl', true],
    ['/t/ab/cdef012345/full.jsonl', true],
    ['/t/01ARZ3NDEKTSV4RRFFQ69G5FAV/0/full.jsonl', true],
    ['/p/.entire/metadata/x/tasks/toolu_1/agent-a1.jsonl', true],
    ['/t/ab/cdef012345/tasks/toolu_1/agent-a1.jsonl', true],
    ['/p/.entire/metadata/x/tasks/toolu_1/checkpoint.json', false],
    ['/p/tasks/toolu_1/agent-a1.jsonl', false],
    ['/p/.entire/metadata/x/prompt.txt', false],
    ['/p/.entire/metadata/x/full.jsonl.001', false],
    ['/p/.entire/settings.json', false],
    ['/p/logs/full.log', false],
    ['/p/data/full.jsonl', false],
  ])('%s is claimed: %s', (path, isClaimed) => {
    expect(entire.claim(path) !== null).toBe(isClaimed)
  })

  test('the session is named by metadata, directory, content or place, in this order', () => {
    const content = lines([{ type: 'user', sessionId: 'inner', message: { content: 'x' } }])
    const sessionOf = (path: string) => eventsOf(readAll(entire, path))[0]?.session
    const tree = fresh()
    expect(sessionOf(checkpoint(tree, 'aa0000000001', content, { session_id: 'named' }))).toBe('named')
    expect(sessionOf(checkpoint(tree, 'aa0000000002', content))).toBe('inner')
    expect(sessionOf(checkpoint(tree, 'aa0000000003', lines([{ role: 'user', content: 'x' }])))).toBe(
      'aa/0000000003/0',
    )
    const directory = join(tree, '.entire', 'metadata', '2026-01-20-mine')
    mkdirSync(directory, { recursive: true })
    writeFileSync(join(directory, 'full.jsonl'), content)
    expect(sessionOf(join(directory, 'full.jsonl'))).toBe('2026-01-20-mine')
  })
})
