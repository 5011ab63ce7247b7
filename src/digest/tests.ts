// Verdict of a test run: the exit code, unless the command line hides it behind a pipe; then the runner's own count.
import { type DigestEvent, fullText } from './event.ts'
import type { Step } from './facts.ts'

export interface Test {
  seq: number
  resultSeq: number | null
  command: string
  verdict: 'passed' | 'failed' | 'unknown'
  exitCode: number | null
  durationMs: number | null
  isSidechain: boolean
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
