// The tables of both databases, as numbered migrations: a database is brought from its `user_version` to the last one.
// memory.db is Tier 2 (durable, small, read by other programs); cache.db is Tier 1 (rebuilt from sources at any time).

import type { Database, Migration } from './database.ts'
import { fillMarks } from './legacy-marks.ts'

/** Additive only: an entry that has shipped is never edited. */
export const MEMORY_MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE sessions (
    session_uid TEXT PRIMARY KEY, flavor TEXT NOT NULL, native_session_id TEXT NOT NULL,
    repo TEXT, domain TEXT, cwd TEXT, git_branch TEXT, git_remote TEXT, model TEXT,
    title TEXT, title_by_person INTEGER NOT NULL DEFAULT 0, agent_version TEXT,
    relation TEXT NOT NULL DEFAULT 'main', started_at INTEGER, ended_at INTEGER,
    outcome TEXT NOT NULL DEFAULT 'unknown', turn_count INTEGER NOT NULL DEFAULT 0,
    retry_count INTEGER NOT NULL DEFAULT 0, error_count INTEGER NOT NULL DEFAULT 0,
    event_count INTEGER NOT NULL DEFAULT 0, task_ref TEXT, task_ref_rank INTEGER NOT NULL DEFAULT 0,
    source_path TEXT, source_bytes INTEGER NOT NULL DEFAULT 0, is_sole_copy INTEGER NOT NULL DEFAULT 0,
    redactions TEXT NOT NULL DEFAULT '{}', schema_version INTEGER NOT NULL,
    discovered_at INTEGER NOT NULL, ingested_at INTEGER, analyzed_at INTEGER, evicted_at INTEGER
  ) WITHOUT ROWID;
  CREATE INDEX sessions_started ON sessions (started_at);
  CREATE TABLE usage (
    session_uid TEXT NOT NULL, response_id TEXT NOT NULL, ts INTEGER, model TEXT,
    input INTEGER NOT NULL, cache_read INTEGER NOT NULL, cache_write_5m INTEGER NOT NULL,
    cache_write_1h INTEGER NOT NULL, output INTEGER NOT NULL, reasoning INTEGER NOT NULL,
    scope TEXT NOT NULL, is_sidechain INTEGER NOT NULL, is_nested INTEGER NOT NULL, reported_cost INTEGER,
    is_counted INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (session_uid, response_id)
  ) WITHOUT ROWID;
  CREATE INDEX usage_response ON usage (response_id);
  CREATE TABLE recount (response_id TEXT PRIMARY KEY) WITHOUT ROWID;
  CREATE TABLE edges (
    session_uid TEXT NOT NULL, kind TEXT NOT NULL, parent_uid TEXT NOT NULL DEFAULT '', at INTEGER, evidence TEXT,
    PRIMARY KEY (session_uid, kind, parent_uid)
  ) WITHOUT ROWID;
  CREATE INDEX edges_parent ON edges (parent_uid);
  CREATE TABLE pair (id TEXT NOT NULL);
  `,
  `
  CREATE TABLE usage_slots (
    session_uid TEXT NOT NULL, slot INTEGER NOT NULL, model TEXT NOT NULL, prompt_over INTEGER NOT NULL,
    responses INTEGER NOT NULL, reported INTEGER NOT NULL, input INTEGER NOT NULL, cache_read INTEGER NOT NULL,
    cache_write_5m INTEGER NOT NULL, cache_write_1h INTEGER NOT NULL, output INTEGER NOT NULL,
    reasoning INTEGER NOT NULL, reported_cost INTEGER,
    PRIMARY KEY (session_uid, slot, model, prompt_over)
  ) WITHOUT ROWID;
  CREATE TABLE stale_slots (session_uid TEXT PRIMARY KEY) WITHOUT ROWID;
  INSERT INTO stale_slots SELECT DISTINCT session_uid FROM usage;
  `,
  // Digests: `digests` is read by other programs; `failures` and `signals` are its parts that are compared over sessions.
  `
  CREATE TABLE digests (
    session_uid TEXT PRIMARY KEY, flavor TEXT NOT NULL, repo TEXT, domain TEXT, outcome TEXT NOT NULL,
    started_at INTEGER, ended_at INTEGER, rule_version TEXT NOT NULL, made_at INTEGER NOT NULL, digest TEXT NOT NULL,
    earlier_seq INTEGER NOT NULL DEFAULT 0, earlier TEXT
  );
  CREATE INDEX digests_rules ON digests (rule_version, session_uid);
  CREATE TABLE failures (
    session_uid TEXT NOT NULL, fingerprint TEXT NOT NULL, tool TEXT NOT NULL, sample TEXT NOT NULL, count INTEGER NOT NULL,
    first_at INTEGER, last_at INTEGER, seqs TEXT NOT NULL, resolved_by TEXT,
    PRIMARY KEY (session_uid, fingerprint)
  ) WITHOUT ROWID;
  CREATE INDEX failures_fingerprint ON failures (fingerprint);
  CREATE TABLE signals (
    session_uid TEXT NOT NULL, signal TEXT NOT NULL, subject TEXT NOT NULL, count INTEGER NOT NULL, seqs TEXT NOT NULL,
    PRIMARY KEY (session_uid, signal, subject)
  ) WITHOUT ROWID;
  CREATE INDEX sessions_undigested ON sessions (session_uid) WHERE analyzed_at IS NULL OR analyzed_at < ingested_at;
  CREATE VIEW patterns AS
    SELECT 'error' AS kind, f.fingerprint AS subject, min(f.tool) AS tool, min(f.sample) AS sample,
      sum(f.count) AS count, count(*) AS sessions, count(DISTINCT d.repo) AS repos, count(DISTINCT d.flavor) AS flavors,
      min(coalesce(f.first_at, d.started_at)) AS first_at, max(coalesce(f.last_at, d.ended_at)) AS last_at
    FROM failures f JOIN digests d USING (session_uid) GROUP BY f.fingerprint HAVING count(*) > 1
    UNION ALL
    SELECT s.signal, s.subject, '', '', sum(s.count), count(*), count(DISTINCT d.repo), count(DISTINCT d.flavor),
      min(d.started_at), max(d.ended_at)
    FROM signals s JOIN digests d USING (session_uid) WHERE s.signal <> 'repeated_error'
    GROUP BY s.signal, s.subject HAVING count(*) > 1;
  `,
  // Retention. A receipt is first a mark of intent (state evicting), then the record of what is gone (erasing, evicted).
  `
  CREATE TABLE receipts (
    session_uid TEXT NOT NULL, at INTEGER NOT NULL, state TEXT NOT NULL, reason TEXT NOT NULL, bytes INTEGER NOT NULL,
    hash TEXT NOT NULL, event_count INTEGER NOT NULL, first_seq INTEGER NOT NULL, last_seq INTEGER NOT NULL,
    PRIMARY KEY (session_uid, at)
  ) WITHOUT ROWID;
  CREATE INDEX receipts_open ON receipts (session_uid) WHERE state <> 'evicted';
  CREATE INDEX receipts_forgotten ON receipts (session_uid) WHERE reason = 'forgotten';
  CREATE TABLE pins (session_uid TEXT PRIMARY KEY, pinned_at INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE events_log (
    session_uid TEXT NOT NULL, at INTEGER NOT NULL, name TEXT NOT NULL, detail TEXT NOT NULL,
    PRIMARY KEY (session_uid, at, name)
  ) WITHOUT ROWID;
  CREATE INDEX sessions_evictable ON sessions (ingested_at) WHERE evicted_at IS NULL AND analyzed_at IS NOT NULL;
  `,
  // Lineage: the same session under another flavor is found by its native id; a fork of an evicted one by its keys.
  `
  CREATE INDEX sessions_native ON sessions (native_session_id);
  CREATE TABLE kept_keys (session_uid TEXT PRIMARY KEY, first_key BLOB NOT NULL, first_at INTEGER, keys BLOB NOT NULL);
  `,
  // Words of digests: what is left to search of a session when its events are gone.
  `
  CREATE TABLE digest_texts (session_uid TEXT PRIMARY KEY, id INTEGER NOT NULL) WITHOUT ROWID;
  CREATE UNIQUE INDEX digest_texts_id ON digest_texts (id);
  CREATE VIRTUAL TABLE digest_words USING fts5(prompt, answer, work, files, tools, content='', contentless_delete=1, tokenize="unicode61 remove_diacritics 2");
  CREATE INDEX sessions_repo ON sessions (repo);
  CREATE INDEX sessions_domain ON sessions (domain);
  `,
  // Decisions: events that no transcript holds, so nothing but this table can bring them back.
  `
  CREATE TABLE decisions (
    session_uid TEXT NOT NULL, id TEXT NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL, text TEXT NOT NULL,
    tags TEXT NOT NULL, author TEXT NOT NULL, PRIMARY KEY (session_uid, id)
  ) WITHOUT ROWID;
  `,
  // What was told to others: files that were written, events that were logged and sent.
  `
  CREATE TABLE hub_files (
    session_uid TEXT NOT NULL, item TEXT NOT NULL, directory TEXT NOT NULL, made_at INTEGER NOT NULL,
    PRIMARY KEY (session_uid, item)
  ) WITHOUT ROWID;
  CREATE TABLE deliveries (
    session_uid TEXT NOT NULL, at INTEGER NOT NULL, name TEXT NOT NULL, sink TEXT NOT NULL, attempts INTEGER NOT NULL,
    next_at INTEGER NOT NULL, state TEXT NOT NULL, PRIMARY KEY (session_uid, at, name, sink)
  ) WITHOUT ROWID;
  `,
  // What the price list (of that version) says of models in the ledger: who asks for money need not load it.
  `
  CREATE TABLE model_prices (name TEXT PRIMARY KEY, list TEXT NOT NULL, listed TEXT NOT NULL) WITHOUT ROWID;
  `,
  // What an evicted session turned out to have copied (ranges of seqs, there and in the origin), until it is told in its
  // digest. Without an origin only its tokens are to be told anew.
  `
  CREATE TABLE copied (
    session_uid TEXT PRIMARY KEY, origin_uid TEXT NOT NULL DEFAULT '', seqs TEXT NOT NULL DEFAULT '[]',
    origin_seqs TEXT NOT NULL DEFAULT '[]', turns INTEGER NOT NULL DEFAULT 0, retries INTEGER NOT NULL DEFAULT 0,
    errors INTEGER NOT NULL DEFAULT 0, is_told INTEGER NOT NULL DEFAULT 0
  ) WITHOUT ROWID;
  `,
  // The ledger by number of session and model; `usage` is how it is read.
  `
  CREATE TABLE ledger_sessions (number INTEGER PRIMARY KEY, session_uid TEXT NOT NULL UNIQUE);
  CREATE TABLE ledger_models (number INTEGER PRIMARY KEY, model TEXT NOT NULL UNIQUE);
  CREATE TABLE ledger (
    session INTEGER NOT NULL, response_id TEXT NOT NULL, ts INTEGER, model INTEGER,
    input INTEGER NOT NULL, cache_read INTEGER NOT NULL, cache_write_5m INTEGER NOT NULL,
    cache_write_1h INTEGER NOT NULL, output INTEGER NOT NULL, reasoning INTEGER NOT NULL,
    is_turn INTEGER NOT NULL, is_sidechain INTEGER NOT NULL, is_nested INTEGER NOT NULL, reported_cost INTEGER,
    is_counted INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (session, response_id)
  ) WITHOUT ROWID;
  INSERT INTO ledger_sessions (session_uid) SELECT DISTINCT session_uid FROM usage ORDER BY 1;
  INSERT INTO ledger_models (model) SELECT DISTINCT model FROM usage WHERE model IS NOT NULL;
  INSERT INTO ledger SELECT s.number, u.response_id, u.ts, m.number, u.input, u.cache_read, u.cache_write_5m,
    u.cache_write_1h, u.output, u.reasoning, u.scope = 'turn', u.is_sidechain, u.is_nested, u.reported_cost, u.is_counted
    FROM usage u JOIN ledger_sessions s USING (session_uid) LEFT JOIN ledger_models m ON m.model = u.model;
  DROP TABLE usage;
  CREATE INDEX ledger_response ON ledger (response_id);
  CREATE VIEW usage AS
    SELECT s.session_uid, l.response_id, l.ts,
      (SELECT m.model FROM ledger_models m WHERE m.number = l.model) AS model,
      l.input, l.cache_read, l.cache_write_5m, l.cache_write_1h, l.output, l.reasoning,
      iif(l.is_turn, 'turn', 'response') AS scope, l.is_sidechain, l.is_nested, l.reported_cost, l.is_counted
    FROM ledger l JOIN ledger_sessions s ON s.number = l.session;
  `,
  // Of two sessions with the same beginning, the one in the background was sent there.
  'ALTER TABLE sessions ADD COLUMN is_background INTEGER NOT NULL DEFAULT 0',
  // When its own part began, of a session that copied what comes before (`own-start.ts`).
  'ALTER TABLE sessions ADD COLUMN own_at INTEGER',
  // Nothing is forked before there is something: that was the time of what it copied first.
  `UPDATE edges SET at = NULL WHERE kind IN ('interactive_fork', 'bg_fork')
   AND at <= (SELECT s.started_at FROM sessions s WHERE s.session_uid = edges.parent_uid)`,
  // How much of an allowance was used (`limits.ts`): the last that was told in each quarter of an hour.
  `
  CREATE TABLE limits (
    session_uid TEXT NOT NULL, name TEXT NOT NULL, slot INTEGER NOT NULL, at INTEGER NOT NULL, used_percent REAL, left TEXT,
    window_minutes INTEGER, resets_at INTEGER, plan TEXT, PRIMARY KEY (session_uid, name, slot)
  ) WITHOUT ROWID;
  `,
  // How it ended, where the program that ran it says so itself.
  'ALTER TABLE sessions ADD COLUMN told_outcome TEXT',
  // How many responses a record of the ledger stands for: parts of a sum, and costs, stand for none.
  `
  ALTER TABLE ledger ADD COLUMN responses INTEGER NOT NULL DEFAULT 1;
  DROP VIEW usage;
  CREATE VIEW usage AS
    SELECT s.session_uid, l.response_id, l.ts,
      (SELECT m.model FROM ledger_models m WHERE m.number = l.model) AS model,
      l.input, l.cache_read, l.cache_write_5m, l.cache_write_1h, l.output, l.reasoning,
      iif(l.is_turn, 'turn', 'response') AS scope, l.is_sidechain, l.is_nested, l.reported_cost, l.is_counted, l.responses
    FROM ledger l JOIN ledger_sessions s ON s.number = l.session;
  `,
  // Which of the events whose keys are kept it did not count as its own (ranges of seqs).
  "ALTER TABLE kept_keys ADD COLUMN not_own TEXT NOT NULL DEFAULT '[]'",
  // Events that turned out to count nowhere when those up to `evicted_seq` had gone, and what they were counted as.
  `
  CREATE TABLE repeated (
    session_uid TEXT NOT NULL, seq INTEGER NOT NULL, evicted_seq INTEGER NOT NULL, kind TEXT NOT NULL,
    PRIMARY KEY (session_uid, seq)
  ) WITHOUT ROWID;
  `,
]

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
  // From here on the carry-over of a source and the fold of a digest may be compressed (`packed.ts`): an older program
  // must not read them.
  'DELETE FROM folds',
  workFirst,
  // Names that stand for a call (`late-parents.ts`).
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
  // The event that shows the tokens of a response (`spent.ts`).
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
  // What each source told of a session, in its own order (`trails.ts`). Of what several files told up to now only the numbers
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

export function makeDigestWords(memory: Database): void {
  memory.exec(`DROP TABLE digest_words;
    CREATE VIRTUAL TABLE digest_words USING fts5(prompt, answer, work, files, tools, content='', contentless_delete=1, tokenize="unicode61 remove_diacritics 2")`)
}
