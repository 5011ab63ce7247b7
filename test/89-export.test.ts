// Export: what the real agents recorded, in each format, valid and complete.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { marked } from 'marked'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { endsOpen } from '../src/export/ends-open.ts'
import { type EXPORT_FORMATS, ExportSource, FORMATS } from '../src/export/index.ts'
import { harmless } from '../src/export/text.ts'
import { sessionEvents } from '../src/query/events.ts'
import { getSession, listSessions } from '../src/query/sessions.ts'
import type { Reader } from '../src/store/reader/index.ts'
import { atifProblems, type Trajectory } from './setup/atif-schema.ts'
import { agentRoots, TestMemory } from './setup/memory.ts'
import fc from './setup/properties.ts'
import { World } from './setup/sweeping.ts'
import { tell } from './setup/told.ts'

type Format = (typeof EXPORT_FORMATS)[number]

const exported = (handle: Reader, uid: string, format: Format): string => {
  const session = getSession(handle, uid)
  if (!session) throw new Error(`no session ${uid}`)
  return [...FORMATS[format].write(new ExportSource(handle, session))].join('')
}

const PACKS = [
  ...['claude', 'claude-1.0', 'claude-2.0', 'claude-2.1.50', 'claude-2.1.200', 'claude-tui'],
  ...['codex', 'codex-0.45', 'codex-0.80', 'codex-0.121', 'codex-0.145', 'codex-codemode', 'codex-tui'],
  ...['grok', 'grok-1.0.5', 'grok-chat', 'grok-messages', 'grok-tui'],
]
const memory = new TestMemory(agentRoots(PACKS).roots)
let uids: string[] = []
beforeAll(async () => {
  await memory.sweep()
  uids = memory.read((handle) => handle.sessions.uids({ withSubagents: true }))
})
afterAll(() => memory.remove())

describe('of every session the real agents wrote', () => {
  it('ATIF is valid', () => {
    expect(uids.length).toBeGreaterThan(150)
    memory.read((handle) => {
      const wrong = uids.flatMap((uid) =>
        atifProblems(JSON.parse(exported(handle, uid, 'atif'))).map((problem) => `${uid}: ${problem}`),
      )
      expect(wrong).toEqual([])
    })
  })

  it('ATIF holds every prompt, every call with its result, and every token', () => {
    memory.read((handle) => {
      const result = { calls: 0, answered: 0 }
      for (const { session_uid: uid, cost } of listSessions(handle, { withSubagents: true })) {
        const document = JSON.parse(exported(handle, uid, 'atif')) as Trajectory
        const events = [...sessionEvents(handle, uid)].filter((event) => !event.is_sidechain)
        const prompts = events.filter((event) => event.kind === 'user_msg' && event.role === 'user')
        expect(document.steps.filter((step) => step.source === 'user').length).toBeGreaterThanOrEqual(
          prompts.length,
        )
        const { total_prompt_tokens, total_completion_tokens } = document.final_metrics
        expect([total_prompt_tokens, total_completion_tokens]).toEqual([
          cost.input_tokens + cost.cache_tokens,
          cost.output_tokens,
        ])
        for (const step of document.steps) {
          result.calls += step.tool_calls?.length ?? 0
          result.answered += step.observation?.results.filter((one) => one.source_call_id).length ?? 0
        }
      }
      expect(result.calls).toBeGreaterThan(200)
      expect(result.answered / result.calls).toBeGreaterThan(0.85)
    })
  })

  it('JSON Lines are its events, one each', () => {
    memory.read((handle) => {
      for (const uid of uids) {
        const [head, ...lines] = exported(handle, uid, 'jsonl')
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line) as Record<string, unknown>)
        expect(head).toMatchObject({ type: 'session', session: { session_uid: uid } })
        const events = [...sessionEvents(handle, uid)]
        expect(lines.map(({ type: _, call: __, payload: ___, told: ____, ...event }) => event)).toEqual(
          events,
        )
        expect(lines.every((line) => line['payload'] !== null && line['told'] !== null)).toBe(true)
      }
    })
  })

  it('spans form one tree with every token, the same each time', () => {
    memory.read((handle) => {
      for (const { session_uid: uid, cost } of listSessions(handle)) {
        const text = exported(handle, uid, 'otlp')
        expect(exported(handle, uid, 'otlp')).toBe(text)
        checkSpans(text, cost.input_tokens + cost.cache_tokens)
      }
    })
  })

  it('Markdown and HTML tell every prompt', () => {
    memory.read((handle) => {
      for (const uid of uids) {
        const html = exported(handle, uid, 'html')
        const markdown = exported(handle, uid, 'md')
        expect(foreignTags(html)).toEqual([])
        for (const event of sessionEvents(handle, uid, { kinds: ['user_msg'] })) {
          if (event.role === 'system') continue
          expect(markdown).toContain(`**#${event.seq} Prompt**`)
          expect(html).toContain(`id="${uid}-${event.seq}"`)
        }
      }
    })
  })
})

