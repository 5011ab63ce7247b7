// Sessions made up at random, recorded through the library or the pipe in each of the four formats, beside what a reader
// has to find of each: the other half of the round trip is in the test that sweeps them.
import { appendFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import {
  type EntireBlock,
  EntireTranscript,
  loadRun,
  RunTranscript,
  SessionHistory,
  type TranscriptEntry,
  TranscriptWriter,
} from '../../src/record/index.ts'
import { jsonLines, record } from '../support/pipe.ts'
import fc from './properties.ts'

/** One event as both sides tell it: the recorder's account, and what the memory shows. */
export interface Told {
  said: string
  /** The body, as JSON: keys such as `__proto__` and halves of surrogate pairs are then compared too. */
  body: string
  ts: string | null
}

export interface Recorded {
  uid: string
  told: Told[]
  /** What all responses took: [input, output, cache read, cache written]. */
  tokens: [number, number, number, number]
  model: string | null
}

/** Through the library, through the pipe, or by two programs: the first dies in the middle of a line, then this is called. */
export type Way = 'library' | 'pipe' | (() => Promise<unknown>)

async function die(path: string, whatThen: Way): Promise<void> {
  appendFileSync(path, '{"type":"turn","role":"us')
  if (typeof whatThen === 'function') await whatThen()
}

/** Whether the first of two programs dies before step `n` of `count`. */
const isCutAt = (way: Way, n: number, count: number): boolean =>
  typeof way === 'function' && n > 0 && n === Math.ceil(count / 2)

const iso = (ms: number): string => new Date(ms).toISOString()

const LONG = 'lang — '.repeat(3000)
const text = fc.oneof(
  fc.string({ maxLength: 20 }),
  // Any UTF-16 at all: controls, NUL, halves of surrogate pairs.
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc
    .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 6 })
    .map((units) => String.fromCharCode(...units)),
  fc.constantFrom(
    '',
    ' ',
    '\n',
    'two\nlines\r\n',
    '\ud83d',
    'cut \ud83d',
    '\u2028<&>',
    '\ufeff',
    '\u202e',
    LONG,
  ),
)
const key = fc.oneof(
  fc.string({ maxLength: 6 }),
  fc.constantFrom(
    '__proto__',
    'constructor',
    'message',
    'record',
    'metadata',
    'payload',
    'text',
    'path',
    'command',
    'a/b~c',
  ),
)
const leaf = fc.oneof(
  text,
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.boolean(),
  fc.constant(null),
)
const own = (pairs: [string, unknown][]): Record<string, unknown> =>
  // As a parser does it: assigning to `__proto__` would be something else.
  JSON.parse(`{${pairs.map(([name, one]) => `${JSON.stringify(name)}:${JSON.stringify(one)}`).join(',')}}`)
const objectOf = (inner: fc.Arbitrary<unknown>) => fc.array(fc.tuple(key, inner), { maxLength: 4 }).map(own)
const value: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  any: fc.oneof({ depthSize: 'small' }, leaf, fc.array(tie('any'), { maxLength: 3 }), objectOf(tie('any'))),
})).any
const input = objectOf(value)
const id = fc.oneof(
  fc.uuid(),
  fc.constantFrom('1', '2', '__proto__', 'a#1', 'a/b', 'x@1', '~', ' ', '', 'é', '\u0000', 'x'.repeat(700)),
)
const tool = fc.constantFrom('bash', 'write_file', 'Edit', 'search', 'mcp__fs__read', '__proto__', '', 'a\nb')
const count = fc.oneof(fc.nat(5000), fc.constant(0))
const model = fc.constantFrom('m-1', 'm-2', 'claude-x')

// ---- entire ----

const block: fc.Arbitrary<EntireBlock> = fc
  .tuple(
    fc.oneof(
      fc.record({ type: fc.constant('text'), text }),
      fc.record({ type: fc.constant('thinking'), thinking: text }),
      fc.record({ type: fc.constant('tool_use'), id, name: tool, input }),
      fc.record({ type: fc.constantFrom('error', 'image', 'note', ''), source: value }),
    ),
    fc.oneof({ weight: 4, arbitrary: fc.constant({}) }, objectOf(leaf)),
  )
  .map(([known, more]) => ({ ...more, ...known }) as EntireBlock)
