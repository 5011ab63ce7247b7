// Follows each tool call of updates.jsonl from its first sight to its result. Updates in between repeat the output so
// far: only the last of them is kept, in memory, and shown only if the result never comes.

import type { Item } from '../adapter.ts'
import { remember } from '../kit/bounded.ts'
import { closeCall, openCall } from '../kit/calls.ts'
import { isRecord, str } from '../kit/guards.ts'
import type { Session } from './facts.ts'
import type { State } from './state.ts'
import {
  actOf,
  type CallEnd,
  callPayload,
  callSummary,
  filesTouched,
  hasInput,
  outcomeOf,
  toolFacts,
} from './tools.ts'
import { eventOf, parseUpdate, type Update } from './updates.ts'

const MAX_CALLS = 256

export class Calls {
  readonly #session: Session
  readonly #state: State
  readonly #reread: (offset: number, length: number) => Record<string, unknown> | undefined
  /** Latest output of calls that still run, by call id. */
  readonly #partial = new Map<string, Update>()

  constructor(
    session: Session,
    state: State,
    reread: (offset: number, length: number) => Record<string, unknown> | undefined,
  ) {
    this.#session = session
    this.#state = state
    this.#reread = reread
  }

  *update(update: Update): Generator<Item> {
    const state = this.#state
    const id = str(update.body['toolCallId']) ?? String(update.body['toolCallId'] ?? update.key)
    const known = state.openCalls.find((call) => call[0] === id)
    const status = update.body['status']
    const isEnd = status === 'completed' || status === 'failed'
    if (update.kind === 'tool_call' && !known) {
      state.closedCalls = state.closedCalls.filter((closed) => closed !== id)
      yield* this.#open(id, update, update.key)
    } else if (!known) {
      // Repetition after the end says nothing new; the first sight of a call may be an update.
      if (state.closedCalls.includes(id)) return
      yield* this.#open(id, update, update.key)
    } else if (!known[2] && hasInput(update.body['rawInput'])) {
      state.openCalls = state.openCalls.filter((call) => call !== known)
      const tool = this.#toolOf(id, update)
      state.book.open = state.book.open.filter((entry) => entry[0] !== id)
      yield* this.#open(id, update, known[1], tool)
    }
    if (isEnd) yield* this.#close(id, update)
    else if (update.body['rawOutput'] !== undefined) this.#partial.set(id, update)
  }

  #toolOf(id: string, update: Update): string {
    return this.#state.book.open.find((entry) => entry[0] === id)?.[1] ?? toolFacts(update.body).name
  }

  *#open(id: string, update: Update, key: string, name?: string): Generator<Item> {
    const tool = toolFacts(update.body, name)
    const ts = update.ts
    const kind = openCall(this.#state.book, {
      id,
      tool: tool.name,
      input: tool.input,
      ts,
      edits: tool.edits,
      command: tool.command,
    })
    remember(this.#state.openCalls, [id, key, hasInput(tool.input)], MAX_CALLS)
    const meta = isRecord(update.body['_meta']) ? update.body['_meta'] : {}
    const files = filesTouched(update.body)
    yield eventOf(this.#session, update, {
      key,
      kind,
      // A command typed behind `!` is run by the person, not by the model.
      role: meta['bash_mode'] === true ? 'user' : 'assistant',
      tool: tool.name,
      callId: id,
      summary: callSummary(tool),
      act: actOf(tool, update.body['content']),
      payload: callPayload(update.body, tool),
      ...(files ? { files } : {}),
    })
  }

  *#close(id: string, update: Update): Generator<Item> {
    const state = this.#state
    const open = state.openCalls.find((call) => call[0] === id)
    const key = resultKey(open?.[1] ?? update.key)
    const told = state.endedCalls.find(([one]) => one === id)?.[1]
    const tool = this.#toolOf(id, update)
    const outcome = outcomeOf(this.#session, update.body, told)
    const closed = closeCall(state.book, id, outcome.kind === 'error', update.ts)
    state.openCalls = state.openCalls.filter((call) => call[0] !== id)
    state.endedCalls = state.endedCalls.filter(([one]) => one !== id)
    this.#partial.delete(id)
    remember(state.closedCalls, id, 64)
    if (told === undefined && (!outcome.certain || outcome.kind === 'error')) {
      const { offset, length } = update
      remember(state.doubtful, { id, key, offset, length, tool, durationMs: closed?.durationMs ?? null }, 64)
    }
    yield this.#result(id, key, tool, update, outcome, closed?.durationMs ?? null)
  }

  #result(
    id: string,
    key: string,
    tool: string,
    update: Update,
    outcome: ReturnType<typeof outcomeOf>,
    durationMs: number | null,
  ): Item {
    const files = filesTouched(update.body)
    return eventOf(this.#session, update, {
      key,
      kind: outcome.kind,
      role: 'tool',
      tool,
      callId: id,
      summary: outcome.summary,
      state: outcome.state,
      ...(outcome.text === '' ? {} : { said: outcome.text }),
      payload: outcome.payload,
      ...(outcome.exitCode === undefined ? {} : { exitCode: outcome.exitCode }),
      ...(durationMs === null ? {} : { durationMs }),
      ...(files ? { files } : {}),
    })
  }

  /** events.jsonl says how the call ended: what was given out otherwise is given out again. */
  *ended(id: string, how: CallEnd): Generator<Item> {
    const state = this.#state
    const result = state.doubtful.find((one) => one.id === id)
    if (!result) {
      if (!state.closedCalls.includes(id)) remember(state.endedCalls, [id, how], 64)
      return
    }
    state.doubtful = state.doubtful.filter((one) => one !== result)
    const record = this.#reread(result.offset, result.length)
    const update = record && parseUpdate(this.#session, record, 0, result)
    if (!update) return
    const outcome = outcomeOf(this.#session, update.body, how)
    yield this.#result(id, result.key, result.tool, update, outcome, result.durationMs)
  }

  /** The last output of calls that have no result (yet). */
  *unfinished(): Generator<Item> {
    for (const [id, update] of this.#partial) {
      const open = this.#state.openCalls.find((call) => call[0] === id)
      if (!open) continue
      const tool = this.#toolOf(id, update)
      const outcome = outcomeOf(this.#session, update.body, { state: 'cut', isFailed: false })
      outcome.kind = 'tool_result'
      outcome.summary = `unfinished: ${outcome.summary}`
      // While a command runs the client writes 0 there.
      outcome.exitCode = undefined
      yield this.#result(id, resultKey(open[1]), tool, update, outcome, null)
    }
    this.#partial.clear()
  }
}

const resultKey = (callKey: string): string => `${callKey}:result`
