// Ways to overcome one error over many sessions: mends that do alike things are one way, told by the newest of them. Those
// that worked most often come first, then the newest.
import { parseStored } from '../errors.ts'
import { isoTime } from '../model.ts'
import { partsOf } from './command.ts'
import { lookingOf } from './reading.ts'
import type { Resolution } from './resolution.ts'

export interface Mend {
  /** In how many sessions it worked. */
  times: number
  last_at: string | null
  /** The newest first. */
  sessions: { session_uid: string; failed_seq: number; resolved_seq: number }[]
  /** As the newest of them did it. */
  steps: Resolution['steps']
}

/** How one session overcame an error; null where it did not. */
export interface Met {
  session_uid: string
  at: number | null
  resolved_by: string | null
}

const MAX_MENDS = 5
const MAX_SESSIONS = 10

export function mendsOf(met: readonly Met[]): Mend[] {
  const ways = new Map<string, { resolution: Resolution; one: Met }[]>()
  for (const one of met) {
    if (one.resolved_by === null) continue
    const resolution = parseStored<Resolution>(one.resolved_by)
    const way = wayOf(resolution)
    ways.set(way, [...(ways.get(way) ?? []), { resolution, one }])
  }
  return [...ways.values()]
    .map(mendOf)
    .sort(([a, aAt], [b, bAt]) => b.times - a.times || bAt - aAt || (uidOf(a) < uidOf(b) ? -1 : 1))
    .map(([mend]) => mend)
    .slice(0, MAX_MENDS)
}

const uidOf = ({ sessions }: Mend): string => sessions[0]?.session_uid ?? ''

function mendOf(seen: { resolution: Resolution; one: Met }[]): [Mend, at: number] {
  const newestFirst = [...seen].sort(
    (a, b) => (b.one.at ?? 0) - (a.one.at ?? 0) || (a.one.session_uid < b.one.session_uid ? -1 : 1),
  )
  const [newest] = newestFirst
  const at = newest?.one.at ?? null
  const mend = {
    times: seen.length,
    last_at: isoTime(at),
    sessions: newestFirst.slice(0, MAX_SESSIONS).map(({ resolution, one }) => ({
      session_uid: one.session_uid,
      failed_seq: resolution.failed_seq,
      resolved_seq: resolution.resolved_seq,
    })),
    steps: newest?.resolution.steps ?? [],
  }
  return [mend, at ?? 0]
}

/** What the steps do, without the files and words they do it to. */
const wayOf = ({ steps }: Pick<Resolution, 'steps'>): string =>
  [...new Set(steps.map(({ what }) => deedOf(what)))].join('\0')

function deedOf(what: string): string {
  const [first = ''] = what.split(' ')
  if (first === 'edit' || /^[A-Z]\w+$/.test(first)) return first.toLowerCase()
  const parts = partsOf(what)
  const part = parts.find((one) => lookingOf(one) === null) ?? parts.find((one) => lookingOf(one) !== 'print')
  return (part ?? parts[0])?.program ?? what
}
