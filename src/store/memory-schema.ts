// The tables of memory.db, Tier 2 (durable, small, read by other programs), as numbered migrations: a database is brought from its
// `user_version` to the last one.
import type { Database } from './database.ts'

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
  // When its own part began, of a session that copied what comes before (`fork-start.ts`).
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
  // What a session is called where nobody named it, what that was made of, and which kind of conversation beside the work it is.
  `
  ALTER TABLE sessions ADD COLUMN made_title TEXT;
  ALTER TABLE sessions ADD COLUMN made_source TEXT;
  ALTER TABLE sessions ADD COLUMN helper TEXT;
  `,
  // What a person wrote beside a session (`labels.ts`).
  `
  ALTER TABLE sessions ADD COLUMN own_title TEXT;
  ALTER TABLE sessions ADD COLUMN starred_at INTEGER;
  ALTER TABLE sessions ADD COLUMN labelled_at INTEGER;
  CREATE TABLE tags (session_uid TEXT NOT NULL, tag TEXT NOT NULL, PRIMARY KEY (session_uid, tag)) WITHOUT ROWID;
  CREATE INDEX tags_tag ON tags (tag);
  CREATE TABLE notes (session_uid TEXT NOT NULL, number INTEGER NOT NULL, at INTEGER NOT NULL, text TEXT NOT NULL,
    author TEXT NOT NULL, PRIMARY KEY (session_uid, number)) WITHOUT ROWID;
  `,
  // Which machine a session is from: '' is this one, others stand by how they are reached.
  `
  CREATE TABLE hosts (host TEXT PRIMARY KEY, id TEXT NOT NULL, name TEXT NOT NULL, user TEXT NOT NULL) WITHOUT ROWID;
  ALTER TABLE sessions ADD COLUMN host TEXT NOT NULL DEFAULT '';
  `,
  // Which sessions a collector of telemetry was sent, as they were when last read in, and up to which time.
  `CREATE TABLE telemetry (session_uid TEXT PRIMARY KEY, endpoint TEXT NOT NULL, ingested_at INTEGER NOT NULL,
    until_at INTEGER NOT NULL, attempts INTEGER NOT NULL, next_at INTEGER NOT NULL) WITHOUT ROWID`,
  // What a team server acknowledged: at which mark of the session (`pushes.ts`), from which generation, with which segments.
  `
  CREATE TABLE pushes (
    session_uid TEXT NOT NULL, server TEXT NOT NULL, host_id TEXT NOT NULL, mark TEXT NOT NULL, generation INTEGER NOT NULL,
    segments TEXT NOT NULL, PRIMARY KEY (session_uid, server)
  ) WITHOUT ROWID;
  `,
]

export function makeDigestWords(memory: Database): void {
  memory.exec(`DROP TABLE digest_words;
    CREATE VIRTUAL TABLE digest_words USING fts5(prompt, answer, work, files, tools, content='', contentless_delete=1, tokenize="unicode61 remove_diacritics 2")`)
}
