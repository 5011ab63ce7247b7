// What a session changed, file by file as code hosts show it: the first text that is known against the last, of all of it,
// of one prompt, of one edit, or up to one. Where a file was never quoted whole, its edits are put one onto the other.
import { structuredPatch } from 'diff'
import { type EditStep, editsOf } from '../query/edits.ts'
import { getSession } from '../query/sessions.ts'
import type { Unread } from '../query/unread.ts'
import type { Reader } from '../store/reader/index.ts'
import { keyOf, pathIn, placeIn } from './places.ts'

export interface DiffSize {
  added: number
  removed: number
}

export interface ChangedFile extends DiffSize {
  /** Relative to where the session was, if it lies in there. */
  path: string
  /** Edits that were made, and those that failed. */
  edits: number
  failed: number
  last_seq: number
}

export interface ChangedPrompt extends DiffSize {
  /** 0 for what came before the first. */
  seq: number
  prompt: string
  edits: number
  files: number
}

/** All files of a session, a page of them, and what each prompt led to. */
export interface ChangeSummary extends DiffSize {
  session_uid: string
  /** Where the session was; empty where it is not known. */
  root: string
  file_count: number
  edit_count: number
  failed_count: number
  files: ChangedFile[]
  prompts: ChangedPrompt[]
  /** Edits whose shape we do not know: their raw record is all there is to show. */
  unreadable: number[]
  unread: Unread | null
}

/** A piece of a diff; lines begin with their sign. Line numbers are 0 where the file around it is not known. */
export interface Hunk {
  before_line: number
  after_line: number
  lines: string[]
}

export interface FileStep extends DiffSize {
  seq: number
  ts: string | null
  prompt_seq: number
  has_failed: boolean
}

export interface FileChange extends DiffSize {
  session_uid: string
  path: string
  /** Absolute, to open it in an editor; null where it is not known where the session was. */
  full_path: string | null
  steps: FileStep[]
  hunks: Hunk[]
  /** A text was too long to be compared in full. */
  is_cut: boolean
}

/** Which edits of a file: all, those of one prompt, one alone, or all up to one. */
export interface ChangeScope {
  prompt?: number | undefined
  only?: number | undefined
  upTo?: number | undefined
}

interface File {
  path: string
  steps: (EditStep & { prompt: number })[]
}

const isAbsolute = (path: string): boolean => /^(?:\/|[A-Za-z]:\/)/.test(path)

/** The edits of one session, read once and asked several times. */
export class Changes {
  readonly #uid: string
  readonly #root: string
  readonly #files: Map<string, File>
  readonly #prompts: { seq: number; summary: string }[]
  readonly #rest: Pick<ChangeSummary, 'unreadable' | 'unread'>
  #sizes: Map<string, DiffSize> | undefined

  constructor(handle: Reader, uid: string) {
    const session = getSession(handle, uid)
    const place = placeIn(session?.cwd ?? null, session?.repo ?? null)
    const spelled = new Map<string, string>()
    const edits = editsOf(handle, uid, (path) => {
      const name = pathIn(place, path)
      const key = keyOf(place, name)
      if (!spelled.has(key)) spelled.set(key, name)
      return spelled.get(key) as string
    })
    const { placeOf } = handle.events.order(uid)
    this.#uid = uid
    this.#root = place.root
    this.#prompts = handle.events.prompts(uid).sort((a, b) => placeOf(a.seq) - placeOf(b.seq))
    const promptOf = (seq: number): number =>
      this.#prompts.findLast((prompt) => placeOf(prompt.seq) < placeOf(seq))?.seq ?? 0
    this.#files = new Map(
      edits.files.map(({ path, steps }) => [
        path,
        { path, steps: steps.map((step) => ({ ...step, prompt: promptOf(step.seq) })) },
      ]),
    )
    this.#rest = { unreadable: edits.unreadable, unread: edits.unread }
  }

  summary({
    offset,
    limit,
    prompt,
  }: {
    offset: number
    limit: number
    prompt?: number | undefined
  }): ChangeSummary {
    const files = [...this.#files.values()]
      .map((file) => this.#fileOf(file, prompt))
      .filter((file) => file.edits + file.failed > 0)
      // What lies elsewhere, notes of the agent mostly, after the files of the session's own place.
      .sort((a, b) => Number(isAbsolute(a.path)) - Number(isAbsolute(b.path)) || (a.path < b.path ? -1 : 1))
    const made = this.#made().filter((step) => prompt === undefined || step.prompt === prompt)
    return {
      session_uid: this.#uid,
      root: this.#root,
      file_count: files.length,
      edit_count: new Set(made.map((step) => step.seq)).size,
      failed_count: files.reduce((sum, file) => sum + file.failed, 0),
      ...sum(files),
      files: files.slice(offset, offset + limit),
      prompts: this.#byPrompt(),
      ...this.#rest,
    }
  }

  /** Undefined where no edit of such a file is known. */
  file(path: string, scope: ChangeScope = {}): FileChange | undefined {
    const file = this.#files.get(path)
    if (!file) return undefined
    const patches = patchesOf(chosen(file.steps, scope), scope.only !== undefined)
    return {
      session_uid: this.#uid,
      path,
      full_path: isAbsolute(path) ? path : this.#root === '' ? null : `${this.#root}/${path}`,
      steps: file.steps.map((step) => ({
        seq: step.seq,
        ts: step.ts,
        prompt_seq: step.prompt,
        has_failed: step.has_failed,
        ...(step.has_failed ? { added: 0, removed: 0 } : sizeOf(patchesOf([step], false))),
      })),
      ...sizeOf(patches),
      hunks: patches.flatMap((patch) => patch.hunks),
      is_cut: patches.some((patch) => patch.isCut),
    }
  }

  #made(): { seq: number; prompt: number }[] {
    return [...this.#files.values()].flatMap(({ steps }) => steps.filter((step) => !step.has_failed))
  }

  #fileOf({ path, steps }: File, prompt: number | undefined): ChangedFile {
    const own = steps.filter((step) => prompt === undefined || step.prompt === prompt)
    const failed = own.filter((step) => step.has_failed).length
    return {
      path,
      edits: own.length - failed,
      failed,
      last_seq: own.at(-1)?.seq ?? 0,
      ...(prompt === undefined ? this.#sizeOf(path, own) : sizeOf(patchesOf(own, false))),
    }
  }

  #sizeOf(path: string, steps: readonly EditStep[]): DiffSize {
    this.#sizes ??= new Map()
    const known = this.#sizes.get(path) ?? sizeOf(patchesOf(steps, false))
    this.#sizes.set(path, known)
    return known
  }

  #byPrompt(): ChangedPrompt[] {
    const made = this.#made()
    return [{ seq: 0, summary: '' }, ...this.#prompts].flatMap(({ seq, summary }) => {
      const own = made.filter((step) => step.prompt === seq)
      if (own.length === 0) return []
      const files = [...this.#files.values()].filter((file) =>
        file.steps.some((step) => step.prompt === seq && !step.has_failed),
      )
      const sizes = files.map((file) =>
        sizeOf(
          patchesOf(
            file.steps.filter((step) => step.prompt === seq),
            false,
          ),
        ),
      )
      const edits = new Set(own.map((step) => step.seq)).size
      return [{ seq, prompt: summary, edits, files: files.length, ...sum(sizes) }]
    })
  }
}

