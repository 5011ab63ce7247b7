// Starts a run and keeps it open until it is killed or stdin ends. Arguments: base directory, `suffix` to take the next.
import { RunTranscript } from 'recollect/record'

const [, , base, mode] = process.argv
try {
  const run = await RunTranscript.start(base, {
    runId: { date: '2025-01-15', flow: 'race', identifier: 'a' },
    nextSuffix: mode === 'suffix',
  })
  await run.addTurn('user', `process ${process.pid}`)
  console.log(run.runId)
  process.stdin.resume()
} catch (error) {
  console.log(error.code)
}
