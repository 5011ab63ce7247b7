// What could not be looked at or read and did not end the sweep: an error all the same, with its code, cause and hint.
import { type ErrorCode, errnoOf, fromSystem, fromUnforeseen } from '../errors.ts'

/** Plain data: it also crosses from the thread that reads. */
export interface Problem {
  /** Where, and what. */
  path: string
  reason: string
  code: ErrorCode
  hint: string
  cause?: string
}

/** A tree of a million links must fill neither the memory nor a report: the first are kept, all are counted. */
export interface Problems {
  problems: Problem[]
  problemCount: number
}

const MAX_PROBLEMS = 1000

export function addProblem(to: Problems, problem: Problem): void {
  to.problemCount++
  if (to.problems.length < MAX_PROBLEMS) to.problems.push(problem)
}

/** Of what was thrown while this path was looked at. */
export function problemOf(error: unknown, path: string, what = 'cannot read'): Problem {
  const known = errnoOf(error) === undefined ? fromUnforeseen(error) : fromSystem(error, what, path, 'read')
  const { code, message, hint, cause } = known.toJSON()
  return { path, reason: message, code, hint, ...(cause === undefined ? {} : { cause }) }
}
