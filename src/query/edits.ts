// The files a session changed, edit by edit, put together from what is told of the calls.
import { type Change, changesOf } from '../event/edits.ts'
import { isoTime } from '../model.ts'
import { Bodies } from '../store/bodies.ts'
import type { EditRow } from '../store/reader/events.ts'
import type { Reader } from '../store/reader/index.ts'
import { type Unread, unreadOf } from './unread.ts'

export interface EditStep {
  seq: number
  ts: string | null
  tool: string | null
  has_failed: boolean
  /** The whole file before and after where it is known, otherwise the part that the call names. */
  before: string
  after: string
  is_whole: boolean
  /** True when a text was too long to be sent. */
  is_cut: boolean
}

export interface EditedFile {
  path: string
  steps: EditStep[]
}

export interface EditedFiles {
  session_uid: string
  files: EditedFile[]
  /** Edits whose shape we do not know: their raw record is all there is to show. */
  unreadable: number[]
  /** How many bodies of edits and of their answers should be in the cache and cannot be read. */
  unread_bodies: number
  unread: Unread | null
}

const MAX_TEXT = 300_000
const MAX_EDITS = 5000

/** Files are told apart by what `nameOf` makes of a path: one file may be spelled in several ways. */
export function editsOf(
  handle: Reader,
  uid: string,
  nameOf: (path: string) => string = (path) => path,
): EditedFiles {
  const answers = new Map(handle.events.answers(uid).map((answer) => [answer.call, answer]))
  const files = new Map<string, FileState>()
  const unreadable: number[] = []
  const bodies = new Bodies(handle)
  for (const row of handle.events.edits(uid, MAX_EDITS)) {
    const body = bodies.body(row.payloadRef)
    const answer = answers.get(row.call)
    const answerBody = answer ? bodies.body(answer.payloadRef) : undefined
    const inCall = changesOf(body?.edits ?? [])
    const isEdit = row.kind === 'edit'
    const changes = inCall.length > 0 || !isEdit ? inCall : changesOf(answerBody?.edits ?? [])
    if (changes.length === 0 && isEdit && body !== undefined) unreadable.push(row.seq)
    // The hunks of a patch are one edit of their file; the answer quotes the file from before the first of them.
    for (const [path, own] of byPath(changes, nameOf)) {
      const state = files.get(path) ?? new FileState(path)
      files.set(path, state)
      const original = own[0] === changes[0] ? answerBody?.original : undefined
      state.apply(row, own, answer !== undefined && isNo(answer), original)
    }
  }
  return {
    session_uid: uid,
    files: [...files.values()].map(({ path, steps }) => ({ path, steps })),
    unreadable,
    unread_bodies: bodies.unread.size,
    unread: unreadOf(bodies.unread.size),
  }
}

/** Stands for the lines that a patch leaves out. */
export const BETWEEN = '\n⋯\n'

function byPath(changes: readonly Change[], nameOf: (path: string) => string): Map<string, Change[]> {
  const files = new Map<string, Change[]>()
  for (const change of changes) {
    const name = nameOf(change.path)
    files.set(name, [...(files.get(name) ?? []), change])
  }
  return files
}

/** It failed, or somebody said no. */
const isNo = ({ kind, mark }: EditRow): boolean =>
  kind === 'error' || (kind === 'human_intervention' && mark !== 'changed-by-person')

/** What is known of a file as its edits go by. */
class FileState {
  readonly path: string
  readonly steps: EditStep[] = []
  #text: string | undefined

  constructor(path: string) {
    this.path = path
  }

  apply(row: EditRow, changes: readonly Change[], hasFailed: boolean, original: string | undefined): void {
    if (original !== undefined) this.#text = original
    const before = this.#text
    const after = hasFailed ? before : changes.reduce(changed, before)
    const isWhole = after !== undefined && (before !== undefined || changes[0]?.isWhole === true)
    const part = {
      before: changes.map((one) => one.before).join(BETWEEN),
      after: changes.map((one) => one.after).join(BETWEEN),
    }
    const shown = isWhole ? { before: before ?? '', after } : part
    const isCut = shown.before.length > MAX_TEXT || shown.after.length > MAX_TEXT
    this.steps.push({
      seq: row.seq,
      ts: isoTime(row.ts),
      tool: row.tool,
      has_failed: hasFailed,
      before: hasFailed ? part.before.slice(0, MAX_TEXT) : shown.before.slice(0, MAX_TEXT),
      after: hasFailed ? part.after.slice(0, MAX_TEXT) : shown.after.slice(0, MAX_TEXT),
      is_whole: isWhole && !hasFailed,
      is_cut: isCut,
    })
    if (!hasFailed) this.#text = after
  }
}

/** The text after a change; undefined when it cannot be known. */
function changed(text: string | undefined, change: Change): string | undefined {
  if (change.isWhole) return change.after
  if (text === undefined || change.before === '' || !text.includes(change.before)) return undefined
  return change.isAll
    ? text.split(change.before).join(change.after)
    : text.replace(change.before, () => change.after)
}
