// Keeps the bound on memory. A record of many megabytes leaves some twenty times its size in dead strings and buffers,
// and V8, which sees a young and mostly empty heap, lets several of them pile up before it looks.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const LARGE_BYTES = 4 << 20

let collect: (() => void) | undefined

/** Collects garbage in this thread after work on `bytes` bytes of payload, if that was large: a few milliseconds. */
export function collectAfter(bytes: number): void {
  if (bytes < LARGE_BYTES) return
  if (!collect) {
    setFlagsFromString('--expose-gc')
    collect = runInNewContext('gc') as () => void
  }
  collect()
}
