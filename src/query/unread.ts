// What is said of bodies that should be in the cache and cannot be read, in the same words wherever they are shown.

export interface Unread {
  text: string
  /** The command that tells more. */
  fix: string
}

const IN_THEIR_PLACE = {
  summary: { one: 'its summary stands in for it', many: 'summaries stand in for them' },
  nothing: { one: 'its record is left out', many: 'their records are left out' },
}

/** Null where all could be read. `instead`: what is shown in their place. */
export function unreadOf(count: number, instead: keyof typeof IN_THEIR_PLACE = 'summary'): Unread | null {
  if (count === 0) return null
  const { one, many } = IN_THEIR_PLACE[instead]
  const text =
    count === 1
      ? `1 body cannot be read from the cache; ${one}`
      : `${count} bodies cannot be read from the cache; ${many}`
  return { text, fix: 'recollect verify' }
}
