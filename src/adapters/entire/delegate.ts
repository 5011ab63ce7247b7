// Items of another adapter become items of this one: the same events under the id that Entire knows the session by, with
// keys that are equal in every checkpoint, whether or not one checkpoint is a prefix of the next.
import type { EventItem, Item } from '../adapter.ts'
import { remember } from '../kit/bounded.ts'
import { hashOf } from '../kit/text.ts'
import { withoutDate } from './paths.ts'

/** Carry-over of the translation; plain, bounded JSON. */
export interface Names {
  /** The session as Entire names it. */
  session: string
  /** The session as the transcript itself names it. */
  native: string | null
  /** Key of the latest event, for formats without links. */
  last: string | null
  /** [key given by the delegate, our key] of the latest prompts: what a rollback may name. */
  prompts: [string, string][]
  /** The same of the latest events: what tokens, and ends of turns, may name. */
  recent: [string, string][]
  /** [key, times seen] of the latest keys that we made. */
  made: [string, number][]
}

export const newNames = (session: string): Names => ({
  session,
  native: null,
  last: null,
  prompts: [],
  recent: [],
  made: [],
})

const MAX_NAMES = 128
/** A key that counts lines: it moves when a checkpoint leaves a line out. */
const BY_LINE = /^l\d+-/

export function* translate(names: Names, item: Exclude<Item, { type: 'position' | 'gap' }>): Generator<Item> {
  const own = (session: string): string => (session === names.native ? names.session : withoutDate(session))
  switch (item.type) {
    case 'event':
      names.native ??= item.session
      yield translateEvent(names, item)
      return
    case 'session':
      names.native ??= item.session
      yield { ...item, session: own(item.session) }
      return
    case 'usage': {
      const event = item.event === undefined ? {} : { event: named(names, item.event) }
      yield { ...item, session: own(item.session), ...event }
      return
    }
    case 'limit':
    case 'title':
    case 'alias':
      yield { ...item, session: own(item.session) }
      return
    case 'edge':
      names.native ??= item.session
      yield {
        ...item,
        session: own(item.session),
        parent: item.parent === null ? null : own(item.parent),
      }
      return
    case 'supersede': {
      const { sinceKey, keys, ...rest } = item
      const known = names.prompts.find((entry) => entry[0] === sinceKey)?.[1]
      // A range whose beginning has been forgotten cannot be marked; the event that says so is there all the same.
      if (sinceKey !== undefined && known === undefined && BY_LINE.test(sinceKey)) return
      const since = known ?? sinceKey
      yield {
        ...rest,
        session: names.session,
        ...(keys && { keys: keys.map((key) => named(names, key)) }),
        ...(since !== undefined && { sinceKey: since }),
      }
      return
    }
    default:
      yield item
  }
}

function translateEvent(names: Names, event: EventItem): EventItem {
  const key = keyOf(names, event)
  if (event.kind === 'user_msg' && BY_LINE.test(event.key))
    remember(names.prompts, [event.key, key], MAX_NAMES)
  if (BY_LINE.test(event.key)) remember(names.recent, [event.key, key], MAX_NAMES)
  const parent = event.parentKey
  const parentKey = parent === undefined ? names.last : parent === null ? null : named(names, parent)
  names.last = key
  return { ...event, session: names.session, key, parentKey }
}

const named = (names: Names, key: string): string =>
  names.recent.findLast((entry) => entry[0] === key)?.[1] ?? key

/** What the line is and when it was written, instead of which line it is. */
function keyOf(names: Names, event: EventItem): string {
  const { key, originKey, ts } = event
  if (!BY_LINE.test(key) || originKey === undefined || ts === null) return key
  // Entire takes the cipher text out of hidden thoughts, in some versions: only what can be read is the same everywhere.
  const what = event.kind === 'thinking' ? `thinking:${hashOf(event.said)}` : originKey
  const made = `${what}@${ts}`
  const known = names.made.find((entry) => entry[0] === made)
  if (known) return `${made}~${++known[1]}`
  remember(names.made, [made, 0], MAX_NAMES)
  return made
}
