// The files a session changed: each step as a diff, with a slider through the steps, or all of them together.
import type { ComponentChildren, JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { EditedFile, EditedFiles, EditStep } from '../../../query/edits.ts'
import { useAnswer } from '../api.ts'
import { plural, time } from '../format.ts'
import { Answered, Empty, UnreadNote } from '../parts.tsx'
import { param, sessionPath, setParams, to } from '../router.ts'
import { Diff, DiffSize, sizeOf } from '../text/diff.tsx'

export function FilesTab({ uid }: { uid: string }): JSX.Element {
  const answer = useAnswer<EditedFiles>(`sessions/${encodeURIComponent(uid)}/edits`)
  return (
    <Answered answer={answer}>
      {(edits) => (
        <>
          <UnreadNote unread={edits.unread} />
          {edits.files.length === 0 ? (
            <Empty title="No edit of a file is known here">
              {edits.unreadable.length > 0 && (
                <p>
                  {plural(edits.unreadable.length, 'edit')} of a shape we do not know: see their raw records.
                </p>
              )}
            </Empty>
          ) : (
            <FilesPanel uid={uid} edits={edits} />
          )}
        </>
      )}
    </Answered>
  )
}

const folderAndName = (path: string): [string, string] => {
  const cut = path.lastIndexOf('/') + 1
  return [path.slice(0, cut), path.slice(cut)]
}

function FilesPanel({ uid, edits }: { uid: string; edits: EditedFiles }): JSX.Element {
  const path = param('file')
  const file = edits.files.find((one) => one.path === path) ?? (edits.files[0] as EditedFile)
  return (
    <div class="files">
      <nav class="file-list" aria-label="files">
        <h2>{plural(edits.files.length, 'file')}</h2>
        <ul>
          {edits.files.map((one) => {
            const [folder, name] = folderAndName(one.path)
            const failed = one.steps.filter((step) => step.has_failed).length
            return (
              <li>
                <a
                  href={sessionPath(uid, { tab: 'files', file: one.path })}
                  aria-current={one === file ? 'true' : undefined}
                  title={one.path}
                >
                  <span class="file-name">{name}</span> <span class="muted clip">{folder}</span>
                  <span class="muted">
                    {plural(one.steps.length, 'edit')}
                    {failed > 0 && `, ${failed} failed`}
                  </span>
                </a>
              </li>
            )
          })}
        </ul>
      </nav>
      <FileSteps key={file.path} uid={uid} file={file} />
    </div>
  )
}

/** The first whole text that is known, against the last up to a step. */
function together(steps: readonly EditStep[], upTo: number): { before: string; after: string } | undefined {
  const whole = steps.slice(0, upTo + 1).filter((step) => step.is_whole && !step.is_cut)
  const [first, last] = [whole[0], whole.at(-1)]
  return first && last ? { before: first.before, after: last.after } : undefined
}

function FileSteps({ uid, file }: { uid: string; file: EditedFile }): JSX.Element {
  const last = file.steps.length - 1
  const at = Math.max(0, Math.min(last, Number(param('step') ?? last)))
  const [isTogether, setTogether] = useState(false)
  const step = file.steps[at] as EditStep
  const sum = isTogether ? together(file.steps, at) : undefined
  const shown = sum
    ? { ...sum, isWhole: true }
    : { before: step.before, after: step.after, isWhole: step.is_whole }
  return (
    <section class="file-steps card">
      <header>
        <h2 class="path">
          {file.path} <DiffSize {...sizeOf(shown.before, shown.after)} />
        </h2>
        <a href={to('/sessions', { touched: file.path })}>sessions that touched it</a>
      </header>
      <Slider at={at} last={last}>
        <span>
          edit {at + 1} of {last + 1} · {time(step.ts)} ·{' '}
          <a href={sessionPath(uid, { seq: String(step.seq) })}>#{step.seq}</a>
        </span>
        <label>
          <input
            type="checkbox"
            checked={isTogether}
            onChange={(event) => setTogether(event.currentTarget.checked)}
          />{' '}
          all edits up to here
        </label>
      </Slider>
      {step.has_failed && (
        <p role="note" class="is-error">
          ✕ This edit failed: the file was not changed by it.
        </p>
      )}
      {isTogether && !sum && <p class="muted">The whole file is not known; this is the single edit.</p>}
      {step.is_cut && <p class="muted">Cut: the file is larger than what is sent.</p>}
      <Diff {...shown} label={`change of ${file.path}`} />
    </section>
  )
}

function Slider(props: { at: number; last: number; children: ComponentChildren }): JSX.Element {
  const { at, last } = props
  const move = (to: number): void => setParams({ step: String(to) }, { replace: true })
  return (
    <div class="step-slider">
      <button
        type="button"
        class="quiet"
        disabled={at === 0}
        onClick={() => move(at - 1)}
        aria-label="previous edit"
      >
        ←
      </button>
      <input
        type="range"
        min={0}
        max={last}
        value={at}
        aria-label="edit"
        aria-valuetext={`edit ${at + 1} of ${last + 1}`}
        onInput={(event) => move(Number(event.currentTarget.value))}
      />
      <button
        type="button"
        class="quiet"
        disabled={at === last}
        onClick={() => move(at + 1)}
        aria-label="next edit"
      >
        →
      </button>
      {props.children}
    </div>
  )
}
