// How lines of Claude Code hang together: rewinds, forks, sub-agents; and its bookkeeping.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { claude } from '../src/adapters/claude/index.ts'
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
  queued,
  readAll,
  readRecords,
  result,
  SESSION,
  text,
  user,
  write,
} from './setup/claude.ts'

describe('branches', () => {
  const superseded = (records: unknown[]) =>
    of(readRecords(records), 'supersede').map(({ sinceKey, keys }) => sinceKey ?? keys)
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

  test('a conversation that its client writes into the same file once more changes nothing', () => {
    const prompts = Array.from({ length: 80 }, (_, at) => [
      user(`u${at}`, at === 0 ? null : `b${at - 1}`, `prompt ${at}`),
      assistant(`a${at}`, `u${at}`, [call(`t${at}`, 'Bash', { command: `make ${at}` })]),
      user(`r${at}`, `a${at}`, [result(`t${at}`, 'Exit code 2', at > 60)]),
      assistant(`b${at}`, `r${at}`, [text(`answer ${at}`)]),
    ])
    const kept = prompts.slice(0, -1).flat()
    const last = [user('x', 'b78', 'otherwise'), assistant('y', 'x', [text('so')])]
    const items = readRecords([...prompts.flat(), ...last, ...kept, ...last])
    const first = new Map<string, unknown>()
    for (const event of eventsOf(items)) {
      if (first.has(event.key)) expect(event).toEqual(first.get(event.key))
      first.set(event.key, event)
    }
    expect(of(items, 'supersede').map((one) => one.sinceKey)).toEqual(['u79#0'])
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

  test('a command starts a branch where the client says that somebody went back', () => {
    const command = (uuid: string) => user(uuid, 'a1', '<command-name>/plan</command-name>')
    const records = [...turn, command('c1'), assistant('a2', 'c1', [text('a plan')])]
    const zeros = { type: 'last-prompt', leafUuid: '00000000-0000-0000-0000-000000000000', explicit: true }
    const leaf = { type: 'last-prompt', leafUuid: 'a1', rewound: true }
    const other = user('u9', 'a1', 'otherwise')
    expect(superseded([...records, other])).toEqual([])
    expect(superseded([...records, zeros, other])).toEqual(['c1#0'])
    expect(superseded([...records, leaf, other])).toEqual(['c1#0'])
    expect(superseded([...turn, other, zeros, command('c2')])).toEqual(['u9#0'])
    expect(superseded([...turn, other, command('c2')])).toEqual([])
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
    ).toEqual([
      ['a1#0', 'a1#1', 'a1#end'],
      ['u1#0', 'u1#end'],
    ])
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
      user('n3', 'n2', 'own', { cwd: '/w/tree', timestamp: '2026-11-15T13:00:00.000Z' }),
      user('n4', 'n3', 'and on', { cwd: '/elsewhere', timestamp: '2026-11-15T13:00:01.000Z' }),
    ])
    const events = eventsOf(items)
    expect(events.map((event) => [event.originKey, event.inherited])).toEqual([
      ['u1#0', true],
      ['a1#0', true],
      ['a1#end', true],
      [undefined, undefined],
      [undefined, undefined],
    ])
    expect(events.slice(0, 3).map((event) => event.payload)).toEqual(original.map((event) => event.payload))
    const edge = { kind: 'interactive_fork', parent: OTHER, session: SESSION }
    expect(of(items, 'edge')).toMatchObject([
      { ...edge, at: null, evidence: 'n1#0' },
      { ...edge, at: Date.parse('2026-11-15T13:00:00Z') },
    ])
    expect(of(items, 'session').flatMap((item) => item.cwd ?? [])).toEqual(['/w', '/w/tree'])
    expect(of(items, 'session').flatMap((item) => item.startedAt ?? [])).toEqual([
      Date.parse('2026-11-15T13:00:00Z'),
    ])
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
      user('s1', null, 'other words', { isSidechain: true, agentId: 'x1' }),
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
    // Of the session it tells only what it can guess.
    expect(of(readAll(path), 'session')).toMatchObject([{ cwd: '/w', isGuess: true }])
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

  test('old layout, still running: the prompt is the only join, and a guess', () => {
    const project = newProject()
    const main = readAll(write(join(project, `${SESSION}.jsonl`), [spawn]))
    const path = write(join(project, 'agent-x9.jsonl'), [user('s1', null, 'count', { isSidechain: true })])
    const child = readAll(path)
    expect(eventsOf(child)[0]).toMatchObject({ parentKey: null, parentCall: 'agent:x9' })
    const [told] = of(child, 'alias')
    expect(told).toMatchObject({ name: 'agent:x9', isGuess: true })
    expect(of(main, 'alias')).toEqual([
      { type: 'alias', session: SESSION, name: told?.of, of: 't1', isGuess: true },
    ])
  })

  test('1.0: inside the main file, joined by the prompt', () => {
    const events = eventsOf(readRecords([spawn, user('s1', null, 'count', { isSidechain: true })]))
    expect(events[2]).toMatchObject({ key: 's1#0', parentKey: 'a1#1', isSidechain: true, kind: 'user_msg' })
  })

  test.each(['acompact-1', 'aside_question-1', 'aprompt_suggestion-1'])(
    'what %s repeats of the conversation is told by the conversation',
    (agentId) => {
      const project = newProject()
      const records = [user('u1', null, 'go'), spawn]
      write(join(project, `${SESSION}.jsonl`), records)
      const copies = records.map((record) => ({ ...record, isSidechain: true, agentId }))
      const path = write(join(project, SESSION, 'subagents', `agent-${agentId}.jsonl`), [
        ...copies,
        user('c1', 'a1', 'summarize', { isSidechain: true, agentId }),
      ])
      expect(readAll(path).filter((item) => item.type !== 'position')).toMatchObject([
        { type: 'event', key: 'c1#0', parentKey: 'a1#1', isSidechain: true, agent: agentId },
      ])
    },
  )

  test('a result that only signs with the name of the sub-agent names it', () => {
    const signed = result('t1', [text('3'), text('agentId: x1 (for resuming)\n<usage>tokens: 1</usage>')])
    const [alias, ...more] = of(readRecords([spawn, user('u2', 'a1', [signed])]), 'alias').filter(
      (one) => !one.isGuess,
    )
    expect([alias?.name, alias?.of, more]).toEqual(['agent:x1', 't1', []])
    const other = [
      assistant('a1', null, [call('t1', 'Read', { file_path: '/w/x1.md' })]),
      user('u2', 'a1', [signed]),
    ]
    expect(of(readRecords(other), 'alias')).toEqual([])
  })

  test.each<[string, Fields]>([
    [
      'of the line',
      { toolUseResult: { status: 'async_launched', taskType: 'local_workflow', runId: 'wf_1-a' } },
    ],
    ['in words', {}],
  ])('sub-agents of a workflow hang on the call whose result, %s, names the run', (_, fields) => {
    const project = newProject()
    const said =
      'Workflow launched in background. Task ID: w1\nTranscript dir: /x\nRun ID: wf_1-a\nTo resume: …'
    const records = [
      assistant('a1', null, [call('t1', 'Workflow', { script: 'x' })]),
      user('u1', 'a1', [result('t1', said)], fields),
    ]
    const [alias, ...more] = of(readAll(write(join(project, `${SESSION}.jsonl`), records)), 'alias')
    const path = join(project, SESSION, 'subagents', 'workflows', 'wf_1-a', 'agent-x1.jsonl')
    const [first] = eventsOf(readAll(write(path, [user('s1', null, 'look', { isSidechain: true })])))
    expect(first).toMatchObject({ parentKey: null, parentCall: 'run:wf_1-a', agent: 'x1' })
    expect([alias?.name, alias?.of, alias?.isGuess, more]).toEqual(['run:wf_1-a', 't1', undefined, []])
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

  test('a tag that a person gave is found', () => {
    const tags = eventsOf(readRecords(['x y', ''].map((tag) => ({ type: 'tag', tag, sessionId: SESSION }))))
    expect(tags.map(({ kind, summary, said }) => [kind, summary, said])).toEqual([
      ['lifecycle', 'tag: x y', 'x y'],
      ['lifecycle', 'tag', undefined],
    ])
  })

  test('a summary is a title only for the session that holds its leaf', () => {
    const titles = (records: unknown[]) =>
      of(readRecords(records), 'session')
        .map((item) => item.title)
        .filter(Boolean)
    const summary = (leafUuid: string) => ({ type: 'summary', summary: `about ${leafUuid}`, leafUuid })
    expect(titles([summary('u1'), summary('elsewhere'), user('u1', null, 'go')])).toEqual(['about u1'])
    expect(titles([user('u1', null, 'go'), summary('u1')])).toEqual(['about u1'])
    // What came back in place of one.
    const refusal = { ...summary('u1'), summary: 'Invalid API key · Please run /login' }
    expect(titles([user('u1', null, 'go'), refusal])).toEqual([])
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

  describe('a queued prompt', () => {
    const told = (records: unknown[]) => {
      const byKey = new Map(eventsOf(readRecords(records)).map((event) => [event.key, event]))
      return [...byKey.values()].map((event) => [event.kind, event.said])
    }
    const command = '<command-name>/compact</command-name>\n<command-args>now</command-args>'
    const notice = '<agent-notification>done</agent-notification>'

    test.each([
      ['as a prompt', 'also this', user('u1', null, 'also this'), 'user_msg'],
      [
        'into the running turn',
        [{ type: 'text', text: 'also this' }],
        line('q1', null, {
          type: 'attachment',
          attachment: { type: 'queued_command', prompt: 'also this', commandMode: 'prompt' },
        }),
        'human_intervention',
      ],
      ['as a command', '/compact now', user('u1', null, command), 'lifecycle'],
      ['by the client', notice, user('u1', null, notice), 'lifecycle'],
    ])('is heard once when it is delivered %s', (_, content, delivery, kind) => {
      const [enqueued, heard] = told([queued(content), delivery])
      expect(enqueued).toEqual(['lifecycle', undefined])
      expect(heard?.[0]).toBe(kind)
      expect(heard?.[1]).toBeTruthy()
    })

    test('is heard once when several are delivered as one', () => {
      const records = [
        queued('first '),
        queued('second'),
        queued('third'),
        user('u1', null, 'first\n\nsecond'),
      ]
      expect(told(records)).toEqual([
        ['lifecycle', undefined],
        ['lifecycle', undefined],
        ['lifecycle', 'third'],
        ['user_msg', 'first\n\nsecond'],
      ])
    })

    test('stays when it was taken back, or still waited at the end; what the client queued for itself is no person', () => {
      const records = [
        queued('also this'),
        user('u1', null, 'also this, and more'),
        { type: 'queue-operation', operation: 'popAll', sessionId: SESSION },
        queued(notice),
        queued('<tick>1</tick>'),
      ]
      expect(told(records)).toEqual([
        ['lifecycle', 'also this'],
        ['user_msg', 'also this, and more'],
        ['lifecycle', undefined],
        ['lifecycle', notice],
        ['lifecycle', undefined],
      ])
    })
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
    expect(events.map((event) => event.said)).toEqual([undefined, undefined, undefined])
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
    expect(events.map((event) => [event.kind, event.said])).toEqual([
      ['retry', '529 Overloaded'],
      ['error', '529 Overloaded'],
    ])
  })

  test('a mode is no decision, also when it changes', () => {
    const mode = (permissionMode: string) => ({ type: 'permission-mode', permissionMode, sessionId: SESSION })
    const events = eventsOf(readRecords([mode('plan'), mode('plan'), mode('auto'), mode('plan')]))
    expect(events.map(({ kind, summary }) => `${kind} ${summary}`)).toEqual(
      ['plan', 'plan', 'auto', 'plan'].map((name) => `lifecycle permission-mode: ${name}`),
    )
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
