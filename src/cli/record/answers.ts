// The answers on stdout. Waits while their reader is slow; a reader that went away is no reason to stop recording.
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { errnoOf, fromSystem, type RecollectError } from '../../errors.ts'

/** How long a signal waits for a reader to take the answers that are left. */
const DRAIN_MS = 2000

export class Answers {
  readonly #stream: NodeJS.WriteStream
  readonly #interrupt: AbortSignal
  #lost = false
  /** Why answers could not be delivered, if not because their reader went away. */
  failure: RecollectError | undefined

  constructor(stream: NodeJS.WriteStream, interrupt: AbortSignal) {
    this.#stream = stream
    this.#interrupt = interrupt
    stream.on('error', (error) => {
      this.#lost = true
      if (errnoOf(error) === 'EPIPE') return
      this.failure ??= fromSystem(error, 'cannot write answers; the lines were recorded', 'stdout')
    })
  }

  /** Resolves when there is room for another answer, or nobody to read it. */
  async send(answer: Record<string, unknown>): Promise<void> {
    if (this.#lost || this.#stream.write(`${JSON.stringify(answer)}\n`)) return
    await this.#room(this.#interrupt)
  }

  /** Waits until the answers are taken, but not for ever. */
  async drain(): Promise<void> {
    if (this.#lost || this.#stream.writableLength === 0) return
    await Promise.race([this.#room(), sleep(DRAIN_MS)])
  }

  async #room(signal?: AbortSignal): Promise<void> {
    // Rejects on `error`, which the listener above has seen, and on the signal, which ends the loop.
    await once(this.#stream, 'drain', signal ? { signal } : {}).catch(() => undefined)
  }
}
