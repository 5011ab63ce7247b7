// At a run of characters long enough to be a token: does a known prefix stand there, or do randomness and context make it
// a secret? Everything found out about the text ahead is kept in the state, so that no character is walked over twice.

import type { Budget } from './budget.ts'
import { BASE64, DIGITS, KIND, LEAD, SOLID, TOKEN, UPPER, WIDE } from './characters.ts'
import { byContext } from './context.ts'
import { entropy, isShuffled, isStandIn } from './entropy.ts'
import { isAfterCode } from './escapes.ts'
import type { Finding } from './finding.ts'
import type { LiteralGate } from './gate.ts'
import { isNameGram, mayHoldName } from './names.ts'
import type { ProviderRule } from './rules-providers.ts'

/** Shorter runs hold no token of any provider; passwords are found by their names instead. */
export const MIN_RUN = 16
/** Longer unbroken base64 is a file, not a token. */
const MAX_TOKEN = 1200
const MAX_SHAPE = 9000
/** How much of a token is looked at to tell whether it is one character repeated. */
const BODY = 200
/** How far before a random value the words count that make it a secret. */
const CONTEXT = 80

// What each kind of look costs.
const AT_LITERAL = 25
const INSIDE_WORD = 70
const SHAPE = 200
const CONTEXT_READ = 250
const JUDGED = 3500
const FINDING = 400

export interface State {
  text: string
  codes: Uint16Array
  /** The key the text is the value of, or ''. */
  name: string
  budget: Budget
  findings: Finding[]
  /** Literals were searched up to here. */
  searchedTo: number
  /** Random-looking text was judged up to here. */
  judgedTo: number
  /** Where the last code (`\\n`, a colour) ended; its letter is no part of what follows. */
  codeEnd: number
  /** Codes were seen that can hide something. */
  hasCodes: boolean
  /** Characters that can join runs go on up to here; so does base64. */
  wideEnd: number
  base64End: number
  /** Three letters of a secret-like word were looked for up to `gramsTo` and last seen at `lastGram`. */
  gramsTo: number
  lastGram: number
  /** What each rule found reaches up to here: inside it the rule need not be tried again. */
  covered: Map<ProviderRule, number>
  /** Where the last value ends that was found by its name: it need not be judged again. */
  foundTo: number
  /** Where the last token found ends: what is glued to it begins a word of its own. */
  tokenEnd: number
}

export function newState(text: string, codes: Uint16Array, name: string, budget: Budget): State {
  return {
    text,
    codes,
    name,
    budget,
    findings: [],
    searchedTo: 0,
    judgedTo: 0,
    codeEnd: 0,
    hasCodes: false,
    wideEnd: 0,
    base64End: 0,
    gramsTo: 0,
    lastGram: Number.NEGATIVE_INFINITY,
    covered: NONE_COVERED,
    foundTo: 0,
    tokenEnd: -1,
  }
}

// Shared, since nearly every text has none; never written to.
const NONE_COVERED = new Map<ProviderRule, number>()

/** At a run long enough to be a token. Returns where to go on: past a blob, else the end of the run. */
export function atRun(gate: LiteralGate<ProviderRule>, state: State, start: number, end: number): number {
  const { codes } = state
  const style = nameStyle(codes, start, end)
  // Most long runs in source code. A token without any digit still has its prefix parted by a sign.
  if (style === 1) return end
  let left = start
  const floor = Math.max(state.searchedTo, start - 80)
  while (left > floor && LEAD[codes[left - 1] as number]) left--
  state.base64End = walkOn(BASE64, codes, Math.max(end, state.base64End))
  const isBlob = state.base64End - start >= MAX_TOKEN
  state.wideEnd = walkOn(WIDE, codes, Math.max(end, state.wideEnd))
  const stop = isBlob ? state.base64End : state.wideEnd
  const searchEnd = isBlob ? Math.min(end, start + 200) : stop
  if (searchEnd > state.searchedTo) {
    searchLiterals(gate, state, Math.max(left, state.searchedTo), searchEnd)
    state.searchedTo = searchEnd
  }
  if (start < state.judgedTo || style !== 0 || stop <= state.foundTo) return end
  judge(state, start, end, stop)
  state.judgedTo = stop
  return isBlob ? stop : end
}

/** Where the characters of a table end that go on at `at`. */
function walkOn(characters: Uint8Array, codes: Uint16Array, at: number): number {
  let i = at
  while (characters[codes[i] as number]) i++
  return i
}

export function searchLiterals(
  gate: LiteralGate<ProviderRule>,
  state: State,
  from: number,
  to: number,
): void {
  const { text, codes, budget } = state
  const last = Math.min(to, text.length - 2)
  for (let at = gate.next(codes, from, last); at !== -1; at = gate.next(codes, at + 1, last)) {
    budget.left -= AT_LITERAL
    for (const { literal, rules } of gate.near(codes, at)) {
      if (!text.startsWith(literal, at)) continue
      for (const rule of rules) tryRule(state, at, literal, rule)
    }
    if (budget.isSpent) return
  }
}

function tryRule(state: State, at: number, literal: string, rule: ProviderRule): void {
  if (at < (state.covered.get(rule) ?? 0)) return
  const finding = matchAt(state, at, literal, rule)
  if (!finding) return
  state.budget.left -= FINDING
  if (state.covered.size === 0) state.covered = new Map()
  state.covered.set(rule, finding.end)
  state.tokenEnd = finding.end
  state.findings.push(finding)
}

