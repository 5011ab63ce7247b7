// A digest whose events are gone keeps the fingerprints of the rules that made it, and those join with no newer ones. What
// they were made of, the telling line, is kept as the sample: by it they are named again. A sample that was cut is not the
// line; its failure keeps the old name.
import type { Digest, ErrorSnippet } from './digest.ts'
import { FINGERPRINT_PREFIX, failureOf, isCut } from './errors.ts'
import { mergeErrors } from './merge.ts'

export function renameFailures<T extends Pick<Digest, 'error_snippets' | 'signals'>>(digest: T): T {
  const names = new Map(digest.error_snippets.map((one) => [one.fingerprint, nameOf(one)]))
  if ([...names].every(([old, now]) => old === now)) return digest
  const named = digest.error_snippets.map((one) => ({
    ...one,
    fingerprint: names.get(one.fingerprint) as string,
  }))
  return {
    ...digest,
    // Two that differed may be the same now.
    error_snippets: mergeErrors(named),
    signals: digest.signals.map((one) => ({ ...one, subject: names.get(one.subject) ?? one.subject })),
  }
}

const nameOf = ({ fingerprint, sample }: ErrorSnippet): string =>
  fingerprint.startsWith(FINGERPRINT_PREFIX) || isCut(sample)
    ? fingerprint
    : failureOf({ text: sample }).fingerprint
