// Signals: notable facts about how a session went, each found by one small detector over its facts, with the seqs that
// show it. Adding a detector is adding a row to DETECTORS and to docs/digest.md, and raising the rule version.
import { cite, toolClass } from './event.ts'
import type { Facts, Step } from './facts.ts'

export interface Signal {
  signal: SignalName
  /** What it is about: a command, a file, a tool; empty for the session as a whole. */
  subject: string
  count: number
  seqs: number[]
}

export type SignalName =
  | 'retry_loop'
  | 'test_fixed'
  | 'tests_left_failing'
  | 'repeated_interruption'
  | 'permission_denied'
  | 'context_thrash'
  | 'tool_never_succeeds'
  | 'edit_churn'
  | 'repeated_error'
  | 'request_trouble'

const LOOP_FROM = 3
const INTERRUPTIONS_FROM = 2
const COMPACTIONS_FROM = 2
const NEVER_FROM = 3
const CHURN_FROM = 6
const ERRORS_FROM = 3
const REQUESTS_FROM = 3
const MAX_PER_SIGNAL = 10

type Found = Omit<Signal, 'signal'>

const DETECTORS: [SignalName, (facts: Facts) => Found[]][] = [
  ['retry_loop', retryLoops],
  ['test_fixed', fixedTests],
  ['tests_left_failing', failingTests],
  ['repeated_interruption', ({ interrupts }) => whole(interrupts, INTERRUPTIONS_FROM)],
  ['permission_denied', ({ denials }) => whole(denials, 1)],
  ['context_thrash', ({ compactions }) => whole(compactions, COMPACTIONS_FROM)],
  ['tool_never_succeeds', uselessTools],
  ['edit_churn', churnedFiles],
  ['repeated_error', repeatedErrors],
  ['request_trouble', ({ requestRetries }) => whole(requestRetries, REQUESTS_FROM)],
]

export function signalsOf(facts: Facts): Signal[] {
  return DETECTORS.flatMap(([signal, detect]) =>
    detect(facts)
      .sort((a, b) => b.count - a.count)
      .slice(0, MAX_PER_SIGNAL)
      .map((found) => ({ signal, ...found, seqs: cite(found.seqs) })),
  )
}

function whole(seqs: readonly number[], from: number): Found[] {
  return seqs.length < from ? [] : [{ subject: '', count: seqs.length, seqs: [...seqs] }]
}

/** Groups steps by what they are about. */
function groups(steps: readonly Step[], keyOf: (step: Step) => string | undefined): Map<string, Step[]> {
  const found = new Map<string, Step[]>()
  for (const step of steps) {
    const key = keyOf(step)
    if (key === undefined) continue
    const known = found.get(key)
    if (known) known.push(step)
    else found.set(key, [step])
  }
  return found
}

/** The same call failing again and again, with nothing of it succeeding in between. */
function retryLoops({ steps }: Facts): Found[] {
  const found: Found[] = []
  for (const [key, same] of groups(steps, (step) => `${toolClass(step.tool)}\0${step.subject}`)) {
    let run: Step[] = []
    let longest: Step[] = []
    for (const step of same) {
      run = step.hasFailed ? [...run, step] : []
      if (run.length > longest.length) longest = run
    }
    if (longest.length >= LOOP_FROM)
      found.push({
        subject: key.split('\0')[1] as string,
        count: longest.length,
        seqs: longest.map((step) => step.seq),
      })
  }
  return found
}

function fixedTests({ tests }: Facts): Found[] {
  const found: Found[] = []
  for (const [command, runs] of groupTests(tests)) {
    const failed = runs.findIndex((run) => run.verdict === 'failed')
    const passed = failed === -1 ? -1 : runs.findLastIndex((run) => run.verdict === 'passed')
    if (passed > failed) {
      const failures = runs.slice(0, passed).filter((run) => run.verdict === 'failed')
      found.push({
        subject: command,
        count: failures.length,
        seqs: [...failures.map((run) => run.seq), (runs[passed] as { seq: number }).seq],
      })
    }
  }
  return found
}

function failingTests({ tests }: Facts): Found[] {
  const found: Found[] = []
  for (const [command, runs] of groupTests(tests)) {
    const last = runs.findLast((run) => run.verdict !== 'unknown')
    if (last?.verdict !== 'failed') continue
    const failures = runs.filter((run) => run.verdict === 'failed')
    found.push({ subject: command, count: failures.length, seqs: failures.map((run) => run.seq) })
  }
  return found
}

function groupTests(tests: Facts['tests']): Map<string, Facts['tests']> {
  const found = new Map<string, Facts['tests']>()
  for (const test of tests) {
    const known = found.get(test.command)
    if (known) known.push(test)
    else found.set(test.command, [test])
  }
  return found
}

function uselessTools({ steps }: Facts): Found[] {
  const found: Found[] = []
  for (const [tool, calls] of groups(steps, (step) => (step.hasFailed === null ? undefined : step.tool))) {
    if (calls.length >= NEVER_FROM && calls.every((step) => step.hasFailed))
      found.push({ subject: tool, count: calls.length, seqs: calls.map((step) => step.seq) })
  }
  return found
}

function churnedFiles({ steps }: Facts): Found[] {
  const edits = new Map<string, number[]>()
  for (const step of steps) {
    if (step.kind !== 'edit' || step.hasFailed) continue
    for (const file of step.files) edits.set(file, [...(edits.get(file) ?? []), step.seq])
  }
  return [...edits]
    .filter(([, seqs]) => seqs.length >= CHURN_FROM)
    .map(([subject, seqs]) => ({ subject, count: seqs.length, seqs }))
}

function repeatedErrors({ failures }: Facts): Found[] {
  return failures
    .filter((failure) => failure.count >= ERRORS_FROM)
    .map((failure) => ({ subject: failure.fingerprint, count: failure.count, seqs: failure.seqs }))
}
