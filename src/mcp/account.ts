// The tools that count: tokens and money.
import { z } from 'zod'
import { pricesFor } from '../query/prices.ts'
import { TimeZone } from '../query/timezone.ts'
import { USAGE_GROUPS, type UsageRow, usageReport } from '../query/usage.ts'
import { knownUsd } from '../usage/money.ts'
import { overridesOf } from '../usage/overrides.ts'
import { type Entry, line } from './result.ts'
import { cursor, readTime, refuseUnknownRepo, time, tool } from './tool.ts'

export const usageTool = tool({
  name: 'usage',
  description: 'Tokens and cost.',
  input: z.strictObject({
    by: z.enum(USAGE_GROUPS).default('day'),
    since: time,
    repo: z.string().max(200).optional(),
    cursor,
  }),
  run: async ({ handle, config }, input) => {
    const report = usageReport(handle, {
      group: input.by,
      zone: new TimeZone(),
      prices: await pricesFor(handle, overridesOf(config)),
      ...(input.since === undefined ? {} : { sinceAt: readTime(input.since) }),
      ...(input.repo === undefined ? {} : { repo: input.repo }),
    })
    if (report.rows.length === 0) refuseUnknownRepo(handle, input.repo)
    // Of days the newest are wanted; the rest comes with the dearest first.
    const rows = report.rows[0] && isTime(input.by) ? report.rows.toReversed() : report.rows
    const { cost_usd: cost, total_tokens: tokens } = report.total
    return {
      about:
        report.rows.length === 0
          ? 'No usage is remembered here. Try an earlier since, or none.'
          : `${tokens} tokens, ${cost === null ? 'price unknown' : knownUsd(report.total)}, by ${input.by}, prices of ${report.prices.date}.`,
      data: { total_tokens: tokens, cost_usd: cost, unpriced_responses: report.total.unpriced_responses },
      entries: rows.map(rowEntry).slice(input.cursor ?? 0),
    }
  },
})

const isTime = (group: string): boolean => group === 'day' || group === 'week' || group === 'month'

function rowEntry(row: UsageRow, at: number): Entry {
  const cost = knownUsd(row)
  const cacheWrite = row.cache_write_5m_tokens + row.cache_write_1h_tokens
  return {
    at,
    text: line`${row.key ?? '?'}  ${cost}  in ${row.input_tokens}  cache ${row.cache_read_tokens}+${cacheWrite}  out ${row.output_tokens}`,
    data: {
      key: row.key,
      cost_usd: row.cost_usd,
      input_tokens: row.input_tokens,
      cache_read_tokens: row.cache_read_tokens,
      cache_write_tokens: cacheWrite,
      output_tokens: row.output_tokens,
      unpriced_responses: row.unpriced_responses,
    },
  }
}
