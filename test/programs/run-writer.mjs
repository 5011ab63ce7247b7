// Records a run and says on stdout what was acknowledged. Arguments: base directory, content size, and the number of the
// file operation before which the process kills itself (0: never).
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

const [base, size, killAt] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])]
const say = fs.writeSync.bind(fs, 1)

// Only what changes the disk: to be killed before anything else is to be killed before the next of these.
const creates = (flags) => typeof flags === 'number' && (flags & fs.constants.O_CREAT) !== 0
let count = 0
for (const name of ['mkdirSync', 'openSync', 'writeSync', 'renameSync', 'unlinkSync']) {
  const real = fs[name]
  fs[name] = (...args) => {
    if (name !== 'openSync' || creates(args[1])) count++
    if (count === killAt) process.kill(process.pid, 'SIGKILL')
    return real(...args)
  }
}
syncBuiltinESMExports()

const { RunTranscript } = await import('recollect/record')
const run = await RunTranscript.start(base, { runId: '2025-01-15-kill-run-1', flowId: 'kill-run' })
say('start\n')
await run.addTurn('user', 'Please <do> it', 10)
say('turn\n')
await run.addTurn('assistant', 'x'.repeat(size), 20)
say('turn\n')
await run.addToolCall('bash', { command: 'ls' }, 'a b')
say('call\n')
await run.addCost(0.25)
say('cost\n')
await run.complete()
say('end\n')
