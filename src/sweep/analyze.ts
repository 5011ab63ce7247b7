// Makes the digests that are due, with what the tokens cost.
import type { Config } from '../config.ts'
import { ruleVersion } from '../digest/digest.ts'
import { FINGERPRINT_PREFIX } from '../digest/errors.ts'
import { type DigestOptions, digestChanged } from '../digest/index.ts'
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
  const uids = store.undigested(ruleVersion(buckets), FINGERPRINT_PREFIX)
  const handle = store.read()
  const prices = await keepPrices(handle, overrides, uids)
  if (uids.length === 0) return 0
  const priceOf = sessionPrices(handle, prices)
  return digestChanged(store, { buckets, priceOf, ...options })
}
