// What a line of Claude Code tells besides its words: who was there, how it ended, how long it took, what it cost; and
// files beside the transcript that come and go.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { EventItem } from '../src/adapters/adapter.ts'
import {
  assistant,
  call,
  eventsOf,
  type Fields,
  field,
  line,
  newProject,
  of,
  readAll,
  readRecords,
  result,
  SESSION,
  text,
  user,
  write,
} from './setup/claude.ts'

const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } }
const first = (record: unknown) => eventsOf(readRecords([record]))[0]

describe('a prompt', () => {
  test('with pictures is one turn: they are parts of it', () => {
    const events = eventsOf(readRecords([user('u1', null, [text('look'), picture, picture])]))
    expect(events.map((event) => [event.kind, event.isPart])).toEqual([
      ['user_msg', undefined],
      ['user_msg', true],
      ['user_msg', true],
    ])
    const note = text('<ide_opened_file>x.ts</ide_opened_file>')
    expect(eventsOf(readRecords([user('u1', null, [note, picture])])).map((event) => event.isPart)).toEqual([
      undefined,
      undefined,
    ])
  })

  test.each<[string, Fields]>([
    ['meta', { isMeta: true }],
    ['from a channel', { origin: { kind: 'channel' } }],
    ['of a team', { teamName: 'crew' }],
  ])('a picture %s is none', (_, fields) => {
    expect(first(user('u1', null, [picture], fields))?.kind).toBe('lifecycle')
  })

  test('what stands beside a result is none; an interrupt is one there too', () => {
    const beside = (block: unknown) =>
      eventsOf(readRecords([user('u1', null, [result('t1', 'x'), block])]))[1]
    expect(beside(text('looks like a prompt'))).toMatchObject({
      kind: 'lifecycle',
      role: 'system',
      said: 'looks like a prompt',
    })
    expect(beside(picture)?.kind).toBe('lifecycle')
    expect(beside(text('[Request interrupted by user for tool use]'))?.kind).toBe('human_intervention')
  })
})

