// A running server of the page over a memory that a test made, and a client that can say anything a browser would not.
import { request } from 'node:http'
import { Config } from '../../src/config.ts'
import { type Server, type ServerOptions, startServer } from '../../src/web/server/index.ts'

export interface Answer {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: string
  json(): unknown
}

export class WebClient {
  readonly server: Server
  #cookie = ''
  #token = ''

  constructor(server: Server) {
    this.server = server
  }

  get origin(): string {
    return `http://127.0.0.1:${this.server.port}`
  }

  /** Exactly these headers; only Host is filled in. */
  raw(
    path: string,
    headers: Record<string, string> = {},
    method = 'GET',
    body: string | Buffer = '',
    localAddress = '127.0.0.1',
  ): Promise<Answer> {
    return new Promise((done, fail) => {
      const call = request(
        {
          host: '127.0.0.1',
          port: this.server.port,
          path,
          method,
          localAddress,
          headers: { ...headers },
          // Not one that was kept: a test that waited long for a command finds it closed by the server.
          agent: false,
        },
        (response) => {
          const parts: Buffer[] = []
          response.on('data', (part: Buffer) => parts.push(part))
          response.on('end', () => {
            const text = Buffer.concat(parts).toString()
            done({
              status: response.statusCode ?? 0,
              headers: response.headers,
              body: text,
              json: () => JSON.parse(text),
            })
          })
        },
      )
      call.on('error', fail)
      call.end(body)
    })
  }

  /** Opens the printed address, as a browser would, and keeps what it gives. */
  async signIn(): Promise<this> {
    const { pathname, search } = new URL(this.server.url)
    const answer = await this.raw(pathname + search)
    this.#cookie = String(answer.headers['set-cookie']).split(';')[0] as string
    const page = await this.raw('/', this.cookie)
    this.#token = /name="recollect-token" content="([^"]+)"/.exec(page.body)?.[1] ?? ''
    return this
  }

  get cookie(): { cookie: string } {
    return { cookie: this.#cookie }
  }

  get pageToken(): string {
    return this.#token
  }

  get(path: string): Promise<Answer> {
    return this.raw(path, this.cookie)
  }

  async json<T = Record<string, unknown>>(path: string): Promise<T> {
    return (await this.get(path)).json() as T
  }

  post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const own = { ...this.cookie, origin: this.origin, 'x-recollect-token': this.#token }
    return this.raw(
      path,
      { ...own, ...headers, 'content-type': 'application/json' },
      'POST',
      JSON.stringify(body),
    )
  }
}

/** Over the memory at `home`. */
export async function serve(home: string, options: Partial<ServerOptions> = {}): Promise<WebClient> {
  const config = new Config({ env: { RECOLLECT_HOME: home } })
  return new WebClient(await startServer({ config, ...options }))
}
