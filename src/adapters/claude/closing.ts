// The end of a turn. Only terminals write one down; else it is inferred from the last answer, as an event of its own behind it.
// Since 2.1 an answer tells whether it is whole. Before that, what follows tells it: the end of the present file too, which
// may turn out to be none. Then the completion is given back: it counts nowhere.
import type { EventItem, Item } from '../adapter.ts'
import { isRecord, list, str } from '../kit/guards.ts'
import { hashOf } from '../kit/text.ts'
import type { Draft, Line, State } from './line.ts'
import { isAnswering } from './usage.ts'

/** A completion that was told, or waits for what follows. */
export interface Closing {
  event: EventItem
  isTold: boolean
  /** The answer itself says that it ended the turn. */
  isCertain: boolean
}

/** Before the events of any line: what it tells of the answer before it. */
export function* closeTurn(line: Line, drafts: readonly Draft[]): Generator<Item> {
  const { state } = line
  const { closing } = state
  if (!closing || !line.isOnMain) return
  if (goesOn(line) || (!closing.isCertain && drafts.some(isStop))) {
    delete state.closing
    // Also where it was not told now: an earlier reading of a shorter file may have told it.
    if (!closing.isCertain || closing.isTold)
      yield {
        type: 'supersede',
        session: state.session,
        keys: [closing.event.key],
        isRepetition: true,
        toldAs: 'completion',
      }
    return
  }
  yield* told(closing)
  // What a person says, and what the client says in their place, begins something new.
  if (line.type === 'user') delete state.closing
}

/** Behind the events of an answer. */
export function* noteAnswer(line: Line, events: readonly EventItem[]): Generator<Item> {
  const answer = events.at(-1)
  if (!line.isOnMain || line.type !== 'assistant') return
  if (answer?.kind !== 'assistant_msg' || !answer.said?.trim()) return
  const reason = isRecord(line.record['message']) ? str(line.record['message']['stop_reason']) : undefined
  if (reason === 'tool_use' || reason === 'pause_turn') return
  const closing: Closing = { event: endOf(line, answer), isTold: false, isCertain: Boolean(reason) }
  line.state.closing = closing
  if (closing.isCertain) yield* told(closing)
}

/** At the present end of the file. */
export function* closeFile({ closing }: State): Generator<Item> {
  if (closing) yield* told(closing)
}

function* told(closing: Closing): Generator<Item> {
  if (closing.isTold) return
  closing.isTold = true
  yield closing.event
}

/** A line and its copy in a fork have the same body, and no other session has: bodies that are equal are kept once, with one session. */
function endOf({ key }: Line, { session, key: answer, ts, originKey, said }: EventItem): EventItem {
  const event: EventItem = {
    type: 'event',
    session,
    key: `${key}#end`,
    parentKey: answer,
    ts,
    kind: 'completion',
    role: 'system',
    summary: 'ended with an answer',
    payload: { inferred: 'end of a turn', answer: hashOf(said) },
  }
  if (originKey === undefined) return event
  return { ...event, originKey: originKey.replace(/#\d+$/, '#end'), inherited: true }
}

/** Whether a line is more of the same turn: another part of the response, or the result of a call. */
function goesOn(line: Line): boolean {
  if (line.type !== 'user') return isAnswering(line)
  const message = isRecord(line.record['message']) ? line.record['message'] : {}
  return list(message['content']).some((block) => isRecord(block) && block['type'] === 'tool_result')
}

const isStop = ({ kind, mark }: Draft): boolean => kind === 'human_intervention' || mark === 'shutdown'
