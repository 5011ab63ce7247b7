// What a reader did not understand, on its way to the store: gaps and record types nobody has described. Both are named
// by foreign files, so both are bounded here: a file of garbage must not become a row per line.
import type { GapItem } from '../adapters/adapter.ts'
import type { PreparedGap } from '../store/batch.ts'

const MAX_UNKNOWN_NAMES = 200
/** Bytes that may stand between two lines: the newline and what Windows puts before it. */
const LINE_END = 2

export class Gaps {
  #gaps: PreparedGap[] = []
  #unknown = newCounts()
  /** Names counted by themselves, in the whole of a source. */
  readonly #names = new Set<string>()

  get gapCount(): number {
    return this.#gaps.length
  }

  take(): { gaps: PreparedGap[]; unknown: Record<string, number> } {
    const taken = { gaps: this.#gaps, unknown: this.#unknown }
    this.#gaps = []
    this.#unknown = newCounts()
    return taken
  }

  /** Bad lines that follow each other are one gap. A pending one stands alone: it is looked at again. */
  addGap({ offset, length, reason, detail, file, pending }: Omit<GapItem, 'type'>): void {
    const last = this.#gaps.at(-1)
    const lastEnd = last ? last.offset + last.length : -1
    const isSameKind = last?.reason === reason && last.file === file && !last.isPending && !pending
    if (isSameKind && offset >= lastEnd && offset - lastEnd <= LINE_END) {
      last.length = offset + length - last.offset
      return
    }
    const gap: PreparedGap = { offset, length, reason, detail, isPending: pending ?? false }
    if (file !== undefined) gap.file = file
    this.#gaps.push(gap)
  }

  countUnknown(fullName: string): void {
    const name = fullName.slice(0, 200)
    if (this.#names.size < MAX_UNKNOWN_NAMES) this.#names.add(name)
    const counted = this.#names.has(name) ? name : '(other names)'
    this.#unknown[counted] = (this.#unknown[counted] ?? 0) + 1
  }
}

/** Without a prototype: a record type may be called `__proto__`. */
function newCounts(): Record<string, number> {
  return Object.create(null) as Record<string, number>
}
