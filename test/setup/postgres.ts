// Throw-away clusters of PostgreSQL on loopback ports, as Debian's package has it: a primary, and standbys of it. Run by an
// ordinary user: Postgres refuses root.
import { execFile, execFileSync, spawnSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll } from 'vitest'
import { temporary } from './temporary.ts'

const BIN = ['18', '17', '16', '15']
  .map((version) => `/usr/lib/postgresql/${version}/bin`)
  .find((path) => existsSync(join(path, 'initdb')))
const IS_ROOT = process.getuid?.() === 0
const AS_POSTGRES = IS_ROOT ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups'] : []

/** Whether clusters can be run here: the programs are there, and the user that runs them can reach the temporary directory. */
export const HAS_POSTGRES =
  BIN !== undefined &&
  (!IS_ROOT || spawnSync('setpriv', [...AS_POSTGRES.slice(1), 'ls', tmpdir()]).status === 0)

const OPTIONS = {
  encoding: 'utf8',
  cwd: '/',
  stdio: ['ignore', 'pipe', 'pipe'],
  env: { PATH: process.env['PATH'], LC_ALL: 'C' },
} satisfies Parameters<typeof execFileSync>[2]

/** As the user that may run them. */
function words(program: string, rest: readonly string[]): [string, string[]] {
  const [command, ...others] = [...AS_POSTGRES, join(BIN as string, program), ...rest]
  return [command as string, others]
}

const run = (program: string, ...rest: string[]): string => execFileSync(...words(program, rest), OPTIONS)

export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  await new Promise((done) => server.close(done))
  return port
}

const SETTINGS = `
listen_addresses = '127.0.0.1'
shared_buffers = 32MB
max_connections = 60
max_wal_senders = 10
wal_level = replica
hot_standby = on
dynamic_shared_memory_type = mmap
wal_retrieve_retry_interval = 200ms
`

const running = new Set<Cluster>()
/** Also where a test failed before it could: they are daemons and would outlive it. */
export function stopClusters(): void {
  for (const cluster of running) cluster.stop()
}
afterAll(stopClusters)

export class Cluster {
  readonly directory: string
  readonly port: number

  private constructor(directory: string, port: number) {
    this.directory = directory
    this.port = port
    running.add(this)
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`
  }

  static async start(settings = ''): Promise<Cluster> {
    const cluster = new Cluster(newDirectory(), await freePort())
    run('initdb', '-D', cluster.directory, '-U', 'postgres', '--auth=trust', '--no-sync', '-E', 'UTF8')
    cluster.#configure(SETTINGS + settings)
    cluster.up()
    return cluster
  }

  /** A copy that follows. */
  async standby(name: string): Promise<Cluster> {
    const other = new Cluster(newDirectory(), await freePort())
    rmSync(other.directory, { recursive: true })
    run(
      'pg_basebackup',
      '-h',
      '127.0.0.1',
      '-p',
      `${this.port}`,
      '-U',
      'postgres',
      '-D',
      other.directory,
      '--no-sync',
    )
    // Not by `-R`: that writes where it overrules the name, and a primary waits for ever for a standby that is called otherwise.
    writeFileSync(join(other.directory, 'standby.signal'), '')
    other.#configure(
      `primary_conninfo = 'host=127.0.0.1 port=${this.port} user=postgres application_name=${name}'\nsynchronous_standby_names = ''\n`,
    )
    other.up()
    return other
  }

  #configure(settings: string): void {
    appendFileSync(
      join(this.directory, 'postgresql.conf'),
      `${settings}port = ${this.port}\nunix_socket_directories = '${this.directory}'\n`,
    )
  }

  up(): void {
    run('pg_ctl', '-D', this.directory, '-w', '-t', '60', '-l', join(this.directory, 'log'), 'start')
  }

  /** As kill -9 of every process of it: none says a word to anybody. */
  kill(): void {
    const lines = readFileSync(join(this.directory, 'postmaster.pid'), 'utf8').split('\n')
    const processes = execFileSync('ps', ['-A', '-o', 'ppid=,pid='], { encoding: 'utf8' }).split('\n')
    const children = processes
      .map((line) => line.trim().split(/\s+/))
      .filter(([parent]) => parent === lines[0])
    for (const pid of [lines[0], ...children.map(([, pid]) => pid)].map(Number)) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // It went by itself.
      }
    }
    // What it would have given back when it starts again.
    const memory = lines[6]?.trim().split(/\s+/)[1]
    if (memory !== undefined) spawnSync('ipcrm', ['-m', memory])
  }

  /** A standby hears nothing more of its primary. */
  cutOff(): void {
    this.set("primary_conninfo = ''")
    this.until('SELECT count(*) = 0 FROM pg_stat_wal_receiver')
  }

  /** Waits until the answer is yes. */
  until(question: string): void {
    for (let tries = 0; this.sql(question).trim() !== 't'; tries++) {
      if (tries === 300) throw new Error(`never true: ${question}`)
      spawnSync('sleep', ['0.05'])
    }
  }

  /** Others go on meanwhile. */
  async promote(): Promise<void> {
    await promisify(execFile)(...words('pg_ctl', ['-D', this.directory, '-w', 'promote']), OPTIONS)
  }

  set(setting: string): void {
    appendFileSync(join(this.directory, 'postgresql.conf'), `${setting}\n`)
    run('pg_ctl', '-D', this.directory, 'reload')
  }

  sql(text: string, role = 'postgres', database = 'postgres'): string {
    return run(
      'psql',
      '-h',
      '127.0.0.1',
      '-p',
      `${this.port}`,
      '-U',
      role,
      '-d',
      database,
      '-v',
      'ON_ERROR_STOP=1',
      '-At',
      '-c',
      text,
    )
  }

  dump(): string {
    return run('pg_dump', '-h', '127.0.0.1', '-p', `${this.port}`, '-U', 'postgres', 'postgres', '--inserts')
  }

  stop(): void {
    running.delete(this)
    spawnSync(...words('pg_ctl', ['-D', this.directory, '-m', 'immediate', '-w', 'stop']), OPTIONS)
    rmSync(this.directory, { recursive: true, force: true })
  }
}

function newDirectory(): string {
  const parent = temporary('postgres')
  const directory = join(parent, 'data')
  mkdirSync(directory, { mode: 0o700 })
  chmodSync(parent, 0o755)
  if (IS_ROOT) execFileSync('chown', ['postgres:postgres', directory, parent])
  return directory
}
