// Loaded before a program: writes the most memory it ever held, in kilobytes, to the file METER names. Threads included.
// Not getrusage: what that says was partly inherited from the process that started this one.
import { readFileSync, writeFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

if (isMainThread) {
  process.on('exit', () => {
    const peak = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]
    writeFileSync(process.env.METER, String(peak))
  })
}
