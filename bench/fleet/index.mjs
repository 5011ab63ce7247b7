// What one PostgreSQL gives a team server: the cost of a pushed session, the room it takes, and how long each question takes among
// many. From these docs/fleet.md reckons how large a server has to be. Times depend on the machine; CPU is told beside them.
//   npm run bench:fleet [-- --sessions 1000000]      (a million takes 25 GB of the temporary directory for a while)
// `--shapes FILE`: sessions as `recollect push --dry-run --level digest` prints them are drawn from, not those of this repository.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { option, say } from '../measure.mjs'
import { Cluster, Server } from './cluster.mjs'
import { ingest, sizes } from './costs.mjs'
import { fill, templates } from './fill.mjs'
import { questions } from './questions.mjs'

const SESSIONS = option('--sessions', 20_000)
const ROUNDS = option('--rounds', 20)
const PUSHED = option('--pushed', 1000)

const cluster = await Cluster.start()
const server = await Server.start(cluster)
const directory = join(cluster.parent, 'templates')
mkdirSync(directory)
const printed = process.argv.indexOf('--shapes')
const shapes = templates(directory, printed === -1 ? undefined : process.argv[printed + 1])
const mean = (of) => shapes.reduce((sum, shape) => sum + of(shape), 0) / shapes.length
say(
  'sessions drawn from',
  `${shapes.length} real ones; responses ${mean((one) => one.ledger.length).toFixed(1)}, failures ${mean((one) => one.failures.length).toFixed(1)}, body ${(mean((one) => JSON.stringify(one).length) / 1000).toFixed(1)} kB (means)`,
)
await fill(cluster, server, shapes, SESSIONS)
cluster.keepFromNow()
sizes(cluster, SESSIONS)
await ingest(cluster, server, shapes, PUSHED)
await questions(cluster, server, ROUNDS)
await server.stop()
process.exit(0)