describe('a result', () => {
  const outcome = (tool: string, content: unknown, fields: Fields, isError = false) =>
    eventsOf(
      readRecords([
        assistant('a1', null, [call('t1', tool, { command: 'x' })]),
        user('u1', 'a1', [result('t1', content, isError)], fields),
      ]),
    )[1]
  const shell = (fields: Fields) => ({
    toolUseResult: { stdout: '', stderr: '', interrupted: false, ...fields },
  })

  test('whose exit code the client explains did not end with 0', () => {
    expect(outcome('Bash', '', shell({}))?.exitCode).toBe(0)
    const explained = outcome('Bash', '', shell({ returnCodeInterpretation: 'No matches found' }))
    expect(explained).toMatchObject({ kind: 'tool_result' })
    expect(explained?.exitCode).toBeUndefined()
  })

  test('of a command in the background has the exit code that its task tells', () => {
    const task = { task_id: 'b1', task_type: 'local_bash', status: 'completed', exitCode: 2 }
    expect(
      outcome('TaskOutput', 'x', { toolUseResult: { retrieval_status: 'success', task } })?.exitCode,
    ).toBe(2)
  })

  test.each<[string, Fields, boolean, Partial<EventItem>]>([
    ['fine', shell({}), false, { state: 'ok', said: 'fine' }],
    ['Exit code 2\nnot so\n', {}, true, { state: 'failed', said: 'not so\n', exitCode: 2 }],
    ['Exit code 2', {}, true, { state: 'failed' }],
    ['<tool_use_error>no such file</tool_use_error>', {}, true, { state: 'failed', said: 'no such file' }],
    ["The user doesn't want to proceed with this tool use.", {}, true, { state: 'refused', mark: 'denied' }],
    ['This command requires approval', {}, true, { kind: 'error', state: 'refused', mark: 'denied' }],
    ['Permission to use Bash has been denied.', {}, true, { state: 'refused', mark: 'denied' }],
    ['PreToolUse:Bash hook error: no', {}, true, { state: 'refused', mark: 'denied' }],
    ['nope', { toolDenialKind: 'rule' }, true, { state: 'refused', mark: 'denied' }],
    ['EACCES: permission denied', {}, true, { state: 'failed' }],
    ['[Request interrupted by user for tool use]', {}, true, { state: 'stopped', mark: 'interrupt' }],
    ['half', shell({ interrupted: true }), false, { state: 'stopped', said: 'half' }],
    ["[Tool call interrupted: the session ended before this call's result", {}, true, { state: 'cut' }],
    ['Command running in background with ID: b1. Output: x', {}, false, { state: 'background' }],
    ['begun', shell({ backgroundTaskId: 'b1' }), false, { state: 'background' }],
    [
      'ok',
      { toolUseResult: { userModified: true, originalFile: 'before' } },
      false,
      { state: 'ok', mark: 'changed-by-person', original: 'before', summary: 'changed by a person: ok' },
    ],
  ])('says how it ended: %s %o', (content, fields, isError, told) => {
    const event = outcome('Bash', content, fields, isError)
    expect(event).toMatchObject(told)
    expect(event?.mark).toBe(told.mark)
    if (content === 'Exit code 2') expect(event?.said).toBeUndefined()
  })

  test('names the commit and the pull request that the client saw made', () => {
    const made = (gitOperation: Fields) => outcome('Bash', 'ok', shell({ gitOperation }))?.made
    const pr = { action: 'created', url: 'https://example.com/pull/1' }
    expect(made({ commit: { sha: 'abc1234' }, pr })).toEqual({ commits: ['abc1234'], pullRequests: [pr.url] })
    expect(made({ pr: { ...pr, action: 'viewed' } })).toBeUndefined()
  })

  test('takes as long as the client says', () => {
    expect(outcome('WebSearch', 'x', { toolUseResult: { durationSeconds: 2.5 } })?.durationMs).toBe(2500)
    expect(outcome('Glob', 'x', { toolUseResult: { durationMs: 7 } })?.durationMs).toBe(7)
  })

  test.each([
    'This Bash command contains multiple operations. The following part requires approval: make',
    "Claude requested permissions to use Bash, but you haven't granted it yet.",
  ])('is refused by nobody where nobody was asked: %s', (content) => {
    const fields = { toolDenialKind: 'user-rejected' }
    expect(outcome('Bash', content, fields, true)?.kind).toBe('error')
    expect(outcome('Bash', 'no', fields, true)?.kind).toBe('human_intervention')
  })

  test('of a command names the files that it changed', () => {
    const bashEditDiff = {
      files: [{ filePath: '/w/a.ts', hunks: [] }, { hunks: [] }],
      changedFiles: ['/w/a.ts', '/w/b.ts', 7],
    }
    expect(outcome('Bash', 'ok', shell({ bashEditDiff }))?.files).toEqual(['/w/a.ts', '/w/b.ts'])
    expect(outcome('Bash', 'ok', shell({}))?.files).toBeUndefined()
  })

  test('that a person cut off is no failure of the tool', () => {
    const records = [
      assistant('a1', null, [call('t1', 'Bash', { command: 'make' })]),
      user('u1', 'a1', [result('t1', '[Request interrupted by user for tool use]', true)]),
      assistant('a2', 'u1', [call('t2', 'Bash', { command: 'make' })]),
    ]
    expect(eventsOf(readRecords(records)).map((event) => event.kind)).toEqual([
      'tool_call',
      'human_intervention',
      'tool_call',
    ])
  })

  test('too large for a line is read where it was put, whichever way that is said', () => {
    const project = newProject()
    const folder = join(project, SESSION, 'tool-results')
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'mcp-x-1.txt'), 'all of it')
    const at = (name: string) => `/h/.claude/projects/-w/${SESSION}/tool-results/${name}`
    const said = (words: string) =>
      `Error: result (123,456 characters across 1 line) exceeds maximum allowed tokens. Output has been saved to ${words}`
    const read = (content: unknown) =>
      eventsOf(
        readAll(write(join(project, `${SESSION}.jsonl`), [user('u1', null, [result('t1', content)])])),
      )[0]
    for (const content of [
      `${said(at('mcp-x-1.txt'))}.\nFormat: Plain text`,
      [text(said(at('mcp-x-1.txt')))],
      [text(`<persisted-output>\nFull output saved to: ${at('mcp-x-1.txt')}\n\nPreview`)],
    ]) {
      expect(read(content)).toMatchObject({ said: 'all of it' })
      expect(read(content)?.isIncomplete).toBeUndefined()
    }
    const gone = read(said(at('gone.txt')))
    expect(field(gone, 'spilled')).toEqual({ name: 'gone.txt', missing: 'NOT_FOUND' })
    expect(gone?.isIncomplete).toBe(true)
    expect(field(read(`${said('/tmp/x.txt')}.`), 'spilled')).toEqual({
      name: 'x.txt',
      missing: 'not in tool-results',
    })
  })
})

