// The stored body of an event, written and read in one place: first what the adapter told, then the native record, one line
// each. Texts that stand in the record are told as pointers into it, so that nothing is stored twice; what redaction takes
// out of the record is then out of them too. Pure, because the page reads bodies as well.
import type { Edit } from './edits.ts'
import { legacyTold } from './legacy.ts'

/** What an adapter knows of an event beyond its row. */
export interface Told {
  /** What is read and searched: the words of a message, the output of a result. */
  said?: string
  /** What a call was given, as fields or as a text. */
  input?: unknown
  /** The whole command line of a call that runs one. */
  command?: string
  /** Where it runs. */
  cwd?: string
  /** What it changes in files. */
  edits?: readonly Edit[]
  /** Of a result: the whole file as it was before the edit. */
  original?: string
  /** Of a result: commits and pull requests that the client itself saw come of it. */
  made?: Made
}

export interface Made {
  commits: readonly string[]
  pullRequests: readonly string[]
}

export interface Body extends Told {
  /** The native record, without secrets. */
  raw: unknown
}

/** From the record to a string in it; `true` reads a string as JSON on the way. */
type Path = readonly (string | number | true)[]
interface Pointer {
  $: Path
  /** A part of it. */
  from?: number
  to?: number
}
/** A text: as it is, a place in the record, or several places, one line each. */
type Text = string | Pointer | readonly Pointer[]
type Input = { $: Path } | { value: unknown }
interface PackedEdit {
  path: string
  before?: Text
  after?: Text
  patch?: Text
  isWhole?: true
  isAll?: true
}
interface Packed {
  said?: Text
  input?: Input
  command?: Text
  cwd?: string
  edits?: PackedEdit[]
  original?: Text
  made?: Made
}

export interface Cleaner {
  text(text: string): string
  value(value: unknown): unknown
}

/** Shorter texts take no more room than a pointer. */
const WORTH_A_POINTER = 40
const MAX_DEPTH = 8
const MAX_LEAVES = 400
const MAX_INNER_JSON = 1 << 20

/**
 * The line that is told of a record, and what a reader will get of it. `raw` is the record as the adapter read it, `clean` the same
 * without secrets: the same object where there were none.
 */
export function packTold(
  told: Told,
  raw: unknown,
  clean: unknown,
  cleaner: Cleaner,
): { line: string; told: Told } {
  const packed = packAll(told, new Places(raw, clean, cleaner), cleaner)
  for (const _ in packed) return { line: JSON.stringify(packed), told: unpack(packed, clean) }
  return { line: '', told: {} }
}

function packAll(told: Told, places: Places, cleaner: Cleaner): Packed {
  const packed: Packed = {}
  if (told.said !== undefined) packed.said = places.text(told.said)
  if (told.input !== undefined) packed.input = places.input(told.input)
  if (told.command !== undefined) packed.command = places.text(told.command)
  if (told.cwd !== undefined) packed.cwd = cleaner.text(told.cwd)
  if (told.edits !== undefined) packed.edits = told.edits.map((edit) => packEdit(edit, places, cleaner))
  if (told.original !== undefined) packed.original = places.text(told.original)
  if (told.made !== undefined) packed.made = cleaner.value(told.made) as Made
  return packed
}

function packEdit(edit: Edit, places: Places, cleaner: Cleaner): PackedEdit {
  const packed: PackedEdit = { path: cleaner.text(edit.path) }
  if ('patch' in edit) return { ...packed, patch: places.text(edit.patch) }
  packed.before = places.text(edit.before)
  packed.after = places.text(edit.after)
  if (edit.isWhole) packed.isWhole = true
  if (edit.isAll) packed.isAll = true
  return packed
}

interface Leaf {
  path: Path
  text: string
}

/** Where texts stand in one record. */
class Places {
  readonly #raw: unknown
  readonly #clean: unknown
  readonly #cleaner: Cleaner
  #leaves: Leaf[] | undefined

  constructor(raw: unknown, clean: unknown, cleaner: Cleaner) {
    this.#raw = raw
    this.#clean = clean
    this.#cleaner = cleaner
  }

  text(text: string): Text {
    if (text.length < WORTH_A_POINTER) return this.#cleaner.text(text)
    this.#leaves ??= leavesOf(this.#raw)
    return this.#whole(text) ?? this.#part(text) ?? this.#parts(text) ?? this.#cleaner.text(text)
  }

  input(input: unknown): Input {
    const path = typeof input === 'string' ? this.#pathOf(input) : pathTo(this.#raw, input, 4)
    return path === undefined ? { value: this.#cleaner.value(input) } : { $: path }
  }

  #pathOf(text: string): Path | undefined {
    this.#leaves ??= leavesOf(this.#raw)
    return this.#leaves.find((leaf) => leaf.text === text && typeof this.#kept(leaf) === 'string')?.path
  }

