// Words of events that no source can tell again, for a full-text index that was begun anew: from their bodies, as well as
// these tell what a search should find.
import { readBody } from '../event/body.ts'
import { searchedIn } from '../event/words.ts'
import { isInstruction } from '../model.ts'
import type { Ingest } from '../store/store.ts'
import { headingOf, searchable } from './text.ts'

/** Of sessions of which a source is gone. */
export function indexFromBodies(ingest: Ingest): void {
  ingest.indexUntold(({ kind, role, summary, body }) => {
    // Mostly notes that nobody looks for.
    if (kind === 'lifecycle' || isInstruction({ kind, role })) return undefined
    const text = body === undefined ? '' : searchedIn(readBody(body))
    return { heading: headingOf(kind), text: searchable(text || summary, kind) }
  })
}
