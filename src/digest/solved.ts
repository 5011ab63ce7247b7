// "Has this error been solved before, and how": an error's text is fingerprinted as the sweep does it, then looked up.
// Read from Tier 2 alone, so that it answers for sessions whose events are gone.
import { parseStored } from '../errors.ts'
import { isoTime } from '../model.ts'
import type { FailureRow } from '../store/reader/digests.ts'
import type { Reader } from '../store/reader/index.ts'
import { failureOf } from './errors.ts'
import { type Mend, mendsOf } from './mends.ts'
import type { Resolution } from './resolution.ts'

export interface Solved extends Omit<FailureRow, 'at' | 'seqs' | 'resolved_by'> {
  last_at: string | null
  seqs: number[]
  /** Null where this session never got past it. */
  resolved_by: Resolution | null
}

export interface SolvedAnswer {
  /** The line of the text that tells the failure: what was looked for. */
  sample: string
  /** Ways to overcome it, the one that worked most often first. */
  mends: Mend[]
  seen: Solved[]
}

/** Sessions that met the same error: those that overcame it in the way that worked most often first, then the newest. */
export function solvedBefore(handle: Reader, text: string, notShown?: ReadonlySet<string>): SolvedAnswer {
  const { fingerprint, sample } = failureOf({ text })
  const known = [fingerprint, ...otherSpellings(sample)]
    .map((one) => handle.digests.failuresLike(one).filter((row) => !notShown?.has(row.session_uid)))
    .find((found) => found.length > 0)
  const rows = known ?? []
  const mends = mendsOf(rows)
  const rank = (row: FailureRow): number => {
    const at = mends.findIndex(({ sessions }) => sessions.some((one) => one.session_uid === row.session_uid))
    return at === -1 ? mends.length + Number(row.resolved_by === null) : at
  }
  rows.sort(
    (a, b) => rank(a) - rank(b) || (b.at ?? 0) - (a.at ?? 0) || (a.session_uid < b.session_uid ? -1 : 1),
  )
  return { sample, mends, seen: rows.map(toSolved) }
}

/** People copy a message without the word before it, or with it where the program wrote none. */
function otherSpellings(sample: string): string[] {
  const bare = sample.replace(/^error: /i, '')
  return [bare, `Error: ${bare}`, `error: ${bare}`]
    .filter((one) => one !== sample)
    .map((one) => failureOf({ text: one }).fingerprint)
}

const toSolved = (row: FailureRow): Solved => ({
  session_uid: row.session_uid,
  repo: row.repo,
  fingerprint: row.fingerprint,
  tool: row.tool,
  sample: row.sample,
  count: row.count,
  last_at: isoTime(row.at),
  seqs: parseStored<number[]>(row.seqs),
  resolved_by: row.resolved_by === null ? null : parseStored<Resolution>(row.resolved_by),
})
