// "Has this error been solved before, and how": an error's text is fingerprinted as the sweep does it, then looked up.
// Read from Tier 2 alone, so that it answers for sessions whose events are gone.
import { parseStored } from '../errors.ts'
import type { ReadHandle } from '../store/store.ts'
import { failureOf } from './errors.ts'
import type { Resolution } from './resolution.ts'

export interface Solved {
  session_uid: string
  repo: string | null
  fingerprint: string
  tool: string
  sample: string
  count: number
  last_at: string | null
  seqs: number[]
  /** Null where this session never got past it. */
  resolved_by: Resolution | null
}

export interface SolvedAnswer {
  /** The line of the text that tells the failure: what was looked for. */
  sample: string
  seen: Solved[]
}

/** Sessions that met the same error: the solved ones first, then the newest. */
export function solvedBefore(handle: Pick<ReadHandle, 'memory'>, text: string): SolvedAnswer {
  const { memory } = handle
  // The tool is part of a fingerprint and not of the question: each tool that ever failed is tried.
  const tools = memory.prepare('SELECT DISTINCT tool FROM failures').all() as unknown as { tool: string }[]
  const classes = new Set(['', 'shell', ...tools.map((row) => row.tool.toLowerCase())])
  const fingerprints = new Set([...classes].map((one) => failureOf(one, { text }).fingerprint))
  const find = memory.prepare(
    `SELECT f.*, d.repo, coalesce(f.last_at, d.ended_at) AS at FROM failures f JOIN digests d USING (session_uid)
     WHERE f.fingerprint = ?`,
  )
  const rows = [...fingerprints].flatMap((one) => find.all(one) as unknown as Row[])
  rows.sort(
    (a, b) =>
      Number(b.resolved_by !== null) - Number(a.resolved_by !== null) ||
      (b.at ?? 0) - (a.at ?? 0) ||
      (a.session_uid < b.session_uid ? -1 : 1),
  )
  return { sample: failureOf('', { text }).sample, seen: rows.map(toSolved) }
}

interface Row {
  session_uid: string
  repo: string | null
  fingerprint: string
  tool: string
  sample: string
  count: number
  at: number | null
  seqs: string
  resolved_by: string | null
}

const toSolved = (row: Row): Solved => ({
  session_uid: row.session_uid,
  repo: row.repo,
  fingerprint: row.fingerprint,
  tool: row.tool,
  sample: row.sample,
  count: row.count,
  last_at: row.at === null ? null : new Date(row.at).toISOString(),
  seqs: parseStored<number[]>(row.seqs),
  resolved_by: row.resolved_by === null ? null : parseStored<Resolution>(row.resolved_by),
})
