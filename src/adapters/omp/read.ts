import { basename, dirname } from 'node:path'
import type { EventItem, Item, Position, Source } from '../adapter.ts'
import { remember } from '../kit/bounded.ts'
import { fields, str } from '../kit/guards.ts'
import { readLines } from '../kit/lines.ts'
import { toolsBy } from '../kit/tools.ts'
import { SESSION_FILE } from '../pi/names.ts'
import { newSession, recordItems, type Session } from '../pi/session.ts'

const TOOLS = toolsBy({
  shell: 'bash',
  edit: 'ast_edit edit write',
  read: 'ls read',
  search: 'ast_grep find glob grep search',
  fetch: 'fetch web_search',
  spawn: 'task',
  ask: 'ask',
  plan: 'todo todo_write',
  other: 'hub',
})

interface State extends Session {
  /** Edits whose input names lines and not what stood there: the result shows it. */
  edits: EventItem[]
}

const MAX_EDITS = 8
const MAX_EDIT_BYTES = 8192

export function read({ path }: Source, from: Position | null): Iterable<Item> {
  const folder = SESSION_FILE.test(basename(path)) ? undefined : basename(dirname(path))
  return readLines(
    path,
    from,
    (): State => ({ ...newSession(path, folder), edits: [] }),
    function* (state, { record }) {
      for (const item of recordItems(state, record, TOOLS)) {
        if (item.type !== 'event') yield item
        else {
          const event = ofHelper(handedIn(onDevice(withIntent(item))), folder)
          yield* shownEdit(state, event)
          yield event
        }
      }
    },
  )
}

function* shownEdit({ edits }: State, event: EventItem): Generator<Item> {
  if (event.act?.does === 'edit' && !event.act.edits) {
    if (JSON.stringify(event.payload).length < MAX_EDIT_BYTES) remember(edits, event, MAX_EDITS)
    return
  }
  const at = event.role === 'tool' ? edits.findIndex(({ callId }) => callId === event.callId) : -1
  if (at === -1) return
  const [call] = edits.splice(at, 1)
  const details = fields(fields(event.payload)['details'])
  const patch = details['diff'] === undefined ? '' : plainDiff(str(details['diff']) ?? '')
  const file = str(details['path'])
  if (!call || !file || !patch) return
  const payload = call.payload as Record<string, unknown>
  const act = { does: 'edit', input: payload['arguments'], edits: [{ path: file, patch }] } as const
  yield { ...call, act, files: [file], summary: `${call.tool} ${file}` }
}

/** The model says in a few words what a call is for. */
function withIntent(event: EventItem): EventItem {
  const intent = event.act && str(fields(event.payload)['intent'])
  return intent && event.summary === event.tool ? { ...event, summary: `${event.tool}: ${intent}` } : event
}

/** A sub-agent ends so, without another word. */
const handedIn = (event: EventItem): EventItem =>
  event.role === 'tool' && event.tool === 'yield' && event.state !== 'failed'
    ? { ...event, mark: 'turn-end' }
    : event

/** A sub-agent is stopped by the one that began it, or with the program: no person does it there. */
function ofHelper(event: EventItem, folder: string | undefined): EventItem {
  const { mark, ...rest } = event
  return folder && mark === 'interrupt' ? { ...rest, kind: 'error', role: 'system' } : event
}

/** `write` to `xd://mcp__…` calls a tool, and `read` of `agent://…` asks: neither is about a file. */
function onDevice(event: EventItem): EventItem {
  if (!event.act || !event.files?.some((file) => /^[a-z]+:\/\//.test(file))) return event
  const { files, act, ...rest } = event
  const kind = event.kind === 'edit' ? 'tool_call' : event.kind
  return { ...rest, kind, act: { does: 'other', input: act.input } }
}

/** `-3|text` is `-text`; a line that stands for others begins another part. */
const plainDiff = (diff: string): string =>
  diff
    .split('\n')
    .map((line) => /^([-+ ])\s*\d+\|(.*)$/s.exec(line))
    .map((match) => (match ? `${match[1]}${match[2]}` : '@@'))
    .join('\n')
