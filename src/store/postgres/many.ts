// What keeps questions quick among a million sessions of a team (docs/fleet.md has the figures).
// Row-level security looks at a row's team before any operator that could tell what it saw, and an index is not used for such
// an operator: neither for `@@` nor for `starts_with`. So names are compared, which is safe, and words are found by a function
// of the owner that names sessions, whose rows the application then reads under its own policy.

/** Sessions of a span are counted by an index alone: their rows are wide, and those of a week lie all over the table. */
export const spansByIndex = {
  name: 'counts of a span by index',
  sql: `
    DROP INDEX recollect.sessions_ended;
    CREATE INDEX sessions_ended ON recollect.sessions (team, ended_at)
      INCLUDE (person, repo, outcome, relation, is_helper, turns, errors, retries) WHERE is_shown;
    `,
}

/** Sums stand with what they are grouped by, so that a sum over a team reads no session. */
export const SLOT_FACTS = ['person', 'repo', 'domain', 'flavor', 'host_name']

export const manySessions = (application: string): { name: string; sql: string } => ({
  name: 'a million sessions',
  sql: `
    -- Digests and words are kept beside the rows: a list of sessions or a sum over them does not read them.
    ALTER TABLE recollect.sessions SET (toast_tuple_target = 1024);
    ALTER TABLE recollect.sessions ADD COLUMN native_id text COLLATE "C"
      GENERATED ALWAYS AS (substr(session_uid, strpos(session_uid, ':') + 1)) STORED;
    CREATE INDEX sessions_native ON recollect.sessions (team, native_id) WHERE is_shown;
    CREATE INDEX sessions_uid ON recollect.sessions (team, session_uid COLLATE "C") WHERE is_shown;
    CREATE INDEX sessions_ended ON recollect.sessions (team, ended_at) WHERE is_shown;
    CREATE INDEX sessions_tokens ON recollect.sessions (team, total_tokens DESC, started_at DESC NULLS LAST, session_uid) WHERE is_shown;
    CREATE FUNCTION recollect.holding(query tsquery, most integer) RETURNS TABLE (session_uid text, host_id text)
      LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog ROWS 100 AS $$
        SELECT s.session_uid, s.host_id FROM recollect.sessions s
        WHERE s.words @@ query AND s.team = current_setting('recollect.team', true) AND s.is_shown LIMIT most
      $$;
    REVOKE ALL ON FUNCTION recollect.holding FROM PUBLIC;
    GRANT EXECUTE ON FUNCTION recollect.holding TO ${application};
    ALTER TABLE recollect.usage_slots ${SLOT_FACTS.map((name) => `ADD COLUMN ${name} text`).join(', ')};
    UPDATE recollect.usage_slots u SET ${SLOT_FACTS.map((name) => `${name} = s.${name}`).join(', ')} FROM recollect.sessions s
      WHERE s.session_uid = u.session_uid AND s.team = u.team AND s.host_id = u.host_id;
    `,
})