/** A run of words, no digit and capitals only where words begin: 1 in camel case, 2 with signs between, else 0. */
function nameStyle(codes: Uint16Array, start: number, end: number): number {
  let capitals = 0
  let signs = 0
  for (let i = start; i < end; i++) {
    const code = codes[i] as number
    if (DIGITS[code]) return 0
    capitals += UPPER[code] as number
    signs += 1 - (SOLID[code] as number)
  }
  if (capitals * 4 >= end - start) return 0
  return signs === 0 ? 1 : 2
}

/** A number or a UUID: too regular to look random, yet what some services hand out. */
function isPlainIdentity(codes: Uint16Array, start: number, end: number): boolean {
  if (end - start === 36 && codes[start + 8] === 45 && codes[start + 13] === 45) return true
  for (let i = start; i < end; i++) if (!DIGITS[codes[i] as number]) return false
  return true
}

/** Whether three letters of a secret-like word stand in the context before `at`. */
function hasGramBefore(state: State, at: number): boolean {
  const { codes } = state
  const floor = at - CONTEXT
  let i = Math.max(state.gramsTo, floor, 0)
  for (; i < at; i++) {
    if (isNameGram(codes[i] as number, codes[i + 1] as number, codes[i + 2] as number)) state.lastGram = i
  }
  state.gramsTo = Math.max(state.gramsTo, i)
  return state.lastGram >= floor
}

/** Is the text around a run random and does its context make it a secret? */
function judge(state: State, start: number, end: number, stop: number): void {
  const { text, codes } = state
  if (!isShuffled(codes, start, Math.min(end, start + 200)) && !isPlainIdentity(codes, start, end)) return
  let from = start
  const floor = Math.max(state.codeEnd, start - 100)
  while (from > floor && WIDE[codes[from - 1] as number]) from--
  const isNamed = from < CONTEXT && state.name !== ''
  if (!isNamed && !hasGramBefore(state, from)) return
  const first = codes[from]
  const isPath = first === 47 || (first === 46 && codes[from + 1] === 47) || first === 126
  if (isPath && stop - from < 200) return
  let to = stop
  while (to > end && codes[to - 1] === 46) to--
  while (codes[to] === 61 && to - stop < 3) to++
  const before = text.slice(Math.max(0, from - CONTEXT), from)
  const context = isNamed ? `${state.name}: ${before}` : before
  state.budget.left -= CONTEXT_READ
  if (!mayHoldName(context)) return
  state.budget.left -= JUDGED
  const value = text.slice(from, to)
  const rule = byContext(context, value)
  if (rule === undefined || isStandIn(value.slice(0, 300)) || entropy(value.slice(0, 300)) < 2.5) return
  state.findings.push({ start: from, end: to, rule })
}

/** Tries one provider rule where its literal stands. */
function matchAt(state: State, at: number, literal: string, rule: ProviderRule): Finding | undefined {
  const { text, codes, codeEnd: floor, budget } = state
  if (!rule.left && isInsideWord(state, at)) return undefined
  const from = at + literal.length
  const right = rule.right.exec(text.slice(from, from + MAX_SHAPE))
  budget.left -= SHAPE + (right ? right[0].length : Math.min(rule.longest, Math.max(0, state.wideEnd - from)))
  if (!right) return undefined
  let start = at
  if (rule.left) {
    const left = rule.left.exec(text.slice(Math.max(floor <= at ? floor : 0, at - 120), at))
    budget.left -= SHAPE * 4
    if (!left) return undefined
    start -= left[0].length
    if (isInsideWord(state, start)) return undefined
  }
  let end = from + right[0].length
  // A token longer than its documentation says is not left with its tail showing.
  const far = from + BODY
  while (end < far && KIND[codes[end] as number] === TOKEN) end++
  if (isRepetitive(codes, rule.left ? start : from, Math.min(end, far))) return undefined
  return { start, end: end < far ? end : walkOn(SAME_TOKEN, codes, end), rule: rule.id }
}

const SAME_TOKEN = KIND.map((kind) => Number(kind === TOKEN))

/** Whether `start` goes on with a word, so that no token begins there. */
function isInsideWord(state: State, start: number): boolean {
  const { codes } = state
  if (start === 0 || !SOLID[codes[start - 1] as number] || !SOLID[codes[start] as number]) return false
  state.budget.left -= INSIDE_WORD
  return start !== state.tokenEnd && !isAfterCode(codes, start)
}

const seen = new Uint32Array(65_536)
let lookCount = 0

/** Too few different characters to be a token, or one of them eight times in a row. */
function isRepetitive(codes: Uint16Array, start: number, end: number): boolean {
  // Each look has a number of its own, so that the table need not be emptied.
  lookCount = lookCount === 0xffff_ffff ? 1 : lookCount + 1
  let different = 0
  let same = 0
  for (let i = start; i < end; i++) {
    const code = codes[i] as number
    if (seen[code] !== lookCount) different++
    seen[code] = lookCount
    same = i > start && code === codes[i - 1] && !DIGITS[code] ? same + 1 : 0
    if (same === 7) return true
  }
  return different < Math.min(8, (end - start) / 3)
}
