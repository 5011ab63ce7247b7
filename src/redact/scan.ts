// Finds secrets in one text. One pass over the characters finds runs long enough to be a token, and operators; only
// around those are the provider table (behind its literal gate) and the structural rules asked.
import { performance } from 'node:perf_hooks'
import { isStandIn, looksRandom } from './entropy.ts'
import { LiteralGate } from './gate.ts'
import type { ProviderRule } from './rules-providers.ts'
import { atFlag, atOperator, byContext, type Finding, privateKey } from './rules-structure.ts'

const TOKEN = 1
const OPERATOR = 2
const SPACE = 3
/** Shorter runs hold no token of any provider; passwords are found by their names instead. */
const MIN_RUN = 16
/** Longer unbroken base64 is a file, not a token. */
const MAX_TOKEN = 1200
const MAX_SHAPE = 9000

const KIND = new Uint8Array(65_536)
for (const c of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-~')
  KIND[c.charCodeAt(0)] = TOKEN
for (const c of ':=>') KIND[c.charCodeAt(0)] = OPERATOR
KIND[32] = SPACE

/** Characters that can join runs to one token, path or URL. */
const WIDE = new Uint8Array(65_536)
for (let i = 0; i < 128; i++) if (KIND[i] === TOKEN || '.+/%'.includes(String.fromCharCode(i))) WIDE[i] = 1
const BASE64 = new Uint8Array(65_536)
for (let i = 0; i < 128; i++) if (KIND[i] === TOKEN || '+/='.includes(String.fromCharCode(i))) BASE64[i] = 1

const isAlphanumeric = (code: number): boolean =>
  (code > 47 && code < 58) || (code > 64 && code < 91) || (code > 96 && code < 123)

interface State {
  text: string
  /** The key the text is the value of, or ''. */
  name: string
  findings: Finding[]
  /** Literals were searched up to here. */
  searchedTo: number
  /** Random-looking text was judged up to here. */
  judgedTo: number
}

export class Scanner {
  readonly #gate = new LiteralGate<ProviderRule>()

  constructor(rules: ProviderRule[]) {
    for (const rule of rules) for (const literal of rule.literals) this.#gate.add(literal, rule)
  }

  /** All findings, overlapping ones included; undefined when time ran out. */
  scan(text: string, name: string, deadline: number): Finding[] | undefined {
    const state: State = { text, name, findings: [], searchedTo: 0, judgedTo: 0 }
    const end = text.length
    let runStart = 0
    let hitCount = 0
    for (let i = 0; i <= end; i++) {
      const kind = i === end ? 0 : (KIND[text.charCodeAt(i)] as number)
      if (kind === TOKEN) continue
      const length = i - runStart
      let next = i
      if (length >= MIN_RUN) {
        next = this.#atRun(state, runStart, i)
        hitCount++
      } else if (length >= 8 && kind === SPACE) {
        if (text.charCodeAt(runStart) === 45) next = this.#atDashes(state, runStart, i)
        else if ((text.charCodeAt(i - 1) | 32) === 100) this.#push(state, atFlag(text, runStart, i))
      }
      if (kind === OPERATOR) {
        this.#push(state, atOperator(text, i))
        hitCount++
      }
      if (next > i) i = next
      runStart = i + 1
      if (hitCount > 64) {
        if (performance.now() > deadline) return undefined
        hitCount = 0
      }
    }
    return state.findings
  }

  #push(state: State, finding: Finding | undefined): void {
    if (finding) state.findings.push(finding)
  }

  /** At a short run that starts with a dash: a key block or a flag. Returns where to go on. */
  #atDashes(state: State, start: number, end: number): number {
    if (state.text.startsWith('-----BEGIN', start)) {
      const finding = privateKey(state.text, start)
      this.#push(state, finding)
      return finding ? finding.end - 1 : end
    }
    this.#push(state, atFlag(state.text, start, end))
    return end
  }

  /** At a run long enough to be a token. Returns where to go on: past a blob, else the end of the run. */
  #atRun(state: State, start: number, end: number): number {
    const { text } = state
    let left = start
    const floor = Math.max(state.searchedTo, start - 80)
    while (left > floor && (WIDE[text.charCodeAt(left - 1)] || text.charCodeAt(left - 1) === 58)) left--
    const isBlob = this.#isBlob(text, start, end)
    const searchEnd = isBlob ? Math.min(end, start + 200) : end
    this.#gate.search(text, left, searchEnd, (at, literal, rules) => {
      for (const rule of rules) this.#push(state, matchAt(text, at, literal, rule))
    })
    state.searchedTo = searchEnd
    if (start < state.judgedTo) return end
    let stop = end
    while (stop < text.length && (isBlob ? BASE64 : WIDE)[text.charCodeAt(stop)]) stop++
    this.#judge(state, start, end, stop)
    state.judgedTo = stop
    return isBlob ? stop : end
  }

  #isBlob(text: string, start: number, end: number): boolean {
    const limit = start + MAX_TOKEN
    let at = end
    while (at < limit && BASE64[text.charCodeAt(at)]) at++
    return at >= limit
  }

  /** Is the text around a run random and does its context make it a secret? */
  #judge(state: State, start: number, end: number, stop: number): void {
    const { text } = state
    if (!looksRandom(text.slice(start, Math.min(end, start + 200)))) return
    let from = start
    const floor = Math.max(0, start - 100)
    while (from > floor && WIDE[text.charCodeAt(from - 1)]) from--
    const first = text.charCodeAt(from)
    const isPath = first === 47 || (first === 46 && text.charCodeAt(from + 1) === 47) || first === 126
    if (isPath && stop - from < 200) return
    let to = stop
    while (to > end && text.charCodeAt(to - 1) === 46) to--
    while (text.charCodeAt(to) === 61 && to - stop < 3) to++
    const value = text.slice(from, to)
    if (isStandIn(value.slice(0, 300))) return
    const before = text.slice(Math.max(0, from - 80), from)
    const context = from < 80 && state.name !== '' ? `${state.name}: ${before}` : before
    const rule = byContext(context, value)
    if (rule) state.findings.push({ start: from, end: to, rule })
  }
}

/** Tries one provider rule where its literal stands. */
function matchAt(text: string, at: number, literal: string, rule: ProviderRule): Finding | undefined {
  const from = at + literal.length
  const right = rule.right.exec(text.slice(from, from + MAX_SHAPE))
  if (!right) return undefined
  let start = at
  if (rule.left) {
    const left = rule.left.exec(text.slice(Math.max(0, at - 120), at))
    if (!left) return undefined
    start -= left[0].length
  }
  const before = text.charCodeAt(start - 1)
  if (isAlphanumeric(before) && isAlphanumeric(text.charCodeAt(start)) && text.charCodeAt(start - 2) !== 92)
    return undefined
  const end = from + right[0].length
  const body = text.slice(rule.left ? start : from, Math.min(end, from + 200))
  if (new Set(body).size < Math.min(8, body.length / 3) || /(.)\1{7}/.test(body)) return undefined
  return { start, end, rule: rule.id }
}
