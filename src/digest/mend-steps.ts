// Of all that was done between a failure and the success that shows it overcome, the one to three steps that matter.
import type { Done, Unmended } from './overcoming.ts'
import type { Step } from './step.ts'
import { baseOf, isCommon, isSameFile } from './trial.ts'

export interface Change {
  order: number
  seq: number
  what: string
  does: 'edit' | 'read' | 'run'
  /** Those an edit or a reading was of, or a command wrote. */
  files: string[]
  /** Of several commands in one call the last failed: what stands before it was done. */
  hasFailed: boolean
}

type MendStep = Pick<Change, 'seq' | 'what'>

const MAX_STEPS = 3
/** Of more edits than these some were let go. */
const MAX_KNOWN = 20

/** The steps that matter; none where it is not known which: what was done to a file or a thing that the failure names; else what the success did otherwise. */
export function mendOf(failed: Unmended, { step, what }: Done, all: readonly Change[]): MendStep[] {
  const success = { seq: step.seq, what }
  const since = all.filter((one) => !one.hasFailed)
  const edits = since.filter((one) => one.does === 'edit')
  if (failed.does === 'edit') {
    const read = since.findLast(
      (one) =>
        one.does === 'read' && one.files.some((file) => failed.files.some((own) => isSameFile(own, file))),
    )
    return failed.kind === 'unread' && read ? [read, success] : [success]
  }
  if (failed.kind === 'call') return [success]
  const isOther = what !== failed.what
  if (failed.kind === 'path') {
    const made = since.findLast(
      (one) => one.does !== 'read' && one.files.some((file) => isSameFile(file, failed.missing)),
    )
    // It came to be there by something else.
    return made ? [made] : isOther || failed.does !== 'shell' ? [success] : []
  }
  const [mark] = failed.marks
  const marked = [...since, { ...success, does: 'run' }].filter(
    (one) => one.does === 'run' && mark !== undefined && one.what.includes(mark) && FIXES.test(one.what),
  )
  if (failed.isCheck && marked.length > 0) return lastOf(marked)
  const named = namedEdits(failed, edits)
  if (named.length > 0 && failed.kind === 'other') return named
  const given = since.filter((one) => one.does === 'run' && gives(one.what, failed.missing))
  if (given.length > 0) return [...lastOf(given).slice(1 - MAX_STEPS), ...(isOther ? [success] : [])]
  if (failed.kind !== 'other') return [success]
  const files = lastOf(edits, MAX_STEPS + 1)
  // Of more files none is known to be the one.
  const isElsewhere = failed.stage === 1 && failed.own > 0
  if (failed.isCheck && files.length > 0) return files.length > MAX_STEPS || isElsewhere ? [] : files
  const touched = all.filter(
    (one) =>
      one.does === 'run' && one.what !== failed.what && failed.names.some((name) => one.what.includes(name)),
  )
  if (!isOther && touched.length > 0) return lastOf(touched)
  const helped = failed.isCheck ? since.filter((one) => one.does === 'run' && FIXES.test(one.what)) : []
  if (helped.length > 0) return lastOf(helped)
  // The same command again: what was run in between, if it is little.
  const runs = isOther ? [] : since.filter((one) => one.does === 'run')
  if (runs.length > 0 && runs.length <= MAX_STEPS) return lastOf(runs)
  // That a report is a good one now mends nothing.
  return failed.does === 'spawn' && !fixes(step) ? [] : [success]
}

/** The last of each file, in order. */
export function lastOf<T extends MendStep>(changes: readonly T[], most = MAX_STEPS): T[] {
  const byWhat = new Map<string, T>()
  for (const one of changes) {
    byWhat.delete(one.what)
    byWhat.set(one.what, one)
  }
  return [...byWhat.values()].slice(-most)
}

const isOneOf = (names: readonly string[], file: string): boolean =>
  names.some((name) => isSameFile(name, file) || (baseOf(name) === baseOf(file) && !isCommon(baseOf(file))))

export const isNamed = (failed: Unmended, file: string): boolean => isOneOf(failed.names, file)

/** Edits of what the telling line names, or the command that failed; else of other files in its output, if there are few. */
export function namedEdits(failed: Unmended, edits: readonly Change[]): Change[] {
  const given = failed.trial.tries.flatMap(({ words }) => words.filter((word) => /\.\w{1,8}$/.test(word)))
  for (const names of [failed.names.slice(0, failed.own), given]) {
    const found = edits.filter((one) => one.files.some((file) => isOneOf(names, file)))
    if (found.length > 0) return lastOf(found)
  }
  // What was done first is no longer known; and a compiler complains of the file in which to mend it.
  if (edits.length >= MAX_KNOWN || (failed.stage === 1 && failed.own > 0)) return []
  const others = lastOf(
    edits.filter((one) => one.files.some((file) => isNamed(failed, file))),
    MAX_STEPS + 1,
  )
  return failed.own === 0 || others.length <= MAX_STEPS ? others.slice(-MAX_STEPS) : []
}

export const stemOf = (path: string): string => baseOf(path).replace(/\.\w+$/, '')

const GIVES =
  /\b(?:install|add|i|sync|restore|get|link|export|enable|which|setx?|mkdir|cp|mv|ln|touch|Add-Type|Import-Module|Install-Module|npm ci)\b/

/** A command that makes a missing thing be there. */
const gives = (what: string, missing: string): boolean =>
  missing !== '' && GIVES.test(what) && what.toLowerCase().includes(baseOf(missing).toLowerCase())

/** It changes many files at once. */
const FIXES =
  /--fix\b|--write\b|\bformat\b|\bfmt\b|\bprettier\b|\bgen(?:erate)?\b|\bgen-|\binstall\b|\bupdate\b/

/** Of a command, or of a sub-agent by what it is told in short. */
export const fixes = ({ does, asked }: Step): boolean =>
  FIXES.test(does === 'spawn' ? (asked.split('\n', 1)[0] as string) : asked)
