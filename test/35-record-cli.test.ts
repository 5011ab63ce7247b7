// `recollect record` as other programs use it: real child processes, all four formats.
import { spawnSync } from 'node:child_process'
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { listRuns, loadRun, readSessionHistory, TranscriptWriter } from '../src/record/index.ts'
import { CLI, FORMATS, type Format, jsonLines, Pipe, parseAnswers, RUN_ID, record } from './support/pipe.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'recollect-pipe-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const numbers = (count: number, from = 1): number[] => Array.from({ length: count }, (_, i) => from + i)
const marksOf = (count: number, from = 1): string[] => numbers(count, from).map((n) => `m${n}`)
const TURNS = FORMATS[0] as Format
const FAST = ['--flush', 'os']

describe.each(FORMATS)('$name', (format) => {
  const linesOf = (count: number, from = 1): unknown[] => marksOf(count, from).map(format.line)
  const args = (): string[] => format.args(directory)

  it('answers each line, in order, however fast they come', async () => {
    const { answers, code } = record([...args(), ...FAST], jsonLines(linesOf(300)))
    expect(answers.every((answer) => answer.ok)).toBe(true)
    expect(answers.map((answer) => answer.line)).toEqual(
      numbers(300 + format.openedCount, 1 - format.openedCount),
    )
    expect(await format.marks(directory)).toEqual(marksOf(300))
    expect(code).toBe(0)
  })

  it('answers when the line is on disk, before the next one is sent', async () => {
    const pipe = new Pipe(args())
    for (const n of numbers(3)) {
      pipe.send([format.line(`m${n}`)])
      expect((await pipe.until(n + format.openedCount)).at(-1)).toMatchObject({ ok: true, line: n })
      expect(await format.marks(directory)).toEqual(marksOf(n))
    }
    pipe.child.stdin.end()
    expect(await pipe.exit).toEqual({ code: 0, signal: null })
  })

  it('names a bad line, writes nothing of it and goes on', async () => {
    const { turnId: _, role: __, type: ___, op: ____, ...rest } = format.line('m0') as Record<string, unknown>
    const bad: [Buffer | string, RegExp, string?][] = [
      ['{"not":"json"', /not JSON/, 'line 2 of the input'],
      ['[1]', /not a JSON object/, 'line 3 of the input'],
      ['null', /not a JSON object/, 'line 4 of the input'],
      [Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xff]), Buffer.from('"}')]), /not UTF-8/],
      [JSON.stringify(rest), /role|type|op/],
      [JSON.stringify({ ...format.line('m0'), filler: 'x'.repeat(5000) }), /longer than 4096 bytes/],
    ]
    if (format.name !== 'turns')
      bad.push([JSON.stringify({ ...format.line('m0'), colour: 1 }), /"colour"/, 'colour'])
    const input = [format.line('m1'), ...bad.map(([line]) => line), format.line('m2')]
      .map((line) => (typeof line === 'string' || Buffer.isBuffer(line) ? line : JSON.stringify(line)))
      .flatMap((line) => [Buffer.from(line), Buffer.from('\n')])
    const { answers, code } = record([...args(), '--max-line', '4KiB'], Buffer.concat(input))
    const [good, ...others] = answers.slice(format.openedCount)
    expect(good).toMatchObject({ ok: true, line: 1 })
    expect(others.pop()).toMatchObject({ ok: true, line: bad.length + 2 })
    expect(others).toHaveLength(bad.length)
    for (const [i, [, message, place]] of bad.entries()) {
      const where = place ?? expect.stringMatching(/./)
      const error = { code: 'BAD_INPUT', where, hint: expect.stringMatching(/nothing was written/) }
      expect(others[i]).toMatchObject({ ok: false, line: i + 2, error })
      expect(others[i]?.error?.message).toMatch(message)
    }
    expect(await format.marks(directory)).toEqual(['m1', 'm2'])
    expect(code).toBe(4)
  })

  it('counts blank lines, and takes a last line without its newline if it is whole', async () => {
    const whole = record(args(), `\n  \r\n${JSON.stringify(format.line('m1'))}`)
    expect(whole.answers.slice(format.openedCount)).toEqual([expect.objectContaining({ ok: true, line: 3 })])
    expect(whole.code).toBe(0)
    const torn = record(format.again(directory), JSON.stringify(format.line('m2')).slice(0, -1))
    expect(torn.answers.slice(format.openedCount)).toEqual([
      expect.objectContaining({ ok: false, line: 1, error: expect.objectContaining({ code: 'BAD_INPUT' }) }),
    ])
    expect(torn.code).toBe(4)
    expect(await format.marks(directory)).toEqual(['m1'])
  })

  it('takes Windows line ends and a byte order mark', async () => {
    const lines = linesOf(2).map((line) => `${JSON.stringify(line)}\r\n`)
    const { answers, code } = record(args(), `\ufeff${lines.join('')}`)
    expect(answers.map((answer) => answer.ok)).toEqual(answers.map(() => true))
    expect(await format.marks(directory)).toEqual(['m1', 'm2'])
    expect(code).toBe(0)
  })

  it('records on when nobody reads the answers any more', async () => {
    const pipe = new Pipe([...args(), ...FAST])
    pipe.child.stdout.destroy()
    for (const n of numbers(100)) pipe.send([format.line(`m${n}`)])
    pipe.child.stdin.end()
    expect(await pipe.exit).toEqual({ code: 0, signal: null })
    expect(await format.marks(directory)).toEqual(marksOf(100))
  })

  it.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const)('on %s finishes the line in hand, answers it and exits with %d', async (signal, code) => {
    const pipe = new Pipe(args())
    pipe.send(linesOf(20_000))
    await pipe.until(5)
    pipe.child.kill(signal)
    expect(await pipe.exit).toEqual({ code, signal: null })
    const answers = (await pipe.until(Number.POSITIVE_INFINITY)).slice(format.openedCount)
    expect(answers.length).toBeLessThan(20_000)
    expect(await format.marks(directory)).toEqual(marksOf(answers.length))
  })

  it('on SIGTERM does not wait for a line that never comes', async () => {
    const pipe = new Pipe(args())
    pipe.send([format.line('m1')])
    await pipe.until(1 + format.openedCount)
    pipe.child.kill('SIGTERM')
    expect(await pipe.exit).toEqual({ code: 143, signal: null })
  })

  it('killed in the middle, has all it answered, and a later process goes on', async () => {
    const pipe = new Pipe(args())
    pipe.send(linesOf(20_000))
    await pipe.until(20)
    pipe.child.kill('SIGKILL')
    await pipe.exit
    const answered = (await pipe.until(Number.POSITIVE_INFINITY)).length - format.openedCount
    const kept = (await format.marks(directory)).length
    // The line in hand may be on disk without its answer having been sent.
    expect(kept - answered).toBeGreaterThanOrEqual(0)
    expect(kept - answered).toBeLessThanOrEqual(1)
    const { code } = record(format.again(directory), jsonLines(linesOf(2, kept + 1)))
    expect(code).toBe(0)
    expect(await format.marks(directory)).toEqual(marksOf(kept + 2))
  })

  it('tells a failing disk from a bad line: exit code 1, and later lines are tried', async () => {
    // The kernel's limit on the size of a file stands in for a full disk: the write fails just so.
    // Of a lineage only ids can be long, and they have a bound.
    const [blocks, much] = format.name === 'lineage' ? [2, 'x'.repeat(2000)] : [128, 'x'.repeat(100_000)]
    const limit = `ulimit -f ${blocks}; exec "$0" "$@"`
    const limited = ['-c', limit, process.execPath, CLI, 'record', ...args()]
    const big = format.name === 'turns' ? { ...format.line('m2'), content: much } : format.line(`m2${much}`)
    const lines = [format.line('m1'), big, format.line('m3')]
    const { stdout, status } = spawnSync('sh', limited, { input: jsonLines(lines), encoding: 'utf8' })
    expect(parseAnswers(stdout).slice(format.openedCount)).toMatchObject([
      { ok: true, line: 1 },
      { ok: false, line: 2, error: { code: 'TOO_LARGE' } },
      { ok: true, line: 3 },
    ])
    expect(status).toBe(1)
    expect(await format.marks(directory)).toEqual(['m1', 'm3'])
  })
})

