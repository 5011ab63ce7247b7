// The life of a run: started, grown, ended; the two files; the index.
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  type JsonlGap,
  listRuns,
  loadRun,
  RunTranscript,
  type RunTranscriptFile,
  rebuildRunIndex,
  saveRun,
  searchRuns,
} from '../src/record/index.ts'
import { encodeRun } from '../src/record/run-json.ts'
import fc from './setup/properties.ts'

let base: string
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'recollect-run-'))
})
afterEach(() => rmSync(base, { recursive: true }))

const code = (code: string) => expect.objectContaining({ code })
const inRun = (runId: string, ...names: string[]) => join(base, 'runs', runId, ...names)
const ID = '2025-01-15-f-1'
const start = (runId = ID, flowId = 'f', more = {}) => RunTranscript.start(base, { runId, flowId, ...more })

describe('a run', () => {
  test('is counted: tokens by role, cost without the errors of binary fractions', async () => {
    const run = await start()
    await run.addTurn('system', 's', 1)
    await run.addTurn('user', 'u', 2, { durationMs: 5 })
    expect(await run.addTurn('assistant', 'a', 4)).toMatchObject({ id: 3, tokensOut: 4 })
    for (let i = 0; i < 10; i++) await run.addCost(0.1)
    await run.addCost(0.000000000001)
    await run.addCost(1234.5)
    await run.complete()
    const { metadata, turns } = await loadRun(base, ID)
    expect(metadata).toMatchObject({ totalTokensIn: 3, totalTokensOut: 4, totalCost: 1235.500000000001 })
    expect(metadata.status).toBe('completed')
    expect(turns[1]).toMatchObject({ tokensIn: 2, durationMs: 5 })
    expect(readdirSync(inRun(ID))).toEqual(['transcript.json'])
  })

  test('keeps tool calls on the last turn, which must be the assistant’s', async () => {
    const run = await start()
    await expect(run.addToolCall('t', {})).rejects.toThrow(code('BAD_INPUT'))
    await run.addTurn('assistant', 'a')
    await run.addToolCall('t', null, 'out', { id: 'c1', error: 'e' })
    await run.addTurn('tool_result', 'r')
    await expect(run.addToolCall('t', {})).rejects.toThrow(/last turn is tool_result/)
    await run.complete()
    expect((await loadRun(base, ID)).turns.map((turn) => turn.toolCalls)).toEqual([
      [{ id: 'c1', name: 't', input: null, output: 'out', error: 'e' }],
      undefined,
    ])
  })

  test('keeps the order of calls that were not waited for', async () => {
    const run = await start()
    const calls: Promise<unknown>[] = []
    for (let i = 1; i <= 20; i++) {
      calls.push(run.addTurn('assistant', `turn ${i}`), run.addToolCall('t', { i }))
    }
    calls.push(run.cancel())
    await Promise.all(calls)
    const { turns, metadata } = await loadRun(base, ID)
    expect(metadata.status).toBe('canceled')
    expect(turns.map((turn) => [turn.id, turn.content, turn.toolCalls?.[0]?.input])).toEqual(
      turns.map((_, at) => [at + 1, `turn ${at + 1}`, { i: at + 1 }]),
    )
    expect(turns).toHaveLength(20)
  })

  test('fails with the error’s message', async () => {
    await (await start()).fail(new Error('boom'))
    expect((await loadRun(base, ID)).metadata).toMatchObject({ status: 'failed', error: 'boom' })
    await (await start('2025-01-15-f-2')).fail('plain text')
    expect((await loadRun(base, '2025-01-15-f-2')).metadata.error).toBe('plain text')
  })

  test('takes nothing after its end', async () => {
    const run = await start()
    await run.complete()
    await expect(run.addTurn('user', 'u')).rejects.toThrow(code('CLOSED'))
    await expect(run.addCost(1)).rejects.toThrow(code('CLOSED'))
    await expect(run.fail('late')).rejects.toThrow(code('CLOSED'))
    await run.close()
    await expect(RunTranscript.resume(base, ID)).rejects.toThrow(code('CLOSED'))
    expect((await loadRun(base, ID)).metadata.status).toBe('completed')
  })

  test('refuses values the format has no place for, and goes on', async () => {
    const run = await start()
    const bad = [
      run.addTurn('critic' as 'user', 'x'),
      run.addTurn('user', 5 as unknown as string),
      run.addTurn('user', 'x', -1),
      run.addTurn('user', 'x', 1.5),
      run.addTurn('user', 'x', 1, { durationMs: Number.NaN }),
      run.addTurn('tool_result', 'x', 7),
      run.addCost(-1),
      run.addCost(Number.POSITIVE_INFINITY),
      run.addToolCall('t', { a: 1n }),
      run.addToolCall('t', [1] as unknown as Record<string, unknown>),
      run.addToolCall(5 as unknown as string, {}),
    ]
    for (const call of bad) await expect(call).rejects.toThrow(code('BAD_INPUT'))
    await run.addTurn('user', 'good')
    await run.complete()
    expect((await loadRun(base, ID)).turns.map((turn) => turn.content)).toEqual(['good'])
  })

  test('refuses to start with a wrong id, without a flow, with a bad input', async () => {
    await expect(start('no-date')).rejects.toThrow(code('BAD_INPUT'))
    await expect(start('2025-01-15-../../x-1')).rejects.toThrow(code('BAD_NAME'))
    await expect(RunTranscript.start(base, { runId: ID })).rejects.toThrow(code('BAD_INPUT'))
    await expect(start(ID, 'f', { input: { a: Number.NaN } })).rejects.toThrow(code('BAD_INPUT'))
    expect(existsSync(join(base, 'runs'))).toBe(false)
    await expect(loadRun(base, ID)).rejects.toThrow(code('NOT_FOUND'))
    await expect(RunTranscript.resume(base, ID)).rejects.toThrow(code('NOT_FOUND'))
  })

  test('refuses ids that are no text, and totals that no reader could keep', async () => {
    for (const runId of [{ flow: 'f', identifier: 123 }, { identifier: '1' }, undefined, null]) {
      await expect(RunTranscript.start(base, { runId: runId as never })).rejects.toThrow(code('BAD_INPUT'))
    }
    const run = await start()
    await run.addTurn('user', 'a', Number.MAX_SAFE_INTEGER)
    await expect(run.addTurn('user', 'b', 1)).rejects.toThrow(code('BAD_INPUT'))
    await run.addTurn('assistant', 'c', 1)
    await run.complete()
    expect((await loadRun(base, ID)).turns).toHaveLength(2)
  })

  test('is not written through a link', async () => {
    const elsewhere = mkdtempSync(join(tmpdir(), 'recollect-else-'))
    mkdirSync(join(base, 'runs'))
    symlinkSync(elsewhere, inRun(ID))
    await expect(start()).rejects.toThrow(code('UNSAFE_PATH'))
    expect(readdirSync(elsewhere)).toEqual([])
    rmSync(elsewhere, { recursive: true })
  })

  test('exists once: a second start fails, or takes the next suffix', async () => {
    const parts = { date: '2025-01-15', flow: 'f', identifier: '1' }
    const run = await RunTranscript.start(base, { runId: parts })
    await expect(start()).rejects.toThrow(code('EXISTS'))
    await run.close()
    await expect(start()).rejects.toThrow(code('EXISTS'))
    const second = await RunTranscript.start(base, { runId: parts, nextSuffix: true })
    const third = await RunTranscript.start(base, { runId: parts, nextSuffix: true })
    expect([second.runId, third.runId]).toEqual([`${ID}-2`, `${ID}-3`])
    await second.complete()
    await expect(start(`${ID}-2`)).rejects.toThrow(code('EXISTS'))
    await third.close()
  })

  test('says so when its journal is deleted under it, and can still be ended', async () => {
    const run = await start()
    await run.addTurn('user', 'one')
    rmSync(inRun(ID, 'transcript.partial.jsonl'))
    await expect(run.addTurn('user', 'two')).rejects.toThrow(code('GONE'))
    await expect(run.addTurn('user', 'three')).rejects.toThrow(code('GONE'))
    await run.complete()
    expect((await loadRun(base, ID)).turns.map((turn) => turn.content)).toEqual(['one'])
  })

  test('whose whole directory is deleted under it can still be ended, and leaves nothing behind', async () => {
    const run = await start()
    await run.addTurn('user', 'one')
    rmSync(join(base, 'runs'), { recursive: true })
    const gone = { code: 'GONE', hint: expect.stringContaining('end the run') }
    await expect(run.addTurn('user', 'two')).rejects.toMatchObject(gone)
    await run.complete()
    expect((await loadRun(base, ID)).turns.map((turn) => turn.content)).toEqual(['one'])
    expect(readdirSync(inRun(ID))).toEqual(['transcript.json'])
    expect(await listRuns(base)).toMatchObject([{ status: 'completed' }])
  })

  test('that was closed says how to go on', async () => {
    const run = await start()
    await run.close()
    const hint = expect.stringContaining('resume')
    await expect(run.addTurn('user', 'one')).rejects.toMatchObject({ code: 'CLOSED', hint })
  })

  const anything = fc.oneof(
    fc.record({
      role: fc.constantFrom('system', 'user', 'assistant'),
      content: fc.string({ unit: 'binary' }),
      tokens: fc.nat(),
    }),
    fc.record({ usd: fc.double({ min: 0, max: 10, noNaN: true }) }),
    fc.record({ name: fc.string(), input: fc.dictionary(fc.string(), fc.jsonValue()), output: fc.string() }),
  )
  test('whatever is recorded, before its end and after it a reader sees what was acknowledged', async () => {
    let number = 0
    await fc.assert(
      fc.asyncProperty(fc.array(anything, { maxLength: 12 }), async (calls) => {
        const runId = `2025-01-15-any-${++number}`
        const run = await start(runId, 'any', { flush: 'os' })
        for (const call of calls) {
          if ('usd' in call) await run.addCost(call.usd)
          else if ('role' in call) await run.addTurn(call.role as 'user', call.content, call.tokens)
          else if (run.transcript.turns.at(-1)?.role === 'assistant') {
            await run.addToolCall(call.name, call.input, call.output)
          }
        }
        expect(await loadRun(base, runId)).toEqual(run.transcript)
        await run.close()
        const resumed = await RunTranscript.resume(base, runId, { flush: 'os' })
        const path = await resumed.complete()
        const loaded = await loadRun(base, runId)
        expect(loaded).toEqual(resumed.transcript)
        expect(readFileSync(path, 'utf8')).toBe(encodeRun(loaded))
      }),
      { numRuns: 40 },
    )
  })
})

