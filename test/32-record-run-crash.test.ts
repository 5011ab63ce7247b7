// Runs whose writer dies: every acknowledged call is found again, whatever instant it died at.
import { spawn, spawnSync } from 'node:child_process'
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  type JsonlGap,
  listRuns,
  loadRun,
  RunTranscript,
  type RunTranscriptFile,
} from '../src/record/index.ts'
import { IS_LONG } from './setup/long.ts'

let base: string
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'recollect-run-'))
})
afterEach(() => rmSync(base, { recursive: true }))

const code = (code: string) => expect.objectContaining({ code })
const ID = '2025-01-15-kill-run-1'
const program = (name: string) => join(import.meta.dirname, 'programs', name)
const file = (name: string) => join(base, 'runs', ID, name)

/** Calls of a run, and the transcript after each: what a journal with so many lines must give. */
async function recordSteps(): Promise<RunTranscriptFile[]> {
  const run = await RunTranscript.start(base, { runId: ID, flowId: 'kill-run', input: { a: ['é'] } })
  const states = [run.transcript]
  const calls = [
    () => run.addTurn('system', 'é <x>\n', 5),
    () => run.addTurn('user', '"quoted" \\ {}', 7),
    () => run.addTurn('assistant', '}{\u2028', 9),
    () => run.addToolCall('t', { a: { b: '}' } }, 'out'),
    () => run.addCost(0.1),
    () => run.addCost(0.2),
    () => run.addTurn('tool_result', ''),
  ]
  for (const call of calls) {
    await call()
    states.push(run.transcript)
  }
  await run.close()
  return states
}

describe('the journal', () => {
  test.each([true, false])(
    'cut at any byte gives every whole record and no other (snapshot: %s)',
    async (snapshot) => {
      const states = await recordSteps()
      const journal = readFileSync(file('transcript.partial.jsonl'))
      if (!snapshot) rmSync(file('transcript.json'))
      for (let size = journal.length; size >= 0; size--) {
        truncateSync(file('transcript.partial.jsonl'), size)
        // A record that lacks only its newline is whole.
        const whole = [...journal.subarray(0, size + 1)].filter((byte) => byte === 10).length
        const torn = size > 0 && journal[size] !== 10 && journal[size - 1] !== 10
        const gaps: JsonlGap[] = []
        const loading = loadRun(base, ID, { onGap: (gap) => gaps.push(gap) })
        if (whole === 0 && !snapshot) await expect(loading).rejects.toThrow(code('NOT_FOUND'))
        else expect(await loading).toEqual(states[Math.max(whole - 1, 0)])
        expect(gaps.map((gap) => gap.gap)).toEqual(torn ? ['torn'] : [])
      }
    },
  )

  test('cut anywhere, the run is taken up and ended with nothing lost', async () => {
    const states = await recordSteps()
    const journal = readFileSync(file('transcript.partial.jsonl'))
    const saved = join(base, 'saved')
    cpSync(join(base, 'runs', ID), saved, { recursive: true })
    const firstLine = journal.indexOf(10) + 1
    for (let size = firstLine; size <= journal.length; size += 7) {
      rmSync(join(base, 'runs', ID), { recursive: true })
      cpSync(saved, join(base, 'runs', ID), { recursive: true })
      truncateSync(file('transcript.partial.jsonl'), size)
      const whole = [...journal.subarray(0, size + 1)].filter((byte) => byte === 10).length
      const run = await RunTranscript.resume(base, ID, { onGap: () => undefined, flush: 'os' })
      await run.addTurn('assistant', 'after the crash', 3)
      expect(await loadRun(base, ID, { onGap: () => undefined })).toEqual(run.transcript)
      await run.complete()
      const before = states[whole - 1] as RunTranscriptFile
      const { turns, metadata } = await loadRun(base, ID)
      expect(turns.slice(0, -1)).toEqual(before.turns)
      expect(turns.at(-1)).toMatchObject({ id: before.turns.length + 1, content: 'after the crash' })
      expect(metadata.totalTokensOut).toBe(before.metadata.totalTokensOut + 3)
    }
  })

  test('a start that was torn does not keep the id from being used', async () => {
    await recordSteps()
    rmSync(file('transcript.json'))
    truncateSync(file('transcript.partial.jsonl'), 20)
    const run = await RunTranscript.start(base, { runId: ID, flowId: 'kill-run' })
    await run.addTurn('user', 'again')
    expect((await loadRun(base, ID)).turns).toHaveLength(1)
    await run.close()
  })

  test('damage in the middle costs that record only, and is reported', async () => {
    const states = await recordSteps()
    const lines = readFileSync(file('transcript.partial.jsonl'), 'utf8').split('\n')
    const damaged = (at: number, line: string) =>
      writeFileSync(
        file('transcript.partial.jsonl'),
        lines.map((one, i) => (i === at ? line : one)).join('\n'),
      )
    const all = states.at(-1) as RunTranscriptFile
    const read = async () => {
      const gaps: JsonlGap[] = []
      return { run: await loadRun(base, ID, { onGap: (gap) => gaps.push(gap) }), gaps }
    }
    damaged(0, 'x')
    expect(await read()).toMatchObject({ run: all, gaps: [{ gap: 'not-json', offset: 0 }] })
    damaged(2, '{"type":"turn","turn":{"id":"two"}}')
    const second = await read()
    expect(second.run.turns.map((turn) => turn.id)).toEqual([1, 3, 4])
    expect(second.gaps).toMatchObject([{ gap: 'schema' }])
    damaged(3, '')
    const third = await read()
    expect(third.run.turns.map((turn) => turn.id)).toEqual([1, 2, 4])
    expect(third.gaps).toMatchObject([{ gap: 'schema', detail: expect.stringContaining('turn 3') }])
    damaged(1, '{"type":"later"}')
    expect((await read()).gaps).toMatchObject([{ gap: 'schema' }])
    damaged(0, lines[0]?.replace('"version":1', '"version":2') as string)
    await expect(loadRun(base, ID)).rejects.toThrow(code('BAD_INPUT'))
  })
})

