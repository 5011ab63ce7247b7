// A team server over a throw-away cluster, and sessions to push to it.
import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { CONTRACT_VERSION, type Role, type SessionPush } from '../../src/contract.ts'
import { type BlobStore, openBlobs } from '../../src/fleet/blobs.ts'
import { type FleetServer, type FleetServerOptions, startFleetServer } from '../../src/fleet/server/index.ts'
import { createRedactor } from '../../src/redact/index.ts'
import { createToken } from '../../src/store/postgres/access.ts'
import { Fleet, migrate } from '../../src/store/postgres/database.ts'
import { readOverrides } from '../../src/usage/overrides.ts'
import { temporary } from './temporary.ts'

export interface Reply {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: answers are compared with what is expected of them.
  body: any
  headers: Headers
}

export class TestServer {
  readonly fleet: Fleet
  readonly blobs: BlobStore
  readonly blobDirectory: string
  readonly log: string[] = []
  #server: FleetServer

  private constructor(fleet: Fleet, blobs: BlobStore, blobDirectory: string, server: FleetServer) {
    this.fleet = fleet
    this.blobs = blobs
    this.blobDirectory = blobDirectory
    this.#server = server
  }

  static async start(
    url: string,
    options: {
      writers?: number
      timeoutMs?: number
      port?: number
    } & Partial<Pick<FleetServerOptions, 'people' | 'hasPasswords' | 'url' | 'oidc'>> = {},
  ): Promise<TestServer> {
    const { timeoutMs } = options
    const fleet = await Fleet.open({ url, ...(timeoutMs === undefined ? {} : { timeoutMs }) })
    await migrate(fleet)
    const directory = temporary('blobs')
    const blobs = openBlobs(`dir:${directory}`, {})
    const log: string[] = []
    const server = await startFleetServer({
      fleet,
      blobs,
      overrides: readOverrides({}, {}),
      redactor: createRedactor({ key: Buffer.alloc(32, 7) }),
      host: '127.0.0.1',
      port: 0,
      people: () => new Map(),
      log: (line) => log.push(line),
      ...options,
    })
    const made = new TestServer(fleet, blobs, directory, server)
    Object.defineProperty(made, 'log', { value: log })
    return made
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}`
  }

  token(
    team: string,
    person: string,
    role: Role = 'device',
    expiresAt: number | null = null,
  ): Promise<string> {
    return createToken(this.fleet, { team, person, role, expiresAt, now: Date.now() }).then(
      (made) => made.token,
    )
  }

  async ask(
    token: string,
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Reply> {
    const response = await fetch(this.url + path, {
      method,
      headers: { authorization: token.includes(' ') ? token : `Bearer ${token}`, ...headers },
      ...(body === undefined
        ? {}
        : { body: body instanceof Uint8Array ? (body as never) : JSON.stringify(body) }),
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type') === 'application/json'
    return { status: response.status, body: isJson ? JSON.parse(text) : text, headers: response.headers }
  }

  put(token: string, push: SessionPush): Promise<Reply> {
    return this.ask(token, 'PUT', '/v1/sessions', push)
  }

  async close(): Promise<void> {
    await this.#server.close()
    await this.fleet.close()
  }
}

export const hostId = (name: string): string => createHash('sha256').update(name).digest('hex').slice(0, 16)

type Response = SessionPush['ledger'][number]

export const response = (id: string, output: number, fields: Partial<Response> = {}): Response => ({
  id,
  at: Date.UTC(2026, 10, 2, 12),
  model: 'claude-opus-5-5',
  input: 10,
  cache_read: 0,
  cache_write_5m: 0,
  cache_write_1h: 0,
  output,
  reasoning: 0,
  responses: 1,
  is_turn: false,
  reported_cost: null,
  counts: true,
  ...fields,
})

/** A session of level `ledger`. */
export function session(
  uid: string,
  host: string,
  fields: Partial<SessionPush> & { facts?: Partial<SessionPush['session']> } = {},
): SessionPush {
  const { facts, ...rest } = fields
  return {
    version: CONTRACT_VERSION,
    level: 'ledger',
    from: 0,
    host: { id: hostId(host), name: host },
    user: `user-${host}`,
    session: {
      uid,
      flavor: 'claude',
      repo: 'shop',
      domain: null,
      model: 'claude-opus-5-5',
      relation: 'main',
      is_helper: false,
      started_at: Date.UTC(2026, 10, 2, 12),
      ended_at: Date.UTC(2026, 10, 2, 13),
      outcome: 'success',
      turns: 1,
      retries: 0,
      errors: 0,
      events: 10,
      ...facts,
    },
    ledger: [response(`${uid}-r`, 100)],
    edges: [],
    failures: [],
    digest: null,
    segments: [],
    ...rest,
  }
}

export function segment(
  lines: readonly unknown[],
  firstSeq = 0,
): { bytes: Buffer; named: SessionPush['segments'][number] } {
  const bytes = gzipSync(lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  return { bytes, named: { sha256, bytes: bytes.length, first_seq: firstSeq, last_seq: firstSeq + 399 } }
}