describe('the two files', () => {
  /** A transcript of exactly `size` bytes of JSON. */
  function ofSize(size: number): RunTranscriptFile {
    const timestamp = '2025-01-15T10:30:00Z'
    const totals = { totalTokensIn: 0, totalTokensOut: 0, totalCost: 0 }
    const metadata = { flowId: 'f', startedAt: timestamp, endedAt: timestamp, status: 'completed', ...totals }
    const turn = { id: 1, role: 'user', content: '', timestamp }
    const empty = Buffer.byteLength(encodeRun({ runId: ID, metadata, turns: [turn] }))
    return { runId: ID, metadata, turns: [{ ...turn, content: 'x'.repeat(size - empty) }] }
  }

  test.each([
    [102_399, 'transcript.json'],
    [102_400, 'transcript.json.gz'],
    [102_401, 'transcript.json.gz'],
  ])('%i bytes are stored as %s', async (size, name) => {
    const transcript = ofSize(size)
    expect(await saveRun(base, transcript)).toBe(inRun(ID, name))
    expect(readdirSync(inRun(ID))).toEqual([name])
    const bytes = readFileSync(inRun(ID, name))
    const json = name.endsWith('.gz') ? gunzipSync(bytes) : bytes
    expect(json.length).toBe(size)
    expect(await loadRun(base, ID)).toEqual(transcript)
  })

  test('a save of the other kind leaves no stale file behind', async () => {
    for (const size of [200_000, 5_000, 200_001, 4_000]) {
      const transcript = ofSize(size)
      await saveRun(base, transcript)
      expect(readdirSync(inRun(ID))).toHaveLength(1)
      expect(await loadRun(base, ID)).toEqual(transcript)
    }
  })

  test('gz is read before plain; a damaged gz is reported and plain is read', async () => {
    await saveRun(base, ofSize(5_000))
    writeFileSync(inRun(ID, 'transcript.json.gz'), gzipSync(encodeRun(ofSize(6_000))))
    expect(await loadRun(base, ID)).toEqual(ofSize(6_000))
    writeFileSync(inRun(ID, 'transcript.json.gz'), gzipSync(encodeRun(ofSize(6_000))).subarray(0, 40))
    const gaps: JsonlGap[] = []
    expect(await loadRun(base, ID, { onGap: (gap) => gaps.push(gap) })).toEqual(ofSize(5_000))
    expect(gaps).toMatchObject([{ gap: 'not-json', length: 40 }])
    await expect(loadRun(base, ID, { onCorrupt: 'stop' })).rejects.toThrow(code('CORRUPT'))
    rmSync(inRun(ID, 'transcript.json'))
    await expect(loadRun(base, ID)).rejects.toThrow(code('CORRUPT'))
  })

  test('a long run ends as gz, and the snapshot of its start goes', async () => {
    const run = await start()
    expect(JSON.parse(readFileSync(inRun(ID, 'transcript.json'), 'utf8'))).toMatchObject({
      metadata: { status: 'running', endedAt: '0001-01-01T00:00:00Z' },
      turns: [],
    })
    await run.addTurn('assistant', 'y'.repeat(150_000))
    expect(await run.complete()).toBe(inRun(ID, 'transcript.json.gz'))
    expect(readdirSync(inRun(ID))).toEqual(['transcript.json.gz'])
  })

  test('saveRun refuses what is not a transcript, and a run that is being written', async () => {
    const bad = { ...ofSize(1000), turns: [{ id: 1 }] } as unknown as RunTranscriptFile
    await expect(saveRun(base, bad)).rejects.toThrow(code('BAD_INPUT'))
    await expect(saveRun(base, { ...ofSize(1000), runId: '../x' })).rejects.toThrow(code('BAD_NAME'))
    const run = await start()
    await expect(saveRun(base, ofSize(1000))).rejects.toThrow(code('LOCK_BUSY'))
    await run.close()
    await saveRun(base, ofSize(1000))
    expect(readdirSync(inRun(ID))).toEqual(['transcript.json'])
  })
})

