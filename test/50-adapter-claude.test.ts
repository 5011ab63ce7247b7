// What a path, a message, a tool call and a token count of Claude Code become: the traps, one by one.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { claude } from '../src/adapters/claude/index.ts'
import { HOSTS } from '../src/adapters/claude/paths.ts'
import {
  assistant,
  call,
  eventsOf,
  type Fields,
  field,
  line,
  newProject,
  OTHER,
  of,
  readAll,
  readRecords,
  result,
  SESSION,
  text,
  user,
  write,
} from './setup/claude.ts'

describe('paths', () => {
  test('roots come from CLAUDE_CONFIG_DIR, else from the home directory', () => {
    const hosts = process.platform === 'darwin' ? HOSTS.map((folder) => `/h/Library/${folder}`) : []
    expect(claude.roots({ HOME: '/h', CLAUDE_CONFIG_DIR: '/a, /b' })).toEqual([
      '/a/projects',
      '/a/transcripts',
      '/b/projects',
      '/b/transcripts',
      ...hosts,
    ])
    expect(claude.roots({ HOME: '/h' })).toEqual([
      '/h/.claude/projects',
      '/h/.claude/transcripts',
      '/h/.config/claude/projects',
      '/h/.config/claude/transcripts',
      ...hosts,
    ])
    expect(claude.roots({ HOME: '/h', XDG_CONFIG_HOME: '/x' })[2]).toBe('/x/claude/projects')
  })

  test('below a root of any name, transcripts lie side by side, and those of a host in folders of its own', () => {
    expect(claude.claim('/c/transcripts/session.jsonl', true)).not.toBeNull()
    expect(claude.claim('/c/transcripts/session.jsonl')).toBeNull()
    expect(claude.claim('/c/transcripts/ses_1f.jsonl', true)).toBeNull()
    const host = '/h/Library/Application Support/Claude/local-agent-mode-sessions/a/b/local_c'
    expect(claude.claim(`${host}/.claude/projects/-w/${SESSION}.jsonl`, true)).not.toBeNull()
    expect(claude.claim(`${host}/audit.jsonl`, true)).toBeNull()
  })

  test('a session in both places is one', () => {
    const config = dirname(dirname(newProject()))
    const records = [user('u1', null, 'hello')]
    const items = [`projects/-w/${SESSION}.jsonl`, 'transcripts/run.jsonl'].map((file) =>
      eventsOf(readAll(write(join(config, file), records))),
    )
    expect(items[0]).toHaveLength(1)
    expect(items[1]).toEqual(items[0])
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
    [`/h/.claude/transcripts/${SESSION}.jsonl`, true],
    ['/h/.claude/transcripts/run.jsonl', true],
    ['/h/.claude/transcripts/ses_4f2a.jsonl', false],
    ['/h/.claude/transcripts/notes/run.jsonl', false],
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
    expect(asString).toMatchObject({ key: 'u1#0', kind: 'user_msg', said: 'hello', parentKey: null })
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
    ['<local-command-stdout>ok</local-command-stdout>', {}, 'lifecycle', 'ok'],
    ['<bash-stdout>ok</bash-stdout><bash-stderr>not so</bash-stderr>', {}, 'lifecycle', 'ok\nnot so'],
    ['<bash-stdout></bash-stdout><bash-stderr></bash-stderr>', {}, 'lifecycle', undefined],
    ['[Request interrupted by user for tool use]', {}, 'human_intervention', undefined],
  ])('%s %o', (words, fields, kind, found) => {
    const [event] = eventsOf(readRecords([user('u1', null, words, fields)]))
    expect([event?.kind, event?.said]).toEqual([kind, found])
  })

  test('slash and shell commands that nothing comes of are housekeeping', () => {
    const events = eventsOf(
      readRecords([
        user('u1', null, '<command-name>/compact</command-name><command-args>keep facts</command-args>'),
        user('u2', 'u1', '<bash-input>ls -1</bash-input>'),
      ]),
    )
    expect(events.map((event) => [event.kind, event.summary])).toEqual([
      ['lifecycle', '/compact keep facts'],
      ['lifecycle', '! ls -1'],
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
    expect(events.map((event) => event.kind)).toEqual(['error', 'lifecycle'])
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

  test('answers to questions and approvals are results; an edited proposal is an intervention', () => {
    expect(outcome('yes', false, {}, 'AskUserQuestion')?.kind).toBe('tool_result')
    expect(outcome('yes', false, {}, 'ExitPlanMode')?.kind).toBe('tool_result')
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
      act: {
        does: 'edit',
        input: { file_path: '/w/a.ts', old_string: 'a', new_string: 'b' },
        edits: [{ path: '/w/a.ts', before: 'a', after: 'b' }],
      },
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
      return [event?.said?.includes('Output too large') ? undefined : event?.said, field(event, 'spilled')]
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
    expect(spilled(`/x/${OTHER}/tool-results/a\0b`)[0]).toBeUndefined()
    expect(spilled(`/x/${OTHER}/tool-results/${'a'.repeat(300)}`)[0]).toBeUndefined()
    writeFileSync(join(folder, 'huge.txt'), `${'x'.repeat(99)}\n`.repeat(90_000))
    const [words, huge] = spilled(`/x/${OTHER}/tool-results/huge.txt`)
    expect(huge).toMatchObject({ bytes: 9_000_000 })
    expect(String(words)).toHaveLength(Math.floor((8 << 20) / 100) * 100)
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
      id: 'msg_a1:req_1',
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

  test('responses to which a gateway gives one id are told apart, also in a fork', () => {
    const same = (uuid: string, parent: string, fields: Fields = {}) =>
      assistant(uuid, parent, [text(uuid)], fields, { ...usage({}), id: 'relay' })
    const records = [
      user('u1', null, 'go'),
      same('a1', 'u1'),
      same('a2', 'a1'),
      user('u2', 'a2', [result('t', 'x')]),
      same('a3', 'u2'),
      same('a4', 'a3', { requestId: 'req_1' }),
      same('a5', 'a4', { requestId: 'req_2' }),
    ]
    const ids = (lines: unknown[]) => of(readRecords(lines), 'usage').map((item) => item.id)
    const told = ['relay:a1', 'relay:a1', 'relay:a3', 'relay:req_1', 'relay:req_2']
    expect(ids(records)).toEqual(told)
    const from = (uuid: string) => ({ forkedFrom: { sessionId: OTHER, messageUuid: uuid } })
    expect(
      ids(records.map((one) => ({ ...one, ...from(String(one['uuid'])), uuid: `new-${one['uuid']}` }))),
    ).toEqual(told)
  })

  test('a response of the fast mode is named apart: it has another price', () => {
    const models = ['standard', 'fast', 'fast'].map((speed, at) =>
      assistant(`a${at}`, null, [text('x')], {}, { ...usage({ speed }), id: `msg_of_response_${at}` }),
    )
    const items = readRecords(models)
    expect(of(items, 'usage').map((item) => item.model?.replace(/^.*?(-fast)?$/, '$1'))).toEqual([
      '',
      '-fast',
      '-fast',
    ])
    expect(of(items, 'session').every(({ model }) => !model?.endsWith('-fast'))).toBe(true)
  })

  test('calls that the totals of a response leave out count beside it, once', () => {
    const own = { input_tokens: 1, output_tokens: 2 }
    const lines = ['a1', 'a2'].map((uuid, at) => {
      const iterations = [
        { type: 'compaction', ...own, cache_read_input_tokens: 70 },
        { type: 'message', ...own },
        { type: 'advisor_message', model: 'claude-opus-5-5', ...own, output_tokens: 40 + at },
        { type: 'fallback_message', model: 'claude-x', ...own },
        'noise',
        { type: 'advisor_message' },
      ]
      const message = { ...usage({ iterations }), model: 'claude-sonnet-5', id: 'msg_of_one_response' }
      return assistant(uuid, null, [text(uuid)], {}, message)
    })
    const told = of(readRecords(lines), 'usage').map((one) => [one.id, one.model, one.output, one.cacheRead])
    const response = (advice: number) => [
      ['msg_of_one_response', 'claude-sonnet-5', 5, 0],
      ['msg_of_one_response/0', 'claude-sonnet-5', 2, 70],
      ['msg_of_one_response/2', 'claude-opus-5-5', advice, 0],
      ['msg_of_one_response/5', 'claude-sonnet-5', 0, 0],
    ]
    expect(told).toEqual([...response(40), ...response(41)])
  })

  test('of a sub-agent known only from the progress its parent wrote down', () => {
    const message = assistant('s1', null, [text('x')], {}, { ...usage({}), id: 'msg_of_the_sub_agent' })
    const data = { type: 'agent_progress', message, agentId: 'a1' }
    const progress = line('p1', null, { type: 'progress', data })
    expect(of(readRecords([progress]), 'usage')).toEqual([
      expect.objectContaining({
        session: SESSION,
        id: 'msg_of_the_sub_agent',
        input: 10,
        output: 5,
        isSidechain: true,
      }),
    ])
  })

  test('every line of a response yields its numbers: the last may be the right one', () => {
    const items = of(
      readRecords([
        assistant('a1', null, [text('x')], {}, { ...usage({ output_tokens: 1 }), id: 'msg_of_one_response' }),
        assistant(
          'a2',
          'a1',
          [text('y')],
          {},
          { ...usage({ output_tokens: 631 }), id: 'msg_of_one_response' },
        ),
      ]),
      'usage',
    )
    expect(items.map((item) => [item.id, item.output])).toEqual([
      ['msg_of_one_response', 1],
      ['msg_of_one_response', 631],
    ])
  })
})
