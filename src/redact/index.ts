// Secrets out before a byte is stored. Owns the public interface: what a redactor is and when it refuses. Best effort,
// never a promise: docs/redaction.md says what it finds and what it cannot.
import { createHmac } from 'node:crypto'
import { RecollectError } from '../errors.ts'
import { Budget } from './budget.ts'
import { readCodes } from './escapes.ts'
import { MARKER } from './finding.ts'
import { mergeSecrets, type Secret } from './merge.ts'
import { makeRule, providerRules } from './rules-providers.ts'
import { STRUCTURE_RULES, wholeValue } from './rules-structure.ts'
import { isOneWord, Scanner } from './scan.ts'
import { selfTest } from './self-test.ts'
import { MIN_RUN } from './tokens.ts'
import { walk } from './walk.ts'

export { loadRedactionKey } from './key.ts'

/** How often each rule found something. */
export interface Findings {
  [rule: string]: number
}

/** A pattern of the user's own: `pattern` (a regular expression source) must match what follows one of the literals. */
interface UserRule {
  id: string
  literals: string[]
  pattern: string
}

export interface RedactorOptions {
  /** From `loadRedactionKey`. */
  key: Uint8Array
  rules?: UserRule[]
  /** How many times the usual work one string may cause before it is replaced whole (default 1). */
  effort?: number
}

export interface Redactor {
  /** The text with secrets replaced, counted into `findings`; the same string when nothing was found. */
  text(value: string, findings: Findings): string
  /** A parsed JSON value with every string and long key redacted; the same reference when nothing was found. */
  value<T>(value: T, findings: Findings): T
}

const MIN_LENGTH = 8
/** Nothing shorter is taken for the value of a secret-like name. */
const MIN_PASSWORD = 6
const MARKERS = /\[REDACTED:[a-z0-9-]{1,60}:[0-9a-f]{8}\]/g
const MAX_ROUNDS = 12
const TOO_DEEP = /^\[REDACTED:too-deep:[0-9a-f]{8}\]$/
/** The work of a round for each character, charged from the third on; the second only proves that the first was enough. */
const ROUND = 2

/** Makes a redactor; throws BAD_CONFIG when a rule cannot load or the self-test fails, so none ever runs half-armed. */
export function createRedactor(options: RedactorOptions): Redactor {
  const { key, effort = 1 } = options
  if (!(key instanceof Uint8Array) || key.length < 16) {
    throw new RecollectError('BAD_CONFIG', 'the redaction key is missing or too short', {
      where: 'key',
      hint: 'pass the 32 bytes that loadRedactionKey returns',
    })
  }
  try {
    return build(Uint8Array.from(key), proved(options.rules ?? []), effort)
  } catch (cause) {
    throw new RecollectError('BAD_CONFIG', 'the redaction rules cannot be used', {
      where: 'rules',
      cause,
      hint: 'nothing is stored without redaction: correct or remove the rule named in the cause',
    })
  }
}

/** Whether this is what `value` gives back for a value nested deeper, or larger, than it is willing to check. */
export const isTooDeep = (value: unknown): boolean => typeof value === 'string' && TOO_DEEP.test(value)

/** Every rule in use, for documentation: id and what it finds. */
export function listRules(): { id: string; note: string }[] {
  const providers = providerRules().map(({ id, note }) => ({ id, note }))
  return [...providers, ...Object.entries(STRUCTURE_RULES).map(([id, note]) => ({ id, note }))]
}

/** Without rules of the user's: a watcher makes a redactor for each of its sweeps, and the rules are always the same. */
let builtIn: Scanner | undefined

/** A scanner that has passed the self-test. */
function proved(userRules: UserRule[]): Scanner {
  if (userRules.length === 0 && builtIn) return builtIn
  const scanner = loadScanner(userRules)
  selfTest(build(new Uint8Array(32), scanner, Number.POSITIVE_INFINITY).text)
  if (userRules.length === 0) builtIn = scanner
  return scanner
}

function loadScanner(userRules: UserRule[]): Scanner {
  const rules = providerRules()
  const own = userRules.map(({ id, literals, pattern }) => {
    if (!/^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(id)) {
      throw new Error(`rule id ${JSON.stringify(id)}: use a-z, 0-9 and dashes`)
    }
    if (literals.length === 0 || literals.some((literal) => literal.length < 3)) {
      throw new Error(`rule ${id}: every literal needs three characters or more`)
    }
    const rule = makeRule(id, literals, pattern, 'added by the user')
    if (rule.right.test('')) throw new Error(`rule ${id}: the pattern matches nothing at all`)
    return rule
  })
  const ids = new Set<string>([...Object.keys(STRUCTURE_RULES), 'budget', 'too-deep'])
  for (const { id } of [...rules, ...own]) {
    if (ids.has(id)) throw new Error(`rule ${id} exists twice`)
    ids.add(id)
  }
  return new Scanner(rules, own)
}

