// The memory as the page's server holds it: open, with answers kept until something is committed. A server that was
// started before the first sweep finds the memory when it appears.
import type { Config } from '../../config.ts'
import { type Brief, Briefs, briefsOf } from '../../query/briefs.ts'
import { TimeZone } from '../../query/timezone.ts'
import type { Reader } from '../../store/reader/index.ts'
import { type StorePaths, storePaths } from '../../store/reading.ts'
import { SharedReader } from '../../store/shared-reader.ts'
import { overridesOf } from '../../usage/overrides.ts'
import { loadPrices, type PriceBook } from '../../usage/prices.ts'
import { FileChanges } from './file-changes.ts'

/** Bounds what is kept between two commits. */
const MAX_ANSWERS = 300

export class Memory {
  readonly config: Config
  readonly prices: PriceBook
  readonly fileChanges: FileChanges
  readonly #held: SharedReader
  #version = ''
  #answers = new Map<string, unknown>()
  #briefs = new Briefs()
  #briefsVersion = ''

  private constructor(config: Config, prices: PriceBook) {
    this.config = config
    this.prices = prices
    this.#held = new SharedReader(storePaths(config.home, config.get('store.db_path')))
    this.fileChanges = new FileChanges(this.#held.paths)
  }

  get paths(): StorePaths {
    return this.#held.paths
  }

  static async of(config: Config): Promise<Memory> {
    return new Memory(config, await loadPrices(overridesOf(config)))
  }

  /** Throws NO_MEMORY where nothing was ever swept, CORRUPT where it cannot be read. */
  handle(): Reader {
    return this.#held.handle()
  }

  /** Another value after every commit, by whatever process. */
  version(): string {
    return this.#held.version()
  }

  /** The answer to a question that was asked before, if nothing was committed since. */
  answer<T>(key: string, ask: (handle: Reader) => T): T {
    const version = this.version()
    if (version !== this.#version) {
      this.#version = version
      this.#answers.clear()
    }
    const known = this.#answers.get(key)
    if (known !== undefined) return known as T
    const fresh = ask(this.handle())
    if (this.#answers.size >= MAX_ANSWERS) this.#answers.clear()
    this.#answers.set(key, fresh)
    return fresh
  }

  /** All sessions, up to date. */
  briefs(): Briefs {
    this.refresh()
    return this.#briefs
  }

  /** One session, up to date; undefined where it is not remembered. */
  brief(uid: string): Brief | undefined {
    const line = this.briefs().find(uid)
    return line && briefsOf(this.handle(), [line])[0]
  }

  /** The sessions that changed since the last call. */
  refresh(): string[] {
    const version = this.version()
    if (version === this.#briefsVersion) return []
    // Another file holds other sessions.
    if (version.split(' ')[0] !== this.#briefsVersion.split(' ')[0]) this.#briefs = new Briefs()
    const changed = this.#briefs.refresh(this.handle(), { zone: new TimeZone('UTC'), prices: this.prices })
    this.#briefsVersion = version
    return changed
  }

  close(): void {
    this.fileChanges.close()
    this.#held.close()
    this.#version = ''
    this.#answers.clear()
  }
}
