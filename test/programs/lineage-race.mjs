// One of several bots on the same directory. Each signal on stdin starts a leg: first all save the same id, then each
// saves, forks, swaps and clears in turn.
import { SessionHistory } from 'recollect/record'

const [directory, name, rounds] = process.argv.slice(2)
const history = new SessionHistory(directory, { flush: 'os' })
const signal = (word) => {
  process.stdout.write(word)
  return new Promise((resolve) => process.stdin.once('data', resolve))
}
await signal('ready')
await history.saveSessionId('first')
await signal('saved')
for (let i = 0; i < Number(rounds); i++) {
  await history.saveSessionId(`${name}-${i}`)
  await history.interactiveFork(`fork-${i}`)
  await history.swap(`${name}-swap-${i}`)
  if (i % 5 === 4) await history.clear()
}
process.stdin.destroy()
