// Appends records of mixed size and tells each acknowledged one on stdout, until it is killed or done.
// Arguments as one JSON object: format, directory, writer, from, count, seed, flush, minBytes, stays (done, it waits to be killed).
import { writeSync } from 'node:fs'
import { formats, sizes } from './formats.mjs'

const {
  format,
  directory,
  writer,
  from = 0,
  count = 1e9,
  seed = 1,
  minBytes,
  stays = false,
  ...options
} = JSON.parse(process.argv[2])
const nextSize = sizes(seed, minBytes)
const log = formats[format].open(directory, options)
try {
  for (let i = from; i < from + count; i++) {
    await log.append(writer, i, nextSize())
    writeSync(1, `${i}\n`)
  }
  if (stays) setInterval(() => {}, 1e6)
  else await log.close()
} catch (error) {
  writeSync(2, `${JSON.stringify(error)}\n`)
  process.exitCode = 1
}
