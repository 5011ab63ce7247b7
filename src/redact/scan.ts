// Finds secrets in one text. One pass over the characters finds runs long enough to be a token, and operators; only
// around those are the provider table (behind its literal gate) and the structural rules asked.

import type { Budget } from './budget.ts'
import { byContext } from './context.ts'
import { entropy, isShuffled, isStandIn } from './entropy.ts'
import { escapeEnd } from './escapes.ts'
import { LiteralGate } from './gate.ts'
import type { ProviderRule } from './rules-providers.ts'
import {
  atFlag,
  atOperator,
  atUserFlag,
  type Finding,
  mayBeSecretName,
  privateKey,
} from './rules-structure.ts'

const TOKEN = 1
const OPERATOR = 2
const SPACE = 3
const BACKSLASH = 4
/** Shorter runs hold no token of any provider; passwords are found by their names instead. */
export const MIN_RUN = 16
/** Longer unbroken base64 is a file, not a token. */
const MAX_TOKEN = 1200
const MAX_SHAPE = 9000
const SHORT = 32

const ALPHANUMERIC = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

function table(...groups: [characters: string, value: number][]): Uint8Array {
  const out = new Uint8Array(65_536)
  for (const [characters, value] of groups) for (const c of characters) out[c.charCodeAt(0)] = value
  return out
}

const KIND = table([`${ALPHANUMERIC}_-~`, TOKEN], [':=>', OPERATOR], [' ', SPACE], ['\\', BACKSLASH])
/** Characters that can join runs to one token, path or URL. */
const WIDE = table([`${ALPHANUMERIC}_-~.+/%`, 1])
/** Characters that can stand between a literal and the long run of its token. */
const LEAD = table([`${ALPHANUMERIC}_-~.+/%:=$!@|*#`, 1])
const BASE64 = table([`${ALPHANUMERIC}_-~+/=`, 1])
const SOLID = table([ALPHANUMERIC, 1])
const DIGITS = table(['0123456789', 1])
const UPPER = table(['ABCDEFGHIJKLMNOPQRSTUVWXYZ', 1])

interface State {
  text: string
  codes: Uint16Array
  /** The key the text is the value of, or ''. */
  name: string
  findings: Finding[]
  /** Literals were searched up to here. */
  searchedTo: number
  /** Random-looking text was judged up to here. */
  judgedTo: number
  /** Where the last escape (`\\n`) ended; its letter is no part of what follows. */
  escapeEnd: number
}

/** Whether a text holds none of the signs and spaces that rules start from; runs are for the caller to judge. */
export function isOneWord(text: string): boolean {
  const { length } = text
  for (let i = 0; i < length; i++) if ((KIND[text.charCodeAt(i)] as number) > TOKEN) return false
  return true
}

export class Scanner {
  readonly #gate = new LiteralGate<ProviderRule>()
  #codes = new Uint16Array(65_536)
  #bytes = Buffer.from(this.#codes.buffer)

  readonly #ownGate: LiteralGate<ProviderRule> | undefined

  /** `own` are rules of the user: their tokens may be shorter than a provider's, so they are looked for everywhere. */
  constructor(rules: ProviderRule[], own: ProviderRule[] = []) {
    for (const rule of rules) for (const literal of rule.literals) this.#gate.add(literal, rule)
    if (own.length === 0) return
    this.#ownGate = new LiteralGate()
    for (const rule of own) for (const literal of rule.literals) this.#ownGate.add(literal, rule)
  }

  get hasOwnRules(): boolean {
    return this.#ownGate !== undefined
  }

  /** All findings, overlapping ones included; undefined when time ran out. */
  scan(text: string, name: string, budget: Budget): Finding[] | undefined {
    const codes = this.#load(text)
    const state: State = { text, codes, name, findings: [], searchedTo: 0, judgedTo: 0, escapeEnd: 0 }
    const end = text.length
    if (this.#ownGate) searchLiterals(this.#ownGate, state, 0, end)
    let runStart = 0
    let hitCount = 0
    for (let i = 0; i <= end; i++) {
      // The 0 behind the last character ends the last run.
      let kind = KIND[codes[i] as number] as number
      while (kind === TOKEN) kind = KIND[codes[++i] as number] as number
      const length = i - runStart
      let next = i
      if (length >= MIN_RUN) {
        next = this.#atRun(state, runStart, i)
        hitCount++
      } else if (kind === 0) {
        runStart = i + 1
        continue
      } else if (kind === SPACE) {
        if (length >= 6) {
          if (codes[runStart] === 45) next = this.#atDashes(state, runStart, i)
          else if (endsLikePassword(codes, i)) push(state, atFlag(text, runStart, i))
        } else if (length === 2 && codes[runStart] === 45 && codes[runStart + 1] === 117)
          push(state, atUserFlag(text, runStart, i))
      }
      if (kind === OPERATOR && (codes[i + 1] === 47 || mayBeSecretName(codes, i))) {
        push(state, atOperator(text, i))
        hitCount++
      }
      if (kind === BACKSLASH) {
        next = Math.max(next, escapeEnd(codes, i) - 1)
        state.escapeEnd = next + 1
      }
      if (next > i) i = next
      runStart = i + 1
      if (hitCount > 64) {
        if (budget.isSpent()) return undefined
        hitCount = 0
      }
    }
    return state.findings
  }

  /** The character codes, ended by a 0: a typed array is read several times faster than a string. */
  #load(text: string): Uint16Array {
    const { length } = text
    if (length >= this.#codes.length) {
      this.#codes = new Uint16Array(Math.ceil(length * 1.2) + 1)
      this.#bytes = Buffer.from(this.#codes.buffer)
    }
    const codes = this.#codes
    if (length > SHORT) this.#bytes.write(text, 'utf16le')
    // Below this the call itself takes longer than the characters.
    else for (let i = 0; i < length; i++) codes[i] = text.charCodeAt(i)
    codes[length] = 0
    return codes
  }

