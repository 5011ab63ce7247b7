// A question on the terminal. Where nobody can answer, the answer is no.
import { createInterface } from 'node:readline/promises'

/** Whether there is somebody to ask. */
export const canAsk = (): boolean => Boolean(process.stdin.isTTY && process.stderr.isTTY)

/** `byDefault` is what an empty line says. */
export async function ask(question: string, byDefault: 'yes' | 'no'): Promise<boolean> {
  if (!canAsk()) return false
  const asked = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const answer = await asked.question(`${question} ${byDefault === 'yes' ? '[Y/n]' : '[y/N]'} `)
    return answer.trim() === '' ? byDefault === 'yes' : /^\s*(?:y|yes)\s*$/i.test(answer)
  } finally {
    asked.close()
  }
}
