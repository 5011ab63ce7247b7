// A PostgreSQL of its own for a benchmark, and a team server over it as its users run it. Both are gone when it ends.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const CLI = fileURLToPath(new URL('../../dist/cli.cjs', import.meta.url))
const BIN = ['18', '17', '16', '15']
  .map((version) => `/usr/lib/postgresql/${version}/bin`)
  .find((path) => existsSync(join(path, 'initdb')))
if (BIN === undefined) throw new Error("no PostgreSQL is installed here (Debian's package postgresql)")
const isRoot = process.getuid?.() === 0
const AS = isRoot ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups'] : []

const words = (program, rest) => [...AS, join(BIN, program), ...rest]
function run(program, rest, input) {
  const [command, ...others] = words(program, rest)
  return execFileSync(command, others, { encoding: 'utf8', cwd: '/', input, maxBuffer: 1 << 28 })
}

/** Larger than Postgres' defaults, which are for small machines. */
const SETTINGS = `
listen_addresses = '127.0.0.1'
shared_buffers = 2GB
effective_cache_size = 8GB
work_mem = 64MB
maintenance_work_mem = 1GB
max_wal_size = 8GB
random_page_cost = 1.1
dynamic_shared_memory_type = mmap
`
/** Until all is there: a cluster that dies meanwhile is made anew. */
const LOADING = 'fsync = off\nfull_page_writes = off\nwal_level = minimal\nmax_wal_senders = 0\n'

export class Cluster {
  static async start() {
    const cluster = new Cluster()
    cluster.parent = mkdtempSync(join(tmpdir(), 'recollect-bench-fleet-'))
    process.on('exit', () => cluster.stop())
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130))
    cluster.directory = join(cluster.parent, 'data')
    mkdirSync(cluster.directory, { mode: 0o700 })
    chmodSync(cluster.parent, 0o755)
    if (isRoot) execFileSync('chown', ['postgres:postgres', cluster.directory, cluster.parent])
    cluster.port = await freePort()
    run('initdb', ['-D', cluster.directory, '-U', 'postgres', '--auth=trust', '--no-sync', '-E', 'UTF8'])
    cluster.configure(
      `${SETTINGS}${LOADING}port = ${cluster.port}\nunix_socket_directories = '${cluster.directory}'\n`,
    )
    cluster.control('start')
    return cluster
  }

  get url() {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`
  }

  configure(settings) {
    appendFileSync(join(this.directory, 'postgresql.conf'), settings)
  }

  control(what, ...rest) {
    run('pg_ctl', ['-D', this.directory, '-w', '-t', '600', '-l', join(this.directory, 'log'), ...rest, what])
  }

  /** As a server that keeps what it says it has. */
  keepFromNow() {
    this.configure('fsync = on\nfull_page_writes = on\nwal_level = replica\n')
    this.control('restart')
  }

  get #address() {
    return [
      '-h',
      '127.0.0.1',
      '-p',
      `${this.port}`,
      '-U',
      'postgres',
      '-d',
      'postgres',
      '-v',
      'ON_ERROR_STOP=1',
      '-qAt',
    ]
  }

  sql(text) {
    return run('psql', this.#address, text).trim()
  }

  /** Beside each other. */
  async sqlAll(texts) {
    const [command, ...rest] = words('psql', this.#address)
    const work = texts.map(async (text) => {
      const child = spawn(command, [...rest, '-c', text], {
        cwd: '/',
        stdio: ['ignore', 'ignore', 'inherit'],
      })
      const [code] = await once(child, 'exit')
      if (code !== 0) throw new Error(text)
    })
    await Promise.all(work)
  }

  /** Seconds of CPU of all its processes since it was started. */
  cpu() {
    const postmaster = readFileSync(join(this.directory, 'postmaster.pid'), 'utf8').split('\n')[0]
    let total = 0
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      const fields = statOf(pid)
      if (pid === postmaster) total += fields.own + fields.ofChildren
      else if (fields?.parent === postmaster) total += fields.own
    }
    return total
  }

  stop() {
    if (!existsSync(this.parent)) return
    const [command, ...rest] = words('pg_ctl', ['-D', this.directory, '-m', 'immediate', '-w', 'stop'])
    spawnSync(command, rest, { cwd: '/' })
    rmSync(this.parent, { recursive: true, force: true })
  }
}

const TICKS = 100

/** Of a process, without its name, which may hold blanks. */
function statOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const seconds = (...at) => at.reduce((sum, one) => sum + Number(fields[one]), 0) / TICKS
    return { parent: fields[1], own: seconds(11, 12), ofChildren: seconds(13, 14) }
  } catch {
    return undefined
  }
}

async function freePort() {
  const server = createServer()
  await new Promise((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address()
  await new Promise((done) => server.close(done))
  return port
}

/** A team server as a process of its own. */
export class Server {
  static async start(cluster) {
    const server = new Server()
    server.env = {
      PATH: process.env.PATH,
      HOME: '/nonexistent',
      RECOLLECT_HOME: join(cluster.parent, 'server'),
      DATABASE_URL: cluster.url,
    }
    server.run('serve', 'migrate')
    server.child = spawn(process.execPath, [CLI, 'serve', '--port', `${await freePort()}`], {
      env: server.env,
      stdio: ['ignore', 'pipe', process.env.BENCH_LOG ? 'inherit' : 'ignore'],
    })
    process.on('exit', () => server.child.kill('SIGKILL'))
    const [said] = await once(server.child.stdout, 'data')
    server.url = String(said).trim()
    return server
  }

  run(...rest) {
    return execFileSync(process.execPath, [CLI, ...rest], {
      env: this.env,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', process.env.BENCH_LOG ? 'inherit' : 'ignore'],
    })
  }

  async token(team, person, role = 'device') {
    const token = this.run(
      'serve',
      'token',
      'create',
      '--team',
      team,
      '--person',
      person,
      '--role',
      role,
    ).trim()
    // Nothing was heard meanwhile, not even that a connection is closed that would be used again.
    await new Promise((done) => setTimeout(done, 500))
    return token
  }

  async ask(token, path, options = {}) {
    const response = await fetch(this.url + path, {
      ...options,
      headers: { authorization: `Bearer ${token}` },
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`)
    return JSON.parse(text)
  }

  put(token, push) {
    return this.ask(token, '/v1/sessions', { method: 'PUT', body: JSON.stringify(push) })
  }

  cpu() {
    return statOf(this.child.pid).own
  }

  async stop() {
    const gone = once(this.child, 'exit')
    this.child.kill('SIGTERM')
    await gone
  }
}
