// Payloads on their way into a session's segment: gathered to chunks, each compressed when it is full. Where a payload
// will stand is known at once, so its row is written together with its event; the bytes reach the disk before the commit.
import { Bytes } from './bytes.ts'
import { CHUNK_BYTES, compressChunk, type SegmentWriter } from './segments.ts'

export class Packing {
  /** End of the segment with the chunks that are full. */
  #size: number
  readonly #committedSize: number
  readonly #open = new Bytes(CHUNK_BYTES / 16)
  readonly #full: Buffer[] = []

  constructor(committedSize: number) {
    this.#size = committedSize
    this.#committedSize = committedSize
  }

  /** Where the next payload will stand: its chunk, and the place within. */
  get next(): { chunk: number; at: number } {
    return { chunk: this.#size, at: this.#open.length }
  }

  add(bytes: Uint8Array): void {
    this.#open.reserve(bytes.length).set(bytes, this.#open.length)
    this.#open.advance(bytes.length)
    if (this.#open.length >= CHUNK_BYTES) this.close()
  }

  /** Ends the chunk that is open: its memory is needed for others. */
  close(): void {
    if (this.#open.length === 0) return
    const chunk = compressChunk(this.#open.all)
    this.#open.clear(CHUNK_BYTES)
    this.#full.push(chunk)
    this.#size += chunk.length
  }

  /** Writes everything, which is the caller's to flush; returns the segment's new size. */
  write(path: string, writer: SegmentWriter): number {
    this.close()
    return this.#full.length > 0 ? writer.append(path, this.#committedSize, this.#full) : this.#committedSize
  }
}
