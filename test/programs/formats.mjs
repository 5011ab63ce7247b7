// One driver per recorded format: all that the kill, concurrency, power-cut and speed programs know of it.
// To put a format under all of them, add one object to `formats`:
//   open(directory, options)   a writer; `append(writer, i, bytes)` resolves when the record is acknowledged
//   readBack(directory)        what a reader finds: { records: [{ writer, i, bytes, text }] in file order, gaps }
//   file(directory)            the file the records lie in, for damaging it
// `writer` names the process, `i` numbers its records; the text lets a splice or a tear be seen (see `textOf`).
import { join } from 'node:path'
import { TranscriptWriter } from 'recollect/record'

/** About `bytes` bytes that belong to this record alone. */
export function textOf(writer, i, bytes) {
  const unit = `<${writer}.${i}>`
  return unit.repeat(Math.ceil(bytes / unit.length)).slice(0, bytes)
}

/** True when a record read back is exactly the one that was appended. */
export function isWhole({ writer, i, bytes, text }) {
  return text === textOf(writer, i, bytes)
}

/** Sizes between `minBytes` and 2 MB, most of them small, the same for the same seed. */
export function sizes(seed, minBytes = 1 << 10) {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    const share = state / 2 ** 32
    const largest = share < 0.7 ? 2 << 10 : share < 0.95 ? 128 << 10 : 2 << 20
    return Math.max(minBytes, Math.floor(((share * 1000) % 1) * largest))
  }
}

const turns = {
  open(directory, options = {}) {
    const writer = new TranscriptWriter(directory, options)
    return {
      append: (name, i, bytes) =>
        writer.append('agent', 'session', {
          turnId: `${name}.${i}.${bytes}`,
          role: 'assistant',
          content: textOf(name, i, bytes),
          ts: i,
        }),
      close: () => writer.close(),
    }
  },
  file: (directory) => join(directory, 'agents', 'agent', 'sessions', 'session.jsonl'),
  async readBack(directory) {
    const gaps = []
    const records = []
    const writer = new TranscriptWriter(directory)
    for await (const entry of writer.readStream('agent', 'session', { onGap: (gap) => gaps.push(gap) })) {
      const [name, i, bytes] = entry.turnId.split('.')
      records.push({ writer: name, i: Number(i), bytes: Number(bytes), text: entry.content })
    }
    return { records, gaps }
  },
}

export const formats = { turns }