describe('the index', () => {
  const clock = (time: string) => () => new Date(time)

  async function three(): Promise<void> {
    const a = await start('2025-01-15-review-1', 'review', { now: clock('2025-01-15T10:00:00Z') })
    await a.addTurn('system', 'not searched')
    await a.addTurn('user', `Fix   the\nlogin ${'page '.repeat(100)}`)
    await a.complete()
    const b = await start('2025-01-16-build-1', 'build', {
      now: clock('2025-01-16T10:00:00Z'),
      nodeId: 'compile',
    })
    await b.fail('Linker not found')
    const c = await start('2025-01-17-review-2', 'review', { now: clock('2025-01-17T10:00:00Z') })
    await c.addTurn('user', 'Fix the logout page')
    await c.close()
  }
  const ids = (runs: { runId: string }[]) => runs.map((run) => run.runId.slice(8, 12) + run.runId.at(-1))

  test('lists by flow, status and time; searches ids, prompts and errors', async () => {
    await three()
    expect(await listRuns(base)).toMatchObject([
      { status: 'completed', endedAt: '2025-01-15T10:00:00Z', turnCount: 2, file: 'transcript.json' },
      { status: 'failed', error: 'Linker not found', nodeId: 'compile' },
      { status: 'running', turnCount: 1, prompt: 'Fix the logout page', file: 'transcript.partial.jsonl' },
    ])
    expect((await listRuns(base))[2]).not.toHaveProperty('endedAt')
    expect((await listRuns(base))[0]?.prompt).toHaveLength(200)
    expect(ids(await listRuns(base, { flow: 'review' }))).toEqual(['15-r1', '17-r2'])
    expect(ids(await listRuns(base, { status: 'running' }))).toEqual(['17-r2'])
    expect(ids(await listRuns(base, { since: '2025-01-16T10:00:00Z' }))).toEqual(['16-b1', '17-r2'])
    expect(ids(await listRuns(base, { until: new Date('2025-01-16T10:00:00Z') }))).toEqual(['15-r1'])
    expect(ids(await searchRuns(base, 'PAGE fix'))).toEqual(['15-r1', '17-r2'])
    expect(ids(await searchRuns(base, 'login'))).toEqual(['15-r1'])
    expect(ids(await searchRuns(base, 'linker'))).toEqual(['16-b1'])
    expect(ids(await searchRuns(base, 'compile', { status: 'failed' }))).toEqual(['16-b1'])
    expect(await searchRuns(base, 'searched')).toEqual([])
    await expect(listRuns(base, { since: 'yesterday' })).rejects.toThrow(code('BAD_INPUT'))
  })

  test('ended runs are listed without being opened', async () => {
    await three()
    const before = await listRuns(base)
    writeFileSync(inRun('2025-01-15-review-1', 'transcript.json'), 'garbage')
    expect(await listRuns(base)).toEqual(before)
  })

  test('is rebuilt when missing, and says what it could not read', async () => {
    await three()
    const before = await listRuns(base)
    rmSync(join(base, 'runs/index.jsonl'))
    const after = await listRuns(base)
    expect(after.map(({ size: _, ...run }) => run)).toEqual(before.map(({ size: _, ...run }) => run))
    expect(existsSync(join(base, 'runs/index.jsonl'))).toBe(true)
    writeFileSync(inRun('2025-01-15-review-1', 'transcript.json'), 'garbage')
    const gaps: JsonlGap[] = []
    expect(await rebuildRunIndex(base, { onGap: (gap) => gaps.push(gap) })).toBe(2)
    expect(gaps).toMatchObject([{ detail: expect.stringContaining('CORRUPT') }])
    expect(readFileSync(join(base, 'runs/index.jsonl'), 'utf8').split('\n')).toHaveLength(3)
    await expect(rebuildRunIndex(base, { onCorrupt: 'stop' })).rejects.toThrow(code('CORRUPT'))
  })

  test('a damaged line costs nothing: the run is looked up', async () => {
    await three()
    const path = join(base, 'runs/index.jsonl')
    const before = await listRuns(base)
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
    for (let at = 0; at < lines.length; at++) {
      writeFileSync(
        path,
        lines
          .map((line, i) => (i === at ? line.slice(5) : line))
          .join('\n')
          .slice(0, -3),
      )
      const gaps: JsonlGap[] = []
      const runs = await listRuns(base, {}, { onGap: (gap) => gaps.push(gap) })
      expect(runs.map((run) => [run.runId, run.status])).toEqual(before.map((run) => [run.runId, run.status]))
      expect(gaps.length).toBeGreaterThan(0)
    }
  })

  test('finds runs another program saved, and forgets those that were removed', async () => {
    await three()
    await listRuns(base)
    mkdirSync(inRun('2025-01-18-go-1'))
    const golden = join(import.meta.dirname, 'golden/run/11-recorded.json')
    writeFileSync(inRun('2025-01-18-go-1', 'transcript.json'), readFileSync(golden))
    mkdirSync(inRun('not a run'))
    rmSync(inRun('2025-01-16-build-1'), { recursive: true })
    const runs = await listRuns(base, { status: 'failed' })
    expect(runs).toMatchObject([
      { runId: '2025-01-18-go-1', flowId: 'ticket-to-pr', totalCost: 0.3, turnCount: 5 },
    ])
    expect(readFileSync(join(base, 'runs/index.jsonl'), 'utf8')).toContain('2025-01-18-go-1')
  })

  test('one run that nobody can read keeps no other from being listed', async () => {
    await three()
    const before = await listRuns(base)
    const put = (runId: string, name: string, bytes: string | Buffer): void => {
      mkdirSync(inRun(runId), { recursive: true })
      writeFileSync(inRun(runId, name), bytes)
    }
    const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`
    put('2025-02-01-f-deep', 'transcript.json', `{"metadata":{"input":{"a":${deep}}}}`)
    // More than a string can hold, in half a megabyte.
    put('2025-02-01-f-bomb', 'transcript.json.gz', gzipSync(Buffer.alloc(2 ** 29, 32), { level: 1 }))
    // Known to the index as running, and spoilt since.
    rmSync(inRun('2025-01-17-review-2', 'transcript.json'))
    mkdirSync(inRun('2025-01-17-review-2', 'transcript.json'))
    const gaps: JsonlGap[] = []
    expect(await listRuns(base, {}, { onGap: (gap) => gaps.push(gap) })).toEqual(before)
    const codes = gaps.map((gap) => gap.detail.split(':')[0]).sort()
    expect(codes).toEqual(['CORRUPT', 'NOT_A_FILE', 'TOO_LARGE'])
  })

  test('holds no half of a character, which others refuse', async () => {
    const run = await start()
    await run.addTurn('user', `${'x'.repeat(199)}😀`)
    await run.fail(new Error(`${'x'.repeat(499)}😀`))
    expect(readFileSync(join(base, 'runs/index.jsonl'), 'utf8')).not.toMatch(/\\ud[89a-f]/)
  })

  test('a failure of the index is a warning, never a failure of the run', async () => {
    mkdirSync(join(base, 'runs/index.jsonl'), { recursive: true })
    const warnings: string[] = []
    const listen = (warning: Error) => warnings.push(warning.message)
    process.on('warning', listen)
    await (await start()).complete()
    await new Promise(setImmediate)
    process.off('warning', listen)
    expect((await loadRun(base, ID)).metadata.status).toBe('completed')
    expect(warnings).toEqual([expect.stringContaining('index'), expect.stringContaining('index')])
  })

  test('an empty base has no runs', async () => {
    expect(await listRuns(join(base, 'nothing'))).toEqual([])
    expect(await rebuildRunIndex(join(base, 'nothing'))).toBe(0)
    appendFileSync(join(base, 'runs'), '')
    await expect(listRuns(base)).rejects.toThrow(code('UNSAFE_PATH'))
  })
})
