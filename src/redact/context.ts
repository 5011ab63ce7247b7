// Reads backwards from a value: which name is it assigned to, or which secret-like word stands before it on the line?
// Written by hand, since a regular expression anchored at its end tries every start.
import { looksLikeFile, looksLikeIdentity } from './entropy.ts'
import { readCodes } from './escapes.ts'
import { MARKER } from './finding.ts'
import { nameKind } from './names.ts'

const MAX_NAME = 60

const isNameCode = (code: number): boolean =>
  (code > 96 && code < 123) ||
  (code > 64 && code < 91) ||
  (code > 47 && code < 58) ||
  code === 95 ||
  code === 45 ||
  code === 46 ||
  code === 36

/** Moves back over at most `most` characters of `set`. */
function skipBack(text: string, at: number, set: string, most: number): number {
  let i = at
  while (i > 0 && at - i < most && set.includes(text[i - 1] as string)) i--
  return i
}

/** Where the word that ends at `at` begins. */
function wordStart(text: string, at: number): number {
  let i = at
  while (i > 0 && at - i < MAX_NAME && isNameCode(text.charCodeAt(i - 1))) i--
  // After an escaped line end the first letter is the escape's: `\\npassword`.
  return i < at && text.charCodeAt(i - 1) === 92 && 'bfnrt'.includes(text[i] as string) ? i + 1 : i
}

/** The name that ends before `at`, quotes and spaces skipped, with the word before it: `API Key`; '' if none. */
export function nameBefore(text: string, at: number): string {
  const end = skipBack(text, at, '"\'`])} \t\\', 4)
  const start = wordStart(text, end)
  if (start === end) return ''
  if (text.charCodeAt(start - 1) !== 32) return text.slice(start, end)
  const earlier = wordStart(text, start - 1)
  return text.slice(earlier, end)
}

const SCHEME = /^(?:bearer|basic|token|apikey|key|bot|sso-key|string|str)$/i

/** `Password::test_v1` and `suite > password > case`: parts of a name, as languages and test runners write them. */
export function isScope(text: string, at: number): boolean {
  const before = text.charCodeAt(at - 1)
  switch (text.charCodeAt(at)) {
    case 58:
      // `::=` assigns.
      return text.charCodeAt(at + 1) === 58 && text.charCodeAt(at + 2) !== 61
    case 62:
      return before === 32
    default:
      return false
  }
}

export const isVerdictWord = (word: string): boolean => /^-*PASS$/.test(word)

/** `PASS:` before the name of a test, as its runner says it; in `USER: bot PASS: …` a password stands behind it. */
export function isVerdict(text: string, at: number): boolean {
  return (
    text.charCodeAt(at) === 58 &&
    !/(?:user(?:name)?|login|email|account)["'`]?[ \t]{0,4}[:=]/i.test(text.slice(Math.max(0, at - 100), at))
  )
}

/** The name a value at the end of `before` is assigned to, or ''; undefined where the value is part of a name itself. */
function assignedName(before: string): string | undefined {
  let at = skipBack(before, before.length, ' \t\r\n"\'`\\({<[', 24)
  const word = wordStart(before, at)
  if (word < at && at < before.length && SCHEME.test(before.slice(word, at))) {
    const lead = skipBack(before, word, ' \t"\'`\\({[', 8)
    // `Bearer <value>` with nothing assigned: the scheme itself is the name.
    if (lead === 0 || !'=:,>'.includes(before[lead - 1] as string)) return before.slice(word, at)
    at = lead
  }
  const operator = skipBack(before, at, '=:?.>|,', 4)
  if (operator < at) {
    const name = nameBefore(before, operator)
    const isTestName = isVerdictWord(name.slice(name.lastIndexOf(' ') + 1)) && isVerdict(before, operator)
    return isTestName || isScope(before, operator) ? undefined : name
  }
  // `token - 'value'`, `key is value`
  if (before.endsWith(' - ', at + 1) || before[at - 1] === '-')
    return nameBefore(before, skipBack(before, at, '- ', 3))
  return before.endsWith(' is', at) ? nameBefore(before, at - 3) : ''
}

const NEAR = /(?:secret|token|passw(?:or)?d|api[-_ ]?key|access[-_ ]?key|credentials?|bearer)(?![a-z])/gi
const CODE = /[;()]|=>|&&|\|\|/

/** A secret-like word earlier on the line, with nothing between that only code has. */
function hasNearWord(line: string): boolean {
  NEAR.lastIndex = Math.max(0, line.length - 60)
  let end = -1
  for (let match = NEAR.exec(line); match; match = NEAR.exec(line)) end = NEAR.lastIndex
  return end >= 0 && end < line.length && !CODE.test(line.slice(end))
}

/** The rule that makes random-looking `value` a secret by what stands before it, or undefined. */
export function byContext(before: string, value: string): string | undefined {
  if (looksLikeFile(value)) return undefined
  const marker = before.lastIndexOf(MARKER)
  const after = marker < 0 ? before : before.slice(before.indexOf(']', marker) + 1 || before.length)
  let context = readCodes(after)
  const line = context.lastIndexOf('\n')
  // A value alone on its line belongs to the name on the line before.
  if (line >= 0 && /[^\s"'`({[<\\]/.test(context.slice(line + 1))) context = context.slice(line + 1)
  const name = assignedName(context)
  if (name === undefined) return undefined
  const kind = nameKind(name)
  if (kind === 'strong' || kind === 'password') return 'assigned-secret'
  if (looksLikeIdentity(value)) return undefined
  if (kind === 'weak') return 'assigned-secret'
  return hasNearWord(context) ? 'nearby-secret' : undefined
}
