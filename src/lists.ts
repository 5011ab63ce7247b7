// Lists by what their members have in common.

/** Adds to the list of a key, which is made where there is none. */
export function addTo<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key)
  if (list) list.push(value)
  else lists.set(key, [value])
}

/** Keys stand in the order of their first members. */
export function listsBy<K, V>(values: Iterable<V>, keyOf: (value: V) => K): Map<K, V[]> {
  const lists = new Map<K, V[]>()
  for (const value of values) addTo(lists, keyOf(value), value)
  return lists
}
