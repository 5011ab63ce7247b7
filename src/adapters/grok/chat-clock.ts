// When the words of a chat were said. chat_history.jsonl has no times; events.jsonl has those of each turn: when it began,
// when each answer of the model came, when each tool was started and how it ended. Followed item by item.
import { existsSync } from 'node:fs'
import { RecollectError } from '../../errors.ts'
import { readJsonl } from '../../files/jsonl.ts'
import { num, str, time } from '../kit/guards.ts'
import { MAX_LINE_BYTES, MAX_VALUES } from '../kit/lines.ts'
import { endOf } from './events.ts'
import type { CallEnd } from './tools.ts'

/** One answer of the model. */
interface Answer {
  /** Its first word; before one came, when it was asked for. */
  at: number
  hasBegun: boolean
  textAt: number | null
  /** Starts of its tools, in the order of its calls. */
  toolsAt: number[]
  /** Calls that ended before the next answer was asked for. */
  calls: string[]
}

interface Turn {
  at: number
  answers: Answer[]
  /** A person stopped it, or refused what it asked for. */
  isStopped: boolean
}

interface ToolEnd extends CallEnd {
  at: number
  durationMs: number | undefined
}

/** Beyond these a session's later words have no times. */
const [MAX_TURNS, MAX_CALLS] = [10_000, 100_000]

export class ChatClock {
  readonly #turns = new Map<number, Turn>()
  readonly #ends = new Map<string, ToolEnd>()
  #turn: Turn | undefined
  #before: Turn | undefined
  /** Place of the present answer in its turn. */
  #answer = -1
  #startedCount = 0
  #promptCount = 0
  #isRewritten = false

  /** Without a path it knows no time. */
  constructor(events?: string) {
    if (events === undefined || !existsSync(events)) return
    try {
      const limits = { maxLineBytes: MAX_LINE_BYTES, maxValues: MAX_VALUES }
      for (const item of readJsonl(events, limits)) if ('record' in item) this.#learn(item.record)
    } catch (error) {
      // Named when its rows are read.
      if (!(error instanceof RecollectError)) throw error
    }
    this.#turn = undefined
  }

  #learn(row: Record<string, unknown>): void {
    const at = time(row['ts'])
    if (at === null || row['source'] === 'workspace') return
    const turn = this.#turn
    const answer = turn?.answers.at(-1)
    switch (row['type']) {
      case 'turn_started':
        this.#turn = { at, answers: [], isStopped: false }
        // One that was rewound to has the number of the one it replaces.
        if (this.#turns.size < MAX_TURNS) this.#turns.set(num(row['turn_number']) ?? -1, this.#turn)
        return
      case 'loop_started':
        turn?.answers.push({ at, hasBegun: false, textAt: null, toolsAt: [], calls: [] })
        return
      case 'first_token':
        if (answer && !answer.hasBegun) Object.assign(answer, { at, hasBegun: true })
        return
      case 'phase_changed':
        if (answer && row['phase'] === 'streaming_text') answer.textAt ??= at
        return
      case 'tool_started':
        answer?.toolsAt.push(at)
        return
      case 'tool_completed':
        this.#learnEnd(row, at, answer)
        return
      case 'permission_resolved':
        if (turn && row['decision'] !== 'allow') turn.isStopped = true
        return
      case 'turn_ended':
        if (turn && row['outcome'] === 'cancelled') turn.isStopped = true
    }
  }

  #learnEnd(row: Record<string, unknown>, at: number, answer: Answer | undefined): void {
    const id = str(row['tool_call_id'])
    if (id === undefined || this.#ends.size >= MAX_CALLS) return
    this.#ends.set(id, { at, durationMs: num(row['duration_ms']), ...endOf(row['outcome']) })
    answer?.calls.push(id)
  }

  /** A compaction wrote the chat anew: its prompts are not those of the first turns. */
  noteRewrite(): void {
    this.#isRewritten = true
  }

  /** A prompt begins the turn with its index. Old chats number nothing: there prompts are counted, if they `mayCount`. */
  prompt(index: number | undefined, mayCount: boolean): number | null {
    const number = index ?? (mayCount && !this.#isRewritten ? this.#promptCount : undefined)
    if (mayCount) this.#promptCount++
    this.#before = this.#turn
    this.#turn = number === undefined ? undefined : this.#turns.get(number)
    this.#answer = -1
    return this.#turn?.at ?? null
  }

  /** Whether the turn before the present one is known to have been stopped. */
  get wasStopped(): boolean {
    return this.#before?.isStopped ?? false
  }

  /** What stands before the words of an answer. */
  thought(): number | null {
    return this.#turn?.answers[this.#answer + 1]?.at ?? null
  }

  /** The next answer; where its calls are known, the one that made them. */
  answer(calls: readonly string[]): number | null {
    const answers = this.#turn?.answers ?? []
    const known = answers.findIndex(
      (one, at) => at > this.#answer && one.calls.some((id) => calls.includes(id)),
    )
    this.#answer = known === -1 ? this.#answer + 1 : known
    this.#startedCount = 0
    const answer = answers[this.#answer]
    return answer ? (answer.textAt ?? answer.at) : null
  }

  /** The next call of the present answer. */
  call(): number | null {
    return this.#turn?.answers[this.#answer]?.toolsAt[this.#startedCount++] ?? null
  }

  end(call: string): ToolEnd | undefined {
    return this.#ends.get(call)
  }
}
