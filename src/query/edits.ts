// The files a session changed, edit by edit, put together from what is told of the calls.

import type { Body } from '../event/body.ts'
import { type Change, changesOf } from '../event/edits.ts'
import { EVENT_KINDS, MARKS } from '../model.ts'
import { Bodies } from '../store/bodies.ts'
import { orderOf } from '../store/order.ts'
import { FLAG } from '../store/rows.ts'
import type { ReadHandle } from '../store/store.ts'
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

interface Row {
  kind: number
  seq: number
  ts: number | null
  tool: string | null
  call: string
  payload: Uint8Array
}

const MAX_TEXT = 300_000
const MAX_EDITS = 5000
const EDIT = EVENT_KINDS.indexOf('edit')
/** An edit that was tried before and had failed. */
const RETRY = EVENT_KINDS.indexOf('retry')
const ERROR = EVENT_KINDS.indexOf('error')
const INTERVENTION = EVENT_KINDS.indexOf('human_intervention')
const CHANGED = MARKS.indexOf('changed-by-person')
const NOT_OWN = FLAG.inherited | FLAG.copied | FLAG.superseded

export function editsOf(handle: ReadHandle, uid: string): EditedFiles {
  const rows = handle.cache
    .prepare(
      `SELECT e.kind, e.seq, e.ts, e.tool, hex(e.call) AS call, e.payload FROM cached c JOIN events e ON e.session = c.id
       WHERE c.session_uid = ? AND e.kind IN (${EDIT}, ${RETRY}) AND e.flags & ${NOT_OWN} = 0 ORDER BY e.seq LIMIT ${MAX_EDITS}`,
    )
    .all(uid) as unknown as Row[]
  const order = orderOf(handle.cache, uid)
  rows.sort((a, b) => order.placeOf(a.seq) - order.placeOf(b.seq))
  const answers = answersOf(handle, uid)
  const files = new Map<string, FileState>()
  const unreadable: number[] = []
  const bodies = new Bodies(handle)
  const bodyOf = (payload: Uint8Array): Body | undefined =>
    bodies.body(`blob://${Buffer.from(payload).toString('hex')}`)
  for (const row of rows) {
    const body = bodyOf(row.payload)
    const answer = answers.get(row.call)
    const answerBody = answer ? bodyOf(answer.payload) : undefined
    const inCall = changesOf(body?.edits ?? [])
    const isEdit = row.kind === EDIT
    const changes = inCall.length > 0 || !isEdit ? inCall : changesOf(answerBody?.edits ?? [])
    if (changes.length === 0 && isEdit && body !== undefined) unreadable.push(row.seq)
    for (const [at, change] of changes.entries()) {
      const state = files.get(change.path) ?? new FileState(change.path)
      files.set(change.path, state)
      // The answer quotes the file from before the first of them.
      const original = at === 0 ? answerBody?.original : undefined
      state.apply(row, change, answer !== undefined && isNo(answer), original)
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

interface Answer {
  kind: number
  mark: number | null
  payload: Uint8Array
}

/** It failed, or somebody said no. */
const isNo = ({ kind, mark }: Answer): boolean =>
  kind === ERROR || (kind === INTERVENTION && mark !== CHANGED)

function answersOf(handle: ReadHandle, uid: string): Map<string, Answer> {
  const rows = handle.cache
    .prepare(
      `SELECT hex(e.call) AS call, e.kind, e.mark, e.payload FROM cached c JOIN events e ON e.session = c.id
       WHERE c.session_uid = ? AND e.role = 3 AND e.call IS NOT NULL ORDER BY e.seq`,
    )
    .all(uid) as unknown as (Answer & { call: string })[]
  return new Map(rows.map((row) => [row.call, row]))
}

/** What is known of a file as its edits go by. */
class FileState {
  readonly path: string
  readonly steps: EditStep[] = []
  #text: string | undefined

  constructor(path: string) {
    this.path = path
  }

  apply(row: Row, change: Change, hasFailed: boolean, original: string | undefined): void {
    if (original !== undefined) this.#text = original
    const before = this.#text
    const after = hasFailed ? before : changed(before, change)
    const isWhole = after !== undefined && (before !== undefined || change.isWhole)
    const shown = isWhole ? { before: before ?? '', after } : { before: change.before, after: change.after }
    const isCut = shown.before.length > MAX_TEXT || shown.after.length > MAX_TEXT
    this.steps.push({
      seq: row.seq,
      ts: row.ts === null ? null : new Date(row.ts).toISOString(),
      tool: row.tool,
      has_failed: hasFailed,
      before: hasFailed ? change.before.slice(0, MAX_TEXT) : shown.before.slice(0, MAX_TEXT),
      after: hasFailed ? change.after.slice(0, MAX_TEXT) : shown.after.slice(0, MAX_TEXT),
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
