// Makes the digests that are due, with what the tokens cost.
import type { Config } from '../config.ts'
import { ruleVersion } from '../digest/digest.ts'
import { FINGERPRINT_PREFIX } from '../digest/errors.ts'
import { type DigestOptions, digestAll } from '../digest/index.ts'
import { keepPrices, sessionPrices } from '../query/prices.ts'
import type { Store } from '../store/store.ts'
import { overridesOf } from '../usage/overrides.ts'
import { collectAfter, LEFT_BY_ONE } from './garbage.ts'

type Options = Pick<DigestOptions, 'signal' | 'onUnread'>

/** Returns how many sessions were digested. */
export async function analyze(store: Store, config: Config, options: Options = {}): Promise<number> {
  let count = 0
  for (const uids of store.ingest.undigested(ruleVersion(config.get('digest.buckets')), FINGERPRINT_PREFIX)) {
    count += await analyzeThese(store, uids, config, options)
    if (options.signal?.aborted) break
  }
  return count
}

/** The same of sessions that are known to be due. */
export async function analyzeThese(
  store: Store,
  uids: readonly string[],
  config: Config,
  options: Options,
): Promise<number> {
  const priceOf = sessionPrices(store.reader, await keepPrices(store, overridesOf(config), uids))
  const onWritten = (count: number): void => collectAfter(count * LEFT_BY_ONE)
  return digestAll(store, uids, { buckets: config.get('digest.buckets'), priceOf, onWritten, ...options })
}
