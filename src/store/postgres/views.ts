// What a dashboard may ask of the database itself: views over figures of a team, day by day. A login sees the team that
// `recollect.readers` names beside it, whatever it sets; it can read the views and no table, and no view tells of a group of
// fewer than five people. The views belong to a role of their own, which row-level security holds as it holds the application:
// with the rights of whoever asks (`security_invoker`) everybody who sees a figure could read the rows behind it.
// docs/fleet.md lists them.
import { FEWEST_PEOPLE } from '../../contract.ts'
import { SLOT_MS } from '../slots.ts'

export const READER_ROLE = 'recollect_reader'
const VIEWS_ROLE = 'recollect_views'

const ALL_TABLES = 'sessions ledger usage_slots edges failures segments forgotten audit teams'.split(' ')
const READ_TABLES = ['sessions', 'usage_slots', 'failures']

const ROLES = [VIEWS_ROLE, READER_ROLE]
  .map(
    (role) => `IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = '${role}') THEN
        CREATE ROLE ${role} NOLOGIN NOSUPERUSER NOBYPASSRLS;
      END IF;`,
  )
  .join('\n      ')

const SUMS = `sum(responses) AS responses, sum(input) AS input, sum(cache_read) AS cache_read,
      sum(cache_write_5m + cache_write_1h) AS cache_write, sum(output) AS output, sum(reasoning) AS reasoning`

/** Sessions that two machines have, and responses that two sessions hold, are in here once: what is not settled is not in here. */
const SLOTS = `SELECT u.*, s.person, s.repo, s.domain, s.flavor,
      (timestamp 'epoch' + u.slot * interval '${SLOT_MS / 1000} seconds')::date AS day
      FROM recollect.usage_slots u JOIN recollect.sessions s USING (session_uid, team, host_id)
      WHERE u.slot >= 0 AND s.is_settled`

/**
 * Groups of a day by who worked in them. Those of too few people stand together, with the smallest of the others: otherwise they
 * were what a total has more. A day of too few people is left out.
 */
const folded = (name: string, column: string): string => `
    CREATE VIEW recollect.${name} AS
    WITH slots AS (${SLOTS}),
    groups AS (
      SELECT team, day, coalesce(${column}, '') AS ${column}, count(DISTINCT person) AS people, ${SUMS}
      FROM slots GROUP BY team, day, coalesce(${column}, '')
    ),
    ranked AS (
      SELECT g.*, row_number() OVER (PARTITION BY team, day ORDER BY people, ${column}) AS place,
        count(*) FILTER (WHERE people < ${FEWEST_PEOPLE}) OVER (PARTITION BY team, day) AS few FROM groups g
    )
    SELECT r.day, CASE WHEN few > 0 AND place <= few + 1 THEN '(fewer than five people)' ELSE ${column} END AS ${column},
      ${SUMS.replaceAll('cache_write_5m + cache_write_1h', 'cache_write')}
    FROM ranked r WHERE EXISTS (SELECT 1 FROM slots s WHERE s.team = r.team AND s.day = r.day
      HAVING count(DISTINCT s.person) >= ${FEWEST_PEOPLE})
    GROUP BY 1, 2;`

