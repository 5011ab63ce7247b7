// State that lives in a cursor: plain JSON that never grows beyond a bound, whatever a file holds.

const LIMIT = 64

/** Adds an entry; the oldest goes where there are too many. */
export function remember<Entry>(entries: Entry[], entry: Entry, limit = LIMIT): void {
  entries.push(entry)
  if (entries.length > limit) entries.shift()
}

/** The name the first time, `name:1` the second … among the latest names. */
export function numbered(seen: [name: string, times: number][], name: string, limit = LIMIT): string {
  const known = seen.find((entry) => entry[0] === name)
  if (known) return `${name}:${++known[1]}`
  remember(seen, [name, 0], limit)
  return name
}
