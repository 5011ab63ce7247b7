// From lines to items: opens each line, gathers the session's facts, hands the record to its family, places the events.

import { basename, dirname } from 'node:path'
import { readBeginning } from '../../files/reading.ts'
import type { EdgeItem, Item, Position, SessionItem, Source, SweepMemo } from '../adapter.ts'
import { remember } from '../kit/bounded.ts'
import { edgeItem } from '../kit/facts.ts'
import { isRecord, str } from '../kit/guards.ts'
import { readLines } from '../kit/lines.ts'
import { newMemo } from '../kit/memo.ts'
import { takenBack } from './branch.ts'
import { closeFile, closeTurn, noteAnswer } from './closing.ts'
import { noteCommand, prompted } from './commands.ts'
import { type Draft, type Line, newState, openLine, type Parent, place, type Reader } from './line.ts'
import { messageDrafts } from './messages.ts'
import { copyAt, type Place, placeOf } from './paths.ts'
import { delivered } from './queue.ts'
import { attachmentDrafts, nameSession, otherDrafts, systemDrafts } from './records.ts'
import { noteResume } from './resumed.ts'
import { mainUuids, noteTold, sidecarGap, spawner } from './spawn.ts'
import { SYNTHETIC, usageOf } from './usage.ts'

export function* read(source: Source, from: Position | null, memo: SweepMemo = newMemo()): Generator<Item> {
  const { path } = source
  const where: Place = placeOf(path) ??
    copyAt(path) ?? { kind: 'main', projectDir: dirname(path), session: undefined, agent: undefined }
  let reader: Reader | undefined
  if (where.kind === 'agent') yield* sidecarGap(path)
  yield* readLines(
    path,
    from,
    () => newState(where.session ?? innerSession(path) ?? basename(path, '.jsonl')),
    (state, { record, length }) => {
      reader ??= readerOf(path, where, state.session, memo)
      return step(openLine(reader, state, record, length))
    },
    { atEnd: closeFile },
  )
}

const PEEK_BYTES = 1 << 20

/** The first session id in the file, for names that hold none. */
function innerSession(path: string): string | undefined {
  const text = readBeginning(path, PEEK_BYTES).bytes.toString('latin1')
  return /"sessionId":\s*"([\w.-]+)"/.exec(text)?.[1]
}

function readerOf(path: string, where: Place, session: string, memo: SweepMemo): Reader {
  let spawnedBy: Parent | undefined
  let copies: Set<string> | undefined
  // Helpers of the client (`acompact-…`, `aside_question-…`, `aprompt_suggestion-…`) begin with the whole conversation, under
  // the same uuids. Those that the model starts have no such word in their names.
  const repeats = where.kind === 'agent' && where.agent?.includes('-')
  return {
    place: where,
    spawnedBy() {
      if (where.kind === 'agent') spawnedBy ??= spawner(path, where, session, memo)
      return spawnedBy ?? { parentKey: null }
    },
    isCopy(uuid) {
      if (!repeats) return false
      copies ??= mainUuids(where.projectDir, session, memo)
      return copies.has(uuid)
    },
  }
}

function* step(line: Line): Generator<Item> {
  if (line.reader.place.kind === 'agent') noteGuess(line)
  else if (line.isOnMain) noteFacts(line)
  const drafts = draftsOf(line)
  if (line.type === 'user') delete line.state.answer
  noteResume(line, drafts)
  noteLeaf(line)
  noteTold(line, drafts[0]?.said)
  const events = [...place(line, drafts)]
  if (line.isCopy) return
  yield* line.items
  yield* delivered(line, drafts)
  yield* closeTurn(line, drafts)
  yield* takenBack(line, drafts)
  yield* prompted(line, drafts)
  yield* events
  noteCommand(line, events)
  yield* noteAnswer(line, events)
  yield* usageOf(line, events)
}

function draftsOf(line: Line): Draft[] {
  switch (line.type) {
    case 'user':
    case 'assistant':
      return messageDrafts(line)
    case 'system':
      return systemDrafts(line)
    case 'attachment':
      return attachmentDrafts(line)
    default:
      return otherDrafts(line)
  }
}

/** Where a sub-agent worked is where its session was, unless that says otherwise: its own file may never have been written. */
function noteGuess({ record, state, items }: Line): void {
  const cwd = str(record['cwd'])
  if (state.facts.cwd !== undefined || !cwd) return
  state.facts.cwd = cwd
  const version = str(record['version'])
  items.push({
    type: 'session',
    session: state.session,
    cwd,
    ...(version ? { agentVersion: version } : {}),
    isGuess: true,
  })
}

/** Facts go out when they change, so that reading in steps says the same as reading at once. */
function noteFacts(line: Line): void {
  const { record, state } = line
  const { facts } = state
  const item: SessionItem = { type: 'session', session: state.session }
  const forkedFrom = isRecord(record['forkedFrom']) ? str(record['forkedFrom']['sessionId']) : undefined
  const cwd = str(record['cwd'])
  const isOwn = line.uuid !== undefined && !forkedFrom
  // Where its origin was is where a fork was, until it says otherwise.
  const isNew = facts.cwd === undefined || (isOwn && state.origin !== undefined)
  if (isNew && cwd && cwd !== facts.cwd) facts.cwd = item.cwd = cwd
  const gitBranch = str(record['gitBranch'])
  if (gitBranch && gitBranch !== facts.gitBranch) facts.gitBranch = item.gitBranch = gitBranch
  const version = str(record['version'])
  if (version && version !== facts.version) facts.version = item.agentVersion = version
  if (isOwn && line.ts !== null && line.ts < (facts.startedAt ?? Infinity))
    facts.startedAt = item.startedAt = line.ts
  const message = record['message']
  const model = line.type === 'assistant' && isRecord(message) ? str(message['model']) : undefined
  if (model && model !== SYNTHETIC && model !== facts.model) facts.model = item.model = model
  if (record['sessionKind'] === 'bg' && !facts.isBackground) facts.isBackground = item.isBackground = true
  if (forkedFrom && facts.relation !== 'fork') {
    facts.relation = item.relation = 'fork'
    state.origin = forkedFrom
    line.items.push({ ...bornFrom(line, forkedFrom), evidence: `${line.key}#0` })
  } else if (facts.relation === undefined) facts.relation = item.relation = 'main'
  if (isOwn && state.origin !== undefined && line.ts !== null) {
    // The times of what it copied are its origin's.
    line.items.push({ ...bornFrom(line, state.origin), at: line.ts })
    delete state.origin
  }
  if (Object.keys(item).length > 2) line.items.push(item)
}

const bornFrom = ({ state }: Line, parent: string): EdgeItem =>
  edgeItem('interactive_fork', state.session, parent, null)

function noteLeaf(line: Line): void {
  const { state, uuid } = line
  if (uuid === undefined) return
  remember(state.recent, uuid)
  const title = state.titles.findLast((entry) => entry[0] === uuid)
  if (title) nameSession(line, title[1])
}
