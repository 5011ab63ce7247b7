// Records a decision beside a session, from the command line, MCP or the page, and takes one back. Secrets are taken out
// first; the row and the digest that tells it are one commit.
import { userInfo } from 'node:os'
import { join } from 'node:path'
import type { Config } from './config.ts'
import { tellDecisions } from './digest/decisions.ts'
import type { Digest } from './digest/digest.ts'
import { parseStored, RecollectError } from './errors.ts'
import { tellFiles } from './hub/index.ts'
import type { Decision } from './model.ts'
import { resolveEvent, resolveSession } from './query/ids.ts'
import { createRedactor, loadRedactionKey, type Redactor } from './redact/index.ts'
import { type Notes, openNotes, type Retell } from './store/notes.ts'
import { openMemory, storePaths } from './store/reading.ts'

export interface DecideOptions {
  config: Config
  /** Session uid, id, unique prefix or `@last`. */
  session: string
  text: string
  tags?: readonly string[]
  /** Who decided (the user of the system). */
  author?: string
}

const MAX_TEXT = 8_000
const MAX_NAME = 100
const MAX_TAGS = 20

/** Throws BAD_INPUT for a text or tag that cannot be kept, NOT_FOUND for no such session. */
export function decide(options: DecideOptions): Decision {
  const { config } = options
  const writing = startWriting(config)
  const text = writing.clean(options.text, MAX_TEXT, 'text', 'say what was decided, in a sentence or two')
  const tags = [...new Set((options.tags ?? []).map((tag) => writing.clean(tag, MAX_NAME, '--tag')))]
  if (tags.length > MAX_TAGS)
    throw new RecollectError('BAD_INPUT', `more than ${MAX_TAGS} tags`, { where: '--tag', hint: 'use fewer' })
  const author = writing.clean(options.author ?? userName(), MAX_NAME, '--author')
  const decided = writing.write((notes) => {
    const sessionUid = resolveSession(notes.reader, options.session)
    return notes.decide({ sessionUid, at: Date.now(), text, tags, author }, retell)
  })
  tellFiles(config)
  return decided
}

export interface UndecideOptions {
  config: Config
  /** The session, with the number of the decision: `ID#SEQ`. */
  decision: string
}

/** Takes a decision back, and gives it. Throws NOT_FOUND where there is none. */
export function undecide({ config, decision: typed }: UndecideOptions): Decision {
  const removed = startWriting(config).write((notes) => {
    const { uid, seq } = resolveEvent(notes.reader, typed)
    const found = notes.reader.sessions.decisions([uid]).find((one) => one.seq === seq)
    if (found && notes.undecide(uid, found.seq, retell)) return found
    throw new RecollectError('NOT_FOUND', 'there is no such decision', {
      where: typed,
      hint: `recollect decide ${uid} lists them with their numbers`,
    })
  })
  tellFiles(config)
  return removed
}

const retell: Retell = (digest, decisions) =>
  JSON.stringify(tellDecisions(parseStored<Digest>(digest), decisions))

export interface Writing {
  /** The text as it may be kept. Throws BAD_INPUT where it cannot be. */
  clean(text: string, limit: number, where: string, ifEmpty?: string): string
  /** Opens the memory for it, and closes it. */
  write<T>(work: (notes: Notes) => T): T
}

/** Readies for writing beside a session. Throws NO_MEMORY where nothing is remembered, and leaves nothing behind there. */
export function startWriting(config: Config): Writing {
  const paths = storePaths(config.home, config.get('store.db_path'))
  // Before a key is made.
  openMemory(paths).close()
  const redactor = createRedactor({ key: loadRedactionKey(join(config.home, 'redaction.key')) })
  return {
    clean: (text, limit, where, ifEmpty = 'leave it out') => clean(redactor, text, limit, where, ifEmpty),
    write: (work) => {
      const notes = openNotes(paths)
      try {
        return work(notes)
      } finally {
        notes.close()
      }
    },
  }
}

/** A container may run under a user without a name. */
export function userName(): string {
  try {
    return userInfo().username
  } catch {
    return 'unknown'
  }
}

function clean(redactor: Redactor, text: string, limit: number, where: string, ifEmpty: string): string {
  const refuse = (reason: string, hint: string): never => {
    throw new RecollectError('BAD_INPUT', `${where === 'text' ? 'the text' : where} ${reason}`, {
      where,
      hint,
    })
  }
  const trimmed = text.trim()
  if (trimmed === '') refuse('is empty', ifEmpty)
  if (trimmed.length > limit) refuse(`is longer than ${limit} characters`, 'shorten it')
  if (/\0/.test(trimmed) || !trimmed.isWellFormed()) refuse('is not text', 'write it in UTF-8, without NUL')
  return redactor.text(trimmed, {})
}
