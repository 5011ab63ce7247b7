// Doctor's findings for whoever looks at the page. They are about files all over the machine, so no commit tells when they
// change: an answer is kept for a while, and several who ask at once share one examination.
import type { DoctorDocument, DoctorOptions } from '../../doctor/index.ts'

const KEPT_MS = 30_000

export class Doctor {
  readonly #env: DoctorOptions['env']
  #answer: Promise<DoctorDocument> | undefined
  #askedAt = 0

  constructor(env: DoctorOptions['env']) {
    this.#env = env
  }

  ask(): Promise<DoctorDocument> {
    if (this.#answer === undefined || Date.now() - this.#askedAt > KEPT_MS) {
      this.#askedAt = Date.now()
      this.#answer = examined(this.#env)
      this.#answer.catch(() => this.forget())
    }
    return this.#answer
  }

  /** What was found may be mended now. */
  forget(): void {
    this.#answer = undefined
  }
}

/** Loaded when first asked: it brings all of the adapters with it. */
async function examined(env: DoctorOptions['env']): Promise<DoctorDocument> {
  const { doctorDocument, examine } = await import('../../doctor/index.ts')
  return doctorDocument(await examine({ env }))
}
