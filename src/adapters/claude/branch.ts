// What the conversation took back: rewinds, retracted and superseded lines. Parallel tool calls also give a node two
// children, so only two prompts of a person under one parent, or the client's own marker, count as a rewind. Commands
// count only with the marker: those that the client carries out itself need not be on the chain.

import type { SupersedeItem } from '../adapter.ts'
import { remember } from '../kit/bounded.ts'
import { list, str } from '../kit/guards.ts'
import { type Draft, type Line, lastIndex, type Prompted } from './line.ts'

const NOWHERE = /^[0-]+$/

const NONE: SupersedeItem[] = []

/** Items that must come before the line's own events. */
export function takenBack(line: Line, drafts: Draft[]): SupersedeItem[] {
  const { record } = line
  const hasList = record['retractedMessageUuids'] !== undefined || record['supersedesUuids'] !== undefined
  const taken = hasList ? retracted(line) : NONE
  if (!line.isOnMain) return taken
  if (line.type === 'last-prompt') return [...taken, ...marker(line)]
  if (line.uuid === undefined || line.type !== 'user') return taken
  if (!line.isCommand && drafts.some((draft) => draft.kind === 'user_msg'))
    return [...taken, ...prompt(line, line.uuid, false)]
  return line.isCommand ? [...taken, ...prompt(line, line.uuid, true)] : taken
}

function retracted(line: Line): SupersedeItem[] {
  const items: SupersedeItem[] = []
  for (const field of ['retractedMessageUuids', 'supersedesUuids']) {
    const uuids = list(line.record[field]).flatMap((one) => str(one) || [])
    if (uuids.length === 0) continue
    const keys = uuids.flatMap((uuid) =>
      [...Array(lastIndex(line.state, uuid) + 1).keys(), 'end'].map((part) => `${uuid}#${part}`),
    )
    items.push({ type: 'supersede', session: line.state.session, keys })
    if (keys.includes(line.state.closing?.event.key ?? '')) delete line.state.closing
  }
  return items
}

/** `last-prompt` names the living leaf when a person chose it. All zeros: the next prompt shows where. */
function marker(line: Line): SupersedeItem[] {
  const { record, state } = line
  const leaf = str(record['leafUuid'])
  if (leaf === undefined || (record['explicit'] !== true && record['rewound'] !== true)) return NONE
  const isRewound = record['rewound'] === true
  if (!NOWHERE.test(leaf))
    return since(line, ([, under, , isCommand]) => under === leaf && (isRewound || !isCommand))
  state.rewound = true
  return NONE
}

function prompt(line: Line, uuid: string, byCommand: boolean): SupersedeItem[] {
  const { state, ts } = line
  if (state.prompts.some((entry) => entry[0] === uuid)) return NONE
  const parent = str(line.record['parentUuid']) ?? ''
  const isMarked = state.rewound === true
  // Several roots are also what concatenated or resumed files have: there the marker must agree.
  const taken =
    isMarked || (parent !== '' && !byCommand)
      ? since(
          line,
          ([, under, at, isCommand]) =>
            under === parent && (isMarked || !isCommand) && (ts === null || at === null || at < ts),
        )
      : NONE
  state.rewound = false
  remember(state.prompts, byCommand ? [uuid, parent, ts, true] : [uuid, parent, ts])
  return taken
}

function since(line: Line, matches: (entry: Prompted) => boolean): SupersedeItem[] {
  const { state } = line
  const at = state.prompts.findIndex(matches)
  const first = state.prompts[at]
  if (!first) return NONE
  state.prompts.splice(at)
  return [{ type: 'supersede', session: state.session, sinceKey: `${first[0]}#0` }]
}
