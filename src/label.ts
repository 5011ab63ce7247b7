// What a person writes beside a session, from the command line, MCP or the page: a title, a star, tags, notes. Secrets are
// taken out first; one call is one commit.
import type { Config } from './config.ts'
import { startWriting, userName, type Writing } from './decide.ts'
import { RecollectError } from './errors.ts'
import { type Session, spelledTag } from './model.ts'
import { getSession, resolveSession } from './query/sessions.ts'
import type { LabelChange } from './store/labels.ts'

/** What is to be otherwise; what is not named stays as it is. */
export interface LabelWish {
  /** Null takes ours back: it is called as before. */
  title?: string | null
  star?: boolean
  addTags?: readonly string[]
  removeTags?: readonly string[]
  addNote?: string
  /** By its number. */
  removeNote?: number
  /** Who writes the note (the user of the system). */
  author?: string
}

const MAX_TITLE = 200
const MAX_TAG = 50
const MAX_NOTE = 8_000
const MAX_TAGS = 50

/**
 * Changes all of it or nothing, and gives the session as it is then. Throws BAD_INPUT for what cannot be kept, NOT_FOUND for
 * no such session, or where a tag or note to be removed is not there.
 */
export function label(config: Config, typed: string, wish: LabelWish): Session {
  const writing = startWriting(config)
  const change = changeOf(writing, wish)
  return writing.write((notes) => {
    const uid = resolveSession(notes.reader, typed)
    const known = new Set(getSession(notes.reader, uid)?.tags)
    if (new Set([...known, ...(change.addTags ?? [])]).size > MAX_TAGS)
      throw new RecollectError('BAD_INPUT', `more than ${MAX_TAGS} tags`, { where: uid, hint: 'use fewer' })
    if (!notes.label(uid, change)) throw notThere(uid, wish)
    return getSession(notes.reader, uid) as Session
  })
}

function changeOf(writing: Writing, wish: LabelWish): LabelChange {
  const { title, star, addTags, removeTags, addNote, removeNote, author } = wish
  const oneLine = (text: string): string => text.replace(/\s+/gu, ' ')
  return {
    ...(title === undefined
      ? {}
      : { title: title === null ? null : oneLine(writing.clean(title, MAX_TITLE, 'title')) }),
    ...(star === undefined ? {} : { isStarred: star }),
    ...(addTags ? { addTags: addTags.map((tag) => cleanTag(writing, tag)) } : {}),
    ...(removeTags ? { removeTags: removeTags.map(spelledTag) } : {}),
    ...(addNote === undefined
      ? {}
      : {
          addNote: {
            text: writing.clean(addNote, MAX_NOTE, 'text', 'say what is worth knowing'),
            author: writing.clean(author ?? userName(), 100, '--author'),
          },
        }),
    ...(removeNote === undefined ? {} : { removeNote }),
  }
}

function cleanTag(writing: Writing, typed: string): string {
  const tag = spelledTag(writing.clean(typed, MAX_TAG, 'tag'))
  if (tag !== '' && !/[\s,\p{Cc}\p{Cf}]/u.test(tag) && !tag.startsWith('-')) return tag
  throw new RecollectError('BAD_INPUT', `${JSON.stringify(typed)} is no tag`, {
    where: 'tag',
    hint: 'one word, without spaces and commas: needs-review',
  })
}

function notThere(uid: string, { removeNote, removeTags = [] }: LabelWish): RecollectError {
  const what =
    removeNote === undefined
      ? `it does not have ${removeTags.length === 1 ? 'the tag' : 'all of the tags'} ${removeTags.join(', ')}`
      : `it has no note ${removeNote}`
  return new RecollectError('NOT_FOUND', `${what}; nothing was changed`, {
    where: uid,
    hint: `recollect ${removeNote === undefined ? 'tag' : 'note'} ${uid} lists what it has`,
  })
}
