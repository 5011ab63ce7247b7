// What a batch's bodies and texts are gathered in. Made once, and used for one source after another: grown again for each of
// them it left several times a batch's size behind, which nothing collects for a while.
import type { Batch } from '../store/batch.ts'
import { Bytes } from '../store/bytes.ts'
import { IndexTexts } from '../store/words.ts'

/** Room for most batches; it grows as needed. */
const [PAYLOADS_BYTES, TEXTS_BYTES] = [3 << 20, 2 << 20]

export class Buffers {
  readonly payloads = new Bytes(PAYLOADS_BYTES)
  readonly texts = new IndexTexts(TEXTS_BYTES)

  /** A source that failed leaves what it had gathered. */
  clear(): void {
    this.payloads.clear(PAYLOADS_BYTES)
    this.texts.clear()
  }

  take(): Pick<Batch, 'payloads' | 'texts'> {
    return { payloads: this.payloads.take(PAYLOADS_BYTES), texts: this.texts.take() }
  }
}
