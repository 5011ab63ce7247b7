// The tables of a team server, as numbered migrations. Every key begins with `session_uid` (the column a distributed Postgres
// shards by) and holds the team; ids are made by clients; nothing here uses sequences, triggers or locks of its own.
// The application's role sees rows of one team, whatever a query forgets: `recollect.team` is set in each transaction.

import { manySessions, spansByIndex } from './many.ts'
import { factsOfFailures } from './recurring.ts'
import { outcomesOfFew, viewsMigration } from './views.ts'

export const APPLICATION_ROLE = 'recollect_app'

/** Additive only: an entry that has shipped is never edited. */
export const FLEET_MIGRATIONS: readonly { name: string; sql: string }[] = [
  {
    name: 'teams and tokens',
    sql: `
    CREATE TABLE recollect.teams (
      team text PRIMARY KEY, created_at bigint NOT NULL, keep_days integer, is_held boolean NOT NULL DEFAULT false
    );
    CREATE TABLE recollect.tokens (
      token_id text PRIMARY KEY, team text NOT NULL REFERENCES recollect.teams, person text NOT NULL, role text NOT NULL,
      hash bytea NOT NULL, created_at bigint NOT NULL, expires_at bigint, revoked_at bigint
    );
    -- The only way to tokens: whoever shows the right one learns whose it is.
    CREATE FUNCTION recollect.whose(id text, given bytea, now_at bigint) RETURNS TABLE (team text, person text, role text)
      LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
        SELECT t.team, t.person, t.role FROM recollect.tokens t
        WHERE t.token_id = id AND t.hash = given AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now_at)
      $$;
    REVOKE ALL ON FUNCTION recollect.whose FROM PUBLIC;
    GRANT EXECUTE ON FUNCTION recollect.whose TO ${APPLICATION_ROLE};
    `,
  },
  {
    name: 'sessions',
    sql: `
    CREATE TABLE recollect.sessions (
      session_uid text NOT NULL, team text NOT NULL, host_id text NOT NULL, generation bigint NOT NULL, revision text NOT NULL,
      level text NOT NULL, person text NOT NULL, user_name text NOT NULL, host_name text NOT NULL, flavor text NOT NULL,
      repo text, domain text, model text, relation text NOT NULL, is_helper boolean NOT NULL, started_at bigint, ended_at bigint,
      outcome text NOT NULL, turns bigint NOT NULL, retries bigint NOT NULL, errors bigint NOT NULL, events bigint NOT NULL,
      total_tokens bigint NOT NULL DEFAULT 0, title text, digest text, words tsvector,
      is_shown boolean NOT NULL DEFAULT true, is_settled boolean NOT NULL DEFAULT false, pushed_at bigint NOT NULL,
      PRIMARY KEY (session_uid, team, host_id)
    );
    CREATE INDEX sessions_recent ON recollect.sessions (team, started_at DESC NULLS LAST) WHERE is_shown;
    CREATE INDEX sessions_person ON recollect.sessions (team, person, started_at DESC NULLS LAST) WHERE is_shown;
    CREATE INDEX sessions_unsettled ON recollect.sessions (team) WHERE NOT is_settled;
    CREATE INDEX sessions_words ON recollect.sessions USING gin (words);
    CREATE TABLE recollect.ledger (
      session_uid text NOT NULL, team text NOT NULL, host_id text NOT NULL, response_id text NOT NULL, at bigint, model text,
      input bigint NOT NULL, cache_read bigint NOT NULL, cache_write_5m bigint NOT NULL, cache_write_1h bigint NOT NULL,
      output bigint NOT NULL, reasoning bigint NOT NULL, responses bigint NOT NULL, is_turn boolean NOT NULL,
      reported_cost bigint, claims boolean NOT NULL, is_counted boolean NOT NULL,
      PRIMARY KEY (session_uid, team, host_id, response_id)
    );
    CREATE INDEX ledger_response ON recollect.ledger (team, response_id);
    CREATE TABLE recollect.usage_slots (
      session_uid text NOT NULL, team text NOT NULL, host_id text NOT NULL, slot integer NOT NULL, model text NOT NULL,
      prompt_over integer NOT NULL, responses bigint NOT NULL, reported bigint NOT NULL, input bigint NOT NULL,
      cache_read bigint NOT NULL, cache_write_5m bigint NOT NULL, cache_write_1h bigint NOT NULL, output bigint NOT NULL,
      reasoning bigint NOT NULL, reported_cost bigint,
      PRIMARY KEY (session_uid, team, host_id, slot, model, prompt_over)
    );
    CREATE INDEX usage_slots_span ON recollect.usage_slots (team, slot);
    CREATE TABLE recollect.edges (
      session_uid text NOT NULL, team text NOT NULL, host_id text NOT NULL, kind text NOT NULL, parent_uid text NOT NULL, at bigint,
      PRIMARY KEY (session_uid, team, host_id, kind, parent_uid)
    );
    CREATE INDEX edges_parent ON recollect.edges (team, parent_uid);
    CREATE TABLE recollect.failures (
      session_uid text NOT NULL, team text NOT NULL, host_id text NOT NULL, fingerprint text NOT NULL, tool text NOT NULL,
      count bigint NOT NULL, first_at bigint, last_at bigint, is_mended boolean NOT NULL, sample text, mend text,
      PRIMARY KEY (session_uid, team, host_id, fingerprint)
    );
    CREATE INDEX failures_fingerprint ON recollect.failures (team, fingerprint);
    CREATE TABLE recollect.segments (
      session_uid text NOT NULL, team text NOT NULL, host_id text NOT NULL, first_seq bigint NOT NULL, last_seq bigint NOT NULL,
      sha256 text NOT NULL, bytes bigint NOT NULL, PRIMARY KEY (session_uid, team, host_id, first_seq)
    );
    CREATE INDEX segments_sha256 ON recollect.segments (team, sha256);
    CREATE TABLE recollect.forgotten (
      session_uid text NOT NULL, team text NOT NULL, host_id text NOT NULL, at bigint NOT NULL,
      PRIMARY KEY (session_uid, team, host_id)
    );
    CREATE TABLE recollect.audit (
      session_uid text NOT NULL, team text NOT NULL, id text NOT NULL, at bigint NOT NULL, reader text NOT NULL,
      person text NOT NULL, what text NOT NULL, PRIMARY KEY (session_uid, team, id)
    );
    CREATE INDEX audit_person ON recollect.audit (team, person, at);
    ${rowSecurity(['sessions', 'ledger', 'usage_slots', 'edges', 'failures', 'segments', 'forgotten'])}
    -- What was written down of readers is not taken back by the program.
    ALTER TABLE recollect.audit ENABLE ROW LEVEL SECURITY;
    CREATE POLICY of_team ON recollect.audit USING (team = current_setting('recollect.team', true))
      WITH CHECK (team = current_setting('recollect.team', true));
    GRANT SELECT, INSERT ON recollect.audit TO ${APPLICATION_ROLE};
    ALTER TABLE recollect.teams ENABLE ROW LEVEL SECURITY;
    CREATE POLICY of_team ON recollect.teams USING (team = current_setting('recollect.team', true));
    GRANT SELECT ON recollect.teams TO ${APPLICATION_ROLE};
    `,
  },
  viewsMigration(APPLICATION_ROLE),
  manySessions(APPLICATION_ROLE),
  factsOfFailures,
  outcomesOfFew,
  spansByIndex,
]

function rowSecurity(tables: readonly string[]): string {
  const mine = "team = current_setting('recollect.team', true)"
  return tables
    .map(
      (table) => `ALTER TABLE recollect.${table} ENABLE ROW LEVEL SECURITY;
    CREATE POLICY of_team ON recollect.${table} USING (${mine}) WITH CHECK (${mine});
    GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.${table} TO ${APPLICATION_ROLE};`,
    )
    .join('\n    ')
}

/** What has to be there before the first migration. */
export const PREPARE = `
  DO $$ BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = '${APPLICATION_ROLE}') THEN
      CREATE ROLE ${APPLICATION_ROLE} NOLOGIN NOSUPERUSER NOBYPASSRLS;
    END IF;
    EXECUTE format('GRANT ${APPLICATION_ROLE} TO %I', current_user);
  END $$;
  CREATE SCHEMA IF NOT EXISTS recollect;
  GRANT USAGE ON SCHEMA recollect TO ${APPLICATION_ROLE};
  CREATE TABLE IF NOT EXISTS recollect.migrations (number integer PRIMARY KEY, name text NOT NULL, applied_at bigint NOT NULL);
  GRANT SELECT ON recollect.migrations TO ${APPLICATION_ROLE};
`
