// How long one string may take. By the clock, which is cheap to ask; when that is over, by the processor time this process
// has used since, so that a machine that was busy, or a process that was stopped, makes no innocent string fail.
import { performance } from 'node:perf_hooks'

export interface Budget {
  isSpent(): boolean
}

export const UNLIMITED: Budget = { isSpent: () => false }

export class TimeBudget implements Budget {
  readonly #ms: number
  readonly #usedBefore = process.cpuUsage()
  #until: number

  constructor(ms: number) {
    this.#ms = ms
    this.#until = performance.now() + ms
  }

  /** Processor time is that of all threads: more than ours, so what never ends is ended in time. */
  isSpent(): boolean {
    const now = performance.now()
    if (now <= this.#until) return false
    const { user, system } = process.cpuUsage(this.#usedBefore)
    const leftMs = this.#ms - (user + system) / 1000
    this.#until = now + leftMs
    return leftMs <= 0
  }
}
