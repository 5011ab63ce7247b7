// One file of a session, edit by edit, with a slider through them, or all of them up to one.
import type { JSX } from 'preact'
import type { FileChange, FileStep } from '../../../digest/changes.ts'
import { useAnswer } from '../api.ts'
import { time } from '../format.ts'
import { Answered } from '../parts.tsx'
import { param, setParams, to, withParams } from '../router.ts'
import { DiffSize } from '../text/diff.tsx'
import { redacted } from '../text/plain.tsx'
import { ChangeLines } from './change-lines.tsx'
import { OpenInEditor } from './editor-link.tsx'

interface Props {
  uid: string
  path: string
  editor: string
}

const pathOf = ({ uid, path }: Pick<Props, 'uid' | 'path'>): string =>
  `sessions/${encodeURIComponent(uid)}/changes?file=${encodeURIComponent(path)}`

export function FileSteps(props: Props): JSX.Element {
  const answer = useAnswer<FileChange>(pathOf(props))
  return (
    <Answered answer={answer}>
      {({ steps }) => {
        const last = steps.length - 1
        const at = Math.max(0, Math.min(last, Number(param('step') ?? last) || 0))
        return <OneStep {...props} at={at} steps={steps} />
      }}
    </Answered>
  )
}

function OneStep(props: Props & { at: number; steps: readonly FileStep[] }): JSX.Element {
  const { at, steps, path } = props
  const step = steps[at] as FileStep
  const isTogether = param('together') === '1'
  const answer = useAnswer<FileChange>(`${pathOf(props)}&${isTogether ? 'up_to' : 'only'}=${step.seq}`)
  return (
    <section class="file-steps card">
      <header>
        <h2 class="path">
          {redacted(path)}{' '}
          {answer.match({
            loading: () => null,
            failed: () => null,
            answered: (change) => <DiffSize {...change} />,
          })}
        </h2>
        <a href={to('/sessions', { touched: path })}>sessions that touched it</a>
      </header>
      <Slider at={at} last={steps.length - 1} step={step} isTogether={isTogether} />
      {step.has_failed && (
        <p role="note" class="is-error">
          ✕ This edit failed: the file was not changed by it.
        </p>
      )}
      <Answered answer={answer}>
        {(change) => (
          <>
            <p class="file-acts">
              <OpenInEditor
                editor={props.editor}
                path={change.full_path}
                line={change.hunks[0]?.after_line ?? 0}
              />
            </p>
            <ChangeLines change={change} />
          </>
        )}
      </Answered>
    </section>
  )
}

function Slider(props: { at: number; last: number; step: FileStep; isTogether: boolean }): JSX.Element {
  const { at, last, step } = props
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
      <span>
        edit {at + 1} of {last + 1} · {time(step.ts)} ·{' '}
        <a href={withParams({ tab: undefined, seq: String(step.seq) })}>#{step.seq}</a>
      </span>
      <label>
        <input
          type="checkbox"
          checked={props.isTogether}
          onChange={(event) =>
            setParams({ together: event.currentTarget.checked ? '1' : undefined }, { replace: true })
          }
        />{' '}
        all edits up to here
      </label>
    </div>
  )
}
