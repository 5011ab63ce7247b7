// Makes the digests that are due, with what the tokens cost.
import type { Config } from '../config.ts'
import { ruleVersion } from '../digest/digest.ts'
import { FINGERPRINT_PREFIX } from '../digest/errors.ts'
import { type DigestOptions, digestAll } from '../digest/index.ts'
import { keepPrices, sessionPrices } from '../query/prices.ts'
import type { Store } from '../store/store.ts'
import { overridesOf } from '../usage/overrides.ts'

/** Returns how many sessions were digested. */
export async function analyze(
  store: Store,
  config: Config,
  options: Pick<DigestOptions, 'signal' | 'onUnread'> = {},
): Promise<number> {
  const overrides = overridesOf(config)
  const buckets = config.get('digest.buckets')
  let count = 0
  for (const uids of store.ingest.undigested(ruleVersion(buckets), FINGERPRINT_PREFIX)) {
    const prices = await keepPrices(store, overrides, uids)
    count += digestAll(store, uids, { buckets, priceOf: sessionPrices(store.reader, prices), ...options })
    if (options.signal?.aborted) break
  }
  return count
}