  /** What became of it without secrets. */
  #kept(leaf: Leaf): unknown {
    return this.#raw === this.#clean ? leaf.text : valueAt(this.#clean, leaf.path)
  }

  #whole(text: string): Pointer | undefined {
    const path = this.#pathOf(text)
    return path && { $: path }
  }

  #part(text: string): Pointer | undefined {
    for (const leaf of this.#leaves ?? []) {
      if (leaf.text.length <= text.length) continue
      const from = leaf.text.indexOf(text)
      if (from !== -1 && this.#kept(leaf) === leaf.text) return { $: leaf.path, from, to: from + text.length }
    }
    return undefined
  }

  /** Texts of several blocks, one after the other. */
  #parts(text: string): Pointer[] | undefined {
    const found: Pointer[] = []
    let at = 0
    for (const leaf of this.#leaves ?? []) {
      if (leaf.text === '' || !text.startsWith(leaf.text, at) || typeof this.#kept(leaf) !== 'string')
        continue
      const end = at + leaf.text.length
      if (end < text.length && text[end] !== '\n') continue
      found.push({ $: leaf.path })
      at = end + 1
      if (at >= text.length) break
    }
    return at === text.length + 1 && found.length > 1 ? found : undefined
  }
}

/** The strings of a record, in order, and those in JSON that stands in a string. */
function leavesOf(raw: unknown): Leaf[] {
  const found: Leaf[] = []
  const walk = (value: unknown, path: Path): void => {
    if (found.length >= MAX_LEAVES || path.length > MAX_DEPTH) return
    if (typeof value === 'string') {
      found.push({ path, text: value })
      const inner = path.includes(true) ? undefined : innerJson(value)
      if (inner !== undefined) walk(inner, [...path, true])
    } else if (Array.isArray(value)) {
      for (const [at, one] of value.entries()) walk(one, [...path, at])
    } else if (typeof value === 'object' && value !== null) {
      for (const [name, one] of Object.entries(value)) walk(one, [...path, name])
    }
  }
  walk(raw, [])
  return found
}

function innerJson(text: string): unknown {
  if (text.length > MAX_INNER_JSON || (text[0] !== '{' && text[0] !== '[')) return undefined
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** The way to this very object. */
function pathTo(value: unknown, target: unknown, depth: number): Path | undefined {
  if (value === target) return []
  if (depth === 0 || typeof value !== 'object' || value === null) return undefined
  for (const [name, one] of Object.entries(value)) {
    const path = pathTo(one, target, depth - 1)
    if (path) return [Array.isArray(value) ? Number(name) : name, ...path]
  }
  return undefined
}

function valueAt(raw: unknown, path: Path): unknown {
  let value = raw
  for (const step of path) {
    if (step === true) value = typeof value === 'string' ? innerJson(value) : undefined
    else if (typeof value === 'object' && value !== null && Object.hasOwn(value, step))
      value = (value as Record<string | number, unknown>)[step]
    else return undefined
  }
  return value
}

function textAt(text: Text, raw: unknown): string {
  if (typeof text === 'string') return text
  if (Array.isArray(text)) return text.map((one) => textAt(one as Pointer, raw)).join('\n')
  const { $: path, from, to } = text as Pointer
  const value = valueAt(raw, path)
  return typeof value === 'string' ? value.slice(from, to) : ''
}

/** A stored body as text: what is told, a line break, the record. */
export const bodyText = (told: string, raw: string): string => `${told}\n${raw}`

/** Both lines of a stored body; the first is empty where nothing was told, and missing in memories of before. */
export function linesOf(stored: string): { told: string | undefined; raw: string } {
  const end = stored.indexOf('\n')
  return end === -1
    ? { told: undefined, raw: stored }
    : { told: stored.slice(0, end), raw: stored.slice(end + 1) }
}

/** The native record alone. */
export const rawOf = (stored: string): unknown => JSON.parse(linesOf(stored).raw) as unknown

/** A stored body, read. */
export function readBody(stored: string): Body {
  const lines = linesOf(stored)
  const raw: unknown = JSON.parse(lines.raw)
  if (lines.told === undefined) return { ...legacyTold(raw), raw }
  return { ...(lines.told === '' ? {} : unpack(JSON.parse(lines.told) as Packed, raw)), raw }
}

function unpack(packed: Packed, raw: unknown): Told {
  const told: Told = {}
  if (packed.said !== undefined) told.said = textAt(packed.said, raw)
  if (packed.input !== undefined) told.input = inputAt(packed.input, raw)
  if (packed.command !== undefined) told.command = textAt(packed.command, raw)
  if (packed.cwd !== undefined) told.cwd = packed.cwd
  if (packed.edits !== undefined) told.edits = packed.edits.map((edit) => editAt(edit, raw))
  if (packed.original !== undefined) told.original = textAt(packed.original, raw)
  if (packed.made !== undefined) told.made = packed.made
  return told
}

/** A text that is JSON is read: so some programs write down what a call was given. */
function inputAt(input: Input, raw: unknown): unknown {
  const value = '$' in input ? valueAt(raw, input.$) : input.value
  return typeof value === 'string' ? (innerJson(value) ?? value) : value
}

function editAt({ path, before = '', after = '', patch, isWhole, isAll }: PackedEdit, raw: unknown): Edit {
  if (patch !== undefined) return { path, patch: textAt(patch, raw) }
  return {
    path,
    before: textAt(before, raw),
    after: textAt(after, raw),
    ...(isWhole && { isWhole }),
    ...(isAll && { isAll }),
  }
}
