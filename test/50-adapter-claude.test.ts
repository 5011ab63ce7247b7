// The traps of Claude Code's transcripts, one by one; then reading in steps and reading rubbish.
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import type { EventItem, Item, Position } from '../src/adapters/adapter.ts'
import { claude } from '../src/adapters/claude/index.ts'
import { filesBelow } from './setup/collect.ts'
import { unpackAgent } from './setup/fixtures.ts'

const base = mkdtempSync(join(tmpdir(), 'recollect-claude-'))
afterAll(() => rmSync(base, { recursive: true, force: true }))

const SESSION = '11111111-1111-4111-8111-111111111111'
const OTHER = '22222222-2222-4222-8222-222222222222'
let projectCount = 0
const newProject = () => join(base, '.claude', 'projects', `-p${projectCount++}`)

type Fields = Record<string, unknown>

function write(path: string, records: unknown[]): string {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, records.map((record) => `${JSON.stringify(record)}\n`).join(''))
  return path
}

function readAll(path: string, from: Position | null = null): Item[] {
  const source = claude.claim(path)
  if (!source) throw new Error(`not claimed: ${path}`)
  // The state in a position is alive: each item is looked at as it was when it came.
  return Array.from(claude.read(source, from), (item) => structuredClone(item))
}

const readRecords = (records: unknown[]) => readAll(write(join(newProject(), `${SESSION}.jsonl`), records))
const eventsOf = (items: Item[]) => items.filter((item): item is EventItem => item.type === 'event')
const of = <Type extends Item['type']>(items: Item[], type: Type) =>
  items.filter((item): item is Extract<Item, { type: Type }> => item.type === type)

const field = (event: EventItem | undefined, name: string) => (event?.payload as Fields | undefined)?.[name]

let clock = Date.parse('2026-11-15T12:00:00Z')
function tick(): string {
  clock += 1000
  return new Date(clock).toISOString()
}
const line = (uuid: string, parentUuid: string | null, fields: Fields): Fields => ({
  parentUuid,
  isSidechain: false,
  userType: 'external',
  cwd: '/w',
  sessionId: SESSION,
  version: '2.1.325',
  gitBranch: 'main',
  uuid,
  timestamp: tick(),
  ...fields,
})
const user = (uuid: string, parent: string | null, content: unknown, fields: Fields = {}) =>
  line(uuid, parent, { type: 'user', message: { role: 'user', content }, ...fields })
const assistant = (
  uuid: string,
  parent: string | null,
  content: unknown[],
  fields: Fields = {},
  message: Fields = {},
) =>
  line(uuid, parent, {
    type: 'assistant',
    message: { id: `msg_${uuid}`, model: 'claude-opus-5-5', role: 'assistant', content, ...message },
    ...fields,
  })
const text = (words: string) => ({ type: 'text', text: words })
const call = (id: string, name: string, input: Fields) => ({ type: 'tool_use', id, name, input })
const result = (id: string, content: unknown, isError = false) => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
  is_error: isError,
})

