// Keeps what is remembered of a session small, however long it gets: of very many different commands, files or errors
// the rare and old ones are let go. Which ones depends on the order of the events alone, so folding in one go and in
// steps let go of the same.

/** Once a map holds twice as many entries as wanted, the less important half goes; the rest keeps its order. */
export function prune<K, V>(map: Map<K, V>, wanted: number, byImportance: (a: V, b: V) => number): boolean {
  if (map.size < 2 * wanted) return false
  const ranked = [...map].sort(([, a], [, b]) => byImportance(a, b))
  for (const [key] of ranked.slice(wanted)) map.delete(key)
  return true
}

/** The entry of a key, made where there is none. */
export function entryOf<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
}
