// Names that people give to sessions, told by a file that is not the session's own. Nothing comes into being by them:
// where a session is not known, its reader asks for the name when it comes. A digest repeats the title, and nothing else
// in it depends on that, so it is put right here, also where the events are gone. Where nobody named a session, the digest
// makes a title, which stands beside. The name that it was given here comes before all others.
import { parseStored } from '../errors.ts'
import type { Batch } from './batch.ts'
import { type Database, prepared, type Statement } from './database.ts'
import { DigestWords } from './digest-words.ts'

/** Of `sessions s`: the name it was given, here or with its agent, else the one that was made for it. */
export const TITLE = "coalesce(s.own_title, nullif(s.title, ''), s.made_title)"
export const TITLE_SOURCE = `CASE WHEN s.own_title IS NOT NULL THEN 'person' WHEN coalesce(s.title, '') = '' THEN s.made_source
  WHEN s.title_by_person THEN 'person' ELSE 'agent' END`

const TITLE_OF_OTHERS = "coalesce(nullif(title, ''), made_title)"

export class Titles {
  readonly #memory: Database
  readonly #rename: Statement
  readonly #digest: Statement

  constructor(memory: Database) {
    this.#memory = memory
    this.#rename = memory.prepare(
      // Who has a name needs no other; whose name is taken back gets one with the digest that is made again.
      `UPDATE sessions SET title = ?1, title_by_person = ?1 IS NOT NULL, made_title = iif(?1 IS NULL, made_title, NULL),
       made_source = iif(?1 IS NULL, made_source, NULL),
       ingested_at = iif(?1 IS NULL AND analyzed_at >= ingested_at AND evicted_at IS NULL, analyzed_at + 1, ingested_at)
       WHERE session_uid = ?2 AND (title IS NOT ?1 OR title_by_person <> (?1 IS NOT NULL))`,
    )
    this.#digest = memory.prepare(
      `SELECT d.digest, ${TITLE} AS title, ${TITLE_SOURCE} AS source FROM digests d JOIN sessions s USING (session_uid)
       WHERE session_uid = ?`,
    )
  }

  write(titles: Batch['titles']): void {
    for (const { sessionUid, title } of titles)
      if (this.#rename.run(title, sessionUid).changes !== 0) this.#retell(sessionUid)
  }

  /** Null takes the name of our own back. Where there is no other, the digest that is made again finds one. */
  writeOwn(uid: string, title: string | null): void {
    prepared(
      this.#memory,
      `UPDATE sessions SET own_title = ?1, ingested_at = iif(?1 IS NULL AND ${TITLE_OF_OTHERS} IS NULL
         AND analyzed_at >= ingested_at AND evicted_at IS NULL, analyzed_at + 1, ingested_at) WHERE session_uid = ?2`,
    ).run(title, uid)
    this.#retell(uid)
  }

  #retell(uid: string): void {
    const row = this.#digest.get(uid) as
      | { digest: string; title: string | null; source: string | null }
      | undefined
    if (!row) return
    const named = { title: row.title ?? '', title_source: row.source ?? 'none' }
    const digest = JSON.stringify({ ...parseStored<object>(row.digest), ...named })
    prepared(this.#memory, 'UPDATE digests SET digest = ?, made_at = ? WHERE session_uid = ?').run(
      digest,
      Date.now(),
      uid,
    )
    new DigestWords(this.#memory).put(uid, digest)
  }
}
