// How well the memory understands what it reads, per flavor: sources, gaps, records nobody described, secrets taken out.

import { isoTime } from '../model.ts'
import type { GapRow } from '../store/reader/coverage.ts'
import type { Reader } from '../store/reader/index.ts'

export type { GapRow } from '../store/reader/coverage.ts'

export interface FlavorCoverage {
  flavor: string
  sessions: number
  events: number
  sources: number
  source_bytes: number
  read_bytes: number
  missing_sources: number
  gaps: number
  gap_bytes: number
  pending_gaps: number
  /** 1 when every byte read was understood. */
  coverage: number
  last_ingested_at: string | null
  last_active_at: string | null
  unknown_records: { name: string; count: number }[]
  redactions: Record<string, number>
}

export interface Coverage {
  flavors: FlavorCoverage[]
  gaps: GapRow[]
  gap_count: number
  /** Sessions whose digest is missing or older than their events. */
  undigested: number
  /** What retention had to report: losses, and caps that are passed. */
  log: { session_uid: string; at: string; name: string; detail: string }[]
}

const MAX_GAPS = 200
const MAX_LOG = 100
const MAX_UNKNOWN = 50

export function coverageOf(handle: Reader): Coverage {
  const flavors = flavorRows(handle)
  return {
    flavors,
    gaps: handle.coverage.gaps(MAX_GAPS),
    gap_count: flavors.reduce((sum, row) => sum + row.gaps, 0),
    undigested: handle.coverage.countUndigested('all'),
    log: handle.coverage.log(MAX_LOG).map((row) => ({ ...row, at: isoTime(row.at) as string })),
  }
}

function flavorRows({ coverage }: Reader): FlavorCoverage[] {
  const sources = new Map(coverage.sources().map((row) => [row.flavor, row]))
  const gaps = new Map(coverage.gapSums().map((row) => [row.flavor, row]))
  return coverage.flavors().map((row) => {
    const source = sources.get(row.flavor)
    const gap = gaps.get(row.flavor)
    const read = source?.read_bytes ?? 0
    return {
      flavor: row.flavor,
      sessions: row.sessions,
      events: row.events,
      sources: source?.sources ?? 0,
      source_bytes: source?.source_bytes ?? 0,
      read_bytes: read,
      missing_sources: source?.missing_sources ?? 0,
      gaps: gap?.gaps ?? 0,
      gap_bytes: gap?.gap_bytes ?? 0,
      pending_gaps: gap?.pending_gaps ?? 0,
      coverage: read === 0 ? 1 : Math.max(0, 1 - (gap?.gap_bytes ?? 0) / read),
      last_ingested_at: isoTime(row.ingested),
      last_active_at: isoTime(row.active),
      unknown_records: coverage.unknownOf(row.flavor, MAX_UNKNOWN),
      redactions: Object.fromEntries(coverage.redactionsOf(row.flavor).map((one) => [one.rule, one.count])),
    }
  })
}

/** What of one session's sources could not be understood. */
export const gapsOf = (handle: Reader, uid: string): GapRow[] => handle.coverage.gapsOf(uid, MAX_GAPS)