describe('the end of a task in the background', () => {
  const notice = (status: string, summary: string) =>
    `<task-notification>\n<task-id>b1</task-id>\n<tool-use-id>toolu_1</tool-use-id>\n<status>${status}</status>\n<summary>${summary}</summary>\n<usage><total_tokens>9</total_tokens><duration_ms>8049</duration_ms></usage>\n</task-notification>`
  const asPrompt = (words: string) => user('u1', null, words, { origin: { kind: 'task-notification' } })
  const asAttachment = (prompt: string) =>
    line('q1', null, {
      type: 'attachment',
      attachment: { type: 'queued_command', prompt, commandMode: 'task-notification' },
    })

  test.each([asPrompt, asAttachment])('is told of the call that had begun it (%#)', (delivered) => {
    const summary = 'Background command "make" completed (exit code 0)'
    const text = notice('completed', summary)
    const told = { role: 'system', callId: 'toolu_1', durationMs: 8049, said: text, state: 'ok' }
    expect(first(delivered(text))).toMatchObject({ ...told, kind: 'lifecycle', summary, exitCode: 0 })
    expect(
      first(delivered(notice('failed', 'Background command "make" failed with exit code 2'))),
    ).toMatchObject({
      kind: 'error',
      exitCode: 2,
      state: 'failed',
    })
    const agent = first(delivered(notice('completed', 'Agent "Count" finished')))
    expect([agent?.summary, agent?.exitCode]).toEqual(['Agent "Count" finished', undefined])
    expect(first(delivered('<task-notification>done</task-notification>'))?.summary).toContain('done')
  })
})

test('what a sub-agent said is kept in its parent’s progress: its own file may be lost', () => {
  const message = user('s1', null, [result('t1', 'found it')])
  const data = { type: 'agent_progress', agentId: 'x1', message, normalizedMessages: [message] }
  const event = first(line('p1', null, { type: 'progress', data }))
  expect([event?.summary, event?.said]).toEqual(['progress: agent_progress', undefined])
  expect(field(event, 'data')).toEqual({ type: 'agent_progress', agentId: 'x1', message })
})

describe('times, codes and costs', () => {
  test('of hooks, thinking, compactions and responses are told', () => {
    const hook = (type: string, exitCode: number) => ({
      type: 'attachment',
      attachment: { type, hookName: 'PostToolUse:Bash', stderr: 'x', exitCode, durationMs: 31 },
    })
    expect(first(line('h1', null, hook('hook_success', 0)))).toMatchObject({
      kind: 'lifecycle',
      exitCode: 0,
      durationMs: 31,
    })
    expect(first(line('h1', null, hook('hook_non_blocking_error', 1)))).toMatchObject({
      kind: 'error',
      exitCode: 1,
      durationMs: 31,
    })
    const thinking = [{ type: 'thinking', thinking: 'hm' }]
    expect(first(assistant('a1', null, thinking, { thinkingDurationMs: 12 }))?.durationMs).toBe(12)
    expect(first(assistant('a1', null, [text('x')], { durationMs: 900 }))?.durationMs).toBe(900)
    const compactMetadata = { trigger: 'auto', durationMs: 1331 }
    expect(
      first(line('c1', null, { type: 'system', subtype: 'compact_boundary', compactMetadata })),
    ).toMatchObject({
      summary: 'conversation compacted (auto)',
      mark: 'compaction',
      durationMs: 1331,
    })
  })

  test('of a response that told what it cost, and of an error that nobody pays for', () => {
    const usage = { input_tokens: 1, output_tokens: 1 }
    const items = readRecords([
      assistant('a1', null, [text('x')], { costUSD: 0.0123 }, { usage }),
      assistant('a2', 'a1', [text('x')], {}, { usage }),
      assistant('a3', 'a2', [text('API Error')], { isApiErrorMessage: true }, { usage }),
    ])
    expect(of(items, 'usage').map((item) => item.reportedCost)).toEqual([1_230_000, undefined])
  })

  test.each<[string, Fields]>([
    ['529 Overloaded', { error: { status: 529, formatted: '529 Overloaded' } }],
    ['Overloaded', { error: { status: 529, error: { type: 'error', error: { message: 'Overloaded' } } } }],
    ['too many', { error: { status: 503, error: { code: 'x', message: 'too many' } } }],
    ['ECONNRESET', { error: {}, cause: { code: 'ECONNRESET' } }],
    ['FailedToOpenSocket', { error: { cause: { code: 'FailedToOpenSocket' } } }],
    ['status 500', { error: { status: 500 } }],
  ])('of an error of the API: %s', (words, fields) => {
    const event = first(
      line('e1', null, { type: 'system', subtype: 'api_error', retryAttempt: 1, ...fields }),
    )
    expect([event?.kind, event?.said]).toEqual(['retry', words])
    expect(event?.summary).toContain(words)
  })
})
