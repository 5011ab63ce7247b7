// Records a decision beside a session, from the command line, MCP or the page. Secrets are taken out first; the row and
// the digest that tells it are one commit.
import { userInfo } from 'node:os'
import { join } from 'node:path'
import type { Config } from './config.ts'
import { tellDecisions } from './digest/decisions.ts'
import type { Digest } from './digest/digest.ts'
import { parseStored, RecollectError } from './errors.ts'
import { tellFiles } from './hub/index.ts'
import type { Decision } from './model.ts'
import { resolveSession } from './query/sessions.ts'
import { createRedactor, loadRedactionKey, type Redactor } from './redact/index.ts'
import { type Database, transaction } from './store/database.ts'
import { decisionsIn, insertDecision } from './store/decisions.ts'
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
  const paths = storePaths(config.home, config.get('store.db_path'))
  // Before a key is made: where nothing is remembered nothing is left behind.
  openMemory(paths).close()
  const redactor = createRedactor({ key: loadRedactionKey(join(config.home, 'redaction.key')) })
  const text = clean(redactor, options.text, MAX_TEXT, 'text')
  const tags = [...new Set((options.tags ?? []).map((tag) => clean(redactor, tag, MAX_NAME, '--tag')))]
  if (tags.length > MAX_TAGS)
    throw new RecollectError('BAD_INPUT', `more than ${MAX_TAGS} tags`, { where: '--tag', hint: 'use fewer' })
  const author = clean(redactor, options.author ?? userName(), MAX_NAME, '--author')
  const { memory, close } = openMemory(paths, 'write')
  try {
    const sessionUid = resolveSession({ memory }, options.session)
    return transaction(memory, () => {
      const decision = insertDecision(memory, { sessionUid, at: Date.now(), text, tags, author })
      retell(memory, sessionUid)
      return decision
    })
  } finally {
    close()
    tellFiles(config)
  }
}

/** A container may run under a user without a name. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return 'unknown'
  }
}

function clean(
  redactor: Redactor,
  text: string,
  limit: number,
  where: 'text' | '--tag' | '--author',
): string {
  const refuse = (reason: string, hint: string): never => {
    throw new RecollectError('BAD_INPUT', `${where === 'text' ? 'the text' : where} ${reason}`, {
      where,
      hint,
    })
  }
  const trimmed = text.trim()
  if (trimmed === '')
    refuse('is empty', where === 'text' ? 'say what was decided, in a sentence or two' : 'leave it out')
  if (trimmed.length > limit) refuse(`is longer than ${limit} characters`, 'shorten it')
  if (/\0/.test(trimmed) || !trimmed.isWellFormed()) refuse('is not text', 'write it in UTF-8, without NUL')
  return redactor.text(trimmed, {})
}

/** Also of a session whose raw is gone, and whose digest nothing else will ever change again. */
function retell(memory: Database, uid: string): void {
  const row = memory.prepare('SELECT digest FROM digests WHERE session_uid = ?').get(uid) as
    | { digest: string }
    | undefined
  if (!row) return
  const digest = tellDecisions(parseStored<Digest>(row.digest), decisionsIn(memory, [uid]))
  memory
    .prepare('UPDATE digests SET digest = ?, made_at = ? WHERE session_uid = ?')
    .run(JSON.stringify(digest), Date.now(), uid)
}
