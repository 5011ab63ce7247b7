// A set of row numbers, one bit each: of a million sessions their names would take a hundred megabytes.

export class IdSet {
  #bits = new Uint8Array(1 << 10)
  #size = 0

  get size(): number {
    return this.#size
  }

  add(id: number): void {
    if (this.has(id)) return
    const at = Math.floor(id / 8)
    if (at >= this.#bits.length) {
      const wider = new Uint8Array(Math.max(2 * this.#bits.length, at + 1))
      wider.set(this.#bits)
      this.#bits = wider
    }
    this.#bits[at] = (this.#bits[at] as number) | (1 << (id % 8))
    this.#size++
  }

  has(id: number): boolean {
    return ((this.#bits[Math.floor(id / 8)] ?? 0) & (1 << (id % 8))) !== 0
  }
}
