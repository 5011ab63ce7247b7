// What the conversation took back: rewinds, retracted and superseded lines. Parallel tool calls also give a node two
// children, so only two prompts of a person under one parent, or the client's own marker, count as a rewind.
import type { SupersedeItem } from '../adapter.ts'
import { list, str } from '../guards.ts'
import { type Draft, type Line, lastIndex, remember } from './line.ts'

const NOWHERE = /^[0-]+$/

const NONE: SupersedeItem[] = []

/** Items that must come before the line's own events. */
export function takenBack(line: Line, drafts: Draft[]): SupersedeItem[] {
  const { record } = line
  const hasList = record['retractedMessageUuids'] !== undefined || record['supersedesUuids'] !== undefined
  const taken = hasList ? retracted(line) : NONE
  if (line.isSidechain || line.reader.place.kind !== 'main') return taken
  if (line.type === 'last-prompt') return [...taken, ...marker(line)]
  return line.uuid !== undefined && drafts.some((draft) => draft.kind === 'user_msg')
    ? [...taken, ...prompt(line, line.uuid)]
    : taken
}

function retracted(line: Line): SupersedeItem[] {
  const items: SupersedeItem[] = []
  for (const [field, reason] of [
    ['retractedMessageUuids', 'retracted'],
    ['supersedesUuids', 'superseded'],
  ] as const) {
    const uuids = list(line.record[field]).flatMap((one) => str(one) || [])
    if (uuids.length === 0) continue
    const keys = uuids.flatMap((uuid) =>
      Array.from({ length: lastIndex(line.state, uuid) + 1 }, (_, index) => `${uuid}#${index}`),
    )
    items.push({ type: 'supersede', session: line.state.session, keys, reason })
  }
  return items
}

/** `last-prompt` names the living leaf when a person chose it. All zeros: the next prompt shows where. */
function marker(line: Line): SupersedeItem[] {
  const { record, state } = line
  const leaf = str(record['leafUuid'])
  if (leaf === undefined || (record['explicit'] !== true && record['rewound'] !== true)) return NONE
  if (!NOWHERE.test(leaf)) return since(line, (entry) => entry[1] === leaf)
  state.rewound = true
  return NONE
}

function prompt(line: Line, uuid: string): SupersedeItem[] {
  const { state, ts } = line
  if (state.prompts.some((entry) => entry[0] === uuid)) return NONE
  const parent = str(line.record['parentUuid']) ?? ''
  // Several roots are also what concatenated or resumed files have: there the marker must agree.
  const taken =
    parent !== '' || state.rewound
      ? since(line, (entry) => entry[1] === parent && (ts === null || entry[2] === null || entry[2] < ts))
      : NONE
  state.rewound = false
  remember(state.prompts, [uuid, parent, ts])
  return taken
}

function since(line: Line, matches: (entry: [string, string, number | null]) => boolean): SupersedeItem[] {
  const { state } = line
  const at = state.prompts.findIndex(matches)
  const first = state.prompts[at]
  if (!first) return NONE
  state.prompts.splice(at)
  return [{ type: 'supersede', session: state.session, sinceKey: `${first[0]}#0`, reason: 'rewind' }]
}