interface Span {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: { key: string; value: { stringValue?: string; intValue?: string } }[]
}

function checkSpans(text: string, inputTokens: number): void {
  const spans = text
    .trimEnd()
    .split('\n')
    .flatMap(
      (line) => (JSON.parse(line) as { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] }).resourceSpans,
    )
    .flatMap((one) => one.scopeSpans)
    .flatMap((one) => one.spans)
  const ids = new Set(spans.map((span) => span.spanId))
  expect(ids.size).toBe(spans.length)
  const roots = spans.filter((span) => span.parentSpanId === undefined)
  expect(roots.map((span) => span.name.split(' ')[0])).toEqual(['invoke_agent'])
  for (const span of spans) {
    expect(span.traceId).toMatch(/^[0-9a-f]{32}$/)
    expect(span.traceId).toBe(roots[0]?.traceId)
    if (span.parentSpanId) expect(ids.has(span.parentSpanId)).toBe(true)
    expect(BigInt(span.endTimeUnixNano) >= BigInt(span.startTimeUnixNano)).toBe(true)
    expect(span.name).toMatch(/^(invoke_agent|chat|execute_tool)/)
  }
  const tokens = (span: Span): number =>
    Number(span.attributes.find((one) => one.key === 'gen_ai.usage.input_tokens')?.value.intValue ?? 0)
  expect(tokens(roots[0] as Span)).toBe(inputTokens)
  const own = spans.filter((span) => span.name.startsWith('chat') && span.parentSpanId === roots[0]?.spanId)
  expect(own.reduce((sum, span) => sum + tokens(span), 0)).toBe(inputTokens)
}

const TAGS = new Set(
  '!doctype html head meta title style body section h1 h2 dl dt dd article div a time pre details summary p ins del'.split(
    ' ',
  ),
)

/** Tags, or attributes of tags, that are none of ours. */
/** The tags of our timeline, as it writes them. */
const OF_TIMELINE =
  /^<(?:\/?(?:figure|svg|text|rect|figcaption)|figure class="timeline"|svg viewBox="[\d ]+" role="img" aria-label="timeline"|text x="0" y="\d+"|rect class="\w+" x="[\d.]+" y="\d+" width="[\d.]+" height="\d+")>$/

