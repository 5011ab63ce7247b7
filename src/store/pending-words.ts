// Texts of events that wait for the full-text index. They go into it many in a row: every statement that SQLite guards with
// a savepoint makes FTS5 write out what it has gathered, and each time that is one more segment to merge.
import type { PreparedEvent } from './batch.ts'
import type { Statement } from './database.ts'

interface Words {
  heading: PreparedEvent['heading']
  bytes: Uint8Array
}

/** Bytes that wait, at most. */
const MAX_BYTES = 8 << 20

export class PendingWords {
  readonly #insert: Statement
  /** By event. */
  readonly #words = new Map<number, Words>()
  #bytes = 0

  constructor(insert: Statement) {
    this.#insert = insert
  }

  get isFull(): boolean {
    return this.#bytes >= MAX_BYTES
  }

  has(id: number): boolean {
    return this.#words.has(id)
  }

  add(id: number, words: Words): void {
    if (words.bytes.length === 0) return
    this.#words.set(id, words)
    this.#bytes += words.bytes.length
  }

  /** False where none of it waits. */
  delete(id: number): boolean {
    return this.#words.delete(id)
  }

  write(): void {
    for (const [id, { heading, bytes }] of this.#words) {
      this.#insert.run(
        id,
        heading === 'prompt' ? bytes : null,
        heading === 'answer' ? bytes : null,
        heading === 'work' ? bytes : null,
      )
    }
    this.clear()
  }

  clear(): void {
    this.#words.clear()
    this.#bytes = 0
  }
}
