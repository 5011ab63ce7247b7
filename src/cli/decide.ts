// `recollect decide`.
import { Config } from '../config.ts'
import { decide } from '../decide.ts'
import { printFolded, printJson } from './print.ts'
import { oneLine } from './text.ts'

export interface DecideCommand {
  tag: string[]
  author?: string
  json?: boolean
}

export function runDecide(typed: string, words: readonly string[], options: DecideCommand): void {
  const decision = decide({
    config: new Config(),
    session: typed,
    text: words.join(' '),
    tags: options.tag,
    ...(options.author === undefined ? {} : { author: options.author }),
  })
  if (options.json) printJson(decision)
  else printFolded(`${decision.session_uid}#${decision.seq}\ndecided: ${oneLine(decision.text)}`)
}
