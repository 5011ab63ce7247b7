// What the hook handler asks where an agent's event is to be answered: whether a budget is spent, and what mended a failure.
// An agent waits for it and goes on whatever happens: no error is told, and nothing to say is no output.
import { readFileSync } from 'node:fs'
import { Config } from '../config.ts'
import { recall } from '../digest/recall.ts'
import { reposAt } from '../query/meant.ts'
import { pricesFor } from '../query/prices.ts'
import { budgetState, budgetText, spendingOf } from '../query/spending.ts'
import type { Reader } from '../store/reader/index.ts'
import { openForReading, openMemory, storePaths } from '../store/reading.ts'
import { overridesOf } from '../usage/overrides.ts'
import { write } from './print.ts'

interface Said {
  hook_event_name?: unknown
  session_id?: unknown
  cwd?: unknown
  error?: unknown
  tool_response?: unknown
}

export async function answerHook(): Promise<void> {
  try {
    const said = Object(JSON.parse(readFileSync(0, 'utf8'))) as Said
    const config = new Config()
    const event = String(said.hook_event_name)
    const answer = event.startsWith('Post')
      ? await mended(config, said, event)
      : await guarded(config, said, event)
    if (answer) write(`${JSON.stringify(answer)}\n`)
  } catch {
    return
  }
}

const pathsOf = (config: Config): ReturnType<typeof storePaths> =>
  storePaths(config.home, config.get('store.db_path'))

function ownOf(handle: Reader, { session_id: id }: Said): string | undefined {
  return typeof id === 'string' ? handle.sessions.exactly(id) : undefined
}

async function guarded(config: Config, said: Said, event: string): Promise<object | undefined> {
  const budget = { daily: config.get('budget.daily'), session: config.get('budget.session') }
  if (budget.daily === 0 && budget.session === 0) return undefined
  const handle = openMemory(pathsOf(config))
  try {
    const prices = await pricesFor(handle, overridesOf(config))
    const state = budgetState(spendingOf(handle, prices, ownOf(handle, said)), budget)
    const stops = config.get('budget.action') === 'stop'
    if (!state) return undefined
    const text = budgetText(state, stops)
    if (stops && state.is_over) return { continue: false, stopReason: text, systemMessage: text }
    // Said once for each prompt, not before each call.
    return event === 'UserPromptSubmit' ? { systemMessage: text } : undefined
  } finally {
    handle.close()
  }
}

async function mended(config: Config, said: Said, event: string): Promise<object | undefined> {
  if (config.get('recall.hook') !== 'on') return undefined
  const text = failureText(said)
  if (text === '') return undefined
  const handle = openForReading(pathsOf(config))
  try {
    const own = ownOf(handle, said)
    const found = await recall(handle, text, {
      onlyMends: true,
      ...(typeof said.cwd === 'string' ? { repos: reposAt(handle, said.cwd) } : {}),
      notShown: new Set(own === undefined ? [] : [own]),
    })
    if (found.kind === null) return undefined
    return { hookSpecificOutput: { hookEventName: event, additionalContext: found.text } }
  } finally {
    handle.close()
  }
}

const MAX_TEXT = 20_000

/** What the call printed, whichever way the agent hands it on. */
function failureText({ error, tool_response: response }: Said): string {
  if (typeof error === 'string') return error.slice(0, MAX_TEXT)
  if (typeof response === 'string') return response.slice(0, MAX_TEXT)
  const parts = ['stderr', 'stdout', 'output', 'error', 'content', 'text']
    .map((name) => (Object(response) as Record<string, unknown>)[name])
    .filter((one) => typeof one === 'string')
  return parts.join('\n').slice(0, MAX_TEXT)
}
