// How the conversation stands at its end: who had the last word, which calls are still open, how the last turn went.
// Only the main chain counts: a sub-agent's end is not the session's.
import { isCall, isEdit, isInstruction } from '../model.ts'
import { type DigestEvent, isRefusal, isResult, isStop } from './event.ts'
import { addSeq, cited, noSeqs, type Seqs } from './seqs.ts'

export type Beat = 'prompt' | 'answer' | 'work' | 'interrupt' | 'cut' | 'error' | 'completion'

export interface EndingFacts {
  last: { what: Beat; seq: number } | null
  /** Of the conversation, whatever it is. */
  lastSeq: number | null
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
  /** Edits that did not fail. */
  editCount: number
  /** The last call that came to an end failed, or was refused, and was not only to look at something. */
  hasLastFailed: boolean
  /** True when the session has no earlier turn. */
  isOnly: boolean
}

/** Plain data, so that it can be kept and gone on from. */
export interface EndingState {
  last: EndingFacts['last']
  lastSeq: number | null
  promptSeq: number | null
  turnCount: number
  turn: { callCount: number; editCount: number; failed: Seqs; hasLastFailed: boolean }
  /** By call. */
  open: Map<string, number>
  /** Those of them that edit. */
  openEdits: string[]
}

/** Of more calls without a result the first are let go. */
const MAX_OPEN = 64

export const newEnding = (): EndingState => ({
  last: null,
  lastSeq: null,
  promptSeq: null,
  turnCount: 0,
  turn: newTurn(),
  open: new Map(),
  openEdits: [],
})

export class Ending {
  readonly #now: EndingState

  constructor(state: EndingState) {
    this.#now = state
  }

  /** `hasFailed`: of a result, as far as it is one to be called a failure; `isLook`: of one that failed, and changes nothing. */
  add(event: DigestEvent, hasFailed: boolean, isLook: boolean): void {
    if (event.isSidechain || event.isPart) return
    this.#now.lastSeq = event.seq
    if (isInstruction(event)) return
    if (event.kind === 'user_msg') this.#begin(event.seq)
    else if (isCall(event)) this.#call(event)
    else if (isResult(event)) {
      this.#result(event, hasFailed, isLook)
      // Some sub-agents hand in what they found by a call.
      if (event.mark === 'turn-end' && !hasFailed) this.#complete(event)
    } else if (isStop(event)) this.#now.last = { what: 'interrupt', seq: event.seq }
    else if (event.kind === 'assistant_msg') this.#now.last = { what: 'answer', seq: event.seq }
    else if (event.kind === 'error' && event.call === null && event.mark !== 'hook')
      // What failed in the background is the end of a call, not of the conversation.
      this.#now.last = { what: 'error', seq: event.seq }
    else if (event.mark === 'turn-end') this.#complete(event)
    else if (event.mark === 'shutdown') this.#now.last = { what: 'cut', seq: event.seq }
  }

  finish(): EndingFacts {
    const { last, lastSeq, promptSeq, open, turn, turnCount } = this.#now
    const { callCount, editCount, failed, hasLastFailed } = turn
    return {
      last,
      lastSeq,
      promptSeq,
      openCalls: [...open.values()],
      turn: {
        callCount,
        failedCount: failed.count,
        failedSeqs: cited(failed),
        editCount,
        hasLastFailed,
        isOnly: turnCount <= 1,
      },
    }
  }

  #begin(seq: number): void {
    this.#now.promptSeq = seq
    this.#now.turnCount++
    this.#now.turn = newTurn()
    this.#now.open.clear()
    this.#now.openEdits = []
    this.#now.last = { what: 'prompt', seq }
  }

  #call(event: DigestEvent): void {
    // A command a person ran behind `!` is not the agent's work.
    if (event.role === 'user') return
    this.#now.turn.callCount++
    if (isEdit(event)) {
      this.#now.turn.editCount++
      if (event.call !== null) this.#now.openEdits.push(event.call)
      if (this.#now.openEdits.length > MAX_OPEN) this.#now.openEdits.shift()
    }
    const { open } = this.#now
    if (event.call !== null) open.set(event.call, event.seq)
    if (open.size > MAX_OPEN) open.delete(open.keys().next().value as string)
    this.#now.last = { what: 'work', seq: event.seq }
  }

  #result(event: DigestEvent, hasFailed: boolean, isLook: boolean): void {
    if (event.call !== null) this.#now.open.delete(event.call)
    const edit = event.call === null ? -1 : this.#now.openEdits.indexOf(event.call)
    if (edit !== -1) {
      this.#now.openEdits.splice(edit, 1)
      if (hasFailed || event.state === 'cut') this.#now.turn.editCount--
    }
    const refused = isRefusal(event)
    if (hasFailed) addSeq(this.#now.turn.failed, event.seq)
    // What could not be looked at says nothing of the work before it.
    if (!(hasFailed && isLook)) this.#now.turn.hasLastFailed = hasFailed
    // The client's word about the end of the turn may stand before a result that came late.
    if (this.#now.last?.what !== 'error')
      this.#now.last = { what: refused ? 'interrupt' : 'work', seq: event.seq }
  }

  /** The client says that the turn is over: then a missing answer is no sign of a kill. */
  #complete(event: DigestEvent): void {
    const what = this.#now.last?.what
    if (what === undefined || what === 'error' || what === 'interrupt' || what === 'cut') return
    this.#now.open.clear()
    this.#now.last = { what: 'completion', seq: event.seq }
  }
}

const newTurn = (): EndingState['turn'] => ({
  callCount: 0,
  editCount: 0,
  failed: noSeqs(),
  hasLastFailed: false,
})
