// The ledger summed up: one row per session, quarter of an hour (UTC), model and size of prompt, so that a question
// about all of history reads tens of thousands of rows instead of millions. A quarter of an hour is what every time
// zone's midnight and every dated price fall on; the steps of the prompt are what prices know.
// Sessions whose ledger changed are named in `stale_slots` in the same commit: until they are summed up again, readers
// take them from the ledger itself, so a kill at any point leaves every answer right.
import { type Database, prepared } from './database.ts'

/** Tokens of a prompt beyond which some model's price changes. A new one needs a migration that marks all stale. */
export const PROMPT_STEPS: readonly number[] = [128_000, 199_999, 200_000, 271_999, 272_000, 512_000]

export const SLOT_MS = 900_000

const PROMPT = 'input + cache_read + cache_write_5m + cache_write_1h'
// A record that covers a whole turn says nothing about the size of each prompt in it.
export const slotOver = (coversTurn: string): string =>
  `CASE ${[`WHEN ${coversTurn} THEN 0`, ...[...PROMPT_STEPS].reverse().map((step) => `WHEN ${PROMPT} > ${step} THEN ${step}`)].join(' ')} ELSE 0 END`
const OVER = slotOver("scope <> 'response'")
const SUMS = [
  'input',
  'cache_read',
  'cache_write_5m',
  'cache_write_1h',
  'output',
  'reasoning',
  'reported_cost',
]

/** Columns are those of `usage_slots`; slot −1 holds what has no time. */
const summed = (
  which: string,
): string => `SELECT session_uid, CASE WHEN ts >= 0 THEN ts / ${SLOT_MS} ELSE -1 END AS slot, coalesce(model, '') AS model,
  ${OVER} AS prompt_over, sum(responses) AS responses, count(reported_cost) AS reported,
  ${SUMS.map((name) => `sum(${name}) AS ${name}`).join(', ')}
  FROM usage WHERE is_counted AND NOT is_nested AND ${which} GROUP BY 1, 2, 3, 4`
const SUMMED = summed('session_uid IN (SELECT session_uid FROM stale_slots)')

/**
 * Adds one response that was not in the ledger before, by session and response id. For a session that grows: summing it
 * up again would cost as much as it is long.
 */
export const ADD_TO_SLOT = `INSERT INTO usage_slots ${summed('session_uid = ? AND response_id = ?')}
  ON CONFLICT DO UPDATE SET responses = responses + excluded.responses, reported = reported + excluded.reported,
  ${SUMS.map((name) => `${name} = coalesce(${name} + excluded.${name}, ${name}, excluded.${name})`).join(', ')}`

export function hasStaleSlots(memory: Database): boolean {
  return prepared(memory, 'SELECT 1 FROM stale_slots LIMIT 1').get() !== undefined
}

/** Sums up again what is stale; runs inside the caller's transaction. */
export function sumSlots(memory: Database): void {
  memory.exec(`DELETE FROM usage_slots WHERE session_uid IN (SELECT session_uid FROM stale_slots);
    INSERT INTO usage_slots ${SUMMED};
    DELETE FROM stale_slots`)
}

/** What to read instead of the table: a FROM item that is right in the middle of a sweep, too. */
export function slotsTable(memory: Database): string {
  if (!hasStaleSlots(memory)) return 'usage_slots'
  return `(SELECT * FROM usage_slots WHERE session_uid NOT IN (SELECT session_uid FROM stale_slots) UNION ALL ${SUMMED})`
}

export interface TokenSums {
  session_uid: string
  input_tokens: number
  output_tokens: number
  cache_tokens: number
}

const TOKENS = `u.session_uid, sum(u.input) AS input_tokens, sum(u.output) AS output_tokens,
  sum(u.cache_read + u.cache_write_5m + u.cache_write_1h) AS cache_tokens FROM json_each(?1) j`

/** What sessions used, from the sums where they stand: a long session's ledger would take as long as it is. */
export function tokenSums(memory: Database, uids: readonly string[]): Map<string, TokenSums> {
  const rows = prepared(
    memory,
    `SELECT ${TOKENS} CROSS JOIN usage_slots u ON u.session_uid = j.value
     WHERE NOT EXISTS (SELECT 1 FROM stale_slots t WHERE t.session_uid = j.value) GROUP BY j.key
     UNION ALL SELECT ${TOKENS} CROSS JOIN stale_slots t ON t.session_uid = j.value
     CROSS JOIN usage u ON u.session_uid = t.session_uid AND u.is_counted AND NOT u.is_nested GROUP BY j.key`,
  ).all(JSON.stringify(uids)) as unknown as TokenSums[]
  return new Map(rows.map((row) => [row.session_uid, row]))
}
