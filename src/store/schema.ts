// The tables of both databases, as numbered migrations: a database is brought from its `user_version` to the last one.
// memory.db is Tier 2 (durable, small, read by other programs); cache.db is Tier 1 (rebuilt from sources at any time).

/** Additive only: an entry that has shipped is never edited. */
export const MEMORY_MIGRATIONS = [
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
  `,
]

export const CACHE_MIGRATIONS = [
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
    path TEXT NOT NULL, file TEXT NOT NULL DEFAULT '', offset INTEGER NOT NULL, length INTEGER NOT NULL,
    reason TEXT NOT NULL, detail TEXT NOT NULL, is_pending INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (path, file, offset)
  ) WITHOUT ROWID;
  CREATE TABLE unknown_records (
    path TEXT NOT NULL, name TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (path, name)
  ) WITHOUT ROWID;
  CREATE TABLE cached (
    id INTEGER PRIMARY KEY, session_uid TEXT NOT NULL UNIQUE, next_seq INTEGER NOT NULL DEFAULT 1,
    segment_size INTEGER NOT NULL DEFAULT 0, event_count INTEGER NOT NULL DEFAULT 0, turn_count INTEGER NOT NULL DEFAULT 0,
    retry_count INTEGER NOT NULL DEFAULT 0, error_count INTEGER NOT NULL DEFAULT 0, is_settled INTEGER NOT NULL DEFAULT 0
  );
  CREATE INDEX cached_unsettled ON cached (id) WHERE is_settled = 0;
  CREATE TABLE shared (
    first INTEGER NOT NULL, second INTEGER NOT NULL, is_settled INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (first, second)
  ) WITHOUT ROWID;
  CREATE TABLE findings (
    path TEXT NOT NULL, session INTEGER NOT NULL, rule TEXT NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (path, session, rule)
  ) WITHOUT ROWID;
  CREATE INDEX findings_session ON findings (session);
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
  CREATE VIRTUAL TABLE words USING fts5(prompt, answer, work, content='', contentless_delete=1, tokenize="unicode61 remove_diacritics 2");
  INSERT INTO words (words, rank) VALUES ('hashsize', 16777216);
  `,
]
