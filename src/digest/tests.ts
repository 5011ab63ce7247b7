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
}

/** The runs of one command. */
export interface TestRuns {
  /** The last of them, with or without a result. */
  lastSeq: number
  /** The last verdict there was. */
  last: 'passed' | 'failed' | null
  failures: Seqs
  /** The failures before the last time it passed, and that one; null when it never failed before. */
  fixed: Seqs | null
}

export interface TestState {
  count: number
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
  failureCount: 0,
  runs: [],
  byCommand: new Map(),
  lastTold: null,
})

/** Notes that a test was begun (null), or how it ended. */
export function addTest(tests: TestState, command: string, seq: number, test: Test | null): void {
  const { byCommand, runs } = tests
  const known = entryOf(byCommand, command, () => ({
    lastSeq: seq,
    last: null,
    failures: noSeqs(),
    fixed: null,
  }))
  known.lastSeq = seq
  prune(byCommand, MAX_COMMANDS, (a, b) => b.lastSeq - a.lastSeq)
  if (test === null) return
  tests.count++
  runs.push(test)
  if (runs.length > MAX_TESTS) runs.shift()
  if (test.verdict === 'unknown') return
  if (!test.isSidechain) tests.lastTold = test
  known.last = test.verdict
  if (test.verdict === 'failed') {
    tests.failureCount++
    addSeq(known.failures, seq)
  } else if (known.failures.count > 0) known.fixed = withSeq(known.failures, seq)
}

const HIDES_EXIT_CODE = /\||;|\btrue\b/
const COUNTED_FAILURES =
  /\b[1-9]\d* (?:failed|failing|failures?|errors?)\b|\btest result: FAILED\b|^(?:FAIL|not ok)\b|\bFAILED \(/m
const COUNTED_PASSES =
  /\b[1-9]\d* (?:passed|passing|tests? pass(?:ed)?|ok)\b|\btest result: ok\b|^(?:PASS|ok)\b/m

export function testVerdict(step: Step, result: DigestEvent): Test {
  return {
    seq: step.seq,
    resultSeq: result.seq,
    command: step.subject,
    verdict: verdictOf(step, result),
    exitCode: result.exitCode,
    durationMs: result.durationMs,
    isSidechain: step.isSidechain,
  }
}

function verdictOf(step: Step, result: DigestEvent): Test['verdict'] {
  if (step.hasFailed) return 'failed'
  if (result.exitCode !== null && result.exitCode !== 0) return 'failed'
  if (result.exitCode === 0 && !HIDES_EXIT_CODE.test(step.subject)) return 'passed'
  const output = fullText(result)
  if (COUNTED_FAILURES.test(output)) return 'failed'
  return result.exitCode === 0 || COUNTED_PASSES.test(output) ? 'passed' : 'unknown'
}
