// A call with what became of it. Calls are added up in the order they were made, once their result is known; the few
// that wait for one are kept as they are.
import type { Deed } from '../model.ts'
import type { DigestEvent } from './event.ts'
import type { Failing } from './failing.ts'
import type { Keeps } from './kept.ts'

export interface Step {
  seq: number
  call: string | null
  does: Deed | null
  tool: string
  subject: string
  /** The whole of a command, or what a sub-agent was told; cut where it is very long. */
  asked: string
  files: readonly string[]
  /** Of a command: the files it writes, as far as its text tells. */
  writes: readonly string[]
  isTest: boolean
  /** It may have run tests; its output shows it. */
  mayTest: boolean
  /** Of a test: its exit code is not that of the tests. */
  hidesExit: boolean
  keeps: Keeps | null
  isSidechain: boolean
  /** Null while no result is known. */
  hasFailed: boolean | null
  exitCode: number | null
  /** Its result tells nothing: it goes on in the background, or was cut off. */
  isOpen: boolean
  /** The failure it came to, also one that its end hides. */
  failure: Failing | null
  /** It looked for something, and it was not there. */
  foundNothing: boolean
  /** Of a check: it was run to see it fail. */
  isMeantToFail: boolean
}

/** Steps behind one that has no result wait with it, so many at most; then it is passed over. */
const MAX_WAITING = 64
const MAX_LATE = 64

export interface OpenSteps {
  /** In order; the first of them has no result yet. */
  waiting: Step[]
  /** Passed over: added up when the result comes, or at the end. */
  late: Step[]
}

export class StepQueue {
  readonly #open: OpenSteps
  readonly #byCall = new Map<string, Step>()
  readonly #add: (step: Step) => void

  constructor(open: OpenSteps, add: (step: Step) => void) {
    this.#open = open
    this.#add = add
    for (const step of [...open.late, ...open.waiting])
      if (step.call !== null && step.hasFailed === null) this.#byCall.set(step.call, step)
  }

  begin(step: Step): void {
    this.#open.waiting.push(step)
    if (step.call !== null) this.#byCall.set(step.call, step)
    this.#flow()
  }

  /** The step a result belongs to; the first result ends it. */
  find(call: string | null): Step | undefined {
    return call === null ? undefined : this.#byCall.get(call)
  }

  /** After its result was noted in the step. */
  end(step: Step): void {
    if (step.call !== null) this.#byCall.delete(step.call)
    const { late } = this.#open
    const at = late.indexOf(step)
    if (at === -1) this.#flow()
    else {
      late.splice(at, 1)
      this.#add(step)
    }
  }

  /** Adds up what is left: calls without a result, and what waits behind them. */
  drain(): void {
    const { waiting, late } = this.#open
    for (const step of [...late.splice(0), ...waiting.splice(0)]) this.#add(step)
  }

  #flow(): void {
    const { waiting, late } = this.#open
    for (let first = waiting[0]; first; first = waiting[0]) {
      const isEnded = first.hasFailed !== null || first.call === null
      if (!isEnded && waiting.length <= MAX_WAITING) return
      waiting.shift()
      if (isEnded) this.#add(first)
      else late.push(first)
      if (late.length > MAX_LATE) this.#giveUp(late.shift() as Step)
    }
  }

  #giveUp(step: Step): void {
    if (step.call !== null && this.#byCall.get(step.call) === step) this.#byCall.delete(step.call)
    this.#add(step)
  }
}

/** What a sub-agent was told to do: in short, and in full. */
export function toldAgent(subject: string, event: DigestEvent): string {
  const input = event.body()?.input
  const prompt = typeof input === 'object' && input !== null && 'prompt' in input ? input.prompt : ''
  return typeof prompt === 'string' ? `${subject}\n${prompt}` : subject
}
