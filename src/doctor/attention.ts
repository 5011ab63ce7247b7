// What can be told of a memory at once, without asking agents or reading it through: how large and how fresh it is, what
// was lost, what was not understood. `recollect status` shows the bad part of it, `recollect doctor` all.

import type { Config } from '../config.ts'
import { formatBytes, plural } from '../figures.ts'
import { DAY } from '../model.ts'
import { countLost } from '../query/lost.ts'
import { policyOf } from '../retention/policy.ts'
import { allocatedBytes, databaseBytes } from '../retention/usage.ts'
import { peekSpool, readSpoolState } from '../sources/spool.ts'
import type { Reader } from '../store/reader/index.ts'
import type { StorePaths } from '../store/reading.ts'
import { ageText, type Finding, finding } from './finding.ts'

const SHOWN = 5
const STUCK_MS = 3_600_000

/** What a memory takes on the disk, in bytes. Measured once by who asks: of 20,000 sessions it takes a tenth of a second. */
export interface Sizes {
  raw: number
  distilled: number
}

export const sizesOf = (paths: StorePaths): Sizes => ({
  raw: allocatedBytes(paths.cacheDirectory),
  distilled: databaseBytes(paths.memoryPath),
})

export function checkAtOnce(handle: Reader, config: Config, sizes: Sizes, now: number): Finding[] {
  return [
    checkSize(config, sizes),
    ...checkLosses(handle),
    ...checkRaw(handle),
    ...checkAnalyzed(handle),
    ...checkSweep(config, now),
    ...gaps(handle),
    ...drift(handle),
  ]
}

function checkSize(config: Config, { raw, distilled }: Sizes): Finding {
  const policy = policyOf(config)
  const text = `raw ${formatBytes(raw)} of ${formatBytes(policy.rawSoftCapBytes)}, memory ${formatBytes(distilled)} of ${formatBytes(policy.distilledCapBytes)}`
  // What somebody types goes at once, only copies included: look first.
  const fix = 'recollect evict --dry-run, then recollect evict'
  if (raw > policy.rawHardCapBytes) return finding('memory.size', 'error', text, { fix })
  if (raw > policy.rawSoftCapBytes) return finding('memory.size', 'warning', text, { fix })
  if (distilled > policy.distilledCapBytes)
    return finding('memory.size', 'warning', `${text}; nothing of the memory is dropped by itself`, {
      fix: 'raise session_memory.retention.distilled_cap_bytes',
    })
  return finding('memory.size', 'ok', text)
}

function checkLosses(handle: Reader): Finding[] {
  const n = handle.storage.countLosses()
  if (n === 0) return []
  const fix = 'raise session_memory.retention.raw_hard_cap_bytes, or sweep more often'
  return [
    finding(
      'memory.loss',
      'warning',
      `${plural(n, 'session')} dropped before analysis: the hard cap left no other way`,
      { fix },
    ),
  ]
}

/** What is gone for good is no news each time; what a sweep brings back should be. */
function checkRaw(handle: Reader): Finding[] {
  const { again, gone, example } = countLost(handle)
  if (again + gone === 0) return []
  const parts = [
    again > 0 ? `${plural(again, 'session')} can be read again from the agents' files` : '',
    gone > 0 ? `${plural(gone, 'session')} only have their digest left, such as ${example}` : '',
  ]
  const text = `the cache was deleted outside of Recollect: ${parts.filter(Boolean).join(', ')}`
  return [
    again > 0
      ? finding('memory.raw', 'warning', text, { fix: 'recollect sweep' })
      : finding('memory.raw', 'info', text, { fix: `recollect digest ${example}` }),
  ]
}

function checkSweep(config: Config, now: number): Finding[] {
  const { fullAt } = readSpoolState(config.home)
  const age = now - fullAt
  const found =
    fullAt === 0
      ? finding('sweep.age', 'info', 'no sweep has looked at everything yet', { fix: 'recollect sweep' })
      : age > 7 * DAY
        ? finding('sweep.age', 'warning', `everything was last looked at ${ageText(age)} ago`, {
            fix: 'recollect sweep',
          })
        : finding('sweep.age', 'ok', `everything was last looked at ${ageText(age)} ago`)
  return [found, checkSpool(config.home, now)]
}

function checkSpool(home: string, now: number): Finding {
  const lines = peekSpool(home)
  const oldest = Math.min(...lines.map((line) => line.at))
  if (lines.length > 0 && now - oldest > STUCK_MS)
    return finding(
      'spool.pending',
      'warning',
      `${lines.length} pending, the oldest for ${ageText(now - oldest)}`,
      {
        fix: 'recollect sweep',
      },
    )
  return finding('spool.pending', 'ok', `${lines.length} pending`)
}

/** What was read and has no digest yet: a sweep that was stopped in between. */
function checkAnalyzed(handle: Reader): Finding[] {
  const n = handle.coverage.countUndigested('here')
  if (n === 0) return []
  return [
    finding('memory.analysis', 'warning', `${plural(n, 'session')} not analyzed yet`, {
      fix: 'recollect sweep',
    }),
  ]
}

function gaps(handle: Reader): Finding[] {
  const rows = handle.coverage.lastingGaps()
  return rows.slice(0, SHOWN).map(({ flavor, reason, n, bytes, path }) =>
    finding(
      'source.gaps',
      'warning',
      `${flavor}: ${reason} ×${n}, ${formatBytes(bytes)} could not be understood, such as in ${path}`,
      {
        subject: flavor,
        fix: 'docs/damage.md tells what it means; nothing around it was lost',
      },
    ),
  )
}

/** Where a new version of an agent writes what we do not know, it is kept as it is, and named here. */
function drift(handle: Reader): Finding[] {
  const rows = handle.coverage.unknown()
  const versions = (uids: readonly (string | null)[]): string => {
    const all = uids.slice(0, 200).map((uid) => (uid === null ? null : handle.sessions.agentVersion(uid)))
    return [...new Set(all.filter(Boolean))].sort().join(', ')
  }
  return [...new Set(rows.map((row) => row.flavor))].map((flavor) => {
    const names = rows.filter((row) => row.flavor === flavor)
    const shown = names.slice(0, SHOWN).map(({ name, n, uids }) => {
      const by = versions(uids)
      return `${name} ×${n}${by ? ` (${by})` : ''}`
    })
    const rest = names.length > SHOWN ? ` and ${names.length - SHOWN} more` : ''
    return finding(
      'source.drift',
      'warning',
      `${flavor} writes records we do not know: ${shown.join(', ')}${rest}`,
      {
        subject: flavor,
        fix: 'npm install -g recollect@latest, then recollect sweep --full',
      },
    )
  })
}