const result: fc.Arbitrary<EntireBlock> = fc.record(
  {
    type: fc.constant('tool_result'),
    tool_use_id: id,
    content: fc.oneof(
      text,
      fc.array(fc.record({ type: fc.constant('text'), text }), { maxLength: 2 }),
      value,
    ),
    is_error: fc.boolean(),
  },
  { requiredKeys: ['type', 'tool_use_id'] },
)
const usage = fc.record({
  input_tokens: count,
  output_tokens: count,
  cache_creation_input_tokens: count,
  cache_read_input_tokens: count,
})
const entireTurn = fc.oneof(
  fc.record({
    role: fc.constant('user' as const),
    content: fc.oneof(text, fc.array(fc.oneof(block, result), { maxLength: 3 })),
  }),
  fc.record(
    {
      role: fc.constant('assistant' as const),
      content: fc.oneof(text, fc.array(block, { maxLength: 4 })),
      usage,
      model,
      stopReason: fc.constantFrom('end_turn', 'tool_use'),
      id: fc.oneof(
        fc.constantFrom('1', 'chatcmpl-7'),
        fc.uuid().map((one) => `msg_${one}`),
      ),
    },
    { requiredKeys: ['role', 'content'] },
  ),
)
// Lines of one id that follow each other are one response: here each turn is one of its own.
export const entireSession = fc
  .array(entireTurn, { minLength: 1, maxLength: 6 })
  .filter((turns) => turns.every((turn, n) => !('id' in turn) || turn.id !== turns[n - 1]?.['id' as never]))

/** Who is heard in a block, whoever's turn it is. */
const SPEAKERS: Record<string, string> = { tool_use: 'assistant', thinking: 'assistant', tool_result: 'tool' }

export async function recordEntire(
  cwd: string,
  turns: typeof entireSession extends fc.Arbitrary<infer T> ? T : never,
  way: Way,
): Promise<Recorded> {
  mkdirSync(cwd, { recursive: true })
  let sessionId: string
  const times: (string | null)[] = []
  if (way !== 'pipe') {
    let at = Date.UTC(2026, 0, 1)
    const now = (): Date => {
      at += 1234
      return new Date(at)
    }
    const options = { cwd, version: '1.0', flush: 'os', now } as const
    let transcript = new EntireTranscript(options)
    sessionId = transcript.sessionId
    // The clock was read once for the id of the session.
    for (const [n, turn] of turns.entries()) {
      if (isCutAt(way, n, turns.length)) {
        await die(transcript.path, way)
        transcript = new EntireTranscript({ ...options, sessionId })
      }
      times.push(iso(Date.UTC(2026, 0, 1) + 1234 * (n + 2)))
      if (turn.role === 'user') await transcript.user(turn.content)
      else await transcript.assistant(turn.content, turn)
    }
    await transcript.end()
  } else {
    const { answers, code, stderr } = record(
      ['entire', '--cwd', cwd, '--agent-version', '1.0', '--flush', 'os'],
      jsonLines(turns),
    )
    if (code !== 0) throw new Error(`${stderr}\n${JSON.stringify(answers.filter((one) => !one.ok))}`)
    sessionId = answers[0]?.['sessionId'] as string
    for (const _ of turns) times.push(null)
  }
  const told = turns.flatMap(({ content, role }, n): Told[] => {
    const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content
    const ts = times[n] ?? null
    if (blocks.length === 0) return [{ said: role, body: '{}', ts }]
    return blocks.map((one) => ({ said: SPEAKERS[one.type] ?? role, body: JSON.stringify(one), ts }))
  })
  const spent = turns.flatMap((turn) => (turn.role === 'assistant' ? (turn.usage ?? []) : []))
  const sum = (name: keyof (typeof spent)[number]): number => spent.reduce((all, one) => all + one[name], 0)
  return {
    uid: `entire:${sessionId.slice('2026-01-01-'.length)}`,
    told,
    tokens: [
      sum('input_tokens'),
      sum('output_tokens'),
      sum('cache_read_input_tokens'),
      sum('cache_creation_input_tokens'),
    ],
    model:
      turns.findLast((turn) => turn.role === 'assistant' && turn.model !== undefined)?.['model' as never] ??
      null,
  }
}

// ---- turns ----

const entry: fc.Arbitrary<TranscriptEntry> = fc.record(
  {
    turnId: id,
    role: fc.constantFrom('user', 'assistant', 'tool', 'system'),
    content: text,
    toolCalls: fc.array(
      fc.record({ id, name: tool, args: input, metadata: leaf }, { requiredKeys: ['id', 'name', 'args'] }),
      { maxLength: 3 },
    ),
    toolResults: fc.array(
      fc.record({ callId: id, result: value, error: text }, { requiredKeys: ['callId'] }),
      { maxLength: 3 },
    ),
    metadata: fc.record(
      { model, tokens: fc.record({ prompt: count, completion: count }), runId: id, provider: text },
      { requiredKeys: [] },
    ),
    ts: fc.integer({ min: 1.7e12, max: 1.7e12 + 5 }),
  },
  { requiredKeys: ['turnId', 'role', 'ts'] },
)
export const turnsSession = fc.array(entry, { minLength: 1, maxLength: 8 })

