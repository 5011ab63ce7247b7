// From a transcript and its further parts to items: finds out whose it is, lets the right reader read it, and puts
// the session's own name on everything. The checkpoint, if there is one, comes last.
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { sizeOf } from '../../files/reading.ts'
import { restoreSpill, SpillReference } from '../../record/entire-spill.ts'
import type { Item, Position, Source, SweepMemo } from '../adapter.ts'
import { claude } from '../claude/index.ts'
import { codex } from '../codex/index.ts'
import { documentIn, tornGap } from '../kit/document.ts'
import { isRecord, list, str } from '../kit/guards.ts'
import { type Line, OWN_LIMITS, readLines } from '../kit/lines.ts'
import { newMemo } from '../kit/memo.ts'
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

export function* read(source: Source, from: Position | null, memo: SweepMemo = newMemo()): Generator<Item> {
  const { path } = source
  const { metadata, gaps } = readMetadata(metadataOf(path))
  const state = from ? (structuredClone(from.state) as State) : firstState(path, metadata)
  const call = callOf(path)
  if (call !== undefined) {
    for (const item of readParts(path, state, memo)) yield hung(item, call)
    return
  }
  const facts = from ? undefined : factsIn(metadata, state.names.session)
  if (facts) yield facts
  yield* gaps
  yield* state.dialect === 'document' ? readDocument(path, state) : readParts(path, state, memo)
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
function* readParts(path: string, state: State, memo: SweepMemo): Generator<Item> {
  const size = sizeOf(path)
  let before = 0
  for (let part = 0; part < state.part; part++) before += sizeOf(partAt(path, part))
  for (;;) {
    const at = partAt(path, state.part)
    const hasNext = existsSync(partAt(path, state.part + 1))
    for (const item of readPart(at, state, memo)) {
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

function readPart(path: string, state: State, memo: SweepMemo): Iterable<Item> {
  const from = state.inner === null ? null : { offset: state.offset, state: state.inner }
  if (state.dialect === 'claude') return claude.read({ path }, from, memo)
  if (state.dialect === 'codex') return codex.read({ path }, from, memo)
  const fresh = (): LineState => ({
    ...newState(state.names.session, state.agent),
    ...(state.agent === OWN && { toldModel: modelInContext(contextOf(path)) }),
  })
  return readLines(path, from, fresh, (inner, line) => lineItems(dirname(path), inner, line), {
    limits: OWN_LIMITS,
  })
}

/** A line of Recollect's own may have parts of its content in files beside it. */
function* lineItems(directory: string, state: LineState, { record, offset, length }: Line): Generator<Item> {
  if (record['recollectSpill'] !== undefined) {
    const checked = SpillReference.array().safeParse(record['recollectSpill'])
    const wrong = checked.success ? spilled(directory, record, checked.data) : 'not a list of references'
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

/** Puts the parts back, unless they are more than a line may have: what they say of their size is checked when they are read. */
function spilled(
  directory: string,
  record: Record<string, unknown>,
  references: readonly { bytes: number }[],
): string | undefined {
  const bytes = references.reduce((sum, one) => sum + one.bytes, 0)
  if (bytes <= OWN_LIMITS.maxLineBytes) return restoreSpill(directory, record)
  return `${bytes} bytes beside the line, limit ${OWN_LIMITS.maxLineBytes}`
}

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
    const document = documentIn(part)
    if (typeof document === 'string') {
      yield tornGap(document, length, before)
      return
    }
    for (const item of documentItems(document.value, messages))
      if (item.type !== 'position' && item.type !== 'gap') yield* translate(state.names, item)
    before += length
  }
  state.inner = mark
  yield { type: 'position', position: { offset: sizes[0] as number, state } }
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
