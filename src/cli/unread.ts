// Bodies that should be in the cache and cannot be read: what stands in for them is never taken for them.
import { EXIT } from './exit.ts'
import { tell } from './print.ts'
import { harmless } from './text.ts'

export const unreadText = (count: number): string =>
  `${count === 1 ? '1 body' : `${count} bodies`} cannot be read from the cache; summaries stand in for them`

/** On stderr, and by the exit code. */
export function warnUnread(uid: string, unread: ReadonlySet<string>): void {
  if (unread.size === 0) return
  tell(`warning: ${harmless(uid)}: ${unreadText(unread.size)}\n`)
  tell('try: recollect verify\n')
  process.exitCode = EXIT.partial
}
