// Words of events that no source can tell again, for a full-text index that was begun anew: from their bodies, as well as
// these tell what a search should find.
import { readBody } from '../event/body.ts'
import { searchedIn } from '../event/words.ts'
import { EVENT_KINDS, type EventKind, isInstruction, type Role } from '../model.ts'
import { type Database, transaction } from '../store/database.ts'
import { PendingWords } from '../store/pending-words.ts'
import { ROLES } from '../store/rows.ts'
import type { ReadHandle } from '../store/store.ts'
import { indexText } from '../store/words.ts'
import { headingOf, searchable } from './text.ts'

interface Row {
  id: number
  kind: number
  role: number
  summary: string
  payload: string
}

/** Of sessions of which a source is gone. */
export function indexFromBodies({ cache, payload }: Omit<ReadHandle, 'memory'>): void {
  const sessions = cache
    .prepare(
      `SELECT id FROM cached c WHERE NOT EXISTS (SELECT 1 FROM source_sessions w WHERE w.session = c.id)
       OR EXISTS (SELECT 1 FROM source_sessions w LEFT JOIN sources s ON s.path = w.path
                  WHERE w.session = c.id AND (s.path IS NULL OR s.missing_at IS NOT NULL))`,
    )
    .all() as unknown as { id: number }[]
  const unindexed = cache.prepare(
    `SELECT id, kind, role, summary, lower(hex(payload)) AS payload FROM events e WHERE session = ?
     AND NOT EXISTS (SELECT 1 FROM words_docsize d WHERE d.id = e.id)`,
  )
  for (const { id } of sessions)
    index(cache, unindexed.all(id) as unknown as Row[], (row) => textIn(payload(row.payload)))
}

function index(cache: Database, rows: readonly Row[], bodyText: (row: Row) => string): void {
  const words = new PendingWords(
    cache.prepare('INSERT INTO words (rowid, prompt, answer, work) VALUES (?, ?, ?, ?)'),
  )
  transaction(cache, () => {
    for (const row of rows) {
      const kind = EVENT_KINDS[row.kind] as EventKind
      // Mostly notes that nobody looks for.
      if (kind === 'lifecycle' || isInstruction({ kind, role: ROLES[row.role] as Role })) continue
      const text = searchable(bodyText(row) || row.summary, kind)
      words.add(row.id, { heading: headingOf(kind), bytes: Buffer.from(indexText(text)) })
      if (words.isFull) words.write()
    }
    words.write()
  })
}

const textIn = (stored: string | undefined): string =>
  stored === undefined ? '' : searchedIn(readBody(stored))