describe('paths', () => {
  test('roots come from CLAUDE_CONFIG_DIR, else from the home directory', () => {
    expect(claude.roots({ CLAUDE_CONFIG_DIR: '/a, /b' })).toEqual(['/a/projects', '/b/projects'])
    expect(claude.roots({ HOME: '/h' })).toEqual(['/h/.claude/projects', '/h/.config/claude/projects'])
    expect(claude.roots({ HOME: '/h', XDG_CONFIG_HOME: '/x' })[1]).toBe('/x/claude/projects')
  })

  test.each([
    [`/h/.claude/projects/-w/${SESSION}.jsonl`, true],
    ['/h/.claude/projects/-w/agent-a1.jsonl', true],
    ['/h/.claude/projects/-w/.jsonl', true],
    [`/h/projects/x/.claude/projects/-w/${SESSION}/subagents/agent-a1.jsonl`, true],
    [`/h/.claude/projects/-w/${SESSION}/subagents/workflows/run1/agent-a1.jsonl`, true],
    [`/h/.claude/projects/-w/${SESSION}/subagents/workflows/run1/journal.jsonl`, true],
    [`/h/.claude/projects/-w/${SESSION}/tool-results/b1.txt`, false],
    [`/h/.claude/projects/-w/${SESSION}/subagents/agent-a1.meta.json`, false],
    ['/h/.claude/projects/-w/sessions-index.json', false],
    ['/h/.claude/history.jsonl', false],
    ['/h/.claude/.credentials.json', false],
    [`/h/.claude/file-history/${SESSION}/a@v1`, false],
    [`/h/.qwen/projects/-w/chats/${SESSION}.jsonl`, false],
    [`/h/.qwen/projects/-w/subagents/${SESSION}/agent-a1.jsonl`, false],
  ])('%s', (path, claimed) => {
    expect(claude.claim(path) !== null).toBe(claimed)
  })

  test('the name of the file is the session, whatever the records say; without one the records do', () => {
    const project = newProject()
    const foreign = [user('u1', null, 'hello', { sessionId: OTHER })]
    expect(eventsOf(readAll(write(join(project, `${SESSION}.jsonl`), foreign)))[0]?.session).toBe(SESSION)
    expect(eventsOf(readAll(write(join(project, '.jsonl'), foreign)))[0]?.session).toBe(OTHER)
    expect(eventsOf(readAll(write(join(project, 'agent-a1.jsonl'), foreign)))[0]).toMatchObject({
      session: OTHER,
      isSidechain: true,
      agent: 'a1',
    })
  })
})

describe('messages', () => {
  test('a string and a list of one text are the same event', () => {
    const [asString] = eventsOf(readRecords([user('u1', null, 'hello')]))
    const [asList] = eventsOf(readRecords([user('u1', null, [text('hello')])]))
    expect(asString).toMatchObject({ key: 'u1#0', kind: 'user_msg', text: 'hello', parentKey: null })
    expect(asList?.payload).toEqual(asString?.payload)
  })

  test('blocks of one line hang on each other, and the next line on the last of them', () => {
    const events = eventsOf(
      readRecords([
        user('u1', null, 'go'),
        assistant('a1', 'u1', [
          { type: 'thinking', thinking: 'hm', signature: 'x' },
          text('ok'),
          call('t1', 'Bash', { command: 'ls' }),
        ]),
        user('u2', 'a1', [result('t1', 'a.js')]),
        line('c1', null, {
          type: 'system',
          subtype: 'compact_boundary',
          logicalParentUuid: 'u2',
          content: 'x',
        }),
      ]),
    )
    expect(events.map((event) => [event.key, event.parentKey])).toEqual([
      ['u1#0', null],
      ['a1#0', 'u1#0'],
      ['a1#1', 'a1#0'],
      ['a1#2', 'a1#1'],
      ['u2#0', 'a1#2'],
      ['c1#0', 'u2#0'],
    ])
    expect(events.map((event) => event.kind)).toEqual([
      'user_msg',
      'thinking',
      'assistant_msg',
      'tool_call',
      'tool_result',
      'lifecycle',
    ])
  })

  test.each<[string, Fields, string, string | undefined]>([
    ['do it', {}, 'user_msg', 'do it'],
    ['<ide_opened_file>x.ts</ide_opened_file>\ndo it', {}, 'user_msg', 'do it'],
    ['<ide_selection>x</ide_selection>', {}, 'lifecycle', undefined],
    ['a reminder', { isMeta: true }, 'lifecycle', undefined],
    ['a summary', { isCompactSummary: true }, 'lifecycle', 'a summary'],
    [
      '<task-notification>done</task-notification>',
      {},
      'lifecycle',
      '<task-notification>done</task-notification>',
    ],
    ['from afar', { origin: { kind: 'something-new' } }, 'lifecycle', 'from afar'],
    ['typed', { origin: { kind: 'human' } }, 'user_msg', 'typed'],
    ['again', { promptSource: 'system' }, 'lifecycle', 'again'],
    [
      '<local-command-stdout>ok</local-command-stdout>',
      {},
      'lifecycle',
      '<local-command-stdout>ok</local-command-stdout>',
    ],
    ['[Request interrupted by user for tool use]', {}, 'human_intervention', undefined],
  ])('%s %o', (words, fields, kind, found) => {
    const [event] = eventsOf(readRecords([user('u1', null, words, fields)]))
    expect([event?.kind, event?.text]).toEqual([kind, found])
  })

  test('slash and shell commands are the person acting', () => {
    const events = eventsOf(
      readRecords([
        user('u1', null, '<command-name>/compact</command-name><command-args>keep facts</command-args>'),
        user('u2', 'u1', '<bash-input>ls -1</bash-input>'),
      ]),
    )
    expect(events.map((event) => [event.kind, event.summary])).toEqual([
      ['human_intervention', '/compact keep facts'],
      ['human_intervention', '! ls -1'],
    ])
  })

  test('errors of the API and fillers are not answers', () => {
    const events = eventsOf(
      readRecords([
        assistant(
          'a1',
          null,
          [text('API Error: 400')],
          { isApiErrorMessage: true },
          { model: '<synthetic>' },
        ),
        assistant('a2', 'a1', [text('No response requested.')], {}, { model: '<synthetic>' }),
      ]),
    )
    expect(events.map((event) => [event.kind, event.model])).toEqual([
      ['error', undefined],
      ['lifecycle', undefined],
    ])
  })
})

