// What set a sweep off, and so how far it has to look; afterwards, what is written down for the next one.

import { ADAPTERS } from '../adapters/index.ts'
import type { RecollectError } from '../errors.ts'
import { DAY } from '../model.ts'
import { addProblem, problemOf } from '../sources/problem.ts'
import {
  firedOf,
  readSpoolState,
  type Spool,
  type SpoolState,
  takeSpool,
  writeSpoolState,
} from '../sources/spool.ts'
import type { SweepOptions } from './index.ts'
import type { Scope } from './plan.ts'
import type { SweepReport } from './report.ts'

/** Sweeps of what was touched may go on for so long; then everything is looked at once. */
const FULL_EVERY = DAY

const NOTHING: Spool = { lines: [], isVague: true, finish: () => undefined }

export class Capture {
  readonly scope: Scope
  readonly #home: string
  /** A sweep of one flavor, or of another machine, leaves the spool alone: hooks of others stand in it. */
  readonly #isPartial: boolean
  readonly #state: SpoolState
  readonly #spool: Spool
  readonly #startedAt = Date.now()
  #problem: Error | undefined

  /** Takes the spool: the caller holds the sweep lock. */
  constructor(home: string, options: SweepOptions) {
    this.#home = home
    this.#isPartial = options.host !== undefined || !ADAPTERS.every((one) => options.adapters.includes(one))
    this.#state = readSpoolState(home)
    this.#spool = this.#take()
    const seen = options.touched ?? []
    const isFull =
      options.touched === undefined ||
      options.full === true ||
      Math.abs(this.#startedAt - this.#state.fullAt) >= FULL_EVERY ||
      // A list of paths is complete in itself; without one, only the hooks can say.
      (seen.length === 0 && (this.#spool.isVague || this.#spool.lines.length === 0))
    this.scope = { isFull, seen, named: this.#spool.lines.flatMap((line) => line.paths) }
  }

  #take(): Spool {
    if (this.#isPartial) return NOTHING
    try {
      return takeSpool(this.#home)
    } catch (error) {
      this.#problem = error as Error
      return NOTHING
    }
  }

  /** When a sweep before this one last began by a clock that was believed; 0: never. */
  get lastSweepAt(): number {
    return this.#state.clockAt
  }

  /** Everything is committed: what hooks wrote has been seen to. */
  finish(report: SweepReport, isClockAhead: boolean): void {
    if (this.#problem) {
      const { where = this.#home } = this.#problem as Partial<RecollectError> & Error
      addProblem(report, problemOf(this.#problem, where))
    }
    if (this.#isPartial) return
    const { fired, fullAt, clockAt } = this.#state
    try {
      writeSpoolState(this.#home, {
        sweptAt: this.#startedAt,
        fullAt: this.scope.isFull ? this.#startedAt : fullAt,
        clockAt: isClockAhead ? clockAt : this.#startedAt,
        fired: { ...fired, ...firedOf(this.#spool.lines, ADAPTERS) },
      })
    } catch (error) {
      // Then the next sweep looks at more than it has to.
      addProblem(report, problemOf(error, this.#home, 'cannot write down what was swept'))
    }
    this.#spool.finish()
  }
}
