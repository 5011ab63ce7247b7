// The full-text index over digests, in Tier 2: what is left to search of a session whose events are gone, and by which
// files and tools sessions are found. Changed only in the transaction that changes the digest.
import { parseStored } from '../errors.ts'
import { type Database, transaction } from './database.ts'
import { makeDigestWords } from './memory-schema.ts'
import { indexText } from './words.ts'

/** The parts of a digest that are searched; a digest made by older rules may lack any of them. */
interface Searched {
  title?: string
  first_prompt?: string
  last_assistant?: string
  task_ref?: string
  git_branch?: string
  error_snippets?: { sample: string }[]
  commands?: { command: string }[]
  commits?: { subject: string }[]
  files?: { path: string }[]
  tool_histogram?: Record<string, number>
}

export class DigestWords {
  readonly #sql

  constructor(memory: Database) {
    this.#sql = {
      find: memory.prepare('SELECT id FROM digest_texts WHERE session_uid = ?'),
      take: memory.prepare(
        'INSERT INTO digest_texts (session_uid, id) SELECT ?, coalesce(max(id), 0) + 1 FROM digest_texts RETURNING id',
      ),
      drop: memory.prepare('DELETE FROM digest_words WHERE rowid = ?'),
      insert: memory.prepare(
        'INSERT INTO digest_words (rowid, prompt, answer, work, files, tools) VALUES (?, ?, ?, ?, ?, ?)',
      ),
    }
  }

  put(uid: string, json: string): void {
    const digest = parseStored<Searched>(json)
    const known = this.#sql.find.get(uid) as { id: number } | undefined
    if (known) this.#sql.drop.run(known.id)
    const { id } = known ?? (this.#sql.take.get(uid) as { id: number })
    const text = (...parts: (string | undefined)[]): string => indexText(parts.filter(Boolean).join('\n'))
    this.#sql.insert.run(
      id,
      text(digest.title, digest.first_prompt, digest.task_ref, digest.git_branch),
      text(digest.last_assistant),
      text(
        ...(digest.error_snippets ?? []).map((one) => one.sample),
        ...(digest.commands ?? []).map((one) => one.command),
        ...(digest.commits ?? []).map((one) => one.subject),
      ),
      text(...(digest.files ?? []).map((one) => one.path)),
      Object.keys(digest.tool_histogram ?? {})
        .map(toolWord)
        .join(' '),
    )
  }

  /** The table entry itself goes with the others of the session. */
  remove(uid: string): void {
    const known = this.#sql.find.get(uid) as { id: number } | undefined
    if (known) this.#sql.drop.run(known.id)
  }
}

/** A tool's name as one word of the index, in whatever case and punctuation. */
export const toolWord = (tool: string): string => `tool${tool.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')}`

/** Digests from before there was this index. */
export function indexOldDigests(memory: Database): void {
  const { digests, texts } = memory
    .prepare('SELECT (SELECT count(*) FROM digests) AS digests, (SELECT count(*) FROM digest_texts) AS texts')
    .get() as { digests: number; texts: number }
  if (digests === texts) return
  transaction(memory, () => indexDigests(memory, 'session_uid NOT IN (SELECT session_uid FROM digest_texts)'))
}

/** All of them, into a new index. */
export function remakeDigestWords(memory: Database): void {
  transaction(memory, () => {
    makeDigestWords(memory)
    indexDigests(memory, 'true')
  })
}

const AT_ONCE = 500

function indexDigests(memory: Database, which: string): void {
  const words = new DigestWords(memory)
  const page = memory.prepare(
    `SELECT session_uid, digest FROM digests WHERE session_uid > ? AND ${which} ORDER BY session_uid LIMIT ${AT_ONCE}`,
  )
  for (let last = '', count = AT_ONCE; count === AT_ONCE; ) {
    const rows = page.all(last) as unknown as { session_uid: string; digest: string }[]
    for (const row of rows) words.put(row.session_uid, row.digest)
    count = rows.length
    last = rows.at(-1)?.session_uid ?? last
  }
}
