// The tiers against their caps, what eviction would do now, what is gone and what is pinned.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { lastSweepAt } from '../../doctor/clock.ts'
import type { Receipt } from '../../query/receipts.ts'
import { planJson } from '../../retention/json.ts'
import { planNow } from '../../retention/planning.ts'
import { policyOf } from '../../retention/policy.ts'
import { allocatedBytes, databaseBytes } from '../../retention/usage.ts'
import type { Memory } from './memory.ts'

export interface Storage {
  tiers: {
    name: 'raw' | 'distilled'
    path: string
    bytes: number
    soft_cap_bytes: number | null
    hard_cap_bytes: number
    parts: { name: string; bytes: number }[]
  }[]
  policy: { raw_max_age_days: number; sole_copies: string; cadence: string }
  /** As `recollect evict --dry-run --json` prints it. */
  plan: Record<string, unknown>
  receipts: Omit<Receipt, 'is_restored'>[]
  receipt_count: number
  pins: { session_uid: string; title: string | null; first_prompt: string; pinned_at: string }[]
}

const MAX_RECEIPTS = 200

export function storageOf(memory: Memory): Storage {
  const { paths, config } = memory
  const handle = memory.handle()
  const policy = policyOf(config)
  const cacheDb = join(paths.cacheDirectory, 'cache.db')
  const plan = planNow({ store: { reader: handle }, paths, policy, lastSweepAt: lastSweepAt(config) })
  return {
    tiers: [
      {
        name: 'raw',
        path: paths.cacheDirectory,
        bytes: existsSync(paths.cacheDirectory) ? allocatedBytes(paths.cacheDirectory) : 0,
        soft_cap_bytes: policy.rawSoftCapBytes,
        hard_cap_bytes: policy.rawHardCapBytes,
        parts: [
          { name: 'index', bytes: databaseBytes(cacheDb) },
          { name: 'payloads', bytes: allocatedBytes(join(paths.cacheDirectory, 'blobs')) },
        ],
      },
      {
        name: 'distilled',
        path: paths.memoryPath,
        bytes: databaseBytes(paths.memoryPath),
        soft_cap_bytes: null,
        hard_cap_bytes: policy.distilledCapBytes,
        parts: [],
      },
    ],
    policy: {
      raw_max_age_days: policy.rawMaxAgeDays,
      sole_copies: policy.soleCopies,
      cadence: policy.cadence,
    },
    plan: planJson(plan, handle),
    receipts: handle.storage.newestReceipts(MAX_RECEIPTS),
    receipt_count: handle.storage.countReceipts(),
    pins: handle.storage.pins().map((pin) => ({ ...pin, pinned_at: new Date(pin.pinned_at).toISOString() })),
  }
}
