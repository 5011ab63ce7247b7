import { CODEX_DAY, put } from '../records.mjs'

const name = (n) => `${CODEX_DAY}/rollout-2026-11-15T12-00-0${n}-0199f3aa-0000-7000-8000-00000000000${n}.jsonl.zst`

export function make(home) {
  put(home, name(1), bomb(64_000))
  put(home, name(2), 'this was never compressed\n')
  put(home, name(3), bomb(4).subarray(0, -2))
}

/** A frame of blocks that each say "128 KiB of one byte" in four bytes. */
function bomb(blockCount) {
  const header = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58])
  const blocks = Array.from({ length: blockCount }, (_, n) => {
    const block = Buffer.alloc(4)
    block.writeUIntLE(((128 << 10) << 3) | (1 << 1) | (n === blockCount - 1 ? 1 : 0), 0, 3)
    block[3] = 0x20
    return block
  })
  return Buffer.concat([header, ...blocks])
}
