// Commands that a person typed (`/name`, `! command`). One that the client carries out itself is housekeeping; one that
// sets the model to work is a prompt like any other. Which of the two it is shows in what follows: a command is told as
// housekeeping, and told again as the prompt it was when the model is given its text, or answers.
import type { EventItem } from '../adapter.ts'
import { isRecord } from '../kit/guards.ts'
import { contentText } from '../kit/text.ts'
import type { Draft, Line } from './line.ts'
import { isAnswering } from './usage.ts'

/** What is longer is no housekeeping, and too long to be carried over. */
const MAX_WAITING = 64 << 10

/** The kind of a command's event as long as nothing has followed. */
export const kindOfCommand = (text: string): Draft['kind'] =>
  text.length > MAX_WAITING ? 'user_msg' : 'lifecycle'

/** The command that this line shows to have been a prompt. Comes before the line's own events. */
export function prompted(line: Line, drafts: readonly Draft[]): EventItem[] {
  const { state } = line
  const { command } = state
  if (!command || !line.isOnMain) return []
  if (setsOff(line, command)) {
    delete state.command
    return [{ ...command, kind: 'user_msg' }]
  }
  if (isCarriedOut(line, command) || drafts.some(isByPerson)) delete state.command
  return []
}

/** At a line that holds a command. */
export function noteCommand(line: Line, events: readonly EventItem[]): void {
  const [first] = events
  if (line.isCommand && line.isOnMain && first?.kind === 'lifecycle') line.state.command = first
}

const isSlash = ({ summary }: EventItem): boolean => summary.startsWith('/')

function setsOff(line: Line, command: EventItem): boolean {
  if (line.type !== 'user') return isAnswering(line)
  // The text of the command itself, as the model gets it. A caveat belongs to another command.
  return line.record['isMeta'] === true && isSlash(command) && !CAVEAT.test(opening(line))
}

/** Its output is all that comes of it. The output of `!` may be shown to the model, which then answers. */
function isCarriedOut(line: Line, command: EventItem): boolean {
  if (!isSlash(command)) return false
  if (line.type === 'system') return line.record['subtype'] === 'local_command'
  return line.type === 'user' && OUTPUT.test(opening(line))
}

const isByPerson = ({ kind, role }: Draft): boolean =>
  role === 'user' && (kind === 'user_msg' || kind === 'human_intervention')

const CAVEAT = /^(?:<local-command-caveat>|Caveat:)/
const OUTPUT = /^<local-command-std(?:out|err)>/

function opening({ record }: Line): string {
  const message = isRecord(record['message']) ? record['message'] : {}
  return contentText(message['content']) ?? ''
}
