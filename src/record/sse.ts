// Server-sent events from chunks cut anywhere. Owns lines, fields and UTF-8; what an event means is the caller's.
// Only a chunk's own characters are searched, so a long line in many small chunks costs linear time.

export interface SseEvent {
  /** The `event:` field, or undefined when the event has none. */
  name: string | undefined
  /** The `data:` lines joined by newlines. */
  data: string
}

const BOM = '\ufeff'

export class SseDecoder {
  // The byte order mark is removed in #feed: one rule for bytes and strings.
  readonly #utf8 = new TextDecoder('utf-8', { ignoreBOM: true })
  #line: string[] = []
  #atStart = true
  /** The last chunk ended in CR: an LF that follows belongs to it. */
  #afterReturn = false
  #name: string | undefined
  #data: string[] = []

  /** The events that this chunk completes. */
  push(chunk: Uint8Array | string): SseEvent[] {
    // A string is not re-encoded: it may end in the middle of a surrogate pair.
    return this.#feed(typeof chunk === 'string' ? chunk : this.#utf8.decode(chunk, { stream: true }))
  }

  /** Takes what is left when the stream ends; an event without its closing blank line is given too. */
  end(): SseEvent[] {
    const events = this.#feed(this.#utf8.decode())
    if (this.#line.length > 0) this.#takeLine(events)
    this.#dispatch(events)
    return events
  }

  #feed(text: string): SseEvent[] {
    const events: SseEvent[] = []
    if (text === '') return events
    let start = 0
    if (this.#atStart) {
      this.#atStart = false
      if (text.startsWith(BOM)) start = 1
    }
    if (this.#afterReturn && text[start] === '\n') start++
    this.#afterReturn = false
    const ends = /\r\n|\r|\n/g
    ends.lastIndex = start
    for (let end = ends.exec(text); end !== null; end = ends.exec(text)) {
      if (end.index > start) this.#line.push(text.slice(start, end.index))
      this.#takeLine(events)
      start = ends.lastIndex
      this.#afterReturn = end[0] === '\r' && start === text.length
    }
    if (start < text.length) this.#line.push(text.slice(start))
    return events
  }

  #takeLine(events: SseEvent[]): void {
    const line = this.#line.join('')
    this.#line = []
    if (line === '') {
      this.#dispatch(events)
      return
    }
    const colon = line.indexOf(':')
    if (colon === 0) return
    const field = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (field === 'event') this.#name = value
    else if (field === 'data') this.#data.push(value)
  }

  #dispatch(events: SseEvent[]): void {
    if (this.#data.length > 0) events.push({ name: this.#name, data: this.#data.join('\n') })
    this.#name = undefined
    this.#data = []
  }
}
