// How often a password may be tried, by address: counted before anything is looked at, so that no number of guesses sent
// at once is worth more than one after the other. Who sits at another address is not kept waiting.
import { isIPv6 } from 'node:net'

/** So many at once, for people who mistype; then one in so long. */
const BURST = 5
const ONE_IN_MS = 10_000
/** Bounds what is remembered; the address that was quiet longest is forgotten first. */
const MAX_ADDRESSES = 10_000
const MAX_NAME = 200

export class Throttle {
  /** By address, when it will have all its tries again. */
  readonly #restedAt = new Map<string, number>()

  /** Takes one try; or tells in how many milliseconds there will be one. Where many people come by one proxy, their names tell them apart. */
  take(remoteAddress: string, name = ''): { waitMs: number } {
    const now = Date.now()
    const address = `${sameHost(remoteAddress)} ${name.slice(0, MAX_NAME)}`
    const restedAt = Math.max(this.#restedAt.get(address) ?? 0, now)
    const waitMs = restedAt + ONE_IN_MS - now - BURST * ONE_IN_MS
    if (waitMs > 0) return { waitMs }
    this.#restedAt.delete(address)
    this.#restedAt.set(address, restedAt + ONE_IN_MS)
    const [quietest] = this.#restedAt.keys()
    if (this.#restedAt.size > MAX_ADDRESSES && quietest !== undefined) this.#restedAt.delete(quietest)
    return { waitMs: 0 }
  }
}

/** One host may have every address of its /64 network: these count as one. */
function sameHost(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '')
  if (!isIPv6(plain)) return plain
  const [head = '', tail] = plain.toLowerCase().split('::')
  const parts = head === '' ? [] : head.split(':')
  const rest = tail ? tail.split(':') : []
  const zeros = tail === undefined ? [] : Array<string>(Math.max(0, 8 - parts.length - rest.length)).fill('0')
  return [...parts, ...zeros, ...rest].slice(0, 4).join(':')
}
