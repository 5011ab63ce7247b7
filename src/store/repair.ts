// Takes out what is damaged, so that the next reading of the sources brings it back: rows that do not agree, bodies that
// cannot be read, and a full-text index that FTS5 finds broken. What no source has any more is lost, and stays named by `verify`.

import { makeWords } from './cache-schema.ts'
import { type Database, transaction } from './database.ts'
import { remakeDigestWords } from './digest-words.ts'
import { NO_VERSION } from './pair.ts'
import { mendCache, mendMemory } from './references.ts'
import type { RepairHooks, RepairReport } from './store.ts'
import { indexDamage, readPayloads } from './verify.ts'

/** One caller at a time: the sweep lock. A kill leaves all of it done to a database or nothing, and sources that are marked stay so until they are read. */
export async function takeOutDamage(
  cache: Database,
  memory: Database,
  blobDirectory: string,
  { fillIndex, onRead, salvaged }: RepairHooks,
): Promise<RepairReport> {
  const isNew = (database: string): boolean => salvaged.some(({ file }) => file === database)
  const mended = mendMemory(memory)
  const sizes = new Map<number, number>()
  const hashes: string[] = []
  const segments = readPayloads(cache, blobDirectory, {
    onShort: ({ id }, size) => sizes.set(id, size),
    onDamaged: (_, { hash }) => hashes.push(hash),
  })
  for (const { payloadBytes } of segments) await onRead(payloadBytes)
  const isDigestIndexBroken = indexDamage(memory, 'digest_words') !== undefined
  if (isDigestIndexBroken || isNew('memory.db')) remakeDigestWords(memory)
  if (isNew('memory.db')) sumAllAgain(memory)
  const isIndexBroken = isNew('cache.db') || indexDamage(cache, 'words') !== undefined
  transaction(cache, () => {
    cache.exec('CREATE TEMP TABLE damaged (hash BLOB PRIMARY KEY) WITHOUT ROWID')
    try {
      const note = cache.prepare('INSERT OR IGNORE INTO damaged VALUES (?)')
      for (const hash of hashes) note.run(Buffer.from(hash, 'hex'))
      // A chunk that is gone is not appended to: what comes goes where the file ends now.
      const shorten = cache.prepare('UPDATE cached SET segment_size = ? WHERE id = ?')
      for (const [id, size] of sizes) shorten.run(size, id)
      readAgain(cache, isIndexBroken)
      for (const table of ['payloads', 'borrowed'])
        cache.exec(`DELETE FROM ${table} WHERE hash IN (SELECT hash FROM damaged)`)
      if (isIndexBroken) {
        makeWords(cache)
        fillIndex()
      }
      mended.push(...mendCache(cache))
    } finally {
      cache.exec('DROP TABLE damaged')
    }
  })
  const indexCount = Number(isIndexBroken && !isNew('cache.db')) + Number(isDigestIndexBroken)
  return { bodyCount: hashes.length, indexCount, mended, salvaged }
}

/** What is derived from rows of which some may be missing now. */
function sumAllAgain(memory: Database): void {
  memory.exec(`DELETE FROM digest_texts WHERE session_uid NOT IN (SELECT session_uid FROM digests);
    INSERT OR IGNORE INTO stale_slots SELECT session_uid FROM usage_slots;
    INSERT OR IGNORE INTO stale_slots SELECT session_uid FROM ledger_sessions`)
}

/** Marks the sources of the sessions that miss something as never read. */
function readAgain(cache: Database, isAll: boolean): void {
  const hit = 'SELECT DISTINCT session FROM events WHERE payload IN (SELECT hash FROM damaged)'
  cache
    .prepare(
      isAll
        ? 'UPDATE sources SET adapter_version = ?'
        : `UPDATE sources SET adapter_version = ? WHERE path IN (SELECT path FROM source_sessions WHERE session IN (${hit}))
           OR session_uid IN (SELECT session_uid FROM cached WHERE id IN (${hit}))`,
    )
    .run(NO_VERSION)
}
