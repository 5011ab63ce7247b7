// Tries some appends to a turn log and tells the outcome of each on stdout as one JSON line: the number acknowledged,
// or the error. Arguments as one JSON object: directory, writer, from, count, bytes, flush.
import { writeSync } from 'node:fs'
import { formats } from './formats.mjs'

const { directory, writer, from = 0, count, bytes = 1000, ...options } = JSON.parse(process.argv[2])
const log = formats.turns.open(directory, options)
for (let i = from; i < from + count; i++) {
  const outcome = await log.append(writer, i, bytes).then(
    () => ({ acknowledged: i }),
    (error) => error,
  )
  writeSync(1, `${JSON.stringify(outcome)}\n`)
}
