// `recollect usage blocks`: windows of five hours.
import { Config } from '../config.ts'
import { RecollectError } from '../errors.ts'
import { DAY } from '../model.ts'
import { type BlocksQuestion, type UsageBlock, usageBlocks } from '../query/blocks.ts'
import { pricesFor } from '../query/prices.ts'
import { openMemory, storePaths } from '../store/reading.ts'
import { knownUsd } from '../usage/money.ts'
import { overridesOf } from '../usage/overrides.ts'
import { printCsv } from './csv.ts'
import { refuseReversed } from './filter-values.ts'
import { formatCount, formatTime } from './format.ts'
import { printFolded, printJson } from './print.ts'
import { type Column, tableLines } from './table.ts'
import type { UsageCommand } from './usage.ts'
import { parseFlavor, readTime } from './values.ts'

const SHOWN_MS = 7 * DAY

export async function showBlocks(options: UsageCommand): Promise<void> {
  for (const name of ['repo', 'host', 'domain', 'model', 'timezone'] as const)
    if (options[name] !== undefined)
      throw new RecollectError('USAGE', `a window is an account's: --${name} says nothing of it`, {
        where: `--${name}`,
        hint: 'narrow it by --flavor, --since or --until',
      })
  const question: Omit<BlocksQuestion, 'prices'> = {
    sinceAt: options.since === undefined ? Date.now() - SHOWN_MS : readTime(options.since, '--since'),
  }
  if (options.until !== undefined) question.untilAt = readTime(options.until, '--until')
  refuseReversed(question)
  if (options.flavor !== undefined) question.flavor = parseFlavor(options.flavor)
  const config = new Config()
  const handle = openMemory(storePaths(config.home, config.get('store.db_path')))
  try {
    const prices = await pricesFor(handle, overridesOf(config))
    const blocks = usageBlocks(handle, { ...question, prices })
    if (options.json) printJson({ blocks })
    else if (options.csv) printCsv(blocks)
    else printFolded(toText(blocks))
  } finally {
    handle.close()
  }
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