it('refuses a line that makes too large a record, as any other it cannot take', async () => {
  const lines = [TURNS.line('m1'), { ...TURNS.line('m2'), content: 'x'.repeat(65 << 20) }, TURNS.line('m3')]
  const { answers, code } = record([...TURNS.args(directory), ...FAST], jsonLines(lines))
  expect(answers).toMatchObject([{ ok: true }, { ok: false, error: { code: 'TOO_LARGE' } }, { ok: true }])
  expect(code).toBe(4)
  expect(await TURNS.marks(directory)).toEqual(['m1', 'm3'])
})

describe('a slow reader of answers', () => {
  const path = (): string => join(directory, 'agents/a/sessions/s.jsonl')

  /** Resolves when the file has stopped growing while its writer lives. */
  async function stalled(pipe: Pipe): Promise<number> {
    for (let last = -1; ; await sleep(300)) {
      if (pipe.child.exitCode !== null) throw new Error(`ended with ${pipe.child.exitCode}`)
      const size = statSync(path(), { throwIfNoEntry: false })?.size ?? 0
      if (size > 0 && size === last) return size
      last = size
    }
  }

  it('is waited for, and gets every answer', async () => {
    const lines = jsonLines(marksOf(40_000).map(TURNS.line))
    const pipe = new Pipe([...TURNS.args(directory), ...FAST])
    pipe.child.stdin.end(lines)
    // 40,000 answers are 2 MB; the pipe and the buffers at its ends hold a tenth of that.
    expect(await stalled(pipe)).toBeLessThan(lines.length / 2)
    expect((await pipe.until(40_000)).map((answer) => answer.line)).toEqual(numbers(40_000))
    expect(await pipe.exit).toEqual({ code: 0, signal: null })
  })

  it('does not keep a signal from ending the process', async () => {
    const pipe = new Pipe([...TURNS.args(directory), ...FAST])
    pipe.send(marksOf(40_000).map(TURNS.line))
    await stalled(pipe)
    pipe.child.kill('SIGTERM')
    expect(await pipe.exit).toEqual({ code: 143, signal: null })
  })
})

