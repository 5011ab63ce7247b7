// What is said of bodies that should be in the cache and cannot be read, in the same words wherever they are shown.

export interface Unread {
  text: string
  /** The command that tells more. */
  fix: string
}

/** Null where all could be read. */
export function unreadOf(count: number): Unread | null {
  if (count === 0) return null
  const text =
    count === 1
      ? '1 body cannot be read from the cache; its summary stands in for it'
      : `${count} bodies cannot be read from the cache; summaries stand in for them`
  return { text, fix: 'recollect verify' }
}
