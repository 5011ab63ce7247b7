// Grows copies of agents' files from cut to cut, as agents would: bytes are appended to the same file.
import { appendFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { filesBelow } from './collect.ts'

/** A number in [0, 1) from a seed that moves on: failures can be repeated. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0 || 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    state >>>= 0
    return state / 2 ** 32
  }
}

interface Growing {
  path: string
  bytes: Buffer
  done: number
}

/** Copies a tree, its JSON Lines files cut short; each call of `grow` appends a part of what is missing. */
export function growingTree(from: string, to: string, random: () => number, isKept = (_: string) => true) {
  const growing: Growing[] = []
  for (const file of filesBelow(from).filter(isKept)) {
    const path = join(to, relative(from, file))
    mkdirSync(dirname(path), { recursive: true })
    if (!file.endsWith('.jsonl')) {
      cpSync(file, path)
      continue
    }
    const bytes = readFileSync(file)
    const done = Math.floor(random() * (bytes.length + 1))
    writeFileSync(path, bytes.subarray(0, done))
    growing.push({ path, bytes, done })
  }
  return {
    /** Some files by some bytes; with `isLast` all files by all that is left. */
    grow(isLast: boolean): void {
      for (const file of growing) {
        const left = file.bytes.length - file.done
        const step = isLast ? left : random() < 0.4 ? 0 : Math.ceil(random() * random() * left)
        if (step > 0) appendFileSync(file.path, file.bytes.subarray(file.done, file.done + step))
        file.done += step
      }
    },
  }
}
