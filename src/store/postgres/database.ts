// The connections to Postgres: the owner's, for migrations and upkeep, and the application's, which sees one team at a time.
// What fails for a moment (a primary that died, two that wanted the same row) is tried again: every step here can come twice.
import type pg from 'pg'
import { errnoOf, RecollectError, wordsOf } from '../../errors.ts'
import { APPLICATION_ROLE, FLEET_MIGRATIONS, PREPARE } from './schema.ts'

export type Connection = Pick<pg.ClientBase, 'query'>

export interface FleetOptions {
  /** As in DATABASE_URL; several hosts may stand in it, the one that takes writes is used. */
  url: string
  /** Connections at a time. */
  connections?: number
  /** How long a statement may take; 0 for as long as it does. A commit that waits for a standby is not bounded by Postgres, but is here. */
  timeoutMs?: number
}

const TRIES = 5
/** Serialization, deadlock, connection, shutdown, too many connections, read-only (a standby that was the primary). */
const AGAIN = /^(?:40001|40P01|08...|57P0[1-3]|53300|25006)$/
const LOST = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EHOSTUNREACH',
  'ENETUNREACH',
])

/** It follows another one: writes are refused there, and what it knows may be old. */
class Standby extends RecollectError {
  constructor() {
    super('UNREACHABLE', 'the host is a standby', {
      where: 'DATABASE_URL',
      hint: 'promote it, or name the primary',
    })
  }
}

/** The driver's words: the host says nothing, or waits for a standby that is not there. */
const isSilence = (error: unknown): boolean => wordsOf(error).includes('Query read timeout')

const isPassing = (error: unknown): boolean => {
  if (error instanceof Standby) return true
  const code = errnoOf(error) ?? ''
  return (
    AGAIN.test(code) ||
    LOST.has(code) ||
    /Connection terminated|timeout exceeded|not queryable/.test(wordsOf(error))
  )
}

/** Postgres, as a team server uses it. */
export class Fleet {
  readonly #pools: readonly pg.Pool[]
  /** The one that took writes last. */
  #at = 0

  private constructor(pools: readonly pg.Pool[]) {
    this.#pools = pools
  }

  /** Loads the driver: nothing else in this program does. */
  static async open({ url, connections = 8, timeoutMs = 60_000 }: FleetOptions): Promise<Fleet> {
    const { default: driver } = await import('pg')
    // Counters are far below 2^53.
    driver.types.setTypeParser(driver.types.builtins.INT8, Number)
    driver.types.setTypeParser(driver.types.builtins.NUMERIC, Number)
    const pools = hostsIn(url).map((connectionString) => {
      const pool = new driver.Pool({
        connectionString,
        max: connections,
        connectionTimeoutMillis: 5000,
        idleTimeoutMillis: 30_000,
        statement_timeout: timeoutMs,
        // Longer, so that Postgres is the first to say so where it can.
        query_timeout: Math.round(timeoutMs * 1.1),
        keepAlive: true,
        application_name: 'recollect',
      })
      // An idle connection that breaks is replaced by the next question.
      pool.on('error', () => undefined)
      return pool
    })
    return new Fleet(pools)
  }