function foreignTags(html: string): string[] {
  return [...html.matchAll(/<\/?([a-z!][a-z0-9]*)([^<>]*)>?/gi)]
    .filter(
      ([, name, attributes]) =>
        !TAGS.has((name as string).toLowerCase()) ||
        /\bon\w+=|src=|srcset=|javascript:|url\(/i.test(attributes as string) ||
        /href="(?!#)/.test(attributes as string),
    )
    .map(([tag]) => tag)
    .filter((tag) => !OF_TIMELINE.test(tag))
}

describe('hostile text', () => {
  const world = new World()
  afterAll(() => world.remove())
  const nasty = `</pre></article><script>alert(1)</script><img src=x onerror=alert(2)> " ' \` <!-- --> &lt; \u202e \x1b[31m`
  const told = tell(
    world.home,
    'nasty',
    [
      { ask: nasty },
      {
        tool: 'Bash"><svg onload=alert(3)>',
        input: { command: nasty },
        output: `${nasty}\n\`\`\`\`\n# no heading`,
        failed: true,
      },
      { think: nasty },
      { answer: 'done' },
    ],
    { title: nasty, cwd: '/w/<b>shop' },
  )
  beforeAll(async () => {
    await world.sweep()
  })

  it('stays text in HTML', () => {
    const html = world.read((handle) => exported(handle, told.uid, 'html'))
    expect(foreignTags(html)).toEqual([])
    expect(html).not.toMatch(/<script|<img|<svg (?!viewBox)|\u202e|\x1b/)
    expect(html).toMatch(/<meta http-equiv="Content-Security-Policy" content="default-src 'none'/)
    expect(html).toContain('&#60;script&#62;alert(1)')
    expect(html.match(/<article/g)?.length).toBe(html.match(/<\/article>/g)?.length)
  })

  it('stays inside its fence in Markdown', () => {
    const markdown = world.read((handle) => exported(handle, told.uid, 'md'))
    expect(markdown).toContain('`````\n')
    expect(markdown).toMatch(/^# \\<\/pre\\>/)
  })

  it('takes in nothing of what follows it in Markdown', () => {
    const cut = [
      '```js\nnever ended',
      '~~~\nnever ended',
      '<!-- never ended',
      '<script>\nnever ended',
      'a\r\nb \ud83d',
    ]
    const steps = cut.flatMap((text) => [{ ask: text }, { answer: text }])
    const one = tell(world.home, 'cut', [
      ...steps,
      { ask: '\x1b[31mred\x1b[0m \u202e' },
      { answer: 'The end.' },
    ])
    return world.sweep().then(() => {
      const markdown = world.read((handle) => exported(handle, one.uid, 'md'))
      const paragraphs = marked.lexer(markdown).filter((token) => token.type === 'paragraph')
      expect(paragraphs.slice(-2).map((token) => token.raw)).toEqual([
        expect.stringContaining('The end.'),
        expect.stringContaining('ended with an answer'),
      ])
      expect(markdown).toContain('> a\n> b')
      expect(markdown).toContain('> red')
      expect(markdown).not.toMatch(/[\r\x1b\u202e]/)
      for (const format of ['jsonl', 'atif', 'otlp'] as const)
        expect(world.read((handle) => exported(handle, one.uid, format))).not.toMatch(/\\ud83d/)
    })
  })

  it('makes no other format invalid', () => {
    world.read((handle) => {
      expect(atifProblems(JSON.parse(exported(handle, told.uid, 'atif')))).toEqual([])
      for (const line of exported(handle, told.uid, 'jsonl').trimEnd().split('\n')) JSON.parse(line)
      checkSpans(exported(handle, told.uid, 'otlp'), 5 * 3)
    })
  })
})

it('whatever an answer is made of, what follows it stays outside', () => {
  const line = fc.constantFrom(
    ...[
      '```',
      '````',
      '```js',
      '``` a`b',
      '~~~',
      '~~~~ x',
      '  ```',
      '    ```',
      '   ~~~',
      '- ```',
      '1. a',
      '   ```',
      '> ```',
    ],
    ...[
      '<!-- a',
      '-->',
      '<script>',
      '</script>',
      '<?php',
      '?>',
      '<![CDATA[',
      ']]>',
      '<!DOCTYPE',
      '<pre>',
      '</pre>',
      '<div>',
    ],
    ...['text', '', '  more', '- a', '  - b', '# h', '| a | b |', '---'],
  )
  let closedCount = 0
  fc.assert(
    fc.property(fc.array(line, { maxLength: 8 }), (lines) => {
      const text = lines.join('\n')
      if (endsOpen(text)) return
      closedCount++
      const last = marked.lexer(`${text}\n\nSENTINEL\n`).at(-1)
      expect([last?.type, last?.raw.trim()]).toEqual(['paragraph', 'SENTINEL'])
    }),
    { numRuns: 3000, seed: 7 },
  )
  expect(closedCount).toBeGreaterThan(300)
  for (const text of [
    'plain',
    '```\na\n```',
    '1. do:\n   ```sh\n   ls\n   ```\n2. done',
    '<!-- a -->',
    '<pre>a</pre>',
  ])
    expect(endsOpen(text)).toBe(false)
  expect(endsOpen(`${'`'.repeat(300_000)} \``)).toBe(false)
  expect(endsOpen('`'.repeat(300_000))).toBe(true)
})

describe('calls that share an id', () => {
  const world = new World()
  afterAll(() => world.remove())

  it('each have a span, and an id of their own in ATIF', async () => {
    const directory = join(world.home, '.claude/projects/-w')
    const session = '5d0c2d0e-0000-4000-8000-000000000001'
    const record = (at: number, type: string, content: unknown[]): string =>
      JSON.stringify({
        type,
        uuid: `u${at}`,
        parentUuid: at === 0 ? null : `u${at - 1}`,
        sessionId: session,
        timestamp: new Date(Date.UTC(2026, 0, 1, 0, 0, at)).toISOString(),
        cwd: '/w',
        version: '2.1.0',
        message: {
          role: type,
          ...(type === 'assistant' ? { id: 'msg_000000000001', model: 'm' } : {}),
          content,
        },
      })
    const call = (path: string) => ({
      type: 'tool_use',
      id: 'same',
      name: 'Read',
      input: { file_path: path },
    })
    const result = (content: string) => ({ type: 'tool_result', tool_use_id: 'same', content })
    mkdirSync(directory, { recursive: true })
    const lines = [
      record(0, 'user', [{ type: 'text', text: 'read' }]),
      record(1, 'assistant', [call('/a')]),
      record(2, 'assistant', [call('/b')]),
      record(3, 'user', [result('one')]),
      record(4, 'user', [result('two')]),
    ]
    writeFileSync(join(directory, `${session}.jsonl`), `${lines.join('\n')}\n`)
    await world.sweep()
    world.read((handle) => {
      const document = JSON.parse(exported(handle, `claude:${session}`, 'atif')) as Trajectory
      expect(atifProblems(document)).toEqual([])
      const { tool_calls: calls = [], observation } = document.steps.find((step) => step.tool_calls) ?? {}
      expect(new Set(calls.map((one) => one.tool_call_id)).size).toBe(2)
      expect(observation?.results.map((one) => [one.source_call_id, one.content])).toEqual([
        [calls[0]?.tool_call_id, 'one'],
        [calls[1]?.tool_call_id, 'two'],
      ])
      const spans = exported(handle, `claude:${session}`, 'otlp')
      expect(spans.match(/execute_tool Read/g)).toHaveLength(2)
    })
  })
})

it('escape sequences go, the words around them stay', () => {
  expect(harmless('a\x1b[1;31mred\x1b[0m\x07 b')).toBe('ared b')
  expect(harmless('\x1b[31mdone\x07')).toBe('done')
  expect(harmless('\x1b]8;;http://x\x07text\x1b]8;;\x1b\\ \x1b]0;never ended\nmore')).toBe(
    'text ]0;never ended\nmore',
  )
  expect(harmless('\x9b2Jé\r\nb\rc\td\u202e')).toBe('é\nb\nc\td')
  const sign = fc.constantFrom('\x1b', '\x9b', '[', ']', 'P', '\\', '\x07', '3', 'm', ';', ' ', '\n', 'é')
  fc.assert(
    fc.property(fc.array(sign, { maxLength: 12 }), (signs) => {
      expect(harmless(signs.join(''))).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/)
    }),
  )
})