describe('a journal that nobody of ours wrote', () => {
  const turn = (id: number, tokensIn: number) =>
    JSON.stringify({
      type: 'turn',
      turn: { id, role: 'user', content: `turn ${id}`, tokensIn, timestamp: '2025-01-15T10:00:00Z' },
    })

  test.each([
    ['a cost beyond counting', ['{"type":"cost","usd":1e25}']],
    ['a cost below zero', ['{"type":"cost","usd":-5e-12}']],
    ['tokens beyond counting', [turn(3, Number.MAX_SAFE_INTEGER)]],
    [
      'input nested beyond the stack',
      [
        `{"type":"toolCall","turnId":1,"call":{"name":"t","input":{"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}}}`,
      ],
    ],
  ])('%s costs that record only', async (_, lines) => {
    await recordSteps()
    const before = await loadRun(base, ID)
    appendFileSync(file('transcript.partial.jsonl'), `${lines.join('\n')}\n${turn(5, 1)}\n`)
    const gaps: JsonlGap[] = []
    const after = await loadRun(base, ID, { onGap: (gap) => gaps.push(gap) })
    expect(gaps).toMatchObject([{ gap: 'schema' }])
    expect(after.turns.slice(0, -1)).toEqual(before.turns)
    expect(after.metadata).toEqual({ ...before.metadata, totalTokensIn: before.metadata.totalTokensIn + 1 })
    expect(await listRuns(base, {}, { onGap: () => undefined })).toHaveLength(1)
    const run = await RunTranscript.resume(base, ID, { onGap: () => undefined })
    await run.complete()
    expect((await loadRun(base, ID)).metadata.status).toBe('completed')
  })

  test('a second start takes back nothing', async () => {
    await recordSteps()
    const before = await loadRun(base, ID)
    const [start] = readFileSync(file('transcript.partial.jsonl'), 'utf8').split('\n')
    appendFileSync(file('transcript.partial.jsonl'), `${start}\n`)
    const gaps: JsonlGap[] = []
    expect(await loadRun(base, ID, { onGap: (gap) => gaps.push(gap) })).toEqual(before)
    expect(gaps).toMatchObject([{ detail: 'a second start of the run' }])
  })

  test('bad lines without number make some warnings, and their number', async () => {
    await recordSteps()
    appendFileSync(file('transcript.partial.jsonl'), '{"a":1}\n'.repeat(5000))
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
    onTestFinished(() => warn.mockRestore())
    await loadRun(base, ID)
    expect(warn.mock.calls.length).toBeLessThan(20)
    expect(String(warn.mock.calls.at(-1)?.[0])).toContain('5000')
  })
})

