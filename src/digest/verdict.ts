// What decided how a session ended, as far as its digest tells it: the error behind the verdict.
import type { Digest, ErrorSnippet } from './digest.ts'

/** The error that the outcome rests on; undefined where it rests on none, as that of most that went well. */
export function decidingError(digest: Digest): ErrorSnippet | undefined {
  const { outcome, outcome_detail: detail, error_snippets: errors } = digest
  if (outcome === 'success') return undefined
  const open = errors.filter((error) => error.resolved_by === null)
  const behind = new Set(detail.seqs)
  // A run of tests is named by its call; the error is the answer to it.
  for (const { seqs } of digest.tests)
    if (seqs.some((seq) => behind.has(seq))) for (const seq of seqs) behind.add(seq)
  const named = open.find((error) => error.seqs.some((seq) => behind.has(seq)))
  if (named || outcome !== 'fail') return named
  return open.reduce<ErrorSnippet | undefined>(
    (last, error) => (last && last.last_at >= error.last_at ? last : error),
    undefined,
  )
}
