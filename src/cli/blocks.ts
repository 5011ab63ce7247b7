// `recollect usage blocks`: windows of five hours.
import { DAY } from '../model.ts'
import { type UsageBlock, usageBlocks } from '../query/blocks.ts'
import { pricesFor } from '../query/prices.ts'
import { knownUsd } from '../usage/money.ts'
import { overridesOf } from '../usage/overrides.ts'
import { printCsv } from './csv.ts'
import { formatCount, formatTime } from './format.ts'
import { accountQuestion } from './limits.ts'
import { printFolded, printJson } from './print.ts'
import { type Column, tableLines } from './table.ts'
import type { UsageCommand } from './usage.ts'
import { withTier2 } from './with-memory.ts'

const SHOWN_MS = 7 * DAY

export async function showBlocks(options: UsageCommand): Promise<void> {
  const question = { sinceAt: Date.now() - SHOWN_MS, ...accountQuestion('a window', options) }
  const blocks = await withTier2(async (handle, config) =>
    usageBlocks(handle, { ...question, prices: await pricesFor(handle, overridesOf(config)) }),
  )
  if (options.json) printJson({ blocks })
  else if (options.csv) printCsv(blocks)
  else printFolded(toText(blocks))
}

const COLUMNS: Column<UsageBlock>[] = [
  { title: 'FROM', cell: (one) => formatTime(one.started_at) },
  { title: 'TO', cell: (one) => `${formatTime(one.ends_at)}${one.is_running ? ', running' : ''}` },
  { title: 'FLAVOR', cell: (one) => one.flavor },
  { title: 'WINDOW', cell: (one) => (one.is_inferred ? 'inferred' : 'told'), optional: 1 },
  { title: 'RESP', right: true, cell: (one) => formatCount(one.responses), optional: 2 },
  { title: 'TOKENS', right: true, cell: (one) => formatCount(one.total_tokens) },
  { title: 'USED', right: true, cell: (one) => (one.used_percent === null ? '' : `${one.used_percent}%`) },
  { title: 'COST', right: true, cell: knownUsd },
]

function toText(blocks: readonly UsageBlock[]): string {
  if (blocks.length === 0) return 'nothing was used in this range'
  const note = blocks.some((one) => one.is_inferred)
    ? [
        '',
        'inferred: nobody told when the window began; it is taken to begin with the hour of its first response',
      ]
    : []
  return [...tableLines(blocks, COLUMNS), ...note].join('\n')
}