  /** At a short run that starts with a dash: a key block or a flag. Returns where to go on. */
  #atDashes(state: State, start: number, end: number): number {
    if (state.text.startsWith('-----BEGIN', start)) {
      const finding = privateKey(state.text, start)
      push(state, finding)
      return finding ? finding.end - 1 : end
    }
    push(state, atFlag(state.text, start, end))
    return end
  }

  /** At a run long enough to be a token. Returns where to go on: past a blob, else the end of the run. */
  #atRun(state: State, start: number, end: number): number {
    const { codes } = state
    const style = nameStyle(codes, start, end)
    // Most long runs in source code. A token without any digit still has its prefix parted by a sign.
    if (style === 1) return end
    let left = start
    const floor = Math.max(state.searchedTo, start - 80)
    while (left > floor && LEAD[codes[left - 1] as number]) left--
    const isBlob = reaches(codes, start, end)
    const joined = isBlob ? BASE64 : WIDE
    let stop = end
    while (joined[codes[stop] as number]) stop++
    const searchEnd = isBlob ? Math.min(end, start + 200) : stop
    searchLiterals(this.#gate, state, left, searchEnd)
    state.searchedTo = searchEnd
    if (start < state.judgedTo || style !== 0) return end
    judge(state, start, end, stop)
    state.judgedTo = stop
    return isBlob ? stop : end
  }
}

/** `password`, `passwd` and `pwd` are what a value can follow without a sign between. */
function endsLikePassword(codes: Uint16Array, end: number): boolean {
  const before = (codes[end - 2] as number) | 32
  return ((codes[end - 1] as number) | 32) === 100 && (before === 114 || before === 119)
}

function searchLiterals(gate: LiteralGate<ProviderRule>, state: State, from: number, to: number): void {
  const last = Math.min(to, state.text.length - 2)
  for (let at = gate.next(state.codes, from, last); at !== -1; at = gate.next(state.codes, at + 1, last)) {
    for (const { literal, rules } of gate.at(state.text, at))
      for (const rule of rules) push(state, matchAt(state, at, literal, rule))
  }
}

function push(state: State, finding: Finding | undefined): void {
  if (finding) state.findings.push(finding)
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

/** True if base64 goes on from `start` for longer than any token. */
function reaches(codes: Uint16Array, start: number, end: number): boolean {
  const limit = start + MAX_TOKEN
  let at = end
  while (at < limit && BASE64[codes[at] as number]) at++
  return at >= limit
}

/** A number or a UUID: too regular to look random, yet what some services hand out. */
function isPlainIdentity(codes: Uint16Array, start: number, end: number): boolean {
  if (end - start === 36 && codes[start + 8] === 45 && codes[start + 13] === 45) return true
  for (let i = start; i < end; i++) if (!DIGITS[codes[i] as number]) return false
  return true
}

/** Is the text around a run random and does its context make it a secret? */
function judge(state: State, start: number, end: number, stop: number): void {
  const { text, codes } = state
  if (!isShuffled(codes, start, Math.min(end, start + 200)) && !isPlainIdentity(codes, start, end)) return
  let from = start
  const floor = Math.max(state.escapeEnd, start - 100)
  while (from > floor && WIDE[codes[from - 1] as number]) from--
  const first = codes[from]
  const isPath = first === 47 || (first === 46 && codes[from + 1] === 47) || first === 126
  if (isPath && stop - from < 200) return
  let to = stop
  while (to > end && codes[to - 1] === 46) to--
  while (codes[to] === 61 && to - stop < 3) to++
  const value = text.slice(from, to)
  const before = text.slice(Math.max(0, from - 80), from)
  const context = from < 80 && state.name !== '' ? `${state.name}: ${before}` : before
  const rule = byContext(context, value)
  if (rule === undefined || isStandIn(value.slice(0, 300)) || entropy(value.slice(0, 300)) < 2.5) return
  state.findings.push({ start: from, end: to, rule })
}

/** Tries one provider rule where its literal stands. */
function matchAt(state: State, at: number, literal: string, rule: ProviderRule): Finding | undefined {
  const { text, escapeEnd: floor } = state
  const from = at + literal.length
  const right = rule.right.exec(text.slice(from, from + MAX_SHAPE))
  if (!right) return undefined
  let start = at
  if (rule.left) {
    const left = rule.left.exec(text.slice(Math.max(floor < at ? floor : 0, at - 120), at))
    if (!left) return undefined
    start -= left[0].length
  }
  const isInsideWord = SOLID[text.charCodeAt(start - 1)] === 1 && SOLID[text.charCodeAt(start)] === 1
  if (start > 0 && isInsideWord && text.charCodeAt(start - 2) !== 92) return undefined
  let end = from + right[0].length
  // A token longer than its documentation says is not left with its tail showing.
  while (KIND[state.codes[end] as number] === TOKEN) end++
  const body = text.slice(rule.left ? start : from, Math.min(end, from + 200))
  if (new Set(body).size < Math.min(8, body.length / 3) || /([^0-9])\1{7}/.test(body)) return undefined
  return { start, end, rule: rule.id }
}
