// SIGINT and SIGTERM, for work that ends at a good place when it is told to, and that may be killed elsewhere: while it does
// not listen the system ends it at once, which a memory survives at any point.
import { type Context, createContext, Script } from 'node:vm'
import { errnoOf } from '../errors.ts'
import { EXIT } from './exit.ts'

type Ending = 'SIGINT' | 'SIGTERM'

export class Stop {
  readonly #signals: readonly Ending[]
  readonly #abort = new AbortController()
  #context: Context | undefined
  #script: Script | undefined
  #by: NodeJS.Signals | undefined
  readonly #stop = (signal: NodeJS.Signals): void => {
    this.#by = signal
    // A second one ends at once.
    this.listen(false)
    this.#abort.abort()
  }

  constructor(signals: readonly Ending[] = ['SIGINT', 'SIGTERM']) {
    this.#signals = signals
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
    for (const signal of this.#signals) process.removeListener(signal, this.#stop)
    if (isListening && this.#by === undefined)
      for (const signal of this.#signals) process.on(signal, this.#stop)
  }

  /**
   * Runs what may take without end, and hears no listener meanwhile: Ctrl-C ends it in its midst, and then counts as heard. For
   * work that only computes: what it was about to put in order stays as it is.
   */
  readonly run = <T>(work: () => T): T | undefined => {
    if (this.#by !== undefined) return undefined
    try {
      this.#context ??= createContext({})
      this.#context['work'] = work
      this.#script ??= new Script('work()')
      return this.#script.runInContext(this.#context, { breakOnSigint: true }) as T
    } catch (error) {
      if (errnoOf(error) !== 'ERR_SCRIPT_EXECUTION_INTERRUPTED') throw error
      this.#stop('SIGINT')
      return undefined
    }
  }
}
