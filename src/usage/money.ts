// Exact money. One unit is 1e-18 USD, so that any price per million tokens with up to twelve decimals is a whole number
// of units per token. Sums are made in units; rounding happens only when a figure is shown.

const UNIT_DECIMALS = 18
/** What the ledger keeps of a cost that an agent reported: 1e-8 USD. */
const REPORTED_UNITS = 10n ** 10n
const RATE_DECIMALS = 12
/** Of what a number can print as; a text with more would have as many digits. */
const MAX_POWER = 400

export const fromReported = (amount: number): bigint => BigInt(amount) * REPORTED_UNITS

/** USD per million tokens → units per token; undefined when it is no price. */
export function rateOf(price: number | string): bigint | undefined {
  const match = /^(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(String(price).trim())
  if (!match) return undefined
  const [, whole = '', fraction = '', power = '0'] = match
  if (Math.abs(Number(power)) > MAX_POWER) return undefined
  const shift = RATE_DECIMALS - fraction.length + Number(power)
  const digits = BigInt(whole + fraction)
  if (shift >= 0) return digits * 10n ** BigInt(shift)
  // Only the dust of binary fractions lies here: 0.30000000000000004 is 0.3.
  const divisor = 10n ** BigInt(-shift)
  return (digits + divisor / 2n) / divisor
}

/** All decimals there are, at least two: rows shown this way add up to their total. */
export function exactUsd(units: bigint): string {
  const digits = (units < 0n ? -units : units).toString().padStart(UNIT_DECIMALS + 1, '0')
  const fraction = digits
    .slice(-UNIT_DECIMALS)
    .replace(/(?<!0)0+$/, '')
    .padEnd(2, '0')
  return `${units < 0n ? '-' : ''}${digits.slice(0, -UNIT_DECIMALS)}.${fraction}`
}

/** For people: cents, or four decimals below a cent; half a cent goes up. */
export function shortUsd(units: bigint): string {
  const size = units < 0n ? -units : units
  const decimals = size !== 0n && size < 10n ** BigInt(UNIT_DECIMALS - 2) ? 4 : 2
  const step = 10n ** BigInt(UNIT_DECIMALS - decimals)
  const digits = ((size + step / 2n) / step).toString().padStart(decimals + 1, '0')
  const whole = digits.slice(0, -decimals).replace(/\B(?=(\d{3})+$)/g, ',')
  return `${units < 0n ? '-' : ''}$${whole}.${digits.slice(-decimals)}`
}

/** The inverse of `exactUsd`. */
export function unitsOf(amount: string): bigint {
  const [whole = '', fraction = ''] = amount.replace('-', '').split('.')
  const units = BigInt(whole + fraction.padEnd(UNIT_DECIMALS, '0'))
  return amount.startsWith('-') ? -units : units
}

/** What is known of a cost, for people: `at least` where the price of a model is missing in it, `?` where nothing is known. */
export const knownUsd = (of: { cost_usd: string | null; unpriced_responses: number }): string =>
  of.cost_usd === null
    ? '?'
    : `${of.unpriced_responses > 0 ? 'at least ' : ''}${shortUsd(unitsOf(of.cost_usd))}`
