// What a call changes in files: replace this by that, write this file, apply this patch. How adapters tell it, the usual
// shapes in which tools are given it, and what a patch adds up to.

/** One change as it is told: two texts, or a patch whose lines say it all. */
export type Edit =
  | {
      path: string
      before: string
      after: string
      /** `after` is the whole file. */
      isWhole?: boolean
      /** Every occurrence, not only the first. */
      isAll?: boolean
    }
  | {
      /** Empty where the patch names its files itself. */
      path: string
      patch: string
    }

export interface Change {
  path: string
  before: string
  after: string
  isWhole: boolean
  isAll: boolean
}

/** What edits add up to, in order. */
export const changesOf = (edits: readonly Edit[]): Change[] =>
  edits.flatMap((edit) => {
    if (!('patch' in edit)) return [{ isWhole: false, isAll: false, ...edit }]
    return edit.path === '' ? patchChanges(edit.patch) : hunks(edit.path, withoutHead(edit.patch.split('\n')))
  })

export type Fields = Record<string, unknown>
export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const textIn = (fields: Fields, names: readonly string[]): string | undefined => {
  for (const name of names) if (typeof fields[name] === 'string') return fields[name]
  return undefined
}

const PATHS = ['file_path', 'filePath', 'filepath', 'path', 'target_file', 'filename', 'notebook_path']
const OLD = ['old_string', 'oldString', 'old_str', 'oldText', 'old_text']
const NEW = ['new_string', 'newString', 'new_str', 'newText', 'new_text', 'new_source']
const WHOLE = ['content', 'contents', 'file_text', 'text']
const PATCH = /\*\*\* Begin Patch/
const MAX_DEPTH = 4

/** Every change in what a call was given, in order; empty when it has none of the usual shapes. */
export function editsIn(input: unknown, depth = MAX_DEPTH): Edit[] {
  if (typeof input === 'string') return PATCH.test(input) ? [{ path: '', patch: input }] : []
  if (Array.isArray(input)) return depth === 0 ? [] : input.flatMap((part) => editsIn(part, depth - 1))
  if (!isFields(input) || depth === 0) return []
  const own = ownEdits(input)
  if (own.length > 0) return own
  // Only where calls keep what they are about: an answer may quote anything.
  for (const name of ['input', 'rawInput', 'arguments', 'changes', 'patch', 'command', 'content']) {
    const inner = name === 'changes' ? mappedEdits(input[name]) : editsIn(input[name], depth - 1)
    if (inner.length > 0) return inner
  }
  return []
}

function ownEdits(fields: Fields): Edit[] {
  const path = textIn(fields, PATHS)
  if (path === undefined) return []
  const before = textIn(fields, OLD)
  const after = textIn(fields, NEW)
  if (after !== undefined && (before !== undefined || !('content' in fields))) {
    const isAll = fields['replace_all'] === true || fields['replaceAll'] === true
    // A notebook's cell is only a part of its file.
    return [{ path, before: before ?? '', after, isWhole: !before && !('new_source' in fields), isAll }]
  }
  const edits = fields['edits']
  if (Array.isArray(edits))
    return edits.flatMap((edit) => (isFields(edit) ? ownEdits({ path, ...edit }) : []))
  const whole = textIn(fields, WHOLE)
  return whole === undefined ? [] : [{ path, before: '', after: whole, isWhole: true }]
}

/** `{path: {add|update|delete…}}`, or the same with a `type` beside the text. */
export function mappedEdits(value: unknown): Edit[] {
  if (!isFields(value)) return []
  return Object.entries(value).flatMap(([path, change]): Edit[] => {
    if (!isFields(change)) return []
    const inner = [change, ...Object.values(change).filter(isFields)]
    const isDeletion = change['type'] === 'delete' || 'delete' in change
    for (const fields of inner) {
      const patch = textIn(fields, ['unified_diff', 'diff'])
      if (patch !== undefined) return [{ path, patch }]
      const content = textIn(fields, ['content'])
      if (content === undefined) continue
      const [before, after] = isDeletion ? [content, ''] : ['', content]
      return [{ path, before, after, isWhole: true }]
    }
    return []
  })
}

const FILE_LINE = /^\*\*\* (Add|Update|Delete) File: (.+)$/

function patchChanges(patch: string): Change[] {
  const changes: Change[] = []
  let open: { verb: string; path: string; lines: string[] } | undefined
  const close = (): void => {
    if (!open) return
    const { verb, path, lines } = open
    if (verb === 'Add') {
      const after = lines.map((line) => line.replace(/^\+/, '')).join('\n')
      changes.push({ path, before: '', after, isWhole: true, isAll: false })
    } else if (verb === 'Delete') changes.push({ path, before: '', after: '', isWhole: true, isAll: false })
    else changes.push(...hunks(path, lines))
    open = undefined
  }
  for (const line of patch.split('\n')) {
    const match = FILE_LINE.exec(line)
    if (match) {
      close()
      open = { verb: match[1] as string, path: match[2] as string, lines: [] }
    } else if (line.startsWith('*** End Patch')) close()
    else open?.lines.push(line)
  }
  close()
  return changes
}

/** A diff may begin with the names of the files; further down a line may only look like that. */
function withoutHead(lines: readonly string[]): readonly string[] {
  const first = Math.max(
    0,
    lines.findIndex((line) => line.startsWith('@@')),
  )
  const head = lines.slice(0, first)
  const isHead = head.some(
    (line, at) =>
      /^(?:diff|index) |^Index: /.test(line) || (line.startsWith('--- ') && head[at + 1]?.startsWith('+++ ')),
  )
  return isHead ? lines.slice(first) : lines
}

/** Each part of a diff as the lines it takes away and puts in, context included in both. */
function hunks(path: string, lines: readonly string[]): Change[] {
  const changes: Change[] = []
  let [before, after]: [string[], string[]] = [[], []]
  // A blank line is context that lost its space, unless nothing follows it.
  let blanks: string[] = []
  const close = (): void => {
    if (before.join('\n') !== after.join('\n'))
      changes.push({ path, before: before.join('\n'), after: after.join('\n'), isWhole: false, isAll: false })
    before = []
    after = []
    blanks = []
  }
  for (const line of lines) {
    if (line.startsWith('@@')) close()
    else if (line === '') blanks.push(line)
    else if (!/^\*\*\* |^\\ /.test(line)) {
      const text = line.replace(/^[-+ ]/, '')
      before.push(...blanks, ...(line.startsWith('+') ? [] : [text]))
      after.push(...blanks, ...(line.startsWith('-') ? [] : [text]))
      blanks = []
    }
  }
  close()
  return changes
}

/** The whole file as an answer quotes it from before the edit. */
export function originalIn(answer: unknown, depth = MAX_DEPTH): string | undefined {
  if (!isFields(answer) || depth === 0) return undefined
  const own = textIn(answer, ['originalFile', 'originalFileContents', 'original_file'])
  if (own !== undefined) return own
  for (const inner of Object.values(answer)) {
    const found = originalIn(inner, depth - 1)
    if (found !== undefined) return found
  }
  return undefined
}
