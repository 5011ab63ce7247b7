// The clipboard of whoever sits at the terminal: the terminal itself is told to fill it (OSC 52), so that it works from
// afar as well. Not every terminal obeys. What is copied is pasted into another program, which may obey it as a terminal does.
import { terminal } from './streams.ts'
import { harmless } from './text.ts'

export const copy = (text: string): void => {
  terminal(1)?.write(`\u001b]52;c;${Buffer.from(harmless(text)).toString('base64')}\u0007`)
}
