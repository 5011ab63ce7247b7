// The run transcript's nouns (the Go structs Transcript, TranscriptMeta, Turn and ToolCall) as zod schemas, and its
// time format. What a reader accepts is wider than what a writer may add: Go takes any string as role or status.
import * as z from 'zod'
import { checkTime } from './given.ts'
import { Amount, OptionalText, OptionalWhole, Text, Whole } from './shapes.ts'

/** The roles a writer may add. */
export const RunRole = z.enum(['system', 'user', 'assistant', 'tool_result'])
export type RunRole = z.infer<typeof RunRole>

/** The states a writer may set. */
export const RunStatus = z.enum(['running', 'completed', 'failed', 'canceled'])
export type RunStatus = z.infer<typeof RunStatus>

/** Go's zero time, which `omitempty` does not omit: the end of a run that has not ended. */
export const ZERO_TIME = '0001-01-01T00:00:00Z'

const TIME = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:Z|[+-](\d\d):(\d\d))$/

/** True for the RFC 3339 times that Go (1.20 and later) reads. */
export function isTime(text: string): boolean {
  const match = TIME.exec(text)
  if (!match) return false
  const [year, month, day, hour, minute, second, zoneHour, zoneMinute] = match.slice(1).map(Number)
  const inDay = hour! <= 23 && minute! <= 59 && second! <= 59
  const inZone = match[7] === undefined || (zoneHour! <= 23 && zoneMinute! <= 59)
  return inDay && inZone && isDay(year!, month!, day!)
}

/** True for a day that is in the calendar. */
export function isDay(year: number, month: number, day: number): boolean {
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day
}

/** A time as Go writes it: RFC 3339 in UTC, zeros at the end of the fraction left out. */
export function goTime(date: Date): string {
  checkTime(date)
  return date.toISOString().replace(/\.?(?<!0)0+Z$/, 'Z')
}

/** Kept as text: a time read from a file may have nanoseconds and an offset, which a Date would lose. */
const Time = z.string().refine(isTime, 'not an RFC 3339 time')

// Not z.record: that drops a key named `__proto__`, and copies every map.
const JsonMap = z.custom<Record<string, unknown>>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  'not an object',
)

export const RunToolCall = z.object({
  id: OptionalText,
  name: Text,
  /** Null where the Go program gave no map at all. */
  input: JsonMap.nullable(),
  output: OptionalText,
  error: OptionalText,
})
export type RunToolCall = z.infer<typeof RunToolCall>

export const RunTurn = z.object({
  id: Whole,
  role: Text,
  content: Text,
  tokensIn: OptionalWhole,
  tokensOut: OptionalWhole,
  timestamp: Time,
  toolCalls: z.array(RunToolCall).optional(),
  durationMs: OptionalWhole,
})
export type RunTurn = z.infer<typeof RunTurn>

export const RunMeta = z.object({
  flowId: Text,
  nodeId: OptionalText,
  input: JsonMap.optional(),
  startedAt: Time,
  endedAt: Time,
  status: Text,
  totalTokensIn: Whole,
  totalTokensOut: Whole,
  totalCost: Amount,
  error: OptionalText,
})
export type RunMeta = z.infer<typeof RunMeta>

/** What `transcript.json` holds. */
export const RunTranscriptFile = z.object({
  runId: Text,
  metadata: RunMeta,
  turns: z.array(RunTurn),
})
export type RunTranscriptFile = z.infer<typeof RunTranscriptFile>
