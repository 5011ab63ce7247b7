// A question on the terminal. Where nobody can answer, the answer is no.
import { createInterface } from 'node:readline'

/** Whether there is somebody to ask. */
export const canAsk = (): boolean => Boolean(process.stdin.isTTY && process.stderr.isTTY)

/** `byDefault` is what an empty line says. Ctrl-D says no; Ctrl-C ends the program, as it does while it works. */
export async function ask(question: string, byDefault: 'yes' | 'no'): Promise<boolean> {
  if (!canAsk()) return false
  const asked = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await new Promise<string>((done) => {
    let isAnswered = false
    asked.on('SIGINT', () => {
      // Gives the terminal back as it was.
      asked.close()
      process.kill(process.pid, 'SIGINT')
    })
    asked.on('close', () => {
      if (isAnswered) return
      process.stderr.write('\n')
      done('no')
    })
    asked.question(`${question} ${byDefault === 'yes' ? '[Y/n]' : '[y/N]'} `, (line) => {
      isAnswered = true
      done(line)
    })
  })
  asked.close()
  return answer.trim() === '' ? byDefault === 'yes' : /^\s*(?:y|yes)\s*$/i.test(answer)
}
