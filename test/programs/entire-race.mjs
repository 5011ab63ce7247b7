// One of several processes that record the same session. Says when it is ready and starts at the first byte on stdin.
import { EntireTranscript } from 'recollect/record'

const [cwd, sessionId, name, turns] = process.argv.slice(2)
const transcript = new EntireTranscript({ cwd, version: '1', sessionId, flush: 'os' })
process.stdout.write('ready')
await new Promise((resolve) => process.stdin.once('data', resolve))
for (let i = 0; i < Number(turns); i++) await transcript.user(`${name} ${i} ${'x'.repeat(i * 100)}`)
await transcript.close()
process.stdin.destroy()
