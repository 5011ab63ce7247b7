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
  const plan = planNow({ store: { read: () => handle }, paths, policy, lastSweepAt: lastSweepAt(config) })
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
    ...receiptsOf(memory),
    pins: pinsOf(memory),
  }
}

function receiptsOf(memory: Memory): Pick<Storage, 'receipts' | 'receipt_count'> {
  const { memory: database } = memory.handle()
  const rows = database
    .prepare(`SELECT * FROM receipts ORDER BY at DESC LIMIT ${MAX_RECEIPTS}`)
    .all() as unknown as (Omit<Receipt, 'evicted_at'> & { at: number })[]
  const { count } = database.prepare('SELECT count(*) AS count FROM receipts').get() as { count: number }
  return {
    receipts: rows.map(({ at, ...row }) => ({ ...row, evicted_at: new Date(at).toISOString() })),
    receipt_count: count,
  }
}

function pinsOf(memory: Memory): Storage['pins'] {
  const rows = memory
    .handle()
    .memory.prepare(
      `SELECT p.session_uid, s.title, coalesce(substr(d.digest ->> '$.first_prompt', 1, 200), '') AS first_prompt,
         p.pinned_at
       FROM pins p LEFT JOIN sessions s USING (session_uid) LEFT JOIN digests d USING (session_uid)
       ORDER BY p.pinned_at DESC`,
    )
    .all() as unknown as (Omit<Storage['pins'][number], 'pinned_at'> & { pinned_at: number })[]
  return rows.map((row) => ({ ...row, pinned_at: new Date(row.pinned_at).toISOString() }))
}