describe('the command line', () => {
  it.each([
    ['an unsafe agent', ['turns', '--base', 'D', '--agent', '../x', '--session', 's'], /BAD_NAME/],
    ['an unsafe session', ['turns', '--base', 'D', '--agent', 'a', '--session', 'a/b'], /BAD_NAME/],
    [
      'a session Entire refuses',
      ['entire', '--cwd', 'D', '--agent-version', '1', '--session', 'a.b'],
      /BAD_NAME/,
    ],
    ['a missing option', ['turns', '--base', 'D'], /required option/],
    ['an unknown option', ['lineage', '--dir', 'D', '--directory', 'x'], /unknown option/],
    ['an unknown format', ['diary'], /unknown command|too many arguments/],
    ['an impossible flush', [...TURNS.args('D'), '--flush', 'maybe'], /must be one of os, fdatasync/],
    ['an impossible wait', [...TURNS.args('D'), '--lock-timeout', 'soon'], /must be a duration/],
    ['an impossible size', [...TURNS.args('D'), '--max-line', 'huge'], /must be a size/],
    ['a run without an id', ['run', '--base', 'D'], /--run-id, or --flow and --identifier/],
    ['a run with half an id', ['run', '--base', 'D', '--flow', 'f'], /--flow needs --identifier/],
    ['a run with two ids', ['run', '--base', 'D', '--run-id', RUN_ID, '--flow', 'f'], /cannot be used with/],
    ['a new run without its flow', ['run', '--base', 'D', '--run-id', RUN_ID], /needs --flow-id/],
    [
      'a resumed run with an input',
      ['run', '--base', 'D', '--run-id', RUN_ID, '--resume', '--input', '{}'],
      /cannot be used/,
    ],
    ['a resume of no run', ['run', '--base', 'D', '--resume'], /--resume needs --run-id/],
    ['a wrong run id', ['run', '--base', 'D', '--run-id', 'x', '--flow-id', 'f'], /BAD_INPUT/],
    [
      'an input that is no object',
      ['run', '--base', 'D', '--flow', 'f', '--identifier', 'i', '--input', '[]'],
      /JSON object/,
    ],
    [
      'two files of one name',
      ['lineage', '--dir', 'D', '--current-file', 'x', '--history-file', 'x'],
      /BAD_INPUT/,
    ],
  ])('refuses %s with exit code 2 and writes nothing', (_, args, message) => {
    const real = args.map((word) => (word === 'D' ? directory : word))
    const { answers, code, stderr } = record(real, jsonLines([TURNS.line('m1')]))
    expect({ answers, code }).toEqual({ answers: [], code: 2 })
    expect(stderr).toMatch(message)
    expect(readdirSync(directory)).toEqual([])
  })

  it('fails with exit code 1 when there is nothing to write to', () => {
    expect(record(['entire', '--cwd', join(directory, 'no'), '--agent-version', '1'], '')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/NOT_FOUND/),
    })
    expect(record(['run', '--base', directory, '--run-id', RUN_ID, '--resume'], '')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/NOT_FOUND/),
    })
  })

  it('takes the flag of a setting before the environment', async () => {
    const args = TURNS.args(directory)
    expect(record(args, jsonLines([TURNS.line('m1')])).code).toBe(0)
    const fd = openSync(join(directory, 'agents/a/sessions/s.jsonl'), 'r+')
    const native = createRequire(import.meta.url)('fs-native-extensions') as { tryLock(fd: number): boolean }
    expect(native.tryLock(fd)).toBe(true)
    try {
      const held = record([...args, '--lock-timeout', '20ms'], jsonLines([TURNS.line('m2')]), {
        RECOLLECT_RECORD_LOCK_TIMEOUT: '1h',
      })
      expect(held.answers).toMatchObject([{ ok: false, line: 1, error: { code: 'LOCK_BUSY' } }])
      expect(held.answers[0]?.error?.message).toMatch(/20 ms/)
      expect(held.code).toBe(1)
    } finally {
      closeSync(fd)
    }
  })

  it.each(FORMATS.map((format) => format.name))('%s --help shows its lines and an example', (name) => {
    const { stdout } = spawnSync(process.execPath, [CLI, 'record', name, '--help'], { encoding: 'utf8' })
    expect(stdout).toMatch(/Lines: \{/)
    expect(stdout).toMatch(/Example:\n {2}\$/)
    expect(stdout).toMatch(/--flush <policy>/)
  })
})

