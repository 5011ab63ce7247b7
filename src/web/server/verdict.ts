// What a reader asks of a session first: which error decided it, and what mended the same error elsewhere.
import type { Digest, ErrorSnippet } from '../../digest/digest.ts'
import { type Mend, mendsOf } from '../../digest/mends.ts'
import { decidingError } from '../../digest/verdict.ts'
import type { Reader } from '../../store/reader/index.ts'

export interface Verdict {
  /** Null where the outcome rests on no error. */
  error: ErrorSnippet | null
  /** How other sessions overcame it, the way that worked most often first. */
  mends: Mend[]
}

export function verdictOf(handle: Reader, digest: Digest): Verdict {
  const error = decidingError(digest)
  if (!error) return { error: null, mends: [] }
  const met = handle.digests.failuresLike(error.fingerprint)
  return { error, mends: mendsOf(met.filter((one) => one.session_uid !== digest.session_uid)) }
}
