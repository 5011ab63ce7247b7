// The files a session changed, as code hosts show it: all of them with what they come to, of the whole session or of one
// prompt; and one of them edit by edit.
import type { JSX } from 'preact'
import type { ChangedFile, ChangeSummary, FileChange } from '../../../digest/changes.ts'
import { useAnswer } from '../api.ts'
import { plural } from '../format.ts'
import { Answered, Empty, Pager, UnreadNote } from '../parts.tsx'
import { param, setParams, withParams } from '../router.ts'
import { DiffSize } from '../text/diff.tsx'
import { redacted } from '../text/plain.tsx'
import { ChangeLines } from './change-lines.tsx'
import { OpenInEditor } from './editor-link.tsx'
import { FileSteps } from './file-steps.tsx'

interface Props {
  uid: string
  editor: string
  /** As many edits as the session's digest counts. */
  edits: number
}

const PAGE = 50
/** So many stand open at first. */
const OPEN_AT_FIRST = 5

const scopeOf = (): string => {
  const prompt = param('prompt')
  return prompt === undefined ? '' : `&prompt=${encodeURIComponent(prompt)}`
}

export function FilesTab({ uid, editor, edits }: Props): JSX.Element {
  const from = Math.max(0, Number(param('from') ?? 0) || 0)
  const answer = useAnswer<ChangeSummary>(
    `sessions/${encodeURIComponent(uid)}/changes?limit=${PAGE}&offset=${from}${scopeOf()}`,
  )
  const file = param('file')
  return (
    <Answered answer={answer}>
      {(summary) => (
        <>
          <UnreadNote unread={summary.unread} />
          {summary.unreadable.length > 0 && (
            <p class="unread" role="note">
              {plural(summary.unreadable.length, 'edit')} of a shape we do not know:{' '}
              {summary.unreadable.slice(0, 8).map((seq) => (
                <>
                  <a href={withParams({ tab: undefined, seq: String(seq) })}>#{seq}</a>{' '}
                </>
              ))}
            </p>
          )}
          {summary.file_count === 0 && summary.prompts.length === 0 ? (
            <Empty
              title={
                edits > 0
                  ? `The text of ${plural(edits, 'edit')} is not known`
                  : 'No edit of a file is known here'
              }
            />
          ) : (
            <div class="files">
              <FileList summary={summary} from={from} />
              {file === undefined ? (
                <AllFiles uid={uid} editor={editor} edits={edits} summary={summary} />
              ) : (
                <FileSteps key={file} uid={uid} path={file} editor={editor} />
              )}
            </div>
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

const countOf = ({ edits, failed }: Pick<ChangedFile, 'edits' | 'failed'>): string =>
  failed > 0 ? `${plural(edits, 'edit')}, ${failed} failed` : plural(edits, 'edit')

function FileList({ summary, from }: { summary: ChangeSummary; from: number }): JSX.Element {
  const chosen = param('file')
  return (
    <nav class="file-list" aria-label="files">
      <h2>
        <a
          href={withParams({ file: undefined, step: undefined, together: undefined })}
          aria-current={chosen === undefined ? 'true' : undefined}
        >
          All {plural(summary.file_count, 'file')} <DiffSize {...summary} />
        </a>
      </h2>
      <ul>
        {summary.files.map((one) => {
          const [folder, name] = folderAndName(one.path)
          return (
            <li>
              <a
                href={withParams({ file: one.path, step: undefined })}
                aria-current={one.path === chosen ? 'true' : undefined}
                title={one.path}
              >
                <span class="file-line">
                  <span class="file-name">{name}</span> <DiffSize {...one} />
                </span>
                <span class="file-line muted">
                  <span class="clip">{folder}</span> <span class="number">{countOf(one)}</span>
                </span>
              </a>
            </li>
          )
        })}
      </ul>
      {summary.file_count > PAGE && <Pager from={from} size={PAGE} total={summary.file_count} />}
    </nav>
  )
}

/** The address tells which differ from how they stand at first. */
const toggled = (): string[] => (param('opened') ?? '').split('|').filter((one) => one !== '')

function setFold(path: string, isOther: boolean): void {
  const now = toggled().filter((one) => one !== path)
  const next = isOther ? [...now, path] : now
  setParams({ opened: next.length === 0 ? undefined : next.join('|') }, { replace: true })
}

function AllFiles({ uid, editor, edits, summary }: Props & { summary: ChangeSummary }): JSX.Element {
  const rest = param('prompt') === undefined ? edits - summary.edit_count : 0
  const all = param('unfold')
  const folds = new Set(toggled())
  return (
    <section class="all-files" aria-label="all changes">
      <div class="toolbar">
        <PromptScope summary={summary} />
        <span>
          {plural(summary.file_count, 'file')}, {plural(summary.edit_count, 'edit')}
          {summary.failed_count > 0 && `, ${summary.failed_count} failed`} <DiffSize {...summary} />
        </span>
        <button
          type="button"
          class="quiet"
          onClick={() => setParams({ unfold: all === '1' ? '0' : '1', opened: undefined }, { replace: true })}
        >
          {all === '1' ? 'fold all' : 'unfold all'}
        </button>
        {rest > 0 && (
          <span class="muted">
            and {plural(rest, 'edit')} whose text is not known, as of a command that writes a file
          </span>
        )}
      </div>
      {summary.files.map((file, i) => {
        const isOpenAtFirst = all === undefined ? i < OPEN_AT_FIRST : all === '1'
        return (
          <FileCard
            key={file.path}
            uid={uid}
            editor={editor}
            file={file}
            isOpen={isOpenAtFirst !== folds.has(file.path)}
            toggle={(isOpen) => setFold(file.path, isOpen !== isOpenAtFirst)}
          />
        )
      })}
    </section>
  )
}

function PromptScope({ summary }: { summary: ChangeSummary }): JSX.Element {
  return (
    <select
      aria-label="changes of"
      value={param('prompt') ?? ''}
      onChange={(event) =>
        setParams({ prompt: event.currentTarget.value || undefined, from: undefined, opened: undefined })
      }
    >
      <option value="">the whole session</option>
      {summary.prompts.map((one, i) => (
        <option value={String(one.seq)}>
          {one.seq === 0 ? 'before the first prompt' : `prompt ${i + 1}: ${one.prompt.slice(0, 60)}`} (+
          {one.added} −{one.removed})
        </option>
      ))}
    </select>
  )
}

function FileCard(
  props: Omit<Props, 'edits'> & { file: ChangedFile; isOpen: boolean; toggle: (isOpen: boolean) => void },
): JSX.Element {
  const { file, uid } = props
  return (
    <details
      class="file-card"
      open={props.isOpen}
      onToggle={(event) => {
        if (event.currentTarget.open !== props.isOpen) props.toggle(event.currentTarget.open)
      }}
    >
      <summary>
        <span class="path">{redacted(file.path)}</span> <DiffSize {...file} />{' '}
        <span class="muted">{countOf(file)}</span>
      </summary>
      {props.isOpen && <FileDiff uid={uid} editor={props.editor} path={file.path} />}
    </details>
  )
}

function FileDiff({ uid, editor, path }: Omit<Props, 'edits'> & { path: string }): JSX.Element {
  const answer = useAnswer<FileChange>(
    `sessions/${encodeURIComponent(uid)}/changes?file=${encodeURIComponent(path)}${scopeOf()}`,
  )
  return (
    <Answered answer={answer}>
      {(change) => (
        <>
          <p class="file-acts">
            <a href={withParams({ file: path, step: undefined })}>edit by edit</a>{' '}
            <OpenInEditor editor={editor} path={change.full_path} line={change.hunks[0]?.after_line ?? 0} />
          </p>
          <ChangeLines change={change} />
        </>
      )}
    </Answered>
  )
}
