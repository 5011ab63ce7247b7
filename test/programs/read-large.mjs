// Streams a turn log and tells how many turns it has and how much memory that took. Argument: the base directory.
import { TranscriptWriter } from 'recollect/record'

let count = 0
let bytes = 0
for await (const entry of new TranscriptWriter(process.argv[2]).readStream('agent', 'session')) {
  count++
  bytes += entry.content.length
}
console.log(JSON.stringify({ count, bytes, maxRssMb: process.resourceUsage().maxRSS / 1024 }))
