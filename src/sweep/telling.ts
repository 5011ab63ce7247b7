// Makes sessions of what was read: settles it and digests it, while the writer waits for more of it; what that leaves is seen
// to now and then, and at the end. So little is left to do when all is read, and nobody waits long for what came first.
import { ADAPTERS } from '../adapters/index.ts'
import { placeResolver } from '../sources/place.ts'
import { addProblem } from '../sources/problem.ts'
import type { Store } from '../store/store.ts'
import { analyze, analyzeThese } from './analyze.ts'
import type { SweepOptions } from './index.ts'
import type { SweepReport } from './report.ts'

/** Where the writer never waits: what came in is told after so long, then after half of the time that has gone by. */
const FIRST_TOLD_MS = 2000
/** Sessions that are digested before it is looked whether there is more to write. */
const AT_ONCE = 16

type Options = Pick<SweepOptions, 'config' | 'adapters' | 'signal'>

export class Telling {
  readonly #store: Store
  readonly #options: Options
  readonly #report: SweepReport
  /** Written and committed, but not settled; settled, but not digested. */
  readonly #written = new Set<string>()
  readonly #settled = new Set<string>()
  readonly #begunAt = performance.now()
  #toldAt = this.#begunAt

  constructor(store: Store, options: Options, report: SweepReport) {
    this.#store = store
    this.#options = options
    this.#report = report
  }

  /** Whether there are sessions that nobody has been told of for long. */
  get isDue(): boolean {
    const pause = Math.max(FIRST_TOLD_MS, (this.#toldAt - this.#begunAt) / 2)
    return performance.now() - this.#toldAt >= pause
  }

  get hasNews(): boolean {
    return this.#written.size > 0
  }

  /** Sessions that were written to and committed. */
  add(uids: Iterable<string>): void {
    for (const uid of uids) this.#written.add(uid)
  }

  /** Of these payloads are still to be written; they come again when they are. */
  withdraw(uids: { has(uid: string): boolean }): void {
    for (const uid of this.#settled) if (uids.has(uid)) this.#settled.delete(uid)
  }

  /** To be called where everything that was written is committed. */
  settle(): void {
    const { config, adapters } = this.#options
    const place = placeResolver(config.get('domains'), [...ADAPTERS, ...adapters])
    this.#report.settledCount += this.#store.ingest.settle(place)
    const { countUnfolded } = this.#store.reader.digests
    for (const uid of this.#written) if (countUnfolded(uid) > 0) this.#settled.add(uid)
    this.#written.clear()
  }

  /** Digests some of what is settled; false when none is left. */
  async next(): Promise<boolean> {
    const uids = [...this.#settled].slice(0, AT_ONCE)
    if (uids.length === 0) return false
    for (const uid of uids) this.#settled.delete(uid)
    await this.#count(analyzeThese(this.#store, uids, this.#options.config, this.#digesting))
    return true
  }

  async tellAll(): Promise<void> {
    this.settle()
    this.#settled.clear()
    await this.#count(analyze(this.#store, this.#options.config, this.#digesting))
  }

  async #count(digested: Promise<number>): Promise<void> {
    this.#report.digestedCount += await digested
    if (this.#settled.size === 0) this.#toldAt = performance.now()
  }

  get #digesting(): Parameters<typeof analyze>[2] & object {
    return {
      signal: this.#options.signal,
      onUnread: (path, count) =>
        addProblem(this.#report, {
          path,
          code: 'CORRUPT',
          reason: `${count === 1 ? '1 body' : `${count} bodies`} cannot be read`,
          hint: 'recollect verify tells what is damaged, recollect sweep --repair reads it again',
        }),
    }
  }
}
