// Bodies that should be in the cache and cannot be read: what stands in for them is never taken for them.
import { unreadOf } from '../query/unread.ts'
import { EXIT } from './exit.ts'
import { tell } from './print.ts'
import { harmless } from './text.ts'

/** On stderr, and by the exit code. */
export function warnUnread(about: string, count: number, instead?: 'nothing'): void {
  const unread = unreadOf(count, instead)
  if (unread === null) return
  tell(`warning: ${harmless(about)}: ${unread.text}\n`)
  tell(`try: ${unread.fix}\n`)
  process.exitCode = EXIT.partial
}
