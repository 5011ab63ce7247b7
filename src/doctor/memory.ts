// The memory: whether it is there and sound, and whether it can price what it holds.

import type { Config } from '../config.ts'
import { RecollectError } from '../errors.ts'
import { DAY } from '../model.ts'
import type { Reader } from '../store/reader/index.ts'
import type { StorePaths } from '../store/reading.ts'
import { openStore } from '../store/sqlite.ts'
import { overridesOf } from '../usage/overrides.ts'
import { loadPrices, PRICE_LIST } from '../usage/prices.ts'
import { type Finding, finding } from './finding.ts'

/** A larger database is only looked through when asked: it takes seconds. */
const QUICK_CHECK_BYTES = 64 << 20
const OLD_PRICES_DAYS = 180
const REPAIR = 'recollect sweep --repair, then recollect verify'

/** Why the memory could not be opened, or did not answer. */
export function unopened(error: Error): Finding {
  if (!(error instanceof RecollectError))
    return finding('memory.integrity', 'error', error.message, { fix: 'recollect verify' })
  if (error.code === 'NO_MEMORY')
    return finding('memory.missing', 'warning', 'nothing is remembered yet', { fix: 'recollect sweep' })
  const id = error.code === 'OTHER_SCHEMA' ? 'memory.schema' : 'memory.integrity'
  return finding(id, 'error', error.message, { fix: error.hint.replace(/^run: /, '') })
}

export function checkIntegrity(handle: Reader, paths: StorePaths, isDeep: boolean): Finding[] {
  if (isDeep) return verified(paths)
  const problems = handle.storage.quickCheck(QUICK_CHECK_BYTES)
  if (problems.length > 0)
    return problems.map((text) => finding('memory.integrity', 'error', text, { fix: REPAIR }))
  const n = handle.sessions.countAll()
  return [finding('memory.integrity', 'ok', `opens, ${n} sessions; --deep checks every payload`)]
}

function verified(paths: StorePaths): Finding[] {
  const store = openStore(paths)
  try {
    const { problems, eventCount, payloadCount, leavingCount } = store.archive.verify()
    const unfinished = leavingCount > 0 ? `; the next sweep ends an eviction (sessions: ${leavingCount})` : ''
    if (problems.length === 0)
      return [
        finding(
          'memory.integrity',
          'ok',
          `${eventCount} events, ${payloadCount} payloads, all as they should be${unfinished}`,
        ),
      ]
    return problems.slice(0, 20).map((text) => finding('memory.integrity', 'error', text, { fix: REPAIR }))
  } finally {
    store.close()
  }
}

export async function checkPrices(handle: Reader, config: Config, now: number): Promise<Finding[]> {
  const days = Math.floor((now - Date.parse(PRICE_LIST.date)) / DAY)
  const text = `list prices of ${PRICE_LIST.date}, ${days} d old`
  const age =
    days > OLD_PRICES_DAYS
      ? finding('prices.age', 'warning', text, { fix: 'npm install -g recollect@latest' })
      : finding('prices.age', 'ok', text)
  const prices = await loadPrices(overridesOf(config))
  const unknown = handle.usage.countedModels().filter((model) => prices.pricedAs(model) === null)
  if (unknown.length === 0) return [age]
  const named = `no price for ${unknown.slice(0, 5).join(', ')}${unknown.length > 5 ? ` and ${unknown.length - 5} more` : ''}`
  return [
    age,
    finding('prices.unknown', 'info', named, { fix: 'give a price in config.toml: docs/usage.md' }),
  ]
}
