// Sessions of real shape, as many as are wanted: those of the fixtures (and of the corpora, where they are) are swept, pushed to a
// team of their own, and drawn from at random, each time with a name, person, machine, repository and time of its own. What a
// session holds (responses, slots, failures, digest, words) stays that of a real one.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CLI } from './cluster.mjs'

export const TEAM = 'bench'
export const PEOPLE = 500
export const DAYS = 100
export const END = Date.UTC(2026, 10, 16)
const SLOT_MS = 900_000

const root = fileURLToPath(new URL('../..', import.meta.url))
/** Where an agent keeps its sessions below a home; the corpora lie as they were published. */
const PLACES = { claude: '.claude/projects', codex: '.codex/sessions', grok: '.grok/sessions' }

/** What machines would push of the sessions that are packed in this repository and beside it. */
export function templates(directory, printed) {
  if (printed !== undefined) return shapesIn(readFileSync(printed, 'utf8'))
  const [home, memory] = [join(directory, 'home'), join(directory, 'memory')]
  for (const path of [home, memory]) mkdirSync(path, { recursive: true })
  let settings = ''
  for (const [flavor, place] of Object.entries(PLACES)) {
    const roots = []
    const unpack = (archive) => {
      if (!existsSync(archive)) return undefined
      const into = join(directory, `from-${roots.length}-${flavor}`)
      mkdirSync(into)
      execFileSync('tar', ['-xzf', archive, '-C', into])
      return join(into, flavor)
    }
    const scenarios = unpack(join(root, 'test', 'fixtures', 'agents', `${flavor}.tgz`))
    roots.push(
      ...readdirSync(scenarios)
        .map((one) => join(scenarios, one, place))
        .filter(existsSync),
    )
    const strangers = unpack(join(root, '..', 'shared', 'corpora', `${flavor}.tar.gz`))
    if (strangers) roots.push(strangers)
    settings += `[sources.${flavor}]\nroots = ${JSON.stringify(roots)}\n`
  }
  writeFileSync(join(memory, 'config.toml'), settings)
  const run = (...words) =>
    execFileSync(process.execPath, [CLI, ...words], {
      env: { PATH: process.env.PATH, HOME: home, RECOLLECT_HOME: memory },
      encoding: 'utf8',
      maxBuffer: 1 << 28,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
  run('sweep')
  return shapesIn(run('push', '--dry-run', '--level', 'digest'))
}

const shapesIn = (text) =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).session)

/** One team with all of them; `recollect` sees no difference to sessions that were pushed. */
export async function fill(cluster, server, shapes, sessions) {
  const token = await server.token('templates', 'nobody')
  for (const shape of shapes) await server.put(token, shape)
  // Asked for once, so that responses are counted where they have to be.
  await server.ask(await server.token('templates', 'nobody', 'lead'), '/v1/usage')
  cluster.sql(`INSERT INTO recollect.teams (team, created_at) VALUES ('${TEAM}', 0);
    CREATE SCHEMA bench;
    CREATE TABLE bench.shapes AS SELECT row_number() OVER (ORDER BY session_uid) - 1 AS t, session_uid, host_id,
      coalesce(started_at, 0) / ${SLOT_MS} AS slot FROM recollect.sessions WHERE team = 'templates';
    SELECT setseed(0.22);
    CREATE TABLE bench.draws AS SELECT n, t, slot_now - slot AS shift, x.session_uid AS shape, x.host_id AS shape_host,
      split_part(x.session_uid, ':', 1) || ':' || md5('s' || n)::uuid AS session_uid,
      split_part(x.session_uid, ':', 1) || ':' || md5('s' || greatest(n - 7, 1))::uuid AS kin,
      'p-' || person AS person, left(md5('h' || person || machine), 16) AS host_id, 'host-' || person || machine AS host_name,
      'repo-' || floor(200 * power(repo, 3)) AS repo, rare FROM (
        SELECT n, floor(random() * ${shapes.length}) AS t, floor(random() * ${PEOPLE})::int AS person, (random() > 0.8)::int AS machine,
          random() AS repo, ${Math.floor(END / SLOT_MS)} - floor(random() * ${DAYS * 96})::bigint AS slot_now,
          floor(100000 * power(random(), 2)) AS rare FROM generate_series(1, ${sessions}) n
      ) d JOIN bench.shapes x USING (t);
    ANALYZE bench.draws; ANALYZE bench.shapes`)
  const again = dropIndexes(cluster)
  await cluster.sqlAll(Object.entries(COLUMNS).map(insertion))
  await cluster.sqlAll(again)
  cluster.sql('SET client_min_messages = warning; DROP SCHEMA bench CASCADE; VACUUM ANALYZE')
}