describe('tools', () => {
  const outcome = (content: unknown, isError: boolean, fields: Fields = {}, tool = 'Bash') =>
    eventsOf(
      readRecords([
        assistant('a1', null, [call('t1', tool, { command: 'x' })]),
        user('u1', 'a1', [result('t1', content, isError)], fields),
      ]),
    )[1]

  test('exit codes are read from the text, or from the absence of one', () => {
    expect(outcome('Exit code 2\nboom', true)).toMatchObject({
      kind: 'error',
      exitCode: 2,
      summary: 'exit 2: boom',
    })
    const done = { toolUseResult: { stdout: 'fine', stderr: '', interrupted: false } }
    expect(outcome('fine', false, done)).toMatchObject({ kind: 'tool_result', exitCode: 0, durationMs: 1000 })
    const background = { toolUseResult: { stdout: '', interrupted: false, backgroundTaskId: 'b1' } }
    expect(outcome('', false, background)?.exitCode).toBeUndefined()
    expect(outcome('fine', false, {}, 'Read')?.exitCode).toBeUndefined()
  })

  test('a person says no, or a rule does', () => {
    const no = "The user doesn't want to proceed with this tool use. The tool use was rejected"
    expect(outcome(no, true)?.kind).toBe('human_intervention')
    expect(outcome('Permission to use Bash has been denied', true)?.kind).toBe('error')
    const rule = { toolDenialKind: 'user-rejected', permissionDecision: { source: 'config' } }
    expect(outcome('needs approval', true, rule)?.kind).toBe('error')
    expect(outcome('nope', true, { toolDenialKind: 'user-rejected' })?.kind).toBe('human_intervention')
  })

  test('answers to questions are decisions; an edited proposal is an intervention', () => {
    expect(outcome('yes', false, {}, 'AskUserQuestion')?.kind).toBe('decision')
    expect(outcome('ok', false, { toolUseResult: { userModified: true } }, 'Edit')?.kind).toBe(
      'human_intervention',
    )
  })

  test('a call after its own failure is a retry, and tests and edits are told apart', () => {
    const events = eventsOf(
      readRecords([
        assistant('a1', null, [call('t1', 'Bash', { command: 'npm test' })]),
        user('u1', 'a1', [result('t1', 'Exit code 1', true)]),
        assistant('a2', 'u1', [
          call('t2', 'Bash', { command: 'npm test' }),
          call('t3', 'Edit', { file_path: '/w/a.ts', old_string: 'a', new_string: 'b' }),
        ]),
      ]),
    )
    expect(events.map((event) => event.kind)).toEqual(['test_run', 'error', 'retry', 'edit'])
    expect(events[3]).toMatchObject({
      tool: 'Edit',
      files: ['/w/a.ts'],
      summary: 'Edit /w/a.ts',
      text: '/w/a.ts\na\nb',
    })
  })

  test('spilled outputs are read from tool-results of the project, and from nowhere else', () => {
    const project = newProject()
    const folder = join(project, OTHER, 'tool-results')
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'b1.txt'), 'the whole output')
    writeFileSync(join(project, 'secret.txt'), 'secret')
    symlinkSync(join(project, 'secret.txt'), join(folder, 'link.txt'))
    const spilled = (path: string) => {
      const [event] = eventsOf(
        readAll(
          write(join(project, `${SESSION}.jsonl`), [
            user('u1', null, [
              result(
                't1',
                `<persisted-output>\nOutput too large (2MB). Full output saved to: ${path}\n\nPreview`,
              ),
            ]),
          ]),
        ),
      )
      return [event?.text?.startsWith('<persisted') ? undefined : event?.text, field(event, 'spilled')]
    }
    expect(spilled(`/home/dev/.claude/projects/-w/${OTHER}/tool-results/b1.txt`)).toEqual([
      'the whole output',
      { name: 'b1.txt', text: 'the whole output' },
    ])
    expect(spilled(`/x/${OTHER}/tool-results/gone.txt`)).toEqual([
      undefined,
      { name: 'gone.txt', missing: 'NOT_FOUND' },
    ])
    expect(spilled(`/x/${OTHER}/tool-results/link.txt`)).toEqual([
      undefined,
      { name: 'link.txt', missing: 'UNSAFE_PATH' },
    ])
    expect(spilled(`/x/${OTHER}/tool-results/..`)[0]).toBeUndefined()
    expect(spilled(join(project, 'secret.txt'))).toEqual([
      undefined,
      { name: 'secret.txt', missing: 'not in tool-results' },
    ])
  })
})

