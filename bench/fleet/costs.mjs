// What a pushed session costs: room, and CPU of the server and of Postgres.
import { say } from '../measure.mjs'
import { DAYS, PEOPLE, TEAM } from './fill.mjs'

const CLIENTS = 8

export function sizes(cluster, sessions) {
  console.log(`\n${sessions} sessions of ${PEOPLE} people in ${DAYS} days, one team:\n`)
  console.log(
    '| table | rows per session | bytes of rows per session | bytes of indexes per session |\n|---|---:|---:|---:|',
  )
  const count = Number(cluster.sql('SELECT count(*) FROM recollect.sessions'))
  const rows =
    cluster.sql(`SELECT relname, reltuples::bigint, pg_table_size(oid), pg_indexes_size(oid) FROM pg_class
    WHERE relnamespace = 'recollect'::regnamespace AND relkind = 'r' AND reltuples > 100 ORDER BY pg_total_relation_size(oid) DESC`)
  const all = [0, 0, 0]
  for (const line of rows.split('\n')) {
    const [name, ...figures] = line.split('|')
    const each = figures.map((figure) => Number(figure) / count)
    for (const [at, figure] of each.entries()) all[at] += figure
    console.log(`| ${name} | ${each[0].toFixed(2)} | ${Math.round(each[1])} | ${Math.round(each[2])} |`)
  }
  console.log(`| all | ${all[0].toFixed(1)} | ${Math.round(all[1])} | ${Math.round(all[2])} |`)
}

/** Real pushes over HTTP, each of a new session. */
export async function ingest(cluster, server, shapes, pushed) {
  const tokens = []
  for (let at = 0; at < CLIENTS; at++) tokens.push(await server.token(TEAM, `pusher-${at}`))
  const wal = () => Number(cluster.sql("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')"))
  const before = { cpu: server.cpu(), postgres: cluster.cpu(), wal: wal(), at: performance.now() }
  let next = 0
  let rows = 0
  const client = async (token, number) => {
    for (let n = next++; n < pushed; n = next++) {
      const shape = shapes[(n * 37) % shapes.length]
      const uid = `${shape.session.flavor}:pushed-${n}`
      const ledger = shape.ledger.map((one) => ({ ...one, id: `${one.id}-${n}` }))
      rows += 1 + ledger.length + shape.failures.length + shape.edges.length
      await server.put(token, {
        ...shape,
        host: { id: String(number).padStart(16, '0'), name: `pusher-${number}` },
        session: { ...shape.session, uid },
        ledger,
      })
    }
  }
  await Promise.all(tokens.map(client))
  const seconds = (performance.now() - before.at) / 1000
  const [ours, theirs] = [server.cpu() - before.cpu, cluster.cpu() - before.postgres]
  console.log(`\n${pushed} sessions pushed by ${CLIENTS} clients:\n`)
  say('by the clock', `${(pushed / seconds).toFixed(0)} sessions/s, ${(rows / seconds).toFixed(0)} rows/s`)
  say(
    'by a core (server and Postgres)',
    `${(pushed / (ours + theirs)).toFixed(0)} sessions/s, ${(rows / (ours + theirs)).toFixed(0)} rows/s`,
  )
  say(
    'CPU of a session',
    `server ${((ours / pushed) * 1000).toFixed(1)} ms, Postgres ${((theirs / pushed) * 1000).toFixed(1)} ms`,
  )
  say('write-ahead log', `${((wal() - before.wal) / pushed / 1000).toFixed(1)} kB per session`)
}
