// The clipboard of whoever sits at the terminal: the terminal itself is told to fill it (OSC 52), so that it works from
// afar as well. Not every terminal obeys.
import { terminal } from './streams.ts'

export const copy = (text: string): void => {
  terminal(1)?.write(`\u001b]52;c;${Buffer.from(text).toString('base64')}\u0007`)
}
