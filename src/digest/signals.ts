// Signals: notable facts about how a session went, each found by one small detector over its facts, with the seqs that
// show it. Adding a detector is adding a row to DETECTORS and to docs/digest.md, and raising the rule version.
import type { Facts } from './facts.ts'
import { cited, joinedSeqs, type Seqs } from './seqs.ts'
import { LOOP_FROM, longestOf } from './work.ts'

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
  | typeof COST_OUTLIER

/** About money, not about events: found where the price is known. */
export const COST_OUTLIER = 'cost_outlier'

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
      .map((found) => ({ signal, ...found })),
  )
}

const about = (subject: string, seqs: Seqs): Found => ({ subject, count: seqs.count, seqs: cited(seqs) })

const whole = (seqs: Seqs, from: number): Found[] => (seqs.count < from ? [] : [about('', seqs)])

/** The same call failing again and again, with nothing of it succeeding in between. */
function retryLoops({ work }: Facts): Found[] {
  return [...work.loops.values()]
    .map((loop) => about(loop.subject, longestOf(loop)))
    .filter((one) => one.count >= LOOP_FROM)
}

function fixedTests({ tests }: Facts): Found[] {
  const found: Found[] = []
  for (const [command, { fixed }] of tests.byCommand)
    if (fixed) found.push({ ...about(command, fixed), count: fixed.count - 1 })
  return found
}

function failingTests({ tests }: Facts): Found[] {
  const found: Found[] = []
  for (const [command, { last, failures }] of tests.byCommand)
    if (last === 'failed') found.push(about(command, failures))
  return found
}

function uselessTools({ work }: Facts): Found[] {
  return [...work.tools]
    .filter(([, tool]) => !tool.hasSucceeded && tool.failures.count >= NEVER_FROM)
    .map(([name, tool]) => about(name, tool.failures))
}

function churnedFiles({ work }: Facts): Found[] {
  return [...work.files.values()]
    .filter((file) => file.edits.count >= CHURN_FROM)
    .map((file) => about(file.path, file.edits))
}

function repeatedErrors({ failures }: Facts): Found[] {
  // One failure of two files is kept twice.
  const all = new Map<string, Seqs>()
  for (const { fingerprint, seqs } of failures.values()) {
    const known = all.get(fingerprint)
    all.set(fingerprint, known ? joinedSeqs(known, seqs) : seqs)
  }
  return [...all].filter(([, seqs]) => seqs.count >= ERRORS_FROM).map(([name, seqs]) => about(name, seqs))
}
