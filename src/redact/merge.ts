// Joins overlapping findings. The replaced range is their union, so nothing of either stays; the longest gives the rule
// and the text that the marker's digest is made of.
import { STRUCTURE_RULES } from './rules-structure.ts'

export interface Secret {
  start: number
  end: number
  rule: string
  /** The secret as it reads with its codes read. */
  text: string
  /** Found in the decoded view, whose reading of the secret is the better one. */
  decoded: boolean
}

const isStructural = (rule: string): boolean => Object.hasOwn(STRUCTURE_RULES, rule)

/** True if `a` names the secret better than `b`: decoded before raw, then longer, then the more specific rule. */
function better(a: Secret, b: Secret): boolean {
  if (a.decoded !== b.decoded) return a.decoded
  if (a.text.length !== b.text.length) return a.text.length > b.text.length
  return isStructural(b.rule) && !isStructural(a.rule)
}

/** Disjoint secrets in order of position. */
export function mergeSecrets(found: Secret[]): Secret[] {
  const sorted = found.slice().sort((a, b) => a.start - b.start || b.end - a.end)
  const merged: Secret[] = []
  for (const secret of sorted) {
    const last = merged.at(-1)
    if (last && secret.start < last.end) {
      const best = better(secret, last) ? secret : last
      merged[merged.length - 1] = { ...best, start: last.start, end: Math.max(last.end, secret.end) }
    } else merged.push(secret)
  }
  return merged
}
