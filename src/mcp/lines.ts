// Bounds what one line of a client may hold. The SDK's transport ends the connection at a line that is longer than its
// buffer; here such a line is answered with an error and passed over, and never held whole.
import { Transform, type TransformCallback } from 'node:stream'

export const MAX_LINE_BYTES = 10 << 20
/** Of a line that is passed over, so much of either end is kept: its id stands there. */
const END_BYTES = 256

export interface TooLong {
  jsonrpc: '2.0'
  id: string | number | null
  error: { code: number; message: string }
}

/** Passes on lines, each as one chunk; calls `refuse` with the answer to one that is too long. */
export class BoundedLines extends Transform {
  readonly #refuse: (answer: TooLong) => void
  #parts: Buffer[] = []
  #bytes = 0

  constructor(refuse: (answer: TooLong) => void) {
    super()
    this.#refuse = refuse
  }

  override _transform(chunk: Buffer, _: BufferEncoding, done: TransformCallback): void {
    let from = 0
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      this.#add(chunk.subarray(from, end + 1))
      this.#endLine()
      from = end + 1
    }
    if (from < chunk.length) this.#add(chunk.subarray(from))
    done()
  }

  override _flush(done: TransformCallback): void {
    if (this.#bytes > 0) this.#endLine()
    done()
  }

  #add(part: Buffer): void {
    const wasLong = this.#bytes > MAX_LINE_BYTES
    this.#bytes += part.length
    this.#parts.push(part)
    if (this.#bytes <= MAX_LINE_BYTES) return
    const [head, rest] = wasLong
      ? [this.#parts[0] as Buffer, this.#parts.slice(1)]
      : [copyOf(Buffer.concat(this.#parts).subarray(0, END_BYTES)), this.#parts]
    this.#parts = [head, copyOf(Buffer.concat(rest).subarray(-END_BYTES))]
  }

  #endLine(): void {
    if (this.#bytes <= MAX_LINE_BYTES) this.push(Buffer.concat(this.#parts))
    else {
      const message = `a message of more than ${MAX_LINE_BYTES >> 20} MiB (${this.#bytes} bytes) is not read`
      this.#refuse({ jsonrpc: '2.0', id: idIn(this.#parts), error: { code: -32600, message } })
    }
    this.#parts = []
    this.#bytes = 0
  }
}

/** So that a small piece does not hold the whole. */
const copyOf = (part: Buffer): Buffer => Buffer.from(part)

const ID = String.raw`"id"\s*:\s*(\d{1,15}|"[^"\\]{1,100}")\s*`
const AT_START = new RegExp(String.raw`^\s*\{\s*(?:"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*,\s*){0,2}${ID},`)
const AT_END = new RegExp(String.raw`,\s*${ID}(?:,\s*"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*){0,2}\}\s*$`)

/** The id of a request of which only the two ends are left; null where they do not show it. */
function idIn([head, tail]: readonly Buffer[]): string | number | null {
  const found = AT_START.exec(head?.toString('utf8') ?? '') ?? AT_END.exec(tail?.toString('utf8') ?? '')
  return found ? (JSON.parse(found[1] as string) as string | number) : null
}
