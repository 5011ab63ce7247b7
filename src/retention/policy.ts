// The retention settings as one value, checked against each other.
import type { Config } from '../config.ts'
import { RecollectError } from '../errors.ts'
import type { Policy } from './plan.ts'

export type Cadence = 'daily' | 'weekly' | 'on-hook'

const SECTION = 'session_memory.retention'

export function policyOf(config: Config): Policy & { cadence: Cadence } {
  const policy = {
    rawSoftCapBytes: config.get(`${SECTION}.raw_soft_cap_bytes`),
    rawHardCapBytes: config.get(`${SECTION}.raw_hard_cap_bytes`),
    rawMaxAgeDays: config.get(`${SECTION}.raw_max_age_days`),
    distilledCapBytes: config.get(`${SECTION}.distilled_cap_bytes`),
    soleCopies: config.get(`${SECTION}.sole_copies`) as Policy['soleCopies'],
    cadence: config.get(`${SECTION}.cadence`) as Cadence,
  }
  if (policy.rawSoftCapBytes <= policy.rawHardCapBytes) return policy
  throw new RecollectError(
    'BAD_CONFIG',
    `raw_soft_cap_bytes (${policy.rawSoftCapBytes}) must not be greater than raw_hard_cap_bytes (${policy.rawHardCapBytes})`,
    {
      where: config.place(`${SECTION}.raw_soft_cap_bytes`),
      hint: `eviction begins at the soft cap, below the ceiling: lower ${SECTION}.raw_soft_cap_bytes or raise the hard cap`,
    },
  )
}
