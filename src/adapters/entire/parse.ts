// From a transcript and its further parts to items: finds out whose it is, lets the right reader read it, and puts
// the session's own name on everything. The checkpoint, if there is one, comes last.
import { closeSync, existsSync, readFileSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { openForReading } from '../../files/jsonl.ts'
import { restoreSpill, SpillReference } from '../../record/entire-spill.ts'
import type { Item, Position, Source } from '../adapter.ts'
import { claude } from '../claude/index.ts'
import { codex } from '../codex/index.ts'
import { isRecord, list, str } from '../guards.ts'
import { type Line, OWN_LIMITS, readLines } from '../lines.ts'
import { type Names, newNames, translate } from './delegate.ts'
import { type Dialect, OWN, sniff } from './dialect.ts'
import { type State as LineState, newState, recordItems } from './messages.ts'
import { checkpointEvents, factsIn, type Metadata, modelInContext, readMetadata } from './metadata.ts'
import {
  callOf,
  contextOf,
  homeOf,
  metadataOf,
  partAt,
  placeInTree,
  sessionInPath,
  withoutDate,
} from './paths.ts'

interface State {
  dialect: Dialect
  agent: string
  names: Names
  /** The part being read, how far, and what its reader carries. */
  part: number
  offset: number
  inner: unknown
}

export function* read(source: Source, from: Position | null): Generator<Item> {
  const { path } = source
  const metadata = readMetadata(metadataOf(path))
  const state = from ? (structuredClone(from.state) as State) : firstState(path, metadata)
  const call = callOf(path)
  if (call !== undefined) {
    for (const item of readParts(path, state)) yield hung(item, call)
    return
  }
  const facts = from ? undefined : factsIn(metadata, state.names.session)
  if (facts) yield facts
  yield* state.dialect === 'document' ? readDocument(path, state) : readParts(path, state)
  yield* checkpointEvents(metadata, state.names.session, state.names.last)
}

/** A sub-agent begins below the call that started it: the directory says which, its own reader can only guess. */
const hung = (item: Item, call: string): Item =>
  item.type === 'event' && item.parentKey === null ? { ...item, parentCall: call } : item

function firstState(path: string, metadata: Metadata): State {
  const { dialect, agent, session: inner } = sniff(path, str(metadata['agent']) || undefined)
  const directory = homeOf(path)
  const session = str(metadata['session_id']) || sessionInPath(directory) || inner || placeInTree(directory)
  return { dialect, agent, names: newNames(withoutDate(session)), part: 0, offset: 0, inner: null }
}

/** The parts follow each other as if they were one file. */
function* readParts(path: string, state: State): Generator<Item> {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  let before = 0
  for (let part = 0; part < state.part; part++) before += sizeOf(partAt(path, part))
  for (;;) {
    const at = partAt(path, state.part)
    const hasNext = existsSync(partAt(path, state.part + 1))
    for (const item of readPart(at, state)) {
      if (item.type === 'position') {
        state.offset = item.position.offset
        state.inner = item.position.state
        const offset = state.part === 0 ? state.offset : size
        yield { type: 'position', position: { offset, state } }
      } else if (item.type === 'gap') {
        const { pending, ...gap } = item
        // What another part follows is not being written any more.
        yield { ...gap, offset: before + item.offset, ...(pending && !hasNext && { pending }) }
      } else yield* translate(state.names, item)
    }
    if (!hasNext) return
    before += sizeOf(at)
    state.part++
    state.offset = 0
  }
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0

function readPart(path: string, state: State): Iterable<Item> {
  const from = state.inner === null ? null : { offset: state.offset, state: state.inner }
  if (state.dialect === 'claude') return claude.read({ flavor: claude.flavor, path }, from)
  if (state.dialect === 'codex') return codex.read({ flavor: codex.flavor, path }, from)
  const fresh = (): LineState => ({
    ...newState(state.names.session, state.agent),
    ...(state.agent === OWN && { toldModel: modelInContext(contextOf(path)) }),
  })
  return readLines(path, from, fresh, (inner, line) => lineItems(dirname(path), inner, line), OWN_LIMITS)
}

/** A line of Recollect's own may have parts of its content in files beside it. */
function* lineItems(directory: string, state: LineState, { record, offset, length }: Line): Generator<Item> {
  if (record['recollectSpill'] !== undefined) {
    const checked = SpillReference.array().safeParse(record['recollectSpill'])
    const wrong = checked.success ? restoreSpill(directory, record) : 'not a list of references'
    if (wrong !== undefined) {
      yield { type: 'gap', reason: 'spill', detail: wrong, offset, length }
      // The line is still read, with a preview in place of what is missing; whoever has read it whole keeps that.
      for (const item of recordItems(state, record))
        yield item.type === 'event' ? { ...item, isIncomplete: true } : item
      return
    }
  }
  yield* recordItems(state, record)
}

const MAX_DOCUMENT_BYTES = 256 << 20

/**
 * One JSON value, rewritten as a whole by its agent: read as a whole, with the same keys again. In parts, each of them is a
 * document with some of the messages.
 */
function* readDocument(path: string, state: State): Generator<Item> {
  const parts = [path]
  while (existsSync(partAt(path, parts.length))) parts.push(partAt(path, parts.length))
  const sizes = parts.map(sizeOf)
  const mark = sizes.join('+')
  if (sizes[0] === 0 || state.inner === mark) return
  state.names.last = null
  const messages = newState(state.names.session, state.agent)
  let before = 0
  for (const [index, part] of parts.entries()) {
    const length = sizes[index] as number
    const document = length > MAX_DOCUMENT_BYTES ? undefined : parsed(part)
    if (document === undefined) {
      const reason = length > MAX_DOCUMENT_BYTES ? 'oversize' : 'torn'
      const detail = 'not a whole JSON document'
      yield { type: 'gap', reason, detail, offset: before, length, pending: true }
      return
    }
    for (const item of documentItems(document, messages))
      if (item.type !== 'position' && item.type !== 'gap') yield* translate(state.names, item)
    before += length
  }
  state.inner = mark
  yield { type: 'position', position: { offset: sizes[0] as number, state } }
}

function parsed(path: string): unknown {
  const fd = openForReading(path)
  try {
    return JSON.parse(readFileSync(fd, 'utf8').replace(/^\uFEFF/, ''))
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  } finally {
    closeSync(fd)
  }
}

/** Messages one by one; whatever else the document says is one more record, and comes first. */
function* documentItems(document: unknown, state: LineState): Generator<Item> {
  const { messages, ...head } = isRecord(document) ? document : { messages: document }
  if (isRecord(head['info'])) state.agent = 'opencode'
  // One part of a document has lost its head; the label then says whose it is.
  else if (head['projectHash'] !== undefined || state.agent.startsWith('gemini')) state.agent = 'gemini'
  if (!Array.isArray(messages))
    yield* recordItems(state, { id: 'document', type: 'document', ...head, messages })
  else if (Object.keys(head).length > 0)
    yield* recordItems(state, { id: 'document', type: 'document', ...head })
  for (const message of list(messages))
    yield* recordItems(state, isRecord(message) ? message : { value: message })
}
