// Every question that a team server answers, asked over HTTP as its users ask it.
import { END, TEAM } from './fill.mjs'

function asked(cluster) {
  const uids = cluster
    .sql(
      `SELECT session_uid FROM recollect.sessions TABLESAMPLE SYSTEM (1) WHERE team = '${TEAM}' AND is_shown AND digest IS NOT NULL LIMIT 200`,
    )
    .split('\n')
  const forks = cluster
    .sql(`SELECT session_uid FROM recollect.edges WHERE team = '${TEAM}' LIMIT 200`)
    .split('\n')
  const day = 86_400_000
  // Any week of the time there is.
  const week = (n) => END - ((n % 10) + 1) * 7 * day
  const span = (n, days) => `since=${week(n)}&until=${week(n) + days * day}`
  const iso = (time) => new Date(time).toISOString()
  const at = (list, n) => encodeURIComponent(list[(n * 37) % list.length])
  return {
    'sessions, newest 50': () => '/v1/sessions?limit=50',
    'sessions of a week, by tokens': (n) => `/v1/sessions?limit=50&sort=tokens&${span(n, 7)}`,
    'sessions of a repository': (n) => `/v1/sessions?limit=50&repo=repo-${n * 7}`,
    'sessions of a machine': (n) => `/v1/sessions?limit=50&host=host-${n * 11}0`,
    'sessions, by tokens, of all time': () => '/v1/sessions?limit=50&sort=tokens',
    'search, a rare word': (n) => `/v1/search?limit=50&q=rare${n * 1000 + 17}`,
    'search, a common word': (n) => `/v1/search?limit=50&q=${['test', 'file', 'error', 'run'][n % 4]}`,
    'usage of a week by day': (n) => `/v1/usage?by=day&${span(n, 7)}`,
    'usage of a week by repo': (n) => `/v1/usage?by=repo&${span(n, 7)}`,
    'usage of all time by month': () => '/v1/usage?by=month',
    'usage of all time by repo': () => '/v1/usage?by=repo',
    'usage of all time by model': () => '/v1/usage?by=model',
    'outcomes of a week': (n) => `/v1/outcomes?${span(n, 7)}`,
    'patterns of a week': (n) => `/v1/patterns?since=${END - 7 * day - (n % 5) * day}&limit=50`,
    'patterns of all time': () => '/v1/patterns?limit=50',
    'retro of a week': (n) => `/v1/retro?${span(n, 7)}&before=${week(n) - 7 * day}`,
    'digest by uid': (n) => `/v1/digest?uid=${at(uids, n)}`,
    'digest by a short id': (n) =>
      `/v1/digest?uid=${decodeURIComponent(at(uids, n)).split(':')[1].slice(0, 12)}`,
    lineage: (n) => `/v1/lineage?uid=${at(forks, n)}`,
    audit: () => '/v1/audit',
    'page: newest 100 sessions, facets': () => '/api/sessions?limit=100',
    'page: sessions of a week': (n) =>
      `/api/sessions?limit=100&since=${iso(week(n))}&until=${iso(week(n) + 7 * day)}`,
    'page: overview of 30 days': () => '/api/overview?days=30',
    'page: a session': (n) => `/api/sessions/${at(uids, n)}`,
  }
}

export async function questions(cluster, server, rounds, only = '') {
  const token = await server.token(TEAM, 'p-0', 'lead')
  // What was pushed is settled by the first who asks.
  await server.ask(token, '/v1/usage?by=month')
  console.log(`\n${rounds} of each, one at a time (ms):\n`)
  console.log('| question | p50 | p95 | CPU |\n|---|---:|---:|---:|')
  for (const [name, path] of Object.entries(asked(cluster)).filter(([name]) => name.includes(only))) {
    try {
      await server.ask(token, path(0))
    } catch (error) {
      console.log(`| ${name} | ${error.message} | | |`)
      continue
    }
    const times = []
    const cpu = server.cpu() + cluster.cpu()
    for (let n = 0; n < rounds; n++) {
      const at = performance.now()
      await server.ask(token, path(n))
      times.push(performance.now() - at)
    }
    times.sort((a, b) => a - b)
    const part = (share) => times[Math.min(times.length - 1, Math.floor(times.length * share))].toFixed(0)
    const spent = ((server.cpu() + cluster.cpu() - cpu) / rounds) * 1000
    console.log(`| ${name} | ${part(0.5)} | ${part(0.95)} | ${spent.toFixed(0)} |`)
  }
}