  /** One transaction that sees the rows of one team and no other. */
  inTeam<T>(team: string, work: (connection: Connection) => Promise<T>): Promise<T> {
    return this.#transaction(async (connection) => {
      await connection.query(`SET LOCAL ROLE ${APPLICATION_ROLE}`)
      await connection.query("SELECT set_config('recollect.team', $1, true)", [team])
      return await work(connection)
    })
  }

  /** One transaction as the owner of the tables: upkeep, from the command line. */
  asOwner<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    return this.#transaction(work)
  }

  async #transaction<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#once(work)
      } catch (error) {
        if (error instanceof RecollectError && !(error instanceof Standby)) throw error
        if (isSilence(error)) {
          // Enough was waited: whoever asks next begins with another host.
          this.#at++
          throw unreachable(error)
        }
        if (!isPassing(error)) throw failed(error)
        if (attempt === TRIES * this.#pools.length) throw unreachable(error)
        this.#at++
        await new Promise((done) =>
          setTimeout(done, Math.min(1000, 50 * 2 ** attempt) * (0.5 + Math.random())),
        )
      }
    }
  }

  async #once<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const connection = await (this.#pools[this.#at % this.#pools.length] as pg.Pool).connect()
    let broken: Error | undefined
    const onError = (error: Error): void => {
      broken = error
    }
    connection.on('error', onError)
    try {
      const [, { rows }] = (await connection.query(
        'BEGIN; SELECT pg_is_in_recovery() AS is_standby',
      )) as unknown as [unknown, pg.QueryResult<{ is_standby: boolean }>]
      if (rows[0]?.is_standby) throw new Standby()
      const result = await work(connection)
      await connection.query('COMMIT')
      return result
    } catch (error) {
      // A question more would only wait behind the one that is not answered.
      if (isSilence(error)) broken = error as Error
      else
        await connection.query('ROLLBACK').catch((cause: Error) => {
          broken = cause
        })
      throw error
    } finally {
      connection.off('error', onError)
      // A connection that may be inside a transaction is not given to anybody else.
      connection.release(broken)
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#pools.map((pool) => pool.end()))
  }
}

/** `postgres://user@one:5432,two:5432/database`: one address for each host, as libpq reads it. */
function hostsIn(url: string): string[] {
  const start = url.indexOf('://') + '://'.length
  const length = url.slice(start).search(/[/?]/)
  const end = length === -1 ? url.length : start + length
  const from = start + url.slice(start, end).lastIndexOf('@') + 1
  return url
    .slice(from, end)
    .split(',')
    .map((host) => `${url.slice(0, from)}${host}${url.slice(end)}`)
}

const STOPPED = '57014'

const failed = (cause: unknown): RecollectError => {
  if (errnoOf(cause) === STOPPED)
    return new RecollectError('BAD_INPUT', 'the question took longer than a statement may', {
      where: 'the request',
      cause,
      hint: 'ask for fewer days',
    })
  return new RecollectError('IO', 'the database refused what it was asked', {
    where: 'DATABASE_URL',
    cause,
    hint: 'run: recollect serve migrate --dry-run; if nothing is to be done, see the log of Postgres',
  })
}

const unreachable = (cause: unknown): RecollectError =>
  new RecollectError('UNREACHABLE', 'the database does not answer', {
    where: 'DATABASE_URL',
    cause,
    hint: 'is Postgres running, and does the address lead to the primary?',
  })

export interface MigrationStep {
  number: number
  name: string
  sql: string
}

/** What is still to be done to the database: with each step its mark, so that whoever runs the statements by hand has done it. */
export async function pendingMigrations(fleet: Fleet): Promise<MigrationStep[]> {
  const done = await fleet.asOwner(async (connection) => {
    const known = await connection.query("SELECT to_regclass('recollect.migrations') AS found")
    if (known.rows[0]?.found === null) return -1
    const { rows } = await connection.query(
      'SELECT coalesce(max(number), 0) AS last FROM recollect.migrations',
    )
    return rows[0].last as number
  })
  if (done > FLEET_MIGRATIONS.length)
    throw new RecollectError('OTHER_SCHEMA', `the database is of a newer recollect (step ${done})`, {
      where: 'DATABASE_URL',
      hint: 'update recollect on this server',
    })
  const steps = FLEET_MIGRATIONS.map(({ name, sql }, at) => ({
    number: at + 1,
    name,
    sql: `${sql}
    INSERT INTO recollect.migrations VALUES (${at + 1}, '${name}', (extract(epoch FROM now()) * 1000)::bigint);`,
  }))
  return [{ number: 0, name: 'the role of the application', sql: PREPARE }, ...steps].slice(done + 1)
}

/** Each step and its mark in one transaction: a kill leaves whole steps. */
export async function migrate(fleet: Fleet): Promise<MigrationStep[]> {
  const pending = await pendingMigrations(fleet)
  for (const step of pending) await fleet.asOwner((connection) => connection.query(step.sql))
  return pending
}