const shifted = (column) => `${column} + d.shift * ${SLOT_MS}`
const KEY = { session_uid: 'd.session_uid', team: `'${TEAM}'`, host_id: 'd.host_id' }
const same = (names) => Object.fromEntries(names.split(' ').map((name) => [name, `x.${name}`]))
const TOKENS = 'input cache_read cache_write_5m cache_write_1h output reasoning'

const COLUMNS = {
  sessions: {
    ...KEY,
    ...same(
      'level flavor domain model relation is_helper outcome turns retries errors events total_tokens title digest is_settled',
    ),
    generation: '1::bigint',
    revision: "md5('a' || d.n) || md5('b' || d.n)",
    person: 'd.person',
    user_name: 'd.person',
    host_name: 'd.host_name',
    repo: 'd.repo',
    started_at: shifted('x.started_at'),
    ended_at: shifted('x.ended_at'),
    words: "x.words || array_to_tsvector(ARRAY['rare' || d.rare])",
    pushed_at: shifted('coalesce(x.ended_at, 0)'),
  },
  ledger: {
    ...KEY,
    ...same(`model ${TOKENS} responses is_turn reported_cost claims is_counted`),
    response_id: 'md5(x.response_id || d.n)',
    at: shifted('x.at'),
  },
  usage_slots: {
    ...KEY,
    ...same(`model prompt_over responses reported ${TOKENS} reported_cost domain flavor`),
    person: 'd.person',
    repo: 'd.repo',
    host_name: 'd.host_name',
    slot: 'CASE WHEN x.slot < 0 THEN x.slot ELSE (x.slot + d.shift)::int END',
  },
  edges: { ...KEY, ...same('kind'), parent_uid: 'd.kin', at: shifted('x.at') },
  failures: {
    ...KEY,
    ...same('tool count is_mended is_shown sample mend'),
    person: 'd.person',
    repo: 'd.repo',
    seen_at: shifted('x.seen_at'),
    fingerprint: "x.fingerprint || '-' || d.n % 50",
    first_at: shifted('x.first_at'),
    last_at: shifted('x.last_at'),
  },
}

// Not by COPY: a digest that is compressed stays so.
const insertion = ([table, columns]) => `INSERT INTO recollect.${table} (${Object.keys(columns).join(', ')})
  SELECT ${Object.values(columns).join(', ')} FROM bench.draws d JOIN recollect.${table} x
  ON x.session_uid = d.shape AND x.team = 'templates' AND x.host_id = d.shape_host`

/** Indexes are made once all rows are there; returns the statements that make them. */
function dropIndexes(cluster) {
  const tables = Object.keys(COLUMNS).map((name) => `'recollect.${name}'::regclass`)
  const keys = cluster.sql(`SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname),
    format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid))
    FROM pg_constraint WHERE contype = 'p' AND conrelid IN (${tables})`)
  const rest = cluster.sql(`SELECT format('DROP INDEX %s', indexrelid::regclass), pg_get_indexdef(indexrelid)
    FROM pg_index WHERE NOT indisprimary AND indrelid IN (${tables})`)
  const pairs = `${keys}\n${rest}`.split('\n').map((line) => line.split('|'))
  for (const [drop] of pairs) cluster.sql(drop)
  return pairs.map(([, make]) => make)
}
