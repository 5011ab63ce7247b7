// What a memory says of its sessions when their events are gone.
import { getDigest } from '../../src/digest/patterns.ts'
import type { World } from './sweeping.ts'

type Row = Record<string, unknown>

/** What outlives eviction, and so has to be right without the events. */
export function accountOf(world: World) {
  return world.read((handle) => {
    const all = (sql: string): Row[] => handle.memory.prepare(sql).all() as unknown as Row[]
    const sessions = all(
      'SELECT session_uid, event_count, turn_count, retry_count, error_count FROM sessions',
    )
    const toldOf = (uid: string) => {
      const digest = getDigest(handle, uid)
      return [digest?.event_count, digest?.kind_counts, digest?.tool_histogram, digest?.cost]
    }
    return {
      sessions: Object.fromEntries(sessions.map((row) => [row['session_uid'], row])),
      digests: Object.fromEntries(
        sessions.map((row) => [row['session_uid'], toldOf(row['session_uid'] as string)]),
      ),
      // Without what was told of a turn before a better file told of its responses: it is kept, and counts nowhere.
      usage: all(
        "SELECT * FROM usage WHERE NOT (is_nested AND response_id LIKE 'turn@%') ORDER BY session_uid, response_id",
      ),
      slots: all('SELECT * FROM usage_slots ORDER BY session_uid, slot, model, prompt_over'),
    }
  })
}
