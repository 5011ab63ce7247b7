// Why a client's files do not hold all of what was said: reasons that many clients share.
export const KILLED = 'the client was killed while the tool ran'
export const UNWRITTEN = 'the client writes nothing down before its first answer is whole'

/** Of an answer that was cut off, the client counts what the beginning of the response said. */
export const begun = (...differences: string[]): Record<string, string> =>
  Object.fromEntries(differences.map((one) => [`tokens: ${one}`, 'the client counts what it began with']))
