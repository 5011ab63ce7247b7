// What a team server refuses, and how: errors as HTTP answers, callers by token or password, work in bounds.
import { createHash, scrypt, timingSafeEqual } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { ROLES, type Role } from '../../contract.ts'
import { type ErrorCode, fromSystem, RecollectError } from '../../errors.ts'
import { type Caller, callerOf } from '../../store/postgres/access.ts'
import type { Fleet } from '../../store/postgres/database.ts'
import { Throttle } from '../../throttle.ts'
import type { SignIns } from './sign-in.ts'

/** An answer that is no success. */
export class Refusal extends RecollectError {
  readonly status: number
  readonly extra: Record<string, unknown>

  constructor(
    status: number,
    code: ErrorCode,
    what: string,
    hint: string,
    extra: Record<string, unknown> = {},
  ) {
    super(code, what, { where: 'the request', hint })
    this.status = status
    this.extra = extra
  }
}

export const noToken = (): Refusal =>
  new Refusal(
    401,
    'USAGE',
    'no token, or one that is not good any more',
    'ask whoever runs the server: recollect serve token create',
  )

interface Person extends Caller {
  salt: Buffer
  hash: Buffer
}

const SCRYPT = { N: 1 << 15, r: 8, p: 1, maxmem: 64 << 20 }
const HASH_BYTES = 32
const GOOD_MS = 60_000

export const hashPassword = (password: string, salt: Buffer): Promise<Buffer> =>
  new Promise((done, fail) =>
    scrypt(password.normalize('NFC'), salt, HASH_BYTES, SCRYPT, (error, key) =>
      error ? fail(error) : done(key),
    ),
  )

/** One line per person: `name:team:role:salt:hash`, as `recollect serve person` prints it. */
export function readPeople(path: string): Map<string, Person> {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw fromSystem(error, 'cannot read the people', path, 'read')
  }
  const lines = text.split('\n').map((line, at) => ({ line: line.trim(), at: at + 1 }))
  return new Map(
    lines
      .filter(({ line }) => line !== '' && !line.startsWith('#'))
      .map(({ line, at }) => {
        const [person = '', team = '', role = '', salt = '', hash = ''] = line.split(':')
        if (
          person === '' ||
          team === '' ||
          !ROLES.includes(role as Role) ||
          role === 'device' ||
          !/^[0-9a-f]{64}$/.test(hash)
        )
          throw new RecollectError('BAD_CONFIG', 'not a person: name:team:role:salt:hash', {
            where: `${path}:${at}`,
            hint: 'recollect serve person NAME --team TEAM --role ROLE prints such a line',
          })
        return [
          person,
          {
            person,
            team,
            role: role as Role,
            salt: Buffer.from(salt, 'hex'),
            hash: Buffer.from(hash, 'hex'),
          },
        ]
      }),
  )
}

/** Tells who asks. A password costs 50 ms to check: one that was good is good for a minute. */
export class Callers {
  readonly #fleet: Fleet
  readonly #people: () => Map<string, Person>
  readonly #signIns: SignIns
  readonly #good = new Map<string, { caller: Caller; until: number }>()
  /** Being checked: who asks several things at once tries one password. */
  readonly #tried = new Map<string, ReturnType<Callers['byPassword']>>()
  readonly #throttle = new Throttle()

  constructor(fleet: Fleet, people: () => Map<string, Person>, signIns: SignIns) {
    this.#fleet = fleet
    this.#people = people
    this.#signIns = signIns
  }

  async of(request: IncomingMessage): Promise<Caller> {
    const signedIn = request.headers.authorization === undefined ? this.#signIns.of(request) : undefined
    if (signedIn) return signedIn
    const [, scheme = '', given = ''] =
      /^(Bearer|Basic) (\S+)$/i.exec(request.headers.authorization ?? '') ?? []
    const caller =
      scheme.toLowerCase() === 'basic'
        ? await this.#byBasic(request, given)
        : await callerOf(this.#fleet, given, Date.now())
    if (!caller) throw noToken()
    return caller
  }

  async #byBasic(request: IncomingMessage, given: string): Promise<Caller | undefined> {
    const key = createHash('sha256').update(given).digest('hex')
    const [name = '', ...rest] = Buffer.from(given, 'base64').toString('utf8').split(':')
    const known = this.#good.get(key)
    if (this.#people().has(name) && known && known.until > Date.now()) return known.caller
    const trying = this.#tried.get(key) ?? this.byPassword(request, name, rest.join(':'))
    this.#tried.set(key, trying)
    const found = await trying.finally(() => this.#tried.delete(key))
    if (!found) return undefined
    if (this.#good.size > 1000) this.#good.clear()
    this.#good.set(key, { caller: found.caller, until: Date.now() + GOOD_MS })
    return found.caller
  }

  /**
   * Counted before it is looked at: a right one behind wrong ones waits as they do. `isGood` tells later whether the line in the
   * file is still the one that was asked.
   */
  async byPassword(
    { socket }: IncomingMessage,
    name: string,
    password: string,
  ): Promise<{ caller: Caller; isGood: () => boolean } | undefined> {
    const { waitMs } = this.#throttle.take(socket.remoteAddress ?? '', name)
    if (waitMs > 0)
      throw new Refusal(
        429,
        'BUSY',
        'too many tries; this one was not looked at',
        `wait ${Math.ceil(waitMs / 1000)} s`,
      )
    const person = this.#people().get(name)
    // Also for a name that nobody has: an answer must not come sooner for it.
    const hash = await hashPassword(password, person?.salt ?? Buffer.alloc(16))
    if (!person || !timingSafeEqual(hash, person.hash)) return undefined
    const { salt: _, hash: __, ...caller } = person
    const isGood = (): boolean => {
      const now = this.#people().get(name)
      return now?.hash.equals(person.hash) === true && now.role === person.role && now.team === person.team
    }
    return { caller, isGood }
  }
}

/** Requests at a time that write: more are told to come back, before a byte of theirs is read. */
export class Turnstile {
  readonly #most: number
  readonly #inside: string[] = []

  constructor(most: number) {
    this.#most = most
  }

  /** Of one person a quarter of them: machines send one after the other, and whoever sends slowly keeps out nobody else. */
  async pass<T>(work: () => Promise<T>, whose = ''): Promise<T> {
    const own = this.#inside.filter((one) => one === whose).length
    if (this.#inside.length >= this.#most || (whose !== '' && own >= Math.ceil(this.#most / 4)))
      throw new Refusal(429, 'BUSY', 'too many are writing at once', 'send it again after Retry-After')
    this.#inside.push(whose)
    try {
      return await work()
    } finally {
      this.#inside.splice(this.#inside.indexOf(whose), 1)
    }
  }
}
