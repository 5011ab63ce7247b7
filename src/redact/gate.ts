// The literal gate: which literals begin at a position of a text. A table over the first three characters answers
// almost every "none" with one look; measured against the alternatives in docs/redaction.md.

const SIZE = 1 << 15
const NONE: never[] = []

/** Folds three character codes into a table index. */
function slot(a: number, b: number, c: number): number {
  return ((a << 9) ^ (b << 4) ^ c) & (SIZE - 1)
}

export class LiteralGate<Rule> {
  readonly #marks = new Uint8Array(SIZE)
  readonly #bySlot: { literal: string; rules: Rule[] }[][] = Array.from({ length: SIZE })

  /** A literal of two characters marks every slot its third one can lead to. */
  add(literal: string, rule: Rule): void {
    if (literal.length < 2) throw new RangeError('a literal needs two characters')
    const a = literal.charCodeAt(0)
    const b = literal.charCodeAt(1)
    const thirds = literal.length > 2 ? [literal.charCodeAt(2)] : Array.from({ length: 95 }, (_, i) => i + 32)
    for (const c of thirds) {
      const index = slot(a, b, c)
      this.#marks[index] = 1
      const entries = this.#bySlot[index] ?? []
      const known = entries.find((entry) => entry.literal === literal)
      if (known && !known.rules.includes(rule)) known.rules.push(rule)
      if (!known) entries.push({ literal, rules: [rule] })
      this.#bySlot[index] = entries
    }
  }

  /** The next place in [from, to) where a literal may begin, or -1; two codes must follow the last of them. */
  next(codes: Uint16Array, from: number, to: number): number {
    const marks = this.#marks
    for (let i = from; i < to; i++) {
      if (marks[slot(codes[i] as number, codes[i + 1] as number, codes[i + 2] as number)] === 1) return i
    }
    return -1
  }

  /** The literals that may begin there. */
  near(codes: Uint16Array, at: number): readonly { literal: string; rules: Rule[] }[] {
    return this.#bySlot[slot(codes[at] as number, codes[at + 1] as number, codes[at + 2] as number)] ?? NONE
  }
}
