// How much work one string may cause. Work is counted, not timed: a count is the same on every machine, so the same text
// always gives the same result, and it is kept at every length. One unit is about a nanosecond; the plain pass over the
// characters is free, looks at what it stops at are charged. Found secrets that differ are free too: that work is wanted.

/** What a string may cost up to a million characters: some ten thousand looks. Short ones hold too little to get there. */
const LEAST = 6_000_000
/** What each character of a longer one may cost, about as much as the plain pass itself. */
const PER_CHARACTER = 6

export class Budget {
  /** Negative when spent. Public, since it is charged in the innermost loops. */
  left: number

  constructor(length: number, effort = 1) {
    this.left = effort * Math.max(LEAST, PER_CHARACTER * length)
  }

  get isSpent(): boolean {
    return this.left < 0
  }
}