describe('a writer killed before each of its file operations', () => {
  test.each([
    ['small', 10, 'transcript.json'],
    ['large', 150_000, 'transcript.json.gz'],
  ])('%s run', async (_, size, name) => {
    // Both do the same: unless there is time, not every one of the second.
    const step = IS_LONG || size < 1000 ? 1 : 3
    let killAt = 1 - step
    for (let ended = false; !ended; ) {
      killAt += step
      rmSync(join(base, 'runs'), { recursive: true, force: true })
      const args = [program('run-writer.mjs'), base, String(size), String(killAt)]
      const child = spawnSync(process.execPath, args, { encoding: 'utf8' })
      ended = child.status === 0
      if (!ended) expect(child.signal, child.stderr).toBe('SIGKILL')
      await checkAfterKill(child.stdout.split('\n').filter(Boolean), size)
      expect(readdirSync(join(base, 'runs', ID)), `killed at ${killAt}`).toEqual([name])
    }
    // Fewer would mean that the operations were not seen.
    expect(killAt).toBeGreaterThan(20)
  })

  async function checkAfterKill(said: string[], size: number): Promise<void> {
    if (!existsSync(join(base, 'runs', ID)) || (await isFree())) {
      expect(said).toEqual([])
      const run = await RunTranscript.start(base, { runId: ID, flowId: 'kill-run' })
      await run.addTurn('assistant', 'x'.repeat(size))
      await run.complete()
      return
    }
    const { metadata, turns } = await loadRun(base, ID)
    expect(turns.length).toBeGreaterThanOrEqual(said.filter((word) => word === 'turn').length)
    if (said.includes('call')) expect(turns[1]?.toolCalls).toHaveLength(1)
    if (said.includes('cost')) expect(metadata.totalCost).toBe(0.25)
    if (said.includes('end')) expect(metadata.status).toBe('completed')
    if (metadata.status === 'completed') expect(said).toContain('cost')
    expect(await listRuns(base)).toMatchObject([{ runId: ID, status: metadata.status }])
    if (metadata.status === 'completed') {
      await expect(RunTranscript.resume(base, ID)).rejects.toThrow(code('CLOSED'))
    } else {
      const run = await RunTranscript.resume(base, ID)
      expect(run.transcript.turns).toEqual(turns)
      await run.addTurn('assistant', 'x'.repeat(size))
      await run.complete()
      expect((await loadRun(base, ID)).turns).toHaveLength(turns.length + 1)
    }
  }

  async function isFree(): Promise<boolean> {
    return loadRun(base, ID).then(
      () => false,
      (error) => error.code === 'NOT_FOUND',
    )
  }
})

describe('two processes', () => {
  function startProgram(mode: string) {
    const child = spawn(process.execPath, [program('run-start.mjs'), base, mode], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const line = new Promise<string>((resolve) => createInterface(child.stdout).once('line', resolve))
    const gone = new Promise((resolve) => child.once('exit', resolve))
    return { child, line, gone }
  }

  test('of several that start one run, one gets it', async () => {
    const programs = Array.from({ length: 4 }, () => startProgram(''))
    const said = await Promise.all(programs.map(({ line }) => line))
    expect(said.sort()).toEqual(['2025-01-15-race-a', 'EXISTS', 'EXISTS', 'EXISTS'])
    for (const { child } of programs) child.stdin.end()
    await Promise.all(programs.map(({ gone }) => gone))
  })

  test('each that takes the next suffix gets a run of its own', async () => {
    const programs = Array.from({ length: 4 }, () => startProgram('suffix'))
    const said = await Promise.all(programs.map(({ line }) => line))
    expect(said.sort()).toEqual(['', '-2', '-3', '-4'].map((suffix) => `2025-01-15-race-a${suffix}`))
    for (const { child } of programs) child.stdin.end()
    await Promise.all(programs.map(({ gone }) => gone))
    expect(await listRuns(base, { status: 'running' })).toHaveLength(4)
  })

  test('a run is not taken from a living writer, and is from a killed one', async () => {
    const { child, line, gone } = startProgram('')
    const runId = await line
    await expect(RunTranscript.resume(base, runId)).rejects.toThrow(code('LOCK_BUSY'))
    expect((await loadRun(base, runId)).turns).toHaveLength(1)
    child.kill('SIGKILL')
    await gone
    expect((await loadRun(base, runId)).metadata).toMatchObject({
      status: 'running',
      endedAt: '0001-01-01T00:00:00Z',
    })
    expect(await listRuns(base)).toMatchObject([{ status: 'running', prompt: `process ${child.pid}` }])
    const run = await RunTranscript.resume(base, runId)
    await run.fail('killed')
    expect(await listRuns(base)).toMatchObject([{ status: 'failed', turnCount: 1 }])
  })
})
