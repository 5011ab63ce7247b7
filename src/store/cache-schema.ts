// The tables of cache.db, Tier 1 (rebuilt from sources at any time), as numbered migrations like those of memory-schema.ts.
import type { Database, Migration } from './database.ts'
import { fillMarks } from './legacy-marks.ts'

/** Additive only: an entry that has shipped is never edited. */
export const CACHE_MIGRATIONS: readonly Migration[] = [
  `
  CREATE TABLE sources (
    path TEXT PRIMARY KEY, flavor TEXT NOT NULL, adapter_version INTEGER NOT NULL,
    device INTEGER NOT NULL, inode INTEGER NOT NULL, born_at INTEGER NOT NULL,
    size INTEGER NOT NULL, modified_at REAL NOT NULL, head_hash TEXT NOT NULL, head_length INTEGER NOT NULL,
    tail_hash TEXT NOT NULL, offset INTEGER NOT NULL, state TEXT NOT NULL, companions TEXT NOT NULL,
    generation INTEGER NOT NULL, session_uid TEXT, missing_at INTEGER
  ) WITHOUT ROWID;
  CREATE INDEX sources_session ON sources (session_uid);
  CREATE TABLE gaps (
    path TEXT NOT NULL, file TEXT NOT NULL DEFAULT '', offset INTEGER NOT NULL, reason TEXT NOT NULL, detail TEXT NOT NULL,
    length INTEGER NOT NULL, is_pending INTEGER NOT NULL, PRIMARY KEY (path, file, offset, reason, detail)
  ) WITHOUT ROWID;
  CREATE TABLE unknown_records (
    path TEXT NOT NULL, name TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (path, name)
  ) WITHOUT ROWID;
  CREATE TABLE cached (
    id INTEGER PRIMARY KEY, session_uid TEXT NOT NULL UNIQUE, next_seq INTEGER NOT NULL DEFAULT 1,
    segment_size INTEGER NOT NULL DEFAULT 0, event_count INTEGER NOT NULL DEFAULT 0, turn_count INTEGER NOT NULL DEFAULT 0,
    retry_count INTEGER NOT NULL DEFAULT 0, error_count INTEGER NOT NULL DEFAULT 0, low_at INTEGER,
    is_settled INTEGER NOT NULL DEFAULT 0
  );
  CREATE INDEX cached_unsettled ON cached (id) WHERE is_settled = 0;
  CREATE TABLE shared (
    first INTEGER NOT NULL, second INTEGER NOT NULL, is_dirty INTEGER NOT NULL DEFAULT 1,
    first_at INTEGER, second_at INTEGER, PRIMARY KEY (first, second)
  ) WITHOUT ROWID;
  CREATE INDEX shared_second ON shared (second);
  CREATE TABLE findings (
    session INTEGER NOT NULL, seq INTEGER NOT NULL, rule TEXT NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (session, seq, rule)
  ) WITHOUT ROWID;
  CREATE TABLE source_sessions (
    path TEXT NOT NULL, session INTEGER NOT NULL, last_seq INTEGER, last_at INTEGER, PRIMARY KEY (path, session)
  ) WITHOUT ROWID;
  CREATE INDEX source_sessions_session ON source_sessions (session);
  CREATE TABLE events (
    id INTEGER PRIMARY KEY, session INTEGER NOT NULL, seq INTEGER NOT NULL, key BLOB NOT NULL,
    parent_seq INTEGER, parent_key BLOB, ts INTEGER, kind INTEGER NOT NULL, role INTEGER NOT NULL, tool TEXT,
    call BLOB, summary TEXT NOT NULL, flags INTEGER NOT NULL, agent TEXT, exit_code INTEGER, duration_ms INTEGER,
    payload BLOB NOT NULL
  );
  CREATE UNIQUE INDEX events_seq ON events (session, seq);
  CREATE UNIQUE INDEX events_key ON events (key, session);
  CREATE INDEX events_orphans ON events (session) WHERE parent_key IS NOT NULL;
  CREATE TABLE touched (
    session INTEGER NOT NULL, path TEXT NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (session, path, seq)
  ) WITHOUT ROWID;
  CREATE TABLE payloads (
    hash BLOB PRIMARY KEY, session INTEGER NOT NULL, chunk INTEGER NOT NULL, at INTEGER NOT NULL, length INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE pair (id TEXT NOT NULL);
  CREATE VIRTUAL TABLE words USING fts5(prompt, answer, work, content='', contentless_delete=1, tokenize="unicode61 remove_diacritics 2");
  INSERT INTO words (words, rank) VALUES ('hashsize', 16777216);
  `,
  // Events up to this seq, so many, were evicted; the session keeps its numbering and its counts.
  `
  ALTER TABLE cached ADD COLUMN evicted_seq INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE cached ADD COLUMN evicted_count INTEGER NOT NULL DEFAULT 0;
  `,
  // What the evicted events counted: the rest can be counted again, they cannot.
  `
  ALTER TABLE cached ADD COLUMN evicted_turns INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE cached ADD COLUMN evicted_retries INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE cached ADD COLUMN evicted_errors INTEGER NOT NULL DEFAULT 0;
  `,
  // How far a digest has come (`digest/facts.ts`), to go on from; void once an event up to `last_seq` changes. And the
  // files of an event are found by its seq, without looking at all the session touched.
  `
  CREATE TABLE folds (
    session INTEGER PRIMARY KEY, rules INTEGER NOT NULL, first_seq INTEGER NOT NULL, last_seq INTEGER NOT NULL, state TEXT NOT NULL
  );
  ALTER TABLE touched RENAME TO touched_by_path;
  CREATE TABLE touched (
    session INTEGER NOT NULL, seq INTEGER NOT NULL, path TEXT NOT NULL, PRIMARY KEY (session, seq, path)
  ) WITHOUT ROWID;
  INSERT INTO touched SELECT session, seq, path FROM touched_by_path;
  DROP TABLE touched_by_path;
  `,
  // From here on the carry-over of a source and the fold of a digest may be compressed (`packed-text.ts`): an older program
  // must not read them.
  'DELETE FROM folds',
  workFirst,
  // Names that stand for a call (`pending-links.ts`).
  `
  CREATE TABLE names (
    session INTEGER NOT NULL, name BLOB NOT NULL, target BLOB NOT NULL, is_guess INTEGER NOT NULL, PRIMARY KEY (session, name)
  ) WITHOUT ROWID;
  `,
  // Fewer and later merges: what came in together stays together, and can go without the rest being written again.
  "INSERT INTO words (words, rank) VALUES ('automerge', 8)",
  // Payloads that another session brought: looked at when that one goes. A payload that is replaced later stays in the list.
  `
  CREATE TABLE borrowed (session INTEGER NOT NULL, hash BLOB NOT NULL, PRIMARY KEY (session, hash)) WITHOUT ROWID;
  INSERT INTO borrowed SELECT DISTINCT e.session, e.payload FROM events e CROSS JOIN payloads p ON p.hash = e.payload
    WHERE p.session <> e.session ORDER BY 1, 2;
  `,
  // Whether the cache was never thrown away (`pair.ts`).
  'ALTER TABLE pair ADD COLUMN is_whole INTEGER NOT NULL DEFAULT 0',
  // Events by key. Not an index: what a thousand sessions have in a table goes in one pass, from an index row by row.
  `
  CREATE TABLE keys (
    key BLOB NOT NULL, session INTEGER NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (key, session)
  ) WITHOUT ROWID;
  INSERT INTO keys SELECT key, session, seq FROM events ORDER BY key, session;
  DROP INDEX events_key;
  `,
  // All are compared again: where a fork's own part began was not looked for.
  'UPDATE shared SET is_dirty = 1',
  // The event that shows the tokens of a response (`shown-tokens.ts`).
  `
  CREATE TABLE spent (
    session INTEGER NOT NULL, response_id TEXT NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (session, response_id)
  ) WITHOUT ROWID;
  `,
  // Which file told the events from a number on, and the event above the first of them in that file, which another may have
  // told before (`order.ts`). Of sessions that several files told up to now, nobody knows.
  `
  CREATE TABLE stretches (
    session INTEGER NOT NULL, first_seq INTEGER NOT NULL, path TEXT NOT NULL, after_seq INTEGER,
    PRIMARY KEY (session, first_seq)
  ) WITHOUT ROWID;
  INSERT INTO stretches SELECT session, 1, min(path), NULL FROM source_sessions GROUP BY session HAVING count(*) = 1;
  `,
  addMarks,
  // What each source told of a session, in its own order (`source-trails.ts`). Of what several files told up to now only the numbers
  // are known: those are read again, unless it was evicted, and then there is nothing to put in order.
  `
  DROP TABLE stretches;
  ALTER TABLE source_sessions ADD COLUMN runs TEXT NOT NULL DEFAULT '[]';
  ALTER TABLE source_sessions ADD COLUMN retries TEXT NOT NULL DEFAULT '[]';
  UPDATE source_sessions SET runs = json_array(json_array(1, last_seq)) WHERE last_seq IS NOT NULL
    AND session IN (SELECT session FROM source_sessions GROUP BY session HAVING count(*) = 1);
  UPDATE sources SET adapter_version = -1 WHERE path IN (SELECT w.path FROM source_sessions w
    JOIN cached c ON c.id = w.session AND c.evicted_seq = 0
    WHERE EXISTS (SELECT 1 FROM source_sessions o WHERE o.session = w.session AND o.path <> w.path));
  `,
  // What is told again by other events counts nowhere: not among the events either.
  `UPDATE cached SET event_count = event_count - r.count
   FROM (SELECT session, count(*) AS count FROM events WHERE flags & 16 GROUP BY session) r WHERE r.session = cached.id`,
  // A file that has another name now is looked up: of a million that are gone no list is held.
  'CREATE INDEX sources_file ON sources (inode, born_at)',
  // What each source told of a session as a whole (`told-facts.ts`); of what was read before nobody knows, and it stays as it is.
  "ALTER TABLE source_sessions ADD COLUMN facts TEXT NOT NULL DEFAULT '{}'",
]

/** What an event does, how it ended and what it means, as places in the lists of `model.ts`. */
function addMarks(cache: Database): void {
  cache.exec(`ALTER TABLE events ADD COLUMN does INTEGER;
    ALTER TABLE events ADD COLUMN state INTEGER;
    ALTER TABLE events ADD COLUMN mark INTEGER`)
  fillMarks(cache)
}

function workFirst(cache: Database): void {
  if (cache.prepare('SELECT 1 FROM words_docsize LIMIT 1').get() === undefined) makeWords(cache)
}

/**
 * An empty index in the place of the one that is there. An entry names its column, unless it is the first: two bytes for
 * each of most words, if that is not the one most words stand in. Columns are known by name, so an older order may stay.
 */
export function makeWords(cache: Database): void {
  cache.exec(`DROP TABLE words;
    CREATE VIRTUAL TABLE words USING fts5(work, answer, prompt, content='', contentless_delete=1, tokenize="unicode61 remove_diacritics 2");
    INSERT INTO words (words, rank) VALUES ('hashsize', 16777216);
    INSERT INTO words (words, rank) VALUES ('automerge', 8)`)
}