describe('tokens', () => {
  const usage = (fields: Fields) => ({ usage: { input_tokens: 10, output_tokens: 5, ...fields } })

  test('the greater of the total and its parts, in disjoint counters', () => {
    const [item] = of(
      readRecords([
        assistant(
          'a1',
          null,
          [text('x')],
          { requestId: 'req_1' },
          usage({
            cache_creation_input_tokens: 0,
            cache_read_input_tokens: 7,
            cache_creation: { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 4 },
            output_tokens_details: { thinking_tokens: 2 },
          }),
        ),
      ]),
      'usage',
    )
    expect(item).toMatchObject({
      id: 'msg_a1',
      input: 10,
      cacheRead: 7,
      cacheWrite5m: 3,
      cacheWrite1h: 4,
      output: 5,
      reasoning: 2,
    })
  })

  test('the id is the response, else the request, else the line; nobody pays for fillers', () => {
    const items = of(
      readRecords([
        assistant('a1', null, [text('x')], { requestId: 'req_1' }, { ...usage({}), id: undefined }),
        assistant('a2', 'a1', [text('x')], {}, { ...usage({}), id: undefined }),
        assistant('a3', 'a2', [text('x')], {}, { ...usage({}), model: '<synthetic>' }),
      ]),
      'usage',
    )
    expect(items.map((item) => item.id)).toEqual(['req_1', 'a2'])
  })

  test('every line of a response yields its numbers: the last may be the right one', () => {
    const items = of(
      readRecords([
        assistant('a1', null, [text('x')], {}, { ...usage({ output_tokens: 1 }), id: 'msg' }),
        assistant('a2', 'a1', [text('y')], {}, { ...usage({ output_tokens: 631 }), id: 'msg' }),
      ]),
      'usage',
    )
    expect(items.map((item) => [item.id, item.output])).toEqual([
      ['msg', 1],
      ['msg', 631],
    ])
  })
})

