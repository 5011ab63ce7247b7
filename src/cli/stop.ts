// SIGINT and SIGTERM, for work that ends at a good place when it is told to, and that may be killed elsewhere: while it does
// not listen the system ends it at once, which a memory survives at any point.
import { EXIT } from './exit.ts'

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

export class Stop {
  readonly #abort = new AbortController()
  #by: NodeJS.Signals | undefined
  readonly #stop = (signal: NodeJS.Signals): void => {
    this.#by = signal
    // A second one ends at once.
    this.listen(false)
    this.#abort.abort()
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** The exit code it asks for, once a signal came. */
  get exitCode(): number | undefined {
    if (this.#by === undefined) return undefined
    return this.#by === 'SIGTERM' ? EXIT.terminated : EXIT.interrupted
  }

  listen(isListening: boolean): void {
    for (const signal of SIGNALS) process.removeListener(signal, this.#stop)
    if (isListening && this.#by === undefined) for (const signal of SIGNALS) process.on(signal, this.#stop)
  }
}
