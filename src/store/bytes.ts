// A growing run of bytes: what many small pieces are gathered in, so that each of them costs no buffer of its own and
// all of them cross to another thread as one.

const LONG_TEXT = 1 << 16

export class Bytes {
  #buffer: Buffer
  #length = 0

  constructor(capacity: number) {
    this.#buffer = Buffer.allocUnsafeSlow(capacity)
  }

  get length(): number {
    return this.#length
  }

  /** The memory behind it, good until something is added: at least `room` bytes are free after the last one. */
  reserve(room: number): Buffer {
    const needed = this.#length + room
    if (needed > this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#buffer.length * 2))
      this.#buffer.copy(larger, 0, 0, this.#length)
      this.#buffer = larger
    }
    return this.#buffer
  }

  /** Notes that so many bytes were put behind the last one; returns where they begin. */
  advance(count: number): number {
    const at = this.#length
    this.#length += count
    return at
  }

  /** Adds a text as UTF-8; half characters become U+FFFD. */
  addText(text: string): number {
    // Counting what a long text takes is cheaper than memory three times its length.
    const most = text.length > LONG_TEXT ? Buffer.byteLength(text) : text.length * 3
    return this.advance(this.reserve(most).write(text, this.#length, 'utf8'))
  }

  /** Everything so far, good until something is added. */
  get all(): Uint8Array {
    return this.#buffer.subarray(0, this.#length)
  }

  /** Everything so far, in memory of its own; then it is empty again. */
  take(capacity: number): Uint8Array {
    const whole = new Uint8Array(this.all)
    this.clear(capacity)
    return whole
  }

  /** What a large piece needed beyond the capacity is given back. */
  clear(capacity: number): void {
    this.#length = 0
    if (this.#buffer.length > 2 * capacity) this.#buffer = Buffer.allocUnsafeSlow(capacity)
  }
}