export async function recordTurns(
  base: string,
  session: string,
  entries: TranscriptEntry[],
  way: Way,
): Promise<Recorded> {
  if (way !== 'pipe') {
    let writer = new TranscriptWriter(base, { flush: 'os' })
    let open: Promise<void>[] = []
    for (const [n, one] of entries.entries()) {
      if (isCutAt(way, n, entries.length)) {
        await Promise.all(open)
        await die(writer.resolvePath('helper', session), way)
        writer = new TranscriptWriter(base, { flush: 'os' })
        open = []
      }
      open.push(writer.append('helper', session, one))
    }
    await Promise.all(open)
    await writer.close()
  } else {
    const { answers, code, stderr } = record(
      ['turns', '--base', base, '--agent', 'helper', '--session', session, '--flush', 'os'],
      jsonLines(entries),
    )
    if (code !== 0) throw new Error(`${stderr}\n${JSON.stringify(answers.filter((one) => !one.ok))}`)
  }
  const told = entries.flatMap((one): Told[] => {
    const { toolCalls = [], toolResults = [], turnId: _, ts: at, ...said } = one
    const ts = iso(at)
    const parts: Told[] = [
      ...toolCalls.map((call) => ({ said: 'assistant', body: JSON.stringify(call), ts })),
      ...toolResults.map((result) => ({ said: 'tool', body: JSON.stringify(result), ts })),
    ]
    // An entry without words of its own is told by its parts; its metadata goes with the first.
    if (!one.content && parts.length > 0) return parts
    return [{ said: one.role, body: JSON.stringify(said), ts }, ...parts]
  })
  const spent = entries.flatMap((one) => one.metadata?.tokens ?? [])
  return {
    uid: `turns:helper/${session}`,
    told,
    tokens: [
      spent.reduce((all, one) => all + one.prompt, 0),
      spent.reduce((all, one) => all + one.completion, 0),
      0,
      0,
    ],
    model: entries.findLast((one) => one.metadata?.model !== undefined)?.metadata?.model ?? null,
  }
}

// ---- run ----

const step = fc.oneof(
  fc.record(
    {
      type: fc.constant('turn' as const),
      role: fc.constantFrom('system' as const, 'user' as const, 'assistant' as const, 'tool_result' as const),
      content: text,
      tokens: count,
      durationMs: count,
    },
    { requiredKeys: ['type', 'role', 'content'] },
  ),
  fc.record(
    {
      type: fc.constant('tool_call' as const),
      name: tool.filter((name) => name !== ''),
      input: fc.option(input),
      output: text,
      id,
      error: text,
    },
    { requiredKeys: ['type', 'name', 'input'] },
  ),
  fc.record({ type: fc.constant('cost' as const), usd: fc.nat(1000).map((cents) => cents / 100) }),
)
const end = fc.constantFrom(
  { type: 'complete' } as const,
  { type: 'cancel' } as const,
  { type: 'fail', error: 'it broke' } as const,
  undefined,
)
export const runSession = fc.record({ steps: fc.array(step, { maxLength: 8 }), end })
type RunSession = typeof runSession extends fc.Arbitrary<infer T> ? T : never

/** What the format makes of a value: keys sorted by their bytes, halves of surrogate pairs replaced. */
function goForm(one: unknown): unknown {
  if (typeof one === 'string') return one.toWellFormed()
  if (typeof one !== 'object' || one === null) return one
  if (Array.isArray(one)) return one.map(goForm)
  const pairs = Object.entries(one).map(([name, inner]): [string, unknown] => [
    name.toWellFormed(),
    goForm(inner),
  ])
  return own([...new Map(pairs)].sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b))))
}

