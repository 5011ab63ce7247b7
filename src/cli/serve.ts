// `recollect serve`: a team server, and what whoever runs it does to its database.
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { Config } from '../config.ts'
import { ROLES, type Role } from '../contract.ts'
import { RecollectError } from '../errors.ts'
import { ensureDirectory } from '../files/directory.ts'
import { type BlobStore, openBlobs } from '../fleet/blobs.ts'
import { hashPassword, readPeople } from '../fleet/server/guard.ts'
import { startFleetServer } from '../fleet/server/index.ts'
import { Oidc } from '../fleet/server/oidc.ts'
import { retainAll } from '../fleet/server/retain.ts'
import { createRedactor, loadRedactionKey } from '../redact/index.ts'
import { createToken, listTokens, revokeToken, setTeam } from '../store/postgres/access.ts'
import { Fleet, migrate, pendingMigrations } from '../store/postgres/database.ts'
import { parseDuration } from '../times.ts'
import { overridesOf } from '../usage/overrides.ts'
import { plural } from './format.ts'
import { print, tell, write } from './print.ts'
import { parseChoice, parseCount, parseName, parsePort } from './values.ts'

const DEFAULT_PORT = '7078'

export async function withFleet<T>(work: (fleet: Fleet) => Promise<T>, timeoutMs?: number): Promise<T> {
  const url = process.env['DATABASE_URL'] ?? ''
  if (!/^postgres(?:ql)?:\/\//.test(url))
    throw new RecollectError('BAD_CONFIG', 'no database is named', {
      where: 'DATABASE_URL',
      hint: 'export DATABASE_URL=postgres://user@host/database',
    })
  const fleet = await Fleet.open({ url, ...(timeoutMs === undefined ? {} : { timeoutMs }) })
  try {
    return await work(fleet)
  } finally {
    await fleet.close()
  }
}

function blobsOf(config: Config): BlobStore {
  return openBlobs(config.get('serve.blobs') || `dir:${join(config.home, 'blobs')}`, process.env)
}

async function oidcOf(config: Config): Promise<Oidc | undefined> {
  if (config.get('serve.oidc.issuer') === '') return undefined
  return await Oidc.open({
    issuer: config.get('serve.oidc.issuer'),
    clientId: config.get('serve.oidc.client_id'),
    secret: process.env[config.get('serve.oidc.secret_env')] ?? '',
    url: config.get('serve.url'),
    scope: config.get('serve.oidc.scope'),
    person: config.get('serve.oidc.person'),
    claim: config.get('serve.oidc.claim'),
    roles: config.get('serve.oidc.roles'),
  })
}

export async function runServe(options: { port?: string; host?: string }): Promise<void> {
  const port = parsePort(options.port ?? DEFAULT_PORT, '--port')
  const host = parseName(options.host ?? '127.0.0.1', '--host')
  const config = new Config()
  ensureDirectory(config.home, 0o700, false)
  await withFleet(async (fleet) => {
    const pending = await pendingMigrations(fleet)
    if (pending.length > 0)
      throw new RecollectError('OTHER_SCHEMA', `the database lacks ${plural(pending.length, 'step')}`, {
        where: 'DATABASE_URL',
        hint: 'run: recollect serve migrate',
      })
    const file = config.get('serve.people')
    // Read once at the start, to be refused at once; and again when it changes, without a restart.
    const people = file === '' ? () => new Map() : () => readPeople(file)
    people()
    const stop = new Promise<void>((done) => {
      process.once('SIGINT', () => done())
      process.once('SIGTERM', () => done())
    })
    const server = await startFleetServer({
      fleet,
      blobs: blobsOf(config),
      overrides: overridesOf(config),
      redactor: createRedactor({ key: loadRedactionKey(join(config.home, 'redaction.key')) }),
      host,
      port,
      people,
      hasPasswords: file !== '',
      url: config.get('serve.url'),
      oidc: await oidcOf(config),
      log: (line) => tell(`${line}\n`),
    })
    print(`http://${host}:${server.port}`)
    await stop
    await server.close()
  })
}

export async function runMigrate({ dryRun }: { dryRun?: boolean }): Promise<void> {
  const work = async (fleet: Fleet): Promise<void> => {
    const steps = dryRun ? await pendingMigrations(fleet) : await migrate(fleet)
    if (steps.length === 0) return print('nothing to do')
    for (const step of steps) {
      if (dryRun) write(`-- ${step.number} ${step.name}\nBEGIN;\n${step.sql}\nCOMMIT;\n`)
      else print(`${step.number} ${step.name}`)
    }
  }
  // A step may have a million rows to write.
  await withFleet(work, 0)
}

export async function runTokenCreate(options: {
  team: string
  person: string
  role: string
  expires?: string
}): Promise<void> {
  const lasts = options.expires === undefined ? undefined : parseDuration(options.expires)
  if (options.expires !== undefined && lasts === undefined)
    throw new RecollectError('USAGE', `${options.expires} is no age`, {
      where: '--expires',
      hint: 'such as 90d',
    })
  const now = Date.now()
  const token = {
    team: nameOf(options.team, '--team'),
    person: nameOf(options.person, '--person'),
    role: parseChoice<Role>(options.role, ROLES, '--role', 'role'),
    expiresAt: lasts === undefined ? null : now + lasts,
    now,
  }
  const made = await withFleet((fleet) => createToken(fleet, token))
  print(made.token)
  tell(`token ${made.id}: it is not shown again\n`)
}

/** No colon: a line of the file of people is made of such. */
export function nameOf(text: string, flag: string): string {
  const name = parseName(text, flag)
  if (/^[\p{L}\p{N}][\p{L}\p{N} @._+-]{0,99}$/u.test(name)) return name
  throw new RecollectError('USAGE', `${flag} holds what no name has`, {
    where: flag,
    hint: 'letters, digits, and @ . _ + -',
  })
}

export async function runTokenList(): Promise<void> {
  const tokens = await withFleet(listTokens)
  for (const one of tokens) {
    const state =
      one.revoked_at !== null
        ? 'revoked'
        : one.expires_at !== null && one.expires_at < Date.now()
          ? 'expired'
          : 'good'
    print([one.token_id, one.team, one.person, one.role, state].join('  '))
  }
}

export async function runTokenRevoke(id: string): Promise<void> {
  await withFleet((fleet) => revokeToken(fleet, id, Date.now()))
  print(`${id} is revoked`)
}

export async function runPerson(name: string, options: { team: string; role: string }): Promise<void> {
  const role = parseChoice<Role>(
    options.role,
    ROLES.filter((one) => one !== 'device'),
    '--role',
    'role',
  )
  const [person, team] = [nameOf(name, 'name'), nameOf(options.team, '--team')]
  const password = process.env['RECOLLECT_PASSWORD'] ?? ''
  if (password.length < 12)
    throw new RecollectError('USAGE', 'the password has fewer than 12 letters', {
      where: 'RECOLLECT_PASSWORD',
      hint: 'set it in the environment of this command alone',
    })
  const salt = randomBytes(16)
  const hash = await hashPassword(password, salt)
  print([person, team, role, salt.toString('hex'), hash.toString('hex')].join(':'))
}

export async function runTeam(name: string, options: { keepDays?: string; hold?: boolean }): Promise<void> {
  const team = nameOf(name, 'name')
  const keepDays =
    options.keepDays === undefined ? undefined : parseCount(options.keepDays, '--keep-days') || null
  const changed = {
    team,
    ...(keepDays === undefined ? {} : { keep_days: keepDays }),
    ...(options.hold === undefined ? {} : { is_held: options.hold }),
  }
  const set = await withFleet((fleet) => setTeam(fleet, changed, Date.now()))
  print(
    `${team}: sessions are kept ${set.is_held ? 'by a hold' : set.keep_days === null ? 'for good' : `for ${set.keep_days} days`}`,
  )
}

export async function runRetain(): Promise<void> {
  const config = new Config()
  const gone = await withFleet((fleet) => retainAll(fleet, blobsOf(config), Date.now()))
  print(`${plural(gone.sessions, 'session')} and ${plural(gone.segments, 'segment')} are gone`)
}