/** With the columns as people see them in docs/fleet.md. */
const VIEWS = {
  usage_by_day: `
    CREATE VIEW recollect.usage_by_day AS
    SELECT day, ${SUMS}, count(DISTINCT person) AS people FROM (${SLOTS}) slots
    GROUP BY team, day HAVING count(DISTINCT person) >= ${FEWEST_PEOPLE};`,
  usage_by_repo: folded('usage_by_repo', 'repo'),
  usage_by_model: folded('usage_by_model', 'model'),
  usage_by_agent: folded('usage_by_agent', 'flavor'),
  outcomes_by_day: `
    CREATE VIEW recollect.outcomes_by_day AS
    WITH counted AS (
      SELECT team, (timestamp 'epoch' + started_at * interval '1 millisecond')::date AS day, outcome, person, errors, turns
      FROM recollect.sessions WHERE is_shown AND relation <> 'subagent' AND NOT is_helper AND started_at IS NOT NULL
    )
    SELECT day, outcome, count(*) AS sessions, sum(turns) AS turns, sum(errors) AS errors FROM counted c
    WHERE EXISTS (SELECT 1 FROM counted o WHERE o.team = c.team AND o.day = c.day HAVING count(DISTINCT o.person) >= ${FEWEST_PEOPLE})
    GROUP BY team, day, outcome;`,
  recurring_failures: `
    CREATE VIEW recollect.recurring_failures AS
    SELECT f.fingerprint, min(f.tool) AS tool, sum(f.count) AS failures, count(*) AS sessions,
      count(*) FILTER (WHERE f.is_mended) AS mended_sessions, count(DISTINCT s.repo) AS repos,
      timestamp 'epoch' + min(f.first_at) * interval '1 millisecond' AS first_seen,
      timestamp 'epoch' + max(f.last_at) * interval '1 millisecond' AS last_seen
    FROM recollect.failures f JOIN recollect.sessions s USING (session_uid, team, host_id)
    WHERE s.is_shown GROUP BY f.team, f.fingerprint
    HAVING count(*) > 1 AND count(DISTINCT s.person) >= ${FEWEST_PEOPLE};`,
} as const

/** Of a day what fewer than five people did is left out, and one larger part beside it: as the server answers (`withoutFew`). */
export const outcomesOfFew = {
  name: 'outcomes of few people',
  sql: `
    CREATE OR REPLACE VIEW recollect.outcomes_by_day AS
    WITH counted AS (
      SELECT team, (timestamp 'epoch' + started_at * interval '1 millisecond')::date AS day, outcome, person, errors, turns
      FROM recollect.sessions WHERE is_shown AND relation <> 'subagent' AND NOT is_helper AND started_at IS NOT NULL
    ),
    parts AS (
      SELECT team, day, outcome, count(*) AS sessions, sum(turns) AS turns, sum(errors) AS errors, count(DISTINCT person) AS people
      FROM counted GROUP BY team, day, outcome
    ),
    ranked AS (
      SELECT p.*, row_number() OVER (PARTITION BY team, day ORDER BY people, outcome) AS place,
        count(*) FILTER (WHERE people < ${FEWEST_PEOPLE}) OVER (PARTITION BY team, day) AS few FROM parts p
    )
    SELECT day, outcome, sessions, turns, errors FROM ranked WHERE few = 0 OR place > few + 1;
    `,
}

const MINE = '(SELECT r.team FROM recollect.readers r WHERE r.login = session_user)'

export const viewsMigration = (application: string): { name: string; sql: string } => ({
  name: 'views for dashboards',
  sql: `
    DO $$ BEGIN
      ${ROLES}
      EXECUTE format('GRANT ${VIEWS_ROLE} TO %I', current_user);
    END $$;
    CREATE TABLE recollect.readers (login text PRIMARY KEY, team text NOT NULL REFERENCES recollect.teams);
    GRANT SELECT ON recollect.readers TO ${VIEWS_ROLE};
    -- The team that the application names in a transaction is nobody else's to name.
    ${ALL_TABLES.map((table) => `ALTER POLICY of_team ON recollect.${table} TO ${application};`).join('\n    ')}
    ${READ_TABLES.map(
      (
        table,
      ) => `CREATE POLICY of_reader ON recollect.${table} FOR SELECT TO ${VIEWS_ROLE} USING (team = ${MINE});
    GRANT SELECT ON recollect.${table} TO ${VIEWS_ROLE};`,
    ).join('\n    ')}
    GRANT USAGE ON SCHEMA recollect TO ${READER_ROLE};
    GRANT USAGE, CREATE ON SCHEMA recollect TO ${VIEWS_ROLE};
    ${Object.values(VIEWS).join('\n    ')}
    ${Object.keys(VIEWS)
      .map(
        (name) => `ALTER VIEW recollect.${name} OWNER TO ${VIEWS_ROLE};
    GRANT SELECT ON recollect.${name} TO ${READER_ROLE};`,
      )
      .join('\n    ')}
    REVOKE CREATE ON SCHEMA recollect FROM ${VIEWS_ROLE};
    `,
})
