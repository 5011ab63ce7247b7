// What a team server drops by the day: sessions past what their team keeps, and segments that no session names.
import { listTeams } from '../../store/postgres/access.ts'
import type { Fleet } from '../../store/postgres/database.ts'
import { expireSessions, namedSegments } from '../../store/postgres/removal.ts'
import { settle } from '../../store/postgres/settle.ts'
import { type BlobStore, teamName } from '../blobs.ts'

/** A segment is put before the session that names it: for so long nobody can say that it is not wanted. */
const YOUNG_MS = 86_400_000
const AT_ONCE = 500

export async function retainAll(
  fleet: Fleet,
  blobs: BlobStore,
  now: number,
): Promise<{ sessions: number; segments: number }> {
  const gone = { sessions: 0, segments: 0 }
  for (const { team } of await listTeams(fleet)) {
    gone.sessions += await expireSessions(fleet, team, now)
    // What views show is settled; elsewhere whoever asks does it.
    await settle(fleet, team)
    gone.segments += await dropOld(fleet, blobs, team, now)
  }
  return gone
}

async function dropOld(fleet: Fleet, blobs: BlobStore, team: string, now: number): Promise<number> {
  const old: string[] = []
  for await (const { name, putAt } of blobs.list())
    if (name.startsWith(`${teamName(team)}/`) && now - putAt > YOUNG_MS) old.push(name)
  let count = 0
  for (let at = 0; at < old.length; at += AT_ONCE) {
    const names = old.slice(at, at + AT_ONCE)
    const hashes = names.map((name) => name.split('/').at(-1) as string)
    const named = await namedSegments(fleet, team, hashes)
    for (const [i, name] of names.entries()) {
      if (named.has(hashes[i] as string)) continue
      await blobs.remove(name)
      count++
    }
  }
  return count
}
