// One line of an Entire-compatible full.jsonl: its schema, and how a turn becomes one. Touches no file.
import * as z from 'zod'
import { RecollectError } from '../errors.ts'
import { crypto } from '../files/builtin.ts'
import { countLone, LINE_LIMIT, type Spill, SpillReference, splitOff, weigh } from './entire-spill.ts'
import { checkTime } from './given.ts'
import { Count, NullableText, OptionalText, Text } from './shapes.ts'

/** Tokens of one response. All four are always there; what else the API reports follows them. */
export const EntireUsage = z.looseObject({
  input_tokens: Count,
  output_tokens: Count,
  cache_creation_input_tokens: Count,
  cache_read_input_tokens: Count,
})
export type EntireUsage = z.infer<typeof EntireUsage>

export const EntireBlock = z.looseObject({ type: Text })
export type EntireBlock = z.infer<typeof EntireBlock>

export const EntireContent = z.union([Text, z.array(EntireBlock)])
export type EntireContent = z.infer<typeof EntireContent>

const Role = z.enum(['user', 'assistant'])

export const EntireLine = z.looseObject({
  type: Role,
  sessionId: Text,
  uuid: Text,
  parentUuid: NullableText,
  timestamp: z.iso.datetime({ offset: true }),
  cwd: Text,
  version: Text,
  requestId: OptionalText,
  message: z.looseObject({
    role: Role,
    content: EntireContent,
    id: OptionalText,
    model: OptionalText,
    stop_reason: z.string().nullish(),
    usage: EntireUsage.optional(),
  }),
  /** Only in lines read with `restore: false`. */
  recollectSpill: z.array(SpillReference).optional(),
})
export type EntireLine = z.infer<typeof EntireLine>

/** What is known of a response besides its content. */
export interface EntireResponse {
  /** Counts as the API gave them; a missing or null one of the four is written as 0. */
  usage?: Record<string, unknown> | null
  /** The provider's message id. One is made when absent: Entire counts tokens only of messages that have one. */
  id?: string | null
  model?: string | null
  stopReason?: string | null
  requestId?: string | null
}

/** The part of a line that is the same for the whole session. */
export interface EntireHead {
  sessionId: string
  cwd: string
  version: string
}

export interface EntireTurn extends Pick<Spill, 'files'> {
  uuid: string
  line(parentUuid: string | null): string
}

/** Encodes a turn as it is now; only the parent is still open, because it is known when the turn is written. */
export function encodeTurn(
  head: EntireHead,
  type: 'user' | 'assistant',
  at: Date,
  content: EntireContent,
  response: EntireResponse = {},
): EntireTurn {
  const uuid = crypto().randomUUID()
  const timestamp = isoTime(at)
  const written = ownFields(content)
  check(EntireContent, written, 'content')
  const { requestId } = checkResponse(response)
  const start = (parentUuid: string | null): string => {
    const { sessionId, cwd, version } = head
    const fields = {
      type,
      sessionId,
      uuid,
      parentUuid,
      timestamp,
      cwd,
      version,
      ...(requestId && { requestId }),
    }
    return JSON.stringify(fields).slice(0, -1)
  }
  const message = type === 'user' ? { role: type, content: written } : assistantMessage(written, response)
  // The longest head, and room for the keys and the newline around it.
  const { json, files } = encodeMessage(message, LINE_LIMIT - weigh(start(uuid)) - 64)
  return { uuid, files, line: (parentUuid) => `${start(parentUuid)},"message":${json}}` }
}

function encodeMessage(message: unknown, budget: number): { json: string; files: Spill['files'] } {
  try {
    const json = JSON.stringify(message)
    // No character takes more than six bytes: most lines need no closer look.
    const fits = json.length * 6 <= budget || weigh(json) <= budget
    if (fits && countLone(json) === 0) return { json, files: [] }
    const spill = splitOff(JSON.parse(json), json, budget)
    const references = JSON.stringify(spill.references)
    return { json: `${JSON.stringify(spill.message)},"recollectSpill":${references}`, files: spill.files }
  } catch (cause) {
    if (cause instanceof RecollectError) throw cause
    throw new RecollectError('BAD_INPUT', 'the turn cannot be written as JSON', {
      where: 'content',
      cause,
      hint: 'give plain objects, arrays, texts and numbers; nothing was written',
    })
  }
}

function assistantMessage(content: EntireContent, response: EntireResponse): Record<string, unknown> {
  const { id, model, stopReason, usage } = response
  return {
    role: 'assistant',
    id: id || `msg_${crypto().randomUUID()}`,
    ...(model && { model }),
    // Entire decodes an assistant's content as a list of blocks and skips the line when it is a string.
    content: typeof content === 'string' ? [{ type: 'text', text: content }] : content,
    ...(stopReason && { stop_reason: stopReason }),
    ...(usage && { usage: fullUsage(usage) }),
  }
}

function fullUsage(usage: Record<string, unknown>): EntireUsage {
  const { input_tokens, output_tokens, cache_creation_input_tokens, cache_read_input_tokens, ...others } =
    usage
  const counts = {
    input_tokens: input_tokens ?? 0,
    output_tokens: output_tokens ?? 0,
    cache_creation_input_tokens: cache_creation_input_tokens ?? 0,
    cache_read_input_tokens: cache_read_input_tokens ?? 0,
  }
  check(EntireUsage, counts, 'usage')
  refuseToJson(others, 'usage')
  return { ...(counts as EntireUsage), ...others }
}

/**
 * The blocks as JSON would write them: an inherited or hidden field passes a check and is then missing on disk, where no
 * reader would take the turn any more.
 */
function ownFields(content: EntireContent): EntireContent {
  if (!Array.isArray(content)) return content
  return Array.from(content, (block, at) => {
    if (typeof block !== 'object' || block === null || Array.isArray(block)) return block
    const copy = { ...block }
    refuseToJson(copy, `content[${at}]`)
    return copy
  })
}

function refuseToJson(part: Record<string, unknown>, where: string): void {
  if (typeof part['toJSON'] !== 'function') return
  throw new RecollectError('BAD_INPUT', 'a block or usage may have no toJSON method', {
    where,
    hint: 'it would write something else than what was checked; give a plain object. Nothing was written',
  })
}

/** By hand: a schema costs every program that imports us. */
function checkResponse(response: EntireResponse): EntireResponse {
  if (typeof response !== 'object' || response === null) throw breaks('response', 'is not an object')
  for (const key of ['id', 'model', 'stopReason', 'requestId'] as const) {
    const value: unknown = response[key]
    if (value != null && typeof value !== 'string') throw breaks(key, 'is not a string')
  }
  const usage: unknown = response.usage
  if (usage != null && typeof usage !== 'object') throw breaks('usage', 'is not an object')
  return response
}

function check(schema: z.ZodType, value: unknown, what: string): void {
  const { error } = schema.safeParse(value)
  if (error) throw breaks(what, z.prettifyError(error), error.issues[0]?.path.join('.') || what)
}

function breaks(what: string, reason: string, where = what): RecollectError {
  return new RecollectError('BAD_INPUT', `${what} breaks the format: ${reason}`, {
    where,
    hint: 'see docs/formats/entire.md; nothing was written',
  })
}

/** Readers take years of four digits only. */
export function isoTime(at: Date): string {
  checkTime(at)
  return at.toISOString()
}

/** The text a person typed: the content itself, or its text blocks; empty when there is none. */
export function promptOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content
    .filter((block) => block?.type === 'text' && typeof block.text === 'string')
    .map((block) => block.text as string)
    .join('\n\n')
}