describe('branches', () => {
  const superseded = (records: unknown[]) =>
    of(readRecords(records), 'supersede').map(({ sinceKey, keys, reason }) => sinceKey ?? keys ?? reason)
  const turn = [user('u1', null, 'first'), assistant('a1', 'u1', [text('one')])]

  test('a second prompt under the same parent takes the first one back', () => {
    expect(
      superseded([
        ...turn,
        user('u2', 'a1', 'second'),
        assistant('a2', 'u2', [text('two')]),
        user('u3', 'a1', 'other'),
      ]),
    ).toEqual(['u2#0'])
  })

  test('parallel calls, meta lines and a line written twice are not rewinds', () => {
    const second = user('u2', 'a1', 'second')
    const records = [
      ...turn,
      second,
      assistant('a2', 'u2', [call('t1', 'Bash', {})]),
      assistant('a3', 'a2', [call('t2', 'Bash', {})]),
      user('u3', 'a2', [result('t1', 'x')]),
      user('u4', 'a3', [result('t2', 'x')]),
      user('u5', 'a1', 'a reminder', { isMeta: true }),
      second,
    ]
    expect(superseded(records)).toEqual([])
  })

  test('several roots are a rewind only when the client says so', () => {
    const again = [user('u9', null, 'start over')]
    const zeros = { type: 'last-prompt', leafUuid: '00000000-0000-0000-0000-000000000000', explicit: true }
    expect(superseded([...turn, ...again])).toEqual([])
    expect(superseded([...turn, zeros, ...again])).toEqual(['u1#0'])
  })

  test('a leaf a person chose takes back what follows it, once', () => {
    const marker = (fields: Fields) => ({
      type: 'last-prompt',
      leafUuid: 'a1',
      sessionId: SESSION,
      ...fields,
    })
    const records = [...turn, user('u2', 'a1', 'second')]
    expect(superseded([...records, marker({})])).toEqual([])
    expect(superseded([...records, marker({ rewound: true }), user('u3', 'a1', 'other')])).toEqual(['u2#0'])
  })

  test('retracted and superseded lines are named block by block', () => {
    expect(
      superseded([
        user('u1', null, 'go'),
        assistant('a1', 'u1', [text('a'), text('b')]),
        line('s1', 'a1', {
          type: 'system',
          subtype: 'model_refusal_fallback',
          retractedMessageUuids: ['a1', 7],
        }),
        assistant('a2', 's1', [text('c')], { supersedesUuids: ['u1'] }),
      ]),
    ).toEqual([['a1#0', 'a1#1'], ['u1#0']])
  })

  test('a fork with new uuids points at where it came from, with equal payloads', () => {
    const original = eventsOf(readRecords(turn))
    const forkedFrom = (messageUuid: string) => ({
      forkedFrom: { sessionId: OTHER, messageUuid },
      sessionId: 'x',
      slug: 'y',
    })
    const items = readRecords([
      user('n1', null, 'first', forkedFrom('u1')),
      assistant('n2', 'n1', [text('one')], forkedFrom('a1'), { id: 'msg_a1' }),
      user('n3', 'n2', 'own'),
    ])
    const events = eventsOf(items)
    expect(events.map((event) => [event.originKey, event.inherited])).toEqual([
      ['u1#0', true],
      ['a1#0', true],
      [undefined, undefined],
    ])
    expect(events.slice(0, 2).map((event) => event.payload)).toEqual(original.map((event) => event.payload))
    expect(of(items, 'edge')).toMatchObject([{ kind: 'interactive_fork', parent: OTHER, session: SESSION }])
    expect(of(items, 'session').findLast((item) => item.relation)?.relation).toBe('fork')
  })

  test('/clear starts a session without a parent', () => {
    const items = readRecords([
      user('u1', null, '<command-name>/clear</command-name>'),
      user('u2', 'u1', 'go'),
    ])
    expect(of(items, 'edge')).toMatchObject([{ kind: 'cleared', parent: null, evidence: 'u1#0' }])
  })
})

