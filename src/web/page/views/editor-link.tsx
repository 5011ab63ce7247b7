// Opens a file of a session in the editor of this machine, by the address that the settings name.
import type { JSX } from 'preact'

const SCHEME = /^[a-z][a-z0-9+.-]*:\/\//i
/** What would run in this page instead of opening something. */
const OURS = /^(?:javascript|data|blob|https?):/i

/** `{path}` and `{line}` of the setting filled in; undefined where it cannot be. */
export function editorAddress(editor: string, path: string | null, line: number): string | undefined {
  if (path === null || !SCHEME.test(editor) || OURS.test(editor)) return undefined
  const encoded = path
    .split('/')
    .map(encodeURIComponent)
    .join('/')
    .replace(/^([A-Za-z])%3A/, '/$1:')
  return editor.replace('{path}', () => encoded).replace('{line}', String(Math.max(1, line)))
}

export function OpenInEditor(props: {
  editor: string
  path: string | null
  line: number
}): JSX.Element | null {
  const address = editorAddress(props.editor, props.path, props.line)
  if (address === undefined) return null
  return (
    <a href={address} target="_self" rel="noreferrer">
      open in the editor{props.line > 0 && ` at line ${props.line}`}
    </a>
  )
}
