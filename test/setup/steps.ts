// Reads a file as the sweep does while it grows: in pieces that end at any byte, each from the position the last one left.
import { appendFileSync, writeFileSync } from 'node:fs'
import type { Adapter, Item, Position } from '../../src/adapters/adapter.ts'

export function readAll(adapter: Adapter, path: string, from: Position | null = null): Item[] {
  const source = adapter.claim(path)
  if (!source) throw new Error(`not claimed: ${path}`)
  // Positions share one living state; a copy is what a cursor would keep.
  const items: Item[] = []
  for (const item of adapter.read(source, from))
    items.push(item.type === 'position' ? structuredClone(item) : item)
  return items
}

/** Items without positions; a last line that was still being written is not news. */
export const news = (items: Item[]): Item[] =>
  items.filter((item) => item.type !== 'position' && !(item.type === 'gap' && item.pending))

/** What counts in the end: without what was told for want of better, and taken back when more was known. */
export function held(items: Item[]): Item[] {
  const gone = new Set(
    items.flatMap((item) => (item.type === 'supersede' && item.isRepetition ? (item.keys ?? []) : [])),
  )
  return items.filter((item) =>
    item.type === 'supersede' ? !item.isRepetition : !(item.type === 'event' && gone.has(item.key)),
  )
}

/** Grows `path` to `bytes` in pieces cut at the given fractions, and reads after each. */
export function readInSteps(adapter: Adapter, path: string, bytes: Buffer, cuts: number[]): Item[] {
  const ends = [...cuts.map((cut) => Math.floor(cut * bytes.length)).sort((a, b) => a - b), bytes.length]
  const items: Item[] = []
  let position: Position | null = null
  let written = 0
  writeFileSync(path, '')
  for (const end of ends) {
    appendFileSync(path, bytes.subarray(written, end))
    written = end
    for (const item of readAll(adapter, path, position)) {
      if (item.type === 'position') position = JSON.parse(JSON.stringify(item.position)) as Position
      else items.push(item)
    }
  }
  return news(items)
}

/** Stops at each position in turn and goes on from there, without growth. */
export function* resumed(adapter: Adapter, path: string): Generator<Item[]> {
  const whole = readAll(adapter, path)
  for (const [at, item] of whole.entries()) {
    if (item.type !== 'position') continue
    const position = JSON.parse(JSON.stringify(item.position)) as Position
    yield news([...whole.slice(0, at), ...readAll(adapter, path, position)])
  }
}
