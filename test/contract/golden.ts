// What the scripted model really said, and which of it the items do not hold.
import type { EventItem, Item, UsageItem } from '../../src/adapters/adapter.ts'

interface Response {
  queue: string
  http_status: number
  text: string | null
  thinking: string | null
  tool_calls: { id: string }[]
  usage: Record<'input' | 'cache_read' | 'cache_write' | 'output' | 'reasoning', number> | null
  streamed: string | null
}

export interface Expected {
  invocations: { prompt: string | null; prompts?: string[]; session_id: string | null }[]
  responses: Response[]
}

export interface GoldenOptions {
  /** Which of the script's responses are the session's own: of a title or a summary most clients write nothing down. */
  queues?: RegExp
  /** The counters that the client's wire has a number for. */
  counters?: readonly Counter[]
}

/** One line per thing that was said and is not found, or counted and counted otherwise. */
export function missing(
  expected: Expected,
  items: readonly Item[],
  { queues = /^(?:main|sub)/, counters = COUNTERS }: GoldenOptions = {},
): string[] {
  const events = items.filter((item): item is EventItem => item.type === 'event')
  const said = (...kinds: string[]): string[] =>
    events.filter(({ kind }) => kinds.includes(kind)).map((event) => (event.said ?? '').trim())
  const whole = expected.responses.filter(
    ({ streamed, queue }) => streamed === 'complete' && queues.test(queue),
  )
  const prompts = expected.invocations.flatMap(
    ({ prompt, prompts }) => prompts ?? (prompt === null ? [] : [prompt]),
  )
  const lost = (what: string, wanted: string[], found: string[]): string[] =>
    [...new Set(wanted.map((text) => text.trim()))]
      .filter((text) => !found.includes(text))
      .map((text) => `${what}: ${text.slice(0, 60)}`)
  const ids = (role: 'assistant' | 'tool'): string[] =>
    events.flatMap((event) => (event.role === role ? (event.callId ?? []) : []))
  const calls = whole.flatMap(({ tool_calls }) => tool_calls.map(({ id }) => id))
  const sessions = expected.invocations.flatMap(({ session_id }) => session_id ?? [])
  const known = items.flatMap((item) => ('session' in item ? item.session : []))
  return [
    ...lost('session', sessions, known),
    ...lost('prompt', prompts, said('user_msg', 'human_intervention')),
    ...lost(
      'answer',
      whole.flatMap(({ text }) => text || []),
      said('assistant_msg', 'completion', 'lifecycle'),
    ),
    ...lost(
      'thinking',
      whole.flatMap(({ thinking }) => thinking || []),
      said('thinking'),
    ),
    ...calls.filter((id) => !ids('assistant').some((one) => one.includes(id))).map((id) => `call: ${id}`),
    ...calls.filter((id) => !ids('tool').some((one) => one.includes(id))).map((id) => `result: ${id}`),
    ...tokenDifferences(whole, items, counters),
  ]
}

export type Counter = 'input' | 'cache_read' | 'cache_write' | 'output'
const COUNTERS: readonly Counter[] = ['input', 'cache_read', 'cache_write', 'output']

/** Every response once, whatever file tells of it. */
function tokenDifferences(
  responses: readonly Response[],
  items: readonly Item[],
  counters: readonly Counter[],
): string[] {
  const usage = new Map<string, UsageItem>()
  for (const item of items) {
    if (item.type !== 'usage' || item.nested) continue
    const known = usage.get(item.id)
    if (item.isRepetition) usage.delete(item.id)
    else if (!known || item.isLatest || item.output >= known.output) usage.set(item.id, item)
  }
  const sum = { input: 0, cache_read: 0, cache_write: 0, output: 0 }
  for (const one of usage.values()) {
    sum.input += one.input
    sum.cache_read += one.cacheRead
    sum.cache_write += one.cacheWrite5m + one.cacheWrite1h
    sum.output += one.output
  }
  return counters.flatMap((name) => {
    const wanted = responses.reduce((total, response) => total + (response.usage?.[name] ?? 0), 0)
    return wanted === sum[name] ? [] : [`tokens: ${name} ${sum[name]} of ${wanted}`]
  })
}
