// `recollect record run`: the turns, tool calls and costs of one run, and its end. Input that ends without an end line
// leaves the run `running`: its agent may have crashed, and whether it failed is not ours to say.
import * as z from 'zod'
import { RecollectError } from '../../errors.ts'
import { RunRole, type RunStartOptions, RunTranscript } from '../../record/index.ts'
import { configFrom } from '../settings.ts'
import { put } from '../streams.ts'
import { checkLine } from './line.ts'
import { flushOf, SETTINGS_OF_ALL } from './options.ts'
import { pump } from './pump.ts'

export interface RunCommandOptions {
  base: string
  runId?: string
  flow?: string
  identifier?: string
  suffix?: string
  date?: string
  flowId?: string
  nodeId?: string
  input?: string
  nextSuffix?: boolean
  resume?: boolean
}

const OptionalCount = z.int().nonnegative().exactOptional()
const OptionalText = z.string().exactOptional()
const JsonMap = z.looseObject({})

const Line = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('turn'),
    role: RunRole,
    content: z.string(),
    tokens: OptionalCount,
    durationMs: OptionalCount,
  }),
  z.strictObject({
    type: z.literal('tool_call'),
    name: z.string().min(1),
    input: JsonMap.nullable(),
    output: OptionalText,
    id: OptionalText,
    error: OptionalText,
  }),
  z.strictObject({ type: z.literal('cost'), usd: z.number().nonnegative() }),
  z.strictObject({ type: z.literal('complete') }),
  z.strictObject({ type: z.literal('fail'), error: z.string() }),
  z.strictObject({ type: z.literal('cancel') }),
])
type Line = z.infer<typeof Line>

export async function recordRun(options: RunCommandOptions): Promise<void> {
  const config = configFrom({ ...options }, SETTINGS_OF_ALL)
  const flush = flushOf(config)
  const run = options.resume
    ? await RunTranscript.resume(
        options.base,
        required(options.runId, '--run-id', '--resume needs --run-id'),
        { flush },
      )
    : await RunTranscript.start(options.base, { ...startOptions(options), flush })
  let ended = false
  const take = async (value: Record<string, unknown>): Promise<Record<string, unknown>> => {
    const line = checkLine(Line, value, 'docs/formats/run.md')
    const told = await apply(run, line)
    ended ||= 'status' in told
    return told
  }
  const finish = async (): Promise<void> => {
    await run.close()
    if (ended) return
    const again = ['recollect', 'record', 'run', '--base', options.base, '--run-id', run.runId, '--resume']
    put(2, `the run has not ended; to go on: ${again.map(quote).join(' ')}\n`)
  }
  const opened = { runId: run.runId, directory: run.directory }
  await pump({ opened, take, finish }, config.get('record.max_line'))
}

async function apply(run: RunTranscript, line: Line): Promise<Record<string, unknown>> {
  switch (line.type) {
    case 'turn':
      return { turnId: (await run.addTurn(line.role, line.content, line.tokens, line)).id }
    case 'tool_call':
      await run.addToolCall(line.name, line.input, line.output, line)
      return {}
    case 'cost':
      await run.addCost(line.usd)
      return {}
    case 'complete':
      return { status: 'completed', path: await run.complete() }
    case 'fail':
      return { status: 'failed', path: await run.fail(line.error) }
    case 'cancel':
      return { status: 'canceled', path: await run.cancel() }
  }
}

function startOptions(options: RunCommandOptions): RunStartOptions {
  const { runId, flow, identifier, suffix, date, input, ...rest } = options
  const given = input === undefined ? rest : { ...rest, input: parseInput(input) }
  if (runId !== undefined) {
    required(
      options.flowId,
      '--flow-id',
      '--run-id needs --flow-id, or --resume if the run was started before',
    )
    return { ...given, runId }
  }
  const parts = {
    flow: required(flow, '--flow', 'give --run-id, or --flow and --identifier'),
    identifier: required(identifier, '--identifier', '--flow needs --identifier'),
    ...(suffix === undefined ? {} : { suffix }),
    ...(date === undefined ? {} : { date }),
  }
  return { ...given, runId: parts }
}

function parseInput(text: string): Record<string, unknown> {
  let cause: unknown
  try {
    const value: unknown = JSON.parse(text)
    if (JsonMap.safeParse(value).success) return value as Record<string, unknown>
  } catch (error) {
    cause = error
  }
  throw new RecollectError('USAGE', 'not a JSON object', {
    where: '--input',
    hint: `such as --input '{"ticket":"T1"}'`,
    cause,
  })
}

function required(value: string | undefined, where: string, what: string): string {
  if (value !== undefined) return value
  throw new RecollectError('USAGE', what, { where, hint: 'recollect record run --help' })
}

/** For a POSIX shell. */
function quote(word: string): string {
  return /^[\w./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
