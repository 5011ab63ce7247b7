// The end of a turn where the client wrote none down (before 0.100): an answer that nothing of the same turn follows. It is
// told when the next record shows it, or at the present end of the file; and taken back if the turn goes on after all.
import type { EventItem, Item } from '../adapter.ts'
import type { Spot, State } from './state.ts'

/** The answer that may have been the last one of its turn. */
export interface Closing {
  session: string
  key: string
  origin: string
  ts: number | null
  inherited: boolean
  isTold: boolean
}

export function withTurnEnd(spot: Spot, items: Item[]): Item[] {
  const { state } = spot
  const events = items.filter((item): item is EventItem => item.type === 'event')
  const last = events.at(-1)
  if (!last) return items
  const { closing } = state
  const isOver = !events.some(isOfTurn)
  const ended = closing === null ? [] : endOf(closing, isOver)
  // What goes on hangs on the answer, whether or not an end was told between the two.
  if (closing && !isOver && events[0]) events[0].parentKey ??= closing.key
  // Whoever numbers lines writes ends down, and may take lines back by their number.
  const isAnswer = last.kind === 'assistant_msg' && !state.hasTurnEnds && spot.ordinal === undefined
  state.closing = isAnswer ? closingAt(last) : null
  return [...ended, ...items]
}

/** More of the same turn, or that it ended otherwise. */
const isOfTurn = ({ role, kind, summary }: EventItem): boolean =>
  role === 'assistant' ||
  role === 'tool' ||
  kind === 'completion' ||
  kind === 'error' ||
  summary.startsWith('turn aborted')

const closingAt = ({ session, key, originKey, ts, inherited }: EventItem): Closing => ({
  session,
  key,
  origin: originKey ?? key,
  ts,
  inherited: inherited ?? false,
  isTold: false,
})

/** At the present end of a file in which no line is being written. */
export function endAtEnd(state: State): Item[] {
  const { closing } = state
  if (closing === null || closing.isTold) return []
  closing.isTold = true
  return [endEvent(closing)]
}

function endOf(closing: Closing, isOver: boolean): Item[] {
  if (isOver) return closing.isTold ? [] : [endEvent(closing)]
  // Also where it was not told now: an earlier reading of a shorter file may have told it.
  const keys = [endKey(closing)]
  return [
    {
      type: 'supersede',
      session: closing.session,
      keys,
      isRepetition: true,
      toldAs: 'completion',
    },
  ]
}

const endKey = ({ key }: Closing): string => `${key}#end`

function endEvent(closing: Closing): EventItem {
  const { session, key, origin, ts, inherited } = closing
  return {
    type: 'event',
    session,
    key: endKey(closing),
    parentKey: key,
    originKey: `${origin}#end`,
    ts,
    kind: 'completion',
    role: 'system',
    summary: 'ended with an answer',
    // Of its own: one body for all would be damaged in all of them at once.
    payload: { inferred: 'end of a turn', answer: origin },
    ...(inherited ? { inherited } : {}),
  }
}