function chosen(steps: File['steps'], { prompt, only, upTo }: ChangeScope): File['steps'] {
  if (only !== undefined) return steps.filter((step) => step.seq === only)
  if (prompt !== undefined) return steps.filter((step) => step.prompt === prompt)
  if (upTo === undefined) return steps
  return steps.slice(0, steps.findLastIndex((step) => step.seq === upTo) + 1)
}

const sum = (sizes: readonly DiffSize[]): DiffSize => ({
  added: sizes.reduce((total, size) => total + size.added, 0),
  removed: sizes.reduce((total, size) => total + size.removed, 0),
})

interface Patch {
  hunks: Hunk[]
  isCut: boolean
}

function sizeOf(patches: readonly Patch[]): DiffSize {
  const lines = patches.flatMap((patch) => patch.hunks.flatMap((hunk) => hunk.lines))
  const of = (sign: string): number => lines.filter((line) => line.startsWith(sign)).length
  return { added: of('+'), removed: of('-') }
}

interface Piece {
  before: string
  after: string
  isWhole: boolean
  isCut: boolean
}

/** One that failed is shown only where it is asked for alone. */
const patchesOf = (steps: readonly EditStep[], withFailed: boolean): Patch[] =>
  piecesOf(steps.filter((step) => withFailed || !step.has_failed)).map(patchOf)

/** What edits come to together: each is put onto the ones that it builds upon. */
function piecesOf(steps: readonly EditStep[]): Piece[] {
  const pieces: Piece[] = []
  for (const { before, after, is_whole: isWhole, is_cut: isCut } of steps) {
    const at = pieces.findIndex((piece) => piece.isWhole === isWhole && (isWhole || buildsOn(piece, before)))
    const under = pieces[at]
    if (!under) pieces.push({ before, after, isWhole, isCut })
    else if (isWhole) pieces[at] = { ...under, after, isCut: under.isCut || isCut }
    else pieces[at] = joined(under, { before, after, isWhole, isCut })
  }
  return pieces.filter((piece) => piece.before !== piece.after)
}

const buildsOn = (piece: Piece, before: string): boolean =>
  before !== '' && piece.after !== '' && (piece.after.includes(before) || before.includes(piece.after))

/** The later text may be a part of the earlier one, or hold it. */
const joined = (under: Piece, { before, after, isWhole, isCut }: Piece): Piece => ({
  ...(under.after.includes(before)
    ? { before: under.before, after: under.after.replace(before, () => after) }
    : { before: before.replace(under.after, () => under.before), after }),
  isWhole,
  isCut: under.isCut || isCut,
})

const CONTEXT = 3
/** Texts that differ more are shown as taken away and put in, which is what a diff of them would come to. */
const MAX_DIFFERENCES = 3000

function patchOf({ before, after, isWhole, isCut }: Piece): Patch {
  const options = { context: CONTEXT, maxEditLength: MAX_DIFFERENCES }
  const patch = structuredPatch('', '', before, after, '', '', options)
  const hunks = patch ? patch.hunks : [replaced(before, after)]
  return {
    hunks: hunks.map(({ oldStart, newStart, lines }) => ({
      before_line: isWhole ? oldStart : 0,
      after_line: isWhole ? newStart : 0,
      lines: lines.filter((line) => !line.startsWith('\\')),
    })),
    isCut,
  }
}

const replaced = (
  before: string,
  after: string,
): { oldStart: number; newStart: number; lines: string[] } => ({
  oldStart: 1,
  newStart: 1,
  lines: [...before.split('\n').map((line) => `-${line}`), ...after.split('\n').map((line) => `+${line}`)],
})