describe('sub-agents', () => {
  const spawn = assistant('a1', 'u1', [
    text('ok'),
    call('t1', 'Task', { prompt: 'count', description: 'Count' }),
  ])

  test('new layout: the sidecar names the call, whenever it appears', () => {
    const project = newProject()
    write(join(project, `${SESSION}.jsonl`), [user('u1', null, 'go'), spawn])
    const path = write(join(project, SESSION, 'subagents', 'agent-x1.jsonl'), [
      user('s1', null, 'count', { isSidechain: true, agentId: 'x1' }),
      assistant('s2', 's1', [text('3')], { isSidechain: true, agentId: 'x1' }),
    ])
    const [before] = eventsOf(readAll(path))
    expect(before).toMatchObject({
      session: SESSION,
      key: 's1#0',
      isSidechain: true,
      agent: 'x1',
      parentKey: null,
    })
    const [sidecar] = claude.claim(path)?.companions ?? []
    writeFileSync(sidecar as string, JSON.stringify({ toolUseId: 't1' }))
    const [first, second] = eventsOf(readAll(path))
    expect([first?.parentKey, second?.parentKey]).toEqual(['a1#1', 's1#0'])
    expect(of(readAll(path), 'session')).toEqual([])
  })

  test('nested sub-agents hang on their parent sub-agent', () => {
    const folder = join(newProject(), SESSION, 'subagents')
    write(join(folder, 'agent-x1.jsonl'), [spawn])
    const path = write(join(folder, 'agent-x2.jsonl'), [user('s1', null, 'deeper', { isSidechain: true })])
    writeFileSync(
      join(folder, 'agent-x2.meta.json'),
      JSON.stringify({ toolUseId: 't1', parentAgentId: 'x1' }),
    )
    expect(eventsOf(readAll(path))[0]?.parentKey).toBe('a1#1')
  })

  test('old layout: the result of the call names the sub-agent', () => {
    const project = newProject()
    write(join(project, `${SESSION}.jsonl`), [
      spawn,
      user('u2', 'a1', [result('t1', '3')], { toolUseResult: { agentId: 'x1', status: 'completed' } }),
    ])
    const path = write(join(project, 'agent-x1.jsonl'), [user('s1', null, 'count', { isSidechain: true })])
    expect(eventsOf(readAll(path))[0]).toMatchObject({ session: SESSION, parentKey: 'a1#1' })
  })

  test('1.0: inside the main file, joined by the prompt', () => {
    const events = eventsOf(readRecords([spawn, user('s1', null, 'count', { isSidechain: true })]))
    expect(events[2]).toMatchObject({ key: 's1#0', parentKey: 'a1#1', isSidechain: true, kind: 'user_msg' })
  })

  test('a compaction that repeats the conversation repeats its events, not as a sidechain', () => {
    const project = newProject()
    const records = [user('u1', null, 'go'), spawn]
    const main = eventsOf(readAll(write(join(project, `${SESSION}.jsonl`), records)))
    const copies = records.map((record) => ({ ...record, isSidechain: true, agentId: 'acompact-1' }))
    const path = write(join(project, SESSION, 'subagents', 'agent-acompact-1.jsonl'), [
      ...copies,
      user('c1', 'a1', 'summarize', { isSidechain: true, agentId: 'acompact-1' }),
    ])
    const events = eventsOf(readAll(path))
    expect(events.slice(0, 3)).toEqual(main)
    expect(events[3]).toMatchObject({ key: 'c1#0', isSidechain: true, agent: 'acompact-1' })
  })

  test('workflow journals are bookkeeping of the session', () => {
    const path = join(newProject(), SESSION, 'subagents', 'workflows', 'run1', 'journal.jsonl')
    const items = readAll(
      write(path, [
        { type: 'started', key: 'k', agentId: 'x1' },
        { type: 'result', key: 'k', agentId: 'x1', result: 'ok' },
      ]),
    )
    expect(eventsOf(items).map((event) => [event.session, event.kind, event.agent])).toEqual([
      [SESSION, 'lifecycle', 'x1'],
      [SESSION, 'lifecycle', 'x1'],
    ])
    expect(of(items, 'unknown')).toEqual([])
  })
})

