// Which recorded words a shell may be offered. A session's id, a repository, a model or a tool is called what a log says,
// and a shell would read some signs of it as orders: only words without any such sign are completed, in every shell alike.

/** As the inside of a bracket expression, in every shell's patterns and in regular expressions. */
export const SAFE_SIGNS = 'A-Za-z0-9_.@:+/-'

// Not at its beginning: a dash makes an option of it, and the others mean something to one shell or another.
const SAFE = new RegExp(`^[A-Za-z0-9_][${SAFE_SIGNS}]{0,199}$`)

/** ASCII only: the bytes of another letter are control characters to a terminal of another encoding. */
export const isSafeValue = (value: string): boolean => SAFE.test(value)
