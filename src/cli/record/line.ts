// Checks an input line against the schema of its format. Strict: a field we do not know is an error, since an agent
// that misspells one would otherwise lose what it holds.
import type * as z from 'zod'
import { RecollectError } from '../../errors.ts'

interface Fault {
  path: PropertyKey[]
  message: string
  /** Those nobody knows. */
  keys?: string[]
}

/** The line itself, not a copy: what the schema leaves open keeps its keys and their order. */
export function checkLine<T>(schema: z.ZodType<T>, value: unknown, docs: string): T {
  const checked = schema.safeParse(value)
  if (checked.success) return value as T
  const faults = checked.error.issues.flatMap((issue) => faultsOf(issue))
  const told = faults.map(({ path, message }) => (path.length ? `${path.join('.')}: ${message}` : message))
  throw new RecollectError('BAD_INPUT', told.join('; '), {
    where: [...(faults[0]?.path ?? []), ...(faults[0]?.keys?.slice(0, 1) ?? [])].join('.') || 'the line',
    hint: `see ${docs}; nothing was written`,
  })
}

/** Of the alternatives of a union, the one that got furthest says what was meant. */
function faultsOf(issue: z.core.$ZodIssue): Fault[] {
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return [issue]
  const depth = (faults: Fault[]): number => Math.max(...faults.map((fault) => fault.path.length))
  const branches = issue.errors.map((branch) => branch.flatMap((inner) => faultsOf(inner)))
  const [best = []] = branches.toSorted((a, b) => depth(b) - depth(a))
  return best.map((fault) => ({ ...fault, path: [...issue.path, ...fault.path] }))
}
