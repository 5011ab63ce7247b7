// `recollect note`, `tag`, `title` and `star`: each writes, lists and removes what a person says of a session.
import { Config } from '../config.ts'
import { RecollectError } from '../errors.ts'
import { type LabelWish, label } from '../label.ts'
import type { Session } from '../model.ts'
import { getSession, resolveSession, sessionNames } from '../query/sessions.ts'
import { shortIds } from '../query/short-ids.ts'
import { type FormFlags, printCsv, refuseCsv } from './csv.ts'
import { formatTime, plural } from './format.ts'
import { print, printFolded, printJson } from './print.ts'
import { tableLines } from './table.ts'
import { oneLine } from './text.ts'
import { parseCount, parseName, refuseUnused } from './values.ts'
import { withMemory } from './with-memory.ts'

type Asked = FormFlags

export async function runNote(
  id: string | undefined,
  words: readonly string[],
  options: Asked & { author?: string; remove?: string },
): Promise<void> {
  const { remove } = options
  const author = options.author === undefined ? undefined : parseName(options.author, '--author')
  if (remove !== undefined && words.length > 0)
    throw oneOf('--remove', 'a note is written or removed: leave out the text, or --remove')
  if (words.length === 0) refuseUnused(options, ['author'])
  if (id === undefined && remove !== undefined)
    throw oneOf('--remove', 'name the session: recollect note ID --remove NUMBER')
  if (id === undefined) return listNotes(options)
  const wish: LabelWish | undefined =
    remove !== undefined
      ? { removeNote: parseCount(remove, '--remove') }
      : words.length > 0
        ? { addNote: words.join(' '), ...(author === undefined ? {} : { author }) }
        : undefined
  await labelled(id, wish, options)
}

export async function runTag(
  id: string | undefined,
  tags: readonly string[],
  options: Asked & { remove?: boolean },
): Promise<void> {
  if (options.remove && tags.length === 0) throw oneOf('--remove', 'name the tags that are to go')
  if (id === undefined) return listTags(options)
  const wish = options.remove ? { removeTags: tags } : tags.length > 0 ? { addTags: tags } : undefined
  await labelled(id, wish, options)
}

export async function runTitle(
  id: string,
  words: readonly string[],
  options: Asked & { remove?: boolean },
): Promise<void> {
  if (options.remove && words.length > 0)
    throw oneOf('--remove', 'a title is given or taken back: leave out the words, or --remove')
  const wish = options.remove ? { title: null } : words.length > 0 ? { title: words.join(' ') } : undefined
  await labelled(id, wish, options)
}

export async function runStar(id: string | undefined, options: Asked & { remove?: boolean }): Promise<void> {
  if (id === undefined && options.remove)
    throw oneOf('--remove', 'name the session: recollect star ID --remove')
  if (id === undefined) return (await import('./sessions.ts')).showSessions({ ...options, starred: true })
  await labelled(id, { star: !options.remove }, options)
}

const oneOf = (where: string, hint: string): RecollectError =>
  new RecollectError('USAGE', `${where} does not go with this`, { where, hint })

/** Changes it where something is to be changed; then says what there is. */
async function labelled(typed: string, wish: LabelWish | undefined, options: Asked): Promise<void> {
  refuseCsv(options)
  const session =
    wish === undefined
      ? await withMemory((handle) => getSession(handle, resolveSession(handle, typed)) as Session)
      : label(new Config(), typed, wish)
  if (options.json) printJson(labelsOf(session))
  else printFolded(labelLines(session).join('\n'))
}

const labelsOf = ({ session_uid, title, title_source, starred_at, tags, notes }: Session): object => ({
  session_uid,
  title,
  title_source,
  starred_at,
  tags,
  notes,
})

function labelLines({ session_uid, title, title_source, starred_at, tags, notes }: Session): string[] {
  const lines = [session_uid]
  if (title !== null) lines.push(`title   ${oneLine(title)}${title_source === 'person' ? '' : ' (made)'}`)
  if (starred_at !== null) lines.push(`starred ${formatTime(starred_at)}`)
  if (tags.length > 0) lines.push(`tags    ${tags.map(oneLine).join(', ')}`)
  for (const { number, text, author, ts } of notes)
    lines.push(`note ${number}  ${oneLine(text)} (${oneLine(author)}, ${formatTime(ts)})`)
  return lines
}

async function listTags({ json, csv }: Asked): Promise<void> {
  const tags = await withMemory((handle) => handle.sessions.tags())
  if (json) printJson({ tags })
  else if (csv) printCsv(tags)
  else if (tags.length === 0) print('no tags yet; recollect tag ID NAME files a session under one')
  else print(tags.map(({ tag, sessions }) => `${oneLine(tag)}  ${plural(sessions, 'session')}`).join('\n'))
}

async function listNotes({ json, csv }: Asked): Promise<void> {
  await withMemory((handle) => {
    const notes = handle.sessions.notes()
    if (json) return printJson({ notes })
    if (csv) return printCsv(notes)
    if (notes.length === 0) return print('no notes yet; recollect note ID TEXT writes one')
    const uids = [...new Set(notes.map((one) => one.session_uid))]
    const [ids, names] = [shortIds(handle, uids), sessionNames(handle, uids)]
    const lines = tableLines(notes, [
      { title: 'WRITTEN', cell: (one) => formatTime(one.ts) },
      { title: 'ID', cell: (one) => ids.get(one.session_uid) ?? one.session_uid },
      { title: 'NOTE', right: true, cell: (one) => String(one.number) },
      { title: 'TEXT', cell: (one) => oneLine(one.text), least: 24 },
      { title: 'SESSION', cell: (one) => oneLine(names.get(one.session_uid) ?? ''), least: 10, optional: 1 },
    ])
    print(lines.join('\n'))
  })
}
