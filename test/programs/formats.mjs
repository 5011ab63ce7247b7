// One driver per recorded format: all that the kill, concurrency, power-cut and speed programs know of it.
// To put a format under all of them, add one object to `formats`:
//   open(directory, options)   a writer; `append(writer, i, bytes)` resolves when the record is acknowledged
//   readBack(directory)        what a reader finds: { records: [{ writer, i, bytes, text }] in file order, gaps }
//   file(directory)            the file the records lie in, for damaging it
// `writer` names the process, `i` numbers its records; the text lets a splice or a tear be seen (see `textOf`).
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import {
  EntireTranscript,
  loadRun,
  RunTranscript,
  readEntireTranscript,
  SessionHistory,
  TranscriptWriter,
} from 'recollect/record'

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

/** Number and text of a record as one string, for formats with one text field. */
const pack = (writer, i, bytes) => `${writer}.${i}.${bytes}|${textOf(writer, i, bytes)}`

function unpack(content) {
  const end = content.indexOf('|')
  const [writer, i, bytes] = content.slice(0, end).split('.')
  return { writer, i: Number(i), bytes: Number(bytes), text: content.slice(end + 1) }
}

/** What an async reader gives; nothing when there is no log yet. */
async function collect(reader) {
  const found = []
  try {
    for await (const item of reader) found.push(item)
  } catch (error) {
    if (error.code !== 'NOT_FOUND') throw error
  }
  return found
}

const turns = {
  open(directory, options = {}) {
    const writer = new TranscriptWriter(directory, options)
    return {
      append: (name, i, bytes) =>
        writer.append('agent', 'session', {
          turnId: 't',
          role: 'user',
          content: pack(name, i, bytes),
          ts: i,
        }),
      close: () => writer.close(),
    }
  },
  file: (directory) => join(directory, 'agents', 'agent', 'sessions', 'session.jsonl'),
  async readBack(directory) {
    const gaps = []
    const onGap = (gap) => gaps.push(gap)
    const found = await new TranscriptWriter(directory).read('agent', 'session', { onGap })
    return { records: found.map((entry) => unpack(entry.content ?? '')), gaps }
  },
}

const entire = {
  open(directory, options = {}) {
    const log = new EntireTranscript({ cwd: directory, sessionId: 'session', version: '1', ...options })
    return {
      append: (name, i, bytes) => log[i % 2 ? 'assistant' : 'user'](pack(name, i, bytes)),
      close: () => log.close(),
    }
  },
  file: (directory) => join(directory, '.entire', 'metadata', 'session', 'full.jsonl'),
  async readBack(directory) {
    const gaps = []
    const onGap = (gap) => gaps.push(gap)
    const lines = await collect(readEntireTranscript(entire.file(directory), { onGap }))
    const contents = lines.map(({ message: { content } }) =>
      Array.isArray(content) ? content[0]?.text : content,
    )
    return { records: contents.map((content) => unpack(String(content))), gaps }
  },
}

// One writer per run: each process has its own, and goes on with it after a kill.
const runIdOf = (name) => `2025-01-15-flow-${name}`

const run = {
  open(directory, options = {}) {
    const runs = new Map()
    const openRun = (name) =>
      RunTranscript.resume(directory, runIdOf(name), options).catch((error) => {
        if (error.code !== 'NOT_FOUND') throw error
        return RunTranscript.start(directory, { runId: runIdOf(name), flowId: 'flow', ...options })
      })
    return {
      async append(name, i, bytes) {
        if (!runs.has(name)) runs.set(name, openRun(name))
        await (await runs.get(name)).addTurn('assistant', pack(name, i, bytes))
      },
      async close() {
        for (const opened of runs.values()) await (await opened).close()
      },
    }
  },
  file: (directory) => join(directory, 'runs', runIdOf('w'), 'transcript.partial.jsonl'),
  async readBack(directory) {
    const gaps = []
    const records = []
    const base = join(directory, 'runs')
    const names = existsSync(base) ? readdirSync(base, { withFileTypes: true }) : []
    for (const entry of names.filter((one) => one.isDirectory())) {
      const turnsOf = async function* () {
        yield* (await loadRun(directory, entry.name, { onGap: (gap) => gaps.push(gap) })).turns
      }
      for (const turn of await collect(turnsOf())) records.push(unpack(turn.content))
    }
    return { records, gaps }
  },
}

// An event has no room for large texts: its number is in the session's id, a short text in its parent's.
const lineage = {
  open(directory, options = {}) {
    const history = new SessionHistory(directory, options)
    return {
      append(name, i, bytes) {
        const parent = pack(name, i, Math.min(bytes, 150))
        return history.log({ session_id: `${name}.${i}`, event: 'bg_fork', parent_session_id: parent })
      },
      close: () => history.idle(),
    }
  },
  file: (directory) => join(directory, 'session_history.jsonl'),
  async readBack(directory) {
    const gaps = []
    const onGap = (gap) => gaps.push(gap)
    const events = await new SessionHistory(directory).read({ onGap })
    return { records: events.map((event) => unpack(event.parent_session_id ?? '')), gaps }
  },
}

export const formats = { turns, entire, run, lineage }
