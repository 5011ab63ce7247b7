// What the conversation took back: rewinds, retracted and superseded lines. Parallel tool calls also give a node two
// children, so only two prompts of a person under one parent, or the client's own marker, count as a rewind.
import type { SupersedeItem } from '../adapter.ts'
import { list, str } from '../guards.ts'
import { type Draft, type Line, lastIndex, remember } from './line.ts'

const NOWHERE = /^[0-]+$/

/** Items that must come before the line's own events. */
export function* takenBack(line: Line, drafts: Draft[]): Generator<SupersedeItem> {
  yield* retracted(line)
  if (line.isSidechain || line.reader.place.kind !== 'main') return
  if (line.type === 'last-prompt') yield* marker(line)
  else if (line.uuid !== undefined && drafts.some((draft) => draft.kind === 'user_msg'))
    yield* prompt(line, line.uuid)
}

function* retracted(line: Line): Generator<SupersedeItem> {
  for (const [field, reason] of [
    ['retractedMessageUuids', 'retracted'],
    ['supersedesUuids', 'superseded'],
  ] as const) {
    const uuids = list(line.record[field]).flatMap((one) => str(one) || [])
    if (uuids.length === 0) continue
    const keys = uuids.flatMap((uuid) =>
      Array.from({ length: lastIndex(line.state, uuid) + 1 }, (_, index) => `${uuid}#${index}`),
    )
    yield { type: 'supersede', session: line.state.session, keys, reason }
  }
}

/** `last-prompt` names the living leaf when a person chose it. All zeros: the next prompt shows where. */
function* marker(line: Line): Generator<SupersedeItem> {
  const { record, state } = line
  const leaf = str(record['leafUuid'])
  if (leaf === undefined || (record['explicit'] !== true && record['rewound'] !== true)) return
  if (NOWHERE.test(leaf)) state.rewound = true
  else yield* since(line, (entry) => entry[1] === leaf)
}

function* prompt(line: Line, uuid: string): Generator<SupersedeItem> {
  const { state, ts } = line
  if (state.prompts.some((entry) => entry[0] === uuid)) return
  const parent = str(line.record['parentUuid']) ?? ''
  // Several roots are also what concatenated or resumed files have: there the marker must agree.
  if (parent !== '' || state.rewound)
    yield* since(line, (entry) => entry[1] === parent && (ts === null || entry[2] === null || entry[2] < ts))
  state.rewound = false
  remember(state.prompts, [uuid, parent, ts])
}

function* since(
  line: Line,
  matches: (entry: [string, string, number | null]) => boolean,
): Generator<SupersedeItem> {
  const { state } = line
  const at = state.prompts.findIndex(matches)
  const first = state.prompts[at]
  if (!first) return
  state.prompts.splice(at)
  yield { type: 'supersede', session: state.session, sinceKey: `${first[0]}#0`, reason: 'rewind' }
}
