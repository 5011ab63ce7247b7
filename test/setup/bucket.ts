// A scripted object store: it refuses what is not signed as AWS documents it, and can be killed and come back with what it had.
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

export const KEYS = { keyId: 'AKIAIOSFODNN7EXAMPLE', secret: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY' }

export class Bucket {
  readonly objects = new Map<string, Buffer>()
  /** Told of each request, before it does anything and when it is done but not answered. */
  reached: (at: 'before' | 'done') => void = () => undefined
  #server: Server | undefined
  #port = 0

  get env(): Record<string, string> {
    return {
      AWS_ACCESS_KEY_ID: KEYS.keyId,
      AWS_SECRET_ACCESS_KEY: KEYS.secret,
      AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${this.#port}`,
    }
  }

  /** Where it was before. */
  async up(): Promise<void> {
    const server = createServer((request, response) => {
      this.#answer(request, response).catch(() => response.destroy())
    })
    this.#server = server.listen(this.#port, '127.0.0.1')
    await once(server, 'listening')
    this.#port = (server.address() as AddressInfo).port
  }

  /** Whoever asks at this moment hears nothing. */
  kill(): void {
    this.#server?.close()
    this.#server?.closeAllConnections()
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request)
    this.reached('before')
    if (request.socket.destroyed) return
    const [status, told] = this.#done(request, body)
    this.reached('done')
    response.writeHead(status).end(told)
  }

  #done(
    { method, url: asked, headers }: IncomingMessage,
    body: Buffer,
  ): [number, (Buffer | string | undefined)?] {
    const url = new URL(asked ?? '/', 'http://bucket')
    const isSigned =
      headers['x-amz-content-sha256'] === createHash('sha256').update(body).digest('hex') &&
      /^AWS4-HMAC-SHA256 /.test(headers.authorization ?? '')
    if (!isSigned) return [403]
    if (url.search !== '') return [200, this.#listing(url)]
    const held = this.objects.get(url.pathname)
    if (method === 'PUT') {
      if (held && headers['if-none-match'] === '*') return [412]
      this.objects.set(url.pathname, body)
      return [200]
    }
    if (method === 'DELETE') this.objects.delete(url.pathname)
    else if (!held) return [404]
    return [200, method === 'GET' ? held : undefined]
  }

  /** Two to a page. */
  #listing(url: URL): string {
    const names = [...this.objects.keys()].map((path) => path.slice('/segments/'.length)).sort()
    const from = Number(url.searchParams.get('continuation-token') ?? 0)
    const items = names
      .slice(from, from + 2)
      .map(
        (name) => `<Contents><Key>${name}</Key><LastModified>2026-11-02T00:00:00Z</LastModified></Contents>`,
      )
    const next = from + 2 < names.length ? `<NextContinuationToken>${from + 2}</NextContinuationToken>` : ''
    return `<ListBucketResult>${items.join('')}${next}</ListBucketResult>`
  }
}