function build(key: Uint8Array, scanner: Scanner, effort: number): Redactor {
  // The user's own tokens may be of any length.
  const isPlain = !scanner.hasOwnRules
  const marker = (rule: string, secret: string): string => {
    const digest = createHmac('sha256', key).update(secret).digest('hex').slice(0, 8)
    return `[REDACTED:${rule}:${digest}]`
  }

  function redact(value: string, name: string, findings: Findings): string {
    if (value.length < MIN_LENGTH && (name === '' || (isPlain && value.length < MIN_PASSWORD))) return value
    // Most strings are this short, and a secret among them is known by its name alone.
    if (isPlain && value.length < MIN_RUN && isOneWord(value) && !wholeValue(value, name)) return value
    const budget = new Budget(value.length, effort)
    let text = value
    const found: Findings = {}
    // What stands beside a secret may show only after it was replaced, so look until nothing is found.
    for (let round = 0; round < MAX_ROUNDS; round++) {
      if (round > 1) budget.left -= ROUND * text.length
      const secrets = findSecrets(scanner, text, name, budget)
      if (secrets === undefined) break
      const replaced = secrets.length === 0 ? text : replace(text, secrets, found, marker)
      if (replaced === text) {
        for (const rule in found) findings[rule] = (findings[rule] ?? 0) + (found[rule] as number)
        return text
      }
      text = replaced
    }
    findings['budget'] = (findings['budget'] ?? 0) + 1
    return marker('budget', value)
  }

  return {
    text: (value, findings) => redact(value, '', findings),
    value<T>(value: T, findings: Findings): T {
      const done = walk(
        value,
        (text, name) => redact(text, name, findings),
        (name) => redact(name, '', findings),
      )
      if (done) return done.value as T
      findings['too-deep'] = (findings['too-deep'] ?? 0) + 1
      return marker('too-deep', 'too-deep') as T
    },
  }
}

const NONE: Secret[] = []

/** Findings in the text as it stands and in its decoded view, joined; undefined when the budget is spent. */
function findSecrets(scanner: Scanner, value: string, name: string, budget: Budget): Secret[] | undefined {
  const raw = scanner.scan(value, name, budget)
  if (raw === undefined) return undefined
  const whole = name === '' ? undefined : wholeValue(value, name)
  const { view } = raw
  if (raw.findings.length === 0 && !whole && !view) return NONE
  const secrets: Secret[] = raw.findings.map((finding) => ({
    ...finding,
    text: readCodes(value.slice(finding.start, finding.end)),
    decoded: false,
  }))
  if (whole) secrets.push({ ...whole, text: value, decoded: false })
  if (view) {
    const decoded = scanner.scan(view.text, name, budget)
    if (decoded === undefined) return undefined
    for (const { start, end, rule } of decoded.findings) {
      const text = view.text.slice(start, end)
      secrets.push({ start: view.startOf(start), end: view.endOf(end - 1), rule, text, decoded: true })
    }
  }
  return secrets.length < 2 ? secrets : mergeSecrets(secrets)
}

function replace(
  value: string,
  secrets: Secret[],
  findings: Findings,
  marker: (rule: string, secret: string) => string,
): string {
  const kept = value.includes(MARKER) ? [...value.matchAll(MARKERS)] : []
  // The same secret often stands in a text many times.
  const made = new Map<string, string>()
  const markerOf = (rule: string, secret: string): string => {
    let known = made.get(secret)
    if (known?.startsWith(`${rule}:`, MARKER.length)) return known
    known = marker(rule, secret)
    made.set(secret, known)
    return known
  }
  let nextKept = 0
  let out = ''
  let done = 0
  for (const { start, end, rule, text } of secrets) {
    // A marker inside a finding stays as it is; only what stands around it is replaced.
    const pieces: [from: number, to: number][] = []
    let from = start
    for (; nextKept < kept.length; nextKept++) {
      const { index, 0: mark } = kept[nextKept] as RegExpExecArray
      if (index >= end) break
      pieces.push([from, index])
      from = Math.max(from, index + mark.length)
      if (from > end) break
    }
    pieces.push([from, end])
    for (const [first, last] of pieces) {
      const piece = value.slice(first, last)
      if (first >= last || !/[A-Za-z0-9]/.test(piece)) continue
      out += value.slice(done, first) + markerOf(rule, piece.length === end - start ? text : piece)
      done = last
      findings[rule] = (findings[rule] ?? 0) + 1
    }
  }
  return done === 0 ? value : out + value.slice(done)
}
