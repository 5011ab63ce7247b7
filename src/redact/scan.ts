// Finds secrets in one text. One pass over the characters finds runs long enough to be a token, operators and flags; only
// around those are the provider table (behind its literal gate) and the structural rules asked.

import type { Budget } from './budget.ts'
import { AT, CODE, KIND, OPERATOR, SPACE, TOKEN } from './characters.ts'
import { codeEnd, decodedView, type View, wasTelling } from './escapes.ts'
import type { Finding } from './finding.ts'
import { LiteralGate } from './gate.ts'
import { privateKey } from './rules-blocks.ts'
import { atShortFlag, dsnPassword, isShortFlag } from './rules-commands.ts'
import type { ProviderRule } from './rules-providers.ts'
import { atFlag, atOperator, mayBeOperator } from './rules-structure.ts'
import { atRun, MIN_RUN, newState, type State, searchLiterals } from './tokens.ts'

const SHORT = 32
/** Characters of the longest text whose codes are kept for the next one. */
const KEPT = 1 << 22
const DASH = 45
const BRACKET = 91
/** What a look at an operator or a flag costs, and what a finding does beyond it. */
const LOOK = 100
const FINDING = 400
/** What reading back costs: over the command of a flag, or the word before an `@`. */
const READ_BACK = 1500
/** What reading a code costs, in the text and again for its decoded view. */
const READ_CODE = 18

export interface Scan {
  /** Overlapping ones included. */
  findings: Finding[]
  /** The text as it reads with its codes read, if it holds codes that can hide something. */
  view: View | undefined
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

  /** `name` is the key the text is the value of, or ''. Undefined when the budget is spent. */
  scan(text: string, name: string, budget: Budget): Scan | undefined {
    const codes = this.#load(text)
    const state = newState(text, codes, name, budget)
    const end = text.length
    if (this.#ownGate) searchLiterals(this.#ownGate, state, 0, end)
    let runStart = 0
    for (let i = 0; i <= end; i++) {
      // The 0 behind the last character ends the last run.
      let kind = KIND[codes[i] as number] as number
      while (kind === TOKEN) kind = KIND[codes[++i] as number] as number
      const length = i - runStart
      let next = i
      if (length >= MIN_RUN) next = atRun(this.#gate, state, runStart, i)
      else if (kind === 0) {
        runStart = i + 1
        continue
      } else if (kind === SPACE && length >= 6) next = this.#atWord(state, runStart, i)
      if (kind === SPACE) {
        if (codes[i + 1] === DASH && isShortFlag(codes[i + 2])) {
          budget.left -= READ_BACK
          look(state, atShortFlag(text, codes, i + 1))
        }
      } else if (kind === OPERATOR) this.#atOperator(state, i)
      else if (kind === CODE) next = Math.max(next, skipCode(state, i) - 1)
      else if (kind === AT && dsnFollows(codes, i)) {
        budget.left -= READ_BACK
        look(state, dsnPassword(text, i))
      }
      if (next > i) i = next
      runStart = i + 1
      if (budget.isSpent) return undefined
    }
    return { findings: state.findings, view: state.hasCodes ? decodedView(text, codes) : undefined }
  }

  /** The character codes, ended by a 0: a typed array is read several times faster than a string. */
  #load(text: string): Uint16Array {
    const { length } = text
    // Not kept: a scanner lives as long as the program.
    if (length >= KEPT) return loaded(text)
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

  /** At a short run that a space ends: a key block, a flag or a password-like word. Returns where to go on. */
  #atWord(state: State, start: number, end: number): number {
    const { text, codes } = state
    if (codes[start] !== DASH) {
      if (endsLikePassword(codes, end)) look(state, atFlag(text, start, end, state.budget))
      return end
    }
    if (!text.startsWith('-----BEGIN', start)) {
      look(state, atFlag(text, start, end, state.budget))
      return end
    }
    const finding = privateKey(text, start, state.budget)
    look(state, finding)
    return finding ? finding.end - 1 : end
  }

  #atOperator(state: State, at: number): void {
    const { text, codes } = state
    // `=3D` is quoted-printable.
    if (codes[at + 1] === 51 && codes[at + 2] === 68 && codes[at] === 61) {
      state.hasCodes = true
      state.budget.left -= READ_CODE
    }
    if (mayBeOperator(codes, at)) look(state, atOperator(text, at, state.budget))
  }
}

function loaded(text: string): Uint16Array {
  const codes = new Uint16Array(text.length + 1)
  Buffer.from(codes.buffer).write(text, 'utf16le')
  return codes
}

function look(state: State, finding: Finding | undefined): void {
  state.budget.left -= LOOK
  if (!finding) return
  state.budget.left -= FINDING
  state.findings.push(finding)
  state.foundTo = finding.end
}

/** Returns where the code at `at` ends; its letters are no part of what follows. */
function skipCode(state: State, at: number): number {
  const end = codeEnd(state.codes, at)
  // Nearly every bracket opens a list: that is no work.
  if (end === at + 1 && state.codes[at] === BRACKET) return end
  state.codeEnd = end
  state.budget.left -= READ_CODE
  if (wasTelling()) state.hasCodes = true
  return end
}

/** `password`, `passwd` and `pwd` are what a value can follow without a sign between. */
function endsLikePassword(codes: Uint16Array, end: number): boolean {
  const before = (codes[end - 2] as number) | 32
  return ((codes[end - 1] as number) | 32) === 100 && (before === 114 || before === 119)
}

/** `@tcp(`, `@unix(` or `@/`: what follows the password in a data source name of Go or MySQL. */
function dsnFollows(codes: Uint16Array, at: number): boolean {
  const next = codes[at + 1]
  return next === 47 || (next === 116 && codes[at + 4] === 40) || (next === 117 && codes[at + 5] === 40)
}
