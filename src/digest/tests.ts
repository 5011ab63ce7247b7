// Verdict of a test run: the exit code, unless the command line hides it behind a pipe; then the runner's own count.
// And what the runs of each command add up to.
import { entryOf, prune } from './bounded.ts'
import { type DigestEvent, fullText } from './event.ts'
import { addSeq, noSeqs, type Seqs, withSeq } from './seqs.ts'
import type { Step } from './step.ts'

export interface Test {
  seq: number
  resultSeq: number | null
  command: string
  verdict: 'passed' | 'failed' | 'unknown'
  exitCode: number | null
  durationMs: number | null
  isSidechain: boolean
  /** Where the result had no exit code: the call, which may end later, in the background. */
  open: { call: string; hidesExit: boolean } | null
}

/** The runs of one command. */
export interface TestRuns {
  /** When the last of them was noted, with or without a result. */
  order: number
  /** The last verdict there was. */
  last: 'passed' | 'failed' | null
  failures: Seqs
  /** The failures before the last time it passed, and that one; null when it never failed before. */
  fixed: Seqs | null
}

export interface TestState {
  count: number
  /** How often something was noted. */
  order: number
  failureCount: number
  /** The last ones. */
  runs: Test[]
  byCommand: Map<string, TestRuns>
  /** The last one of the conversation itself that had a verdict. */
  lastTold: Test | null
}

export const MAX_TESTS = 100
const MAX_COMMANDS = 100

export const noTests = (): TestState => ({
  count: 0,
  order: 0,
  failureCount: 0,
  runs: [],
  byCommand: new Map(),
  lastTold: null,
})

/** Notes that a test was begun (null), or how it ended. */
export function addTest(tests: TestState, command: string, test: Test | null): void {
  const { byCommand, runs } = tests
  const known = entryOf(byCommand, command, () => ({
    order: 0,
    last: null,
    failures: noSeqs(),
    fixed: null,
  }))
  known.order = ++tests.order
  prune(byCommand, MAX_COMMANDS, (a, b) => b.order - a.order)
  if (test === null) return
  tests.count++
  runs.push(test)
  if (runs.length > MAX_TESTS) runs.shift()
  noteVerdict(tests, test)
}

function noteVerdict(tests: TestState, test: Test): void {
  const { verdict, seq } = test
  if (verdict === 'unknown') return
  if (!test.isSidechain) tests.lastTold = test
  const known = tests.byCommand.get(test.command)
  if (verdict === 'failed') tests.failureCount++
  if (!known) return
  known.last = verdict
  if (verdict === 'failed') addSeq(known.failures, seq)
  else if (known.failures.count > 0) known.fixed = withSeq(known.failures, seq)
}

/** A run that went on in the background after its first result: what comes later tells how it ended. */
export function endTest(tests: TestState, event: DigestEvent): void {
  if (event.call === null || event.exitCode === null) return
  const test = tests.runs.findLast((one) => one.open?.call === event.call)
  if (!test?.open || test.verdict === 'failed') return
  const verdict = verdictOf({ hasFailed: event.kind === 'error', hidesExit: test.open.hidesExit }, event)
  test.resultSeq = event.seq
  test.exitCode = event.exitCode
  test.durationMs = event.durationMs ?? test.durationMs
  test.open = null
  if (tests.lastTold?.seq === test.seq) tests.lastTold = test
  if (verdict === 'unknown' || verdict === test.verdict) return
  test.verdict = verdict
  noteVerdict(tests, test)
}

const COUNTED_FAILURES = new RegExp(
  [
    /(?<![\d./])[1-9]\d* (?:tests? )?(?:fail(?:ed|ing|ures?)?|errors?)\b/,
    // Maven, PHPUnit, .NET, and what Node prints.
    /\b(?:[Ff]ail(?:ures?|ed)?|[Ee]rrors?): *[1-9]|^[#ℹ] fail [1-9]/,
    /\btest result: FAILED\b|^(?:FAIL|not ok)\b|\bFAILED \(|^FAILURES!|\[ +FAILED +\]|\bBUILD FAIL|^Result: FAIL/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'm',
)
const COUNTED_PASSES = new RegExp(
  [
    /\b[1-9]\d* (?:pass(?:ed|ing)?|tests? pass(?:ed)?|ok)\b|\b[1-9]\d* \w+, (?:\d+ \w+, )?0 failures\b/,
    /\bTests run: [1-9]|^[#ℹ] pass [1-9]|\b100% tests passed\b|\bPassed: +[1-9]|\bAll tests (?:passed|successful)/,
    /\btest result: ok\b|^(?:PASS|ok|OK)\b|\[ +PASSED +\]|\bBUILD SUCCESS|^Result: PASS/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'm',
)

export function testVerdict(step: Step, result: DigestEvent): Test {
  return {
    seq: step.seq,
    resultSeq: result.seq,
    command: step.subject,
    verdict: verdictOf(step, result),
    exitCode: result.exitCode,
    durationMs: result.durationMs,
    isSidechain: step.isSidechain,
    open:
      result.exitCode === null && step.call !== null && !step.hasFailed
        ? { call: step.call, hidesExit: step.hidesExit }
        : null,
  }
}

function verdictOf(step: Pick<Step, 'hasFailed' | 'hidesExit'>, result: DigestEvent): Test['verdict'] {
  if (step.hasFailed) return 'failed'
  if (result.exitCode !== null && result.exitCode !== 0) return 'failed'
  if (result.exitCode === 0 && !step.hidesExit) return 'passed'
  const output = fullText(result)
  if (COUNTED_FAILURES.test(output)) return 'failed'
  return COUNTED_PASSES.test(output) ? 'passed' : 'unknown'
}

const IS_TEST = /test|spec|check|cargo|mocha|jest|tox|make|mvn|gradle|prove/i

/** One that nothing closes goes to the end, and stays: looked for from each quote in it, its end would be sought without end. */
const QUOTED = /'[^']*'|"(?:[^"\\]|\\.)*("?)/g

/** Whether the exit code of a call is that of another program than the tests: of one behind a pipe, or after them. */
export function hidesExit(command: string): boolean {
  // What stands in quotes is an argument, unless a shell is to run it.
  const isShellText = /\bsh -\w*c\b/.test(command)
  const bare = isShellText
    ? command
    : command.replace(QUOTED, (all, end?: string) => (end === '' ? all : '""'))
  if (bare.includes('|') && !/\bpipefail\b/.test(bare)) return true
  const last = bare.replace(/\\\n/g, ' ').trim().split(/[;\n]/).at(-1) ?? ''
  return last !== bare.trim() && !IS_TEST.test(last) && !/\bset -\w*e/.test(bare)
}
