// Keeps the bound on memory. A record of many megabytes leaves some twenty times its size in dead strings and buffers,
// and V8, which sees a young and mostly empty heap, lets several of them pile up before it looks.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const LARGE_BYTES = 4 << 20
/** Small ones leave buffers behind as well, some dozen megabytes at the peak. Oftener would cost a twentieth of a sweep (docs/decisions/0014). */
const MANY_BYTES = 96 << 20

/** What a source of one line leaves behind in objects, and again its digest. Of very many V8 would keep 150 MB until it looks. */
export const LEFT_BY_ONE = 16 << 10

let passedBytes = 0
let collect: (() => void) | undefined

/** Collects garbage in this thread after work on `bytes` bytes of payload, if that, or all since the last time, was large. */
export function collectAfter(bytes: number, manyBytes = MANY_BYTES): void {
  passedBytes += bytes
  if (bytes < LARGE_BYTES && passedBytes < manyBytes) return
  passedBytes = 0
  if (!collect) {
    setFlagsFromString('--expose-gc')
    collect = runInNewContext('gc') as () => void
  }
  collect()
}
