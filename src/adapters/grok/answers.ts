// What the model said last in a turn: that event shows the tokens of the turn, which are told only as one number.
import type { Item } from '../adapter.ts'

/** Of a chat, whose turns are told apart from it, by the time of their end. */
export class Answers {
  readonly #said: { at: number; key: string }[] = []

  note(item: Item): void {
    if (item.type === 'event' && item.role === 'assistant' && item.ts !== null)
      this.#said.push({ at: item.ts, key: item.key })
  }

  /** The last one of a turn: after the end of the one before it, up to its own. */
  lastOf(from: number, to: number): string | undefined {
    return this.#said.findLast(({ at }) => at > from && at <= to)?.key
  }
}
