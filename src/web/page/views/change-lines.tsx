// What became of a file, as lines, with what is not known about it.
import type { JSX } from 'preact'
import type { FileChange } from '../../../digest/changes.ts'
import { Hunks } from '../text/diff.tsx'

export function ChangeLines({ change }: { change: FileChange }): JSX.Element {
  const isPart = change.hunks.some((hunk) => hunk.after_line === 0)
  return (
    <>
      {change.is_cut && <p class="muted">Cut: the file is larger than what is compared.</p>}
      {isPart && <p class="muted part-known">without line numbers: the edits name only these parts</p>}
      {change.hunks.length === 0 ? (
        <p class="muted">Nothing of it is left: the edits take each other back, or all of them failed.</p>
      ) : (
        <Hunks hunks={change.hunks} label={`change of ${change.path}`} />
      )}
    </>
  )
}