describe('the rest', () => {
  test('facts of the session', () => {
    const items = readRecords([
      user('u1', null, 'go'),
      assistant('a1', 'u1', [text('x')], { gitBranch: 'topic', cwd: '/w/deeper' }),
    ])
    const facts = Object.assign({}, ...of(items, 'session'))
    expect(facts).toMatchObject({
      cwd: '/w',
      gitBranch: 'topic',
      model: 'claude-opus-5-5',
      agentVersion: '2.1.325',
      relation: 'main',
    })
    expect(field(eventsOf(items)[1], 'cwd')).toBe('/w/deeper')
    expect(field(eventsOf(items)[0], 'cwd')).toBeUndefined()
  })

  test('a summary is a title only for the session that holds its leaf', () => {
    const titles = (records: unknown[]) =>
      of(readRecords(records), 'session')
        .map((item) => item.title)
        .filter(Boolean)
    const summary = (leafUuid: string) => ({ type: 'summary', summary: `about ${leafUuid}`, leafUuid })
    expect(titles([summary('u1'), summary('elsewhere'), user('u1', null, 'go')])).toEqual(['about u1'])
    expect(titles([user('u1', null, 'go'), summary('u1')])).toEqual(['about u1'])
  })

  test('titles are facts, those of a person marked', () => {
    const items = readRecords([
      { type: 'ai-title', aiTitle: 'made up', sessionId: SESSION },
      { type: 'custom-title', customTitle: 'mine', sessionId: SESSION },
    ])
    expect(of(items, 'session').filter((item) => item.title)).toMatchObject([
      { title: 'made up' },
      { title: 'mine', titleByPerson: true },
    ])
    expect(eventsOf(items)).toEqual([])
  })

  test('a queued prompt is heard once', () => {
    const events = eventsOf(
      readRecords([
        {
          type: 'queue-operation',
          operation: 'enqueue',
          content: 'also this',
          sessionId: SESSION,
          timestamp: '2026-11-15T12:00:00Z',
        },
        line('q1', null, {
          type: 'attachment',
          attachment: { type: 'queued_command', prompt: 'also this', commandMode: 'prompt' },
        }),
      ]),
    )
    expect(events.map((event) => [event.kind, event.text])).toEqual([
      ['lifecycle', undefined],
      ['human_intervention', 'also this'],
    ])
  })

  test('what the client repeats for itself is not found by a search', () => {
    const events = eventsOf(
      readRecords([
        {
          type: 'api-request-blob',
          hash: 'h',
          sessionId: SESSION,
          message: { role: 'user', content: 'the prompt' },
        },
        line('p1', null, {
          type: 'attachment',
          attachment: { type: 'prompt_snapshot', systemPrompt: ['the prompt'] },
        }),
        { type: 'last-prompt', lastPrompt: 'the prompt', sessionId: SESSION },
      ]),
    )
    expect(events.map((event) => event.text)).toEqual([undefined, undefined, undefined])
    expect(JSON.stringify(events.slice(0, 2))).not.toContain('the prompt')
  })

  test('retries of the API; the last attempt is an error', () => {
    const attempt = (retryAttempt: number) =>
      line(`e${retryAttempt}`, null, {
        type: 'system',
        subtype: 'api_error',
        error: { status: 529, formatted: '529 Overloaded' },
        retryAttempt,
        maxRetries: 2,
      })
    const events = eventsOf(readRecords([attempt(1), attempt(2)]))
    expect(events.map((event) => [event.kind, event.text])).toEqual([
      ['retry', '529 Overloaded'],
      ['error', '529 Overloaded'],
    ])
  })

  test('a mode is a decision when it changes', () => {
    const mode = (permissionMode: string) => ({ type: 'permission-mode', permissionMode, sessionId: SESSION })
    const events = eventsOf(readRecords([mode('plan'), mode('plan'), mode('auto'), mode('plan')]))
    expect(events.map((event) => event.kind)).toEqual(['lifecycle', 'lifecycle', 'decision', 'decision'])
    expect(new Set(events.map((event) => event.key)).size).toBe(4)
  })

  test('records without a uuid never have the same name in two sessions', () => {
    const key = (sessionId: string) =>
      eventsOf(readRecords([{ type: 'mode', mode: 'normal', sessionId }]))[0]?.key
    expect(key(SESSION)).not.toBe(key(OTHER))
    expect(key(SESSION)).toBe(key(SESSION))
  })

  test('what nobody described is kept and counted', () => {
    const items = readRecords([
      { type: 'brand-new', value: 1 },
      line('n1', null, { type: 'system', subtype: 'brand_new' }),
      line('n2', 'n1', { type: 'attachment', attachment: { type: 'brand_new' } }),
      user('n3', 'n2', [{ type: 'hologram', content: 'x' }]),
      { value: 2 },
    ])
    expect(of(items, 'unknown').map((item) => item.name)).toEqual([
      'brand-new',
      'system/brand_new',
      'attachment/brand_new',
      'block hologram',
      '(none)',
    ])
    expect(eventsOf(items).map((event) => event.kind)).toEqual(Array(5).fill('lifecycle'))
    expect(eventsOf(items)[0]?.payload).toEqual({ type: 'brand-new', value: 1 })
  })
})

const fixtures = ['claude', 'claude-tui', 'claude-2.0', 'claude-1.0'].map(unpackAgent)

/** The items of a file without positions; a last line that was still being written is not news. */
const news = (items: Item[]) =>
  items.filter((item) => item.type !== 'position' && !(item.type === 'gap' && item.pending))

