// How the conversation stands at its end: who had the last word, which calls are still open, how the last turn went.
// Only the main chain counts: a sub-agent's end is not the session's.
import { type DigestEvent, isCall, isResult } from './event.ts'

export type Beat = 'prompt' | 'answer' | 'work' | 'interrupt' | 'error' | 'completion'

export interface EndingFacts {
  last: { what: Beat; seq: number } | null
  /** Where the last turn began. */
  promptSeq: number | null
  /** Calls of the last turn without a result. */
  openCalls: number[]
  turn: TurnFacts
}

export interface TurnFacts {
  callCount: number
  failedCount: number
  failedSeqs: number[]
  editCount: number
  /** True when the session has no earlier turn. */
  isOnly: boolean
}

const STOPPED = /\b(?:interrupted|aborted|cancelled|canceled|rejected)\b/i

export class Ending {
  #last: EndingFacts['last'] = null
  #promptSeq: number | null = null
  /** A slash command: a prompt if work follows, else only housekeeping (`/exit`, `/compact`). */
  #command: number | null = null
  #turnCount = 0
  #turn = newTurn()
  readonly #open = new Map<string, number>()

  add(event: DigestEvent): void {
    if (event.isSidechain) return
    if (event.kind === 'user_msg') this.#begin(event.seq, 'prompt')
    else if (isCall(event)) this.#call(event)
    else if (isResult(event)) this.#result(event)
    else if (event.kind === 'human_intervention') this.#intervene(event)
    else if (event.kind === 'assistant_msg') {
      this.#useCommand()
      this.#last = { what: 'answer', seq: event.seq }
    } else if (event.kind === 'error' && !/\bhook\b/i.test(event.summary))
      this.#last = { what: 'error', seq: event.seq }
    else if (event.kind === 'completion') this.#complete(event)
  }

  finish(): EndingFacts {
    return {
      last: this.#last,
      promptSeq: this.#promptSeq,
      openCalls: [...this.#open.values()],
      turn: { ...this.#turn, isOnly: this.#turnCount <= 1 },
    }
  }

  #begin(seq: number, what: 'prompt' | null): void {
    this.#promptSeq = seq
    this.#command = null
    this.#turnCount++
    this.#turn = newTurn()
    this.#open.clear()
    if (what) this.#last = { what, seq }
  }

  #useCommand(): void {
    if (this.#command !== null) this.#begin(this.#command, null)
  }

  #call(event: DigestEvent): void {
    // A command a person ran behind `!` is not the agent's work.
    if (event.role === 'user') return
    this.#useCommand()
    this.#turn.callCount++
    if (event.kind === 'edit') this.#turn.editCount++
    if (event.call !== null) this.#open.set(event.call, event.seq)
    this.#last = { what: 'work', seq: event.seq }
  }

  #result(event: DigestEvent): void {
    if (event.call !== null) this.#open.delete(event.call)
    const refused = event.kind === 'human_intervention'
    if (event.kind === 'error' || refused) {
      this.#turn.failedCount++
      this.#turn.failedSeqs.push(event.seq)
    }
    // The client's word about the end of the turn may stand before a result that came late.
    if (this.#last?.what !== 'error') this.#last = { what: refused ? 'interrupt' : 'work', seq: event.seq }
  }

  #intervene(event: DigestEvent): void {
    if (STOPPED.test(event.summary)) this.#last = { what: 'interrupt', seq: event.seq }
    else if (/^[/!]/.test(event.summary)) this.#command = event.seq
  }

  /** The client says that the turn is over: then a missing answer is no sign of a kill. */
  #complete(event: DigestEvent): void {
    if (!/^turn\b/i.test(event.summary)) return
    if (this.#last === null || this.#last.what === 'error' || this.#last.what === 'interrupt') return
    this.#open.clear()
    this.#last = { what: 'completion', seq: event.seq }
  }
}

const newTurn = (): TurnFacts => ({
  callCount: 0,
  failedCount: 0,
  failedSeqs: [],
  editCount: 0,
  isOnly: false,
})
