// The server over HTTP, for clients that cannot start a program. Loopback only; a request needs the token, a Host of
// this machine and, from a browser, an Origin of this machine: a page on the web can reach this port but not pass.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import {
  createMcpHandler,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  type McpServerFactory,
  validateHostHeader,
  validateOriginHeader,
} from '@modelcontextprotocol/server'
import { fromSystem } from '../errors.ts'

export interface HttpServer {
  url: string
  token: string
  close(): Promise<void>
}

const HOST = '127.0.0.1'
const PATH = '/mcp'
const MAX_BODY = 1 << 20

/** Listens on a port of the loopback interface; 0 takes a free one. */
export async function serveHttp(
  factory: McpServerFactory,
  port: number,
  token = newToken(),
): Promise<HttpServer> {
  const handler = createMcpHandler(factory, { maxRequestBodySize: MAX_BODY })
  const server = createServer((request, response) => {
    const refused = refusal(request, token)
    if (refused) {
      leave(request, response)
      return void response.writeHead(refused.status, refused.headers).end(`${refused.text}\n`)
    }
    answer(request, response, handler.fetch).catch(() => response.destroy())
  })
  await listen(server, port)
  return {
    url: `http://${HOST}:${(server.address() as AddressInfo).port}${PATH}`,
    token,
    close: async () => {
      await handler.close()
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

const newToken = (): string => randomBytes(32).toString('base64url')

async function listen(server: Server, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(fromSystem(error, 'cannot listen', `${HOST}:${port}`)))
    server.listen(port, HOST, resolve)
  })
}

interface Refusal {
  status: number
  text: string
  headers?: Record<string, string>
}

function refusal(request: IncomingMessage, token: string): Refusal | undefined {
  const host = validateHostHeader(request.headers.host, localhostAllowedHostnames())
  if (!host.ok) return { status: 403, text: 'this server answers to loopback names only' }
  const origin = validateOriginHeader(request.headers.origin, localhostAllowedOrigins())
  if (!origin.ok) return { status: 403, text: 'this origin may not ask' }
  const given = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? ''
  if (!timingSafeEqual(hash(given), hash(token)))
    return { status: 401, text: 'a token is needed', headers: { 'www-authenticate': 'Bearer' } }
  // Not parsed: a request may ask for what is no address, such as `//`.
  if ((request.url ?? '').split('?')[0] !== PATH)
    return { status: 404, text: `nothing here: the server is at ${PATH}` }
  if (request.method === 'TRACE') return { status: 405, text: 'not a way to ask' }
  // Said before the body is read: a client that is still sending would see a broken connection instead.
  if (Number(request.headers['content-length'] ?? 0) > MAX_BODY)
    return { status: 413, text: `more than ${MAX_BODY} bytes` }
  return undefined
}

/** What is left of a body that nobody reads would be taken for the next request. */
function leave(request: IncomingMessage, response: ServerResponse): void {
  if (!request.complete) response.setHeader('connection', 'close')
}

const hash = (text: string): Buffer => createHash('sha256').update(text).digest()

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  fetch: (request: Request) => Promise<Response>,
): Promise<void> {
  const abort = new AbortController()
  response.once('close', () => abort.abort())
  const hasBody = request.method !== 'GET' && request.method !== 'HEAD'
  const answered = await fetch(
    new Request(`http://${HOST}${request.url ?? PATH}`, {
      method: request.method ?? 'GET',
      headers: new Headers(
        Object.entries(request.headers).flatMap(([name, value]) =>
          value === undefined
            ? []
            : [[name, Array.isArray(value) ? value.join(', ') : value] as [string, string]],
        ),
      ),
      ...(hasBody ? { body: Readable.toWeb(request) as ReadableStream, duplex: 'half' as const } : {}),
      signal: abort.signal,
    } as RequestInit),
  )
  leave(request, response)
  response.writeHead(answered.status, Object.fromEntries(answered.headers))
  if (answered.body) await pipeline(Readable.fromWeb(answered.body as never), response)
  else response.end()
}
