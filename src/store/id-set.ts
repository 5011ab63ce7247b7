// A set of row numbers, one bit each: of a million sessions their names would take a hundred megabytes. In pieces, because a
// damaged database may name any number.

const PER_PIECE = 1 << 16

export class IdSet {
  readonly #pieces = new Map<number, Uint8Array>()
  #size = 0

  get size(): number {
    return this.#size
  }

  add(id: number): void {
    if (this.has(id)) return
    const number = Math.floor(id / PER_PIECE)
    const piece = this.#pieces.get(number) ?? new Uint8Array(PER_PIECE / 8)
    this.#pieces.set(number, piece)
    const at = id - number * PER_PIECE
    piece[at >> 3] = (piece[at >> 3] as number) | (1 << (at & 7))
    this.#size++
  }

  has(id: number): boolean {
    const number = Math.floor(id / PER_PIECE)
    const at = id - number * PER_PIECE
    return ((this.#pieces.get(number)?.[at >> 3] ?? 0) & (1 << (at & 7))) !== 0
  }
}
