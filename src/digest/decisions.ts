// Decisions in a digest. They come from outside the events, at any time: the digest is told them last, and anew each time.
import type { Decision } from '../model.ts'
import type { Digest } from './digest.ts'

export function tellDecisions(digest: Digest, decisions: readonly Decision[]): Digest {
  const told = decisions.map(({ session_uid: _, ...one }) => one)
  const native = digest.kind_counts.decision ?? 0
  return {
    ...digest,
    markers: { ...digest.markers, decisions: native + told.length },
    decisions: told,
  }
}
