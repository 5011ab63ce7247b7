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
  /** Sub-agents speak after what called them is written down. */
  isLate: boolean
  /** A file that is written at the same time: this one never runs ahead of it. */
  leader?: Growing | undefined
}

const leaderOf = (path: string): string | undefined =>
  path.endsWith('/events.jsonl') ? join(dirname(path), 'updates.jsonl') : undefined

/** Up to the moment the leader has reached. */
function follow(file: Growing, leader: Growing): void {
  const last =
    leader.bytes
      .toString('utf8', 0, leader.bytes.lastIndexOf(10, leader.done - 1))
      .split('\n')
      .pop() ?? ''
  const update = last === '' ? undefined : JSON.parse(last)
  const now = update?.params?._meta?.agentTimestampMs ?? (update?.timestamp ?? 0) * 1000
  for (;;) {
    const end = file.bytes.indexOf(10, file.done) + 1
    if (end === 0 || Date.parse(JSON.parse(file.bytes.toString('utf8', file.done, end)).ts) > now) return
    appendFileSync(file.path, file.bytes.subarray(file.done, end))
    file.done = end
  }
}

const IS_LATE = /\/subagents\/|\/agent-|\/prompt_history\./

/** Copies a tree, its JSON Lines files cut short; each call of `grow` appends a part of what is missing. */
export function growingTree(from: string, to: string, random: () => number) {
  const growing: Growing[] = []
  const atLast: (() => void)[] = []
  for (const file of filesBelow(from)) {
    const path = join(to, relative(from, file))
    mkdirSync(dirname(path), { recursive: true })
    const isLate = IS_LATE.test(path)
    if (!file.endsWith('.jsonl')) {
      // Notes on a sub-agent are written when it has ended.
      if (isLate) atLast.push(() => cpSync(file, path))
      else cpSync(file, path)
      continue
    }
    const bytes = readFileSync(file)
    const done = isLate || leaderOf(path) !== undefined ? 0 : Math.floor(random() * (bytes.length + 1))
    writeFileSync(path, bytes.subarray(0, done))
    growing.push({ path, bytes, done, isLate })
  }
  for (const file of growing) file.leader = growing.find((one) => one.path === leaderOf(file.path))
  return {
    /** Some files by some bytes; towards the end (`share` 1) all files by all that is left. */
    grow(share: number): void {
      for (const file of growing) {
        const left = file.bytes.length - file.done
        if (file.leader && share < 1) {
          follow(file, file.leader)
          continue
        }
        const isAll = file.isLate ? share >= 1 : share >= 0.5
        const isNone = (file.isLate && share <= 0.5) || random() < 0.4
        const step = isAll ? left : isNone ? 0 : Math.ceil(random() * random() * left)
        if (step > 0) appendFileSync(file.path, file.bytes.subarray(file.done, file.done + step))
        file.done += step
      }
      if (share >= 1) for (const copy of atLast) copy()
    },
  }
}
