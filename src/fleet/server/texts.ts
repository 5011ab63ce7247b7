// The text of sessions as the page reads it: outline, windows, what is found in it. A session is read from its segments once for
// whoever reads it, which is committed to the audit log first, and is kept for some minutes: each look again is the same reading.
import { picturesIn } from '../../event/pictures.ts'
import { DEEDS, EVENT_KINDS, type SessionEvent } from '../../model.ts'
import { type Outline, outlineFrom } from '../../query/outline.ts'
import type { Caller } from '../../store/postgres/access.ts'
import { FLAG, ROLES } from '../../store/rows.ts'
import { type Serving, textOf } from './answers.ts'
import { Kept } from './kept.ts'

const KEPT_MS = 10 * 60_000
const MOST_KEPT = 8

/** A line of a segment, as `push/gather.ts` writes it. */
interface TextLine extends SessionEvent {
  call: string | null
  told: (Record<string, unknown> & { original?: unknown }) | null
  payload: unknown
}

interface Window {
  session_uid: string
  events: object[]
  unread_bodies: number
  unread: null
}

export class Texts {
  readonly #serving: Serving
  readonly #kept = new Kept<TextLine[]>(KEPT_MS, MOST_KEPT)

  constructor(serving: Serving) {
    this.#serving = serving
  }

  async outline(caller: Caller, uid: string, after: number): Promise<Outline> {
    return outlineFrom(uid, (await this.#lines(caller, uid)).map(headOf), after)
  }

  async window(
    caller: Caller,
    uid: string,
    { seqs, from, limit, withRecord }: { seqs: number[]; from: number; limit: number; withRecord: boolean },
  ): Promise<Window> {
    const lines = await this.#lines(caller, uid)
    const wanted = new Set(seqs)
    const found = seqs.length > 0 ? lines.filter((one) => wanted.has(one.seq)) : lines.slice(from)
    const events = found.slice(0, limit).map(({ call: _, told, payload, ...event }) => {
      const pictures = picturesIn(payload)
      const { original: __, ...shown } = told ?? {}
      return {
        ...event,
        told: told && shown,
        ...(pictures.length > 0 && { pictures }),
        ...(withRecord && { payload }),
      }
    })
    return { session_uid: uid, events, unread_bodies: 0, unread: null }
  }

  /** Events that hold all words. */
  async find(
    caller: Caller,
    uid: string,
    query: string,
  ): Promise<{ session_uid: string; query: string; seqs: number[] }> {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean)
    const lines = words.length === 0 ? [] : await this.#lines(caller, uid)
    const holds = ({ summary, told }: TextLine): boolean => {
      const text = `${summary}\n${Object.values(told ?? {}).join('\n')}`.toLowerCase()
      return words.every((word) => text.includes(word))
    }
    return { session_uid: uid, query, seqs: lines.filter(holds).map((one) => one.seq) }
  }

  #lines(caller: Caller, uid: string): Promise<TextLine[]> {
    const key = [caller.team, caller.person, caller.role, uid].join('\0')
    return this.#kept.get(key, async () => {
      const text = await textOf(this.#serving, caller, uid)
      return text
        .toString('utf8')
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as TextLine)
    })
  }
}

const headOf = (line: TextLine): Parameters<typeof outlineFrom>[1][number] => ({
  seq: line.seq,
  kind: EVENT_KINDS.indexOf(line.kind),
  tool: line.tool,
  agent: line.agent,
  ts: line.ts === null ? null : Date.parse(line.ts),
  duration_ms: line.duration_ms,
  exit_code: line.exit_code,
  call: line.call,
  parent_seq: line.parent_seq,
  role: ROLES.indexOf(line.role),
  flags:
    (line.is_sidechain ? FLAG.sidechain : 0) |
    (line.is_inherited ? FLAG.inherited : 0) |
    (line.is_superseded ? FLAG.superseded : 0),
  does: line.does ? DEEDS.indexOf(line.does) : null,
})
