// Sessions have a number in the cache: which is whose, both ways.
import { rows } from '../database.ts'
import type { Databases } from '../databases.ts'

type Cache = Pick<Databases, 'cache'>

interface Numbered {
  id: number
  uid: string
}

/** Uids by number. */
export function uidsOf({ cache }: Cache, ids: readonly number[]): Map<number, string> {
  const found = rows<Numbered>(
    cache,
    'SELECT c.id, c.session_uid AS uid FROM json_each(?) j CROSS JOIN cached c ON c.id = j.value',
    JSON.stringify(ids),
  )
  return new Map(found.map(({ id, uid }) => [id, uid]))
}

/** Numbers by uid, of those that are in the cache. */
export function idsOf({ cache }: Cache, uids: readonly string[]): Map<string, number> {
  const found = rows<Numbered>(
    cache,
    'SELECT c.id, c.session_uid AS uid FROM json_each(?) j CROSS JOIN cached c ON c.session_uid = j.value',
    JSON.stringify(uids),
  )
  return new Map(found.map(({ id, uid }) => [uid, id]))
}