export async function recordRun(
  base: string,
  identifier: string,
  session: RunSession,
  way: Way,
): Promise<Recorded> {
  let last = ''
  // A call that follows no response is refused.
  const steps = session.steps
    .filter((one) => {
      if (one.type === 'turn') last = one.role
      return one.type !== 'tool_call' || last === 'assistant'
    })
    .map((one) => (one.type === 'turn' && one.role === 'tool_result' ? { ...one, tokens: 0 } : one))
  const runId = `2026-01-15-review-${identifier}`
  if (way !== 'pipe') {
    const options = { runId, flowId: 'review', input: { ticket: 'T1' }, flush: 'os' } as const
    let run = await RunTranscript.start(base, options)
    for (const [n, one] of steps.entries()) {
      if (isCutAt(way, n, steps.length)) {
        await run.close()
        await die(join(run.directory, 'transcript.partial.jsonl'), way)
        run = await RunTranscript.resume(base, runId, { flush: 'os', onGap: () => undefined })
      }
      if (one.type === 'cost') await run.addCost(one.usd)
      else if (one.type === 'turn') await run.addTurn(one.role, one.content, one.tokens, one)
      else await run.addToolCall(one.name, one.input, one.output, one)
    }
    if (session.end?.type === 'complete') await run.complete()
    else if (session.end?.type === 'cancel') await run.cancel()
    else if (session.end?.type === 'fail') await run.fail(session.end.error)
    else await run.close()
  } else {
    const { answers, code, stderr } = record(
      [
        'run',
        '--base',
        base,
        '--run-id',
        runId,
        '--flow-id',
        'review',
        '--input',
        '{"ticket":"T1"}',
        '--flush',
        'os',
      ],
      jsonLines(session.end ? [...steps, session.end] : steps),
    )
    if (code !== 0) throw new Error(`${stderr}\n${JSON.stringify(answers.filter((one) => !one.ok))}`)
  }
  const tell = (said: string, body: unknown): Told => ({ said, body: JSON.stringify(body), ts: null })
  const told: Told[] = [tell('system', { flowId: 'review', input: { ticket: 'T1' } })]
  for (const one of steps) {
    if (one.type === 'turn') {
      const said = one.role === 'tool_result' ? 'tool' : one.role
      told.push(tell(said, { role: one.role, content: one.content.toWellFormed() }))
    } else if (one.type === 'tool_call') {
      const { id: callId, name, input: given, output, error } = one
      told.push(
        tell('assistant', { ...(callId && { id: callId.toWellFormed() }), name, input: goForm(given) }),
        tell('tool', {
          ...(error && { error: error.toWellFormed() }),
          ...(output && { output: output.toWellFormed() }),
        }),
      )
    }
  }
  const said = { complete: 'system', fail: 'system', cancel: 'user' } as const
  const status = { complete: 'completed', fail: 'failed', cancel: 'canceled' } as const
  const sum = (isOut: boolean): number =>
    steps.reduce(
      (all, one) =>
        all + (one.type === 'turn' && (one.role === 'assistant') === isOut ? (one.tokens ?? 0) : 0),
      0,
    )
  if (session.end)
    told.push(
      tell(said[session.end.type], {
        status: status[session.end.type],
        ...('error' in session.end && { error: session.end.error }),
        totalTokensIn: sum(false),
        totalTokensOut: sum(true),
      }),
    )
  const { startedAt } = (await loadRun(base, runId, { onGap: () => undefined })).metadata
  return {
    uid: `run:${runId}@${Date.parse(startedAt).toString(36)}`,
    told,
    tokens: [sum(false), sum(true), 0, 0],
    model: null,
  }
}

// ---- lineage ----

const sessionId = fc.constantFrom('a', 'b', 'c', 'd', 'é/1')
const operation = fc.oneof(
  fc.record({ op: fc.constantFrom('save' as const, 'swap' as const), session_id: sessionId }),
  fc.record({ op: fc.constantFrom('interactive_fork' as const, 'bg_fork' as const), session_id: sessionId }),
  fc.constant({ op: 'clear' as const }),
)
export const lineageLog = fc.array(operation, { minLength: 1, maxLength: 12 })
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never

export async function recordLineage(directory: string, operations: Operation[], way: Way): Promise<void> {
  if (way === 'pipe') {
    const { code, stderr } = record(['lineage', '--dir', directory, '--flush', 'os'], jsonLines(operations))
    if (code !== 0) throw new Error(stderr)
    return
  }
  let minute = 0
  const now = (): Date => new Date(Date.UTC(2026, 1, 17, 11, minute++))
  const history = new SessionHistory(directory, { flush: 'os', now })
  for (const one of operations) {
    if (one.op === 'clear') await history.clear()
    else if (one.op === 'save') await history.saveSessionId(one.session_id)
    else if (one.op === 'swap') await history.swap(one.session_id)
    else if (one.op === 'bg_fork') await history.backgroundFork(one.session_id)
    else await history.interactiveFork(one.session_id)
  }
}
