// What a call changes in files, as the lines of a diff.
import { structuredPatch } from 'diff'
import type { Told } from '../event/body.ts'
import { changesOf } from '../event/edits.ts'

export interface FileDiff {
  path: string
  added: number
  removed: number
  /** `+`, `-` or a space in front; `@` between pieces. */
  lines: string[]
}

/** File by file; none where no edits are told. */
export function diffsOf(told: Told | undefined): FileDiff[] {
  const diffs = new Map<string, FileDiff>()
  for (const { path, before, after } of changesOf(told?.edits ?? [])) {
    const diff = diffs.get(path) ?? { path, added: 0, removed: 0, lines: [] }
    diffs.set(path, diff)
    const { hunks } = structuredPatch('', '', before, after, '', '', { context: 2 })
    for (const hunk of hunks)
      diff.lines.push(
        ...(diff.lines.length === 0 ? [] : ['@']),
        ...hunk.lines.filter((line) => !line.startsWith('\\')),
      )
    diff.added = diff.lines.filter((line) => line.startsWith('+')).length
    diff.removed = diff.lines.filter((line) => line.startsWith('-')).length
  }
  return [...diffs.values()]
}

/** `+3 −1` */
export const changeText = ({ added, removed }: Pick<FileDiff, 'added' | 'removed'>): string =>
  `+${added} −${removed}`
