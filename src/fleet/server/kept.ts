// Answers that are asked for again within moments: kept for a while, some of them, and not where they failed.
export class Kept<T> {
  readonly #lastsMs: number
  readonly #most: number
  readonly #known = new Map<string, { until: number; answer: Promise<T> }>()

  constructor(lastsMs: number, most: number) {
    this.#lastsMs = lastsMs
    this.#most = most
  }

  get(key: string, ask: () => Promise<T>): Promise<T> {
    const known = this.#known.get(key)
    if (known && known.until > Date.now()) return known.answer
    const answer = ask()
    answer.catch(() => this.#known.delete(key))
    this.#known.delete(key)
    // The one asked for first goes first.
    const [oldest] = this.#known.keys()
    if (oldest !== undefined && this.#known.size >= this.#most) this.#known.delete(oldest)
    this.#known.set(key, { until: Date.now() + this.#lastsMs, answer })
    return answer
  }
}
