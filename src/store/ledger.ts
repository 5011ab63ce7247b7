// The usage ledger: one row per session and response, read through the view `usage`. Sessions and models stand in it by
// number: under their names the ledger was the largest part of Tier 2.
import type { Batch, PreparedUsage } from './batch.ts'
import type { Database, Statement } from './database.ts'
import { ADD_TO_SLOT } from './slots.ts'

/** Names kept at hand: a sweep over thousands of sessions must not hold them all. */
const MAX_NUMBERS = 500

export class Ledger {
  readonly #sessions: Numbers
  readonly #models: Numbers
  readonly #newUsage: Statement
  readonly #usage: Statement
  readonly #latest: Statement
  readonly #nest: Statement
  readonly #addToSlot: Statement
  readonly #recount: Statement
  readonly #stale: Statement
  /** Marked in the transaction that is open. */
  readonly #staleUids = new Set<string>()

  constructor(memory: Database) {
    this.#sessions = new Numbers(memory, 'ledger_sessions', 'session_uid')
    this.#models = new Numbers(memory, 'ledger_models', 'model')
    // One response may be written several times while it streams: the greatest output is the final one. It happened when
    // the first of them was written, whichever copy is read first.
    const isGreater = '(excluded.output, excluded.input + excluded.cache_read) > (output, input + cache_read)'
    // What a run costs grows as long as it runs, and its tokens are told elsewhere.
    const costsMore = 'excluded.reported_cost > reported_cost'
    const counters = ['input', 'cache_read', 'cache_write_5m', 'cache_write_1h', 'output', 'reasoning']
    const insert = `INSERT INTO ledger (session, response_id, ts, model, ${counters.join(', ')}, is_turn, is_sidechain,
      is_nested, reported_cost, responses) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
    this.#newUsage = memory.prepare(`${insert} ON CONFLICT DO NOTHING`)
    this.#addToSlot = memory.prepare(ADD_TO_SLOT)
    this.#usage = memory.prepare(
      `${insert} ON CONFLICT (session, response_id) DO UPDATE SET
       ${counters.map((name) => `${name} = iif(${isGreater}, excluded.${name}, ${name})`).join(', ')},
       ts = coalesce(min(ts, excluded.ts), ts, excluded.ts), model = coalesce(excluded.model, model),
       is_sidechain = min(is_sidechain, excluded.is_sidechain), is_nested = max(is_nested, excluded.is_nested),
       reported_cost = coalesce(excluded.reported_cost, reported_cost), responses = excluded.responses
       WHERE ${isGreater} OR ${costsMore} OR excluded.responses <> responses
       OR coalesce(excluded.ts < ts, ts IS NULL AND excluded.ts IS NOT NULL) OR excluded.is_nested > is_nested
       OR (model IS NULL AND excluded.model IS NOT NULL)`,
    )
    const all = [
      'ts',
      'model',
      ...counters,
      'is_turn',
      'is_sidechain',
      'is_nested',
      'reported_cost',
      'responses',
    ]
    this.#latest = memory.prepare(
      `${insert} ON CONFLICT (session, response_id) DO UPDATE SET ${all.map((name) => `${name} = excluded.${name}`).join(', ')}
       WHERE ${all.map((name) => `${name} IS NOT excluded.${name}`).join(' OR ')}`,
    )
    this.#nest = memory.prepare(
      'UPDATE ledger SET is_nested = 1 WHERE session = ? AND response_id = ? AND NOT is_nested',
    )
    // A response that several sessions hold is counted in one of them; which one is decided when all are known.
    this.#recount = memory.prepare(
      `INSERT OR IGNORE INTO recount SELECT j.value FROM json_each(?) j
       WHERE (SELECT count(*) FROM (SELECT 1 FROM ledger WHERE response_id = j.value LIMIT 2)) > 1`,
    )
    this.#stale = memory.prepare('INSERT OR IGNORE INTO stale_slots VALUES (?)')
  }

  write(usage: readonly PreparedUsage[], start: Batch['start']): void {
    if (usage.length === 0) return
    for (const one of usage) this.#writeOne(one, start)
    this.#recount.run(JSON.stringify(usage.map((one) => one.responseId)))
  }

  #writeOne(one: PreparedUsage, start: Batch['start']): void {
    const values = [
      this.#sessions.of(one.sessionUid),
      one.responseId,
      one.ts,
      one.model === null ? null : this.#models.of(one.model),
      one.input,
      one.cacheRead,
      one.cacheWrite5m,
      one.cacheWrite1h,
      one.output,
      one.reasoning,
      one.scope === 'turn' ? 1 : 0,
      one.isSidechain ? 1 : 0,
      one.isNested ? 1 : 0,
      one.reportedCost,
      one.responses,
    ]
    // A new response of a session that goes on is added to its sums; whatever else happens, they are made again.
    if (one.isRepetition) {
      if (this.#nest.run(values[0] as number, one.responseId).changes !== 0) this.#outdate(one.sessionUid)
    } else if (start === 'resumed' && this.#newUsage.run(...values).changes !== 0) {
      this.#addToSlot.run(one.sessionUid, one.responseId)
    } else if ((one.isLatest ? this.#latest : this.#usage).run(...values).changes !== 0)
      this.#outdate(one.sessionUid)
  }

  #outdate(uid: string): void {
    if (this.#staleUids.has(uid)) return
    this.#stale.run(uid)
    this.#staleUids.add(uid)
  }

  /** The transaction is over. */
  end(): void {
    this.#staleUids.clear()
  }

  /** Numbers were given in a transaction that is gone, or taken away behind our back. */
  forget(): void {
    this.end()
    this.#sessions.forget()
    this.#models.forget()
  }
}

class Numbers {
  readonly #find: Statement
  readonly #add: Statement
  readonly #known = new Map<string, number>()

  constructor(memory: Database, table: string, column: string) {
    this.#find = memory.prepare(`SELECT number FROM ${table} WHERE ${column} = ?`)
    this.#add = memory.prepare(`INSERT INTO ${table} (${column}) VALUES (?)`)
  }

  of(name: string): number {
    const known = this.#known.get(name)
    if (known !== undefined) return known
    const row = this.#find.get(name) as { number: number } | undefined
    const number = row?.number ?? Number(this.#add.run(name).lastInsertRowid)
    if (this.#known.size >= MAX_NUMBERS) this.#known.clear()
    this.#known.set(name, number)
    return number
  }

  forget(): void {
    this.#known.clear()
  }
}