describe('reading in steps', () => {
  const scenarios = [
    'subagent_parallel',
    'fork',
    'tools',
    'autocompact',
    'titles',
    'bang_and_slash',
    'subagent',
    'resume',
  ]
  const transcripts = fixtures
    .flatMap(filesBelow)
    .filter((path) => claude.claim(path) && scenarios.some((name) => path.includes(`/${name}/`)))

  test('at random bytes gives what reading at once gives', () => {
    const grown = join(newProject(), `${SESSION}.jsonl`)
    mkdirSync(dirname(grown), { recursive: true })
    fc.assert(
      fc.property(
        fc.constantFrom(...transcripts),
        fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 6 }),
        fc.boolean(),
        (path, cuts, atLines) => {
          const bytes = readFileSync(path)
          const ends = cuts
            .map((cut) => Math.floor(cut * bytes.length))
            .map((at) => (atLines ? bytes.indexOf(10, at) + 1 : at))
            .sort((a, b) => a - b)
          writeFileSync(grown, bytes)
          const whole = news(readAll(grown))
          const items: Item[] = []
          let position: Position | null = null
          let done = 0
          writeFileSync(grown, '')
          for (const end of [...ends, bytes.length]) {
            appendFileSync(grown, bytes.subarray(done, Math.max(done, end)))
            done = Math.max(done, end)
            for (const item of readAll(grown, position)) {
              if (item.type === 'position') position = JSON.parse(JSON.stringify(item.position)) as Position
              else items.push(item)
            }
          }
          expect(news(items)).toEqual(whole)
        },
      ),
      { numRuns: 60 },
    )
  })

  test('the carry-over stays small', () => {
    const records = Array.from({ length: 3000 }, (_, index) => [
      assistant(`a${index}`, null, [text('x'), call(`t${index}`, 'Task', { prompt: `p${index}` })]),
      user(`u${index}`, `a${index}`, `prompt ${index}`),
      { type: 'summary', summary: 's', leafUuid: `l${index}` },
    ]).flat()
    const source = claude.claim(write(join(newProject(), `${SESSION}.jsonl`), records))
    let state: unknown
    for (const item of source ? claude.read(source, null) : [])
      if (item.type === 'position') state = item.position.state
    expect(JSON.stringify(state).length).toBeLessThan(64 << 10)
  })
})

describe('rubbish', () => {
  const samples = fixtures
    .flatMap((directory) => filesBelow(directory))
    .filter((path) => path.includes('/hooks/') || path.includes('/tools/') || path.includes('bang_and_slash'))
    .filter((path) => claude.claim(path))
    .flatMap((path) => readFileSync(path, 'utf8').trim().split('\n'))
    .filter((one) => one !== '')

  /** Puts a value into one of the places of a record, however deep. */
  function mutate(record: Fields, where: number, what: unknown): void {
    const places: [Fields, string][] = []
    const visit = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return
      for (const name of Object.keys(value)) {
        places.push([value as Fields, name])
        visit((value as Fields)[name])
      }
    }
    visit(record)
    const [holder, name] = places[where % places.length] ?? [record, 'type']
    holder[name] = what
  }

  test('any value in any place is read without a throw, and leaves a trace', () => {
    const path = join(newProject(), `${SESSION}.jsonl`)
    mkdirSync(dirname(path), { recursive: true })
    const value = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom<unknown>(null, 0, '', [], {}, [null], JSON.parse('{"__proto__":{"x":1}}')),
    )
    fc.assert(
      fc.property(
        fc.constantFrom(...samples),
        fc.array(fc.tuple(fc.nat(), value), { minLength: 1, maxLength: 5 }),
        (sample, changes) => {
          const record = JSON.parse(sample) as Fields
          for (const [where, what] of changes) mutate(record, where, structuredClone(what))
          write(path, [record])
          const items = readAll(path)
          expect(items.filter((item) => item.type !== 'position').length).toBeGreaterThan(0)
          for (const event of eventsOf(items)) {
            expect([typeof event.key, typeof event.summary, typeof event.session]).toEqual([
              'string',
              'string',
              'string',
            ])
            if (event.text !== undefined) expect(typeof event.text).toBe('string')
            JSON.stringify(event)
          }
          for (const usage of of(items, 'usage')) expect(usage.cacheWrite5m).toBeGreaterThanOrEqual(0)
        },
      ),
      { numRuns: 500 },
    )
    expect(({} as Fields)['x']).toBeUndefined()
  })
})
