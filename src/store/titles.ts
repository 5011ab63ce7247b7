// Names that people give to sessions, told by a file that is not the session's own. Nothing comes into being by them:
// where a session is not known, its reader asks for the name when it comes. A digest repeats the title, and nothing else
// in it depends on that, so it is put right here, also where the events are gone.
import { parseStored } from '../errors.ts'
import type { Batch } from './batch.ts'
import { type Database, prepared, type Statement } from './database.ts'
import { DigestWords } from './digest-words.ts'

export class Titles {
  readonly #memory: Database
  readonly #rename: Statement
  readonly #digest: Statement

  constructor(memory: Database) {
    this.#memory = memory
    this.#rename = memory.prepare(
      `UPDATE sessions SET title = ?1, title_by_person = ?1 IS NOT NULL
       WHERE session_uid = ?2 AND (title IS NOT ?1 OR title_by_person <> (?1 IS NOT NULL))`,
    )
    this.#digest = memory.prepare('SELECT digest FROM digests WHERE session_uid = ?')
  }

  write(titles: Batch['titles']): void {
    for (const { sessionUid, title } of titles)
      if (this.#rename.run(title, sessionUid).changes !== 0) this.#retell(sessionUid, title)
  }

  #retell(uid: string, title: string | null): void {
    const row = this.#digest.get(uid) as { digest: string } | undefined
    if (!row) return
    const digest = JSON.stringify({ ...parseStored<object>(row.digest), title: title ?? '' })
    prepared(this.#memory, 'UPDATE digests SET digest = ?, made_at = ? WHERE session_uid = ?').run(
      digest,
      Date.now(),
      uid,
    )
    new DigestWords(this.#memory).put(uid, digest)
  }
}
