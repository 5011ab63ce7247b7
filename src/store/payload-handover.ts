// Payloads are kept once, in the segment of the session that brought them first. Before that session goes, what others
// still refer to is appended to the segment of one of them.

import { addTo, listsBy } from '../lists.ts'
import type { Database } from './database.ts'
import { transaction } from './database.ts'
import { appendChunks, CHUNK_BYTES, compressChunk, readChunk, segmentPath } from './segments.ts'

/** A payload that outlives its session, and the session that takes it over. */
export interface Kept {
  hash: Uint8Array
  chunk: number
  at: number
  length: number
  survivor: number
}

/** By the session that goes: what has to be moved. */
export function keptPayloads(cache: Database, going: readonly number[]): Map<number, Kept[]> {
  const rows = cache
    .prepare(
      `SELECT b.session AS survivor, p.session, p.hash, p.chunk, p.at, p.length FROM borrowed b
       CROSS JOIN payloads p ON p.hash = b.hash
       WHERE b.session NOT IN (SELECT value FROM json_each(?1)) AND p.session IN (SELECT value FROM json_each(?1))
       AND EXISTS (SELECT 1 FROM events e WHERE e.session = b.session AND e.payload = b.hash)`,
    )
    .all(JSON.stringify(going)) as unknown as (Kept & { session: number })[]
  const kept = new Map<number, Kept[]>()
  const seen = new Set<string>()
  for (const row of rows) {
    const name = Buffer.from(row.hash).toString('latin1')
    if (seen.has(name)) continue
    seen.add(name)
    addTo(kept, row.session, row)
  }
  return kept
}

/** Chunks are flushed before the rows that point at them are committed, as in the write path. */
export function movePayloads(
  cache: Database,
  blobDirectory: string,
  fromUid: string,
  kept: readonly Kept[],
): void {
  const sorted = [...kept].sort((a, b) => a.chunk - b.chunk || a.at - b.at)
  const bySurvivor = listsBy(sorted, (one) => one.survivor)
  const from = segmentPath(blobDirectory, fromUid)
  let last: { offset: number; bytes: Buffer } | undefined
  const bodyOf = (one: Kept): Buffer => {
    if (last?.offset !== one.chunk) last = { offset: one.chunk, bytes: readChunk(from, one.chunk) }
    return last.bytes.subarray(one.at, one.at + one.length)
  }
  for (const [survivor, list] of bySurvivor) {
    let group: Kept[] = []
    let bytes = 0
    for (const one of list) {
      group.push(one)
      bytes += one.length
      if (bytes < CHUNK_BYTES && one !== list.at(-1)) continue
      moveGroup(cache, blobDirectory, survivor, group, Buffer.concat(group.map(bodyOf)))
      group = []
      bytes = 0
    }
  }
}

function moveGroup(
  cache: Database,
  blobDirectory: string,
  survivor: number,
  group: readonly Kept[],
  raw: Buffer,
): void {
  const point = cache.prepare('UPDATE payloads SET session = ?, chunk = ?, at = ? WHERE hash = ?')
  transaction(cache, () => {
    const row = cache.prepare('SELECT session_uid, segment_size FROM cached WHERE id = ?').get(survivor)
    const { session_uid, segment_size } = row as { session_uid: string; segment_size: number }
    const path = segmentPath(blobDirectory, session_uid)
    const size = appendChunks(path, segment_size, [compressChunk(raw)])
    let at = 0
    for (const one of group) {
      point.run(survivor, segment_size, at, one.hash)
      at += one.length
    }
    cache.prepare('UPDATE cached SET segment_size = ? WHERE id = ?').run(size, survivor)
  })
}
