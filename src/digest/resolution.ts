// What resolved a failure: the edits and commands between its last occurrence and the first success of the same thing.
import { isShell, toolClass } from './event.ts'
import type { Facts, Step } from './facts.ts'

export interface Resolution {
  /** The call that failed last, and the one that succeeded. */
  failed_seq: number
  resolved_seq: number
  /** What was done in between, in order. */
  steps: { seq: number; what: string }[]
}

const MAX_STEPS = 12

/** By fingerprint; failures that were never overcome are absent. */
export function resolutionsOf({ steps }: Pick<Facts, 'steps'>): Map<string, Resolution> {
  const found = new Map<string, Resolution>()
  const lastFailure = new Map<string, number>()
  for (const [at, step] of steps.entries()) if (step.failure !== null) lastFailure.set(step.failure, at)
  const successes = successesByKey(steps)
  for (const [fingerprint, at] of lastFailure) {
    const failed = steps[at] as Step
    const next = keysOf(failed)
      .flatMap((key) => successes.get(key) ?? [])
      .filter((index) => index > at)
      .sort((a, b) => a - b)[0]
    if (next === undefined) continue
    found.set(fingerprint, {
      failed_seq: failed.seq,
      resolved_seq: (steps[next] as Step).seq,
      steps: changesBetween(steps, at, next),
    })
  }
  return found
}

/** The same command, a run of the tests after failing tests, or the same tool on the same file. */
function keysOf(step: Step): string[] {
  if (step.isTest) return ['tests']
  const tool = toolClass(step.tool)
  return step.files.length > 0
    ? step.files.map((file) => `${step.kind === 'edit' ? 'edit' : tool}\0${file}`)
    : [`${tool}\0${step.subject}`]
}

function successesByKey(steps: readonly Step[]): Map<string, number[]> {
  const found = new Map<string, number[]>()
  for (const [at, step] of steps.entries()) {
    if (step.hasFailed !== false || (step.exitCode ?? 0) !== 0) continue
    for (const key of keysOf(step)) {
      const known = found.get(key)
      if (known) known.push(at)
      else found.set(key, [at])
    }
  }
  return found
}

function changesBetween(steps: readonly Step[], from: number, to: number): Resolution['steps'] {
  const side = (steps[from] as Step).isSidechain
  // Reading changes nothing: only edits and commands can have helped, and the success itself shows how it was tried.
  return steps
    .slice(from + 1, to + 1)
    .filter((step) => step.isSidechain === side && step.hasFailed === false)
    .filter((step, at, all) => step.kind === 'edit' || isShell(step.tool) || at === all.length - 1)
    .slice(-MAX_STEPS)
    .map((step) => ({
      seq: step.seq,
      what: step.kind === 'edit' ? `edit ${step.files.join(', ')}` : step.subject,
    }))
}