describe('turns through the pipe', () => {
  it('keep fields the format does not know', async () => {
    const turn = { turnId: 'm1', role: 'user', ts: 1, mood: 'good' }
    const args = TURNS.args(directory)
    const { answers } = record(args, jsonLines([turn]))
    const text = `${JSON.stringify(turn)}\n`
    expect(answers).toEqual([{ ok: true, line: 1, turnId: 'm1', offset: 0, length: text.length }])
    expect(readFileSync(join(directory, 'agents/a/sessions/s.jsonl'), 'utf8')).toBe(text)
  })
})

describe('entire through the pipe', () => {
  const open = (): string[] => [
    'entire',
    '--cwd',
    directory,
    '--agent-version',
    '0.0.44',
    '--model',
    'model-x',
  ]
  const session = (id: unknown): string => join(directory, '.entire/metadata', String(id))

  it('names a new session before the first turn, and writes context.md at the end of input', async () => {
    const pipe = new Pipe(open())
    const [opened] = await pipe.until(1)
    expect(opened).toMatchObject({
      ok: true,
      line: 0,
      sessionId: expect.stringMatching(/^\d{4}-\d\d-\d\d-[\da-f-]{36}$/),
    })
    expect(existsSync(session(opened?.['sessionId']))).toBe(false)
    const use = { type: 'tool_use', id: 't1', name: 'read_file', input: { path: 'a.txt' } }
    const usage = { input_tokens: 3, output_tokens: 4, service_tier: 'standard' }
    pipe.send([
      { role: 'user', content: 'read a.txt' },
      {
        role: 'assistant',
        content: [use],
        usage,
        id: 'msg_1',
        model: null,
        stopReason: 'tool_use',
        requestId: 'r1',
      },
    ])
    const [, first, second] = await pipe.until(3)
    expect(first?.['sessionId']).toBe(opened?.['sessionId'])
    expect(existsSync(join(session(opened?.['sessionId']), 'context.md'))).toBe(false)
    pipe.child.stdin.end()
    expect((await pipe.exit).code).toBe(0)
    const lines = parseAnswers(readFileSync(opened?.['path'] as string, 'utf8'))
    expect(lines[1]).toMatchObject({
      uuid: second?.['uuid'],
      parentUuid: first?.['uuid'],
      version: '0.0.44',
      requestId: 'r1',
      message: {
        id: 'msg_1',
        model: 'model-x',
        content: [use],
        stop_reason: 'tool_use',
        usage: { ...usage, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
      },
    })
    expect(readFileSync(join(session(opened?.['sessionId']), 'prompt.txt'), 'utf8')).toBe('read a.txt')
    const context = readFileSync(join(session(opened?.['sessionId']), 'context.md'), 'utf8')
    expect(context).toContain('- **read_file**: a.txt')
  })

  it('leaves context.md unwritten when killed, and writes it when the session is continued', async () => {
    const args = [...open(), '--session', 's']
    const pipe = new Pipe(args)
    pipe.send([{ role: 'user', content: 'one' }])
    await pipe.until(2)
    pipe.child.kill('SIGKILL')
    await pipe.exit
    expect(existsSync(join(session('s'), 'context.md'))).toBe(false)
    expect(record(args, jsonLines([{ role: 'assistant', content: 'two' }])).code).toBe(0)
    expect(existsSync(join(session('s'), 'context.md'))).toBe(true)
    const lines = parseAnswers(readFileSync(join(session('s'), 'full.jsonl'), 'utf8'))
    expect(lines[1]?.['parentUuid']).toBe(lines[0]?.['uuid'])
  })

  it('leaves no trace of a session without turns', () => {
    expect(record(open(), '').code).toBe(0)
    expect(readdirSync(directory)).toEqual([])
  })
})

describe('a run through the pipe', () => {
  const parts = (): string[] => [
    'run',
    '--base',
    directory,
    '--flow',
    'fix',
    '--identifier',
    'T1',
    '--date',
    '2025-01-15',
  ]

  it('records every kind of line and the end', async () => {
    const { answers, code, stderr } = record(
      [...parts(), '--node-id', 'n1', '--input', '{"ticket":"T-1"}'],
      jsonLines([
        { type: 'turn', role: 'user', content: 'fix it', tokens: 12 },
        { type: 'turn', role: 'assistant', content: 'reading', tokens: 30, durationMs: 900 },
        { type: 'tool_call', name: 'read', input: { path: 'a' }, output: 'x', id: 'c1' },
        { type: 'tool_call', name: 'read', input: null, error: 'gone' },
        { type: 'cost', usd: 0.1 },
        { type: 'cost', usd: 0.2 },
        { type: 'fail', error: 'tests fail' },
        { type: 'cost', usd: 1 },
      ]),
    )
    const runId = '2025-01-15-fix-T1'
    const at = join(directory, 'runs', runId)
    expect(answers).toMatchObject([
      { ok: true, line: 0, runId, directory: at },
      { ok: true, line: 1, turnId: 1 },
      { ok: true, line: 2, turnId: 2 },
      { ok: true, line: 3 },
      { ok: true, line: 4 },
      { ok: true, line: 5 },
      { ok: true, line: 6 },
      { ok: true, line: 7, status: 'failed', path: join(at, 'transcript.json') },
      { ok: false, line: 8, error: { code: 'CLOSED' } },
    ])
    expect({ code, stderr }).toEqual({ code: 4, stderr: '' })
    const { metadata, turns } = await loadRun(directory, runId)
    expect(metadata).toMatchObject({
      flowId: 'fix',
      nodeId: 'n1',
      input: { ticket: 'T-1' },
      status: 'failed',
    })
    expect(metadata).toMatchObject({
      error: 'tests fail',
      totalTokensIn: 12,
      totalTokensOut: 30,
      totalCost: 0.3,
    })
    expect(turns[1]).toMatchObject({
      durationMs: 900,
      toolCalls: [{ id: 'c1', output: 'x' }, { error: 'gone' }],
    })
  })

  it('that has no end line stays running, and says how to go on', async () => {
    const first = record(parts(), jsonLines([{ type: 'turn', role: 'user', content: 'one' }]))
    expect(first.code).toBe(0)
    expect((await loadRun(directory, '2025-01-15-fix-T1')).metadata.status).toBe('running')
    const [, command] = first.stderr.match(/to go on: recollect (.*)\n/) as [string, string]
    const again = spawnSync('sh', ['-c', `exec "$0" "$1" ${command}`, process.execPath, CLI], {
      input: jsonLines([{ type: 'turn', role: 'assistant', content: 'two' }, { type: 'complete' }]),
      encoding: 'utf8',
    })
    expect(parseAnswers(again.stdout).map((answer) => answer.ok)).toEqual([true, true, true])
    const { metadata, turns } = await loadRun(directory, '2025-01-15-fix-T1')
    expect(turns.map((turn) => turn.content)).toEqual(['one', 'two'])
    expect(metadata.status).toBe('completed')
  })

  it('is held by its process: a second start and a resume are refused, the next suffix is not', async () => {
    const pipe = new Pipe(parts())
    await pipe.until(1)
    expect(record(parts(), '')).toMatchObject({ code: 1, stderr: expect.stringMatching(/EXISTS/) })
    const resume = ['run', '--base', directory, '--run-id', '2025-01-15-fix-T1', '--resume']
    expect(record(resume, '')).toMatchObject({ code: 1, stderr: expect.stringMatching(/LOCK_BUSY/) })
    const next = record([...parts(), '--next-suffix'], jsonLines([{ type: 'cancel' }]))
    expect(next.answers).toMatchObject([{ runId: '2025-01-15-fix-T1-2' }, { status: 'canceled' }])
    pipe.send([{ type: 'complete' }])
    pipe.child.stdin.end()
    expect((await pipe.exit).code).toBe(0)
    expect((await listRuns(directory)).map((run) => run.status).sort()).toEqual(['canceled', 'completed'])
  })
})

describe('lineage through the pipe', () => {
  it('says which event each line meant, or none', async () => {
    const { answers, code } = record(
      ['lineage', '--dir', directory, '--current-file', 'now', '--history-file', 'log.jsonl'],
      jsonLines([
        { op: 'save', session_id: 'a' },
        { op: 'save', session_id: 'a' },
        { op: 'save', session_id: 'b' },
        { op: 'interactive_fork', session_id: 'f' },
        { op: 'bg_fork', session_id: 'g', parent_session_id: 'a' },
        { op: 'bg_fork', session_id: 'g', parent_session_id: 'a' },
        { op: 'swap', session_id: 'f' },
        { op: 'clear' },
        { op: 'save', session_id: ' a ' },
        { op: 'forget', session_id: 'a' },
      ]),
    )
    expect(answers.map((answer) => answer['event'])).toEqual([
      ...['created', null, 'compacted', 'interactive_fork', 'bg_fork', null, 'swapped', 'cleared'],
      ...[undefined, undefined],
    ])
    expect(answers[4]).toMatchObject({ session_id: 'g', parent_session_id: 'a' })
    expect(answers[9]?.error?.message).toMatch(
      /'save' \| 'swap' \| 'clear' \| 'interactive_fork' \| 'bg_fork'/,
    )
    expect(code).toBe(4)
    const events = await readSessionHistory(join(directory, 'log.jsonl'))
    const told = answers.filter((answer) => answer['event']).map(({ ok: _, line: __, ...event }) => event)
    expect(events).toEqual(told)
  })
})

const python = spawnSync('python3', ['--version']).status === 0

describe('another language', () => {
  it.skipIf(!python)('(python3) waits for each answer and learns of a refusal', async () => {
    const client = ['examples/pipe.py', directory, process.execPath, CLI]
    const { stdout, stderr, status } = spawnSync('python3', client, { encoding: 'utf8' })
    expect({ stderr, status }).toEqual({ stderr: '', status: 0 })
    const turns = await new TranscriptWriter(directory).read('main', 's1')
    expect(turns.map((turn) => turn.role)).toEqual(['user', 'assistant'])
    expect(stdout.trim().split('\n')).toEqual([
      'recorded turn 1',
      'recorded turn 2',
      expect.stringMatching(/^refused: /),
    ])
  })
})
