// How far a source has come in each session it speaks of, and what it told of it, in its own order: where several files tell
// one session, that is what their events are merged by (`order.ts`), whichever was read first.

import { DEEDS, END_STATES, EVENT_KINDS, MARKS } from '../model.ts'
import type { PreparedEvent } from './batch.ts'
import type { Database, Statement } from './database.ts'
import type { Range } from './evicted-seqs.ts'
import { type Row, wordOf } from './rows.ts'
import { FactsTold } from './told-facts.ts'

export interface Trail {
  /** What comes next without a link hangs on this event. */
  lastSeq: number | null
  lastAt: number | null
  /** The numbers of all it told, as unbroken rows of them, in its order. */
  runs: Range[]
  /** What it told as a retry: that is concluded from what stands above it in the file, and another may have less of that. */
  retries: number[]
}

/** Of the source that is being written, by session. */
export type Told = Map<number, Trail>

const KNOWN = ['tool', 'exit_code', 'duration_ms', 'does', 'state', 'mark'] as const

function knowsLess(event: PreparedEvent, known: Row): boolean {
  const { tool, exitCode, durationMs, does, state, mark } = event
  return [tool, exitCode, durationMs, does, state, mark].some(
    (value, at) => value === null && known[KNOWN[at] as keyof Row] !== null,
  )
}

const isIn = (runs: readonly Range[], seq: number): boolean =>
  runs.some(([first, last]) => seq >= first && seq <= last)

/** An event given out again keeps its place. */
export function noteTold(trail: Trail, seq: number, kind: PreparedEvent['kind']): void {
  const last = trail.runs.at(-1)
  if (last?.[1] === seq - 1) last[1] = seq
  else if (!isIn(trail.runs, seq)) trail.runs.push([seq, seq])
  const at = trail.retries.indexOf(seq)
  if (kind === 'retry' && at === -1) trail.retries.push(seq)
  else if (kind !== 'retry' && at !== -1) trail.retries.splice(at, 1)
}

interface Stored {
  path: string
  lastSeq: number | null
  lastAt: number | null
  runs: string
  retries: string
}

const toTrail = ({ lastSeq, lastAt, runs, retries }: Stored): Trail => ({
  lastSeq,
  lastAt,
  runs: JSON.parse(runs) as Range[],
  retries: JSON.parse(retries) as number[],
})

export class Trails {
  readonly facts: FactsTold
  readonly #load: Statement
  readonly #others: Statement
  readonly #save: Statement
  readonly #clear: Statement

  constructor(cache: Database) {
    this.facts = new FactsTold(cache)
    const columns = 'path, last_seq AS lastSeq, last_at AS lastAt, runs, retries FROM source_sessions'
    this.#load = cache.prepare(`SELECT ${columns} WHERE path = ? AND session = ?`)
    this.#others = cache.prepare(`SELECT ${columns} WHERE path <> ? AND session = ?`)
    this.#save = cache.prepare(
      `INSERT INTO source_sessions (path, session, last_seq, last_at, runs, retries) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET last_seq = excluded.last_seq, last_at = excluded.last_at, runs = excluded.runs,
       retries = excluded.retries`,
    )
    this.#clear = cache.prepare(
      "UPDATE source_sessions SET last_seq = NULL, last_at = NULL, runs = '[]', retries = '[]', facts = '{}' WHERE path = ?",
    )
  }

  /** Read once for each session. */
  within(told: Told, path: string, session: number): Trail {
    const trail = told.get(session) ?? this.of(path, session)
    told.set(session, trail)
    return trail
  }

  of(path: string, session: number): Trail {
    const stored = this.#load.get(path, session) as unknown as Stored | undefined
    return stored ? toTrail(stored) : { lastSeq: null, lastAt: null, runs: [], retries: [] }
  }

  save(path: string, session: number, { lastSeq, lastAt, runs, retries }: Trail): void {
    this.#save.run(path, session, lastSeq, lastAt, JSON.stringify(runs), JSON.stringify(retries))
  }

  /** The source is read from its beginning. */
  clear(path: string): void {
    this.#clear.run(path)
  }

  /** What other files told that tell of this event as well. */
  othersOf(seq: number, session: number, path: string): Trail[] {
    const others = this.#others.all(path, session) as unknown as Stored[]
    return others.map(toTrail).filter(({ runs }) => isIn(runs, seq))
  }

  /**
   * An event that another file told as well, with what that one knew and this one cannot: which call a result belongs to,
   * how long it took, that it was tried again. So it is the same whichever file is read last.
   */
  withOthers(event: PreparedEvent, known: Row, session: number, path: string): PreparedEvent {
    const wasRetry = EVENT_KINDS[known.kind] === 'retry' && event.kind !== 'retry'
    if (!wasRetry && !knowsLess(event, known)) return event
    const others = this.othersOf(known.seq, session, path)
    if (others.length === 0) return event
    const isRetry = others.some(({ retries }) => retries.includes(known.seq))
    return {
      ...event,
      kind: isRetry ? 'retry' : event.kind,
      tool: event.tool ?? known.tool,
      exitCode: event.exitCode ?? known.exit_code,
      durationMs: event.durationMs ?? known.duration_ms,
      does: event.does ?? wordOf(DEEDS, known.does),
      state: event.state ?? wordOf(END_STATES, known.state),
      // What it means goes with its kind: the end of a turn that is only an echo of another marks nothing.
      mark: event.mark ?? (EVENT_KINDS[known.kind] === event.kind ? wordOf(MARKS, known.mark) : null),
    }
  }
}
