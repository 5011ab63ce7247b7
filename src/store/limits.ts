// How much of an allowance was used, as agents were told: it cannot be had again, so it stays when the session's raw goes.
// One row per session, limit and quarter of an hour, with the last that was told in it.
import type { PreparedLimit } from './batch.ts'
import type { Database, Statement } from './database.ts'
import { SLOT_MS } from './slots.ts'

export class Limits {
  readonly #save: Statement

  constructor(memory: Database) {
    const told = ['at', 'used_percent', 'left', 'window_minutes', 'resets_at', 'plan']
    this.#save = memory.prepare(
      `INSERT INTO limits (session_uid, name, slot, ${told.join(', ')}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET ${told.map((name) => `${name} = excluded.${name}`).join(', ')} WHERE excluded.at >= at`,
    )
  }

  write(limits: readonly PreparedLimit[]): void {
    for (const { sessionUid, name, at, usedPercent, left, windowMinutes, resetsAt, plan } of limits)
      this.#save.run(
        sessionUid,
        name,
        Math.floor(at / SLOT_MS),
        at,
        usedPercent,
        left,
        windowMinutes,
        resetsAt,
        plan,
      )
  }
}
