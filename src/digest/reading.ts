// Commands that only look: they can neither have broken a thing nor mended it, and "nothing found" is no failure of
// theirs. What cannot be told apart counts as doing something.
import { type Part, partsOf } from './command.ts'

const list = (words: string): Set<string> => new Set(words.split(/\s+/))

const SEARCHES = list('rg grep egrep fgrep ag ack findstr select-string sls')
const READS = list('cat bat head tail less more nl get-content gc type sed awk xxd hexdump od strings jq yq')
const LISTS = list('ls ll dir find fd tree get-childitem gci stat file du')
/** They ask whether something is there: no is an answer. */
const PROBES = list('which where whereis command get-command gcm test [ test-path pgrep type hash')
const PRINTS = list(
  'wc pwd df ps env printenv date whoami uname hostname id echo printf cut sort uniq tr column diff cmp readlink realpath basename dirname true false sleep select-object foreach-object where-object measure-object out-string sort-object format-table format-list write-output write-host get-item get-location get-process get-date',
)
const GIT_LOOKS = list(
  'status diff log show blame rev-parse ls-files ls-remote merge-tree grep describe remote branch ls-tree cat-file shortlog',
)
const GIT_ASKS = list('diff grep rev-parse show-ref merge-base ls-files check-ignore')
const WRITES =
  /(?:^|[^0-9&>=-])>{1,2}(?!\s*(?:\/dev\/null|\$null|nul\b|&))|\btee\b|-exec\b|-delete\b|\bxargs\b|\bsed\b[^|;&]{0,80} -i|\bset-content\b|\bout-file\b/i

/** Words behind the options that stand before a command of git's own. */
export function gitCommand({ args }: Part): string {
  const rest = [...args]
  while (rest[0]?.startsWith('-')) rest.splice(0, /^-[cC]$/.test(rest[0]) ? 2 : 1)
  return rest[0] ?? ''
}

export type Looking = 'search' | 'read' | 'list' | 'probe' | 'print'

/** How a program looks at things; null for one that may do something. */
export function lookingOf(part: Part): Looking | null {
  const { program, args } = part
  if (program === 'git') {
    const command = gitCommand(part)
    if (command === 'grep') return 'search'
    if (command === 'ls-files') return 'list'
    if (command === 'config' && args.some((one) => one.startsWith('--get'))) return 'probe'
    return GIT_LOOKS.has(command) ? 'read' : null
  }
  if (program === 'gh') return /^(?:view|list|diff|checks|status)$/.test(args[1] ?? '') ? 'read' : null
  if (program === 'rg' && (args.includes('--files') || args.find((one) => !one.startsWith('-')) === '.'))
    return 'list'
  if (program === 'sed') return args.some((one) => /^-\w*i/.test(one)) ? null : 'read'
  if (SEARCHES.has(program)) return 'search'
  if (LISTS.has(program)) return 'list'
  if (PROBES.has(program)) return program === 'type' && /[./\\]/.test(args[0] ?? '') ? 'read' : 'probe'
  if (READS.has(program)) return 'read'
  return PRINTS.has(program) ? 'print' : null
}

/** The beginning of a text or of a program: what it does is told elsewhere, or not at all. */
const NO_COMMAND = /^(?:const|let|var|await|import|export)\b|^\P{L}*$/u

/** Whether nothing in it changes anything. */
export function isReading(command: string): boolean {
  // Asked several times of one command, one after the other.
  if (command !== asked.command) Object.assign(asked, { command, isReading: reads(command) })
  return asked.isReading
}

const asked = { command: '', isReading: true }

function reads(command: string): boolean {
  if (NO_COMMAND.test(command)) return true
  if (WRITES.test(command)) return false
  const parts = partsOf(command)
  return parts.length > 0 && parts.every((part) => lookingOf(part) !== null)
}

const asks = (part: Part): boolean => {
  const looking = lookingOf(part)
  if (part.program === 'git') return looking === 'probe' || GIT_ASKS.has(gitCommand(part))
  return (
    looking === 'search' || looking === 'list' || looking === 'probe' || /^(?:diff|cmp)$/.test(part.program)
  )
}

/** A search that found nothing says so by its exit code, and no word; of a program whose output it searches none is heard. */
export function isAsking(command: string): boolean {
  const parts = partsOf(command)
  return parts.some(asks) && parts.every((part, at) => lookingOf(part) !== null || parts[at + 1]?.isPiped)
}

/** Whether all it does is to ask if something is there. */
export function isProbing(command: string): boolean {
  const parts = partsOf(command).filter((part) => lookingOf(part) !== 'print')
  return parts.length > 0 && parts.every((part) => lookingOf(part) === 'probe')
}

/** Whether it prints how many lines another program printed, and not what they say. */
export function isCounting(command: string): boolean {
  const last = partsOf(command).at(-1)
  if (last?.isPiped !== true) return false
  return (
    /^(?:wc|uniq|measure-object)$/.test(last.program) ||
    (SEARCHES.has(last.program) && last.args.some((one) => /^-\w{0,4}c\w{0,4}$|^--count$/.test(one)))
  )
}

/** Whether what it prints was first picked out of by a program that looks. */
export function isFiltered(command: string): boolean {
  const last = partsOf(command).at(-1)
  return last?.isPiped === true && lookingOf(last) !== null
}
