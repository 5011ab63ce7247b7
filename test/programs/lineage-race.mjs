// One of several bots on the same directory: waits for the start signal, then saves, forks, swaps and clears in turn.
import { SessionHistory } from 'recollect/record'

const [directory, name, rounds] = process.argv.slice(2)
const history = new SessionHistory(directory, { flush: 'os' })
process.stdout.write('ready')
await new Promise((resolve) => process.stdin.once('data', resolve))
await history.saveSessionId('first')
for (let i = 0; i < Number(rounds); i++) {
  await history.saveSessionId(`${name}-${i}`)
  await history.interactiveFork(`fork-${i}`)
  await history.swap(`${name}-swap-${i}`)
  if (i % 5 === 4) await history.clear()
}
process.stdin.destroy()
