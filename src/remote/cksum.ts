// The checksum that every POSIX system computes (`cksum`): CRC-32 of the bytes and then of their count.

const TABLE = Uint32Array.from({ length: 256 }, (_, at) => {
  let value = at << 24
  for (let bit = 0; bit < 8; bit++) value = (value << 1) ^ (value < 0 ? 0x04c11db7 : 0)
  return value >>> 0
})

export class Cksum {
  #value = 0
  #count = 0

  get count(): number {
    return this.#count
  }

  add(bytes: Uint8Array): void {
    let value = this.#value
    for (let at = 0; at < bytes.length; at++)
      value = (value << 8) ^ (TABLE[((value >>> 24) ^ (bytes[at] as number)) & 0xff] as number)
    this.#value = value
    this.#count += bytes.length
  }

  /** As the program prints it: checksum and count. */
  toString(): string {
    let value = this.#value
    for (let rest = this.#count; rest > 0; rest = Math.floor(rest / 256))
      value = (value << 8) ^ (TABLE[((value >>> 24) ^ (rest % 256)) & 0xff] as number)
    return `${~value >>> 0} ${this.#count}`
  }
}
