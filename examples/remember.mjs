// A little program over the memory (docs/library.md): sweeps what agents left below a directory, then asks what was done,
// how sessions hang together, what it cost and what the last days come to.
// Usage: node examples/remember.mjs [directory]   (a home directory with agents' logs; the memory goes to <directory>/memory)
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const directory = resolve(process.argv[2] ?? mkdtempSync(join(tmpdir(), 'remember-')))

// library
import {
  ADAPTERS,
  Config,
  getDigest,
  lineageOf,
  listSessions,
  loadPrices,
  openMemory,
  periodOf,
  readOverrides,
  retroReport,
  storePaths,
  sweep,
  TimeZone,
  usageReport,
} from 'recollect'

const env = { HOME: directory, RECOLLECT_HOME: join(directory, 'memory') }
const config = new Config({ env })
const report = await sweep({ config, env, adapters: ADAPTERS })
console.log(`${report.newEventCount} new events`)

const prices = await loadPrices(readOverrides(config.get('prices'), config.get('price_aliases')))
const zone = new TimeZone('UTC')
const memory = openMemory(storePaths(config.home, config.get('store.db_path')))
try {
  for (const session of listSessions(memory)) {
    const { outcome, files } = getDigest(memory, session.session_uid)
    const { nodes } = lineageOf(memory, [session.session_uid], prices)
    console.log(session.session_uid, outcome, `${files.length} files`, `${nodes.length} in its tree`)
  }
  const { total } = usageReport(memory, { group: 'model', zone, prices })
  console.log(total.total_tokens, 'tokens,', total.cost_usd ?? 'unknown', 'USD')
  const period = periodOf({ week: true }, zone, Date.now())
  const { totals, failures } = retroReport(memory, { period, zone, prices })
  console.log(`last seven days: ${totals.sessions} sessions, ${failures.length} failures`)
} finally {
  memory.close()
}
// end library
