// A run transcript to text and back, as the Go program of the format does it: field order, what is omitted when empty,
// and on reading everything Go's decoder forgives (other case in keys, unknown fields, null, missing fields).
import { RecollectError } from '../errors.ts'
import { encodeGo, RESTORE, wellFormed, wellFormedDeep } from './go-json.ts'
import {
  isTime,
  type RunMeta,
  type RunToolCall,
  type RunTranscriptFile,
  type RunTurn,
  ZERO_TIME,
} from './run-model.ts'

/** The bytes of `transcript.json`: two blanks of indentation, no newline at the end. */
export function encodeRun(file: RunTranscriptFile): string {
  const { metadata: meta } = file
  return encodeGo(
    fields({
      runId: file.runId,
      metadata: fields({
        ...runHead(meta),
        endedAt: meta.endedAt,
        status: meta.status,
        totalTokensIn: meta.totalTokensIn,
        totalTokensOut: meta.totalTokensOut,
        totalCost: meta.totalCost,
        error: unlessEmpty(meta.error),
      }),
      turns: file.turns.map(turnFields),
    }),
    '  ',
  )
}

/** The fields known when a run starts, in their order. */
export function runHead(
  meta: Pick<RunMeta, 'flowId' | 'nodeId' | 'input' | 'startedAt'>,
): Record<string, unknown> {
  return {
    flowId: meta.flowId,
    nodeId: unlessEmpty(meta.nodeId),
    input: unlessEmpty(meta.input),
    startedAt: meta.startedAt,
  }
}

export function turnFields(turn: RunTurn): Map<string, unknown> {
  return fields({
    id: turn.id,
    role: turn.role,
    content: turn.content,
    tokensIn: unlessEmpty(turn.tokensIn),
    tokensOut: unlessEmpty(turn.tokensOut),
    timestamp: turn.timestamp,
    toolCalls: unlessEmpty(turn.toolCalls?.map(toolCallFields)),
    durationMs: unlessEmpty(turn.durationMs),
  })
}

export function toolCallFields(call: RunToolCall): Map<string, unknown> {
  return fields({
    id: unlessEmpty(call.id),
    name: call.name,
    input: call.input,
    output: unlessEmpty(call.output),
    error: unlessEmpty(call.error),
  })
}

/** A struct: fields in the order given, undefined ones left out. */
export function fields(members: Record<string, unknown>): Map<string, unknown> {
  return new Map(Object.entries(members).filter(([, value]) => value !== undefined))
}

/** Go's `omitempty`. It never omits a time, so none goes through here. */
function unlessEmpty<T>(value: T): T | undefined {
  if (!value) return undefined
  return typeof value === 'object' && Object.keys(value).length === 0 ? undefined : value
}

/** Reads what `encodeRun` or Go wrote. Throws CORRUPT where Go's json.Unmarshal fails. */
export function decodeRun(text: string, where: string): RunTranscriptFile {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // The parser's own message quotes the transcript.
    throw new RecollectError('CORRUPT', 'not JSON, or cut short', { where, hint: RESTORE })
  }
  const get = reader(value, where)
  return {
    runId: get.text('runId'),
    metadata: decodeMeta(get.member('metadata'), `${where}: metadata`),
    turns: get.list('turns').map((turn, at) => decodeTurn(turn, `${where}: turns[${at}]`)),
  }
}

export function decodeMeta(value: unknown, where: string): RunMeta {
  const get = reader(value, where)
  return withoutEmpty({
    flowId: get.text('flowId'),
    nodeId: unlessEmpty(get.text('nodeId')),
    input: unlessEmpty(get.map('input') ?? undefined),
    startedAt: get.time('startedAt'),
    endedAt: get.time('endedAt'),
    status: get.text('status'),
    totalTokensIn: get.int('totalTokensIn'),
    totalTokensOut: get.int('totalTokensOut'),
    totalCost: get.number('totalCost'),
    error: unlessEmpty(get.text('error')),
  })
}

export function decodeTurn(value: unknown, where: string): RunTurn {
  const get = reader(value, where)
  const calls = get.list('toolCalls').map((call, at) => decodeToolCall(call, `${where}.toolCalls[${at}]`))
  return withoutEmpty({
    id: get.int('id'),
    role: get.text('role'),
    content: get.text('content'),
    tokensIn: unlessEmpty(get.int('tokensIn')),
    tokensOut: unlessEmpty(get.int('tokensOut')),
    timestamp: get.time('timestamp'),
    toolCalls: unlessEmpty(calls),
    durationMs: unlessEmpty(get.int('durationMs')),
  })
}

export function decodeToolCall(value: unknown, where: string): RunToolCall {
  const get = reader(value, where)
  return withoutEmpty({
    id: unlessEmpty(get.text('id')),
    name: get.text('name'),
    input: get.map('input'),
    output: unlessEmpty(get.text('output')),
    error: unlessEmpty(get.text('error')),
  })
}

/** Makes `undefined` members absent ones, which is what the schemas' optional fields mean. */
function withoutEmpty<T extends Record<string, unknown>>(members: T): Present<T> {
  for (const key of Object.keys(members)) if (members[key] === undefined) delete members[key]
  return members as Present<T>
}
type Present<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
}

/** Gives the members of a JSON object by name as Go's decoder finds them: a missing or null one has its zero value. */
function reader(value: unknown, where: string) {
  const members = new Map<string, unknown>()
  for (const [key, item] of Object.entries(objectOrNull(value, where) ?? {})) {
    // In the order of the text, whatever the case: the last one that is not null wins.
    if (item !== null) members.set(fold(key), item)
  }
  const wrong = (name: string, wanted: string) =>
    new RecollectError('CORRUPT', `${name} is not ${wanted}`, { where: `${where}.${name}`, hint: RESTORE })
  const member = (name: string): unknown => members.get(fold(name))
  const number = (name: string): number => {
    const item = member(name) ?? 0
    if (typeof item !== 'number' || !Number.isFinite(item)) throw wrong(name, 'a number')
    return item
  }
  const text = (name: string): string => {
    const item = member(name) ?? ''
    if (typeof item !== 'string') throw wrong(name, 'a string')
    return wellFormed(item)
  }
  return {
    member,
    number,
    text,
    int(name: string): number {
      const item = number(name)
      // Beyond 2^53 Go keeps the number and we could not: better refused than changed.
      if (!Number.isSafeInteger(item)) throw wrong(name, 'a whole number below 2^53')
      return item + 0
    },
    time(name: string): string {
      if (member(name) === undefined) return ZERO_TIME
      const item = text(name)
      if (!isTime(item)) throw wrong(name, 'an RFC 3339 time')
      return item
    },
    list(name: string): unknown[] {
      const item = member(name) ?? []
      if (!Array.isArray(item)) throw wrong(name, 'an array')
      return item
    },
    map(name: string): Record<string, unknown> | null {
      const item = objectOrNull(member(name) ?? null, `${where}.${name}`)
      return wellFormedDeep(item, `${where}.${name}`) as Record<string, unknown> | null
    },
  }
}

function objectOrNull(value: unknown, where: string): Record<string, unknown> | null {
  if (typeof value === 'object' && !Array.isArray(value)) return value as Record<string, unknown> | null
  throw new RecollectError('CORRUPT', 'not an object', { where, hint: RESTORE })
}

/** Go's folding of keys: besides letter case it takes the long s for an s. */
function fold(key: string): string {
  return key.toLowerCase().replaceAll('\u017f', 's')
}
