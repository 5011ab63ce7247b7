// The write side as a caller without types may use it: whatever is given in place of a path, a text or options, the answer
// is an error of ours that names what was wrong, never one of the engine's.
import { join } from 'node:path'
import { expect, it } from 'vitest'
import * as record from '../src/record/index.ts'
import { temporary } from './setup/temporary.ts'

type Any = Record<string, unknown>
type Call = (...args: unknown[]) => unknown

const WRONG: readonly unknown[] = [
  ...[undefined, null, 0, -1, Number.NaN, 1.5, '', 'x', 'a\0b', true, 10n, Symbol('s')],
  ...[[], [null], {}, Object.create(null), new Date(), new Date(Number.NaN), new Map(), Buffer.from('x')],
  () => 1,
]
const base = temporary('misuse')
let count = 0
/** Nothing is there yet. */
const place = (): string => join(base, String(count++))

/** What went wrong in another way than it should. */
async function faultOf(call: () => unknown): Promise<string | undefined> {
  try {
    const result = (await call()) as Partial<AsyncIterable<unknown>> | null | undefined
    if (typeof result?.[Symbol.asyncIterator] === 'function')
      for await (const _ of result as AsyncIterable<unknown>) break
    return undefined
  } catch (error) {
    if (!(error instanceof record.RecollectError)) return `${error}`
    return error.where && error.hint ? undefined : `without a place or hint: ${error.message}`
  }
}

async function expectOurErrors(name: string, call: Call, before: () => unknown[]): Promise<void> {
  const faults: string[] = []
  for (const [at, wrong] of WRONG.entries()) {
    const fault = await faultOf(() => call(...before(), wrong))
    if (fault !== undefined) faults.push(`${at}: ${fault}`)
  }
  expect(faults, name).toEqual([])
}

const functions = Object.entries(record as unknown as Record<string, Call>).filter(
  ([name, value]) => typeof value === 'function' && /^[a-z]/.test(name),
)

it.each(functions)('%s takes no argument for what it is not', async (name, call) => {
  await expectOurErrors(name, call, () => [])
  await expectOurErrors(`${name}, second`, call, () => [place()])
  await expectOurErrors(`${name}, third`, call, () => [place(), '2026-01-01-flow-id'])
})

it.each(['since', 'until', 'flow', 'status'])('listRuns takes no %s for what it is not', async (name) => {
  await expectOurErrors(
    name,
    (wrong) => record.listRuns(place(), { [name]: wrong } as never),
    () => [],
  )
})

it.each(WRONG)('a clock that gives %s is refused when it is asked', async (wrong) => {
  const now = (): never => wrong as never
  const isTime = wrong instanceof Date && !Number.isNaN(wrong.getTime())
  const runId = '2026-01-01-flow-id'
  for (const call of [
    () => new record.EntireTranscript({ cwd: base, version: '1', now }).user('x'),
    () => new record.SessionHistory(place(), { now }).saveSessionId('s'),
    () => record.RunTranscript.start(place(), { runId, flowId: 'flow', now }).then((run) => run.close()),
  ]) {
    const done = (async () => void (await call()))()
    if (isTime) await done
    else await expect(done).rejects.toMatchObject({ code: 'BAD_INPUT', hint: expect.any(String) })
  }
})

const OPTIONS: Record<string, readonly string[]> = {
  EntireTranscript: ['cwd', 'version', 'sessionId', 'model', 'flush', 'lockTimeoutMs', 'now'],
  SessionHistory: ['historyFile', 'currentFile', 'flush', 'lockTimeoutMs', 'now', 'git'],
  TranscriptWriter: ['flush', 'lockTimeoutMs'],
}
const made: Record<string, (options: Any) => Any> = {
  EntireTranscript: (options) =>
    new record.EntireTranscript({ cwd: base, version: '1', ...options } as never) as never,
  SessionHistory: (options) => new record.SessionHistory(place(), options as never) as never,
  TranscriptWriter: (options) => new record.TranscriptWriter(place(), options as never) as never,
  MessageAccumulator: () => new record.MessageAccumulator() as never,
}
const methodsOf = (one: object): string[] =>
  Object.entries(Object.getOwnPropertyDescriptors(Object.getPrototypeOf(one) as object))
    .filter(([name, { value }]) => typeof value === 'function' && name !== 'constructor')
    .map(([name]) => name)

it.each(Object.keys(made))('%s is neither made nor used by what it cannot be', async (name) => {
  const Made = (record as unknown as Record<string, new (...args: unknown[]) => unknown>)[name] as never
  await expectOurErrors(
    `new ${name}`,
    (...args) => Reflect.construct(Made, args),
    () => [],
  )
  await expectOurErrors(
    `new ${name}, second`,
    (...args) => Reflect.construct(Made, args),
    () => [place()],
  )
  for (const option of OPTIONS[name] ?? []) {
    const call: Call = (wrong) => made[name]?.({ [option]: wrong })
    await expectOurErrors(`${name} with ${option}`, call, () => [])
  }
  for (const method of methodsOf(made[name]?.({}) as object)) {
    const call: Call = (...args) => {
      const one = made[name]?.({}) as Record<string, Call>
      return one[method]?.(...args)
    }
    for (const before of [[], ['x'], ['x', 'y']])
      await expectOurErrors(`${name}.${method}`, call, () => before)
  }
})

it('RunTranscript is neither started nor used by what it cannot be', async () => {
  const { RunTranscript } = record
  const Made = RunTranscript as unknown as new (...args: unknown[]) => unknown
  await expectOurErrors(
    'new RunTranscript',
    (...args) => Reflect.construct(Made, args),
    () => [],
  )
  for (const name of ['start', 'resume', 'load'] as const) {
    const call: Call = (...args) => (RunTranscript[name] as unknown as Call).apply(RunTranscript, args)
    for (const before of [[], [place()], [place(), '2026-01-01-flow-id']])
      await expectOurErrors(`RunTranscript.${name}`, call, () => before)
  }
  const good = { runId: { flow: 'flow', identifier: 'id' } }
  for (const option of ['runId', 'flowId', 'nodeId', 'input', 'flush', 'now', 'nextSuffix'])
    await expectOurErrors(
      `RunTranscript.start with ${option}`,
      async (wrong) => {
        const run = await RunTranscript.start(place(), { ...good, [option]: wrong } as never)
        await run.close()
      },
      () => [],
    )
  const run = await RunTranscript.start(place(), good)
  for (const method of methodsOf(run).filter((one) => !['complete', 'fail', 'cancel', 'close'].includes(one)))
    for (const before of [[], ['x'], ['x', 'y']])
      await expectOurErrors(
        `RunTranscript#${method}`,
        (...args) => (run as unknown as Record<string, Call>)[method]?.(...args),
        () => before,
      )
  await run.close()
})
