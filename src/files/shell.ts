// Text as a word of a shell: for commands that people copy, that `eval` is given, and that another machine runs.

/**
 * Single quotes keep everything as it is, but for a quote, in fish a backslash, and in csh an exclamation mark: these stand
 * escaped between two of them, which every shell reads alike.
 */
export const shellQuoted = (text: string): string => `'${text.replace(/['\\!]/g, (sign) => `'\\${sign}'`)}'`

/** Bare where no shell reads anything into it. */
export const shellWord = (text: string): string =>
  /^[\w./:@%+,-][\w./:@%+,=-]*$/.test(text) ? text : shellQuoted(text)
